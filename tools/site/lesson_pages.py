"""A lesson's notebook for readers who can't run it.

Quizzes answer in the page, and predictions and estimates cover their figures until one has guessed.
Explorables become pictures with a slider. Left out are checks of code that isn't written yet, and whatever
else only says what this learner has done. Code that the notebook hides is folded; code that only shows a card
is removed.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from course_lib.teaching.questions.question import questions
from tools.site.formulas import with_mathml
from tools.site.quizzes import guess_html, quiz_html
from tools.site.sweeps import sweep_html

NOTE = """```{{admonition}} Reading edition
:class: note
You are reading this lesson. To run its code, move every slider and have your answers checked,
[install the course]({root}course.md#start).
```"""
CARD = re.compile(r'^(?P<card>quiz|predict|estimate|explain)\("(?P<lesson>\d\d)", "(?P<name>[\w-]+)"', re.M)
BORROWED = re.compile(r"^\w+: the library's version \(you haven't passed this exercise yet\)\n", re.M)
GUESSES = ("predict", "estimate")


def lesson_page(
    notebook: NotebookNode, pictures: Path, url: str, rewrite: Callable[[str], str]
) -> NotebookNode:
    """The notebook as a page. Pictures are written to a folder whose address, from the page, is `url`.

    `rewrite` changes the links of a Markdown text to those of the site.
    """
    pictures.mkdir(parents=True, exist_ok=True)
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = rewrite(cell.source)
        elif is_personal(cell):
            continue
        else:
            show_code_cell(cell, pictures, url, rewrite)
        cells.append(cell)
        if cell.metadata.course.kind == "title":
            cells.append(new_markdown_cell(NOTE.format(root=url.partition("pictures")[0])))
    notebook.cells = cells
    return notebook


def is_personal(cell: NotebookNode) -> bool:
    """Whether the output is only about the learner: progress, or a check of code that isn't written yet."""
    untried = any("Not tried yet" in output.get("data", {}).get("text/plain", "") for output in cell.outputs)
    return (cell.metadata.course.kind == "check" and untried) or cell.source == "progress_summary()"


def show_code_cell(cell: NotebookNode, pictures: Path, url: str, rewrite: Callable[[str], str]) -> None:
    """Replace the outputs of a code cell by those for the site, and fold or remove its code."""
    found = CARD.search(cell.source)
    card, lesson, name = found.groups() if found else ("", "", "")
    sweep = "" if card == "quiz" else sweep_html(cell, pictures, url)

    def picture(output: NotebookNode) -> str:
        return sweep or still(output, pictures / f"{cell.id}_{cell.outputs.index(output)}.png", url)

    def shown(output: NotebookNode) -> list[NotebookNode]:
        if output.output_type == "stream":
            text = BORROWED.sub("", output.text)
            return [new_output("stream", name=output.name, text=text)] if text.strip() else []
        if "text/markdown" in output.data:
            return [new_output("display_data", {"text/markdown": rewrite(output.data["text/markdown"])})]
        if "image/png" in output.data:
            return [as_html(picture(output))]
        return [as_html(with_mathml(output.data["text/html"]))] if "text/html" in output.data else [output]

    if card == "quiz":
        outputs = [as_html(quiz_html(lesson, name))]
    elif card in GUESSES:
        *printed, _ = cell.outputs
        guess = guess_html(questions(lesson)[name], sweep, cell.metadata.course.answer)
        outputs = [*chain(*map(shown, printed)), as_html(guess)]
    else:
        outputs = [*chain(*map(shown, cell.outputs))]
    cell.outputs = outputs
    cell.metadata.tags = [*cell.metadata.get("tags", []), *code_tag(cell, bool(card or sweep))]


def code_tag(cell: NotebookNode, is_card: bool) -> list[str]:
    """The tag by which myst-nb folds or removes the code of a cell."""
    course = cell.metadata.course
    if course.kind == "check" or (is_card and "\n" not in cell.source):
        return ["remove-input"]
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
    return ["hide-input"] if hidden or is_card else []


def as_html(text: str) -> NotebookNode:
    return new_output("display_data", {"text/html": text})


def as_figure(svg: str, css_class: str = "") -> str:
    width = re.search(r'width="([\d.]+)"', svg)[1]
    return f'<figure class="{f"course-stage {css_class}".strip()}" style="--width:{width}px">{svg}</figure>'


def still(output: NotebookNode, file: Path, url: str) -> str:
    """The stored picture as SVG where it has one, or as a file, and the HTML that shows it."""
    if "svg" in output.metadata:
        narrow = output.metadata.get("narrow", "")
        drawn = as_figure(output.metadata.svg, "course-wide-only" if narrow else "")
        return drawn + (as_figure(narrow, "course-narrow-only") if narrow else "")
    file.write_bytes(base64.b64decode(output.data["image/png"]))
    about = output.metadata.get("image/png", {})
    alt = html.escape(about.get("alt", ""))
    size = "".join(f' {side}="{about[side]}"' for side in ("width", "height") if side in about)
    return f'<img class="course-raster" src="{url}/{file.name}" alt="{alt}"{size} loading="lazy">'
