"""Translations of one sentence under one another, their mistakes marked.

>>> rows = {"seq2seq": "le chat mange", "bahdanau": "le chat dort"}
>>> translations("the cat sleeps", rows, reference="le chat dort")
Picture('the cat sleeps. seq2seq: le chat mange (1 wrong). bahdanau: le chat dort (all right).')
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import line, width_of, word
from course_lib.views.words import mistakes, text_rows, verdict

MARGIN, SIZE, ROW, VERDICT = 16, 14, 19, 126  # pixels: ROW for each row of words
UNJUDGED = "There is no reference to compare with, so nothing is marked."


def translations(
    source: str,
    rows: Mapping[str, str | Sequence[str]],
    *,
    reference: str | Collection[str] | None = None,
    title: str = "",
) -> Picture:
    """One row per system, training step, position or whatever else `rows` names: a text, or its words.

    A word that the reference, aligned with the translation, doesn't have is in the accent colour and
    underlined; a blank shows where words are missing. Of several references, the nearest counts. Without one,
    nothing is marked.
    """
    if not rows:
        raise ValueError("Expected at least one translation, such as {'seq2seq': 'le chat dort'}; got none.")
    references = {reference} if isinstance(reference, str) else set(reference or ())
    table = [("", source.split(), ([], {}), "")]
    for name, output in rows.items():
        words = output.split() if isinstance(output, str) else list(output)
        marked = [mistakes(words, right.split()) for right in sorted(references)] or [([], {})]
        marks = min(marked, key=lambda marks: len(marks[0]) + sum(marks[1].values()))
        table.append((name, words, marks, verdict(*marks) if references else ""))
    read = [f"{name}: {' '.join(words)}{said and f' ({said})'}" for name, words, _, said in table[1:]]
    left = MARGIN + max(width_of(name, 13) for name in rows) + 16
    width = WIDTH - MARGIN - left - (VERDICT if references else 0)
    y, parts = 54 if title else 28, [word(MARGIN, 28, title, 15, anchor="start", bold=True)]
    for i, (name, words, (wrong, missing), said) in enumerate(table):
        if i:
            parts.append(line([(MARGIN, y - 20), (WIDTH - MARGIN, y - 20)], "hair"))
        marks = {"wrong": wrong, "missing": missing, "bold": i == 0}
        drawn, n_rows = text_rows(left, y, words, width if i else WIDTH - MARGIN - left, SIZE, **marks)
        judged = "accent" if wrong or missing else "soft"
        parts += [word(MARGIN, y, name, 13, "soft", "start"), drawn]
        parts.append(word(WIDTH - MARGIN, y, said, 12, judged, "end", bold=judged == "accent"))
        y += ROW * n_rows + 13
    if not references:
        parts.append(word(MARGIN, y, UNJUDGED, 12, "soft", "start"))
    height = y - 14 if references else y + 12
    return Picture(WIDTH, height, *parts, alt=". ".join(filter(None, [title, source, *read])) + ".")
