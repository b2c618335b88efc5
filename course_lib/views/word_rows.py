"""Sentences with each word on the colour of its attention weight.

>>> word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title="Attention of “it”")
Picture('Attention of “it”. cat 0.90, it 0.10.')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course_lib.formatting import fixed
from course_lib.views.cells import shade
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.static_image import to_array, to_labels
from course_lib.views.svg import box, width_of, word

LEFT, ROW, GAP = 16, 62, 8  # pixels


def word_rows(
    weights: Sequence[Any], *, words: Sequence[Sequence[str]], marked: Sequence[str], title: str = ""
) -> Picture:
    """One row per sentence; the marked word of each, whose attention weights these are, has a frame."""
    top, parts, sentences, widest = 46 if title else 16, [], [], width_of(title, 16)
    for row, (row_weights, sentence, query) in enumerate(zip(weights, words, marked, strict=True)):
        row_weights = to_array(row_weights, ndim=1, name=f"The attention weights of sentence {row + 1}")
        to_labels(sentence, count=len(row_weights), name=f"Words of sentence {row + 1}")
        size = 14 if sum(width_of(text, 14) + 14 + GAP for text in sentence) < WIDTH - 2 * LEFT else 12
        x, y, readings = LEFT, top + ROW * row, []
        for text, weight in zip(sentence, row_weights.tolist(), strict=True):
            width, (fill, strength) = width_of(text, size) + 14, shade(weight, 1.0)
            frame = {"stroke": "accent", "line": 2.2} if text == query else {"stroke": "hair"}
            parts.append(box(x, y, width, 30, fill, radius=5, opacity=strength, **frame))
            parts.append(word(x + width / 2, y + 20, text, size, "paper" if strength > 0.6 else "ink"))
            parts.append(word(x + width / 2, y + 45, fixed(weight, 2), 11, "soft"))
            readings.append(f"{text} {fixed(weight, 2)}")
            x += width + GAP
        widest = max(widest, x - GAP - LEFT)
        sentences.append(", ".join(readings))
    alt = f"{title or 'Attention weights'}. {'; '.join(sentences)}."
    head = word(LEFT, 28, title, 15, anchor="start", bold=True)
    return Picture(widest + 2 * LEFT, top + ROW * len(words), head, *parts, alt=alt)
