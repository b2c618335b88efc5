"""The questions of a lesson's quiz.json (quiz questions, predictions, estimates, explanations), and marking.

    >>> mark(questions("08")["which-root"], 0).correct
    False

An answer is the index of an option in the file (kind "single"), a list of indices ("several") or a number.
The page sends what was clicked or typed; only this module marks it. docs/quizzes.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.results import UnknownResult, fill
from course_lib.teaching.contents import FULL, lessons

LETTERS = "ABCDE"
SLACK = 1e-9  # rounding: 0.51 is within 0.01 of 0.5, though not in binary
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")

Reply = int | float | list[int]


@dataclass(frozen=True)
class Option:
    """An answer to choose, or a number that many people type. `diagnoses` is the misconception it reveals."""

    text: str
    correct: bool
    feedback: str
    diagnoses: str | None = None
    value: float = 0.0
    tolerance: float = 0.0

    @property
    def reach(self) -> float:
        """How far a number may be from `value`: the tolerance, and room for rounding."""
        return self.tolerance + SLACK * max(1.0, abs(self.value))

    def fits(self, number: float) -> bool:
        return abs(number - self.value) <= self.reach


@dataclass(frozen=True)
class Question:
    """`kind` says which fields are used: single, several, number, estimate or explanation.

    The options of a number are the right one, common wrong ones, and any other. `preset` is the explorable's
    preset that shows what was predicted. An explanation has a `model` answer and `points` to tick off.
    """

    id: str
    lesson: str
    kind: str
    text: str
    use: str = ""
    track: str = ""  # "core": not asked on the short track
    options: tuple[Option, ...] = ()
    keep_order: bool = False
    answer: float | None = None
    unit: str = ""
    because: str = ""
    reread: str = ""
    preset: str | None = None
    model: str = ""
    points: tuple[str, ...] = ()

    @property
    def shown(self) -> list[tuple[str, int, Option]]:
        """Letter, index and option, if there is a choice; always shuffled in the same way, since authors
        tend to write the right answer first."""
        indices = list(range(len(self.options))) if self.kind != "number" else []
        if not self.keep_order:
            indices.sort(key=lambda index: hashlib.sha256(f"{self.id}/{index}".encode()).digest())
        return [(LETTERS[row], index, self.options[index]) for row, index in enumerate(indices)]

    def chosen(self, answer: Reply) -> list[tuple[str, Option]]:
        """Letter and option of everything that was chosen."""
        indices = [answer] if self.kind == "single" else answer
        return [(letter, option) for letter, index, option in self.shown if index in indices]

    def is_on(self, track: str) -> bool:
        return track == FULL or self.track != "core"

    @property
    def right(self) -> list[int]:
        return [index for index, option in enumerate(self.options) if option.correct]


# ---- reading


@cache
def questions(number: str) -> dict[str, Question]:
    """All questions of lesson "08", by id."""
    folders = {lesson.number: lesson.folder for lesson in lessons()}
    if number not in folders:
        raise ValueError(f"There is no lesson {number!r}. There are: {', '.join(folders)}.")
    return read_questions(folders[number] / "quiz.json")


def questions_for(number: str, use: str, track: str = FULL) -> list[Question]:
    """The questions for one part of a lesson, such as "closing", on a track."""
    chosen = [item for item in questions(number).values() if item.use == use and item.is_on(track)]
    if not chosen:
        uses = ", ".join(sorted({question.use for question in questions(number).values()} - {""}))
        on_track = "" if track == FULL else f" on the {track} track"
        raise ValueError(f"Lesson {number} has no questions for {use!r}{on_track}. It has some for: {uses}.")
    return chosen


def question(number: str, name: str, *kinds: str) -> Question:
    """The question with this id, of one of these kinds."""
    names = [key for key, item in questions(number).items() if item.kind in kinds and not item.use]
    if name not in names:
        raise ValueError(f"Lesson {number} has no {name!r} here. There are: {', '.join(names) or 'none'}.")
    return questions(number)[name]


def read_questions(path: Path) -> dict[str, Question]:
    """The questions of one file, with its recorded numbers filled in.

    Tests and the builder validate the file against data/quiz.schema.json.
    """
    text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(fill(text))
    except UnknownResult as error:
        line = text.count("\n", 0, error.offset) + 1
        raise ValueError(f"{path.parent.name}/{path.name}:{line}: {error}") from None
    entries = [
        *data["questions"],
        *map(_convert_prediction, data.get("predictions", ())),
        *({**raw, "kind": "estimate"} for raw in data.get("estimates", ())),
        *({**raw, "kind": "explanation"} for raw in data.get("explanations", ())),
    ]
    return {raw["id"]: _make_question(raw, data["lesson"]) for raw in entries}


def _convert_prediction(raw: dict[str, Any]) -> dict[str, Any]:
    """A prediction as a question: one reason, whatever was guessed; the options in the order of the file."""
    because = raw["because"]
    if "options" not in raw:
        return {**raw, "kind": "number", "feedback": because, "wrong_feedback": because}
    texts, right = raw["options"], raw["answer"]
    options = [{"text": text, "correct": text == right, "feedback": because} for text in texts]
    return {**raw, "kind": "single", "options": options, "keep_order": True, "answer": None}


def _make_question(raw: dict[str, Any], topic: str) -> Question:
    raw_options = _number_options(raw) if raw["kind"] == "number" else raw.get("options", ())
    options, points = tuple(Option(**option) for option in raw_options), tuple(raw.get("points", ()))
    values = raw | {"lesson": topic, "options": options, "points": points}
    return Question(**{field.name: values[field.name] for field in fields(Question) if field.name in values})


def _number_options(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The right number, the near ones, and any other: the first that fits is what was answered."""
    right = {"value": raw["answer"], "tolerance": raw["tolerance"], "feedback": raw["feedback"]}
    for option in (right, *raw.get("near", ())):
        digits = 6 if abs(option["value"]) >= 1 else 4
        text = f"{option['value']:.{digits}g} {raw.get('unit', '')}".strip()
        yield {**option, "text": text, "correct": option is right}
    wrong_feedback = raw["wrong_feedback"]
    yield {"text": "another number", "feedback": wrong_feedback, "tolerance": math.inf, "correct": False}


