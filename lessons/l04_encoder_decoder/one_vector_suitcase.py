"""The one-vector suitcase: how many words fit in one vector, and come out again?

    >>> round(compute(n=10, d=128, keeps=ONE)["recall"], 1)
    0.9

A store that needs no training. Each word is a vector of d random signs, and so is each position in the
sentence. A word is multiplied by its position, and the products are added up: that sum is the suitcase. To
recall the word at position 3, multiply by position 3 again: the word comes back, the others as noise, and
the nearest word of the vocabulary is the answer. The second panel shows the exact match of trained seq2seq
systems with states of the same width (`data/results/state_size.json`).
"""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show
from course_lib.formatting import fixed
from course_lib.results import mean_over_seeds
from course_lib.views.lines import add_marker, label_line_ends
from course_lib.views.pillow_text import add_text

ONE, EACH = "one vector", "one per word"
LENGTHS = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50)
WIDTHS = (32, 64, 128, 256, 512)
VOCABULARY = 100
N_RECALLS = 2000  # for each length and width
SEED = 8
REAL_VOCABULARY = 37_000  # the word pieces of the 2017 paper

GROUPS = {"1–5": 3, "6–10": 8, "11–15": 13, "16–20": 18, "21–30": 25.5, "31–40": 35.5}  # and their middles
COLOURS = {ONE: theme.BLUE, EACH: theme.GREEN}


@cache
def recall(d: int) -> dict[int, float]:
    """For each length, the fraction of words that are recalled correctly."""
    generator = np.random.default_rng(SEED)
    words = _signs(generator, VOCABULARY, d)
    fractions = {}
    for n in LENGTHS:
        sentences = generator.integers(VOCABULARY, size=(math.ceil(N_RECALLS / n), n))
        positions = _signs(generator, *sentences.shape, d)
        suitcase = (positions * words[sentences]).sum(axis=1, keepdims=True)
        scores = (positions * suitcase).reshape(-1, d) @ words.T  # one large product is faster
        right = scores.argmax(axis=-1).reshape(sentences.shape) == sentences
        fractions[n] = float(right.mean())
    return fractions


@cache
def recall_of_each(d: int) -> float:
    """The fraction of words that are recalled correctly if each has a vector of its own."""
    words = _signs(np.random.default_rng(SEED), VOCABULARY, d)
    return float(((words @ words.T).argmax(axis=-1) == np.arange(VOCABULARY)).mean())


