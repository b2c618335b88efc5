"""Folding a sentence into one vector with convolutions that grow wider from layer to layer.

    >>> kernel_widths(7)                # 7 words -> 6 -> 4 -> 1
    [2, 3, 4]

The sentence is a matrix with one column a word. A kernel of width 2 makes a column of every two
neighbours, one of width 3 a column of every three of those, and so on, until one column is left.
Each number of an embedding is convolved with weights of its own and never meets the others, so a
kernel has embed · width weights. How many layers a sentence passes depends on its length.

Words are not treated alike: one in the middle is in many windows, the first and the last are in one of
each layer. By this count both ends are heard least. Training makes up for it at the left end and not at the
right one (measured in lesson 05).

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
    """The kernels that fold a sentence of `length` words; a last one that is too wide is cut to fit.

    >>> kernel_widths(1), kernel_widths(3), kernel_widths(60)
    ([], [2, 3], [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    """
    widths: list[int] = []
    while length > 1:
        widths.append(len(widths) + 2)
        length = max(1, length - widths[-1] + 1)
    return widths


def fold(
    columns: Float[Tensor, "batch len embed"],
    lengths: Int[Tensor, " batch"],
    kernel: Float[Tensor, "embed width"],
) -> tuple[Float[Tensor, "batch shorter embed"], Int[Tensor, " batch"]]:
    """One layer, tanh(columns * kernel), for sentences of several lengths: (columns, lengths) after it.

        >>> columns = torch.tensor([[[0.1], [0.2]], [[0.5], [9.0]]])             # the 9 is padding
        >>> fold(columns, torch.tensor([2, 1]), torch.tensor([[1.0, 1.0]]))
        (tensor([[[0.2913]],
        <BLANKLINE>
                [[0.5000]]]), tensor([1, 1]))

    Each row of a sentence is convolved with its own row of the kernel. A sentence of k columns comes out
    with k - width + 1, but at least one: it has zeros at its right. One that has a single column already
    is done: it waits for the others as it is.
    """
    n_columns, embed = columns.shape[1:]
    width = kernel.shape[-1]
    columns = columns.masked_fill(~padding_mask(lengths, n_columns).mT, 0.0)
    padded = F.pad(columns, (0, 0, 0, max(0, width - n_columns)))
    # (batch, len, embed) -> (batch, shorter, embed)
    folded = torch.tanh(F.conv1d(padded.mT, kernel.unsqueeze(1), groups=embed).mT)
    done = (lengths == 1)[:, None, None]
    return torch.where(done, columns[:, : folded.shape[1]], folded), (lengths - width + 1).clamp(min=1)


class Folding(nn.Module):
    """The kernels for sentences of up to `max_len` words, and the fold from the first to the last of them.

    They lie side by side in one parameter: short sentences leave the wide ones alone, and a parameter
    that is sometimes not used at all is a nuisance for training on several machines.
    """

    def __init__(self, *, embed: int, max_len: int):
        super().__init__()
        self.widths, self.max_len = kernel_widths(max_len), max_len
        # A sum of `width` terms keeps its size with 1/√width; tanh shrinks it, 5/3 makes up for that.
        size = nn.init.calculate_gain("tanh")
        kernels = [torch.randn(embed, width) * size / math.sqrt(width) for width in self.widths]
        self.kernels = nn.Parameter(torch.cat(kernels, dim=1))

    def forward(
        self, columns: Float[Tensor, "batch len embed"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch embed"]:
        """One vector a sentence, whatever its length."""
        _, length, embed = columns.shape
        if length > self.max_len or embed != len(self.kernels):
            raise ValueError(
                f"Expected at most {self.max_len} words (max_len), {len(self.kernels)} wide (embed), for "
                f"which there are kernels, but got {length}, {embed} wide. Cut the sentence, or make "
                "the layer with a larger max_len."
            )
        for kernel in self.kernels.split(self.widths, dim=1):
            if columns.shape[1] == 1:
                break
            columns, lengths = fold(columns, lengths, kernel)
        return columns[:, 0]
