"""A picture: SVG of a size, with alt text; the same when stored, live, on the site and on paper.

    >>> Picture(200, 40, box(10, 10, 180, 20, "query"), alt="A blue bar.")
    Picture('A blue bar.')

A learner's notebook gets an `<img>` with both palettes in it. The notebooks that the builder stores (it sets
COURSE_STILLS) get PNG, the only form that is shown wherever notebooks are opened, GitHub included; see
docs/writing_a_lesson.md. A live picture is part of the page and takes its palette.
"""

from __future__ import annotations

import base64
import io
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import runtime, theme
from course_lib.views.svg import box, colour, number, tag

WIDTH = 760  # of pictures that use the whole column
LARGEST = 60_000  # bytes
FONT = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif"
BUTTON = re.compile(
    r'<g data-set="[^"]*" role="button" tabindex="0" aria-label="[^"]*" aria-pressed="\w*"'
)  # a part that sets a control; a stored picture has none
STYLE = (
    f".course-svg{{{theme.palette(0)}font-family:{FONT}}}"
    f"@media (prefers-color-scheme:dark){{.course-svg{{{theme.palette(1)}}}}}"
)


class Picture:
    narrow: Picture | None = None  # the same for phones: the site shows it there

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
        return _without_data(self._written(tag("title", escape(self.alt)) + tag("style", STYLE), role="img"))

    def _written(self, head: str, **said: str) -> str:
        tips = "".join(_tip(name) for name in sorted(set(re.findall(r"url\(#(\w+)-tip\)", self.body))))
        size = {"viewBox": f"0 0 {number(self.width)} {number(self.height)}"}
        size |= {"width": self.width, "height": self.height, "class_": "course-svg"}
        size |= {"stroke_linecap": "round", "stroke_linejoin": "round"}  # unless a part has other ends
        head += (tag("defs", tips) if tips else "") + box(0, 0, self.width, self.height, radius=8)
        return tag("svg", head + self.body, xmlns="http://www.w3.org/2000/svg", **size, **said)

    def img(self) -> str:
        """An HTML element that needs nothing from the page around it."""
        source = "data:image/svg+xml;base64," + base64.b64encode(self.file.encode()).decode("ascii")
        size = (
            f'width="{number(self.width)}" height="{number(self.height)}" style="max-width:100%;height:auto"'
        )
        return f'<img class="course-still" alt="{escape(self.alt)}" {size} src="{source}">'

    def png(self) -> bytes:
        """Twice the size, in matplotlib's fonts: the same on every machine. resvg is an author's package."""
        import matplotlib
        import resvg_py
        from PIL import Image

        fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
        faces = [str(fonts / f"DejaVuSans{face}.ttf") for face in ("", "-Bold", "-Oblique", "-BoldOblique")]
        flat = re.sub(r"var\(--(\w+)\)", lambda found: theme.PALETTE[found[1]][0], self._written(""))
        options = {"font_files": faces, "skip_system_fonts": True, "font_family": "DejaVu Sans"}
        drawn = Image.open(io.BytesIO(bytes(resvg_py.svg_to_bytes(svg_string=flat, zoom=2, **options))))
        paper = Image.new("RGB", drawn.size, theme.PAPER)
        paper.paste(drawn, mask=drawn.getchannel("A"))
        stream = io.BytesIO()
        few = Image.new("P", (1, 1))  # the palette first: a small spot of a colour mustn't become another one
        few.putpalette(_shades() + paper.quantize(128).getpalette()[: 3 * 128])
        paper.quantize(palette=few, dither=Image.Dither.NONE).save(stream, "PNG", optimize=True)
        return stream.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        if not runtime.switched_on("COURSE_STILLS"):
            return {"text/html": self.img(), "text/plain": self.alt}, {}
        data = {"image/png": base64.b64encode(self.png()).decode("ascii"), "text/plain": self.alt}
        sizes = {"width": round(self.width), "height": round(self.height), "alt": self.alt}
        for_site = {"svg": BUTTON.sub("<g", self.svg)} if len(self.svg) < LARGEST else {}
        for_site |= {"narrow": BUTTON.sub("<g", self.narrow.svg)} if self.narrow else {}
        return data, {"image/png": sizes, "needs_background": "light", **for_site}


def _shades() -> list[int]:
    """Red, green and blue of each colour of the palette, on paper and half transparent, too."""
    light = [
        np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) for colour, _ in theme.PALETTE.values()
    ]
    mixed = [
        paint * part + light[0] * (1 - part) for paint in light for part in (1, 0.8, 0.6, 0.45, 0.3, 0.15)
    ]
    return np.concatenate(mixed).round().astype(int).tolist()


def _without_data(svg: str) -> str:
    """Without what only a pointer or a keyboard needs."""
    return re.sub(r' (?:data-[\w-]+|tabindex|aria-(?!label)\w+)="[^"]*"', "", svg)


def _tip(name: str) -> str:
    """The head of an arrow in one colour."""
    size = {"viewBox": "0 0 8 8", "refX": "6.5", "refY": "4", "markerWidth": "8", "markerHeight": "8"}
    shape = {"fill": "none", "stroke": colour(name), "stroke_width": "1.2", "stroke_linecap": "round"}
    head = tag("path", d="M1 1L7 4L1 7", **shape)
    return tag("marker", head, id=f"{name}-tip", markerUnits="userSpaceOnUse", orient="auto", **size)
