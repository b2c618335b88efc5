"""The notebooks put together from a lesson, before anything runs: cards, stubs, hints, run sheet."""

from __future__ import annotations

import re

import nbformat
import pytest

from course_lib.authoring.editions import EDITIONS, as_text, from_text
from course_lib.authoring.exercise import folded

LEARNER = [
    "title",
    "goals",
    "setup",
    "text",
    "see",
    "card",
    "exercise",
    "check",
    "hints",
    "quiz",
    "summary",
    "reading",
]
REGION = "    # solution\n    return 2 * number\n    # end solution"


@pytest.fixture
def draft(course, tiny):
    return course.draft(tiny)


def kinds(notebook: dict) -> list[str]:
    return [cell["metadata"]["course"]["kind"] for cell in notebook["cells"]]


def test_each_edition_has_its_cells(draft):
    assert kinds(draft.notebook("learner")) == kinds(draft.notebook("solved")) == LEARNER
    assert kinds(draft.notebook("instructor")) == ["agenda", *LEARNER[:5], "instructor", *LEARNER[5:]]


def test_the_learner_gets_the_stub_and_the_solution_folded_away(draft, only, line_of):
    notebook = draft.notebook("learner")
    assert only(notebook, "exercise")["source"] == (
        'def double_it(number):\n    """Twice the number."""\n    raise NotImplementedError("Your turn")'
    )
    opening, closing = "</summary><blockquote>\n\n", "\n\n</blockquote></details>"
    hints = only(notebook, "hints")["source"]
    assert hints.startswith(
        f"<details><summary>Hint 1 · Look at <code>number</code>{opening}What is twice 4?{closing}\n\n"
        f"<details><summary>Hint 2{opening}Multiply:\n\n```text\n---\n2 * number\n```{closing}\n\n"
    )
    solution = 'def double_it(number):\n    """Twice the number."""\n    return 2 * number'
    assert hints.endswith(f"<details><summary>Solution{opening}```python\n{solution}\n```{closing}")
    assert "Ask:" not in as_text(notebook)
    (exercise,) = draft.exercises
    assert exercise.unsolved.lines[2] == line_of("    # solution")
    assert exercise.solved.lines[2] == line_of("return 2 * number")
    assert "a &lt; b" in folded("a < b", "")


@pytest.mark.parametrize("edition", ["solved", "instructor"])
def test_the_others_get_it_solved(draft, only, edition):
    notebook = draft.notebook(edition)
    assert only(notebook, "exercise")["source"].endswith("    return 2 * number")
    assert "Your turn" not in as_text(notebook) and "# solution" not in as_text(notebook)
    assert "<summary>Solution</summary>" not in only(notebook, "hints")["source"]


def test_several_solutions_each_become_one_line(course, tiny):
    code = tiny.replace(
        REGION,
        "    # solution\n    half = number\n\n    # end solution\n    half += 0\n"
        "    if half:\n        # solution\n        half *= 2\n        # end solution\n    return half",
    )
    (exercise,) = course.draft(code).exercises
    turn = 'raise NotImplementedError("Your turn")'
    lines = ["    " + turn, "    half += 0", "    if half:", "        " + turn, "    return half"]
    assert exercise.unsolved.text.split("\n")[2:] == lines
    assert "solution" not in exercise.solved.text and "half *= 2" in exercise.solved.text
    assert [line.strip() for _, line in exercise.solution] == ["half = number", "", "half *= 2"]


def test_an_unannounced_bug_stands_in_the_learner_s_stub_alone(course, tiny, only):
    text = tiny.replace('track="core"', 'track="core" mode="bug"')
    text = text.replace(REGION, f"    # bug\n    twice = number\n    return twice\n    # end bug\n{REGION}")
    draft = course.draft(text)
    learner, solved = draft.notebook("learner"), draft.notebook("solved")
    assert only(learner, "exercise")["source"].endswith('number."""\n    twice = number\n    return twice')
    assert only(solved, "exercise")["source"].endswith('number."""\n    return 2 * number')
    assert "bug" not in "".join(cell["source"] for cell in learner["cells"]).lower()
    assert only(learner, "card")["metadata"]["course"]["mode"] == "bug"
    assert only(learner, "exercise")["metadata"]["course"]["mode"] == "bug"
    assert "| 1 · Double it | bug | ★ core |" in only(draft.notebook("instructor"), "agenda")["source"]
    assert draft.exercises[0].unsolved.lines[2:] == tuple(
        text[: text.index(line)].count("\n") + 1 for line in ("twice = number", "return twice")
    )


def test_a_bug_exercise_shows_its_bug(course, tiny, line_of):
    text = tiny.replace('track="core"', 'track="core" mode="bug"')
    message = 'in mode="bug", and only there, `# bug` … `# end bug` stands right before a solution'
    assert course.problems(text) == [f"{line_of('# solution', text)}: {message}"]
    apart = text.replace(REGION, f"    # bug\n    x = 1\n    # end bug\n    y = 2\n{REGION}")
    assert course.problems(apart) == [f"{line_of('# solution', apart)}: {message}"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [("", ""), (' mode="test"', "write the test"), (' mode="transfer"', "same idea, new place")],
)
def test_the_card_shows_the_facts_of_the_header(course, tiny, only, mode, words):
    text = tiny.replace('"Double it"', r'"Double \"it\""')
    draft = course.draft(text.replace('track="core"', f'track="core"{mode}'))
    facts = ["Difficulty ●●○○○", "Importance ●●●●○", "about 3 min", "★ core", *([words] if words else [])]
    assert only(draft.notebook("learner"), "card")["source"] == (
        f'> ### Exercise 1 · Double "it"\n>\n> {" &nbsp;·&nbsp; ".join(facts)}\n\nReturn twice the number.'
    )


