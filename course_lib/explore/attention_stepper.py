"""W5, the additive attention stepper: what happens between the decoder's old state and its next word.

    >>> facts = compute(sentence="thirsty", step=1)
    >>> facts["said"][1], facts["source"][facts["weights"].argmax()]
    ('chat', 'cat')

The shipped Bahdanau system translates the running pair. At each step every annotation gets a score from the
decoder's state, a softmax shares out, and the map gains a row. Steps and annotations count from 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
import torch
from matplotlib.axes import Axes
from traitlets import Enum, Int

from course_lib import theme
from course_lib.explore.base import Explorable, Goal, Panel
from course_lib.explore.control import Control
from course_lib.formatting import fixed
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.translation.shipped import load_shipped
from course_lib.views.bars import LyingBars
from course_lib.views.heatmap import Heatmap
from course_lib.views.moving import Facts, Show, quick_text
from course_lib.views.still import minus

SENTENCES = {
    "thirsty": "the cat drank the water because it was thirsty",
    "cold": "the cat drank the water because it was cold",
}
N_SOURCE, N_STEPS = 10, 12
LOWEST, HIGHEST = -8.0, 22.0  # of all scores, in every state


@cache
@torch.no_grad()
def walk(sentence: str) -> dict[str, Any]:
    """The whole translation, step by step."""
    shipped = load_shipped("bahdanau")
    model, tokenizer = shipped.model.eval(), shipped.tokenizer
    text = SENTENCES[sentence]
    batch = make_batch(sources=[tokenizer.encode(text)], targets=[[]])
    memory = model.encode(batch.src, batch.src_lengths)
    state, annotations = model.start(memory)["hidden"], memory["annotations"]
    word, scores, weights, contexts, said = BOS, [], [], [], []
    for _ in range(N_STEPS):
        scores.append(model.score(state.unsqueeze(1), annotations)[0, 0])
        weights.append(scores[-1].softmax(-1))
        contexts.append(weights[-1] @ annotations[0])
        embedded = model.embed(torch.tensor([[word]]))[:, 0]
        context = contexts[-1][None]
        state = model.decoder(torch.cat([embedded, context], dim=-1), state)
        word = int(model.logits(torch.cat([state, embedded, context], dim=-1)).argmax())
        said.append(SPECIAL[EOS] if word == EOS else tokenizer.decode([word]))
    return {
        "scores": torch.stack(scores).numpy(),
        "weights": torch.stack(weights).numpy(),
        "contexts": torch.stack(contexts).numpy(),
        "annotations": annotations[0].numpy(),
        "said": said,
        "source": [*text.split(), SPECIAL[EOS]],
    }


def compute(*, sentence: str, step: int) -> Facts:
    """What the decoder sees at this step, and the weights of all steps up to it."""
    kept = walk(sentence)
    return {
        "scores": kept["scores"][step],
        "weights": kept["weights"][step],
        "context": kept["contexts"][step],
        "source": kept["source"],
        "said": kept["said"],
        "map": kept["weights"][: step + 1],
    }


def draw_bars(axes: Axes, name: str, *, low: float, high: float, colour: str, digits: int) -> Show:
    """One bar for each annotation, with its word on the left."""
    span, rows = high - low, np.arange(N_SOURCE)
    axes.set(xlim=(low - 0.48 * span, high + 0.16 * span), ylim=(N_SOURCE - 0.4, -0.6), xticks=(), yticks=())
    axes.spines[:].set_visible(False)
    axes.axvline(0, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
    bars = LyingBars(axes, rows, gap=0.02 * span, colour=colour, size=9, words_at=low - 0.04 * span)

    def show(facts: Facts) -> None:
        bars.show(facts[name], [minus(fixed(value, digits)) for value in facts[name]])
        for place, (text, word) in enumerate(zip(bars.words, facts["source"], strict=True)):
            text.set_text(f"{word}  {place}")

    return show


def draw_scores(axes: Axes) -> Show:
    return draw_bars(axes, "scores", low=LOWEST, high=HIGHEST, colour=theme.ORANGE, digits=1)


def draw_weights(axes: Axes) -> Show:
    return draw_bars(axes, "weights", low=0, high=1, colour=theme.BLUE, digits=2)


def draw_map(axes: Axes) -> Show:
    cells = Heatmap(axes, [""] * N_STEPS, [str(place) for place in range(N_SOURCE)])
    axes.set_xlabel("annotation")
    words = [quick_text(axes, -0.25, step + 0.5, ha="right", va="center", size=10) for step in range(N_STEPS)]

    def show(facts: Facts) -> None:
        still_to_come = np.full((N_STEPS - facts["step"] - 1, N_SOURCE), np.nan)
        cells.show(np.vstack([facts["map"], still_to_come]))
        for step, word in enumerate(words):
            word.set_text(facts["said"][step] if step <= facts["step"] else "")
            word.set_fontweight("bold" if step == facts["step"] else "normal")

    return show


def unsure(now: Facts, start: Facts) -> bool:
    return now["weights"].max() < 0.5


def same_word_twice(now: Facts, start: Facts) -> bool:
    step, rows = now["step"], now["map"]
    return step > 0 and rows[step].argmax() == rows[step - 1].argmax() and rows[step].max() > 0.9


class AttentionStepper(Explorable):
    title = "Additive attention, step by step"
    question = "The decoder scores every annotation before each word. Where does it look, what does it say?"
    size = (9.6, 4.0)
    step = Int(0, min=0, max=N_STEPS - 1)
    sentence = Enum(tuple(SENTENCES), default_value="thirsty")
    controls = (
        Control("step", "step"),
        Control("sentence", "… because it was", buttons=True),
    )
    presets: ClassVar = {
        "il": {"step": 8},
        "elle": {"step": 8, "sentence": "cold"},
    }
    goals = (
        Goal("unsure", "A step at which no annotation gets half of the weight", unsure),
        Goal("twice", "Two words in a row read from the same annotation", same_word_twice),
    )
    panels = (
        Panel("Scores e", draw_scores),
        Panel("Weights α = softmax(e)", draw_weights),
        Panel("The map so far", draw_map, 1.15),
    )
    compute = staticmethod(compute)

    @staticmethod
    def heading(facts: Facts) -> str:
        said = " ".join(facts["said"][: facts["step"]])
        return f"said so far: {said or '(nothing)'}   ·   now: {facts['said'][facts['step']]}"

    @staticmethod
    def describe(facts: Facts) -> str:
        best = facts["weights"].argmax()
        return (
            f"Step {facts['step']} of “… because it was {facts['sentence']}”: "
            f"the largest weight, {fixed(facts['weights'][best], 2)}, is on “{facts['source'][best]}”, "
            f"and the decoder says “{facts['said'][facts['step']]}”."
        )
