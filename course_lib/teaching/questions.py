"""What a lesson asks, from its quiz.json: quiz questions, predictions, estimates, explanations; and marking.

    >>> question = questions("08")["which-root"]
    >>> mark(question, 0).correct
    False

An answer is an option's place in the file (kind "single"), a list of places ("several") or a number. It is
marked here and nowhere else; the page sends what was clicked or typed. docs/quizzes.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.teaching.lessons import lessons

LETTERS = "ABCDE"  # one for each option that may be shown
SLACK = 1e-9  # rounding: 0.51 lies within 0.01 of 0.5, though not in binary
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")

Answer = int | float | list[int]


@dataclass(frozen=True)
class Option:
    """One answer to choose; `diagnoses` is the misconception a learner who picks it may hold."""

    text: str
    correct: bool
    feedback: str
    diagnoses: str | None = None


@dataclass(frozen=True)
class Near:
    """A wrong number that many people give, with a word about how they came to it."""

    value: float
    tolerance: float
    feedback: str
    diagnoses: str | None = None


@dataclass(frozen=True)
class Question:
    """`kind` says which fields count: single, several, number, estimate or explanation.

    `preset` is the explorable's preset that shows what was predicted. An explanation has a `model` answer
    and `points` to tick off.
    """

    id: str
    lesson: str
    kind: str
    text: str
    use: str = ""
    options: tuple[Option, ...] = ()
    keep_order: bool = False
    answer: float | None = None
    tolerance: float = 0.0
    unit: str = ""
    feedback: str = ""
    wrong_feedback: str = ""
    near: tuple[Near, ...] = ()
    reread: str = ""
    preset: str | None = None
    model: str = ""
    points: tuple[str, ...] = ()

    @property
    def shown(self) -> list[tuple[str, int, Option]]:
        """Letter, place in the file and option: shuffled, and the same for everybody on every day.

        An author writes the right answer first more often than not; a learner must not be able to tell.
        """
        places = list(range(len(self.options)))
        if not self.keep_order:
            places.sort(key=lambda place: hashlib.sha256(f"{self.id}/{place}".encode()).digest())
        return [(LETTERS[row], place, self.options[place]) for row, place in enumerate(places)]

    @property
    def right(self) -> list[int]:
        return [place for place, option in enumerate(self.options) if option.correct]


# ---- reading


def files() -> dict[str, Path]:
    """The quiz files of the course, by the lesson's number."""
    found = {one.number: one.folder / "quiz.json" for one in lessons()}
    return {number: path for number, path in found.items() if path.exists()}


@cache
def questions(number: str) -> dict[str, Question]:
    """All that lesson "08" asks, by id."""
    if number not in files():
        raise ValueError(f"There is no quiz for lesson {number!r}. Lessons with one: {', '.join(files())}.")
    return read(files()[number])


def used_for(number: str, use: str) -> list[Question]:
    """The questions for one place in a lesson, such as "closing"."""
    chosen = [one for one in questions(number).values() if one.use == use]
    if not chosen:
        there = ", ".join(sorted({one.use for one in questions(number).values()} - {""}))
        raise ValueError(f"Lesson {number} has no questions for {use!r}. It has some for: {there}.")
    return chosen


def question(number: str, name: str, *kinds: str) -> Question:
    """One question by its id, of one of these kinds."""
    of_kind = {one.id: one for one in questions(number).values() if one.kind in kinds and not one.use}
    if name not in of_kind:
        raise ValueError(f"Lesson {number} has no {name!r} here. There are: {', '.join(of_kind) or 'none'}.")
    return of_kind[name]


def read(path: Path) -> dict[str, Question]:
    """One file, which `quiz_rules` has found good: tests and the builder ask it."""
    data = json.loads(path.read_text(encoding="utf-8"))
    found = [
        *data["questions"],
        *map(_as_question, data.get("predictions", ())),
        *({**raw, "kind": "estimate", "feedback": raw["because"]} for raw in data.get("estimates", ())),
        *({**raw, "kind": "explanation"} for raw in data.get("explanations", ())),
    ]
    return {raw["id"]: _made(raw, data["lesson"]) for raw in found}


def _as_question(raw: dict[str, Any]) -> dict[str, Any]:
    """A prediction has one reason, whatever was guessed; its options are shown as they are written."""
    because, answer = raw["because"], raw["answer"]
    if "options" not in raw:
        return {**raw, "kind": "number", "feedback": because, "wrong_feedback": because}
    options = [{"text": one, "correct": one == answer, "feedback": because} for one in raw["options"]]
    told = {"kind": "single", "options": options, "keep_order": True, "feedback": because, "answer": None}
    return {**raw, **told}


