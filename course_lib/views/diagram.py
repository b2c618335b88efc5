"""A lesson's one diagram: named boxes on a grid, arrows between them, the part of this section lit.

    >>> parts = {"query": (0, 0), "keys": (0, 1), "scores": (1, 0.5), "weights": (2, 0.5)}   # column, row
    >>> arrows = [("query", "scores"), ("keys", "scores"), ("scores", "weights")]
    >>> diagram(parts, arrows, lit="scores", title="A look-up").alt
    'A look-up. query, keys → scores; scores → weights. Lit: scores.'

It is an SVG in an `<img>`, on the paper of our pictures. Inline SVG would take the page's ink by itself, but
JupyterLab strips it from a notebook that was not run yet ("untrusted"), and refuses `image/svg+xml` there. An
`<img>` is always shown, and the page's style (`theme.PAGE_STYLE`) darkens it at night like any picture.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from course_lib import theme

TEXT, SMALL, SIGN = 14, 11.5, 0.72  # pixels; a sign is at most so wide for its height (DejaVu Sans Bold)
PAD, TALL, ACROSS, DOWN, MARGIN = 12, 48, 36, 24, 16  # pixels inside a box, its height, gaps, paper around
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
        return self.left + self.width / 2, self.top + TALL / 2


class Diagram:
    """What `diagram` returns; it displays itself."""

    def __init__(self, svg: str, alt: str, width: float):
        self.svg, self.alt, self.width = svg, alt, width

    def __repr__(self) -> str:
        return f"Diagram({self.alt!r})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        source = "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode("ascii")
        shown = f'class="course-diagram" alt="{escape(self.alt)}" width="{self.width:g}"'
        return {"text/html": f'<img {shown} style="max-width:100%" src="{source}">', "text/plain": self.alt}


def diagram(
    parts: Mapping[str, Sequence[float]],
    arrows: Sequence[tuple[str, str]],
    *,
    lit: str | Collection[str] = (),
    notes: Mapping[str, str] | None = None,
    title: str = "",
    alt: str | None = None,
) -> Diagram:
    """Boxes at (column, row) or (column, row, columns wide); a note stands small under a part's name."""
    lit, notes = {lit} if isinstance(lit, str) else set(lit), notes or {}
    for name in [*lit, *notes, *(end for arrow in arrows for end in arrow)]:
        if name not in parts:
            raise ValueError(f"The diagram has no part {name!r}; it has {', '.join(parts)}.")
    boxes = _place(parts, notes, top=MARGIN + (32 if title else 0))
    width = max([box.right for box in boxes.values()] + [MARGIN + SIGN * 15 * len(title)]) + MARGIN
    height = max(box.top for box in boxes.values()) + TALL + MARGIN
    drawn = [f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{theme.PAPER}"/>']
    drawn += (
        [_text(MARGIN, MARGIN + 15, title, theme.INK, size=15, weight=700, anchor="start")] if title else []
    )
    drawn += [_arrow(boxes[start], boxes[end]) for start, end in arrows]
    drawn += [_part(box, name, notes.get(name, ""), name in lit) for name, box in boxes.items()]
    alt = alt or _describe(arrows, [name for name in parts if name in lit], title)
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(alt)}" {size}'
    svg = f'{opening} font-family="{FONT}"><title>{escape(alt)}</title>{"".join(drawn)}</svg>'
    return Diagram(svg, alt, width)


def _place(parts: Mapping[str, Sequence[float]], notes: Mapping[str, str], *, top: float) -> dict[str, Box]:
    """Every column is as wide as the widest text needs, whatever the reader's font."""
    spans = {name: place[2] if len(place) > 2 else 1 for name, place in parts.items()}
    column = 0.0
    for name, span in spans.items():
        text = SIGN * max(TEXT * len(name), SMALL * len(notes.get(name, ""))) + 2 * PAD
        column = max(column, (text - (span - 1) * ACROSS) / span)
    column = round(column)
    return {
        name: Box(
            MARGIN + place[0] * (column + ACROSS),
            top + place[1] * (TALL + DOWN),
            spans[name] * column + (spans[name] - 1) * ACROSS,
        )
        for name, place in parts.items()
    }


def _part(box: Box, name: str, note: str, lit: bool) -> str:
    """The lit part is blue, framed in thick ink, and bold: not told by colour alone."""
    fill, edge, thick = (theme.BLUE, theme.INK, 3) if lit else (theme.PAPER, theme.SOFT_INK, 1.2)
    ink, soft, weight = (theme.PAPER, theme.PAPER, 700) if lit else (theme.INK, theme.SOFT_INK, 400)
    x, y = box.middle
    corner = f'x="{box.left:g}" y="{box.top:g}" width="{box.width:g}" height="{TALL}" rx="7"'
    frame = f'<rect {corner} fill="{fill}" stroke="{edge}" stroke-width="{thick}"/>'
    if not note:
        return frame + _text(x, y + 5, name, ink, weight=weight)
    return frame + _text(x, y - 3, name, ink, weight=weight) + _text(x, y + 14, note, soft, size=SMALL)


def _text(
    x: float, y: float, words: str, ink: str, *, size: float = TEXT, weight: int = 400, anchor: str = "middle"
) -> str:
    look = f'font-size="{size:g}" font-weight="{weight}" text-anchor="{anchor}" fill="{ink}"'
    return f'<text x="{x:g}" y="{y:g}" {look}>{escape(words)}</text>'


def _arrow(start: Box, end: Box) -> str:
    """To the right, with a bend where the rows differ; within a column straight down or up."""
    (_, from_y), (to_x, to_y) = start.middle, end.middle
    if start.right <= end.left:
        tip, bend = end.left - 3, end.left - ACROSS / 2
        shaft = f"M{start.right:g} {from_y:g}H{bend:g}V{to_y:g}H{tip - 6:g}"
        head = f"M{tip:g} {to_y:g}l-9 -5v10z"
    else:
        way = 1 if to_y > from_y else -1
        tip = to_y - way * (TALL / 2 + 3)
        shaft = f"M{to_x:g} {from_y + way * TALL / 2:g}V{tip - 6 * way:g}"
        head = f"M{to_x:g} {tip:g}l-5 {-9 * way}h10z"
    line = f'<path d="{shaft}" fill="none" stroke="{theme.SOFT_INK}" stroke-width="1.6"/>'
    return f'{line}<path d="{head}" fill="{theme.SOFT_INK}"/>'


def _describe(arrows: Sequence[tuple[str, str]], lit: list[str], title: str) -> str:
    into: dict[str, list[str]] = {}
    for start, end in arrows:
        into.setdefault(end, []).append(start)
    runs = "; ".join(f"{', '.join(starts)} → {end}" for end, starts in into.items())
    return f"{title or 'Diagram'}. {runs}." + (f" Lit: {', '.join(lit)}." if lit else "")
