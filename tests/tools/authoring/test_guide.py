"""The guide for authors matches the code: its table of kinds, its example, its limits."""

from __future__ import annotations

import re

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.authoring import outputs, rules
from tools.authoring.cell_kinds import KINDS, MODES
from tools.authoring.source import read_cells


@pytest.fixture(scope="module")
def guide() -> str:
    return (PROJECT_ROOT / "docs" / "writing_a_lesson.md").read_text(encoding="utf-8")


def test_the_guide_has_the_table_of_kinds(guide):
    rows = []
    for kind in KINDS.values():
        name = f"{kind.name} ✓" if kind.gives_feedback else kind.name
        rows.append(f"| {name} | {' or '.join(kind.forms)} | {kind.meaning} |")
    assert "\n".join(rows) in guide
    assert "\n".join(f"| {mode} | {meaning} |" for mode, meaning in MODES.items()) in guide


def test_the_example_can_be_parsed(guide):
    (example,) = re.findall(r"````python\n(.*?)````", guide, flags=re.DOTALL)
    cells = read_cells(example)
    assert [cell.kind for cell in cells] == ["text", "text", "exercise", "check", "hints"]


def test_the_guide_has_the_limits(guide):
    for limit in (
        f"at most {rules.MOST_CODE_LINES} lines",
        f"at most {rules.MOST_CODE_WIDTH} characters",
        f"at most {rules.MOST_MINUTES_UNCHECKED} minutes apart",
        f"in this order: {', '.join(rules.ORDER)}",
        f"more than {rules.REVEALING_LENGTH} characters",
        f"at most {outputs.LARGEST_OUTPUT // 1000} kB",
        f"a notebook at most {outputs.LARGEST_NOTEBOOK // 1_000_000} MB",
    ):
        assert limit in guide
