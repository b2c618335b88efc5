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
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.teaching.lessons import lessons

LETTERS = "ABCDE"  # one for each option that may be shown
SLACK = 1e-9  # rounding: 0.51 lies within 0.01 of 0.5, though not in binary
LONGEST_NUMBER = 30  # characters
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
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
    def order(self) -> list[int]:
        """The options in the order they are shown: shuffled, and the same for everybody on every day.

        An author writes the right answer first more often than not; a learner must not be able to tell.
        """
        places = range(len(self.options))
        if self.keep_order:
            return list(places)
        return sorted(places, key=lambda place: hashlib.sha256(f"{self.id}/{place}".encode()).digest())

    def letter(self, place: int) -> str:
        """The letter beside an option, given its place in the file."""
        return LETTERS[self.order.index(place)]

    @property
    def right(self) -> list[int]:
        return [place for place, option in enumerate(self.options) if option.correct]


# ---- reading


@cache
def questions(number: str) -> dict[str, Question]:
    """All that lesson "08" asks, by id."""
    for one in lessons():
        if one.number == number and (path := one.folder / "quiz.json").exists():
            return read(path)
    there = ", ".join(path.parent.name[:2] for path in files())
    raise ValueError(f"There is no quiz for lesson {number!r}. Lessons with one: {there}.")


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


def files() -> list[Path]:
    """The quiz files of the course, in the order of the lessons."""
    return [one.folder / "quiz.json" for one in lessons() if (one.folder / "quiz.json").exists()]


def read(path: Path) -> dict[str, Question]:
    """One file, which `quiz_rules` has found good: tests and the builder ask it."""
    data = json.loads(path.read_text(encoding="utf-8"))
    topic = data["lesson"]
    found = [_asked(raw, topic) for raw in data["questions"]]
    found += [_predicted(raw, topic) for raw in data.get("predictions", ())]
    found += [_estimated(raw, topic) for raw in data.get("estimates", ())]
    found += [
        Question(**{**raw, "points": tuple(raw["points"])}, lesson=topic, kind="explanation")
        for raw in data.get("explanations", ())
    ]
    return {one.id: one for one in found}


def _asked(raw: dict[str, Any], topic: str) -> Question:
    parts = {
        "options": tuple(Option(**one) for one in raw.get("options", ())),
        "near": tuple(Near(**one) for one in raw.get("near", ())),
    }
    return Question(**{**raw, **parts}, lesson=topic)


def _predicted(raw: dict[str, Any], topic: str) -> Question:
    """A prediction has one reason, whatever was guessed."""
    kept = {key: raw[key] for key in ("id", "text", "tolerance", "unit", "preset") if key in raw}
    because = raw["because"]
    made = Question(**kept, lesson=topic, kind="number", feedback=because, wrong_feedback=because)
    if "options" not in raw:
        return replace(made, answer=raw["answer"])
    options = tuple(Option(text, text == raw["answer"], because) for text in raw["options"])
    return replace(made, kind="single", options=options, keep_order=True)


def _estimated(raw: dict[str, Any], topic: str) -> Question:
    kept = {key: raw[key] for key in ("id", "text", "unit", "answer") if key in raw}
    return Question(**kept, lesson=topic, kind="estimate", feedback=raw["because"])


# ---- marking


@dataclass(frozen=True)
class Remark:
    """What is said about one chosen option or about the number; `label` is the option's letter."""

    good: bool
    label: str
    text: str


@dataclass(frozen=True)
class Feedback:
    """The verdict on one answer. In a classroom `correct` stays None until the second vote."""

    correct: bool | None
    remarks: tuple[Remark, ...]
    misconception: str | None = None
    word: str = ""

    def __str__(self) -> str:
        head = self.word or {True: "✓ Right", False: "✗ Not quite", None: "○ Vote noted"}[self.correct]
        return "\n".join([head, *(f"{remark.label}  {remark.text}".strip() for remark in self.remarks)])


