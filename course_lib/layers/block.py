"""The Transformer's block: words exchange what they know, then each thinks for itself.

    >>> block = Block(d_model=8, n_heads=2, d_ff=32)
    >>> x, _, _ = block(torch.randn(1, 5, 8), causal=True)
    >>> x.shape
    torch.Size([1, 5, 8])

Self-attention; then, in a translator's decoder, attention over the source; then the feed-forward layer.
Each lies on a residual path of its own. A `Stack` is blocks one after another: encoder, decoder and
language model are stacks, told apart by what they may look at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from course_lib.layers.feed_forward import make_feed_forward
from course_lib.layers.masks import causal_mask
from course_lib.layers.multi_head import MultiHead
from course_lib.layers.residual import Residual
from course_lib.layers.rows import Rows
from course_lib.shapes import Bool, Float, Tensor

Turn = Callable[[Tensor], Tensor]
"""What positions do to queries and keys: see `turn` in `positions.py`."""


class KeysAndValues(NamedTuple):
    """What one layer's attention looks at: of the words so far, or of the source."""

    keys: Float[Tensor, "batch kv_heads keys head_dim"]
    values: Float[Tensor, "batch kv_heads keys value_dim"]


class Weights(NamedTuple):
    """Where one layer looked, if that was asked for: at its own sentence, and at the source."""

    own: Float[Tensor, "batch heads queries keys"] | None
    cross: Float[Tensor, "batch heads queries src"] | None


class Block(nn.Module):
    """One layer of an encoder, or of a decoder; `crosses` adds the attention over a source.

    `feed_forward="none"` leaves attention alone; `residual=False` has no path past a layer. See lesson 13.
    """

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        crosses: bool = False,
        pre_norm: bool = True,
        norm: str = "layer",
        residual: bool = True,
        feed_forward: str = "relu",
        dropout: float = 0.0,
        ff_dropout: float = 0.0,
    ):
        super().__init__()

        def path() -> Residual:
            return Residual(d_model=d_model, pre_norm=pre_norm, norm=norm, residual=residual, dropout=dropout)

        def heads() -> MultiHead:
            return MultiHead(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads, d_k=d_k, d_v=d_v)

        self.attention = heads()
        self.around_attention = path()
        if crosses:
            self.cross = heads()
            self.around_cross = path()
        self.thinks = feed_forward != "none"
        if self.thinks:
            self.feed_forward = make_feed_forward(
                feed_forward, d_model=d_model, d_ff=d_ff, dropout=ff_dropout
            )
            self.around_feed_forward = path()
        self.crosses = crosses

    def forward(
        self,
        x: Float[Tensor, "batch len model"],
        *,
        turn: Turn | None = None,
        may_look: Bool[Tensor, "#batch 1 #len #len"] | None = None,
        causal: bool = False,
        past: KeysAndValues | None = None,
        source: KeysAndValues | None = None,
        source_may_look: Bool[Tensor, "batch 1 1 src"] | None = None,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch len model"], KeysAndValues, Weights]:
        """New vectors for the words, the keys and values by which later words will see them, the weights.

        `past` holds the keys and values of earlier words, and `x` are those that follow them: each looks at
        the past, at itself and at what came before it, so neither `causal` nor a mask is needed.
        """
        if past is not None and (causal or may_look is not None):
            raise ValueError(
                "Expected neither causal nor may_look beside a past: the words after it are taken one after "
                "another, and no later one is seen. Leave them out."
            )
        if self.crosses != (source is not None):
            raise ValueError(
                "Expected a source where the block looks at one (crosses=True), and only there, but got "
                f"crosses={self.crosses} and {'no' if source is None else 'a'} source."
            )
        query, keys, values = self.attention.project(self.around_attention.before(x))
        if turn is not None:
            query, keys = turn(query), turn(keys)
        if past is not None:
            keys, values = torch.cat([past.keys, keys], dim=2), torch.cat([past.values, values], dim=2)
            n_new = x.shape[1]
            if n_new > 1:  # one new word may look at everything
                may_look = causal_mask(keys.shape[2], device=x.device)[-n_new:]
        heard, own = self.attention.look(
            query, keys, values, may_look=may_look, causal=causal, with_weights=with_weights
        )
        x = self.around_attention.after(x, heard)

        cross = None
        if self.crosses:
            query = self.cross.project_query(self.around_cross.before(x))
            heard, cross = self.cross.look(
                query, *source, may_look=source_may_look, with_weights=with_weights
            )
            x = self.around_cross.after(x, heard)

        if self.thinks:
            x = self.around_feed_forward(x, self.feed_forward)
        return x, KeysAndValues(keys, values), Weights(own, cross)


class Stack(nn.Module):
    """Blocks one after another, and a last norm where the blocks are pre-norm and do not end in one."""

    def __init__(self, blocks: list[Block], *, last_norm: nn.Module | None = None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.last_norm = last_norm

    def forward(
        self,
        x: Float[Tensor, "batch len model"],
        *,
        turn: Turn | None = None,
        may_look: Bool[Tensor, "#batch 1 #len #len"] | None = None,
        causal: bool = False,
        past: Rows | None = None,
        source: Rows | None = None,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch len model"], Rows, Rows]:
        """The words' vectors after the last block, the new past (if there was an old one), the weights.

        The rows `past` and `source` hold "keys" and "values", (batch, layers, kv_heads, words, head_dim);
        `source` also holds "may_look", (batch, 1, 1, src). The weights, if asked for, are "own" and, where
        there is a source, "cross", each (batch, layers, heads, len, words).
        """
        pasts, sources = self._layers(past), self._layers(source)
        source_may_look = None if source is None else source["may_look"]
        present, looked = [], []
        for block, block_past, block_source in zip(self.blocks, pasts, sources, strict=True):
            x, keys_and_values, weights = block(
                x,
                turn=turn,
                may_look=may_look,
                causal=causal,
                past=block_past,
                source=block_source,
                source_may_look=source_may_look,
                with_weights=with_weights,
            )
            present.append(keys_and_values)
            looked.append(weights)
        new_past = {} if past is None else _rows(present)
        return x if self.last_norm is None else self.last_norm(x), new_past, _rows(looked)

    def read_source(self, states: Float[Tensor, "batch src model"]) -> Rows:
        """The source as each block will look at it. Every block has its own W_K and W_V for it."""
        return _rows([KeysAndValues(*block.cross.project_source(states)) for block in self.blocks])

    def _layers(self, rows: Rows | None) -> list[KeysAndValues | None]:
        if rows is None:
            return [None] * len(self.blocks)
        # unbind, for its gradient is one stack; an index for each layer would fill a whole tensor each.
        pairs = zip(rows["keys"].unbind(dim=1), rows["values"].unbind(dim=1), strict=True)
        return [KeysAndValues(*pair) for pair in pairs]


def _rows(layers: list[KeysAndValues] | list[Weights]) -> Rows:
    """What the layers have, by name, with an axis for the layers after the batch."""
    names = layers[0]._fields
    columns = zip(names, zip(*layers, strict=True), strict=True)
    return {name: torch.stack(column, dim=1) for name, column in columns if column[0] is not None}
