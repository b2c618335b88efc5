"""What makes a quiz file good. Names, types and counts are said once, in data/quiz.schema.json.

    >>> list(problems({"lesson": "query_key_value"}))
    ["quiz: 'questions' is a required property"]

Here are the rules a schema cannot say. The builder and the tests ask; a learner's notebook does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema

from course_lib.runtime import data_path
from course_lib.teaching.maths import inline_html
from course_lib.teaching.misconceptions import misconceptions

PARTS = ("questions", "predictions", "estimates", "explanations")
NOT_PROSE = {"id", "use", "kind", "diagnoses", "reread", "preset"}  # shown as they are, or not shown


@cache
def _schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        json.loads(data_path("quiz.schema.json").read_text(encoding="utf-8"))
    )


def problems(data: Any) -> Iterator[str]:
    """Everything that is wrong with one file's content; nothing when it is good."""
    shape = [
        f"{_place(error, data)}: {jsonschema.exceptions.best_match([error]).message}"
        for error in _schema().iter_errors(data)
    ]
    yield from shape
    if shape:
        return  # the rules below read the fields
    entries = [raw for part in PARTS for raw in data.get(part, [])]
    for name, count in Counter(raw["id"] for raw in entries).items():
        if count > 1:
            yield f"{name}: the id is used {count} times; give each its own, for progress is kept by it"
    for raw in entries:
        for problem in (*_marking(raw), *_texts(raw)):
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
    if "because" in raw and options and raw["answer"] not in options:
        yield f"the answer {raw['answer']!r} is not among the options"
    if "because" not in raw and options:
        right = sum(option["correct"] for option in options)
        if raw["kind"] == "single" and right != 1:
            yield f"a single choice has exactly one correct option, found {right}"
        if raw["kind"] == "several" and not right:
            yield "at least one option must be correct"
        if len({option["text"].strip() for option in options}) < len(options):
            yield "two options say the same"
        for option in options:
            if option["correct"] and "diagnoses" in option:
                yield f"a correct option diagnoses nothing; take {option['diagnoses']!r} out"
    for near in raw.get("near", []):
        if abs(near["value"] - raw["answer"]) <= near["tolerance"] + raw["tolerance"]:
            yield f"{near['value']} ± {near['tolerance']} overlaps with the right answer"


def _texts(raw: Any, name: str = "") -> Iterator[str]:
    """Every text can be set, and every misconception exists."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            yield from _texts(value, key)
    elif isinstance(raw, list):
        for value in raw:
            yield from _texts(value, name)
    elif name == "diagnoses" and raw not in misconceptions():
        yield f'there is no misconception "{raw}" in data/misconceptions.json'
    elif isinstance(raw, str) and name not in NOT_PROSE:
        try:
            inline_html(raw)
        except ValueError as error:
            yield str(error)
