"""Convolution over a sentence: the same weights are applied to every window of neighbouring words.

All windows are computed in parallel, whereas a recurrent network processes one position after another. But
a layer of width 3 sees one word to each side, so distant words interact only after many layers.

    Dauphin, Fan, Auli, Grangier 2017    Language Modeling with Gated Convolutional Networks
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.masks import padding_mask
from course_lib.shapes import Float, Int, Tensor


def last_words(tokens: Int[Tensor, "batch tgt"], n: int, *, fill: int) -> Int[Tensor, "batch tgt n"]:
    """The window of the `n` most recent tokens at each position, padded with `fill` before the first token.

    >>> last_words(torch.tensor([[2, 7, 8]]), 3, fill=0)[0]
    tensor([[0, 0, 2],
            [0, 2, 7],
            [2, 7, 8]])
    """
    return F.pad(tokens, (n - 1, 0), value=fill).unfold(1, n, 1)


def slide(window: Int[Tensor, "batch n"], tokens: Int[Tensor, " batch"]) -> Int[Tensor, "batch n"]:
    """Move the window one token on: drop the oldest token and append the new one.

    >>> slide(torch.tensor([[0, 2, 7]]), torch.tensor([8]))
    tensor([[2, 7, 8]])
    """
    return torch.cat([window, tokens[:, None]], dim=1)[:, 1:]


def gated_linear_unit(inputs: Float[Tensor, "... two_channels"]) -> Float[Tensor, "... channels"]:
    """a · sigmoid(b): half of the channels are values a, the other half gates b.

        >>> gated_linear_unit(torch.tensor([6.0, 6.0, 6.0, 0.0, 99.0, -99.0]))     # gates of 1/2, 1 and 0
        tensor([3., 6., 0.])

    Unlike tanh it is linear in a: an open gate passes a and its gradient on unchanged.
    """
    if inputs.shape[-1] % 2:
        raise ValueError(
            f"Expected an even number of channels, since half of them are gates, but got {inputs.shape[-1]}."
        )
    values, gates = inputs.chunk(2, dim=-1)
    return values * torch.sigmoid(gates)


class GatedConvolution(nn.Module):
    """A convolution to twice the channels, then a gated linear unit: the shape stays the same.

    A causal window ends at its own position, so no output depends on later words and a sentence can be
    processed in pieces (`extend`). Otherwise the window is centred on its position.
    """

    def __init__(self, *, channels: int, width: int, causal: bool, dropout: float = 0.0):
        super().__init__()
        self.convolution = nn.Conv1d(channels, 2 * channels, width)
        self.dropout = nn.Dropout(dropout)
        self.causal = causal
        self.span = width - 1  # neighbours in a window, besides its own position
        # Compensates for gates of ½ and for dropout, which scale the numbers by ½ and √(1 / (1 - dropout)).
        nn.init.normal_(self.convolution.weight, std=math.sqrt(4 * (1 - dropout) / (channels * width)))
        nn.init.zeros_(self.convolution.bias)

    def forward(
        self, inputs: Float[Tensor, "batch len channels"], *, lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch len channels"]:
        """With `lengths`, positions after a sentence's end count as zeros, like those outside the batch."""
        if lengths is not None:
            inputs = inputs.masked_fill(~padding_mask(lengths, inputs.shape[1]).mT, 0.0)
        left = self.span if self.causal else self.span // 2
        return self._convolve(F.pad(self.dropout(inputs), (0, 0, left, self.span - left)))

    def extend(
        self, inputs: Float[Tensor, "batch len channels"], window: Float[Tensor, "batch span channels"]
    ) -> tuple[Float[Tensor, "batch len channels"], Float[Tensor, "batch span channels"]]:
        """Outputs for words that follow the `span` words in `window`, and the window after them.

        With a window of zeros, for the start of a sentence, this equals `forward`.
        """
        if not self.causal or window.shape[1] != self.span:
            raise ValueError(
                f"Expected a causal layer and a window of its last {self.span} words, "
                f"but got causal={self.causal} and a window of {window.shape[1]} words."
            )
        extended = torch.cat([window, self.dropout(inputs)], dim=1)
        return self._convolve(extended), extended[:, inputs.shape[1] :]

    def _convolve(self, padded: Tensor) -> Tensor:
        # (batch, len + span, channels) -> (batch, len, channels)
        return gated_linear_unit(self.convolution(padded.mT).mT)
