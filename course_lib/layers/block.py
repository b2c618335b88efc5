"""The Transformer block: attention mixes information between positions, then each is transformed on its own.

    >>> block = Block(d_model=8, n_heads=2, d_ff=32)
    >>> x, _, _ = block(torch.randn(1, 5, 8), causal=True)
    >>> x.shape
    torch.Size([1, 5, 8])

A block has self-attention, then cross-attention if it belongs to a translator's decoder, then the
feed-forward layer. Each has its own residual connection. Encoders, decoders and language models are all
stacks of blocks, with different masks.
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

Rotation = Callable[[Tensor], Tensor]
"""Applies a rotary encoding to queries or keys: see `rotate` in `positions.py`."""


class KeysAndValues(NamedTuple):
    """What one attention layer attends to: the target words so far, or the source."""

    keys: Float[Tensor, "batch kv_heads keys head_dim"]
    values: Float[Tensor, "batch kv_heads keys value_dim"]


class AttentionWeights(NamedTuple):
    """The attention weights of one block, None unless requested: self-attention and cross-attention."""

    own: Float[Tensor, "batch heads queries keys"] | None
    cross: Float[Tensor, "batch heads queries src"] | None


class Block(nn.Module):
    """One block of an encoder or a decoder; lesson 13 removes parts."""

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        cross_attention: bool = False,
        pre_norm: bool = True,
        norm: str = "layer",
        residual: bool = True,
        feed_forward: str = "relu",
        dropout: float = 0.0,
        ff_dropout: float = 0.0,
    ):
        super().__init__()

        def residual_connection() -> Residual:
            return Residual(d_model=d_model, pre_norm=pre_norm, norm=norm, residual=residual, dropout=dropout)

        def multi_head() -> MultiHead:
            return MultiHead(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads, d_k=d_k, d_v=d_v)

        self.attention = multi_head()
        self.around_attention = residual_connection()
        self.cross = self.feed_forward = None
        if cross_attention:
            self.cross = multi_head()
            self.around_cross = residual_connection()
        if feed_forward != "none":
            self.feed_forward = make_feed_forward(
                feed_forward, d_model=d_model, d_ff=d_ff, dropout=ff_dropout
            )
            self.around_feed_forward = residual_connection()

    @torch.no_grad()
    def scale_outputs(self, factor: float) -> None:
        """Multiply the weights of each layer whose output is added to the input of the block."""
        for layer in (self.attention, self.cross, self.feed_forward):
            if layer is not None:
                (layer.w_output if isinstance(layer, MultiHead) else layer.outer.weight).mul_(factor)

    def forward(
        self,
        x: Float[Tensor, "batch len model"],
        *,
        rotate: Rotation | None = None,
        mask: Bool[Tensor, "#batch 1 #len #len"] | None = None,
        causal: bool = False,
        past: KeysAndValues | None = None,
        source: KeysAndValues | None = None,
        source_mask: Bool[Tensor, "batch 1 1 src"] | None = None,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch len model"], KeysAndValues, AttentionWeights]:
        """Return the block's outputs, the keys and values to cache, and the attention weights.

        `past` holds the cached keys and values of earlier words, and `x` holds the words that follow. Each of
        them attends to the past, to earlier words in `x` and to itself.
        """
        if past is not None and (causal or mask is not None):
            raise ValueError(
                "Expected neither causal nor mask together with a past: attention over a past is always "
                "causal. Leave both out."
            )
        if (self.cross is None) != (source is None):
            raise ValueError(
                "Expected a source if and only if the block has cross-attention, but got "
                f"cross_attention={self.cross is not None} and {'no' if source is None else 'a'} source."
            )
        query, keys, values = self.attention.project(self.around_attention.before(x))
        if rotate is not None:
            query, keys = rotate(query), rotate(keys)
        if past is not None:
            keys, values = torch.cat([past.keys, keys], dim=2), torch.cat([past.values, values], dim=2)
            n_new = x.shape[1]
            if n_new > 1:  # a single new word may attend to everything
                mask = causal_mask(keys.shape[2], device=x.device)[-n_new:]
        output, self_weights = self.attention.attend(
            query, keys, values, mask=mask, causal=causal, with_weights=with_weights
        )
        x = self.around_attention.after(x, output)

        cross_weights = None
        if self.cross is not None:
            query = self.cross.project_query(self.around_cross.before(x))
            output, cross_weights = self.cross.attend(
                query, *source, mask=source_mask, with_weights=with_weights
            )
            x = self.around_cross.after(x, output)

        if self.feed_forward is not None:
            x = self.around_feed_forward(x, self.feed_forward)
        return x, KeysAndValues(keys, values), AttentionWeights(self_weights, cross_weights)


class Stack(nn.Module):
    """A sequence of blocks, with a final norm if the blocks are pre-norm and so don't end in one."""

    def __init__(self, blocks: list[Block], *, last_norm: nn.Module | None = None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.last_norm = last_norm

    def forward(
        self,
        x: Float[Tensor, "batch len model"],
        *,
        rotate: Rotation | None = None,
        mask: Bool[Tensor, "#batch 1 #len #len"] | None = None,
        causal: bool = False,
        past: Rows | None = None,
        source: Rows | None = None,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch len model"], Rows, Rows]:
        """Return the outputs of the last block, the extended past (if one was given), the attention weights.

        The rows `past` and `source` hold "keys" and "values", (batch, layers, kv_heads, words, head_dim);
        `source` also holds "mask", (batch, 1, 1, src). The attention weights, if requested, are "own" for
        self-attention and "cross" for cross-attention, each (batch, layers, heads, len, words).
        """
        pasts, sources = self._unstack_layers(past), self._unstack_layers(source)
        source_mask = None if source is None else source["mask"]
        keys_and_values, weights = [], []
        for block, block_past, block_source in zip(self.blocks, pasts, sources, strict=True):
            x, block_keys_and_values, block_weights = block(
                x,
                rotate=rotate,
                mask=mask,
                causal=causal,
                past=block_past,
                source=block_source,
                source_mask=source_mask,
                with_weights=with_weights,
            )
            keys_and_values.append(block_keys_and_values)
            weights.append(block_weights)
        new_past = {} if past is None else _stack_layers(keys_and_values)
        return x if self.last_norm is None else self.last_norm(x), new_past, _stack_layers(weights)

    def project_source(self, states: Float[Tensor, "batch src model"]) -> Rows:
        """The keys and values of the source for every block, each from the block's own W_K and W_V."""
        return _stack_layers([KeysAndValues(*block.cross.project_source(states)) for block in self.blocks])

    def _unstack_layers(self, rows: Rows | None) -> list[KeysAndValues | None]:
        if rows is None:
            return [None] * len(self.blocks)
        # The gradient of unbind is one stack; indexing would allocate a full-size gradient for each layer.
        pairs = zip(rows["keys"].unbind(dim=1), rows["values"].unbind(dim=1), strict=True)
        return [KeysAndValues(*pair) for pair in pairs]


def _stack_layers(layers: list[KeysAndValues] | list[AttentionWeights]) -> Rows:
    """Stack each field over the layers, on a new axis after the batch; fields that are None are left out."""
    names = layers[0]._fields
    columns = zip(names, zip(*layers, strict=True), strict=True)
    return {name: torch.stack(column, dim=1) for name, column in columns if column[0] is not None}
