"""Quiz files: the good ones are read, the bad ones are told what is wrong, all of the course's are good."""

from __future__ import annotations

import copy
import json
import math
from itertools import chain
from pathlib import Path

import jsonschema
import pytest

from course_lib.runtime import data_path
from course_lib.teaching import quiz_rules
from course_lib.teaching.quiz_data import QuizError, files, read, read_lesson

SAMPLE = Path(__file__).parent / "samples" / "quiz.json"
COURSE = files()
SINGLE, SEVERAL, NUMBER, ORDERED = range(4)


def sample() -> dict:
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def schema() -> jsonschema.Draft202012Validator:
    rules = json.loads(data_path("quiz.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(rules)
    return jsonschema.Draft202012Validator(rules)


def test_the_sample_is_read_whole():
    content = read(SAMPLE)
    assert content.topic == "query_key_value"
    assert [question.id for question in content.used_for("recall")] == ["sample-order"]
    single, several, number, _ = content.questions
    assert single.options[0].diagnoses == "M06"
    assert [option.correct for option in several.options] == [True, False, True, False]
    assert (number.answer, number.tolerance, number.near[0].diagnoses) == (0.25, 0.01, "M12")
    largest, moves = content.predictions
    assert (largest.answer, largest.tolerance, largest.unit, largest.preset) == (0.96, 0.05, "of $1$", "wide")
    assert (moves.options, moves.answer) == (("The weights", "The context", "Both"), "The context")


# -- every file of the course ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", [SAMPLE, *COURSE], ids=lambda path: path.name)
def test_every_file_follows_the_schema_and_the_rules(path):
    schema().validate(json.loads(path.read_text(encoding="utf-8")))
    assert read(path).questions


@pytest.mark.parametrize("what", ["question", "prediction"])
def test_no_id_is_used_twice_in_the_course(what):
    data = [json.loads(path.read_text(encoding="utf-8")) for path in COURSE]
    everything = [raw for lesson in data for raw in lesson.get(f"{what}s", [])]
    assert list(quiz_rules.repeated(everything, what)) == []


def test_the_right_option_stands_anywhere_and_is_not_the_longest():
    questions = [q for path in COURSE for q in read(path).questions if q.kind == "single"]
    right = [next(place for place, option in enumerate(q.options) if option.correct) for q in questions]
    chance = [1 / len(q.options) for q in questions]
    limit = sum(chance) + 2.5 * math.sqrt(sum(p * (1 - p) for p in chance))
    for seat in range(3):
        shown = [q.id for q, place in zip(questions, right, strict=True) if q.order.index(place) == seat]
        assert len(shown) <= limit, f"right option at place {seat + 1} too often: {shown}"
    longest = [
        q.id
        for q, place in zip(questions, right, strict=True)
        if all(len(q.options[place].text) > len(o.text) for o in q.options if not o.correct)
    ]
    assert len(longest) <= limit, f"the right option is the longest too often: {longest}"


def test_options_are_shuffled_the_same_way_every_time():
    single, several, _, ordered = read(SAMPLE).questions
    assert single.order == read(SAMPLE).questions[SINGLE].order
    assert sorted(several.order) == [0, 1, 2, 3]
    assert ordered.order == [0, 1, 2]
    assert single.order != [0, 1, 2] or several.order != [0, 1, 2, 3]
    assert [single.letter(place) for place in single.order] == ["A", "B", "C"]


# -- files that are wrong --------------------------------------------------------------------------------


def broken(part: str, place: int, change) -> list[str]:
    data = sample()
    change(data[part][place])
    return list(quiz_rules.problems(data))


def options(raw: dict) -> list[dict]:
    return raw["options"]


@pytest.mark.parametrize(
    ("question", "change", "complaint"),
    [
        (SINGLE, lambda raw: options(raw)[2].update(correct=True), "exactly one correct option, found 2"),
        (
            SEVERAL,
            lambda raw: [one.update(correct=False) for one in options(raw)],
            "at least one option must be correct",
        ),
        (SINGLE, lambda raw: options(raw).pop(), "3 to 5 options, found 2"),
        (SINGLE, lambda raw: options(raw)[2].pop("feedback"), 'option 3: "feedback" is missing'),
        (SINGLE, lambda raw: options(raw)[2].update(feedback=" "), 'option 3: "feedback": is empty'),
        (
            SINGLE,
            lambda raw: options(raw)[2].update(correct="no"),
            "\"correct\" must be true or false, found 'no'",
        ),
        (SINGLE, lambda raw: options(raw)[0].update(diagnoses="M99"), 'no misconception "M99"'),
        (SINGLE, lambda raw: options(raw)[1].update(diagnoses="M06"), "a correct option diagnoses nothing"),
        (SINGLE, lambda raw: options(raw)[0].update(text="Spread"), "2 options say the same: 'Spread'"),
        (SINGLE, lambda raw: options(raw).append("Luck"), "option 4: expected an object, found 'Luck'"),
        (SINGLE, lambda raw: raw.update(rereed="x"), 'unknown field "rereed"; did you mean "reread"?'),
        (SINGLE, lambda raw: raw.update(kind="multi"), "must be single, several or number, found 'multi'"),
        (SINGLE, lambda raw: raw.update(id="Why Scale"), "lower-case words joined by hyphens"),
        (SINGLE, lambda raw: raw.update(text=r"Why $\sqrt{d_k$?"), '"text": The formula'),
        (SINGLE, lambda raw: raw.update(text="Costs 5 $"), "A $ has no partner"),
        (NUMBER, lambda raw: raw.pop("tolerance"), '"tolerance" is missing'),
        (NUMBER, lambda raw: raw.update(tolerance=-1), "must not be negative"),
        (NUMBER, lambda raw: raw.update(answer="0.25"), "\"answer\" must be a number, found '0.25'"),
        (NUMBER, lambda raw: raw.update(answer=True), '"answer" must be a number, found True'),
        (NUMBER, lambda raw: raw.update(answer=math.nan), '"answer" must be a number, found nan'),
        (NUMBER, lambda raw: raw["near"][0].update(value=0.26), "near 1: 0.26 ± 0.001 overlaps"),
        (NUMBER, lambda raw: raw["near"][0].pop("feedback"), 'near 1: "feedback" is missing'),
    ],
)
def test_a_bad_question_is_named_with_what_is_wrong(question, change, complaint):
    found = broken("questions", question, change)
    assert len(found) == 1, found
    assert found[0].startswith("question ")
    assert complaint in found[0]


LARGEST, MOVES = range(2)


@pytest.mark.parametrize(
    ("prediction", "change", "complaint"),
    [
        (LARGEST, lambda raw: raw.pop("tolerance"), '"tolerance" is missing'),
        (LARGEST, lambda raw: raw.update(tolerance=-0.1), "must not be negative"),
        (LARGEST, lambda raw: raw.update(answer="0.96"), "\"answer\" must be a number, found '0.96'"),
        (LARGEST, lambda raw: raw.pop("because"), '"because" is missing'),
        (LARGEST, lambda raw: raw.update(because="It costs 5 $"), "A $ has no partner"),
        (LARGEST, lambda raw: raw.update(presset="wide"), 'unknown field "presset"; did you mean "preset"?'),
        (LARGEST, lambda raw: raw.update(id="Largest weight"), "lower-case words joined by hyphens"),
        (MOVES, lambda raw: raw.update(answer="Neither"), "'Neither' is not among the options"),
        (MOVES, lambda raw: raw.update(unit="%"), 'unknown field "unit"'),
        (MOVES, lambda raw: raw.update(options=["The context"]), "2 to 5 different options"),
        (MOVES, lambda raw: raw["options"].append("Both"), "2 to 5 different options"),
        (MOVES, lambda raw: raw["options"].append(3), "option 4: must be text, found 3"),
        (MOVES, lambda raw: raw["options"].append(r"$\frac{a}$"), "option 4: The formula"),
    ],
)
def test_a_bad_prediction_is_named_with_what_is_wrong(prediction, change, complaint):
    found = broken("predictions", prediction, change)
    assert len(found) == 1, found
    assert found[0].startswith("prediction ")
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "an object with lesson, questions, predictions"),
        ({"lesson": "x", "questions": [], "notes": 1}, "an object with lesson, questions, predictions"),
        ({"lesson": "x", "questions": ["?"], "predictions": "?"}, '"predictions" must be a list'),
        ({"lesson": "08", "questions": []}, "no questions"),
        ({"lesson": "Query Key", "questions": ["?"]}, "must be a topic"),
    ],
)
def test_a_bad_frame_is_told(data, complaint):
    assert any(complaint in problem for problem in quiz_rules.problems(data))


