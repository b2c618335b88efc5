"""Quizzes and predictions as data: what a question is, and reading a lesson's quiz.json.

    >>> read_lesson("08").questions[0].id
    'dot-or-cosine'

What makes a file good is in `quiz_rules`; the format is described in docs/quizzes.md.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.teaching import quiz_rules
from course_lib.teaching.asked import Asked
from course_lib.teaching.lessons import lessons


class QuizError(ValueError):
    """A quiz file that cannot be used: which file, which question, what is wrong."""


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
    """`kind` says which fields count: options for "single" and "several", the numbers for "number"."""

    id: str
    use: str
    kind: str
    text: str
    options: tuple[Option, ...] = ()
    keep_order: bool = False
    answer: float = 0.0
    tolerance: float = 0.0
    unit: str = ""
    feedback: str = ""
    wrong_feedback: str = ""
    near: tuple[Near, ...] = ()
    reread: str = ""

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
        return quiz_rules.LETTERS[self.order.index(place)]


@dataclass(frozen=True)
class LessonQuiz:
    """All that one lesson asks; `topic` is the lesson's name in the progress."""

    topic: str
    questions: tuple[Question, ...]
    predictions: tuple[Asked, ...] = ()

    def used_for(self, use: str) -> tuple[Question, ...]:
        """The questions for one place in the lesson, such as "recall" or "closing"."""
        chosen = tuple(question for question in self.questions if question.use == use)
        if not chosen:
            there = ", ".join(sorted({question.use for question in self.questions}))
            raise QuizError(f"Lesson {self.topic} has no questions for {use!r}. It has some for: {there}.")
        return chosen

    def asked(self, name: str) -> Asked:
        """One prediction by its id."""
        for asked in self.predictions:
            if asked.id == name:
                return asked
        there = ", ".join(asked.id for asked in self.predictions) or "none"
        raise QuizError(f"Lesson {self.topic} has no prediction {name!r}. There are: {there}.")


def read_lesson(lesson: str) -> LessonQuiz:
    """The questions of a lesson by its number: `read_lesson("08")`."""
    found = {path.parent.name[:2]: path for path in files()}
    if lesson not in found:
        raise QuizError(f"There is no quiz for lesson {lesson!r}. Lessons with one: {', '.join(found)}.")
    return read(found[lesson])


def files() -> list[Path]:
    """The quiz files of the course, in the order of the lessons."""
    return [one.folder / "quiz.json" for one in lessons() if (one.folder / "quiz.json").exists()]


def read(path: Path) -> LessonQuiz:
    """One quiz file, checked: all that is wrong with it is said at once."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise QuizError(f"{_shown(path)} is not JSON: {error}.") from error
    if found := list(quiz_rules.problems(data)):
        raise QuizError(
            "\n".join([f"{_shown(path)} cannot be used:", *(f"- {problem}" for problem in found)])
        )
    return LessonQuiz(
        topic=data["lesson"],
        questions=tuple(_question(raw) for raw in data["questions"]),
        predictions=tuple(_asked(raw) for raw in data.get("predictions", ())),
    )


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _asked(raw: dict[str, Any]) -> Asked:
    return Asked(
        id=raw["id"],
        text=raw["text"],
        answer=raw["answer"],
        because=raw["because"],
        options=tuple(raw.get("options", ())),
        tolerance=raw.get("tolerance", 0.0),
        unit=raw.get("unit", ""),
        preset=raw.get("preset"),
    )


def _question(raw: dict[str, Any]) -> Question:
    return Question(
        id=raw["id"],
        use=raw["use"],
        kind=raw["kind"],
        text=raw["text"],
        options=tuple(
            Option(option["text"], option["correct"], option["feedback"], option.get("diagnoses"))
            for option in raw.get("options", ())
        ),
        keep_order=raw.get("keep_order", False),
        answer=raw.get("answer", 0.0),
        tolerance=raw.get("tolerance", 0.0),
        unit=raw.get("unit", ""),
        feedback=raw.get("feedback", ""),
        wrong_feedback=raw.get("wrong_feedback", ""),
        near=tuple(
            Near(near["value"], near["tolerance"], near["feedback"], near.get("diagnoses"))
            for near in raw.get("near", ())
        ),
        reread=raw.get("reread", ""),
    )