# ---- marking


class Remark(NamedTuple):
    """The feedback on a chosen option or on the number; `label` is the option's letter."""

    good: bool
    label: str
    text: str


class Feedback(NamedTuple):
    """`word` says how close an estimate is. In a classroom `correct` stays None until the second vote."""

    correct: bool | None
    remarks: list[Remark]
    misconception: str | None = None
    word: str = ""


def mark(question: Question, answer: Reply) -> Feedback:
    """Mark an answer that `read_answer` has accepted."""
    if question.kind == "estimate":
        correct, word = mark_by_factor(answer, question.answer)
        return Feedback(correct, [Remark(True, "", question.because)], word=word)
    if question.kind == "number":
        chosen = [("", next(option for option in question.options if option.fits(answer)))]
    else:
        chosen = question.chosen(answer)
    remarks = [Remark(option.correct, letter, option.feedback) for letter, option in chosen]
    n_missing = len(question.right) - sum(option.correct for _, option in chosen)
    if question.kind == "several" and n_missing:
        subject = "One right answer is" if n_missing == 1 else f"{n_missing} right answers are"
        remarks.append(Remark(False, "", f"{subject} still missing."))
    wrong = [option for _, option in chosen if not option.correct]
    diagnosed = next((option.diagnoses for option in wrong if option.diagnoses), None)
    return Feedback(not wrong and not n_missing, remarks, diagnosed)


def mark_by_factor(guess: float, truth: float) -> tuple[bool, str]:
    """Whether an estimate is within a factor of 2, and how close it is in words.

    >>> mark_by_factor(300, 1000)
    (False, 'Within 10 ×: off by a factor of 3.3')
    """
    if guess * truth <= 0:
        return guess == truth, "Exactly" if guess == truth else "The wrong sign, or zero"
    factor = max(guess / truth, truth / guess)
    off = f"off by a factor of {factor:.{1 if factor < 10 else 0}f}"
    if factor <= 1.1:
        return True, "Very close"
    if factor <= 2:
        return True, f"Within 2 ×: {off}"
    if factor <= 10:
        return False, f"Within 10 ×: {off}"
    return False, f"More than an order of magnitude off: a factor of {factor:,.0f}"


# ---- what comes from the page


def read_answer(question: Question, sent: object) -> Reply:
    """An answer in its proper form, or a ValueError whose text asks the learner for one."""
    if question.kind in ("number", "estimate"):
        return read_number(str(sent))
    if sent is None:
        raise ValueError("Choose an answer first.")
    if sent == []:
        raise ValueError("Tick at least one answer first.")
    indices = [sent] if question.kind == "single" else sent
    if not isinstance(indices, list) or not all(index in range(len(question.options)) for index in indices):
        raise ValueError("Choose one of the answers above.")
    return sent


def read_number(text: str) -> float:
    """Read a number as people write it.

    >>> read_number("0,5"), read_number("1/8"), read_number("−2e-3"), read_number("1 000")
    (0.5, 0.125, -0.002, 1000.0)
    >>> read_number("8,000")
    Traceback (most recent call last):
    ValueError: Is that 8000 or 8.000? Write it without the comma.
    """
    cleaned = re.sub(r"(?<=\d)[\s_'’](?=\d{3}\b)", "", text.strip()).replace("−", "-").replace("–", "-")
    if THOUSANDS.fullmatch(cleaned):
        raise ValueError(
            f"Is that {cleaned.replace(',', '')} or {cleaned.replace(',', '.', 1).replace(',', '')}? "
            "Write it without the comma."
        )
    top, slash, bottom = cleaned.replace(",", ".").partition("/")
    try:
        number = float(top) / (float(bottom) if slash else 1)
    except ZeroDivisionError:
        raise ValueError("You can’t divide by 0.") from None
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("Type a number, such as 0.5 or 1/8.")
    return number
