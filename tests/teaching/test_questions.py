"""Quiz files: the course's are good, bad ones are told what is wrong; reading and marking."""

from __future__ import annotations

import json
import math
from collections import Counter
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
COURSE = files().values()
SINGLE, SEVERAL, NUMBER, ORDERED, LARGEST, MOVES, SIZE, WHY = (
    one for one in read(SAMPLE).values() if one.id != "sample-measured"
)


def sample() -> dict:
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def places(asked) -> list[int]:
    return [place for _, place, _ in asked.shown]


def marked(asked, answer) -> tuple:
    """Right or wrong, the misconception, and what is said."""
    feedback = mark(asked, answer)
    return feedback.correct, feedback.misconception, *(remark.text for remark in feedback.remarks)


# ---- every file of the course


@pytest.mark.parametrize("path", [SAMPLE, *COURSE], ids=lambda path: path.parent.name)
def test_every_file_keeps_the_rules(path):
    assert list(problems(json.loads(path.read_text(encoding="utf-8")))) == []
    assert read(path)


def test_no_id_is_used_twice_in_the_course_and_the_schema_is_one():
    assert max(Counter(name for path in COURSE for name in read(path)).values()) == 1
    schema = json.loads(data_path("quiz.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_right_option_stands_anywhere_and_is_not_the_longest():
    asked = [q for path in COURSE for q in read(path).values() if q.kind == "single" and q.use]
    chance = [1 / len(q.options) for q in asked]
    limit = sum(chance) + 2.5 * math.sqrt(sum(p * (1 - p) for p in chance))
    for seat in range(3):
        shown = [q.id for q in asked if places(q)[seat] == q.right[0]]
        assert len(shown) <= limit, f"right option at place {seat + 1} too often: {shown}"

    def longer(q) -> bool:
        lengths = {place: len(option.text) for place, option in enumerate(q.options)}
        return lengths.pop(q.right[0]) > max(lengths.values())

    longest = [q.id for q in asked if longer(q)]
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


# ---- reading


def test_the_sample_is_read_whole():
    assert {one.lesson for one in read(SAMPLE).values()} == {"query_key_value"}
    assert len(read(SAMPLE)) == sum(len(sample()[part]) for part in PARTS)
    assert (SINGLE.options[0].diagnoses, SINGLE.reread, SINGLE.right) == ("M06", "Why the root", [1])
    assert [option.text for option in NUMBER.options] == [
        "0.25 of $1$",
        "1 of $1$",
        "4 of $1$",
        "another number",
    ]
    assert (NUMBER.answer, NUMBER.options[0].tolerance, NUMBER.options[1].diagnoses) == (0.25, 0.01, "M12")
    assert (LARGEST.kind, LARGEST.answer, LARGEST.unit, LARGEST.preset) == ("number", 0.96, "of $1$", "wide")
    assert (MOVES.kind, MOVES.right, MOVES.options[2].text) == ("single", [1], "Both")
    assert (SIZE.kind, SIZE.answer, read(SAMPLE)["sample-measured"].answer) == ("estimate", 262144, None)
    assert (WHY.kind, len(WHY.points)) == ("explanation", 2)


def test_options_are_shuffled_the_same_way_every_time():
    assert SINGLE.shown == read(SAMPLE)["sample-single"].shown and sorted(places(SEVERAL)) == [0, 1, 2, 3]
    assert places(ORDERED) == places(MOVES) == [0, 1, 2]  # as written: guesses are not shuffled
    assert places(SINGLE) != [0, 1, 2] or places(SEVERAL) != [0, 1, 2, 3]
    assert "".join(letter for letter, _, _ in SEVERAL.shown) == "ABCD"


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: questions("99"), r"no quiz for lesson '99'.*08"),
        (lambda: used_for("08", "opening"), r"no questions for 'opening'.*closing, recall"),
        (lambda: question("08", "why", "single", "number"), r"no 'why' here.*sample-largest, sample-moves\."),
        (lambda: question("08", "sample-largest", "estimate"), "no 'sample-largest' here"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(monkeypatch, ask, told):
    if "99" not in told:
        monkeypatch.setattr(module, "questions", lambda number: read(SAMPLE))
    with pytest.raises(ValueError, match=told):
        ask()


# ---- marking


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        (SINGLE, 0, (False, "M06", "Softmax subtracts the *largest* score.")),
        (SINGLE, 1, (True, None, "Yes, a spread near $1$.")),
        (SINGLE, 2, (False, None, "There is a reason.")),
        (SEVERAL, [0, 2], (True, None, "They do.", "An exponential never is.")),
        (SEVERAL, [0], (False, None, "They do.", "One right answer is still missing.")),
        (SEVERAL, [1], (False, "M11", "They need not.", "2 right answers are still missing.")),
        (NUMBER, 0.25, (True, None, "Yes.")),
        (NUMBER, 0.26, (True, None, "Yes.")),  # not in binary
        (NUMBER, 0.2601, (False, None, "Equal scores share equally.")),
        (NUMBER, 1.001, (False, "M12", "Each would have it all.")),
        (NUMBER, 4, (False, None, "Turn it over.")),
        (LARGEST, 0.92, (True, None, "It *spreads*.")),
        (LARGEST, 0.9, (False, None, "It *spreads*.")),  # a prediction has one reason
        (MOVES, 1, (True, None, "Values are handed out.")),
        (MOVES, 2, (False, None, "Values are handed out.")),
    ],
)
def test_an_answer_is_marked_and_talked_about(asked, answer, said):
    correct, misconception, *texts = marked(asked, answer)
    assert (correct, misconception, *sorted(texts)) == (*said[:2], *sorted(said[2:]))


