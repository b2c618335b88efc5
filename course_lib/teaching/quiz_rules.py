"""What makes a quiz file good: every rule yields a sentence that names the question and what is wrong.

    >>> list(problems({"lesson": "query_key_value", "questions": []}))
    ['there are no questions']

data/quiz.schema.json says the same about names and types, for editors; here nothing but Python is needed,
and rules that a schema cannot say are kept too.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from course_lib.teaching.maths import inline_html
from course_lib.teaching.misconceptions import misconceptions

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TOPIC = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
SLACK = 1e-9  # rounding: 0.51 lies within 0.01 of 0.5, though not in binary
LETTERS = "ABCDE"  # one for each option that may be shown

FRAME = ("lesson", "questions", "predictions")
TYPES = {str: "text", bool: "true or false", float: "a number", list: "a list"}
EVERY_QUESTION = {"id": str, "use": str, "kind": str, "text": str}
REQUIRED = {
    "single": {**EVERY_QUESTION, "options": list},
    "several": {**EVERY_QUESTION, "options": list},
    "number": {**EVERY_QUESTION, "answer": float, "tolerance": float, "feedback": str, "wrong_feedback": str},
}
OPTIONAL = {
    "single": {"reread": str, "keep_order": bool},
    "several": {"reread": str, "keep_order": bool},
    "number": {"reread": str, "unit": str, "near": list},
}
OPTION = {"text": str, "correct": bool, "feedback": str}
NEAR = {"value": float, "tolerance": float, "feedback": str}
DIAGNOSES = {"diagnoses": str}
EVERY_PREDICTION = {"id": str, "text": str, "because": str}
PREDICTED_OPTION = {**EVERY_PREDICTION, "options": list, "answer": str}
PREDICTED_NUMBER = {**EVERY_PREDICTION, "answer": float, "tolerance": float}
PLAIN = {"id", "use", "kind", "diagnoses", "reread", "preset"}  # shown as they are, or not shown


def within(number: float, target: float, tolerance: float) -> bool:
    """Whether a number is close enough, with room for binary rounding."""
    return abs(number - target) <= tolerance + SLACK * max(1.0, abs(target))


def problems(data: Any) -> Iterator[str]:
    """Everything that is wrong with one file's content; nothing when it is good."""
    if not isinstance(data, dict) or not {"lesson", "questions"} <= set(data) <= {*FRAME}:
        yield f"expected an object with {', '.join(FRAME)} (which may be left out), and nothing else"
        return
    if not isinstance(data["lesson"], str) or not TOPIC.fullmatch(data["lesson"]):
        yield f'"lesson" must be a topic such as "query_key_value", found {data["lesson"]!r}'
    if not isinstance(data["questions"], list) or not data["questions"]:
        yield "there are no questions"
        return
    if not isinstance(data.get("predictions", []), list):
        yield f'"predictions" must be a list, found {data["predictions"]!r}'
        return
    yield from _each(data["questions"], "question", _question)
    yield from _each(data.get("predictions", []), "prediction", _prediction)


def _each(entries: list[Any], what: str, rule: Callable[[Any], Iterator[str]]) -> Iterator[str]:
    for place, raw in enumerate(entries, start=1):
        named = isinstance(raw, dict) and isinstance(raw.get("id"), str)
        name = f'{what} "{raw["id"]}"' if named else f"{what} {place}"
        for problem in rule(raw):
            yield f"{name}: {problem}"
    yield from repeated(entries, what)


def repeated(entries: list[Any], what: str) -> Iterator[str]:
    """Ids given more than once. Progress is kept by id, so each is used once in the course."""
    ids = Counter(str(raw.get("id")) for raw in entries if isinstance(raw, dict))
    for name, count in ids.items():
        if count > 1:
            yield f'{what} "{name}": the id is used {count} times; give each {what} its own'


def _question(raw: Any) -> Iterator[str]:
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if kind not in REQUIRED:
        yield f'"kind" must be single, several or number, found {kind!r}'
        return
    shape = list(_fields(raw, REQUIRED[kind], OPTIONAL[kind], ""))
    yield from shape
    if shape:
        return  # the rules below read the fields
    yield from _names(raw, "id", "use")
    yield from _choices(raw) if "options" in raw else _numbers(raw)


