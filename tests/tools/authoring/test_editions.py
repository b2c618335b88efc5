"""The notebooks of a lesson before anything runs: cards, stubs, hints, run sheet."""

from __future__ import annotations

import re

import nbformat
import pytest

from tests.tools.authoring.made_up import REGION, TINY, line_of, only
from tools.authoring.cell_kinds import EDITIONS
from tools.authoring.editions import as_text, from_text
from tools.authoring.exercise_cells import folded_text

KINDS = ["title", "goals", "setup", "text", "see", "card", "exercise", "check", "hints", "quiz", "summary"]
LEARNER = [*KINDS, "reading"]
STUB = 'def double_it(number):\n    """Twice the number."""\n'
TURN = 'raise NotImplementedError("Your turn")'
OPENING, CLOSING = "</summary><blockquote>\n\n", "\n\n</blockquote></details>"


def cells(draft, kind: str, *editions: str) -> list[dict]:
    return [only(draft.notebook(edition), kind) for edition in editions]


def test_each_edition_has_its_cells(course):
    draft = course.draft()
    learner, solved, instructor = (
        [cell["metadata"]["course"]["kind"] for cell in draft.notebook(edition)["cells"]]
        for edition in EDITIONS
    )
    assert learner == solved == LEARNER
    assert instructor == ["agenda", *LEARNER[:5], "instructor", *LEARNER[5:]]


def test_notes_for_the_instructor_change_no_other_edition(course):
    toml = '[softmax]\nterm = "softmax"\ndefinition = "Makes probabilities."\nlesson = "42"\n'
    (course.root / "lessons" / "glossary.toml").write_text(toml, encoding="utf-8")
    plain = with_notes = TINY.replace("A formula:", "A {term:softmax}:")
    note = '# %% [markdown] kind="instructor"\n"""\n## Ask\nWhat is a {term:softmax}?\n"""\n'
    for kind in ("setup", "text", "see", "quiz", "summary"):
        with_notes = re.sub(rf'^(?=# %%.* kind="{kind}")', note, with_notes, count=1, flags=re.MULTILINE)
    drafts = course.draft(plain), course.draft(with_notes)
    for edition in ("learner", "short", "core", "solved"):
        before, after = (draft.notebook(edition)["cells"] for draft in drafts)
        assert before == after
    before, after = (
        [draft.lesson.minutes, draft.lesson.short_minutes, *draft.cells["instructor"][0].text.split("\n")]
        for draft in drafts
    )
    assert before == after  # the times and the run sheet
    assert "**[softmax]" in as_text(drafts[1].notebook("learner"))
    assert sum(cell.kind == "instructor" for cell in drafts[1].cells["instructor"]) == 6


def test_a_note_looks_different_from_the_lesson(course):
    text = "<blockquote>\n\n**Instructor's note**\n\n**Ask:** what did you expect?\n\n</blockquote>"
    assert cells(course.draft(), "instructor", "instructor")[0]["source"] == text


def test_the_learner_gets_the_stub_and_a_folded_solution_and_the_others_get_it_solved(course):
    draft = course.draft()
    sources = [cell["source"] for cell in cells(draft, "exercise", *EDITIONS)]
    assert sources == [f"{STUB}    {TURN}", *[f"{STUB}    return 2 * number"] * 2]
    hints, *others = (cell["source"] for cell in cells(draft, "hints", *EDITIONS))
    first = f"<details><summary>Hint 1 · Look at <code>number</code>{OPENING}What is twice 4?{CLOSING}\n\n"
    second = f"<details><summary>Hint 2{OPENING}Multiply:\n\n```text\n---\n2 * number\n```{CLOSING}"
    solution = f"<details><summary>Solution{OPENING}```python\n{STUB}    return 2 * number\n```{CLOSING}"
    assert hints == f"{first}{second}\n\n{solution}" and others == [first + second] * 2
    assert "Ask:" not in as_text(draft.notebook("learner")) and "# solution" not in as_text(
        draft.notebook("solved")
    )
    [unsolved], [solved] = (
        [cell for cell in draft.cells[edition] if cell.kind == "exercise"] for edition in EDITIONS[:2]
    )
    assert (unsolved.lines[2], solved.lines[2]) == (line_of("    # solution"), line_of("return 2 * number"))
    assert "a &lt; b" in folded_text("a < b", "")


