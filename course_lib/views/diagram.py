"""A lesson's diagram: named boxes on a grid, arrows between them, and the part of this section highlighted.

    >>> parts = {"query": (0, 0), "keys": (0, 1), "scores": (1, 0.5), "weights": (2, 0.5)}   # column, row
    >>> arrows = [("query", "scores"), ("keys", "scores"), ("scores", "weights")]
    >>> diagram(parts, arrows, lit="scores", title="A look-up").alt
    'A look-up. query, keys → scores; scores → weights. Highlighted: scores.'

It is an SVG in an `<img>`, because JupyterLab shows neither inline SVG nor `image/svg+xml` in a notebook that
was not run yet ("untrusted"). `theme.PAGE_STYLE` darkens it in the dark theme, like every picture.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from course_lib import theme

TEXT_SIZE, NOTE_SIZE, CHAR_WIDTH = 14, 11.5, 0.72  # pixels; width of a character per size (DejaVu Sans Bold)
PADDING, BOX_HEIGHT, COLUMN_GAP, ROW_GAP, MARGIN = 12, 48, 36, 24, 16  # pixels
FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif"


class Box(NamedTuple):
    left: float
    top: float
    width: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def middle(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.top + BOX_HEIGHT / 2


class Diagram:
    """What `diagram` returns; a notebook displays it."""

    def __init__(self, svg: str, alt: str, width: float):
        self.svg, self.alt, self.width = svg, alt, width

    def __repr__(self) -> str:
        return f"Diagram({self.alt!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        source = "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode("ascii")
        attributes = f'class="course-diagram" alt="{escape(self.alt)}" width="{self.width:g}"'
        html = f'<img {attributes} style="max-width:100%" src="{source}">'
        return {"text/html": html, "text/plain": self.alt}


def diagram(
    parts: Mapping[str, Sequence[float]],
    arrows: Sequence[tuple[str, str]],
    *,
    lit: str | Collection[str] = (),
    notes: Mapping[str, str] | None = None,
    title: str = "",
    alt: str = "",
) -> Diagram:
    """Boxes are at (column, row) or (column, row, columns wide). A note is small text under a part's name."""
    lit, notes = {lit} if isinstance(lit, str) else set(lit), notes or {}
    for name in [*lit, *notes, *(end for arrow in arrows for end in arrow)]:
        if name not in parts:
            raise ValueError(f"The diagram has no part {name!r}; it has {', '.join(parts)}.")
    boxes = _layout(parts, notes, top=MARGIN + (32 if title else 0))
    width = max([box.right for box in boxes.values()] + [MARGIN + CHAR_WIDTH * 15 * len(title)]) + MARGIN
    height = max(box.top for box in boxes.values()) + BOX_HEIGHT + MARGIN
    shapes = [f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{theme.PAPER}"/>']
    if title:
        shapes.append(_text(MARGIN, MARGIN + 15, title, theme.INK, size=15, weight=700, anchor="start"))
    shapes += [_arrow(boxes[start], boxes[end]) for start, end in arrows]
    shapes += [_part(box, name, notes.get(name, ""), name in lit) for name, box in boxes.items()]
    alt = alt or _describe(arrows, [name for name in parts if name in lit], title)
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(alt)}" {size}'
    svg = f'{opening} font-family="{FONT}"><title>{escape(alt)}</title>{"".join(shapes)}</svg>'
    return Diagram(svg, alt, width)


def _layout(parts: Mapping[str, Sequence[float]], notes: Mapping[str, str], *, top: float) -> dict[str, Box]:
    """The box of each part. All columns are as wide as the widest text needs in any reader's font."""
    spans = {name: position[2] if len(position) > 2 else 1 for name, position in parts.items()}
    column_width = 0.0
    for name, span in spans.items():
        text = CHAR_WIDTH * max(TEXT_SIZE * len(name), NOTE_SIZE * len(notes.get(name, ""))) + 2 * PADDING
        column_width = max(column_width, (text - (span - 1) * COLUMN_GAP) / span)
    column_width = round(column_width)
    boxes = {}
    for name, (column, row, *_) in parts.items():
        left, y = MARGIN + column * (column_width + COLUMN_GAP), top + row * (BOX_HEIGHT + ROW_GAP)
        boxes[name] = Box(left, y, spans[name] * column_width + (spans[name] - 1) * COLUMN_GAP)
    return boxes


def _part(box: Box, name: str, note: str, lit: bool) -> str:
    """A lit part is blue, and also bold with a thick frame, so that it does not depend on colour."""
    fill, edge, thickness = (theme.BLUE, theme.INK, 3) if lit else (theme.PAPER, theme.SOFT_INK, 1.2)
    ink, note_ink, weight = (theme.PAPER, theme.PAPER, 700) if lit else (theme.INK, theme.SOFT_INK, 400)
    x, y = box.middle
    corner = f'x="{box.left:g}" y="{box.top:g}" width="{box.width:g}" height="{BOX_HEIGHT}" rx="7"'
    frame = f'<rect {corner} fill="{fill}" stroke="{edge}" stroke-width="{thickness}"/>'
    if not note:
        return frame + _text(x, y + 5, name, ink, weight=weight)
    return (
        frame + _text(x, y - 3, name, ink, weight=weight) + _text(x, y + 14, note, note_ink, size=NOTE_SIZE)
    )


def _text(
    x: float,
    y: float,
    text: str,
    ink: str,
    *,
    size: float = TEXT_SIZE,
    weight: int = 400,
    anchor: str = "middle",
) -> str:
    style = f'font-size="{size:g}" font-weight="{weight}" text-anchor="{anchor}" fill="{ink}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(text)}</text>'


def _arrow(start: Box, end: Box) -> str:
    """To the right, with a bend where the rows differ; within a column straight down or up."""
    (_, from_y), (to_x, to_y) = start.middle, end.middle
    if start.right <= end.left:
        tip, bend = end.left - 3, end.left - COLUMN_GAP / 2
        shaft = f"M{start.right:g} {from_y:g}H{bend:g}V{to_y:g}H{tip - 6:g}"
        head = f"M{tip:g} {to_y:g}l-9 -5v10z"
    else:
        sign = 1 if to_y > from_y else -1
        tip = to_y - sign * (BOX_HEIGHT / 2 + 3)
        shaft = f"M{to_x:g} {from_y + sign * BOX_HEIGHT / 2:g}V{tip - 6 * sign:g}"
        head = f"M{to_x:g} {tip:g}l-5 {-9 * sign}h10z"
    line = f'<path d="{shaft}" fill="none" stroke="{theme.SOFT_INK}" stroke-width="1.6"/>'
    return f'{line}<path d="{head}" fill="{theme.SOFT_INK}"/>'


def _describe(arrows: Sequence[tuple[str, str]], lit: list[str], title: str) -> str:
    sources: dict[str, list[str]] = {}
    for start, end in arrows:
        sources.setdefault(end, []).append(start)
    flow = "; ".join(f"{', '.join(starts)} → {end}" for end, starts in sources.items())
    return f"{title or 'Diagram'}. {flow}." + (f" Highlighted: {', '.join(lit)}." if lit else "")
