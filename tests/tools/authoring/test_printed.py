"""Numbers that a cell prints, in the prose around it."""

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
AT = '# %% [markdown] kind="summary"'


def with_cell(cell: str = CELL) -> str:
    assert AT in TINY
    return TINY.replace(AT, f"{cell.strip()}\n\n{AT}", 1)


@pytest.mark.slow
def test_numbers_are_filled_in_when_a_lesson_is_built_and_looked_up_when_it_is_checked(course):
    course.write(with_cell())
    status, _, complaints = course.build()
    assert (status, complaints) == (0, [])
    path = course.root / "notebooks" / "42_tiny.ipynb"
    texts = ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    assert FILLED in texts
    assert course.build(check=True)[0] == 0
    path.write_text(path.read_text("utf-8").replace("forced: 26", "forced: 27"), encoding="utf-8")
    status, _, complaints = course.build(check=True)
    assert status == 1 and "stale" in complaints[0]  # the prose says 26 still


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{printed:counts/articles}", "{printed:count/articles}", "no code cell is called 'count'"),
        ("{printed:counts/articles}", "{printed:counts/words}", "the cell 'counts' prints no 'words'"),
        ("{printed:counts/forced}", "{printed:counts/forced/7}", "after 'forced' there are 2 numbers"),
        ("{printed:counts/forced}", "{printed:counts/forced/x}", "after 'forced' there are 2 numbers"),
        ('name="counts"', 'name="counts" ignore_output=true', "prints no 'articles' that is compared"),
    ],
)
def test_a_name_that_leads_nowhere_is_told_with_its_line_and_nothing_is_written(course, old, new, message):
    text = with_cell(CELL.replace(old, new, 1))
    course.write(text)
    status, _, complaints = course.build()
    assert status == 1 and message in complaints[0]
    assert complaints[0].startswith(f"lessons/l42_tiny/lesson.py:{line_of('Of {printed', text)}: ")
    assert not (course.root / "notebooks" / "42_tiny.ipynb").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "{printed:counts/forced}",
            "{print: counts/forced}",
            "write a printed number as {printed:CELL/LABEL}",
        ),
        ('kind="text"', 'kind="text" name="words"', "a Markdown cell prints nothing"),
        (
            '# %% [markdown] kind="text"',
            '# %% kind="code" name="counts"\n1\n\n# %% [markdown] kind="text"',
            "already",
        ),
        ("Of {printed:counts/articles}", "Of {result:made_op/a:.0%}", "there is no results file 'made_op'"),
    ],
)
def test_a_misspelt_number_or_name_is_a_breach(course, old, new, message):
    assert any(message in problem for problem in course.problems(with_cell(CELL.replace(old, new, 1))))
