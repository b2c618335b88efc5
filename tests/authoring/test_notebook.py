"""The notebooks put together from a lesson, before anything runs."""

from __future__ import annotations

import json
import re

import nbformat
import pytest

from course_lib.authoring.notebook import EDITIONS, as_text, from_text


@pytest.fixture
def draft(course, tiny):
    return course.draft(tiny)


def kinds(notebook: dict) -> list[str]:
    return [cell["metadata"]["course"]["kind"] for cell in notebook["cells"]]


def only(notebook: dict, kind: str) -> dict:
    (cell,) = (cell for cell in notebook["cells"] if cell["metadata"]["course"]["kind"] == kind)
    return cell


def test_each_edition_has_its_cells(draft):
    learner = [
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
    assert kinds(draft.notebook("learner")) == kinds(draft.notebook("solved")) == learner
    assert kinds(draft.notebook("instructor")) == ["agenda", *learner[:5], "instructor", *learner[5:]]


def test_the_learner_gets_the_stub_and_the_solution_folded_away(draft):
    notebook = draft.notebook("learner")
    assert "return 2 * number" not in only(notebook, "exercise")["source"]
    assert 'raise NotImplementedError("Your turn")' in only(notebook, "exercise")["source"]
    assert "<summary>Solution</summary>" in only(notebook, "hints")["source"]
    assert "    return 2 * number\n```" in only(notebook, "hints")["source"]
    assert "Ask:" not in as_text(notebook)


@pytest.mark.parametrize("edition", ["solved", "instructor"])
def test_the_others_get_it_solved(draft, edition):
    notebook = draft.notebook(edition)
    assert only(notebook, "exercise")["source"].endswith("    return 2 * number")
    assert "Your turn" not in as_text(notebook) and "# solution" not in as_text(notebook)
    assert "<summary>Solution</summary>" not in only(notebook, "hints")["source"]


def test_cell_metadata_says_kind_minutes_track_exercise_and_tags(course, tiny):
    text = tiny.replace(
        '# %% kind="see"', '# %% kind="see" ignore_output=true hide_input=true tags="wide, dark"'
    )
    notebook = course.draft(text).notebook("learner")
    assert only(notebook, "see")["metadata"] == {
        "course": {"kind": "see", "minutes": 1, "track": "core"},
        "jupyter": {"source_hidden": True},
        "tags": ["see", "wide", "dark", "nbval-ignore-output"],
    }
    assert only(notebook, "exercise")["metadata"] == {
        "course": {"kind": "exercise", "minutes": 3, "track": "core", "exercise": "double_it"},
        "tags": ["exercise"],
    }
    assert only(notebook, "card")["metadata"]["course"] == {
        "kind": "card",
        "minutes": 1,
        "track": "core",
        "exercise": "double_it",
        "title": "Double it",
        "difficulty": 2,
        "importance": 4,
    }


def test_notebook_metadata_is_stable(draft):
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


def test_the_title_can_say_how_long_the_lesson_takes(draft):
    assert "About 15 minutes." in only(draft.notebook("learner"), "title")["source"]


def test_minutes_add_up_in_every_edition(draft):
    for edition in EDITIONS:
        cells = draft.notebook(edition)["cells"]
        assert sum(cell["metadata"]["course"]["minutes"] for cell in cells) == draft.lesson.minutes


def test_ids_are_valid_unique_and_follow_the_content(course, tiny):
    before = course.draft(tiny).notebook("learner")
    extra = '# %% [markdown] kind="text"\n"""\nA word more.\n"""\n\n'
    marks = ('# %% kind="see"', '# %% kind="quiz"')
    text = tiny.replace(marks[0], extra + marks[0]).replace(marks[1], extra + marks[1])
    after = course.draft(text).notebook("learner")
    ids = [cell["id"] for cell in after["cells"]]
    assert len(set(ids)) == len(ids) == len(before["cells"]) + 2  # the same text twice: two ids
    assert {cell["id"] for cell in before["cells"]} < set(ids)
    assert all(re.fullmatch(r"[0-9a-f]{12}", identity) for identity in ids)


def test_every_edition_is_a_valid_notebook_and_the_same_twice(course, tiny, draft):
    for edition in EDITIONS:
        text = as_text(draft.notebook(edition))
        nbformat.validate(nbformat.reads(text, as_version=4))
        assert text == as_text(course.draft(tiny).notebook(edition))


def test_stored_text_is_sorted_cut_into_lines_and_comes_back_whole(draft):
    notebook = draft.notebook("learner")
    setup = only(notebook, "setup")
    setup["execution_count"] = 1
    data = {"text/plain": "a\nb", "image/png": "iVBORw0KGgo=", "application/json": ["x", "y"]}
    setup["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "one\ntwo ✓\n"},
        {"output_type": "display_data", "data": data, "metadata": {}},
    ]
    text = as_text(notebook)
    assert text.endswith("\n}\n") and '"one\\n",' in text and '"two ✓\\n"' in text and "\n  {" in text
    assert list(json.loads(text)) == ["cells", "metadata", "nbformat", "nbformat_minor"]
    assert from_text(text) == notebook


def test_the_run_sheet_has_timings_exercises_and_a_cut_list(draft):
    sheet = only(draft.notebook("instructor"), "agenda")["source"]
    assert sheet.startswith("# Run sheet · How does a tiny lesson work?")
    assert "**14 minutes** as it stands, **12 minutes** with the core alone." in sheet
    assert "| Opening | 0:00 | 2 | 2 | 0 |" in sheet
    assert "| One picture | 0:02 | 9 | 7 | 2 |" in sheet
    assert "| Summary | 0:11 | 3 | 3 | 0 |" in sheet
    assert "| **End** | 0:14 | 14 | 12 | 2 |" in sheet
    assert "| 1 · Double it | ★ core | ●●○○○ | ●●●●○ | 3 |" in sheet
    assert '| quiz cell: print("quiz") | One picture | 2 | 2 |' in sheet


def test_a_stretch_exercise_is_on_the_cut_list_by_its_title(course, tiny):
    text = tiny.replace('track="core"', 'track="stretch"').replace(' track="stretch"\nprint', "\nprint")
    sheet = only(course.draft(text).notebook("instructor"), "agenda")["source"]
    assert "| Exercise 1 · Double it | One picture | 3 | 4 |" in sheet
    plain = tiny.replace(' track="stretch"', "")
    assert "Nothing is marked stretch" in only(course.draft(plain).notebook("instructor"), "agenda")["source"]
