"""Convolution over a sentence: the same few weights look at every window of neighbouring words.

    >>> words = torch.tensor([[[1.0], [2.0], [4.0], [8.0]]])       # one sentence, four words, one channel
    >>> convolve(words, torch.tensor([[[10.0, 1.0]]]))              # 10 · word + 1 · the next word
    tensor([[[12.],
             [24.],
             [48.]]])

All windows are worked out at once: no position waits for another, as it must in a recurrent network.
The price is distance. One layer of width 3 sees one word to each side, and words that lie far apart
meet only after many layers (`receptive_field`).

    Dauphin, Fan, Auli, Grangier 2017    Language Modeling with Gated Convolutional Networks
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.checks import check_weight
from course_lib.layers.masks import padding_mask
from course_lib.shapes import Float, Int, Tensor


def last_words(tokens: Int[Tensor, "batch tgt"], n: int, *, fill: int) -> Int[Tensor, "batch tgt n"]:
    """At each position the last `n` words, itself the last of them; `fill` stands before the first word.

        >>> last_words(torch.tensor([[2, 7, 8]]), 3, fill=0)[0]
        tensor([[0, 0, 2],
                [0, 2, 7],
                [2, 7, 8]])

    All that an n-gram model or a fixed-window network ever sees of a sentence.
    """
    return F.pad(tokens, (n - 1, 0), value=fill).unfold(1, n, 1)


def slide(window: Int[Tensor, "batch n"], tokens: Int[Tensor, " batch"]) -> Int[Tensor, "batch n"]:
    """One word on: the oldest word leaves the window, the newest enters.

    >>> slide(torch.tensor([[0, 2, 7]]), torch.tensor([8]))
    tensor([[2, 7, 8]])
    """
    return torch.cat([window, tokens[:, None]], dim=1)[:, 1:]


def receptive_field(widths: Sequence[int], dilations: Sequence[int] | None = None) -> int:
    """How many words one output of a stack of convolutions depends on.

        >>> receptive_field([3, 3, 3])                      # each layer adds one word on either side
        7
        >>> receptive_field([3, 3, 3], [1, 2, 4])           # gaps that double: the same weights see 15
        15

    Without gaps it grows by the same number with every layer; with doubling gaps it doubles too.
    """
    gaps = [1] * len(widths) if dilations is None else dilations
    return 1 + sum((width - 1) * gap for width, gap in zip(widths, gaps, strict=True))


def convolve(
    inputs: Float[Tensor, "batch len channels"],
    weight: Float[Tensor, "out_channels channels width"],
    bias: Float[Tensor, " out_channels"] | None = None,
    *,
    dilation: int = 1,
) -> Float[Tensor, "batch n_windows out_channels"]:
    """One output for every window that fits: a sum of as many matrix products as the window is wide.

        >>> words = torch.tensor([[[1.0], [2.0], [4.0], [8.0]]])
        >>> convolve(words, torch.tensor([[[10.0, 1.0]]]), dilation=2).flatten()    # the next but one
        tensor([14., 28.])

    The same as `F.conv1d`, which wants the channels before the words. `dilation` leaves gaps of
    dilation - 1 words between the words of a window.
    """
    out_channels, _, width = weight.shape
    check_weight("weight", weight, "out_channels, channels, width", (out_channels, inputs.shape[-1], width))
    n_windows = inputs.shape[1] - (width - 1) * dilation
    if n_windows < 1:
        raise ValueError(
            f"Expected at least {(width - 1) * dilation + 1} words, the span of one window, "
            f"but got {inputs.shape[1]}. Pad the sentence with zeros."
        )
    outputs = inputs.new_zeros(out_channels) if bias is None else bias
    for place in range(width):  # the word at this place of every window, times its own matrix
        first = place * dilation
        outputs = outputs + inputs[:, first : first + n_windows] @ weight[:, :, place].mT
    return outputs


def gated_linear_unit(inputs: Float[Tensor, "... two_channels"]) -> Float[Tensor, "... channels"]:
    """a · sigmoid(b): one half of the channels speaks, the other half says how much of it passes.

        >>> gated_linear_unit(torch.tensor([6.0, 6.0, 6.0, 0.0, 99.0, -99.0]))     # half open, open, shut
        tensor([3., 6., 0.])

    Unlike tanh it has a straight path: an open gate hands on a and its gradient as they are.
    """
    if inputs.shape[-1] % 2:
        raise ValueError(
            f"Expected an even number of channels, half of them gates, but got {inputs.shape[-1]}."
        )
    values, gates = inputs.chunk(2, dim=-1)
    return values * torch.sigmoid(gates)


class GatedConvolution(nn.Module):
    """A convolution to twice the channels, then the gate: as many words and channels out as went in.

    Not causal, a window has its word in the middle. Causal, it ends with its word, so that the future
    cannot change the past; then a sentence may also be read bit by bit (`extend`).
    """

    def __init__(self, *, channels: int, width: int, causal: bool, dropout: float = 0.0):
        super().__init__()
        self.convolution = nn.Conv1d(channels, 2 * channels, width)
        self.dropout = nn.Dropout(dropout)
        self.causal = causal
        self.span = width - 1  # neighbours a window needs beside its own word
        # Half-open gates and dropout change the size of the numbers by ½ and √(1 / keep): this undoes it.
        nn.init.normal_(self.convolution.weight, std=math.sqrt(4 * (1 - dropout) / (channels * width)))
        nn.init.zeros_(self.convolution.bias)

    def forward(
        self, inputs: Float[Tensor, "batch len channels"], *, lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch len channels"]:
        """With `lengths`, words beyond a sentence's end count as zeros, like the words outside the batch."""
        if lengths is not None:
            inputs = inputs.masked_fill(~padding_mask(lengths, inputs.shape[1]).mT, 0.0)
        left = self.span if self.causal else self.span // 2
        return self._windows(F.pad(self.dropout(inputs), (0, 0, left, self.span - left)))

    def extend(
        self, inputs: Float[Tensor, "batch len channels"], window: Float[Tensor, "batch span channels"]
    ) -> tuple[Float[Tensor, "batch len channels"], Float[Tensor, "batch span channels"]]:
        """Outputs for one or more words that follow the last `span` ones, and the window after them.

        A window of zeros stands for the beginning: then this is `forward`.
        """
        if not self.causal or window.shape[1] != self.span:
            raise ValueError(
                f"Expected a causal layer, which sees no later word, and a window of its last {self.span}, "
                f"but got causal={self.causal} and a window of {window.shape[1]} words."
            )
        seen = torch.cat([window, self.dropout(inputs)], dim=1)
        return self._windows(seen), seen[:, inputs.shape[1] :]

    def _windows(self, padded: Tensor) -> Tensor:
        # (batch, len + span, channels) -> (batch, len, channels)
        return gated_linear_unit(self.convolution(padded.mT).mT)