def _signs(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.integers(0, 2, size=shape, dtype=np.int8).astype(np.float32) * 2 - 1


@cache
def trained(d: int) -> tuple[float, ...]:
    """The exact match of seq2seq with states of this width, for each group of lengths; mean over seeds."""

    def exact(run: dict, group: str) -> float:
        scores = run["scores"]
        return (scores["test"]["by_length"] | scores["long"]["by_length"])[group]["exact"]

    return tuple(mean_over_seeds("state_size", partial(exact, group=group))[str(d)] for group in GROUPS)


def bits(n: int) -> float:
    """The information in n words of a vocabulary of 37,000, if all are equally likely."""
    return n * math.log2(REAL_VOCABULARY)


def compute(*, n: int, d: int, keeps: str) -> Facts:
    fraction = recall(d)[n] if keeps == ONE else recall_of_each(d)
    return {"recall": fraction, "trained": np.array(trained(d)), "bits": bits(n)}


def draw_recall(axes: Axes) -> Show:
    _by_length(axes)
    ends = {}
    for d in WIDTHS:
        curve = list(recall(d).values())
        axes.plot(LENGTHS, curve, color=theme.HAIRLINE, linewidth=1.5)
        ends[str(d)] = (LENGTHS[-1], curve[-1])
    label_line_ends(axes, ends, (theme.SOFT_INK,) * len(WIDTHS))
    [curve] = axes.plot(LENGTHS, np.zeros(len(LENGTHS)), linewidth=2.4)
    dot = add_marker(axes)
    percentage = add_text(axes, 0.97, 0.62, coords="axes", ha="right", va="center", size=17, weight="bold")

    def show(facts: Facts) -> None:
        colour, each = COLOURS[facts["keeps"]], facts["keeps"] == EACH
        heights = [facts["recall"]] * len(LENGTHS) if each else list(recall(facts["d"]).values())
        curve.set(ydata=heights, color=colour)
        dot.set(data=([facts["n"]], [facts["recall"]]), markerfacecolor=colour)
        percentage.set(text=f"{fixed(100 * facts['recall'], 0)}%", color=colour)

    return show


def draw_trained(axes: Axes) -> Show:
    _by_length(axes)
    middles = list(GROUPS.values())
    for d in WIDTHS:
        axes.plot(middles, trained(d), color=theme.HAIRLINE, linewidth=1.5)
    style = {"linewidth": 2.4, "markersize": 5, "color": theme.ORANGE}
    [curve] = axes.plot(middles, np.zeros(len(middles)), "s-", **style)
    axes.axvline(20.5, color=theme.SOFT_INK, linewidth=1, linestyle=(0, (3, 2)))
    axes.text(21.5, 0.9, "longer than in training", fontsize=8.5, color=theme.SOFT_INK, va="center")
    width = add_text(axes, 0.97, 0.66, coords="axes", ha="right", va="center", size=10, colour=theme.ORANGE)

    def show(facts: Facts) -> None:
        curve.set_ydata(facts["trained"])
        width.set_text(f"hidden states of width {facts['d']}")

    return show


def _by_length(axes: Axes) -> None:
    axes.set(xlabel="words in the sentence", xlim=(0, 51), ylim=(-0.04, 1.08))
    axes.set_yticks((0, 0.5, 1), ("0%", "50%", "100%"))
    axes.set_xticks((1, 10, 20, 30, 40, 50))
    axes.grid(axis="y")


class OneVectorSuitcase(Explorable):
    title = "One-vector suitcase"
    question = "How many words can one vector store so that they can be recalled?"
    size = (9.6, 3.4)
    n = Choice("words", LENGTHS, 10)
    d = Choice("width", WIDTHS, 128)
    keeps = Choice("store", (ONE, EACH), ONE, buttons=True)
    presets = {
        "20 words in 256": {"n": 20, "d": 256},
        "20 words in 128": {"n": 20, "d": 128},
        "40 words in 512": {"n": 40, "d": 512},
    }
    goals = {
        "most-in-32": "Width 32: the most words of which 90% are recalled",
        "fifty": "50 words, one vector: the smallest width that recalls half",
        "nothing-lost": "50 words, vectors of width 32, and every word recalled",
    }
    panels = (
        Panel("Suitcase: words recalled", draw_recall),
        Panel("Trained seq2seq: exact match", draw_trained),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        n, d, fraction, in_one = now["n"], now["d"], now["recall"], now["keeps"] == ONE
        longer = LENGTHS[min(LENGTHS.index(n) + 1, len(LENGTHS) - 1)]
        return {
            "most-in-32": in_one and d == 32 and fraction >= 0.9 > recall(32)[longer],
            "fifty": in_one and n == 50 and fraction >= 0.5 > recall(max(32, d // 2))[50],
            "nothing-lost": n == 50 and d == 32 and fraction == 1,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        vectors = f"{facts['n']} vectors" if facts["keeps"] == EACH else "one vector"
        needed = f"{fixed(facts['bits'], 0)} bits for a vocabulary of 37,000"
        return [f"{facts['n']} words in {vectors} of width {facts['d']}", needed]

    @staticmethod
    def describe(facts: Facts) -> str:
        vectors = f"{facts['n']} vectors" if facts["keeps"] == EACH else "one vector"
        return (
            f"{facts['n']} words in {vectors} of width {facts['d']}: {fixed(100 * facts['recall'], 0)}% of "
            f"the words are recalled. A trained seq2seq with hidden states of width {facts['d']} translates "
            f"{fixed(100 * facts['trained'][3], 0)}% of the sentences of 16 to 20 words exactly."
        )
