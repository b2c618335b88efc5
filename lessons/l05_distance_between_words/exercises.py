"""The exercises of lesson 05: a convolution, its receptive field, the cheapest stack, and looking back."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.teaching.exercises import (
    ByHand,
    PlainExercise,
    Slip,
    TensorExercise,
    TestExercise,
    gaussian,
    wrong_only_at,
)

LESSON = "distance_between_words"
SIZES = {"n": 8, "k": 3, "c": 4, "o": 5}
OTHER_SIZES = (
    {"n": 7, "k": 5, "c": 3, "o": 2},
    {"n": 4, "k": 4, "c": 4, "o": 4},
    {"n": 6, "k": 2, "c": 2, "o": 3},
    {"n": 1, "k": 1, "c": 1, "o": 1},
)


def convolve_words(words: Tensor, kernel: Tensor) -> Tensor:
    """Torch's convolution, for one sentence and a kernel of (width, channels, out)."""
    return F.conv1d(words.mT[None], kernel.permute(2, 1, 0))[0].mT


def convolve_padded(words: Tensor, kernel: Tensor, left: int | None = None) -> Tensor:
    """As many outputs as words, with `left` zeros before the sentence and the others after it.

    By default all zeros are before the sentence, and the convolution is causal.
    """
    missing = len(kernel) - 1
    left = missing if left is None else left
    return convolve_words(F.pad(words, (0, 0, left, missing - left)), kernel)


def sum_over(words: Tensor, kernel: Tensor, positions: Sequence[int]) -> Tensor:
    """Only these positions of the window; like `sum`, the number 0 if there are none."""
    n_windows = len(words) - len(kernel) + 1
    products = [words[j : j + n_windows] @ kernel[j] for j in positions]
    return sum(products) if products else torch.zeros(())


LAST_FORGOTTEN, FIRST_FORGOTTEN = (
    f"the {name} word of each window is left out. Does the loop over the positions {how}?"
    for name, how in (("last", "end one step too early"), ("first", "start at 1"))
)
ONLY_WINDOWS_THAT_FIT = (
    "zeros are added to the sentence, so there are as many outputs as words. Use only the windows that fit: "
    "n − width + 1."
)

