"""The convolutional sentence model: wider and wider convolutions reduce a sentence to one vector.

    >>> kernel_widths(7)                # 7 words -> 6 -> 4 -> 1
    [2, 3, 4]

The sentence is a matrix with one column per word. A kernel of width 2 maps every two neighbouring columns to
one, the next kernel of width 3 every three of those, and so on until one column is left. Each embedding
dimension is convolved with its own weights (a depthwise convolution). Words don't contribute equally: a word
in the middle is in many windows, the first and the last are in only one per layer.

    Kalchbrenner, Blunsom 2013    Recurrent Continuous Translation Models (its sentence model)
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.masks import padding_mask
from course_lib.shapes import Float, Int, Tensor


def kernel_widths(length: int) -> list[int]:
    """The widths of the kernels for a sentence of `length` words; a last one that is too wide is truncated.

    >>> kernel_widths(1), kernel_widths(3), kernel_widths(60)
    ([], [2, 3], [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    """
    widths: list[int] = []
    while length > 1:
        widths.append(len(widths) + 2)
        length = max(1, length - widths[-1] + 1)
    return widths


def convolve_columns(
    columns: Float[Tensor, "batch len embed"],
    lengths: Int[Tensor, " batch"],
    kernel: Float[Tensor, "embed width"],
) -> tuple[Float[Tensor, "batch shorter embed"], Int[Tensor, " batch"]]:
    """One layer, tanh(columns * kernel), for sentences of different lengths: the new (columns, lengths).

        >>> columns = torch.tensor([[[0.1], [0.2]], [[0.5], [9.0]]])             # the 9 is padding
        >>> convolve_columns(columns, torch.tensor([2, 1]), torch.tensor([[1.0, 1.0]]))
        (tensor([[[0.2913]],
        <BLANKLINE>
                [[0.5000]]]), tensor([1, 1]))

    A sentence of k columns is reduced to k - width + 1 columns, but at least one: it is padded with zeros on
    the right. A sentence that already has a single column stays unchanged.
    """
    n_columns, embed = columns.shape[1:]
    width = kernel.shape[-1]
    columns = columns.masked_fill(~padding_mask(lengths, n_columns).mT, 0.0)
    padded = F.pad(columns, (0, 0, 0, max(0, width - n_columns)))
    # (batch, len, embed) -> (batch, shorter, embed)
    reduced = torch.tanh(F.conv1d(padded.mT, kernel.unsqueeze(1), groups=embed).mT)
    done = (lengths == 1)[:, None, None]
    return torch.where(done, columns[:, : reduced.shape[1]], reduced), (lengths - width + 1).clamp(min=1)


class SentenceConvolution(nn.Module):
    """All layers for sentences of up to `max_len` words.

    The kernels are concatenated in one parameter. Short sentences don't use the wide kernels, and parameters
    without a gradient are a problem for distributed training.
    """

    def __init__(self, *, embed: int, max_len: int):
        super().__init__()
        self.widths, self.max_len = kernel_widths(max_len), max_len
        # 1/√width keeps the variance of a sum of `width` terms; a gain of 5/3 compensates for tanh.
        gain = nn.init.calculate_gain("tanh")
        kernels = [torch.randn(embed, width) * gain / math.sqrt(width) for width in self.widths]
        self.kernels = nn.Parameter(torch.cat(kernels, dim=1))

    def forward(
        self, columns: Float[Tensor, "batch len embed"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch embed"]:
        """Return one vector per sentence, whatever its length."""
        _, length, embed = columns.shape
        if length > self.max_len or embed != len(self.kernels):
            raise ValueError(
                f"Expected at most {self.max_len} words (max_len), {len(self.kernels)} wide (embed), "
                f"as the kernels require, but got {length} words, {embed} wide. Shorten the sentence, or "
                "build the layer with a larger max_len."
            )
        for kernel in self.kernels.split(self.widths, dim=1):
            if columns.shape[1] == 1:
                break
            columns, lengths = convolve_columns(columns, lengths, kernel)
        return columns[:, 0]