def mark(question: Question, answer: Answer, *, truth: float | None = None) -> Feedback:
    """Mark an answer that `received` has let through. `truth`: what an estimate was about, once measured."""
    if question.kind == "estimate":
        return _mark_estimate(question, answer, question.answer if truth is None else truth)
    if question.kind == "number":
        return _mark_number(question, answer)
    chosen = [answer] if question.kind == "single" else answer
    picked = [
        (question.letter(place), question.options[place]) for place in question.order if place in chosen
    ]
    remarks = [Remark(option.correct, letter, option.feedback) for letter, option in picked]
    missing = len(set(question.right) - set(chosen))
    wrong = [option for _, option in picked if not option.correct]
    if question.kind == "several" and missing:
        what = "One right answer is" if missing == 1 else f"{missing} right answers are"
        remarks.append(Remark(False, "", f"{what} still missing."))
    diagnosed = next((option.diagnoses for option in wrong if option.diagnoses), None)
    return Feedback(not wrong and not missing, tuple(remarks), diagnosed)


def _mark_number(question: Question, number: float) -> Feedback:
    if within(number, question.answer, question.tolerance):
        return Feedback(True, (Remark(True, "", question.feedback),))
    for near in question.near:
        if within(number, near.value, near.tolerance):
            return Feedback(False, (Remark(False, "", near.feedback),), near.diagnoses)
    return Feedback(False, (Remark(False, "", question.wrong_feedback),))


def _mark_estimate(question: Question, guess: float, truth: float) -> Feedback:
    """By factor: an estimate is for the order of magnitude.

    >>> _mark_estimate(Question("n", "x", "estimate", "?", feedback="So."), 300, 1000).word
    'Within 10 ×: off by a factor of 3.3'
    """
    remarks = (Remark(True, "", question.feedback),)
    if guess * truth <= 0:
        same = guess == truth
        return Feedback(same, remarks, word="Exactly" if same else "Another sign, or zero")
    factor = max(guess / truth, truth / guess)
    off = f"off by a factor of {factor:.{1 if factor < 10 else 0}f}"
    word = (
        "Very close" if factor <= 1.1
        else f"Within 2 ×: {off}" if factor <= 2
        else f"Within 10 ×: {off}" if factor <= 10
        else f"More than an order of magnitude off: a factor of {factor:,.0f}"
    )  # fmt: skip
    return Feedback(factor <= 2, remarks, word=word)


def within(number: float, target: float, tolerance: float) -> bool:
    """Whether a number is close enough, with room for binary rounding."""
    return abs(number - target) <= tolerance + SLACK * max(1.0, abs(target))


# ---- what comes from the page


def received(question: Question, sent: object) -> Answer:
    """An answer in its proper form, or an error whose text asks the learner for one."""
    if question.kind in ("number", "estimate"):
        return read_number(sent) if isinstance(sent, str) else _finite(sent)
    places = [sent] if question.kind == "single" else sent
    known = range(len(question.options))
    if not isinstance(places, list) or not all(type(place) is int and place in known for place in places):
        raise ValueError("Choose an answer first.")
    if not places:
        raise ValueError("Tick at least one answer first.")
    return sent if question.kind == "single" else sorted(set(places))


def read_number(text: str) -> float:
    """A number as people write it.

    >>> read_number("0,5"), read_number("1/8"), read_number("−2e-3"), read_number("1 000")
    (0.5, 0.125, -0.002, 1000.0)
    >>> read_number("8,000")
    Traceback (most recent call last):
    ValueError: Is that 8000 or 8.000? Write it without the comma.
    """
    if len(text) > LONGEST_NUMBER:
        raise ValueError("That is too long for a number. Type one such as 0.5 or 1/8.")
    tidy = re.sub(r"(?<=\d)[\s_'’](?=\d{3}\b)", "", text.strip()).replace("−", "-").replace("–", "-")
    if THOUSANDS.fullmatch(tidy):
        raise ValueError(
            f"Is that {tidy.replace(',', '')} or {tidy.replace(',', '.', 1).replace(',', '')}? "
            "Write it without the comma."
        )
    parts = [part.strip() for part in tidy.replace(",", ".").split("/")]
    if len(parts) > 2 or not all(map(NUMBER.fullmatch, parts)):
        raise ValueError("Type a number, such as 0.5 or 1/8.")
    top, bottom = float(parts[0]), float(parts[1]) if len(parts) == 2 else 1.0
    if not bottom:
        raise ValueError("Nothing can be divided by 0.")
    return _finite(top / bottom)


def _finite(number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise ValueError("Type a number, such as 0.5 or 1/8.")
    return float(number)