def _names(raw: dict[str, Any], *fields: str) -> Iterator[str]:
    for field in fields:
        if not ID.fullmatch(raw[field]):
            yield f'"{field}" must be lower-case words joined by hyphens, found {raw[field]!r}'


def _choices(raw: dict[str, Any]) -> Iterator[str]:
    options = raw["options"]
    if not 3 <= len(options) <= 5:
        yield f"expected 3 to 5 options, found {len(options)}"
    shape = [
        problem
        for place, option in enumerate(options, start=1)
        for problem in _fields(option, OPTION, DIAGNOSES, f"option {place}: ")
    ]
    yield from shape
    if shape:
        return
    right = sum(option["correct"] for option in options)
    if raw["kind"] == "single" and right != 1:
        yield f"a single choice has exactly one correct option, found {right}"
    if raw["kind"] == "several" and right == 0:
        yield "at least one option must be correct, found none"
    for text, count in Counter(option["text"].strip() for option in options).items():
        if count > 1:
            yield f"{count} options say the same: {text!r}"
    for place, option in enumerate(options, start=1):
        if option["correct"] and "diagnoses" in option:
            yield f"option {place}: a correct option diagnoses nothing; take {option['diagnoses']!r} out"


def _numbers(raw: dict[str, Any]) -> Iterator[str]:
    shape = [
        problem
        for place, near in enumerate(raw.get("near", []), start=1)
        for problem in _fields(near, NEAR, DIAGNOSES, f"near {place}: ")
    ]
    yield from shape
    if shape:
        return
    for place, near in enumerate(raw.get("near", []), start=1):
        if abs(near["value"] - raw["answer"]) <= near["tolerance"] + raw["tolerance"] + SLACK:
            yield f"near {place}: {near['value']} ± {near['tolerance']} overlaps with the right answer"


def _prediction(raw: Any) -> Iterator[str]:
    choice = isinstance(raw, dict) and "options" in raw
    optional = {"preset": str} if choice else {"preset": str, "unit": str}
    shape = list(_fields(raw, PREDICTED_OPTION if choice else PREDICTED_NUMBER, optional, ""))
    yield from shape
    if shape:
        return
    yield from _names(raw, "id")
    if not choice:
        return
    options = raw["options"]
    if not 2 <= len(options) <= len(LETTERS) or len(set(map(str, options))) < len(options):
        yield f"expected 2 to {len(LETTERS)} different options, found {options!r}"
    for place, option in enumerate(options, start=1):
        if not isinstance(option, str):
            yield f"option {place}: must be text, found {option!r}"
        else:
            yield from (f"option {place}: {problem}" for problem in _text("option", option))
    if raw["answer"] not in options:
        yield f"the answer {raw['answer']!r} is not among the options"


def _fields(raw: Any, required: dict[str, type], optional: dict[str, type], where: str) -> Iterator[str]:
    """Names and types, texts that are there and can be set, misconceptions that exist."""
    if not isinstance(raw, dict):
        yield f"{where}expected an object, found {raw!r}"
        return
    known = {**required, **optional}
    for name in required:
        if name not in raw:
            yield f'{where}"{name}" is missing'
    for name, value in raw.items():
        if name not in known:
            guess = difflib.get_close_matches(name, known, n=1)
            yield f'{where}unknown field "{name}"' + (f'; did you mean "{guess[0]}"?' if guess else "")
        elif not _is(value, known[name]):
            yield f'{where}"{name}" must be {TYPES[known[name]]}, found {value!r}'
        elif name == "tolerance" and value < 0:
            yield f'{where}"tolerance" must not be negative, found {value!r}'
        elif name == "diagnoses" and value not in misconceptions():
            yield f'{where}there is no misconception "{value}" in data/misconceptions.json'
        elif isinstance(value, str):
            yield from (f'{where}"{name}": {problem}' for problem in _text(name, value))


def _text(name: str, value: str) -> Iterator[str]:
    if not value.strip() and name != "unit":
        yield "is empty"
    elif name not in PLAIN:
        try:
            inline_html(value)
        except ValueError as error:
            yield str(error)


def _is(value: Any, wanted: type) -> bool:
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, wanted)