def test_cell_metadata_says_kind_minutes_track_exercise_and_tags(course, tiny, only):
    options = ' ignore_output=true hide_input=true tags="wide, dark"'
    text = tiny.replace('kind="see"', 'kind="see"' + options).replace(
        "minutes=3 ", "minutes=3 ignore_output=true "
    )
    notebook = course.draft(text).notebook("learner")
    assert only(notebook, "see")["metadata"] == {
        "course": {"kind": "see", "minutes": 1, "track": "core"},
        "jupyter": {"source_hidden": True},
        "tags": ["see", "wide", "dark", "nbval-ignore-output"],
    }
    exercise = {"kind": "exercise", "minutes": 3, "track": "core", "exercise": "double_it"}
    assert only(notebook, "exercise")["metadata"] == {
        "course": exercise,
        "tags": ["exercise", "nbval-ignore-output"],
    }
    facts = {"title": "Double it", "difficulty": 2, "importance": 4}
    card = exercise | facts | {"kind": "card", "minutes": 1}
    assert only(notebook, "card")["metadata"] == {"course": card, "tags": ["card"]}


def test_notebook_metadata_is_stable_and_the_title_says_how_long_the_lesson_takes(draft, only):
    metadata = draft.notebook("solved")["metadata"]
    assert metadata["course"] == {
        "edition": "solved",
        "minutes": 14,
        "number": "42",
        "source_sha256": draft.lesson.sha256,
        "title": "How does a tiny lesson work?",
        "topic": "tiny",
    }
    assert metadata["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert "version" not in metadata["language_info"]
    assert "About 15 minutes." in only(draft.notebook("learner"), "title")["source"]


def test_ids_are_valid_unique_and_follow_the_content(course, tiny):
    before = course.draft(tiny).notebook("learner")
    extra = '# %% [markdown] kind="text"\n"""\nA word more.\n"""\n\n'
    marks = ('# %% kind="see"', '# %% kind="quiz"')
    text = tiny.replace(marks[0], extra + marks[0]).replace(marks[1], extra + marks[1])
    ids = [cell["id"] for cell in course.draft(text).notebook("learner")["cells"]]
    assert len(set(ids)) == len(ids) == len(before["cells"]) + 2  # the same text twice: two ids
    assert {cell["id"] for cell in before["cells"]} < set(ids)
    assert all(re.fullmatch(r"[0-9a-f]{12}", identity) for identity in ids)


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_edition_is_valid_adds_up_and_comes_back_whole(course, tiny, draft, edition):
    notebook = draft.notebook(edition)
    assert sum(cell["metadata"]["course"]["minutes"] for cell in notebook["cells"]) == draft.lesson.minutes
    code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    data = {"text/plain": "a\nb", "image/png": "iVBORw0KGgo=", "application/json": ["x", "y"]}
    code["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "one\ntwo ✓\n"},
        {"output_type": "display_data", "data": data, "metadata": {}},
    ]
    text = as_text(notebook)
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert text.endswith("\n}\n") and '"one\\n",' in text and '"two ✓\\n"' in text and "\n  {" in text
    assert from_text(text) == notebook
    assert as_text(draft.notebook(edition)) == as_text(course.draft(tiny).notebook(edition))


def test_the_run_sheet_has_timings_exercises_and_a_cut_list(draft, only):
    sheet = only(draft.notebook("instructor"), "agenda")["source"]
    assert sheet.startswith("# Run sheet · How does a tiny lesson work?")
    for line in (
        "**14 minutes** as it stands, **12 minutes** with the core alone.",
        "| Opening | 0:00 | 2 | 2 | 0 |\n| One picture | 0:02 | 9 | 7 | 2 |\n| Summary | 0:11 | 3 | 3 | 0 |",
        "| **End** | 0:14 | 14 | 12 | 2 |",
        "| 1 · Double it | build | ★ core | ●●○○○ | ●●●●○ | 3 |",
        '| quiz cell: print("quiz") | One picture | 2 | 2 |',
    ):
        assert line in sheet


def test_a_stretch_exercise_is_on_the_cut_list_by_its_title(course, tiny, only):
    text = tiny.replace('track="core"', 'track="stretch"').replace(' track="stretch"\nprint', "\nprint")
    sheet = only(course.draft(text).notebook("instructor"), "agenda")["source"]
    assert "| Exercise 1 · Double it | One picture | 3 | 4 |" in sheet
    plain = tiny.replace(' track="stretch"', "")
    assert "Nothing is marked stretch" in only(course.draft(plain).notebook("instructor"), "agenda")["source"]
