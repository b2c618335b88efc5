"""A language model generates text word by word: the text so far, and the distribution of the next word.

    >>> compute(model="n-gram", written=8, temperature=0.0)["words"]     # always the most likely word
    ('les', 'très', 'jeunes', 'sœurs', 'ont', 'acheté', 'les', 'très')

The three models are shipped with the course. A word is sampled by inverting the cumulative distribution, the
likeliest word first. The random number of every step is fixed: one setting always generates the same
sentence, and one more word changes no earlier one.
"""

from __future__ import annotations

import textwrap
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.colors import to_rgba

from course_lib import theme
from course_lib.explore.raster.artists import HorizontalBars
from course_lib.explore.raster.base import (
    Axes,
    Choice,
    Facts,
    Integer,
    Number,
    Panel,
    RasterExplorable,
    Show,
    blank_axes,
)
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed, significant
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.search import suppress
from course_lib.translation.shipped import shared

MODELS = {"n-gram": "ngram_lm", "MLP": "mlp_lm", "RNN": "rnn_lm"}
LONGEST = 18  # words
SHOWN = 6  # likeliest words
END = "(end)"
RANDOM_NUMBERS = np.random.default_rng(3).random(LONGEST + 1)
LINE = 34  # characters in a line of the written text
COLOURS = {"n-gram": theme.ORANGE, "MLP": theme.GREEN, "RNN": theme.BLUE}


class Step(NamedTuple):
    """The distribution before a word is drawn (at temperature 0 that of 1), and the word."""

    words: tuple[str, ...]  # the likeliest
    probabilities: np.ndarray
    drawn: str
    drawn_probability: float  # with the temperature
    model_probability: float  # without it


def display_name(token: str) -> str:
    return END if token == SPECIAL[EOS] else token


def distribution(logits: torch.Tensor, temperature: float) -> np.ndarray:
    """Probabilities of the next word at a temperature; special tokens other than the end are never drawn."""
    return suppress(logits.float() / temperature).softmax(dim=1)[0].double().numpy()


@cache
def generate(model: str, temperature: float) -> tuple[Step, ...]:
    """The steps of one sentence, up to its end or to the longest that is shown."""
    system, steps = shared(MODELS[model]), []
    with torch.inference_mode():
        state, token = system.model.start(1), torch.tensor([BOS])
        for number in RANDOM_NUMBERS:
            logits, state, _ = system.model.step(state, token)
            unscaled = distribution(logits, 1.0)
            scaled = distribution(logits, temperature or 1.0)
            order = np.argsort(-scaled, kind="stable")
            number = number if temperature > 0 else 0.0  # 0 draws the likeliest word
            index = int(np.searchsorted(scaled[order].cumsum(), number, side="right"))
            drawn = int(order[min(index, len(order) - 1)])
            tokens = system.tokenizer.tokens([*order[:SHOWN].tolist(), drawn])
            *likeliest, word = map(display_name, tokens)
            probabilities = scaled[order[:SHOWN]]
            steps.append(
                Step(tuple(likeliest), probabilities, word, float(scaled[drawn]), float(unscaled[drawn]))
            )
            if drawn == EOS:
                break
            token = torch.tensor([drawn])
    return tuple(steps)


def compute(*, model: str, written: int, temperature: float) -> Facts:
    """The words so far and the likeliest next ones. A sentence that has ended stays as it is."""
    steps = generate(model, round(temperature, 1))
    words = tuple(step.drawn for step in steps[:written])
    now = steps[min(written, len(steps) - 1)]
    probabilities = [step.model_probability for step in steps[:written]]
    return {
        "words": tuple(word for word in words if word != END),
        "ended": END in words,
        "likeliest": now.words,
        "probabilities": now.probabilities,
        "next": now.drawn,
        "next_probability": now.drawn_probability,
        "last_probability": probabilities[-1] if probabilities else 1.0,
        "text_probability": float(np.prod(probabilities)),  # of the text so far, without the temperature
    }


def in_lines(words: tuple[str, ...]) -> list[str]:
    return textwrap.wrap(" ".join(words), LINE, break_on_hyphens=False) or [""]


def draw_text(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=(0, 1))
    rows = [add_text(axes, 0.0, 0.86 - 0.13 * i, size=13, weight="bold") for i in range(5)]
    next_word = add_text(axes, 0.0, 0.16, size=11)
    note = add_text(axes, 0.0, 0.04, size=10, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        lines = in_lines((*facts["words"], END if facts["ended"] else "…"))
        set_texts(rows, lines, COLOURS[facts["model"]])
        drawn = f"next word: {facts['next']}, probability {significant(facts['next_probability'], 2)}"
        next_word.set_text("" if facts["ended"] else drawn)
        note.set_text(f"the model's probability of this text: {significant(facts['text_probability'], 2)}")

    return show


def draw_next(axes: Axes) -> Show:
    axes.set(xlim=(-0.5, 1.42), ylim=(SHOWN - 0.4, -0.6), xticks=(0, 0.5, 1))
    bars = HorizontalBars(
        axes, np.arange(SHOWN), gap=0.02, thickness=0.68, size=10, label_x=-0.03, label_size=11
    )

    def show(facts: Facts) -> None:
        colour = to_rgba(COLOURS[facts["model"]])
        words, probabilities = facts["likeliest"], facts["probabilities"]
        drawn = [word == facts["next"] for word in words]
        colours = [colour if is_drawn else (*colour[:3], 0.45) for is_drawn in drawn]
        labels = [
            f"{fixed(probability, 2)}{'  ◂ next' * is_drawn}"
            for probability, is_drawn in zip(probabilities, drawn, strict=True)
        ]
        bars.show(probabilities, labels, colours=colours)
        set_texts(bars.labels, words, bold=drawn)

    return show


class WordByWord(RasterExplorable):
    title = "Word by word"
    question = "A model generates text: it takes the words so far, samples the next one, and repeats."
    size = (9.6, 3.4)
    main_control = "temperature"
    model = Choice("model", tuple(MODELS), "RNN", buttons=True)
    written = Integer("words generated", 0, LONGEST, 3)
    temperature = Number("temperature", 0.0, 2.0, 1.0, step=0.1)
    presets = {
        "n-gram, temperature 0": {"model": "n-gram", "temperature": 0.0, "written": LONGEST},
        "RNN, temperature 0": {"model": "RNN", "temperature": 0.0, "written": LONGEST},
        "RNN, temperature 2": {"model": "RNN", "temperature": 2.0, "written": LONGEST},
    }
    goals = {
        "ends": "Temperature 1: generate until the sentence ends by itself",
        "sure": "At temperature 1, find a word with a probability above 0.99",
        "rash": "Generate a word to which the model gives a probability below 0.001",
    }
    panels = (Panel("Generated so far", draw_text, 1.0), Panel("Most likely next words", draw_next, 1.1))
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        at_one = abs(now["temperature"] - 1) < 0.01
        return {
            "ends": at_one and now["ended"],
            "sure": at_one and not now["ended"] and now["probabilities"][0] > 0.99,
            "rash": now["last_probability"] < 0.001,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        words = f"{len(facts['words'])} words"
        return [facts["model"], words, f"temperature {fixed(facts['temperature'], 1)}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        text = " ".join(facts["words"]) or "nothing yet"
        state = "The sentence has ended." if facts["ended"] else f"Next word: {facts['next']}."
        best = f"{facts['likeliest'][0]} ({fixed(facts['probabilities'][0], 2)})"
        return (
            f"{facts['model']}, temperature {fixed(facts['temperature'], 1)}, generated: {text}. "
            f"Most likely: {best}. {state}"
        )
