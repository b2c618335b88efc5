"""The exercise of lesson 05: a convolution over words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.teaching.exercises import ByHand, Slip, TensorExercise, gaussian

LESSON = "distance_between_words"


def convolve(words: Tensor, kernel: Tensor) -> Tensor:
    """Torch's convolution, for one sentence: (n, channels) and (out, channels, width) -> (windows, out)."""
    return F.conv1d(words.mT[None], kernel)[0].mT


def convolve_padded(words: Tensor, kernel: Tensor, left: int) -> Tensor:
    """As many outputs as words, with `left` zeros before the sentence and the others after it."""
    return convolve(F.pad(words, (0, 0, left, kernel.shape[-1] - 1 - left)), kernel)


def count_windows(words: Tensor, kernel: Tensor) -> int:
    return len(words) - kernel.shape[-1] + 1


def windows_of(words: Tensor, kernel: Tensor) -> Tensor:
    """All windows: (windows, channels, width)."""
    return words.unfold(0, kernel.shape[-1], 1)


def sum_over(words: Tensor, kernel: Tensor, positions: Sequence[int]) -> Tensor:
    """Only these positions of the window; like `sum`, the number 0 if there are none."""
    n_windows = count_windows(words, kernel)
    products = [words[j : j + n_windows] @ kernel[:, :, j].T for j in positions]
    return sum(products) if products else torch.zeros(())


def products(words: Tensor, kernel: Tensor) -> Tensor:
    """What each position of the window adds to the outputs: (width, windows, out)."""
    return torch.einsum("tck,ock->kto", windows_of(words, kernel), kernel)


def last_position_only(words: Tensor, kernel: Tensor) -> Tensor:
    return sum_over(words, kernel, [kernel.shape[-1] - 1])


def sum_of_slices(words: Tensor, kernel: Tensor) -> Tensor:
    """The end of each slice is counted from the end of the sentence, so the last slice is empty."""
    width = kernel.shape[-1]
    return sum(words[j : j + 1 - width] @ kernel[:, :, j].T for j in range(width))


def sum_over_first_axis(words: Tensor, kernel: Tensor) -> Tensor:
    """As if the kernel were (width, channels, out)."""
    return convolve(words, kernel.permute(2, 1, 0))


def sum_over_reshaped(words: Tensor, kernel: Tensor) -> Tensor:
    """The positions as the first axis by `reshape`, which mixes up the numbers."""
    out, channels, width = kernel.shape
    return convolve(words, kernel.reshape(width, channels, out).permute(2, 1, 0))


def width_from(axis: int) -> Callable:
    """The width read from the wrong axis of the kernel."""

    def convolve_wrongly(words: Tensor, kernel: Tensor) -> Tensor:
        width = kernel.shape[axis]
        n_windows = len(words) - width + 1
        return sum(words[j : j + n_windows] @ kernel[:, :, j].T for j in range(width))

    return convolve_wrongly


def sum_of_windows(words: Tensor, kernel: Tensor) -> Tensor:
    """The slice for a position has as many words as a window, rather than one word from each window."""
    width = kernel.shape[-1]
    return sum(words[j : j + width] @ kernel[:, :, j].T for j in range(width))


def sum_to_same_end(words: Tensor, kernel: Tensor) -> Tensor:
    """The slices of all positions end at the same word."""
    n_windows = count_windows(words, kernel)
    return sum(words[j:n_windows] @ kernel[:, :, j].T for j in range(kernel.shape[-1]))


def sum_without_transpose(words: Tensor, kernel: Tensor) -> Tensor:
    n_windows = count_windows(words, kernel)
    return sum(words[j : j + n_windows] @ kernel[:, :, j] for j in range(kernel.shape[-1]))


def sum_over_reshaped_matrices(words: Tensor, kernel: Tensor) -> Tensor:
    """`reshape` instead of a transpose of each matrix."""
    out, channels, width = kernel.shape
    return convolve(words, kernel.permute(2, 0, 1).reshape(width, channels, out).permute(2, 1, 0))