def _made(raw: dict[str, Any], topic: str) -> Question:
    parts = {
        "options": tuple(Option(**one) for one in raw.get("options", ())),
        "near": tuple(Near(**one) for one in raw.get("near", ())),
        "points": tuple(raw.get("points", ())),
    }
    known = {key: value for key, value in raw.items() if key != "because"}
    return Question(**{**known, **parts}, lesson=topic)


# ---- marking


class Remark(NamedTuple):
    """What is said about one chosen option or about the number; `label` is the option's letter."""

    good: bool
    label: str
    text: str


class Feedback(NamedTuple):
    """The verdict on one answer; an estimate's `word` says how close it is.

    In a classroom `correct` stays None until the second vote.
    """

    correct: bool | None
    remarks: list[Remark]
    misconception: str | None = None
    word: str = ""


def mark(question: Question, answer: Answer) -> Feedback:
    """Mark an answer that `received` has let through."""
    if question.kind == "estimate":
        correct, word = by_factor(answer, question.answer)
        return Feedback(correct, [Remark(True, "", question.feedback)], word=word)
    if question.kind == "number":
        return _mark_number(question, answer)
    chosen = [answer] if question.kind == "single" else answer
    picked = [(letter, option) for letter, place, option in question.shown if place in chosen]
    remarks = [Remark(option.correct, letter, option.feedback) for letter, option in picked]
    missing = len(set(question.right) - set(chosen))
    wrong = [option for _, option in picked if not option.correct]
    if question.kind == "several" and missing:
        what = "One right answer is" if missing == 1 else f"{missing} right answers are"
        remarks.append(Remark(False, "", f"{what} still missing."))
    diagnosed = next((option.diagnoses for option in wrong if option.diagnoses), None)
    return Feedback(not wrong and not missing, remarks, diagnosed)


def _mark_number(question: Question, number: float) -> Feedback:
    if within(number, question.answer, question.tolerance):
        return Feedback(True, [Remark(True, "", question.feedback)])
    for near in question.near:
        if within(number, near.value, near.tolerance):
            return Feedback(False, [Remark(False, "", near.feedback)], near.diagnoses)
    return Feedback(False, [Remark(False, "", question.wrong_feedback)])


def within(number: float, target: float, tolerance: float) -> bool:
    """Whether a number is close enough, with room for binary rounding."""
    return abs(number - target) <= tolerance + SLACK * max(1.0, abs(target))


def by_factor(guess: float, truth: float) -> tuple[bool, str]:
    """Whether an estimate is within a factor of 2, and how close it is: it is for the order of magnitude.

    >>> by_factor(300, 1000)
    (False, 'Within 10 ×: off by a factor of 3.3')
    """
    if guess * truth <= 0:
        return guess == truth, "Exactly" if guess == truth else "Another sign, or zero"
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


def received(question: Question, sent: object) -> Answer:
    """An answer in its proper form, or an error whose text asks the learner for one."""
    if question.kind in ("number", "estimate"):
        return read_number(str(sent))
    if sent is None:
        raise ValueError("Choose an answer first.")
    if sent == []:
        raise ValueError("Tick at least one answer first.")
    return sent


def read_number(text: str) -> float:
    """A number as people write it.

    >>> read_number("0,5"), read_number("1/8"), read_number("−2e-3"), read_number("1 000")
    (0.5, 0.125, -0.002, 1000.0)
    >>> read_number("8,000")
    Traceback (most recent call last):
    ValueError: Is that 8000 or 8.000? Write it without the comma.
    """
    tidy = re.sub(r"(?<=\d)[\s_'’](?=\d{3}\b)", "", text.strip()).replace("−", "-").replace("–", "-")
    if THOUSANDS.fullmatch(tidy):
        raise ValueError(
            f"Is that {tidy.replace(',', '')} or {tidy.replace(',', '.', 1).replace(',', '')}? "
            "Write it without the comma."
        )
    top, slash, bottom = tidy.replace(",", ".").partition("/")
    try:
        number = float(top) / (float(bottom) if slash else 1)
    except ZeroDivisionError:
        raise ValueError("Nothing can be divided by 0.") from None
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("Type a number, such as 0.5 or 1/8.")
    return number
