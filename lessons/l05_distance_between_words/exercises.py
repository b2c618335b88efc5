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

from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TensorExercise, TestExercise, gaussian

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


def n_windows(words: Tensor, kernel: Tensor) -> int:
    return len(words) - len(kernel) + 1


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
        says="The first matrix takes a word's first number, the second ten times the next word's second "
        "number. The three windows: 1 + 10 · 1 = 11, then 0 + 10 · 0 = 0, then 2 + 10 · 3 = 32.",
    ),
    slips=(
        Slip(
            "turned-round",
            lambda words, kernel: convolve_words(words, kernel.flip(0)),
            "the kernel is turned round: its last matrix meets the first word of a window. `kernel[0]` "
            "belongs to the window's first word.",
        ),
        Slip(
            "first-place-only",
            lambda words, kernel: words[: n_windows(words, kernel)] @ kernel[0],
            "only the first word of each window is counted. Add up all places of the window.",
        ),
        Slip(
            "last-place-only",
            lambda words, kernel: words[len(kernel) - 1 :] @ kernel[-1],
            "only the last word of each window is counted: is a sum overwritten in the loop?",
        ),
        Slip(
            "mean",
            lambda words, kernel: convolve_words(words, kernel) / len(kernel),
            "the products are averaged. A convolution adds them up.",
        ),
        Slip(
            "same-matrix-everywhere",
            lambda words, kernel: convolve_words(words, kernel[:1].expand_as(kernel)),
            "every place of the window uses the first matrix. Each place has a matrix of its own.",
        ),
        Slip(
            "last-place-forgotten",
            lambda words, kernel: convolve_words(words, kernel) - words[len(kernel) - 1 :] @ kernel[-1],
            "the last word of each window is left out: the loop over the places ends one too early.",
        ),
        Slip(
            "squashed",
            lambda words, kernel: torch.tanh(convolve_words(words, kernel)),
            "a tanh is applied. It may follow a convolution, but it is not part of one.",
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
        says="One word sees itself: 1. The first layer adds (3 − 1) · 1 = 2, so 3. The second adds "
        "(3 − 1) · 2 = 4, so 7. The third adds (2 − 1) · 4 = 4, so 11.",
    ),
    others=(
        lambda: ([3, 3, 3, 3], [1, 1, 1, 1]),
        lambda: ([3, 3, 3, 3], [1, 3, 9, 27]),
        lambda: ([5], [1]),
        lambda: ([], []),
        lambda: ([2, 7, 4], [5, 1, 3]),
    ),
    slips=(
        Slip(
            "no-gaps",
            receptive_fields(lambda width, dilation: width - 1),
            "the dilations are not used. A gap stretches a window: its width − 1 steps are that much longer.",
        ),
        Slip(
            "adds-whole-width",
            receptive_fields(lambda width, dilation: width * dilation, start=0),
            "each layer adds its whole width. Neighbouring windows overlap: a layer adds width − 1 steps, "
            "and you begin with 1, the word itself.",
        ),
        Slip(
            "adds-whole-width-to-one",
            receptive_fields(lambda width, dilation: width * dilation),
            "each layer adds its whole width. The word at the window's own place was counted already: a "
            "layer adds width − 1 steps.",
        ),
        Slip(
            "starts-at-nothing",
            receptive_fields(start=0),
            "one is missing everywhere. Before the first layer a word sees one word: itself.",
        ),
        Slip(
            "multiplies",
            multiply_widths,
            "the widths are multiplied. That is right only for gaps that just fit (1, 3, 9 for width 3); in "
            "general a layer adds (width − 1) · dilation.",
        ),
        Slip(
            "each-for-itself",
            lambda widths, dilations: [1 + (w - 1) * d for w, d in zip(widths, dilations, strict=True)],
            "each layer is counted alone. A layer sees what the layers below it saw: add up as you go.",
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


def reached_distances(widths: Sequence[int], dilations: Sequence[int]) -> set[int]:
    """The distances back from the output of all words that have a way to it.

    >>> sorted(reached_distances([2, 2], [1, 3]))
    [0, 1, 3, 4]
    """
    distances = {0}
    for width, dilation in zip(widths, dilations, strict=True):
        distances = {distance + j * dilation for distance in distances for j in range(width)}
    return distances


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


def convolve_padded(words: Tensor, kernel: Tensor, left: int | None = None) -> Tensor:
    """As many outputs as words, with `left` zeros before the sentence and the others after it.

    By default all zeros are before the sentence, and the convolution is causal.
    """
    missing = len(kernel) - 1
    left = missing if left is None else left
    return convolve_words(F.pad(words, (0, 0, left, missing - left)), kernel)


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


LOOK_BACK = TensorExercise(
    name="look_back",
    lesson=LESSON,
    inputs={"words": gaussian("n c"), "kernel": gaussian("k c o")},
    returns={"outputs": "n o"},
    sizes=SIZES,
    other_sizes=OTHER_SIZES,
    large=(),
    reference=convolve_padded,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={"words": [[1.0], [2.0], [4.0]], "kernel": [[[100.0]], [[10.0]], [[1.0]]]},
        answer={"outputs": [[1.0], [12.0], [124.0]]},
        says="Two zeros stand before the first word. The windows are (0, 0, 1), (0, 1, 2) and (1, 2, 4): "
        "the last matrix, 1, meets the word itself, so the outputs are 1, 12 and 124.",
    ),
    slips=(
        Slip(
            "peeks",
            lambda words, kernel: convolve_padded(words, kernel, left=len(kernel) - 2),
            "every window reaches one word into the future. A window of width k needs k − 1 zeros before the "
            "sentence, not k − 2.",
        ),
        Slip(
            "looks-ahead",
            lambda words, kernel: convolve_padded(words, kernel, left=0),
            "the zeros stand behind the sentence, so every window begins with its word and looks ahead. Put "
            "them in front.",
        ),
        Slip(
            "skips-own-word",
            lambda words, kernel: convolve_padded(words, kernel, left=len(kernel)),
            "every window ends one word too early: the word itself is not seen. k − 1 zeros, not k.",
        ),
        Slip(
            "two-zeros",
            convolve_after_two_zeros,
            "two zeros stand before the sentence, whatever the width. That is right for width 3; a window of "
            "width k needs k − 1.",
        ),
        Slip(
            "wraps-around",
            lambda words, kernel: convolve_after(words, words[len(words) - len(kernel) + 1 :], kernel),
            "the first windows are filled with the last words of the sentence (as `roll` does). That is "
            "the future too: fill with zeros.",
        ),
        Slip(
            "first-word-again",
            lambda words, kernel: convolve_after(words, words[:1].expand(len(kernel) - 1, -1), kernel),
            "the first word is repeated before the sentence. Nothing stands there: fill with zeros.",
        ),
        Slip(
            "turned-round",
            lambda words, kernel: convolve_padded(words, kernel.flip(0)),
            "the kernel is turned round: `kernel[-1]` belongs to the word itself, the last of its window.",
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
        "peeks": "reaches one word into the future",
        "looks-ahead": "looks ahead instead of back",
        "wraps-around": "fills the first windows with the last words",
        "skips-own-word": "does not see the word itself",
        "first-word-again": "repeats the first word before the sentence",
        "turned-round": "turns the kernel round",
        "two-zeros": "puts two zeros before the sentence, whatever the width",
    },
    reference=careful_test,
)

EXERCISES = (CONVOLVE_WORDS, RECEPTIVE_FIELD, CHEAPEST_CNN, LOOK_BACK, TEST_LOOKS_BACK)