NOT_ONE_WORD_PER_WINDOW = (
    "a slice of the words has the wrong length. Position j needs one word from each window: the "
    "n − width + 1 words from index j on."
)
SAME_WORDS = "every position of the window uses the same words. Position j needs the words from index j on."
WRONG_WIDTH = "the width is read from the wrong axis. It is the size of the kernel's last axis."
LAST_FORGOTTEN, FIRST_FORGOTTEN = (
    f"the {name} word of each window is left out. Does the loop over the positions {how}?"
    for name, how in (("last", "end one step too early"), ("first", "start at 1"))
)
ONLY_WINDOWS_THAT_FIT = (
    "zeros are added to the sentence, so there are as many outputs as words. Use only the windows that fit: "
    "n − width + 1."
)

CONVOLVE_WORDS = TensorExercise(
    name="convolve",
    lesson=LESSON,
    inputs={"words": gaussian("n c"), "kernel": gaussian("o c k")},
    returns={"outputs": "n-k+1 o"},
    sizes={"n": 8, "k": 3, "c": 4, "o": 5},
    other_sizes=(
        {"n": 7, "k": 5, "c": 3, "o": 2},
        {"n": 4, "k": 4, "c": 4, "o": 4},
        {"n": 6, "k": 2, "c": 2, "o": 3},
        {"n": 1, "k": 1, "c": 1, "o": 1},
    ),
    large=(),
    reference=convolve,
    by_hand=ByHand(
        inputs={
            "words": [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]],
            "kernel": [[[1.0, 2.0], [0.0, 10.0]]],
        },
        answer={"outputs": [[11.0], [4.0], [32.0]]},
        says="The width is 2. The matrix of the first position, `kernel[:, :, 0]`, is [[1, 0]], and that of "
        "the second, `kernel[:, :, 1]`, is [[2, 10]]. The three windows give 1 · 1 + 1 · 10 = 11, "
        "2 · 2 = 4 and 2 · 1 + 3 · 10 = 32.",
    ),
    slips=(
        Slip(
            "turned-round",
            lambda words, kernel: convolve(words, kernel.flip(-1)),
            "the kernel is flipped, so its last matrix multiplies the first word of a window. "
            "`kernel[:, :, 0]` belongs to the window's first word.",
        ),
        Slip(
            "first-place-only",
            lambda words, kernel: sum_over(words, kernel, [0]),
            "only the first word of each window counts. Add up all positions of the window.",
        ),
        Slip(
            "last-place-only",
            last_position_only,
            "only the last word of each window counts. Is the sum overwritten in the loop? Add to it "
            "instead.",
        ),
        Slip(
            "mean",
            lambda words, kernel: convolve(words, kernel) / kernel.shape[-1],
            "the products are averaged. A convolution adds them up.",
        ),
        Slip(
            "mean-over-channels",
            lambda words, kernel: convolve(words, kernel) / kernel.shape[1],
            "the products are averaged over the channels. A convolution adds them up.",
        ),
        Slip(
            "multiplied",
            lambda words, kernel: products(words, kernel).prod(dim=0),
            "the results of the positions are multiplied. Add them up.",
        ),
        Slip(
            "maximum",
            lambda words, kernel: products(words, kernel).amax(dim=0),
            "the maximum over the positions of the window is taken. Add up their results.",
        ),
        Slip(
            "same-matrix-everywhere",
            lambda words, kernel: convolve(words, kernel[..., :1].expand_as(kernel)),
            "every position of the window uses `kernel[:, :, 0]`. Each position has its own matrix.",
        ),
        Slip(
            "summed-first",
            lambda words, kernel: convolve(words, kernel.sum(-1, keepdim=True).expand_as(kernel)),
            "the words of a window and the matrices are summed before they are multiplied. Multiply each "
            "word by the matrix of its own position, then add up the results.",
        ),
        Slip(
            "last-place-forgotten",
            lambda words, kernel: convolve(words, kernel) - sum_over(words, kernel, [kernel.shape[-1] - 1]),
            LAST_FORGOTTEN,
        ),
        Slip(
            "last-place-unread",
            lambda words, kernel: sum_over(words, kernel, range(kernel.shape[-1] - 1)),
            LAST_FORGOTTEN,
        ),
        Slip(
            "last-place-skipped",
            lambda words, kernel: sum_over(words, kernel, range(max(1, kernel.shape[-1] - 1))),
            LAST_FORGOTTEN,
        ),
        Slip(
            "first-place-forgotten",
            lambda words, kernel: convolve(words, kernel) - sum_over(words, kernel, [0]),
            FIRST_FORGOTTEN,
        ),
        Slip(
            "first-place-unread",
            lambda words, kernel: sum_over(words, kernel, range(1, kernel.shape[-1])),
            FIRST_FORGOTTEN,
        ),
        Slip(
            "squashed",
            lambda words, kernel: torch.tanh(convolve(words, kernel)),
            "a `tanh` is applied. A nonlinearity may follow a convolution but isn't part of it.",
        ),
        Slip(
            "rectified",
            lambda words, kernel: torch.relu(convolve(words, kernel)),
            "a ReLU is applied. A nonlinearity may follow a convolution but isn't part of it.",
        ),
        Slip(
            "softmax",
            lambda words, kernel: convolve(words, kernel).softmax(dim=-1),
            "a softmax is applied. A nonlinearity may follow a convolution but isn't part of it.",
        ),
        Slip(
            "empty-slice",
            sum_of_slices,
            "the slice for the last position is empty, because an end of 0 doesn't mean the end of the "
            "sentence. Compute the end from the number of windows.",
        ),
        Slip(
            "last-window-missing",
            lambda words, kernel: convolve(words, kernel)[:-1],
            "the last window is missing. There are n − width + 1 windows, not n − width.",
        ),
        Slip(
            "first-window-missing",
            lambda words, kernel: convolve(words, kernel)[1:],
            "the first window is missing. It starts at `words[0]`.",
        ),
        Slip(
            "one-window",
            lambda words, kernel: convolve(words, kernel)[:1],
            "there is an output for the first window only. Move the window through the whole sentence.",
        ),
        Slip(
            "last-window-only",
            lambda words, kernel: convolve(words, kernel)[-1],
            "only the output for the last window is returned. Is it overwritten in the loop? Collect the "
            "outputs of all windows in a list, then use `torch.stack`.",
        ),
        Slip(
            "first-window-only",
            lambda words, kernel: convolve(words, kernel)[0],
            "only the output for the first window is returned. Move the window through the whole sentence.",
        ),
        Slip(
            "windows-added",
            lambda words, kernel: convolve(words, kernel).sum(dim=0),
            "the outputs of all windows are added up. Return one row for each window.",
        ),
        Slip(
            "windows-averaged",
            lambda words, kernel: convolve(words, kernel).mean(dim=0),
            "the outputs of all windows are averaged. Return one row for each window.",
        ),
        Slip(
            "out-added",
            lambda words, kernel: convolve(words, kernel).sum(dim=1),
            "the output channels are added up too. Return a row of output channels for each window.",
        ),
        Slip(
            "channels-not-added",
            lambda words, kernel: torch.einsum("tck,ock->toc", windows_of(words, kernel), kernel),
            "the products are added over the positions of the window, but not over the channels.",
        ),
        Slip(
            "positions-not-added",
            lambda words, kernel: torch.einsum("tck,ock->tok", windows_of(words, kernel), kernel),
            "the products are added over the channels, but not over the positions of the window.",
        ),
        Slip(
            "flattened-differently",
            lambda words, kernel: windows_of(words, kernel).mT.flatten(1) @ kernel.flatten(1).T,
            "the windows and the kernel are flattened in different orders. In the kernel, the channels come "
            "before the positions; in a window, it is the other way round. Transpose one of them first.",
        ),
        Slip(
            "no-overlap",
            lambda words, kernel: convolve(words, kernel)[:: kernel.shape[-1]],
            "the windows don't overlap. The window should move by one word at a time, not by its width.",
        ),
        Slip(
            "padded-around",
            lambda words, kernel: convolve_padded(words, kernel, left=(kernel.shape[-1] - 1) // 2),
            ONLY_WINDOWS_THAT_FIT,
        ),
        Slip(
            "padded-fully",
            lambda words, kernel: F.conv1d(words.mT[None], kernel, padding=kernel.shape[-1] - 1)[0].mT,
            "zeros are added on both sides of the sentence. Use only the windows that fit: n − width + 1.",
        ),
        Slip(
            "padded-by-half",
            lambda words, kernel: F.conv1d(words.mT[None], kernel, padding=kernel.shape[-1] // 2)[0].mT,
            "zeros are added on both sides of the sentence. Use only the windows that fit: n − width + 1.",
        ),
        Slip(
            "wraps-around",
            lambda words, kernel: sum(
                words.roll(kernel.shape[-1] - 1 - j, 0) @ kernel[:, :, j].T for j in range(kernel.shape[-1])
            ),
            "the first windows contain words from the end of the sentence, because negative indices (and "
            "`roll`) wrap around. Use only the windows that fit: n − width + 1.",
        ),
        Slip(
            "padded-before",
            lambda words, kernel: convolve_padded(words, kernel, left=kernel.shape[-1] - 1),
            ONLY_WINDOWS_THAT_FIT,
        ),
        Slip(
            "padded-after",
            lambda words, kernel: convolve_padded(words, kernel, left=0),
            ONLY_WINDOWS_THAT_FIT,
        ),
        Slip(
            "width-3",
            lambda words, kernel: sum(words[j : len(words) - 2 + j] @ kernel[:, :, j].T for j in range(3)),
            "the width is assumed to be 3. Use the size of the kernel's last axis.",
        ),
        Slip(
            "never-moves",
            lambda words, kernel: words[: count_windows(words, kernel)] @ kernel.sum(-1).T,
            SAME_WORDS,
        ),
        Slip("no-slices", lambda words, kernel: words @ kernel.sum(-1).T, SAME_WORDS),
        Slip("slice-as-long-as-a-window", sum_of_windows, NOT_ONE_WORD_PER_WINDOW),
        Slip("slices-with-the-same-end", sum_to_same_end, NOT_ONE_WORD_PER_WINDOW),
        Slip("width-from-out", width_from(0), WRONG_WIDTH),
        Slip("width-from-channels", width_from(1), WRONG_WIDTH),
        Slip(
            "channels-kept",
            lambda words, kernel: torch.einsum("tck,ock->tc", windows_of(words, kernel), kernel),
            "the products are added over the output channels instead of the input channels.",
        ),
        Slip(
            "batch-axis",
            lambda words, kernel: convolve(words, kernel)[None],
            "the output has a batch axis of size 1. Remove it: take `[0]`.",
        ),
        Slip(
            "conv1d-output",
            lambda words, kernel: convolve(words, kernel).mT[None],
            "this is the unchanged output of `conv1d`: (1, out, windows). Take `[0]`, then transpose it.",
        ),
        Slip(
            "outputs-transposed",
            lambda words, kernel: convolve(words, kernel).mT,
            "the output has its axes in the wrong order: (out, windows). Transpose it.",
        ),
        Slip(
            "kernel-reshaped",
            sum_over_reshaped,
            "the kernel is reshaped, which mixes up its numbers. To reorder its axes, use `permute`.",
        ),
        Slip(
            "not-transposed",
            sum_without_transpose,
            "the matrices aren't transposed. Each has the shape (out, channels), and the words are rows, so "
            "multiply them by its transpose: `.T`.",
        ),
        Slip(
            "matrices-reshaped",
            sum_over_reshaped_matrices,
            "each matrix is reshaped, which mixes up its numbers. To swap its axes, transpose it: `.T`.",
        ),
        Slip(
            "first-axis-as-width",
            sum_over_first_axis,
            "the first axis of the kernel is used for the positions of the window. The kernel has shape "
            "(out, channels, width), so the matrix of position j is `kernel[:, :, j]`.",
        ),
        Slip(
            "squeezed",
            lambda words, kernel: convolve(words, kernel).squeeze(),
            "`squeeze` also removes the axis of the windows or of the output channels if its size is 1.",
        ),
    ),
)

EXERCISES = (CONVOLVE_WORDS,)
