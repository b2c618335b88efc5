"""What makes a quiz file good. Names, types and counts are said once, in data/quiz.schema.json.

    >>> list(problems({"lesson": "query_key_value"}))
    ["quiz: 'questions' is a required property"]

Here are the schema's two formats, and the rules it cannot say. The builder and the tests ask; a learner's
notebook does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jsonschema

from course_lib.runtime import data_path
from course_lib.teaching.lessons import misconceptions
from course_lib.teaching.maths import inline_html

PARTS = ("questions", "predictions", "estimates", "explanations")
FORMATS = jsonschema.FormatChecker(formats=())


@FORMATS.checks("prose", raises=ValueError)
def _can_be_set(text: object) -> bool:
    if isinstance(text, str):
        inline_html(text)  # raises an error that says what is wrong
    return True


@FORMATS.checks("misconception", raises=ValueError)
def _is_known(name: object) -> bool:
    if str(name) not in misconceptions():
        raise ValueError(f'there is no misconception "{name}" in data/misconceptions.json')
    return True


def problems(data: Any) -> Iterator[str]:
    """Everything that is wrong with one file's content; nothing when it is good."""
    schema = json.loads(data_path("quiz.schema.json").read_text(encoding="utf-8"))
    wrong = list(jsonschema.Draft202012Validator(schema, format_checker=FORMATS).iter_errors(data))
    for error in wrong:
        yield f"{_place(error, data)}: {error.cause or error.message}"
    if wrong:
        return  # the rules below read the fields
    entries = [raw for part in PARTS for raw in data.get(part, [])]
    for name, count in Counter(raw["id"] for raw in entries).items():
        if count > 1:
            yield f"{name}: the id is used {count} times; give each its own, for progress is kept by it"
    for raw in entries:
        for problem in _marking(raw):
            yield f"{raw['id']}: {problem}"


def _place(error: jsonschema.ValidationError, data: Any) -> str:
    """The id of the question an error is in, and the way to it."""
    way = list(error.absolute_path)
    if len(way) < 2:
        return "quiz"
    raw = data[way[0]][way[1]]
    name = raw.get("id") if isinstance(raw, dict) else None
    return "/".join(map(str, [name or f"{way[0]}/{way[1]}", *way[2:]]))


def _marking(raw: dict[str, Any]) -> Iterator[str]:
    options = raw.get("options", [])
    if "because" in raw:  # a prediction's options are texts
        if options and raw["answer"] not in options:
            yield f"the answer {raw['answer']!r} is not among the options"
        return
    right = sum(option["correct"] for option in options)
    if raw.get("kind") == "single" and right != 1:
        yield f"a single choice has exactly one correct option, found {right}"
    if raw.get("kind") == "several" and not right:
        yield "at least one option must be correct"
    if len({option["text"].strip() for option in options}) < len(options):
        yield "two options say the same"
    for option in options:
        if option["correct"] and "diagnoses" in option:
            yield f"a correct option diagnoses nothing; take {option['diagnoses']!r} out"
    for near in raw.get("near", []):
        if abs(near["value"] - raw["answer"]) <= near["tolerance"] + raw["tolerance"]:
            yield f"{near['value']} ± {near['tolerance']} overlaps with the right answer"
