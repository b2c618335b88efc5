"""Quiz files follow the schema and the rules it can't express, and a mistake is reported with its path."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.contents import lessons, misconceptions
from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import read_questions
from tools.authoring.quiz_file import quiz_problems

SAMPLE = Path(__file__).parents[2] / "teaching" / "samples" / "quiz.json"
COURSE = [lesson.folder / "quiz.json" for lesson in lessons()]


@pytest.mark.parametrize("path", [SAMPLE, *COURSE], ids=lambda path: path.parent.name)
def test_every_file_follows_the_rules(path):
    assert quiz_problems(path, PROJECT_ROOT) == []
    for question in read_questions(path).values():
        options, texts = question.options, [option.text.strip() for option in question.options]
        shown = [question.text, question.unit, question.because, question.model, *question.points, *texts]
        for text in [*shown, *(option.feedback for option in options)]:
            assert ">\\" not in inline_html(text), f"an unknown LaTeX command in {text!r}"
            assert text.count("{") == text.count("}") and text.replace(r"\$", "").count("$") % 2 == 0, text
        assert {option.diagnoses for option in options} <= {None, *misconceptions()}
        assert len(set(texts)) == len(texts), f"two options of {question.id} are the same"
        assert len(question.right) == 1 or question.kind not in ("single", "number"), question.id
        ranges = options[:-1] if question.kind == "number" else ()
        for option in ranges:  # a value belongs to one option only
            assert [other for other in ranges if other.fits(option.value)] == [option]


def test_no_id_is_used_twice_in_the_course():
    raw = [json.loads(path.read_text(encoding="utf-8")) for path in COURSE]
    entries = [entry for data in raw for part in data.values() if isinstance(part, list) for entry in part]
    assert max(Counter(entry["id"] for entry in entries).values()) == 1


def test_the_right_option_has_no_typical_position_or_length():
    every = [question for path in COURSE for question in read_questions(path).values()]
    single = [question for question in every if question.kind == "single" and question.use]
    probabilities = [1 / len(question.options) for question in single]
    limit = sum(probabilities) + 2.5 * math.sqrt(sum(p * (1 - p) for p in probabilities))
    for position in range(3):
        ids = [question.id for question in single if question.shown[position][1] == question.right[0]]
        assert len(ids) <= limit, f"right option at position {position + 1} too often: {ids}"

    def is_longest(question) -> bool:
        lengths = {index: len(option.text) for index, option in enumerate(question.options)}
        return lengths.pop(question.right[0]) > max(lengths.values())

    longest = [question.id for question in single if is_longest(question)]
    assert len(longest) <= limit, f"the right option is the longest too often: {longest}"


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ("questions[0]", lambda raw: raw["options"][2].update(correct=True), ".options: Too many items"),
        ("questions[1]", lambda raw: [o.update(correct=False) for o in raw["options"]], ".options: "),
        ("questions[0]", lambda raw: raw["options"][2].pop("feedback"), ".options[2]: 'feedback' is a req"),
        ("questions[0]", lambda raw: raw["options"][1].update(diagnoses="M06"), ".options[1].correct: False"),
        ("questions[0]", lambda raw: raw.update(rereed="x"), ": Additional properties are not allowed"),
        ("questions[0]", lambda raw: raw.update(kind="multi"), ".kind: 'multi' is not one of"),
        ("questions[2]", lambda raw: raw.pop("tolerance"), ": 'tolerance' is a required property"),
        ("predictions[1]", lambda raw: raw["options"].append("Both"), ".options: "),
        ("explanations[0]", lambda raw: raw.update(points=["one"]), ".points: "),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_path(tmp_path, path, change, message):
    data = json.loads(SAMPLE.read_text(encoding="utf-8"))
    part, number = path.rstrip("]").split("[")
    change(data[part][int(number)])
    (tmp_path / "quiz.json").write_text(json.dumps(data), encoding="utf-8")
    problems = quiz_problems(tmp_path / "quiz.json", tmp_path)
    assert any(problem.startswith(f"quiz.json: $.{path}{message}") for problem in problems), problems


def test_a_file_in_another_encoding_is_a_problem(tmp_path):
    path = tmp_path / "quiz.json"
    path.write_bytes('{"lesson": "gätter"}'.encode("latin-1"))
    [problem] = quiz_problems(path, tmp_path)
    assert problem.startswith("quiz.json") and "UTF-8" in problem
