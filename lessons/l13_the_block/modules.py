"""The encoder block as torch modules, with the parameter names of the shipped Transformer.

    >>> block = EncoderBlock(d_model=8, n_heads=2, d_ff=16, dropout=0.1)
    >>> block(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])

These are the library's versions of what learners write in lesson 13. `course_lib.layers.block.Block` can do
more (decoders, caches, other norms), and loads the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
from torch import nn

from course_lib.layers.block import AttentionWeights, Block
from course_lib.layers.multi_head import join_heads, multi_head, split_heads
from course_lib.shapes import Bool, Float, Tensor
from lessons.l13_the_block.solutions import FeedForward

Words = Float[Tensor, "batch len model"]


def xavier_weight(n_out: int, n_in: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_out, n_in)))


class MultiHead(nn.Module):
    """Multi-head attention; its matrices are (out, in)."""

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.w_query = xavier_weight(d_model, d_model)
        self.w_key = xavier_weight(d_model, d_model)
        self.w_value = xavier_weight(d_model, d_model)
        self.w_output = xavier_weight(d_model, d_model)

    def forward(
        self, x: Words, source: Words, mask: Bool[Tensor, "#batch 1 #len #src"] | None = None
    ) -> Words:
        query, keys, values = (
            split_heads(words @ matrix.T, n_heads=self.n_heads)
            for words, matrix in ((x, self.w_query), (source, self.w_key), (source, self.w_value))
        )
        return join_heads(multi_head(query, keys, values, mask=mask)[0]) @ self.w_output.T


class Residual(nn.Module):
    """A residual connection around a layer, with its norm (pre-norm) and dropout."""

    def __init__(self, d_model: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Words, layer: Callable[[Words], Words]) -> Words:
        return x + self.dropout(layer(self.norm(x)))


class EncoderBlock(nn.Module):
    """Self-attention and a feed-forward network, each with a residual connection."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float):
        super().__init__()
        self.attention = MultiHead(d_model, n_heads)
        self.around_attention = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.around_feed_forward = Residual(d_model, dropout)

    def forward(self, x: Words, mask: Bool[Tensor, "#batch 1 #len #len"] | None = None) -> Words:
        x = self.around_attention(x, lambda x: self.attention(x, x, mask))
        return self.around_feed_forward(x, self.feed_forward)


@contextmanager
def in_place_of(blocks: Iterable[Block], own: Iterable[nn.Module]) -> Iterator[None]:
    """In a `with`, the library's blocks compute what these encoder blocks compute, in evaluation mode."""

    def forward_of(block: nn.Module) -> Callable:
        def forward(x: Words, mask: Tensor | None = None, **others: object) -> tuple:
            return block.eval()(x, mask), None, AttentionWeights(None, None)

        return forward

    with ExitStack() as stack, torch.no_grad():
        for block, replacement in zip(blocks, own, strict=True):
            stack.enter_context(patch.object(block, "forward", forward_of(replacement)))
        yield
