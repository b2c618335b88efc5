"""A language model writes, one word at a time: what it has written, and what it would say next.

    >>> compute(model="n-gram", written=8, temperature=0.0)["said"]     # always the likeliest word
    ('les', 'très', 'jeunes', 'sœurs', 'ont', 'acheté', 'les', 'très')

The three models are those that came with the course. A word is drawn by lot: the words lie side by side on
a line of length 1, the likeliest first, and the lot of that step, a number between 0 and 1, falls on one of
them. The lots are fixed: one setting always writes the same sentence, and one more word changes no earlier.
"""

from __future__ import annotations

import textwrap
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.colors import to_rgba

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Number, Panel, Show, Whole, bare
from course_lib.formatting import fixed, significant
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.search import suppress
from course_lib.translation.shipped import shared
from course_lib.views.bars import LyingBars
from course_lib.views.quick_text import quick_text, write

MODELS = {"n-gram": "ngram_lm", "MLP": "mlp_lm", "RNN": "rnn_lm"}
LONGEST = 18  # words
SHOWN = 6  # likeliest words
END = "(end)"
LOTS = np.random.default_rng(3).random(LONGEST + 1)
LINE = 34  # letters in a line of the written text
COLOURS = {"n-gram": theme.ORANGE, "MLP": theme.GREEN, "RNN": theme.BLUE}


class Moment(NamedTuple):
    """What a model thinks before a word is drawn, and which is drawn; at temperature 0 as at 1."""

    words: tuple[str, ...]
    shares: np.ndarray
    drawn: str
    drawn_share: float  # with the temperature
    own_share: float  # without: what the model itself gives the drawn word


def shown(token: str) -> str:
    return END if token == SPECIAL[EOS] else token


def probabilities(logits: torch.Tensor, temperature: float) -> np.ndarray:
    """Of the next word, at a temperature; special tokens other than the end are never drawn."""
    return suppress(logits.float() / temperature).softmax(dim=1)[0].double().numpy()


@cache
def story(model: str, temperature: float) -> tuple[Moment, ...]:
    """One sentence from its first word to its end, or to the longest that is shown."""
    system, moments = shared(MODELS[model]), []
    with torch.inference_mode():
        state, token = system.model.start(1), torch.tensor([BOS])
        for lot in LOTS:
            logits, state, _ = system.model.step(state, token)
            own = probabilities(logits, 1.0)
            warm = probabilities(logits, temperature or 1.0)
            order = np.argsort(-warm, kind="stable")
            lot = lot if temperature > 0 else 0.0  # the likeliest lies first on the line
            place = int(np.searchsorted(warm[order].cumsum(), lot, side="right"))
            drawn = int(order[min(place, len(order) - 1)])
            *names, chosen = system.tokenizer.tokens([*order[:SHOWN].tolist(), drawn])
            names, chosen = tuple(map(shown, names)), shown(chosen)
            moments.append(Moment(names, warm[order[:SHOWN]], chosen, float(warm[drawn]), float(own[drawn])))
            if drawn == EOS:
                break
            token = torch.tensor([drawn])
    return tuple(moments)


def compute(*, model: str, written: int, temperature: float) -> Facts:
    """The words so far and the likeliest next ones. A sentence that has ended stays as it is."""
    told = story(model, round(temperature, 1))
    said = tuple(moment.drawn for moment in told[:written])
    now = told[min(written, len(told) - 1)]
    shares = [moment.own_share for moment in told[:written]]
    return {
        "said": tuple(word for word in said if word != END),
        "ended": END in said,
        "likely": now.words,
        "shares": now.shares,
        "next": now.drawn,
        "next_share": now.drawn_share,
        "last_share": shares[-1] if shares else 1.0,
        "chance": float(np.prod(shares)),  # of the whole text so far, to the model itself
    }


def in_lines(words: tuple[str, ...]) -> list[str]:
    return textwrap.wrap(" ".join(words), LINE, break_on_hyphens=False) or [""]


def draw_text(axes: Axes) -> Show:
    bare(axes, x=(0, 1), y=(0, 1))
    rows = [quick_text(axes, 0.0, 0.86 - 0.13 * i, size=13, weight="bold") for i in range(5)]
    coming = quick_text(axes, 0.0, 0.16, size=11)
    note = quick_text(axes, 0.0, 0.04, size=10, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        lines = in_lines((*facts["said"], END if facts["ended"] else "…"))
        write(rows, lines, COLOURS[facts["model"]])
        drawn = f"drawn next: {facts['next']}, which has {significant(facts['next_share'], 2)}"
        coming.set_text("" if facts["ended"] else drawn)
        note.set_text(f"the model's own chance of this text: {significant(facts['chance'], 2)}")

    return show


def draw_next(axes: Axes) -> Show:
    axes.set(xlim=(-0.5, 1.42), ylim=(SHOWN - 0.4, -0.6), xticks=(0, 0.5, 1))
    bars = LyingBars(axes, np.arange(SHOWN), gap=0.02, thick=0.68, size=10, words_at=-0.03, words_size=11)

    def show(facts: Facts) -> None:
        colour = to_rgba(COLOURS[facts["model"]])
        chosen = [word == facts["next"] for word in facts["likely"]]
        colours = [colour if one else (*colour[:3], 0.45) for one in chosen]
        told = [f"{fixed(s, 2)}{'  ◂ drawn' * one}" for s, one in zip(facts["shares"], chosen, strict=True)]
        bars.show(facts["shares"], told, colours=colours)
        write(bars.words, facts["likely"], bold=chosen)

    return show


class WordByWord(Explorable):
    title = "Word by word"
    question = "A model writes: it looks at what is there, draws one word, and begins again."
    size = (9.6, 3.4)
    model = Choice("model", tuple(MODELS), "RNN", buttons=True)
    written = Whole("words written", 0, LONGEST, 3)
    temperature = Number("temperature", 0.0, 2.0, 1.0, step=0.1)
    presets = {
        "n-gram, cold": {"model": "n-gram", "temperature": 0.0, "written": LONGEST},
        "RNN, cold": {"model": "RNN", "temperature": 0.0, "written": LONGEST},
        "RNN, hot": {"model": "RNN", "temperature": 2.0, "written": LONGEST},
    }
    goals = {
        "ends": "Temperature 1: write on until the sentence ends by itself",
        "sure": "Temperature 1: a place where one word has more than 0.99",
        "rash": "Have it write a word it gave less than 1 in 1,000",
    }
    panels = (Panel("Written so far", draw_text, 1.0), Panel("Likeliest next words", draw_next, 1.1))
    compute = staticmethod(compute)

    @staticmethod
    def met(now: Facts, start: Facts) -> dict[str, bool]:
        at_one = abs(now["temperature"] - 1) < 0.01
        return {
            "ends": at_one and now["ended"],
            "sure": at_one and not now["ended"] and now["shares"][0] > 0.99,
            "rash": now["last_share"] < 0.001,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        words = f"{len(facts['said'])} words"
        return [facts["model"], words, f"temperature {fixed(facts['temperature'], 1)}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        said = " ".join(facts["said"]) or "nothing yet"
        state = "The sentence has ended." if facts["ended"] else f"Next comes {facts['next']}."
        best = f"{facts['likely'][0]} ({fixed(facts['shares'][0], 2)})"
        return (
            f"{facts['model']}, temperature {fixed(facts['temperature'], 1)}, wrote: {said}. "
            f"Likeliest: {best}. {state}"
        )
