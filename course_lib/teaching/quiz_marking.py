"""Marking: a question and an answer give right or wrong, and what to say about it.

    >>> mark(question, 2).correct
    False

An answer is the option's place in the file (single), a list of places (several) or a number. The page marks
by the same rules in static/quiz.js, so that it can answer without a kernel; a test holds the two together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from course_lib.teaching.quiz_data import Question
from course_lib.teaching.quiz_rules import LETTERS, within

Answer = int | float | list[int]


@dataclass(frozen=True)
class Remark:
    """What is said about one chosen option or about the number; `label` is the option's letter."""

    good: bool
    label: str
    text: str


@dataclass(frozen=True)
class Feedback:
    """The verdict on one answer. In a classroom `correct` stays None until the second vote."""

    question: str
    correct: bool | None
    remarks: tuple[Remark, ...]
    misconception: str | None = None

    def __str__(self) -> str:
        head = {True: "✓ Right", False: "✗ Not quite", None: "○ Vote noted"}[self.correct]
        lines = [f"{remark.label}  {remark.text}".strip() for remark in self.remarks]
        return "\n".join([f"{head} · {self.question}", *lines])


def mark(question: Question, answer: Answer) -> Feedback:
    """Mark an answer that `checked` has let through."""
    if question.kind == "number":
        return _mark_number(question, answer)
    chosen = [answer] if question.kind == "single" else answer
    shown = zip(LETTERS, question.order, strict=False)
    picked = [(letter, question.options[place]) for letter, place in shown if place in chosen]
    remarks = [Remark(option.correct, letter, option.feedback) for letter, option in picked]
    missing = sum(option.correct for option in question.options) - sum(remark.good for remark in remarks)
    wrong = [option for _, option in picked if not option.correct]
    if question.kind == "several" and missing:
        remarks.append(Remark(False, "", _missing(missing)))
    diagnosed = next((option.diagnoses for option in wrong if option.diagnoses), None)
    return Feedback(question.id, not wrong and not missing, tuple(remarks), diagnosed)


def _mark_number(question: Question, number: float) -> Feedback:
    if within(number, question.answer, question.tolerance):
        return Feedback(question.id, True, (Remark(True, "", question.feedback),))
    for near in question.near:
        if within(number, near.value, near.tolerance):
            return Feedback(question.id, False, (Remark(False, "", near.feedback),), near.diagnoses)
    return Feedback(question.id, False, (Remark(False, "", question.wrong_feedback),))


def _missing(count: int) -> str:
    return "One right answer is still missing." if count == 1 else f"{count} right answers are still missing."


def checked(question: Question, answer: object) -> Answer:
    """The answer in its proper form, or an error that says what this question expects."""
    last = len(question.options) - 1
    if question.kind == "number":
        if not _is_number(answer) or not math.isfinite(answer):
            raise ValueError(f"Question {question.id!r} wants a number, got {answer!r}.")
        return float(answer)
    if question.kind == "single":
        if not _is_place(answer, last):
            raise ValueError(f"Question {question.id!r} wants one option, 0 to {last}, got {answer!r}.")
        return answer
    if not isinstance(answer, list) or not answer or not all(_is_place(place, last) for place in answer):
        raise ValueError(f"Question {question.id!r} wants a list of options, 0 to {last}, got {answer!r}.")
    return sorted(set(answer))


def _is_number(answer: object) -> bool:
    return isinstance(answer, int | float) and not isinstance(answer, bool)


def _is_place(answer: object, last: int) -> bool:
    return isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer <= last
