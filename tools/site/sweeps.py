"""Explorables as pictures with a slider: one control is moved, the others stay where they are.

    >>> sweep_html({"source": "1 + 1"}, Path("pictures"), "../pictures")       # shows no explorable
    ''

For a prediction, the others are as in the preset that shows its answer. Drawing takes seconds, so pictures
are kept in build/site_pictures until something they depend on changes.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course_lib.explore.base import Explorable
from course_lib.explore.control import Control
from course_lib.explore.raster.base import RasterExplorable
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.questions.question import Question, questions
from course_lib.views.static_image import encode_webp
from tools.bench.explorables import explorables
from tools.site.live_figures import live_html
from tools.site.quizzes import as_script_json

MOST = 24  # pictures of one explorable
TEXTS = "pictures.json"  # beside the pictures: their names, alt texts, and the values of the control
CACHE = PROJECT_ROOT / "build" / "site_pictures"
SOURCES = ("course_lib/**/*.py", "lessons/*/*.py", "data/**/*")  # all that a picture may depend on
NOT_DRAWN = ("lesson.py", "test_*.py", "wrong_answers.py")


def sweep_html(cell: NotebookNode, folder: Path, url: str) -> str:
    """Write the pictures into `folder`, whose address in the page is `url`, and return the HTML; empty if the
    cell doesn't show an explorable."""
    shown = find_explorable(cell["source"])
    if shown is None:
        return ""
    kind, asked = shown
    if not issubclass(kind, RasterExplorable):
        return live_html(kind, asked, main_control(kind))
    drawn = cached_pictures(kind, asked)
    folder.mkdir(parents=True, exist_ok=True)
    for path in drawn.glob("*.webp"):
        shutil.copy(path, folder)
    pictures = json.loads((drawn / TEXTS).read_text(encoding="utf-8"))
    pictures = [{**picture, "src": f"{url}/{picture['src']}"} for picture in pictures]
    return figure_html(kind, pictures)


def find_explorable(source: str) -> tuple[type[Explorable], Question | None] | None:
    """The explorable that a cell's last line shows, and the prediction that it belongs to.

    >>> find_explorable('predict("00", "times-four", SoftmaxDial())')
    (<class '...SoftmaxDial'>, Question(id='times-four', ...))
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:  # for example a cell with IPython magic
        return None
    asked = None
    match body[-1:]:
        case [ast.Expr(ast.Call(ast.Name("predict"), [ast.Constant(number), ast.Constant(name), call]))]:
            asked = questions(number)[name]
        case [ast.Expr(call)]:
            pass
        case _:
            return None
    match call:
        case ast.Call(ast.Name(name), []) if name in explorables():
            return explorables()[name], asked
    return None


def main_control(kind: type[Explorable]) -> Control:
    return next((each for each in kind.controls if each.name == kind.main_control), kind.controls[0])


def states_of(kind: type[Explorable], asked: Question | None) -> list[dict[str, Any]]:
    """The states to draw: at most `MOST` values of the main control, with the start's and the preset's."""
    control, preset = main_control(kind), kind.presets[asked.preset] if asked and asked.preset else {}
    texts = [control.text_of(value) for value in control.values]
    needed = [
        texts.index(control.text_of(state[control.name])) for state in (kind.start, kind.start | preset)
    ]
    rows = spread(len(texts), MOST, needed)
    return [{**kind.start, **preset, control.name: control.values[row]} for row in rows]


def spread(count: int, most: int, needed: Sequence[int]) -> list[int]:
    """At most `most` indices below `count`, evenly spread. Each needed one replaces the nearest, but no end.

    >>> spread(9, 3, [5])
    [0, 5, 8]
    """
    if count <= most:
        return list(range(count))
    rows = [round(row * (count - 1) / (most - 1)) for row in range(most)]
    for row in needed:
        inner = [other for other in rows[1:-1] if other not in needed]
        if row not in rows:
            rows[rows.index(min(inner, key=lambda other: abs(other - row)))] = row
    return sorted(rows)


# ---- drawing


def cached_pictures(kind: type[Explorable], asked: Question | None) -> Path:
    """The folder with the pictures, drawn now if there is none yet."""
    name = f"{kind.__name__}-{asked.preset if asked else None}-{fingerprint()}"
    folder = CACHE / f"{kind.__name__}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{kind.__name__}-*"):
            shutil.rmtree(old)
        with tempfile.TemporaryDirectory(dir=CACHE) as draft:
            draw(kind, states_of(kind, asked), Path(draft) / "done")
            (Path(draft) / "done").rename(folder)
    return folder


@cache
def fingerprint() -> str:
    """Changes with everything that a picture may depend on."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(PROJECT_ROOT.glob(pattern)):
            if path.is_file() and not any(path.match(name) for name in NOT_DRAWN):
                digest.update(path.relative_to(PROJECT_ROOT).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def draw(kind: type[Explorable], states: list[dict[str, Any]], folder: Path) -> None:
    """Write the pictures and their texts. A state that looks like the one before is left out, unless it is
    the start: a short translation has fewer words than the control has steps."""
    folder.mkdir()
    control, figure, pictures, before = main_control(kind), kind.shared_figure(), [], b""
    for state in states:
        facts, text = kind.facts_at(state), control.text_of(state[control.name])
        figure.update(facts)
        picture = encode_webp(figure.pixels())
        if picture != before or text == control.text_of(kind.start[control.name]):
            name, before = f"{kind.__name__}_{len(pictures):02}.webp", picture
            (folder / name).write_bytes(picture)
            pictures.append({"src": name, "alt": kind.describe(facts), "text": text})
    (folder / TEXTS).write_text(json.dumps(pictures, ensure_ascii=False), encoding="utf-8")


# ---- the page


def figure_html(kind: type[Explorable], pictures: list[dict[str, str]]) -> str:
    """The picture at the start, a slider that static/sweep.js shows, and what a notebook can change, too."""
    control = main_control(kind)
    start = control.text_of(kind.start[control.name])
    position = [picture["text"] for picture in pictures].index(start)
    first, label = pictures[position], escape(control.label)
    width, height = (round(80 * inches) for inches in kind.size)
    others = [f"“{escape(other.label)}”" for other in kind.controls if other is not control]
    listed = " and ".join(filter(None, [", ".join(others[:-1]), *others[-1:]]))
    more = f"<p>In the notebook, you can also change {listed}.</p>" if others else ""
    slider = (
        f'<input type="range" min="0" max="{len(pictures) - 1}" value="{position}" '
        f'aria-valuetext="{escape(first["text"])}" autocomplete="off">'
    )
    return (
        f'<figure class="course-sweep"><p class="course-sweep-question">{escape(kind.question)}</p>'
        f'<div class="course-sweep-control" hidden><label><span>{label}</span>{slider}</label>'
        f'<span class="course-sweep-value" aria-hidden="true">{escape(first["text"])}</span></div>'
        f'<div class="course-sweep-picture"><img class="course-raster" src="{escape(first["src"])}" '
        f'alt="{escape(first["alt"])}" width="{width}" height="{height}" loading="lazy"></div>'
        f'<figcaption aria-live="polite">{escape(first["alt"])}</figcaption>{more}'
        f"{as_script_json(pictures)}</figure>"
    )
