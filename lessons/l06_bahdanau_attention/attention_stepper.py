"""The additive attention stepper: from the decoder's previous hidden state to its next word.

    >>> facts = compute(sentence="thirsty", step=1)
    >>> facts["words"][1], facts["source"][facts["weights"].argmax()]
    ('chat', 'cat')

The shipped Bahdanau system translates the running pair. At each step every annotation gets a score from the
decoder's state, a softmax turns the scores into attention weights, and the map gains a row. Steps and
annotations are numbered from 0.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import torch

from course_lib import theme
from course_lib.explore.raster.artists import Heatmap, HorizontalBars
from course_lib.explore.raster.base import (
    Axes,
    Choice,
    Facts,
    Integer,
    Panel,
    RasterExplorable,
    Show,
    blank_axes,
)
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed, minus
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.shipped import shared

SENTENCES = {
    "thirsty": "the cat drank the water because it was thirsty",
    "cold": "the cat drank the water because it was cold",
}
N_SOURCE, N_STEPS = 10, 12
SCORES = {"low": -8.0, "high": 22.0, "colour": theme.ORANGE, "digits": 1}  # the ends, of every state
WEIGHTS = {"low": 0, "high": 1, "colour": theme.BLUE, "digits": 2}


@cache
@torch.no_grad()
def translate_stepwise(sentence: str) -> dict[str, Any]:
    """The scores, the weights and the word of every step."""
    model, tokenizer = shared("bahdanau").model, shared("bahdanau").tokenizer
    text = SENTENCES[sentence]
    batch = make_batch(sources=[tokenizer.encode(text)], targets=[[]])
    memory = model.encode(batch.src, batch.src_lengths)
    state, annotations = model.start(memory)["hidden"], memory["annotations"]
    token, scores, weights, words = BOS, [], [], []
    for _ in range(N_STEPS):
        scores.append(model.score(state.unsqueeze(1), annotations)[0, 0])
        weights.append(scores[-1].softmax(-1))
        context = weights[-1][None] @ annotations[0]
        embedded = model.embed(torch.tensor([[token]]))[:, 0]
        state = model.decoder(torch.cat([embedded, context], dim=-1), state)
        token = int(model.logits(torch.cat([state, embedded, context], dim=-1)).argmax())
        words.append(SPECIAL[EOS] if token == EOS else tokenizer.decode([token]))
    return {
        "scores": torch.stack(scores).numpy(),
        "weights": torch.stack(weights).numpy(),
        "words": words,
        "source": [*text.split(), SPECIAL[EOS]],
    }


def compute(*, sentence: str, step: int) -> Facts:
    """Scores and weights of one step, and the weights of all steps up to it."""
    steps = translate_stepwise(sentence)
    return {
        "scores": steps["scores"][step],
        "weights": steps["weights"][step],
        "source": steps["source"],
        "words": steps["words"],
        "map": steps["weights"][: step + 1],
    }


def draw_bars(axes: Axes, *, name: str, low: float, high: float, colour: str, digits: int) -> Show:
    """One bar for each annotation, with its word on the left."""
    span = high - low
    blank_axes(axes, x=(low - 0.48 * span, high + 0.16 * span), y=(N_SOURCE - 0.4, -0.6))
    axes.axvline(0, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
    rows, label_x = range(N_SOURCE), low - 0.04 * span
    bars = HorizontalBars(axes, rows, gap=0.02 * span, colour=colour, size=9, label_x=label_x)

    def show(facts: Facts) -> None:
        bars.show(facts[name], [minus(fixed(value, digits)) for value in facts[name]])
        set_texts(bars.labels, [f"{word}  {position}" for position, word in enumerate(facts["source"])])

    return show


def draw_map(axes: Axes) -> Show:
    cells = Heatmap(axes, [""] * N_STEPS, [str(position) for position in range(N_SOURCE)])
    axes.set_xlabel("annotation")
    labels = [add_text(axes, -0.25, step + 0.5, ha="right", va="center", size=10) for step in range(N_STEPS)]

    def show(facts: Facts) -> None:
        later_steps = np.full((N_STEPS - facts["step"] - 1, N_SOURCE), np.nan)
        cells.show(np.vstack([facts["map"], later_steps]))
        words = facts["words"][: facts["step"] + 1]
        set_texts(labels, words, bold=[False] * facts["step"] + [True])

    return show


class AttentionStepper(RasterExplorable):
    title = "Additive attention, step by step"
    question = "Before each word, the decoder scores every annotation. Which one gets the most attention?"
    size = (9.6, 4.0)
    step = Integer("step", 0, N_STEPS - 1, 0)
    sentence = Choice("… because it was", tuple(SENTENCES), "thirsty", buttons=True)
    presets = {
        "il": {"step": 8},
        "elle": {"step": 8, "sentence": "cold"},
    }
    goals = {
        "unsure": "A step at which no annotation gets half of the attention",
        "twice": "Two consecutive words that attend to the same annotation",
    }
    panels = (
        Panel("Scores e", partial(draw_bars, name="scores", **SCORES)),
        Panel("Attention weights α", partial(draw_bars, name="weights", **WEIGHTS)),
        Panel("Attention map so far", draw_map, 1.15),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        rows = now["map"]
        same = len(rows) > 1 and rows[-1].argmax() == rows[-2].argmax()
        return {
            "unsure": now["weights"].max() < 0.5,
            "twice": same and rows[-1].max() > 0.9,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        words = " ".join(facts["words"][: facts["step"]])
        return [f"output so far: {words or '(nothing)'}", f"next: {facts['words'][facts['step']]}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        best = facts["weights"].argmax()
        return (
            f"Step {facts['step']} of “… because it was {facts['sentence']}”: "
            f"the largest attention weight, {fixed(facts['weights'][best], 2)}, is on "
            f"“{facts['source'][best]}”, and the decoder outputs “{facts['words'][facts['step']]}”."
        )
