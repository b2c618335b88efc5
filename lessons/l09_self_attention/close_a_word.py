"""Interventions on a sentence: change a word or mask one, and see how the Transformer translates it.

    >>> compute(sentence="cat … thirsty", closed=8, to="all")["french"]     # position 8, “thirsty”
    "le chat a bu l' eau parce qu' elle était était"

A masked word still has a query, but no query attends to it (`pronoun.py`). Positions are counted from 0, −1
(`NONE`) means that no word is masked, and the last is `</s>`. `weights` are the attention weights of
cross-attention at the step of the pronoun, the mean of twelve heads; `own_weights` those of “it” or “they” in
the encoder, one row per head.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Bars, Heatmap, HorizontalBars
from course_lib.explore.raster.base import Axes, Choice, Facts, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import set_texts
from course_lib.formatting import fixed
from course_lib.translation.shipped import shared
from lessons.l09_self_attention.pronoun import HEADS, TO, PronounTranslation, masked_translation

SENTENCES = {
    "cat … thirsty": "the cat drank the water because it was thirsty",
    "cat … cold": "the cat drank the water because it was cold",
    "mouse … thirsty": "the mouse drank the milk because it was thirsty",
    "mouse … cold": "the mouse drank the milk because it was cold",
    "women … hungry": "the women eat the mushrooms because they are hungry",
    "women … good": "the women eat the mushrooms because they are good",
}
PRONOUN, N_SOURCE = 6, 10  # the position of “it”, and the number of tokens in each sentence
NONE = -1
READERS = {"all": "all", "source": "source words", "decoder": "the decoder"}


@cache
def translation(sentence: str, closed: int, to: str) -> PronounTranslation:
    """The translation with the word at one position masked, or with none."""
    masked = [] if closed == NONE else [closed]
    return masked_translation(shared("transformer"), SENTENCES[sentence], masked=masked, to=to)


def compute(*, sentence: str, closed: int, to: str) -> Facts:
    """The facts at one setting; `weight_before` is the masked word's attention weight without a mask."""
    all_open = translation(sentence, NONE, "all")
    now = all_open if closed == NONE else translation(sentence, closed, to)
    before = all_open.pronoun_weights.mean(dim=(0, 1)).numpy()
    return {
        "french": now.french,
        "words": now.words,
        "il": now.il,
        "elle": now.elle,
        "change": abs(now.il - all_open.il),
        "flipped": (now.il > now.elle) != (all_open.il > all_open.elle),
        "weight_before": 0.0 if closed == NONE else float(before[closed]),
        "largest_before": float(before.max()),
        "weights": now.pronoun_weights.mean(dim=(0, 1)).numpy(),
        "own_weights": now.encoder_weights[:, :, PRONOUN].flatten(0, 1).numpy(),
    }


def draw_weights(axes: Axes) -> Show:
    axes.set(xlim=(-0.36, 0.5), ylim=(N_SOURCE - 0.4, -0.6), xticks=(0, 0.2, 0.4))
    axes.set_xlabel("attention weight, mean of 12 heads")
    bars = HorizontalBars(axes, np.arange(N_SOURCE), gap=0.012, size=9, label_x=-0.02)

    def show(facts: Facts) -> None:
        bars.show(facts["weights"], [fixed(weight, 2) for weight in facts["weights"]])
        closed = [position == facts["closed"] for position in range(N_SOURCE)]
        labels = [f"{'✕ ' * closed[i]}{word}  {i}" for i, word in enumerate(facts["words"])]
        set_texts(bars.labels, labels, [theme.ORANGE if is_closed else theme.INK for is_closed in closed])

    return show


def draw_own_weights(axes: Axes) -> Show:
    cells = Heatmap(axes, HEADS, [str(position) for position in range(N_SOURCE)])
    axes.set(xlabel="source position (full colour: 1)", ylabel="encoder head")
    return lambda facts: cells.show(facts["own_weights"])


def draw_pronouns(axes: Axes) -> Show:
    bars = Bars(axes, ("il(s)", "elle(s)"))
    axes.set(ylabel="probability", yticks=(0, 0.5, 1))
    return lambda facts: bars.show(np.array([facts["il"], facts["elle"]]))


class CloseAWord(RasterExplorable):
    title = "Mask a word"
    question = "Change the sentence, or mask one of its words. What happens to the pronoun?"
    size = (9.6, 4.2)
    main_control = "closed"
    sentence = Choice(
        "sentence",
        tuple(SENTENCES),
        "cat … thirsty",
        text=lambda name: name.replace(" … ", "…"),
        buttons=True,
    )
    closed = Choice(
        "mask word",
        (NONE, *range(N_SOURCE)),
        NONE,
        text=lambda position: "none" if position == NONE else str(position),
    )
    to = Choice("masked for", TO, "all", text=READERS.get, buttons=True)
    presets = {
        "one word changed": {"sentence": "cat … cold"},
        "“it” masked": {"closed": PRONOUN},
        "for source words only": {"closed": 8, "to": "source"},
    }
    goals = {
        "flips": "Mouse or women: mask one word so that the gender changes",
        "idle": "Mouse: mask the most attended word; il changes by less than 0.05",
        "quiet": "Mask a word that gets under 0.05 attention; il changes by over 0.3",
    }
    panels = (
        Panel("Cross-attention at the pronoun", draw_weights, 1.25),
        Panel("Attention of “it” or “they”", draw_own_weights, 1.1),
        Panel("Pronoun", draw_pronouns, 0.75),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        closed, weight = now["closed"] != NONE, now["weight_before"]
        mouse, cat = (now["sentence"].startswith(animal) for animal in ("mouse", "cat"))
        return {
            "flips": now["flipped"] and not cat,
            "idle": closed and weight == now["largest_before"] and now["change"] < 0.05 and mouse,
            "quiet": closed and weight < 0.05 and now["change"] > 0.3,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        closed = [] if facts["closed"] == NONE else [f"✕ {facts['words'][facts['closed']]}"]
        return [*closed, facts["french"]]

    @staticmethod
    def describe(facts: Facts) -> str:
        closed = "" if facts["closed"] == NONE else facts["words"][facts["closed"]]
        state = f"“{closed}” masked for {READERS[facts['to']]}" if closed else "nothing masked"
        return (
            f"{facts['sentence']}, {state}: “{facts['french']}”. "
            f"The probability of il(s) is {fixed(facts['il'], 2)}, of elle(s) {fixed(facts['elle'], 2)}; "
            f"the decoder attends most to “{facts['words'][int(facts['weights'].argmax())]}”."
        )
