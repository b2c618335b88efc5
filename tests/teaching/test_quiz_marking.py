"""Marking, and that the page marks exactly as Python does."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from course_lib.teaching.maths import inline_html
from course_lib.teaching.quiz import question_payload
from course_lib.teaching.quiz_data import files, read
from course_lib.teaching.quiz_marking import checked, mark
from course_lib.teaching.quiz_rules import within
from course_lib.teaching.static import static_text

SAMPLE = Path(__file__).parent / "samples" / "quiz.json"
SINGLE, SEVERAL, NUMBER, _ = read(SAMPLE).questions


def texts(feedback) -> list[str]:
    return [remark.text for remark in feedback.remarks]


def test_a_single_choice_speaks_about_what_was_chosen():
    wrong, right, undiagnosed = (mark(SINGLE, place) for place in range(3))
    assert (wrong.correct, wrong.misconception, texts(wrong)) == (
        False,
        "M06",
        ["Softmax subtracts the *largest* score."],
    )
    assert (right.correct, right.misconception, texts(right)) == (True, None, ["Yes, a spread near $1$."])
    assert (undiagnosed.correct, undiagnosed.misconception) == (False, None)


def test_several_choices_are_right_only_when_all_and_no_other_are_ticked():
    assert mark(SEVERAL, [0, 2]).correct
    for ticked in ([0], [2], [0, 1], [0, 1, 2], [0, 1, 2, 3], [1, 3]):
        assert not mark(SEVERAL, ticked).correct
    assert texts(mark(SEVERAL, [0])) == ["They do.", "One right answer is still missing."]
    assert mark(SEVERAL, [1]).remarks[-1].text == "2 right answers are still missing."
    assert mark(SEVERAL, [0, 1, 2]).misconception == "M11"
    assert mark(SEVERAL, [0]).misconception is None


def test_remarks_come_in_shown_order_with_the_letters_shown():
    labels = [remark.label for remark in mark(SEVERAL, [0, 1, 2, 3]).remarks]
    assert labels == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("number", "correct", "misconception", "said"),
    [
        (0.25, True, None, "Yes."),
        (0.26, True, None, "Yes."),
        (0.24, True, None, "Yes."),
        (0.2601, False, None, "Equal scores share equally."),
        (1, False, "M12", "Each would have it all."),
        (1.001, False, "M12", "Each would have it all."),
        (4, False, None, "Turn it over."),
        (-0.25, False, None, "Equal scores share equally."),
    ],
)
def test_a_number_is_right_within_its_tolerance(number, correct, misconception, said):
    feedback = mark(NUMBER, number)
    assert (feedback.correct, feedback.misconception, texts(feedback)) == (correct, misconception, [said])


def test_a_tolerance_of_zero_still_forgives_binary_rounding():
    assert within(0.1 + 0.2, 0.3, 0)
    assert not within(0.3001, 0.3, 0)


@pytest.mark.parametrize(
    ("question", "answer"),
    [(SINGLE, 3), (SINGLE, -1), (SINGLE, True), (SINGLE, [1]), (SINGLE, "1"), (SEVERAL, []), (SEVERAL, [4]),
     (SEVERAL, 1), (NUMBER, "0.25"), (NUMBER, float("nan")), (NUMBER, True), (NUMBER, None)],
)  # fmt: skip
def test_an_answer_that_cannot_be_one_is_refused(question, answer):
    with pytest.raises(ValueError, match=f"Question '{question.id}' wants"):
        checked(question, answer)


def test_feedback_reads_well_as_text():
    assert str(mark(SEVERAL, [1])).splitlines() == [
        "✗ Not quite · sample-several",
        f"{SEVERAL.letter(1)}  They need not.",
        "2 right answers are still missing.",
    ]


# -- the same in JavaScript ------------------------------------------------------------------------------


def every_answer(question) -> list:
    places = range(len(question.options))
    if question.kind == "single":
        return list(places)
    if question.kind == "several":
        return [list(chosen) for size in places for chosen in combinations(places, size + 1)]
    tolerances = [
        (question.answer, question.tolerance),
        *((near.value, near.tolerance) for near in question.near),
    ]
    steps = (-2, -1.0001, -1, -0.5, 0, 0.5, 1, 1.0001, 2)
    return [value + step * (tolerance or 0.1) for value, tolerance in tolerances for step in steps]


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    if not shutil.which("node"):
        pytest.skip("node is not installed; the browser tests cover the page")
    module = tmp_path_factory.mktemp("node") / "quiz.mjs"
    module.write_text(static_text("card.js", "quiz.js"), encoding="utf-8")

    def ask(expression: str, given: object) -> object:
        script = (
            f"import * as page from {json.dumps(module.as_uri())};"
            'import fs from "node:fs"; const given = JSON.parse(fs.readFileSync(0, "utf-8"));'
            f"console.log(JSON.stringify({expression}))"
        )
        run = subprocess.run(
            ["node", "--input-type=module", "--eval", script],
            input=json.dumps(given), capture_output=True, text=True, check=True, encoding="utf-8",
        )  # fmt: skip
        return json.loads(run.stdout)

    return ask


def test_the_page_marks_every_answer_as_python_does(node):
    questions = [q for path in [SAMPLE, *files()] for q in read(path).questions]
    cases = [(question, answer) for question in questions for answer in every_answer(question)]
    given = [[question_payload(question), answer] for question, answer in cases]
    for (question, answer), page in zip(
        cases, node("given.map(([q, a]) => page.mark(q, a))", given), strict=True
    ):
        here = mark(question, answer)
        remarks = [{"good": r.good, "label": r.label, "html": inline_html(r.text)} for r in here.remarks]
        expected = {"correct": here.correct, "misconception": here.misconception, "remarks": remarks}
        assert page == expected, (question.id, answer)


def test_the_page_reads_numbers_as_people_write_them(node):
    numbers = {"0.5": 0.5, " 0,5 ": 0.5, ".5": 0.5, "5.": 5, "+7": 7, "−2": -2, "1e-4": 1e-4, "1/8": 0.125}
    others = ["", "abc", "1/0", "1.2.3", "1/2/3", "0x10", "Infinity", "1 2"]
    typed = numbers | dict.fromkeys(others)
    assert node("given.map((text) => page.parseNumber(text))", list(typed)) == list(typed.values())