def test_each_of_several_solutions_becomes_one_line(course):
    code = TINY.replace(
        REGION,
        "    # solution\n    half = number\n\n    # end solution\n    half += 0\n"
        "    if half:\n        # solution\n        half *= 2\n        # end solution\n    return half",
    )
    learner, solved = (cell["source"] for cell in cells(course.draft(code), "exercise", "learner", "solved"))
    assert learner == f"{STUB}    {TURN}\n    half += 0\n    if half:\n        {TURN}\n    return half"
    assert (
        solved
        == f"{STUB}    half = number\n\n    half += 0\n    if half:\n        half *= 2\n    return half"
    )


def test_a_bug_is_unannounced_and_only_in_the_learner_s_stub(course):
    text = TINY.replace('track="core"', 'track="core" mode="bug"')
    text = text.replace(REGION, f"    # bug\n    twice = number\n    return twice\n    # end bug\n{REGION}")
    draft = course.draft(text)
    learner, solved = cells(draft, "exercise", "learner", "solved")
    assert learner["source"] == f"{STUB}    twice = number\n    return twice"
    assert solved["source"] == f"{STUB}    return 2 * number"
    assert "bug" not in "".join(cell["source"] for cell in draft.notebook("learner")["cells"]).lower()
    [card] = cells(draft, "card", "learner")
    assert learner["metadata"]["course"]["mode"] == card["metadata"]["course"]["mode"] == "bug"
    assert "| 1 · Double it | bug | ★ core |" in cells(draft, "agenda", "instructor")[0]["source"]
    [stub] = (cell for cell in draft.cells["learner"] if cell.kind == "exercise")
    assert stub.lines[2:] == (line_of("twice = number", text), line_of("return twice", text))


def test_ids_are_valid_and_unique_and_depend_on_the_content(course):
    before = {cell["id"] for cell in course.draft().notebook("learner")["cells"]}
    text, extra = TINY, '# %% [markdown] kind="text"\n"""\nA word more.\n"""\n\n'
    for mark in ('# %% kind="see"', '# %% kind="quiz"'):
        text = text.replace(mark, extra + mark)
    ids = [cell["id"] for cell in course.draft(text).notebook("learner")["cells"]]
    assert (
        before < set(ids) and len(set(ids)) == len(ids) == len(before) + 2
    )  # the same text twice has two ids
    assert all(re.fullmatch(r"[0-9a-f]{12}", identity) for identity in ids)


@pytest.mark.parametrize("edition", [*EDITIONS, "short", "core"])
def test_every_edition_is_valid_has_all_minutes_and_survives_storing(course, edition):
    draft = course.draft()
    notebook = draft.notebook(edition)
    courses = [cell["metadata"]["course"] for cell in notebook["cells"]]
    minutes = sum(course["minutes"] for course in courses if course["track"] != "stretch")
    assert minutes == pytest.approx(notebook["metadata"]["course"]["minutes"])
    data = {"text/plain": "a\nb", "image/png": "iVBORw0KGgo=", "application/json": ["x", "y"]}
    only(notebook, "setup")["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "one\ntwo ✓\n"},
        {"output_type": "display_data", "data": data, "metadata": {}},
    ]
    text = as_text(notebook)
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert text.endswith("\n}\n") and '"one\\n",' in text and '"two ✓\\n"' in text and "\n  {" in text
    assert from_text(text) == notebook
    assert as_text(draft.notebook(edition)) == as_text(course.draft().notebook(edition))


def test_the_run_sheet_has_timings_exercises_and_a_cut_list(course):
    sheet = cells(course.draft(), "agenda", "instructor")[0]["source"]
    for line in (
        "# Run sheet · How does a tiny lesson work?",
        "**10 minutes** ",
        "| Opening | 0:00 | 2 | 2 | 2 | 0 |\n| One picture | 0:01 | 8 | 0 | 7 | 0 |\n",
        "| Summary | 0:09 | 1 | 1 | 1 | 0 |\n| **End** | 0:10 | 10 | 2 | 10 | 0 |",
        "[short track](../../notebooks/short/42_tiny.ipynb)",
        "| 1 · Double it | build | ★ core | ●●○○○ | ●●●●○ | 4 |",
        '| quiz cell: print("quiz") | One picture | ☆ stretch | 0 | 0 |',
        "| Section One picture |  | ★ core | 7 | 8 |",
    ):
        assert line in sheet
    only_short = TINY.replace('kind="text" contents="a picture and an exercise"', 'kind="text" track="short"')
    only_short = only_short.replace('track="core"', 'track="short"').replace(' track="stretch"', "")
    assert "Saves" not in cells(course.draft(only_short), "agenda", "instructor")[0]["source"]
