"""The axis glossary: one name for each axis, everywhere in the course.

    >>> def mix(weights: Float[Tensor, "... queries keys"], values: Float[Tensor, "... keys value_dim"]):
    ...     return weights @ values

| axis | meaning |
|---|---|
| batch | sentences worked on together |
| src, tgt | positions in the source and in the target sentence |
| queries, keys | positions that ask, positions that are looked at |
| query_dim, key_dim, value_dim | width of one query, key, value |
| attn_dim | width of the hidden layer inside an additive score |
| max_len | the longest sentence a fixed-size table is made for |
| embed, hidden, model | width of an embedding, a recurrent state, the Transformer's stream |
| heads, head_dim | attention heads and the width of each; kv_heads: those that keys and values have |
| layers, hops | layers that attend; ways in which one sentence is looked at |
| vocab, classes | words the model can say; classes it can tell apart |
| len, n | positions in any one sentence; any number of things |
| seen, span, width | words read so far; words within reach; positions a kernel covers |
| input, output, feature | what a layer reads and gives; what the next word is told from |
| channels, out_channels | width of what a convolution reads and gives |
| gates, d_ff, pairs | width of all gates of a cell; of a feed-forward layer's middle; halves of a vector |

`...` stands for any axes in front (batch, or batch and heads), `#keys` for an axis that may also be 1.

The types are checked in the tests (jaxtyping with beartype). A bare GPU machine has no jaxtyping:
there the same annotations mean plain tensors, and nothing is checked.
"""

from __future__ import annotations

from torch import Tensor

try:
    from jaxtyping import Bool, Float, Int
except ImportError:

    class _AnyShape:
        """Stands in for a shape type: `Float[Tensor, "batch src"]` is then just `Tensor`."""

        def __class_getitem__(cls, item: tuple[type, str]) -> type:
            return item[0]

    class Bool(_AnyShape): ...

    class Float(_AnyShape): ...

    class Int(_AnyShape): ...


__all__ = ["Bool", "Float", "Int", "Tensor"]
