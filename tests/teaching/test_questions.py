"""Quiz files: the course's are good, bad ones are told what is wrong; reading and marking."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import pytest

from course_lib.runtime import data_path
from course_lib.teaching import questions as module
from course_lib.teaching.questions import (
    files,
    mark,
    question,
    questions,
    read,
    read_number,
    received,
    used_for,
)
from course_lib.teaching.quiz_rules import PARTS, problems

SAMPLE = Path(__file__).parent / "samples" / "quiz.json"
COURSE = files()
SINGLE, SEVERAL, NUMBER, ORDERED, LARGEST, MOVES, SIZE, MEASURED, WHY = read(SAMPLE).values()


def sample() -> dict:
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def texts(feedback) -> list[str]:
    return [remark.text for remark in feedback.remarks]


# ---- every file of the course


@pytest.mark.parametrize("path", [SAMPLE, *COURSE], ids=lambda path: path.parent.name)
def test_every_file_keeps_the_rules(path):
    assert list(problems(json.loads(path.read_text(encoding="utf-8")))) == []
    assert read(path)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(
        json.loads(data_path("quiz.schema.json").read_text(encoding="utf-8"))
    )


def test_no_id_is_used_twice_in_the_course():
    ids = [name for path in COURSE for name in read(path)]
    assert len(set(ids)) == len(ids)


def test_the_right_option_stands_anywhere_and_is_not_the_longest():
    asked = [q for path in COURSE for q in read(path).values() if q.kind == "single" and q.use]
    right = [q.right[0] for q in asked]
    chance = [1 / len(q.options) for q in asked]
    limit = sum(chance) + 2.5 * math.sqrt(sum(p * (1 - p) for p in chance))
    for seat in range(3):
        shown = [q.id for q, place in zip(asked, right, strict=True) if q.order.index(place) == seat]
        assert len(shown) <= limit, f"right option at place {seat + 1} too often: {shown}"
    longest = [
        q.id
        for q, place in zip(asked, right, strict=True)
        if all(len(q.options[place].text) > len(o.text) for o in q.options if not o.correct)
    ]
    assert len(longest) <= limit, f"the right option is the longest too often: {longest}"


# ---- files that are wrong


NAMES = dict(zip("QPEX", PARTS, strict=True))


def options(raw: dict) -> list[dict]:
    return raw["options"]


@pytest.mark.parametrize(
    ("part", "place", "change", "complaint"),
    [
        ("Q", 0, lambda raw: options(raw)[2].update(correct=True), "exactly one correct option, found 2"),
        ("Q", 1, lambda raw: [one.update(correct=False) for one in options(raw)], "at least one option"),
        ("Q", 0, lambda raw: options(raw).pop(), "sample-single/options:"),
        ("Q", 0, lambda raw: options(raw)[2].pop("feedback"), "sample-single/options/2: 'feedback' is"),
        ("Q", 0, lambda raw: options(raw)[2].update(feedback=" "), "sample-single/options/2/feedback"),
        ("Q", 0, lambda raw: options(raw)[2].update(correct="no"), "'no' is not of type 'boolean'"),
        ("Q", 0, lambda raw: options(raw)[0].update(diagnoses="M99"), 'no misconception "M99"'),
        ("Q", 0, lambda raw: options(raw)[1].update(diagnoses="M06"), "correct option diagnoses nothing"),
        ("Q", 0, lambda raw: options(raw)[0].update(text="Spread"), "two options say the same"),
        ("Q", 0, lambda raw: raw.update(rereed="x"), "'rereed' was unexpected"),
        ("Q", 0, lambda raw: raw.update(kind="multi"), "'multi' is not one of"),
        ("Q", 0, lambda raw: raw.update(id="Why Scale"), "'Why Scale' does not match"),
        ("Q", 0, lambda raw: raw.update(text=r"Why $\\sqrt{d_k$?"), "The formula"),
        ("Q", 0, lambda raw: raw.update(text="Costs 5 $"), "A $ has no partner"),
        ("Q", 0, lambda raw: raw.update(id="sample-why"), "the id is used 2 times"),
        ("Q", 2, lambda raw: raw.pop("tolerance"), "sample-number: 'tolerance' is a required property"),
        ("Q", 2, lambda raw: raw.update(tolerance=-1), "-1 is less than the minimum"),
        ("Q", 2, lambda raw: raw.update(answer="0.25"), "'0.25' is not of type 'number'"),
        ("Q", 2, lambda raw: raw["near"][0].update(value=0.26), "0.26 ± 0.001 overlaps"),
        ("P", 0, lambda raw: raw.pop("because"), "'because' is a required property"),
        ("P", 1, lambda raw: raw.update(answer="Neither"), "'Neither' is not among the options"),
        ("P", 1, lambda raw: raw.update(unit="%"), "'unit' was unexpected"),
        ("P", 1, lambda raw: raw["options"].append("Both"), "non-unique"),
        ("P", 1, lambda raw: raw["options"].append(r"$\sqrt{d_k$"), "The formula"),
        ("E", 0, lambda raw: raw.pop("because"), "'because' is a required property"),
        ("X", 0, lambda raw: raw.update(points=["one"]), "sample-why/points:"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(part, place, change, complaint):
    data = sample()
    change(data[NAMES[part]][place])
    found = list(problems(data))
    assert any(complaint in problem for problem in found), found


@pytest.mark.parametrize("data", [[], {"lesson": "x"}, {"lesson": "x", "questions": []}, {"notes": 1}])
def test_a_bad_frame_is_told(data):
    assert all(problem.startswith("quiz: ") for problem in problems(data)) and list(problems(data))


def test_all_that_is_wrong_is_told_at_once():
    data = sample()
    data["questions"][0].pop("text")
    data["questions"][2].pop("answer")
    assert len(list(problems(data))) == 2


# ---- reading


def test_the_sample_is_read_whole():
    assert {one.lesson for one in read(SAMPLE).values()} == {"query_key_value"}
    assert len(read(SAMPLE)) == sum(len(sample()[part]) for part in PARTS)
    assert (SINGLE.options[0].diagnoses, SINGLE.reread, SINGLE.right) == ("M06", "Why the root", [1])
    assert SEVERAL.right == [0, 2]
    assert (NUMBER.answer, NUMBER.tolerance, NUMBER.near[0].diagnoses) == (0.25, 0.01, "M12")
    assert (LARGEST.kind, LARGEST.answer, LARGEST.unit, LARGEST.preset) == ("number", 0.96, "of $1$", "wide")
    assert (MOVES.kind, [one.text for one in MOVES.options]) == (
        "single",
        ["The weights", "The context", "Both"],
    )
    assert MOVES.right == [1] and MOVES.order == [0, 1, 2]  # as written: guesses are not shuffled
    assert (SIZE.kind, SIZE.answer, MEASURED.answer) == ("estimate", 262144, None)
    assert (WHY.kind, len(WHY.points)) == ("explanation", 2)


def test_options_are_shuffled_the_same_way_every_time():
    assert SINGLE.order == read(SAMPLE)["sample-single"].order
    assert sorted(SEVERAL.order) == [0, 1, 2, 3]
    assert ORDERED.order == [0, 1, 2]
    assert SINGLE.order != [0, 1, 2] or SEVERAL.order != [0, 1, 2, 3]
    assert [SINGLE.letter(place) for place in SINGLE.order] == ["A", "B", "C"]


def test_what_is_not_there_is_told_with_what_is(monkeypatch):
    with pytest.raises(ValueError, match=r"no quiz for lesson '99'.*08"):
        questions("99")
    monkeypatch.setattr(module, "questions", lambda number: read(SAMPLE))
    with pytest.raises(ValueError, match=r"no questions for 'opening'.*closing, recall"):
        used_for("08", "opening")
    with pytest.raises(ValueError, match=r"no 'why' here. There are: sample-largest, sample-moves\."):
        question("08", "why", "single", "number")
    with pytest.raises(ValueError, match="no 'sample-largest' here"):
        question("08", "sample-largest", "estimate")


# ---- marking


def test_a_single_choice_speaks_about_what_was_chosen():
    wrong, right, undiagnosed = (mark(SINGLE, place) for place in range(3))
    assert (wrong.correct, wrong.misconception) == (False, "M06")
    assert texts(wrong) == ["Softmax subtracts the *largest* score."]
    assert (right.correct, right.misconception, texts(right)) == (True, None, ["Yes, a spread near $1$."])
    assert (undiagnosed.correct, undiagnosed.misconception) == (False, None)


def test_several_choices_are_right_only_when_all_and_no_other_are_ticked():
    assert mark(SEVERAL, [0, 2]).correct
    for ticked in ([0], [2], [0, 1], [0, 1, 2], [0, 1, 2, 3], [1, 3]):
        assert not mark(SEVERAL, ticked).correct
    assert texts(mark(SEVERAL, [0])) == ["They do.", "One right answer is still missing."]
    assert mark(SEVERAL, [1]).remarks[-1].text == "2 right answers are still missing."
    assert (mark(SEVERAL, [0, 1, 2]).misconception, mark(SEVERAL, [0]).misconception) == ("M11", None)
    assert [remark.label for remark in mark(SEVERAL, [0, 1, 2, 3]).remarks] == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("number", "correct", "misconception", "said"),
    [
        (0.25, True, None, "Yes."),
        (0.26, True, None, "Yes."),  # not in binary
        (0.2601, False, None, "Equal scores share equally."),
        (1.001, False, "M12", "Each would have it all."),
        (4, False, None, "Turn it over."),
    ],
)
def test_a_number_is_right_within_its_tolerance(number, correct, misconception, said):
    feedback = mark(NUMBER, number)
    assert (feedback.correct, feedback.misconception, texts(feedback)) == (correct, misconception, [said])


def test_a_prediction_has_one_reason():
    assert (mark(LARGEST, 0.92).correct, mark(LARGEST, 0.9).correct) == (True, False)
    assert texts(mark(LARGEST, 0.92)) == texts(mark(LARGEST, 0.1)) == ["It *spreads*."]
    assert [mark(MOVES, place).correct for place in range(3)] == [False, True, False]
    assert len({texts(mark(MOVES, place))[0] for place in range(3)}) == 1


@pytest.mark.parametrize(
    ("guess", "word", "right"),
    [
        (262144, "Very close", True),
        (250000, "Very close", True),
        (131072, "Within 2 ×: off by a factor of 2.0", True),
        (100000, "Within 10 ×: off by a factor of 2.6", False),
        (2621440, "Within 10 ×: off by a factor of 10", False),
        (512, "More than an order of magnitude off: a factor of 512", False),
        (0, "Another sign, or zero", False),
        (-5, "Another sign, or zero", False),
    ],
)
def test_an_estimate_is_judged_by_factor(guess, word, right):
    feedback = mark(SIZE, guess)
    assert (feedback.word, feedback.correct, texts(feedback)) == (word, right, ["Each row has 512."])


def test_an_estimate_of_something_measured():
    assert mark(MEASURED, 3.0, truth=4.0).correct and not mark(MEASURED, 3.0, truth=40.0).correct


def test_feedback_reads_well_as_text():
    said = [f"{SEVERAL.letter(1)}  They need not.", "2 right answers are still missing."]
    assert str(mark(SEVERAL, [1])).splitlines() == ["✗ Not quite", *said]


# ---- what comes from the page


@pytest.mark.parametrize(
    ("asked", "sent", "what"),
    [(SINGLE, 3, "Choose"), (SINGLE, -1, "Choose"), (SINGLE, True, "Choose"), (SINGLE, [1], "Choose"),
     (SINGLE, None, "Choose"), (SEVERAL, [], "Tick"), (SEVERAL, [4], "Choose"), (SEVERAL, 1, "Choose"),
     (NUMBER, float("nan"), "number"), (NUMBER, True, "number"), (NUMBER, None, "number")],
)  # fmt: skip
def test_an_answer_that_cannot_be_one_is_asked_for(asked, sent, what):
    with pytest.raises(ValueError, match=what):
        received(asked, sent)


def test_an_answer_is_put_in_its_proper_form():
    assert received(SEVERAL, [2, 0, 2]) == [0, 2]
    assert received(NUMBER, "1/4") == 0.25 and received(SIZE, 7) == 7.0 and received(SINGLE, 1) == 1


def test_numbers_are_read_as_people_write_them():
    numbers = {"0.5": 0.5, " 0,5 ": 0.5, ".5": 0.5, "5.": 5, "+7": 7, "−2": -2, "1e-4": 1e-4, "1/8": 0.125,
               "262 144": 262144, "262'144": 262144, "262_144": 262144, "0,500": 0.5}  # fmt: skip
    assert {text: read_number(text) for text in numbers} == numbers


@pytest.mark.parametrize(
    ("text", "what"),
    [("8,000", "8000 or 8.000"), ("1,234,567", "1234567 or"), ("", "Type a number"), ("abc", "Type a number"),
     ("1/0", "divided by 0"), ("1.2.3", "Type a number"), ("1/2/3", "Type a number"), ("0x10", "Type"),
     ("Infinity", "Type a number"), ("1 2", "Type a number"), ("9" * 10**6, "too long"), ("1e999", "Type")],
)  # fmt: skip
def test_what_is_no_number_is_asked_for_again(text, what):
    with pytest.raises(ValueError, match=what):
        read_number(text)
