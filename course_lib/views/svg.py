"""Small pure functions that make SVG: words and numbers in, text out. Pictures are made of nothing else.

    >>> word(10, 20, "the *cat*")
    '<text x="10" y="20" font-size="14" fill="var(--ink)" text-anchor="middle">the <tspan font-style=...'
    >>> dot(3, 4, 2.04, "query")
    '<circle cx="3" cy="4" r="2" fill="var(--query)" stroke="var(--ink)" stroke-width="1.2"/>'

A colour is a name of `theme.PALETTE`. Numbers keep one decimal, so that every CPU writes the same file.
What the page does with a part, its `data-` attributes say: see course_lib/explore/live.js.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from html import escape
from typing import Any

from course_lib import theme

NARROW, WIDE = "iljtfrI.,;:!'|()[] ", "mwMW—@%"
Point = tuple[float, float]
escaped = lru_cache(4096)(escape)  # most texts of a picture are those of the picture before


@lru_cache(4096)
def number(value: float) -> str:
    text = f"{value:z.1f}"  # z: no minus before a zero
    return text[:-2] if text.endswith(".0") else text


@cache
def attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """An element. `data_row=3` becomes `data-row="3"`; None leaves an attribute out."""
    written = ""
    for key, value in attributes.items():
        if value is not None:
            text = escaped(value) if isinstance(value, str) else number(value)
            written += f' {attribute(key)}="{text}"'
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def colour(name: str | None) -> str | None:
    return f"var(--{name})" if name in theme.PALETTE else name


def opacity_of(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def width_of(text: str, size: float = 14) -> float:
    """About how wide a text is, in the widest of the usual fonts."""
    return size * _ems(str(text))


@lru_cache(4096)
def _ems(text: str) -> float:
    return sum(0.36 if letter in NARROW else 0.95 if letter in WIDE else 0.63 for letter in text)


def word(
    x: float,
    y: float,
    text: object,
    size: float = 14,
    fill: str = "ink",
    anchor: str = "middle",
    *,
    bold: bool = False,
    halo: str | None = None,
    **more: Any,
) -> str:
    """A line of text; what is between asterisks is italic. A halo keeps lines behind it at a distance."""
    if text == "":
        return ""
    content = escape(str(text))
    if "*" in content:
        content = re.sub(r"\*(.+?)\*", r'<tspan font-style="italic">\1</tspan>', content)
    if halo:
        more |= {
            "stroke": colour(halo),
            "stroke_width": 4,
            "stroke_linejoin": "round",
            "paint_order": "stroke",
        }
    weight = "600" if bold else None
    at = {"x": x, "y": y, "font_size": size, "fill": colour(fill)}
    at |= {"text_anchor": anchor} if anchor != "start" else {}  # SVG's default
    return tag("text", content, **at, font_weight=weight, **more)


def note(x: float, y: float, lines: Sequence[str], size: float = 12, fill: str = "soft", **more: Any) -> str:
    """Lines of text under one another, left-aligned unless `anchor` says otherwise."""
    more = {"anchor": "start"} | more
    return "".join(word(x, y + (size + 3) * i, line, size, fill, **more) for i, line in enumerate(lines))


def path(
    d: str,
    stroke: str = "ink",
    width: float = 1.0,
    *,
    fill: str = "none",
    opacity: float | None = None,
    dash: str | None = None,
    head: bool = False,
    **more: Any,
) -> str:
    """A path; `head` gives it the tip of an arrow."""
    drawn = {"fill": colour(fill), "stroke": colour(stroke), "stroke_width": width, "stroke_dasharray": dash}
    drawn |= {"opacity": opacity_of(opacity)}  # the picture says that ends are round
    return tag("path", d=d, marker_end=f"url(#{stroke}-tip)" if head else None, **drawn | more)


def line(points: Sequence[Point], stroke: str = "ink", width: float = 1.0, **more: Any) -> str:
    """Straight lines through points."""
    return path("M" + "L".join(f"{number(x)} {number(y)}" for x, y in points), stroke, width, **more)


def bend(
    start: Point, end: Point, stroke: str = "ink", width: float = 1.0, at: float = 0.5, **more: Any
) -> str:
    """An S-shaped line between two heights that leaves and arrives upright; `at` says how soon it bends."""
    (x0, y0), (x1, y1) = start, end
    middle = number(y0 + (y1 - y0) * at)
    d = f"M{number(x0)} {number(y0)}C{number(x0)} {middle} {number(x1)} {middle} {number(x1)} {number(y1)}"
    return path(d, stroke, width, **more)


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str = "paper",
    stroke: str | None = None,
    *,
    radius: float = 6,
    line: float = 1.0,
    opacity: float | None = None,
    **more: Any,
) -> str:
    sizes = {"x": x, "y": y, "width": max(0, width), "height": max(0, height), "rx": radius}
    frame = {"stroke": colour(stroke), "stroke_width": line if stroke else None}
    return tag("rect", **sizes, fill=colour(fill), **frame, fill_opacity=opacity_of(opacity), **more)


def dot(
    x: float,
    y: float,
    radius: float,
    fill: str = "paper",
    stroke: str = "ink",
    line: float = 1.2,
    **more: Any,
) -> str:
    return tag(
        "circle", cx=x, cy=y, r=radius, fill=colour(fill), stroke=colour(stroke), stroke_width=line, **more
    )


def group(content: str, **attributes: Any) -> str:
    return tag("g", content, **attributes)


# ---- parts that answer to the pointer


def choice(content: str, label: str, *, chosen: bool = False, **state: Any) -> str:
    """A part that sets controls when it is clicked, or Enter is pressed on it: `choice(..., head=3)`."""
    said = {"role": "button", "tabindex": "0", "aria_label": label, "aria_pressed": str(chosen).lower()}
    return group(content, data_set=json.dumps(state, ensure_ascii=False), **said)


def belongs(*names: str, tip: str | None = None, lights: str | None = None) -> dict[str, str | None]:
    """Attributes of a part that lights up with others of the same name, and of what the pointer reads there.

    >>> belongs("row-1", "column-2", tip="it → cat 0.46")
    {'data_of': 'row-1 column-2', 'data_tip': 'it → cat 0.46', 'data_lights': None}

    Pointing at a part lights everything that shares a name with it, or with what it `lights` instead.
    """
    return {"data_of": " ".join(names) or None, "data_tip": tip, "data_lights": lights}
