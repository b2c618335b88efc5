"""Tracks of cells, and the short and core editions that are made by leaving cells out."""

from __future__ import annotations

import re

import pytest

from tests.tools.authoring.made_up import TINY, only
from tools.authoring.editions import as_text

SECTION = '# %% [markdown] kind="text" contents="a picture and an exercise"'
PARTS = '''
# %% [markdown] kind="text" track="short"
"""
## On it
"""
# %% [markdown] kind="text" track="core"
"""
Left out, see [page](../docs/page.md).
"""
# %% [markdown] kind="text"
"""
Kept, see [page](../docs/page.md) and [lesson](43_next.ipynb).
| a row of the full lesson | <!-- core --> |
"""
# %% [markdown] kind="text" contents="a `hard` proof"
"""
## Off it
"""
# %% kind="code"
FROM_OFF_IT = 1
# %% [markdown] kind="text" track="stretch" contents="more of it"
"""
## Far off
"""
# %% kind="code"
FROM_FAR_OFF = 1
# %% [markdown] kind="text" track="short"
"""
## Closing
"""
'''
LESSON = TINY.replace(SECTION, PARTS + SECTION.replace(" contents", ' track="core" contents'), 1).replace(
    "import os\n",
    "import os\n\n\ndef start_lesson(topic, seed=0, track=None):\n    print(track)\n\n\n"
    'start_lesson("tiny", seed=3)\n',
    1,
)


def texts(course, edition: str) -> list[str]:
    return [cell["source"] for cell in course.draft(LESSON).notebook(edition)["cells"]]


def test_the_short_edition_has_the_short_cells_and_one_line_for_each_part_it_leaves_out(course):
    draft = course.draft(LESSON)
    short = "\n".join(texts(course, "short"))
    assert "## On it" in short and "Kept" in short and "## Closing" in short and "## Summary" in short
    for gone in (
        "FROM_OFF_IT",
        "FROM_FAR_OFF",
        "\n## Off it",
        "Left out",
        "double_it",
        "A formula",
        "row of",
    ):
        assert gone not in short
    lines = [line for line in short.split("\n") if line.startswith("- ") and "(about " in line]
    assert len(lines) == 4
    within, off, far, picture = lines
    assert within.startswith("- more detail (about 1 min, [") and "(./../42_tiny.ipynb#cell-id=" in within
    ids = {cell["id"]: cell["source"] for cell in draft.notebook("learner")["cells"]}
    [target] = [ids[identity] for identity in re.findall(r"#cell-id=(\w+)", off)]
    assert target == "## Off it" and off.endswith("): a `hard` proof (about 1 min)")
    assert far.startswith("- [Far off](") and "more of it" in far
    assert "a picture and an exercise (about 8 min)" in picture
    assert short.count("short track:*") == 3  # lines that follow each other share a cell
    assert sum(cell.minutes for cell in draft.cells["short"]) == pytest.approx(draft.lesson.short_minutes)


def test_a_line_of_the_full_lesson_takes_no_time_on_the_short_track(course):
    long = f"| {'word ' * 130} | <!-- core --> |\n"
    longer = LESSON.replace("| a row of the full lesson | <!-- core --> |\n", long)
    before, after = (course.draft(text).lesson for text in (LESSON, longer))
    assert after.short_minutes == before.short_minutes
    assert sum(cell.minutes for cell in after.cells) > sum(cell.minutes for cell in before.cells) + 0.5


@pytest.mark.parametrize(
    ("sentence", "is_refused"),
    [
        ("Section 2 proves it.", True),
        ("As section 1 shows, it works.", False),
        ("Section 2 proves it. <!-- core -->", False),
        ("See section 2 of lesson 14, and section 3.2 of the paper.", False),
    ],
)
def test_the_short_edition_refers_only_to_its_own_sections(course, sentence, is_refused):
    numbered = LESSON.replace("## On it", "## 1 · On it").replace("## Off it", "## 2 · Off it")
    problems = course.problems(numbered.replace("| a row of the full lesson | <!-- core --> |", sentence))
    assert any("section 2" in problem for problem in problems) == is_refused


def test_the_last_goal_of_the_short_edition_ends_in_a_full_stop(course):
    goals = "- build a notebook;\n- read it; <!-- core -->\n- sell it. <!-- core -->\n"
    draft = course.draft(TINY.replace("- build a notebook\n", goals))
    short, full = (draft.notebook(edition)["cells"][1]["source"] for edition in ("short", "learner"))
    assert short.endswith("- build a notebook.") and "- build a notebook;" in full


def test_links_and_the_setup_of_the_short_edition_lead_to_the_short_track(course):
    short, full = ("\n".join(texts(course, edition)) for edition in ("short", "learner"))
    assert 'start_lesson("tiny", seed=3, track="short")' in short and "seed=3)" in full
    assert "(../../docs/page.md)" in short and "(43_next.ipynb)" in short  # the next short lesson
    assert "(./../42_tiny.ipynb)" in short and "(short/42_tiny.ipynb)" in full
    solved = "\n".join(texts(course, "solved"))
    assert "(../../notebooks/short/42_tiny.ipynb)" in solved


def test_the_full_lesson_has_everything_and_folds_stretch_sections(course):
    notebook = course.draft(LESSON).notebook("learner")
    folded = [
        cell["source"] for cell in notebook["cells"] if "jp-MarkdownHeadingCollapsed" in cell["metadata"]
    ]
    assert folded == ["## Far off"]
    assert "FROM_OFF_IT" in as_text(notebook) and "FROM_FAR_OFF" in as_text(notebook)
    core = as_text(course.draft(LESSON).notebook("core"))
    assert "FROM_OFF_IT" in core and "FROM_FAR_OFF" not in core and "## Far off" not in core


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defined", "edition"), [("FROM_OFF_IT", "short"), ("FROM_FAR_OFF", "short"), ("FROM_FAR_OFF", "core")]
)
def test_a_name_that_is_missing_on_a_track_fails_the_build(course, defined, edition):
    used = LESSON.replace('## Closing\n"""\n', f'## Closing\n"""\n# %% kind="code"\nprint({defined})\n', 1)
    course.write(used)
    status, _, problems = course.build()
    assert status == 1 and not any("[learner]" in problem for problem in problems)
    [problem] = [problem for problem in problems if f"[{edition}]" in problem]
    assert "NameError" in problem and defined in problem


def test_a_stored_short_edition_says_which_track_it_is(course):
    metadata = course.draft(LESSON).notebook("short")["metadata"]["course"]
    assert metadata["edition"] == "short" and metadata["minutes"] < course.draft(LESSON).lesson.minutes
    assert only(course.draft(LESSON).notebook("short"), "title")["source"].count("short track") == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind="text" contents="a `hard` proof"', 'kind="text"', "'Off it'"),
        ('# %% kind="code"\nFROM_OFF_IT', '# %% kind="code" track="short"\nFROM_OFF_IT', "'Off it', isn't"),
        ('# %% kind="code"\nFROM_FAR_OFF', '# %% kind="code" track="core"\nFROM_FAR_OFF', "'Far off'"),
    ],
)
def test_a_section_and_its_cells_fit_together(course, old, new, words):
    assert course.problems(LESSON) == [] and old in LESSON
    [problem] = course.problems(LESSON.replace(old, new, 1))
    assert words in problem