def test_several_choices_are_right_only_when_all_and_no_other_are_ticked():
    for ticked in ([2], [0, 1], [0, 1, 2], [0, 1, 2, 3], [1, 3]):
        assert not mark(SEVERAL, ticked).correct
    assert mark(SEVERAL, [0, 1, 2]).misconception == "M11"
    assert [remark.label for remark in mark(SEVERAL, [0, 1, 2, 3]).remarks] == ["A", "B", "C", "D"]


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
    assert (mark(SIZE, guess).word, *marked(SIZE, guess)) == (word, right, None, "Each row has 512.")


# ---- what comes from the page


def test_an_answer_is_put_in_its_proper_form():
    sent = [(SEVERAL, [0, 3]), (SINGLE, 2), (SINGLE, 0), (NUMBER, 0.25), (SIZE, 7)]
    assert [received(asked, answer) for asked, answer in sent] == [answer for _, answer in sent]
    assert received(NUMBER, "1/4") == 0.25


def test_numbers_are_read_as_people_write_them():
    numbers = {"0.5": 0.5, " 0,5 ": 0.5, ".5": 0.5, "5.": 5, "+7": 7, "−2": -2, "1e-4": 1e-4, "1/8": 0.125,
               "262 144": 262144, "262'144": 262144, "262_144": 262144, "0,500": 0.5}  # fmt: skip
    assert {text: read_number(text) for text in numbers} == numbers


@pytest.mark.parametrize(
    ("asked", "sent", "what"),
    [(SINGLE, None, "Choose an answer first"), (SEVERAL, [], "Tick at least one"), (NUMBER, None, "Type"),
     (NUMBER, float("nan"), "Type"), (NUMBER, "8,000", "8000 or 8.000"), (SIZE, "1,234,567", "1234567 or"),
     (NUMBER, "1/0", "divided by 0"),
     *((NUMBER, text, "Type a number") for text in ("", "abc", "1 2", "1.2.3", "1/2/3", "0x10", "Infinity",
                                                    "9" * 10**6, "1e999"))],
)  # fmt: skip
def test_what_cannot_be_an_answer_is_asked_for_again(asked, sent, what):
    with pytest.raises(ValueError, match=what):
        received(asked, sent)