CONVOLVE_WORDS = TensorExercise(
    name="convolve_words",
    lesson=LESSON,
    inputs={"words": gaussian("n c"), "kernel": gaussian("k c o")},
    returns={"outputs": "n-k+1 o"},
    sizes=SIZES,
    other_sizes=OTHER_SIZES,
    large=(),
    reference=convolve_words,
    by_hand=ByHand(
        inputs={
            "words": [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]],
            "kernel": [[[1.0], [0.0]], [[0.0], [10.0]]],
        },
        answer={"outputs": [[11.0], [0.0], [32.0]]},
        says="`kernel[0]` picks the first number of a window's first word, and `kernel[1]` ten times the "
        "second number of its second word. The three windows give 1 + 10 · 1 = 11, 0 + 10 · 0 = 0 and "
        "2 + 10 · 3 = 32.",
    ),
    slips=(
        Slip(
            "turned-round",
            lambda words, kernel: convolve_words(words, kernel.flip(0)),
            "the kernel is flipped, so its last matrix multiplies the first word of a window. `kernel[0]` "
            "belongs to the window's first word.",
        ),
        Slip(
            "first-place-only",
            lambda words, kernel: words[: len(words) - len(kernel) + 1] @ kernel[0],
            "only the first word of each window counts. Add up all positions of the window.",
        ),
        Slip(
            "last-place-only",
            lambda words, kernel: words[len(kernel) - 1 :] @ kernel[-1],
            "only the last word of each window counts. Is the sum overwritten in the loop? Add to it "
            "instead.",
        ),
        Slip(
            "mean",
            lambda words, kernel: convolve_words(words, kernel) / len(kernel),
            "the products are averaged. A convolution adds them up.",
        ),
        Slip(
            "same-matrix-everywhere",
            lambda words, kernel: convolve_words(words, kernel[:1].expand_as(kernel)),
            "every position of the window uses `kernel[0]`. Each position has its own matrix.",
        ),
        Slip(
            "summed-first",
            lambda words, kernel: convolve_words(words, kernel.sum(0).expand_as(kernel)),
            "the words of a window and the matrices are summed before they are multiplied. Multiply each "
            "word by the matrix of its own position, then add up.",
        ),
        Slip(
            "last-place-forgotten",
            lambda words, kernel: convolve_words(words, kernel) - sum_over(words, kernel, [len(kernel) - 1]),
            LAST_FORGOTTEN,
        ),
        Slip(
            "last-place-unread",
            lambda words, kernel: sum_over(words, kernel, range(len(kernel) - 1)),
            LAST_FORGOTTEN,
        ),
        Slip(
            "first-place-forgotten",
            lambda words, kernel: convolve_words(words, kernel) - sum_over(words, kernel, [0]),
            FIRST_FORGOTTEN,
        ),
        Slip(
            "first-place-unread",
            lambda words, kernel: sum_over(words, kernel, range(1, len(kernel))),
            FIRST_FORGOTTEN,
        ),
        Slip(
            "squashed",
            lambda words, kernel: torch.tanh(convolve_words(words, kernel)),
            "a `tanh` is applied. A nonlinearity may follow a convolution but isn't part of it.",
        ),
        Slip(
            "rectified",
            lambda words, kernel: torch.relu(convolve_words(words, kernel)),
            "a ReLU is applied. A nonlinearity may follow a convolution but isn't part of it.",
        ),
        Slip(
            "empty-slice",
            lambda words, kernel: sum(words[j : j + 1 - len(kernel)] @ kernel[j] for j in range(len(kernel))),
            "the slice for the last position is empty, because an end of 0 doesn't mean the end of the "
            "sentence. Compute the end from the number of windows.",
        ),
        Slip(
            "last-window-missing",
            lambda words, kernel: convolve_words(words, kernel)[:-1],
            "the last window is missing. There are n − width + 1 windows, not n − width.",
        ),
        Slip(
            "first-window-missing",
            lambda words, kernel: convolve_words(words, kernel)[1:],
            "the first window is missing. It starts at `words[0]`.",
        ),
        Slip(
            "one-window",
            lambda words, kernel: convolve_words(words, kernel)[:1],
            "there is an output for the first window only. Move the window through the whole sentence.",
        ),
        Slip(
            "no-overlap",
            lambda words, kernel: convolve_words(words, kernel)[:: len(kernel)],
            "the windows don't overlap. The window should move by one word at a time, not by its width.",
        ),
        Slip(
            "padded-around",
            lambda words, kernel: convolve_padded(words, kernel, left=(len(kernel) - 1) // 2),
            ONLY_WINDOWS_THAT_FIT,
        ),
        Slip("padded-before", convolve_padded, ONLY_WINDOWS_THAT_FIT),
        Slip(
            "padded-after",
            lambda words, kernel: convolve_padded(words, kernel, left=0),
            ONLY_WINDOWS_THAT_FIT,
        ),
        Slip(
            "width-3",
            lambda words, kernel: sum(words[j : len(words) - 2 + j] @ kernel[j] for j in range(3)),
            "the width is assumed to be 3. Use `len(kernel)`.",
        ),
        Slip(
            "never-moves",
            lambda words, kernel: words[: len(words) - len(kernel) + 1] @ kernel.sum(0),
            "every position of the window uses the same words. Position j needs the words from index j on.",
        ),
        Slip(
            "batch-axis",
            lambda words, kernel: convolve_words(words, kernel)[None],
            "the output has a batch axis of size 1. Remove it: take `[0]`.",
        ),
        Slip(
            "conv1d-output",
            lambda words, kernel: convolve_words(words, kernel).mT[None],
            "this is the output of `conv1d` as it is: (1, out, windows). Take `[0]`, then transpose it.",
        ),
        Slip(
            "outputs-transposed",
            lambda words, kernel: convolve_words(words, kernel).mT,
            "the output has its axes in the wrong order: (out, windows). Transpose it.",
        ),
        Slip(
            "kernel-reshaped",
            lambda words, kernel: F.conv1d(words.mT, kernel.reshape(kernel.shape[::-1])).mT,
            "the kernel is reshaped, which mixes up its numbers. To reorder its axes for `conv1d`, use "
            "`permute`.",
        ),
        Slip(
            "squeezed",
            lambda words, kernel: convolve_words(words, kernel).squeeze(),
            "`squeeze` also removes the axis of the windows or of the output channels if its size is 1.",
        ),
    ),
)


