"""The README says what is so: its table of lessons, its tree, its commands."""

from __future__ import annotations

import re
import shlex

import pytest

from course_lib import __version__
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import FULL, SHORT, lesson_table, lessons
from tools.cli.commands import parser

README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *sorted(PROJECT_ROOT.glob("*.md")),
    *sorted((PROJECT_ROOT / "docs").glob("*.md")),
    *sorted((PROJECT_ROOT / "data").rglob("*.md")),
    *sorted((PROJECT_ROOT / "lessons").rglob("*.py")),
]


def test_the_table_of_lessons_is_the_one_of_the_course():
    table = lesson_table(lessons(), {FULL: "notebooks/", SHORT: "notebooks/short/"})
    assert table in README, "run `python3 -m course_lib build`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT_ROOT)))
def test_commands_work_as_they_stand(page):
    """`course` is on nobody's path, and a wrong flag would be answered with the usage."""
    text = page.read_text(encoding="utf-8")
    known = "|".join(re.findall(r"^ {4}(\w+)", parser().format_help(), flags=re.MULTILINE))
    assert not re.findall(rf"(?<![\w/.-])course (?:{known})\b.*", text)
    written = re.findall(rf"python3 -m course_lib ((?:{known})\b[^`\n#]*)", text)
    assert written or page != PROJECT_ROOT / "README.md"
    for command in written:
        words = shlex.split(command.split(" | ")[0].split(" > ")[0].rstrip(" ;,.)"))
        asked, further = parser().parse_known_args(words)
        assert not further or asked.command == "lab", command


def test_every_folder_in_the_tree_and_every_file_it_links_to_is_there():
    tree = README.split("## Repository layout")[1].split("##")[0]
    named = re.findall(r"^\s+([\w./]+/)\s", tree, flags=re.MULTILINE)
    assert len(named) >= 6
    for folder in named:
        places = [PROJECT_ROOT / above / folder for above in ("", "course_lib", "tools")]
        assert any(place.is_dir() for place in places), f"the README names {folder}, and there is none"
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (PROJECT_ROOT / target).exists(), f"the README links to {target}, and there is none"


def test_the_citation_names_the_version():
    citation = (PROJECT_ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'version: "{__version__}"' in citation
