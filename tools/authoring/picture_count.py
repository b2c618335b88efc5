"""How many words and pictures a stored notebook has, and how many words there are for each picture.

    notebooks/06_bahdanau_attention.ipynb               3,336 words, 2 pictures: 1,668 words for each

A picture is drawn from data or a model: a PNG, or in HTML an `<img class="course-still">`. Tables and icons
don't count. A picture that is folded in a card does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tools.authoring.answers import GUESSES
from tools.authoring.cell_kinds import MARKDOWN
from tools.authoring.editions import from_text
from tools.authoring.minutes import words

STILL = re.compile(r'<img\b[^>]*\bclass="(?:[^"]* )?course-still[ "]')


def count(notebook: dict) -> tuple[int, int]:
    """The words of the prose, and the pictures in the outputs."""
    prose = (cell["source"] for cell in notebook["cells"] if cell["cell_type"] == MARKDOWN)
    return sum(map(words, prose)), sum(map(pictures_in, notebook["cells"]))


def pictures_in(cell: dict) -> int:
    """A card counts as one picture, whatever it covers."""
    n_pictures = sum(_pictures_in_output(output) for output in cell.get("outputs", ()))
    return min(n_pictures, 1) if cell["metadata"]["course"]["kind"] in GUESSES else n_pictures


def _pictures_in_output(output: dict) -> int:
    """An output's PNG is its HTML's picture in another form."""
    data = output.get("data", {})
    return max(len(STILL.findall(data.get("text/html", ""))), int("image/png" in data))


def print_counts(paths: Iterable[Path]) -> None:
    """A line for each notebook that is stored, and one for all of them."""
    counts = {}
    for path in paths:
        with suppress(OSError, ValueError, KeyError):  # `staleness` reports what is wrong with a file
            notebook = from_text(path.read_text(encoding="utf-8"))
            counts[f"{path.parent.name}/{path.name}"] = count(notebook)
    if len(counts) > 1:
        counts["together"] = tuple(map(sum, zip(*counts.values(), strict=True)))
    for name, (n_words, n_pictures) in counts.items():
        each = f": {n_words / n_pictures:,.0f} words for each" if n_pictures else ""
        print(f"{name:50} {n_words:6,} words, {n_pictures} picture{'s' * (n_pictures != 1)}{each}")