# ---- the receptive field


def receptive_fields(
    growth: Callable[[int, int], int] = lambda width, dilation: (width - 1) * dilation, start: int = 1
) -> Callable[[Sequence[int], Sequence[int]], list[int]]:
    """The receptive field after each layer; with another growth or start, a wrong one."""

    def after_each_layer(widths: Sequence[int], dilations: Sequence[int]) -> list[int]:
        return list(accumulate(map(growth, widths, dilations), initial=start))[1:]

    return after_each_layer


def reached_distances(widths: Sequence[int], dilations: Sequence[int]) -> set[int]:
    """The distances back from the output of all words that have a way to it.

    >>> sorted(reached_distances([2, 2], [1, 3]))
    [0, 1, 3, 4]
    """
    distances = {0}
    for width, dilation in zip(widths, dilations, strict=True):
        distances = {distance + j * dilation for distance in distances for j in range(width)}
    return distances


def multiply_widths(widths: Sequence[int], dilations: Sequence[int]) -> list[int]:
    return list(accumulate(widths, operator.mul))


RECEPTIVE_FIELD = PlainExercise(
    name="receptive_field",
    lesson=LESSON,
    inputs=("widths", "dilations"),
    reference=receptive_fields(),
    by_hand=ByHand(
        inputs={"widths": [3, 3, 2], "dilations": [1, 2, 4]},
        answer=[3, 7, 11],
        says="Before the first layer, the field is one word: 1. The first layer adds (3 − 1) · 1 = 2, which "
        "makes 3. The second adds (3 − 1) · 2 = 4, which makes 7. The third adds (2 − 1) · 4 = 4, which "
        "makes 11.",
    ),
    others=(
        lambda: ([3, 3, 3, 3], [1, 1, 1, 1]),
        lambda: ([3, 3, 3, 3], [1, 3, 9, 27]),
        lambda: ([5], [1]),
        lambda: ([], []),
        lambda: ([2, 7, 4], [5, 1, 3]),
        lambda: ([1, 3, 3, 3], [7, 1, 5, 15]),
    ),
    slips=(
        Slip(
            "no-gaps",
            receptive_fields(lambda width, dilation: width - 1),
            "the dilations aren't used. A layer adds width − 1 steps, each of them `dilation` words long.",
        ),
        Slip(
            "adds-whole-width",
            receptive_fields(lambda width, dilation: width * dilation, start=0),
            "each layer adds its whole width. The window shares one position with the field so far, so a "
            "layer adds only width − 1 steps; and the field starts at 1, the word itself.",
        ),
        Slip(
            "adds-whole-width-to-one",
            receptive_fields(lambda width, dilation: width * dilation),
            "each layer adds its whole width. The window shares one position with the field so far, so a "
            "layer adds only width − 1 steps.",
        ),
        Slip(
            "parentheses",
            receptive_fields(lambda width, dilation: width * dilation - 1),
            "each layer adds width · dilation − 1. Are parentheses missing? Subtract 1 before you multiply.",
        ),
        Slip(
            "dilation-between",
            receptive_fields(lambda width, dilation: (width - 1) * (dilation + 1)),
            "each step is one word too long. The dilation is the step from one position to the next, not the "
            "number of words skipped: with dilation 1, no word is skipped.",
        ),
        Slip(
            "adds-dilation",
            receptive_fields(lambda width, dilation: width + dilation - 2),
            "the dilation is added to the width. Multiply: each of the width − 1 steps is `dilation` "
            "words long.",
        ),
        Slip(
            "odd-widths",
            receptive_fields(lambda width, dilation: (width - 1) // 2 * 2 * dilation),
            "even widths lose a word: `(width - 1) // 2` is rounded down. Use width − 1 as it is.",
        ),
        Slip(
            "both-sides",
            receptive_fields(lambda width, dilation: 2 * (width - 1) * dilation),
            "each layer adds its steps twice. The window isn't extended on both sides: it has width − 1 "
            "steps in all.",
        ),
        Slip(
            "starts-at-nothing",
            receptive_fields(start=0),
            "every number is one too small. Before the first layer, the field is one word: start at 1.",
        ),
        Slip(
            "multiplies",
            multiply_widths,
            "the widths are multiplied. That is right only if each dilation is the field so far (1, 3, 9 for "
            "width 3). In general, each layer adds to the field: how many words?",
        ),
        Slip(
            "each-for-itself",
            lambda widths, dilations: [1 + (w - 1) * d for w, d in zip(widths, dilations, strict=True)],
            "each layer is counted alone. A layer builds on those below it: add its growth to the field so "
            "far.",
        ),
        Slip(
            "without-skipped-words",
            lambda *layers: [
                len(reached_distances(*(numbers[: i + 1] for numbers in layers)))
                for i in range(len(layers[0]))
            ],
            "this leaves out the words in the gaps, which no layer reads. The receptive field extends from "
            "the first word to the last and includes the gaps.",
        ),
        Slip(
            "appended-too-early",
            lambda widths, dilations: [1, *receptive_fields()(widths, dilations)][: len(widths)],
            "the field is appended before the layer is added to it. Add first, then append.",
        ),
        Slip(
            "steps-only",
            lambda widths, dilations: [(w - 1) * d for w, d in zip(widths, dilations, strict=True)],
            "this is what each layer adds. Add it to the field so far, which starts at 1.",
        ),
        Slip(
            "one-in-front",
            lambda widths, dilations: [1, *receptive_fields()(widths, dilations)],
            "the list starts with the 1 from before the first layer. It should have one number per layer.",
        ),
        Slip(
            "only-last",
            lambda widths, dilations: [1, *receptive_fields()(widths, dilations)][-1],
            "only the field after the last layer is returned. Append the field to a list after every layer.",
        ),
        Slip(
            "from-the-end",
            lambda widths, dilations: receptive_fields()(widths[::-1], dilations[::-1]),
            "the layers are processed in reverse order. Start with the first layer.",
        ),
        Slip(
            "reversed-list",
            lambda widths, dilations: receptive_fields()(widths, dilations)[::-1],
            "the list is in reverse order. The field after the first layer comes first.",
        ),
        Slip(
            "first-width-only",
            lambda widths, dilations: receptive_fields()(widths[:1] * len(widths), dilations),
            "the first width is used for every layer. Each layer has its own.",
        ),
        Slip(
            "width-3",
            lambda widths, dilations: receptive_fields()([3] * len(widths), dilations),
            "the width is assumed to be 3. Each layer has its own, in `widths`.",
        ),
        Slip(
            "dilations-multiplied",
            lambda widths, dilations: receptive_fields()(widths, accumulate(dilations, operator.mul)),
            "the dilations are multiplied from layer to layer. Use each as it is.",
        ),
        Slip(
            "first-dilation-ignored",
            lambda widths, dilations: receptive_fields()(widths, [1, *dilations[1:]]),
            "the dilation of the first layer isn't used. Treat it like the others.",
        ),
    ),
)


# ---- the cheapest stack


@cache
def cheapest_widths(n_words: int) -> tuple[int, ...]:
    """Widths whose product is at least `n_words`, with the smallest possible sum.

    A stack has as many ways as the product of its widths, one for each choice of an offset in every layer,
    so it reaches at most that many words. It reaches all if each dilation is the product of the widths below.
    """
    if n_words <= 1:
        return ()
    choices = ((width, *cheapest_widths(-(-n_words // width))) for width in range(2, n_words + 1))
    return min(choices, key=lambda widths: (sum(widths), len(widths)))


def cheapest_stack(n_words: int) -> tuple[list[int], list[int]]:
    widths = list(cheapest_widths(n_words))
    return widths, list(accumulate(widths, operator.mul, initial=1))[: len(widths)]


def is_a_stack(inputs: tuple, answer: Any) -> str:
    widths, dilations = answer
    if not widths or len(widths) != len(dilations):
        return f"Each layer needs a width and a dilation; {len(widths)} and {len(dilations)} came."
    whole = all(int(number) == number and number >= 1 for number in (*widths, *dilations))
    return "" if whole else "Widths and dilations are whole numbers, 1 or more."


def hears_every_word(inputs: tuple, answer: Any) -> str:
    (n_words,), (widths, dilations) = inputs, answer
    span = receptive_fields()(widths, dilations)[-1]
    if span < n_words:
        return f"This stack spans {span} words; {n_words} are wanted."
    missing = sorted(set(range(n_words)) - reached_distances(widths, dilations))
    if not missing:
        return ""
    return (
        f"It spans {span} words but does not hear all of them: no way leads from the word {missing[0]} "
        f"places back to the output. {len(missing)} of {n_words} words are not heard; the gaps are too large."
    )


def costs_least(inputs: tuple, answer: Any) -> str:
    (n_words,), (widths, _) = inputs, answer
    cost, best = sum(widths), sum(cheapest_widths(n_words))
    if cost <= best:
        return ""
    return (
        f"It hears all {n_words} words and costs {cost} matrices; it can be done with {best}. Many different "
        "designs reach that."
    )


CHEAPEST_CNN = PlainExercise(
    name="cheapest_cnn",
    lesson=LESSON,
    inputs=("n_words",),
    design=True,
    reference=cheapest_stack,
    by_hand=ByHand(
        inputs={"n_words": 40},
        answer=([5, 3, 3], [1, 5, 15]),
        says="5 · 3 · 3 = 45 words are heard, with 5 + 3 + 3 = 11 matrices.",
    ),
    others=(lambda: (9,), lambda: (100,), lambda: (2,)),
    demands=(is_a_stack, hears_every_word, costs_least),
)


# ---- looking back only


def first_version(words, kernel):
    n, width = len(words), len(kernel)
    left = (width - 1) // 2
    padded = torch.nn.functional.pad(words, (0, 0, left, width - 1 - left))
    return sum(padded[j : j + n] @ kernel[j] for j in range(width))


def convolve_after(words: Tensor, before: Tensor, kernel: Tensor) -> Tensor:
    """The convolution with these rows before the sentence."""
    return convolve_words(torch.cat([before, words]), kernel)


def convolve_after_two_zeros(words: Tensor, kernel: Tensor) -> Tensor:
    """As many outputs as words; correct for width 3 only."""
    padded = F.pad(words, (0, 0, 2, len(kernel)))
    return convolve_words(padded[: len(words) + len(kernel) - 1], kernel)


def convolve_unpadded(words: Tensor, kernel: Tensor) -> Tensor:
    """The windows that fit; none if the sentence is too short."""
    return convolve_words(words, kernel) if len(words) >= len(kernel) else words[:0] @ kernel[0]


def convolve_windows(words: Tensor, kernel: Tensor, earliest: int = 0) -> Tensor:
    """Each window is a slice of the words and is multiplied by the first matrices of the kernel."""
    starts = [max(earliest, t - len(kernel) + 1) for t in range(len(words))]
    windows = [words[start : t + 1] for t, start in enumerate(starts)]
    return torch.stack([torch.einsum("kc,kco->o", window, kernel[: len(window)]) for window in windows])


def pad_before(words: Tensor, kernel: Tensor, value: float = 0.0) -> Tensor:
    return F.pad(words, (0, 0, len(kernel) - 1, 0), value=value)


OWN_WORD_LEFT_OUT = (
    "the last position of the window, which is the current word, is left out. Does the loop end too early?"
)
FIRST_OUTPUTS_ARE_ZERO = (
    "the first width − 1 outputs are 0, although their windows contain words. Either the zeros are added "
    "before the outputs instead of the words, or the first slices are empty, such as `words[-1:2]`."
)

LOOK_BACK = TensorExercise(
    name="look_back",
    lesson=LESSON,
    inputs={"words": gaussian("n c"), "kernel": gaussian("k c o")},
    returns={"outputs": "n o"},
    sizes=SIZES,
    other_sizes=(*OTHER_SIZES, {"n": 1, "k": 3, "c": 2, "o": 4}),  # a text starts with one word
    large=(),
    reference=convolve_padded,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={"words": [[1.0], [2.0], [4.0]], "kernel": [[[100.0]], [[10.0]], [[1.0]]]},
        answer={"outputs": [[1.0], [12.0], [124.0]]},
        says="There are two zeros before the first word, so the windows are (0, 0, 1), (0, 1, 2) and "
        "(1, 2, 4). The last matrix, 1, multiplies the current word: the outputs are 1, 12 and 124.",
    ),
    slips=(
        Slip(
            "peeks",
            lambda words, kernel: convolve_padded(words, kernel, left=len(kernel) - 2),
            "every window extends one word into the future. A window of width k needs k − 1 zeros before the "
            "sentence, not k − 2.",
        ),
        Slip(
            "looks-ahead",
            lambda words, kernel: convolve_padded(words, kernel, left=0),
            "every window starts at its word and extends into the future. Put all zeros before the "
            "sentence. If you pad both sides, keep the first n outputs, not the last.",
        ),
        Slip(
            "centred-right",
            lambda words, kernel: convolve_padded(words, kernel, left=len(kernel) // 2),
            "there are zeros on both sides of the sentence, so the windows extend into the future. Put all "
            "of them before the sentence.",
        ),
        Slip(
            "skips-own-word",
            lambda words, kernel: convolve_padded(words, kernel, left=len(kernel)),
            "every window ends one word too early, before its own word. A window of width k needs k − 1 "
            "zeros before the sentence, not k.",
        ),
        Slip(
            "own-word-left-out",
            lambda words, kernel: convolve_padded(words, kernel) - words @ kernel[-1],
            OWN_WORD_LEFT_OUT,
        ),
        Slip(
            "own-word-unread",
            lambda words, kernel: sum_over(pad_before(words, kernel), kernel, range(len(kernel) - 1)),
            OWN_WORD_LEFT_OUT,
        ),
        Slip(
            "one-output-too-many",
            lambda words, kernel: convolve_words(F.pad(words, (0, 0, len(kernel), 0)), kernel),
            "there is one output too many, because there is one zero too many before the sentence. A window "
            "of width k needs k − 1.",
        ),
        Slip(
            "two-zeros",
            convolve_after_two_zeros,
            "there are always two zeros before the sentence. That is right only for width 3; a window of "
            "width k needs k − 1.",
        ),
        Slip(
            "no-zeros",
            convolve_unpadded,
            "there are no zeros before the sentence, so the first words have no output.",
        ),
        Slip(
            "ones",
            lambda words, kernel: convolve_words(pad_before(words, kernel, value=1.0), kernel),
            "the sentence is padded with ones. Use zeros.",
        ),
        Slip(
            "pads-outputs",
            lambda words, kernel: F.pad(convolve_unpadded(words, kernel), (0, 0, len(kernel) - 1, 0)),
            FIRST_OUTPUTS_ARE_ZERO,
        ),
        Slip(
            "negative-start",
            lambda words, kernel: convolve_windows(words, kernel, earliest=-len(kernel)),
            FIRST_OUTPUTS_ARE_ZERO,
        ),
        Slip(
            "kernel-start",
            convolve_windows,
            "the first windows, which are shorter, use the first matrices of the kernel. They need the last "
            "ones, because `kernel[-1]` belongs to the current word.",
        ),
        Slip(
            "wraps-around",
            lambda words, kernel: sum(words.roll(i, 0) @ matrix for i, matrix in enumerate(kernel.flip(0))),
            "the first windows contain the last words of the sentence, which are in the future. `roll` and "
            "negative indices wrap around. Use zeros.",
        ),
        Slip(
            "first-word-again",
            lambda words, kernel: convolve_after(words, words[:1].expand(len(kernel) - 1, -1), kernel),
            "the first word is repeated before the sentence. Use zeros.",
        ),
        Slip(
            "turned-round",
            lambda words, kernel: convolve_padded(words, kernel.flip(0)),
            "the kernel is flipped. `kernel[-1]` belongs to the current word, the last of its window.",
        ),
    ),
)


def convolve_by_conv1d(words: Tensor, kernel: Tensor) -> Tensor:
    padded = F.pad(words.T[None], (len(kernel) - 1, 0))
    return F.conv1d(padded, kernel.permute(2, 1, 0))[0].T


def convolve_word_by_word(words: Tensor, kernel: Tensor) -> Tensor:
    outputs = []
    for t in range(len(words)):
        window = words[max(0, t - len(kernel) + 1) : t + 1]
        outputs.append(torch.einsum("kc,kco->o", window, kernel[len(kernel) - len(window) :]))
    return torch.stack(outputs)


def convolve_flipped(words: Tensor, kernel: Tensor) -> Tensor:
    return convolve_padded(words, kernel.flip(0))


def careful_test(convolution: Callable) -> None:
    generator = torch.Generator().manual_seed(0)
    words, wide = (torch.randn(shape, generator=generator) for shape in ((6, 4), (3, 4, 5)))
    for kernel in (wide, wide[1:]):
        torch.testing.assert_close(convolution(words, kernel), convolve_by_conv1d(words, kernel))


TEST_LOOKS_BACK = TestExercise(
    name="test_looks_back",
    lesson=LESSON,
    inputs={"convolution": "a function"},
    of=LOOK_BACK,
    what="convolution",
    accepts={"with conv1d": convolve_by_conv1d, "word by word": convolve_word_by_word},
    rejects={
        "peeks": "reads one word from the future",
        "looks-ahead": "reads the words that follow instead of those before",
        "wraps-around": "fills the first windows with the last words",
        "skips-own-word": "doesn't read the current word",
        "first-word-again": "repeats the first word before the sentence",
        "pads-outputs": "returns zeros for the first words",
        "turned-round": "flips the kernel",
        "two-zeros": "adds two zeros before the sentence, whatever the width",
    },
    wrong={
        "reads only the current word": lambda words, kernel: words @ kernel[-1],
        "reads at most two words": lambda words, kernel: convolve_padded(words, kernel[-2:]),
        "returns the outputs in reverse order": lambda words, kernel: convolve_padded(words, kernel).flip(0),
        "is wrong for the third word only": wrong_only_at(2, convolve_padded, convolve_flipped),
        "is wrong for the last word only": wrong_only_at(-1, convolve_padded, convolve_flipped),
        "is wrong in all output channels but the first": wrong_only_at(
            (..., slice(1, None)), convolve_padded, convolve_flipped
        ),
        "ignores all channels but the first": lambda words, kernel: convolve_padded(
            words[:, :1], kernel[:, :1]
        ),
        "returns one output more than there are words": lambda words, kernel: convolve_padded(
            F.pad(words, (0, 0, 0, 1)), kernel
        ),
        "averages over the window": lambda words, kernel: convolve_padded(words, kernel) / len(kernel),
    },
    reference=careful_test,
)

EXERCISES = (CONVOLVE_WORDS, RECEPTIVE_FIELD, CHEAPEST_CNN, LOOK_BACK, TEST_LOOKS_BACK)
