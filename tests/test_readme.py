"""The README says what is so: its table of lessons, its tree, its commands."""

from __future__ import annotations

import re

import pytest

from course_lib.authoring.draft import draft, sources
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import road_map
from course_lib.teaching.lessons import lesson

README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_lessons_is_the_one_of_the_course():
    assert road_map("notebooks/").table in README, "paste what road_map('notebooks/') prints into the README"


def test_every_folder_in_the_tree_is_there():
    tree = README.split("## What is where")[1].split("##")[0]
    named = re.findall(r"^\s+([\w./]+/)\s", tree, flags=re.MULTILINE)
    assert len(named) > 8
    for folder in named:
        places = [
            PROJECT_ROOT / folder,
            PROJECT_ROOT / "course_lib" / folder,
            PROJECT_ROOT / "notebooks" / folder,
        ]
        assert any(place.is_dir() for place in places), f"the README names {folder}, and there is none"


def test_every_file_it_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (PROJECT_ROOT / target).exists(), f"the README links to {target}, and there is none"


@pytest.mark.parametrize("source", sources(PROJECT_ROOT), ids=lambda path: path.stem)
def test_the_minutes_of_the_table_are_those_of_the_lesson(source):
    written = draft(source, PROJECT_ROOT).lesson
    told = lesson(source.stem[3:]).minutes
    assert abs(told - written.minutes) <= 2.5, (
        f"data/lessons.json says {told}, the lesson adds up to {written.minutes}"
    )
