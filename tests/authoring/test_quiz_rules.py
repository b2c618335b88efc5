"""Quiz files: the course's keep the rules, and what is wrong with a file is said with its place."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from course_lib.authoring.quiz_rules import PARTS, problems
from course_lib.runtime import data_path
from course_lib.teaching.lessons import lessons
from course_lib.teaching.questions import read

SAMPLE = Path(__file__).parents[1] / "teaching" / "samples" / "quiz.json"
COURSE = [one.folder / "quiz.json" for one in lessons()]


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
        shown = [q.id for q in asked if q.shown[seat][1] == q.right[0]]
        assert len(shown) <= limit, f"right option at place {seat + 1} too often: {shown}"

    def longer(q) -> bool:
        lengths = {place: len(option.text) for place, option in enumerate(q.options)}
        return lengths.pop(q.right[0]) > max(lengths.values())

    longest = [q.id for q in asked if longer(q)]
    assert len(longest) <= limit, f"the right option is the longest too often: {longest}"


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
    data = json.loads(SAMPLE.read_text(encoding="utf-8"))
    change(data[NAMES[part]][place])
    found = list(problems(data))
    assert any(complaint in problem for problem in found), found


@pytest.mark.parametrize("data", [[], {"lesson": "x"}, {"lesson": "x", "questions": []}, {"notes": 1}])
def test_a_bad_frame_is_told(data):
    assert all(problem.startswith("quiz: ") for problem in problems(data)) and list(problems(data))
