"""Lines from one word of a sentence to the others, for several sentences: as thick as the attention weight.

>>> word_lines({"a sentence": ("it was cold".split(), [0.2, 0.3, 0.5])}, asks="it")
Picture('Attention weights of it. a sentence: it 0.20, was 0.30, cold 0.50.')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.formatting import fixed
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import word
from course_lib.views.words import links, spread, word_row

ROW = 128  # pixels


def word_lines(rows: Mapping[str, tuple[Sequence[str], Any]], asks: str) -> Picture:
    """A row for each name: its sentence, and the lines from the word that asks, which is written below."""
    out, said = "", []
    for i, (name, (words, weights)) in enumerate(rows.items()):
        top, places, at = 20 + ROW * i, spread(words, 30, WIDTH - 30, most=56), words.index(asks)
        numbers = [float(weight) for weight in weights]
        key, below = f"row-{i}", [places[at]]
        out += word(14, top + 6, name, 13, "soft", "start")
        out += word_row(words, places, top + 36, 15, "key", name=f"{key}-key")
        ends, tips = (top + 92, top + 44), ([asks], words)
        names = (f"{key}-query", f"{key}-key")
        out += links([numbers], below, places, ends, thickest=16, names=names, words=tips)
        out += word_row([asks], below, top + 108, 15, "query", name=f"{key}-query", bold=(0,))
        said.append(
            f"{name}: " + ", ".join(f"{w} {fixed(x, 2)}" for w, x in zip(words, numbers, strict=True))
        )
    return Picture(WIDTH, 20 + ROW * len(rows), out, alt=f"Attention weights of {asks}. {'; '.join(said)}.")
