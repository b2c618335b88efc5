"""A picture: SVG of a size, with alt text; the same when stored, live, on the site and on paper.

    >>> Picture(200, 40, word(100, 25, "attention"), alt="The word attention.")
    Picture('The word attention.')

A notebook stores it as an `<img>`, which is shown wherever notebooks are opened (docs/writing_a_lesson.md).
That copy has both palettes in it. A live picture stands in the page and takes the page's palette.
"""

from __future__ import annotations

import base64
import re
from html import escape
from typing import Any

from course_lib import theme
from course_lib.views.svg import box, colour, number, tag

WIDTH = 760  # of pictures that use the whole column
LARGEST = 60_000  # bytes
FONT = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif"
STYLE = (
    f".course-svg{{{theme.palette(0)}font-family:{FONT}}}"
    f"@media (prefers-color-scheme:dark){{.course-svg{{{theme.palette(1)}}}}}"
)


class Picture:
    def __init__(self, width: float, height: float, *parts: str, alt: str):
        self.width, self.height, self.alt, self.body = width, height, alt, "".join(parts)

    def __repr__(self) -> str:
        return f"Picture({self.alt!r})"

    @property
    def svg(self) -> str:
        """For a page that has `theme.PAGE_STYLE`; its parts can be reached by screen readers."""
        return self._written("", role="group", aria_label=self.alt)

    @property
    def file(self) -> str:
        """For everywhere else: with a style of its own."""
        return self._written(tag("title", escape(self.alt)) + tag("style", STYLE), role="img")

    def _written(self, head: str, **said: str) -> str:
        tips = "".join(_tip(name) for name in sorted(set(re.findall(r"url\(#(\w+)-tip\)", self.body))))
        size = {"viewBox": f"0 0 {number(self.width)} {number(self.height)}"}
        size |= {"width": self.width, "height": self.height, "class_": "course-svg"}
        head += (tag("defs", tips) if tips else "") + box(0, 0, self.width, self.height, radius=8)
        return tag("svg", head + self.body, xmlns="http://www.w3.org/2000/svg", **size, **said)

    def img(self) -> str:
        """An HTML element that needs nothing from the page around it."""
        source = "data:image/svg+xml;base64," + base64.b64encode(self.file.encode()).decode("ascii")
        size = (
            f'width="{number(self.width)}" height="{number(self.height)}" style="max-width:100%;height:auto"'
        )
        return f'<img class="course-still" alt="{escape(self.alt)}" {size} src="{source}">'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        return {"text/html": self.img(), "text/plain": self.alt}, {}


def _tip(name: str) -> str:
    """The head of an arrow in one colour."""
    size = {"viewBox": "0 0 8 8", "refX": "6.5", "refY": "4", "markerWidth": "8", "markerHeight": "8"}
    shape = {"fill": "none", "stroke": colour(name), "stroke_width": "1.2", "stroke_linecap": "round"}
    head = tag("path", d="M1 1L7 4L1 7", **shape)
    return tag("marker", head, id=f"{name}-tip", markerUnits="userSpaceOnUse", orient="auto", **size)
