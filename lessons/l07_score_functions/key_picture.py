"""The key picture of this lesson: one translation, four score functions, and lines between its words.

It doesn't name the maps, because the lesson asks which of them belongs to which score. `draw("step")` is one
step of Luong's decoder: `luong_step.py`.
"""

from __future__ import annotations

import random
from functools import cache

import torch

from course_lib.formatting import fixed
from course_lib.translation.shipped import shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import group, word
from course_lib.views.words import links, spread, word_row
from lessons.l07_score_functions import luong_step

PARTS = ("", "step")
NAMES = ("dot", "general", "concat", "location")
BLIND = random.Random(5).sample(NAMES, 4)  # shuffled, the same for everyone
SENTENCE = "the cat drank the water because it was thirsty"
ASKS = "il"


@cache
def numbers() -> dict[str, tuple[list[str], list[str], torch.Tensor]]:
    """The source tokens, the target tokens and the attention weights of each system."""
    found = {name: shared(f"luong_{name}")(SENTENCE, with_weights=True) for name in NAMES}
    return {name: (out.source_tokens, out.target_tokens, out.weights[0, 0]) for name, out in found.items()}


def draw(lit: str = "") -> Picture:
    """Four translations of one sentence: English above, French below, as thick as the attention weight."""
    if lit == "step":
        return luong_step.draw()
    title = f"Four systems say *{ASKS}*: three look mostly at one word, one at several"
    out, most = word(14, 28, title, 15, anchor="start", bold=True), []
    out += word(14, 50, "Which score function made which map?", 13, "soft", "start")
    for i, name in enumerate(BLIND):
        english, french, weights = numbers()[name]
        row = weights[french.index(ASKS)]
        value = fixed(float(row.max()), 2)
        first = [text for text, each in zip(english, row, strict=True) if fixed(float(each), 2) == value]
        most.append(f"map {i + 1} {' and '.join(first)} {value}")
        at = f"translate({14 + 376 * (i % 2)} {84 + 196 * (i // 2)})"
        out += group(_map(f"map {i + 1}", english, french, weights), transform=at)
    return Picture(
        WIDTH,
        456,
        out,
        alt=f"Four Luong systems translate the sentence in the same words. Where they say {ASKS}, these "
        f"words get the most attention: {', '.join(most)}.",
    )


def _map(name: str, english: list[str], french: list[str], weights: torch.Tensor) -> str:
    """One system: its lines, those of the word that asks in the accent colour."""
    top, bottom = spread(english, 0, 356, 12, most=12), spread(french, 0, 356, 12, most=12)
    colours = ["accent" if text == ASKS else "calm" for text in french]
    key, asks = name.replace(" ", "-"), french.index(ASKS)
    names = f"{key}-french", f"{key}-english"
    order = [i for i in range(len(french)) if i != asks] + [asks]  # the accent lies above the others
    out = word(0, 0, name, 14, anchor="start", bold=True)
    out += word_row(english, top, 26, 12, "key", name=names[1])
    for i in order:
        line = {"colours": colours[i], "thickest": 10, "names": names, "words": ([french[i]], english)}
        out += links(weights[i : i + 1].tolist(), [bottom[i]], top, (140, 34), **line)
    return out + word_row(french, bottom, 154, 12, "query", name=names[0], marked=(asks,), bold=(asks,))
