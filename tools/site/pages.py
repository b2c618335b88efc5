"""The site's pages as sources for Sphinx, in the same folders as in the repository, so that links stay valid.

    write_pages(PROJECT_ROOT, source, extra)      # course.md, notebooks/*.ipynb, docs/*.md, data/**/README.md

The README becomes the page about the course; the hidden tables of contents at its end give the sidebar its
order. The first page, index.html, isn't Sphinx's: live.py makes it.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import nbformat
from nbformat.v4 import new_markdown_cell

from course_lib.teaching.contents import lessons
from tools.authoring.single_file import repository
from tools.cli.environment import CommandError
from tools.site.lesson_pages import lesson_page

HOME = "README.md"
ABOUT = "course.md"  # where the README goes
PICTURES = ("data/results/dots", "docs/pictures")  # of the results page, of the README
NOT_HERE = re.compile(r"^.*<!-- not on the site -->\n", re.M)
NOTE = """
```{admonition} Reading edition
:class: note
This is the reading edition: the full lessons, with figures and answers, as web pages. You can read them
anywhere, but nothing you do here is saved. To run and change the code, and to have yours checked,
[install the course](#start).
```
"""
GROUPS = {  # the order of known files in docs/; new ones come last in the last group
    "For learners": (
        *("glossary", "papers_and_pytorch", "reading_the_paper", "training", "command_line"),
        *("installation", "reliability"),
    ),
    "For instructors": ("teaching", "grading", "hosting", "site", "checks"),
    "For authors": ("writing_a_lesson", "quizzes"),
}
ANCHOR = re.compile(r'<a id="[^"]*"></a>')  # Sphinx gives headings the same ids
CELL = "cell-id="  # how a link in JupyterLab names a cell
HEADING = re.compile(r"^##? (.+)", re.M)
CODE = r"(?:`{3}.*?`{3}|`[^`]*`)"
LINK = re.compile(
    rf"(?P<code>{CODE})|"
    rf"(?<!!)\[(?P<text>(?:{CODE}|[^\[\]])*)\]\((?P<target>[^\s)]+)(?P<title>\s+\"(?:\\.|[^\"\\])*\")?\)",
    re.DOTALL,
)

Rewrite = Callable[[str], str]


def write_pages(root: Path, source: Path, extra: Path) -> None:
    """Write all sources; pictures of the lessons go into `extra`, which Sphinx copies as it is."""
    groups = contents(root)
    short = [f"notebooks/short/{lesson.notebook}" for lesson in lessons()]
    pages = {HOME, *short, *(page for group in groups.values() for page in group)}
    address = repository(root).removesuffix(".git")
    for folder in PICTURES:
        shutil.copytree(root / folder, source / folder)
    for page in sorted(pages):
        target = source / (ABOUT if page == HOME else page)
        target.parent.mkdir(parents=True, exist_ok=True)
        rewrite = partial(with_links, page=page, pages=pages, root=root, address=address)
        if page.endswith(".ipynb"):
            notebook = nbformat.read(root / page, as_version=4)
            if page in short:  # reached from the full lesson; the sidebar has only the full ones
                notebook.metadata.orphan = True
                notebook.cells += link_to_next(short, page)
            folder = Path("pictures", Path(page).relative_to("notebooks").with_suffix(""))
            url = posixpath.relpath(folder.as_posix(), posixpath.dirname(page))
            nbformat.write(lesson_page(notebook, extra / folder, url, rewrite), target)
        else:
            text = rewrite(ANCHOR.sub("", (root / page).read_text(encoding="utf-8")))
            target.write_text(home(text, groups) if page == HOME else text, encoding="utf-8")


def link_to_next(short: list[str], page: str) -> list[nbformat.NotebookNode]:
    """A last cell of a short lesson that leads to the next one."""
    following = short[short.index(page) + 1 :]
    if not following:
        return []
    label = lessons()[short.index(following[0])].label
    text = f"**Next on the short track:** [{label}]({Path(following[0]).name})"
    return [new_markdown_cell(text, metadata={"course": {"kind": "text"}})]


def contents(root: Path) -> dict[str, list[str]]:
    """The pages of each part of the sidebar, as paths in the repository."""
    groups: dict[str, list[str]] = {}
    for lesson in lessons():
        groups.setdefault(lesson.part, []).append(f"notebooks/{lesson.notebook}")
    docs = {path.stem: f"docs/{path.name}" for path in sorted((root / "docs").glob("*.md"))}
    for title, names in GROUPS.items():
        groups[title] = [docs.pop(name) for name in names if name in docs]
    groups["For authors"] = ["CONTRIBUTING.md", *groups["For authors"], *docs.values()]
    data = [path.relative_to(root).as_posix() for path in sorted((root / "data").rglob("README.md"))]
    groups["Data and results"] = sorted(data, key=lambda page: page != "data/results/README.md")
    return {title: pages for title, pages in groups.items() if pages}


def home(readme: str, groups: dict[str, list[str]]) -> str:
    """The README with a note for readers below its title, and the sidebar's contents."""
    title, _, rest = NOT_HERE.sub("", readme).partition("\n")
    tables = [
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```"
        for caption, pages in groups.items()
    ]
    return "\n\n".join([title, NOTE, rest, *tables])


def with_links(text: str, page: str, pages: set[str], root: Path, address: str) -> str:
    """The text with each link to a file that is no page turned into one to the repository, or into text.

    >>> with_links("[a](b.md) [c](../c.py)", "docs/d.md", {"docs/b.md"}, Path("/none"), "")
    '[a](b.md) c'
    """

    def replace(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        path, _, anchor = match["target"].partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        if file == HOME:
            path = posixpath.relpath(ABOUT, posixpath.dirname(page) or ".")
            return f"[{match['text']}]({path}{'#' * bool(anchor)}{anchor})"
        if file in pages and anchor.startswith(CELL):
            section = section_with(root / file, anchor.removeprefix(CELL))
            return f"[{match['text']}]({path}#{section})"
        if file in pages:
            return match[0]
        if address and (root / file).exists():
            return f"[{match['text']}]({address}/blob/HEAD/{file})"
        return match["text"]

    return LINK.sub(replace, text)


def section_with(notebook: Path, cell_id: str) -> str:
    """The anchor of the section that contains a cell: pages have none for cells."""
    section = ""
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown" and (heading := HEADING.search(cell.source)):
            section = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")  # as MyST does
        if cell.id == cell_id:
            return section
    raise CommandError(f"{notebook.name} has no cell {cell_id}.", "Run `python3 -m course_lib build` first.")
