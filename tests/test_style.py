"""Everything users read is free of the patterns that the style check knows."""

from __future__ import annotations

import pytest

from course_lib.runtime import PROJECT_ROOT
from tools.authoring.style import RULES, file_problems, style_problems

PAGES = [
    *sorted(PROJECT_ROOT.glob("*.md")),
    *sorted((PROJECT_ROOT / "docs").glob("*.md")),
    *sorted((PROJECT_ROOT / "data").rglob("*.md")),
]
LESSONS = [
    path
    for name in ("lesson.py", "quiz.json")
    for path in sorted((PROJECT_ROOT / "lessons").glob(f"l*/{name}"))
]
NOT_FIGURES = ("lesson.py", "exercises.py", "wrong_answers.py")  # their prose is checked with the lessons
MESSAGES = [
    *sorted((PROJECT_ROOT / "tools").rglob("*.py")),
    *sorted((PROJECT_ROOT / "course_lib").rglob("*.py")),
    *(
        path
        for path in sorted((PROJECT_ROOT / "lessons").glob("l*/*.py"))
        if path.name not in NOT_FIGURES and not path.name.startswith("test_")
    ),
]


@pytest.mark.parametrize(
    "path", [*PAGES, *LESSONS, *MESSAGES], ids=lambda path: path.relative_to(PROJECT_ROOT).as_posix()
)
def test_the_text_reads_naturally(path):
    assert path.name == "style.py" or file_problems(path) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Whoever trains it pays.", ["Whoever"]),
        ("One.\nThe price stands in the table, in place of text.", ["stands in", "in place of"]),
        ("`in place of` is code.\n```\nwhoever\n```\n    whoever", []),
        ("Q stands for query; it stands out; the same sentence.", []),
        ("“Whoever” is quoted. <!-- style: ok -->", []),
    ],
)
def test_a_phrase_is_found_unless_it_is_code_or_excused(text, found):
    assert [problem.found for problem in style_problems(text)] == found


def test_files_are_reported_with_their_line(tmp_path):
    (tmp_path / "page.md").write_text("Fine.\n\nWe shall see.\n")
    (tmp_path / "code.py").write_text(
        '"""Fine."""\nx = 1\nraise ValueError("whoever")\ny = "whoever"  # style: ok\n'
    )
    (tmp_path / "l01").mkdir()
    (tmp_path / "l01" / "lesson.py").write_text(
        '# %% [markdown] kind="text"\n"""\nFine.\nWhoever knows.\n"""\n'
    )
    for name, line, word in (
        ("page.md", 3, "shall"),
        ("code.py", 3, "whoever"),
        ("l01/lesson.py", 4, "Whoever"),
    ):
        [problem] = file_problems(tmp_path / name)
        assert problem.startswith(f"{tmp_path / name}:{line}: ") and word in problem


def test_the_rules_stay_few():
    assert len(RULES) <= 20
