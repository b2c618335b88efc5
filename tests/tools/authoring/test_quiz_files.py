"""Quiz files: the course's keep the schema and what it cannot say, and a slip is told with its place."""

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
from tools.authoring.build import quiz_problems

SAMPLE = Path(__file__).parents[2] / "teaching" / "samples" / "quiz.json"
COURSE = [one.folder / "quiz.json" for one in lessons()]


@pytest.mark.parametrize("path", [SAMPLE, *COURSE], ids=lambda path: path.parent.name)
def test_every_file_keeps_the_rules(path):
    assert quiz_problems(path, PROJECT_ROOT) == []
    for asked in read_questions(path).values():
        options, texts = asked.options, [option.text.strip() for option in asked.options]
        said = [asked.text, asked.unit, asked.because, asked.model, *asked.points, *texts]
        for text in [*said, *(option.feedback for option in options)]:
            assert ">\\" not in inline_html(text), f"an unknown command of LaTeX in {text!r}"
            assert text.count("{") == text.count("}") and text.replace(r"\$", "").count("$") % 2 == 0, text
        assert {option.diagnoses for option in options} <= {None, *misconceptions()}
        assert len(set(texts)) == len(texts), f"two options of {asked.id} say the same"
        assert len(asked.right) == 1 or asked.kind not in ("single", "number"), asked.id
        near = options[:-1] if asked.kind == "number" else ()
        assert all(near[i].fits(one.value) == (near[i] is one) for one in near for i in range(len(near)))


def test_no_id_is_used_twice_in_the_course():
    raw = [json.loads(path.read_text(encoding="utf-8")) for path in COURSE]
    entries = [entry for data in raw for part in data.values() if isinstance(part, list) for entry in part]
    assert max(Counter(entry["id"] for entry in entries).values()) == 1


def test_the_right_option_stands_anywhere_and_is_not_the_longest():
    asked = [q for path in COURSE for q in read_questions(path).values() if q.kind == "single" and q.use]
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


@pytest.mark.parametrize(
    ("place", "change", "complaint"),
    [
        ("questions[0]", lambda raw: raw["options"][2].update(correct=True), ".options: Too many items"),
        ("questions[1]", lambda raw: [one.update(correct=False) for one in raw["options"]], ".options: "),
        ("questions[0]", lambda raw: raw["options"][2].pop("feedback"), ".options[2]: 'feedback' is a req"),
        ("questions[0]", lambda raw: raw["options"][1].update(diagnoses="M06"), ".options[1].correct: False"),
        ("questions[0]", lambda raw: raw.update(rereed="x"), ": Additional properties are not allowed"),
        ("questions[0]", lambda raw: raw.update(kind="multi"), ".kind: 'multi' is not one of"),
        ("questions[2]", lambda raw: raw.pop("tolerance"), ": 'tolerance' is a required property"),
        ("predictions[1]", lambda raw: raw["options"].append("Both"), ".options: "),
        ("explanations[0]", lambda raw: raw.update(points=["one"]), ".points: "),
    ],
)  # fmt: skip
def test_a_slip_is_told_with_its_place(tmp_path, place, change, complaint):
    data = json.loads(SAMPLE.read_text(encoding="utf-8"))
    part, number = place.rstrip("]").split("[")
    change(data[part][int(number)])
    (tmp_path / "quiz.json").write_text(json.dumps(data), encoding="utf-8")
    found = quiz_problems(tmp_path / "quiz.json", tmp_path)
    assert any(problem.startswith(f"quiz.json: $.{place}{complaint}") for problem in found), found