def test_an_id_used_twice_is_told():
    data = sample()
    data["questions"].append(copy.deepcopy(data["questions"][0]))
    assert list(quiz_rules.problems(data)) == [
        'question "sample-single": the id is used 2 times; give each question its own'
    ]


def test_the_error_names_the_file_and_tells_everything_at_once(tmp_path):
    data = sample()
    data["questions"][SINGLE].pop("text")
    data["questions"][NUMBER].pop("answer")
    path = tmp_path / "08.json"
    path.write_text(json.dumps(data))
    with pytest.raises(QuizError) as error:
        read(path)
    assert str(error.value) == (
        f"{tmp_path.name}/08.json cannot be used:\n"
        '- question "sample-single": "text" is missing\n'
        '- question "sample-number": "answer" is missing'
    )


def test_a_file_that_is_not_json_is_told(tmp_path):
    path = tmp_path / "08.json"
    path.write_text('{"lesson": ')
    with pytest.raises(QuizError, match=r"08\.json is not JSON"):
        read(path)


def test_unknown_lessons_and_uses_are_told_what_there_is():
    with pytest.raises(QuizError, match=r"no quiz for lesson '99'.*08"):
        read_lesson("99")
    with pytest.raises(QuizError, match="no quiz for lesson 'schema'"):
        read_lesson("schema")
    with pytest.raises(QuizError, match=r"no questions for 'opening'.*closing, recall"):
        read(SAMPLE).used_for("opening")


def test_schema_and_rules_know_the_same_fields():
    known = schema().schema["$defs"]
    for kind, name in (("single", "choice"), ("several", "choice"), ("number", "number")):
        fields = set(chain(quiz_rules.REQUIRED[kind], quiz_rules.OPTIONAL[kind]))
        assert set(known[name]["properties"]) == fields
        assert set(known[name]["required"]) == set(quiz_rules.REQUIRED[kind])
    assert set(known["predicted_option"]["required"]) == set(quiz_rules.PREDICTED_OPTION)
    assert set(known["predicted_number"]["required"]) == set(quiz_rules.PREDICTED_NUMBER)
