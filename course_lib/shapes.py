"""The axis glossary: one name for each axis, everywhere in the course.

    >>> def mix(weights: Float[Tensor, "... queries keys"], values: Float[Tensor, "... keys value_dim"]):
    ...     return weights @ values

| axis | meaning |
|---|---|
| batch | sentences processed together |
| src, tgt | positions in the source and in the target sentence |
| queries, keys | positions that attend, positions attended to |
| query_dim, key_dim, value_dim | width of one query, key, value |
| attn_dim | width of the hidden layer inside an additive score |
| max_len | the longest sentence that a fixed-size parameter allows |
| embed, hidden, model | width of an embedding, a recurrent state, the Transformer's residual stream |
| heads, head_dim | attention heads and the width of each; kv_heads: heads of the keys and values |
| layers, hops | layers that attend; attention distributions over one sentence |
| vocab, classes | tokens the model can output; classes it can distinguish |
| len, n | positions in a sentence; any number of things |
| seen, span, width | words read so far; words within reach; positions a kernel covers |
| input, output, feature | width of a layer's input and output; of what predicts the next word |
| channels, out_channels | width of a convolution's input and output |
| gates, d_ff, pairs | width of all gates of a cell; of a feed-forward layer's middle; halves of a vector |

`...` stands for any leading axes (batch, or batch and heads), `#keys` for an axis that may also be 1.

The tests check the types (jaxtyping with beartype). Without jaxtyping, the annotations mean plain tensors.
"""

from __future__ import annotations

from torch import Tensor

try:
    from jaxtyping import Bool, Float, Int
except ImportError:

    class _AnyShape:
        def __class_getitem__(cls, item: tuple[type, str]) -> type:
            return item[0]

    class Bool(_AnyShape): ...

    class Float(_AnyShape): ...

    class Int(_AnyShape): ...


__all__ = ["Bool", "Float", "Int", "Tensor"]
