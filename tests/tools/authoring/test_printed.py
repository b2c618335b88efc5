"""Numbers in prose that a cell of the lesson prints."""

from __future__ import annotations

import json

import pytest

from tests.tools.authoring.made_up import TINY, line_of

CELL = """
# %% kind="code" name="counts"
print("articles: 92, forced: 26 right (28.3%)")
print("loss −0.5, 1,536 bytes, 2e-07")

# %% [markdown] kind="text"
'''
Of {printed:counts/articles} articles {printed:counts/forced} are right,
{printed:counts/articles/3}; {printed:counts}.
Then {printed:counts/loss}, {printed:counts/loss/2} and {printed:counts/loss/3}.
'''
"""
FILLED = "Of 92 articles 26 are right,\n28.3%; 92.\nThen −0.5, 1,536 and 2e-07."
SUMMARY = '# %% [markdown] kind="summary"'


def with_cell(cell: str = CELL) -> str:
    assert SUMMARY in TINY
    return TINY.replace(SUMMARY, f"{cell.strip()}\n\n{SUMMARY}", 1)


@pytest.mark.slow
def test_numbers_are_filled_in_by_the_build_and_compared_by_the_check(course):
    course.write(with_cell())
    status, _, problems = course.build()
    assert (status, problems) == (0, [])
    path = course.root / "notebooks" / "42_tiny.ipynb"
    texts = ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    assert FILLED in texts
    assert course.build(check=True)[0] == 0
    path.write_text(path.read_text("utf-8").replace("forced: 26", "forced: 27"), encoding="utf-8")
    status, _, problems = course.build(check=True)
    assert status == 1 and "stale" in problems[0]  # the prose still has 26


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{printed:counts/articles}", "{printed:count/articles}", "'count'"),
        ("{printed:counts/articles}", "{printed:counts/words}", "'words'"),
        ("{printed:counts/forced}", "{printed:counts/forced/7}", "2 numbers"),
        ("{printed:counts/forced}", "{printed:counts/forced/x}", "2 numbers"),
        ('name="counts"', 'name="counts" ignore_output=true', "'articles'"),
    ],
)
def test_a_number_that_is_not_printed_is_reported_with_its_line_and_nothing_is_written(
    course, old, new, message
):
    text = with_cell(CELL.replace(old, new, 1))
    course.write(text)
    status, _, problems = course.build()
    assert status == 1 and message in problems[0]
    assert problems[0].startswith(f"lessons/l42_tiny/lesson.py:{line_of('Of {printed', text)}: ")
    assert not (course.root / "notebooks" / "42_tiny.ipynb").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "{printed:counts/forced}",
            "{print: counts/forced}",
            "{print: counts/forced}",
        ),
        ('kind="text"', 'kind="text" name="words"', "'words'"),
        (
            '# %% [markdown] kind="text"',
            '# %% kind="code" name="counts"\n1\n\n# %% [markdown] kind="text"',
            "'counts'",
        ),
        ("Of {printed:counts/articles}", "Of {result:made_op/a:.0%}", "'made_op'"),
    ],
)
def test_a_misspelt_number_or_name_is_a_breach(course, old, new, message):
    assert any(message in problem for problem in course.problems(with_cell(CELL.replace(old, new, 1))))
