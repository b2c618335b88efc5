"""The guide for authors says what the code does: its table of kinds, its example, its limits."""

from __future__ import annotations

import re

import pytest

from course_lib.authoring import anatomy, outputs
from course_lib.authoring.cells import KINDS
from course_lib.authoring.source import read_cells
from course_lib.runtime import PROJECT_ROOT


@pytest.fixture(scope="module")
def guide() -> str:
    return (PROJECT_ROOT / "docs" / "writing_a_lesson.md").read_text(encoding="utf-8")


def test_the_table_of_kinds_is_the_code_s(guide):
    rows = []
    for kind in KINDS.values():
        name = f"{kind.name} ✓" if kind.answers_back else kind.name
        rows.append(f"| {name} | {' or '.join(kind.forms)} | {kind.minutes:g} | {kind.meaning} |")
    assert "\n".join(rows) in guide


def test_the_example_can_be_read(guide):
    (example,) = re.findall(r"````python\n(.*?)````", guide, flags=re.DOTALL)
    cells = read_cells("guide.md", example)
    assert [cell.kind for cell in cells] == ["text", "text", "exercise", "check", "hints"]


def test_the_limits_are_the_code_s(guide):
    for limit in (
        f"{anatomy.FEWEST_CELLS} to {anatomy.MOST_CELLS} cells",
        f"at most {anatomy.MOST_CODE_LINES} lines",
        f"at most {anatomy.MOST_CODE_WIDTH} characters",
        f"At most {anatomy.MOST_MINUTES_UNCHECKED} minutes between",
        f"In order: {', '.join(anatomy.ORDER)}",
        f"{outputs.LARGEST_OUTPUT // 1000} kB at most each",
        f"{outputs.LARGEST_NOTEBOOK // 1_000_000} MB a notebook",
    ):
        assert limit in guide
