"""Where a class is: the state of every learner at every checkpoint, and what the class got wrong.

A checkpoint is an exercise, in the order of the course. A learner is *done* there after one passed check,
and *stuck* after at least two failed checks without a pass; after one failed check, they have *tried once*.
An exercise that a learner's track leaves out counts as *not in track*, unless they tried it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from course_lib.teaching.contents import SHORT, Lesson, Misconception, lessons
from course_lib.teaching.progress import STRETCH
from course_lib.teaching.questions.question import Question, mark, questions, read_answer
from tools.class_view.export import Export

DONE, STUCK, TRIED = "done", "stuck", "tried once"
NOT_STARTED, NOT_IN_TRACK = "not started", "not in track"
STATES = (DONE, STUCK, TRIED, NOT_STARTED, NOT_IN_TRACK)
FAILURES_UNTIL_STUCK = 2


class Checkpoint(NamedTuple):
    """`track` is the first track that includes the exercise: short, core or stretch."""

    lesson: Lesson
    name: str
    track: str

    @property
    def label(self) -> str:
        return f"{self.lesson.label}, {self.name}"

    def is_on(self, track: str) -> bool:
        return track != SHORT or self.track == SHORT


@cache
def checkpoints() -> tuple[Checkpoint, ...]:
    return tuple(
        Checkpoint(lesson, name, track) for lesson in lessons() for name, track in lesson.exercises.items()
    )


@dataclass(frozen=True)
class Learner:
    """A learner's export, the number of failed checks, and the state at each checkpoint."""

    export: Export
    failures: Counter[str]
    states: dict[Checkpoint, str]

    @property
    def track(self) -> str:
        return self.export.progress.track

    @cached_property
    def position(self) -> Checkpoint | None:
        """Where the learner is working; None after the last exercise.

        It is the first exercise that is not done, counted from the one checked last, or from the beginning of
        the lesson if that was opened later. Exercises marked as stretch can be skipped.
        """
        all_checkpoints = checkpoints()
        by_name = {checkpoint.name: index for index, checkpoint in enumerate(all_checkpoints)}
        by_lesson: dict[str, int] = {}
        for index, checkpoint in enumerate(all_checkpoints):
            by_lesson.setdefault(checkpoint.lesson.topic, index)
        start = 0
        for event in self.export.progress.events:
            if event["kind"] == "exercise":
                start = by_name.get(event["name"], start)
            elif event["kind"] == "lesson" and event["lesson"] != all_checkpoints[start].lesson.topic:
                start = by_lesson.get(event["lesson"], start)
        for checkpoint in all_checkpoints[start:]:
            required = checkpoint.is_on(self.track) and checkpoint.track != STRETCH
            if self.states[checkpoint] in (STUCK, TRIED) or (required and self.states[checkpoint] != DONE):
                return checkpoint
        return None


def learner_of(export: Export) -> Learner:
    checks = [event for event in export.progress.events if event["kind"] == "exercise"]
    passed = {event["name"] for event in checks if event.get("status") == "passed"}
    failures = Counter(event["name"] for event in checks if event.get("status") == "wrong")

    def state(checkpoint: Checkpoint) -> str:
        if checkpoint.name in passed:
            return DONE
        if failures[checkpoint.name]:
            return STUCK if failures[checkpoint.name] >= FAILURES_UNTIL_STUCK else TRIED
        return NOT_STARTED if checkpoint.is_on(export.progress.track) else NOT_IN_TRACK

    return Learner(export, failures, {checkpoint: state(checkpoint) for checkpoint in checkpoints()})


class ClassMisconception(NamedTuple):
    """How many learners showed a misconception, and how many of them have corrected it since."""

    misconception: Misconception
    n_shown: int
    n_corrected: int


class QuestionResult(NamedTuple):
    """The first answers to a question, and the second votes in a classroom: right or wrong, and what.

    `first_choices` and `second_choices` count the options that were chosen, by their index.
    """

    lesson: Lesson
    question: Question
    first: tuple[bool, ...]
    second: tuple[bool, ...]
    first_choices: Counter[int]
    second_choices: Counter[int]

    @property
    def n_wrong(self) -> int:
        return self.first.count(False)


class LessonSummary(NamedTuple):
    """`quiz` and `predictions` are the first answers, right or wrong; `n_goals` counts those of all."""

    lesson: Lesson
    n_opened: int
    n_complete: int
    quiz: tuple[bool, ...]
    predictions: tuple[bool, ...]
    n_goals: int


@dataclass(frozen=True)
class ClassSummary:
    learners: tuple[Learner, ...]

    def counts(self, checkpoint: Checkpoint) -> Counter[str]:
        """How many learners are in each state; the sum is the number of learners."""
        return Counter(learner.states[checkpoint] for learner in self.learners)

    @property
    def has_tracks(self) -> bool:
        """Whether some learners are on the short track, which leaves exercises out."""
        return any(learner.track == SHORT for learner in self.learners)

    def stuck_at(self, checkpoint: Checkpoint) -> list[Learner]:
        return [learner for learner in self.learners if learner.states[checkpoint] == STUCK]

    def n_stuck_now(self, checkpoint: Checkpoint) -> int:
        """How many of them still work there, and have not moved on."""
        return sum(learner.position == checkpoint for learner in self.stuck_at(checkpoint))

    @cached_property
    def stuck(self) -> list[Checkpoint]:
        """The checkpoints where someone is stuck; those where most learners are stuck now come first."""
        stuck = [checkpoint for checkpoint in checkpoints() if self.stuck_at(checkpoint)]
        return sorted(stuck, key=lambda one: (-self.n_stuck_now(one), -len(self.stuck_at(one))))

    @cached_property
    def positions(self) -> Counter[Checkpoint | None]:
        """How many learners work at each checkpoint; None counts those who have finished."""
        return Counter(learner.position for learner in self.learners)

    @cached_property
    def front(self) -> Checkpoint | None:
        """The checkpoint where most learners are; of several, the earliest. None if most have finished."""
        return max([*checkpoints(), None], key=lambda checkpoint: self.positions[checkpoint])

    @cached_property
    def misconceptions(self) -> list[ClassMisconception]:
        """Those that most learners have not corrected yet come first."""
        shown, corrected, by_id = Counter(), Counter(), {}
        for learner in self.learners:
            for item in learner.export.progress.misconceptions:
                by_id[item.misconception.id] = item.misconception
                shown[item.misconception.id] += 1
                corrected[item.misconception.id] += item.put_right
        rows = [ClassMisconception(by_id[id], shown[id], corrected[id]) for id in sorted(by_id)]
        return sorted(rows, key=lambda row: (row.n_corrected - row.n_shown, -row.n_shown))

    @cached_property
    def questions(self) -> list[QuestionResult]:
        """The questions that were answered; those that most learners got wrong at first come first."""
        answers: dict[tuple[str, int], list] = {}  # by question and vote: one answer of each learner
        for learner in self.learners:
            for key, answer in first_answers(learner).items():
                answers.setdefault(key, []).append(answer)
        rows = [
            _question_result(lesson, question, answers)
            for lesson in lessons()
            for question in questions(lesson.number).values()
            if question.use  # predictions, estimates and explanations have none
        ]
        return sorted((row for row in rows if row.first or row.second), key=lambda row: -row.n_wrong)

    @cached_property
    def lessons(self) -> list[LessonSummary]:
        return [self._lesson_summary(lesson) for lesson in lessons()]

    def _lesson_summary(self, lesson: Lesson) -> LessonSummary:
        rows = [learner.export.progress.lesson(lesson.topic) for learner in self.learners]
        quiz = [right for row in self.questions if row.lesson == lesson for right in row.first]
        predictions: list[bool] = []
        n_goals = 0
        for learner in self.learners:
            events = [
                event for event in learner.export.progress.events if event.get("lesson") == lesson.topic
            ]
            n_goals += len({event["name"] for event in events if event["kind"] == "goal"})
            guesses = [event for event in events if event["kind"] in ("prediction", "estimate")]
            first = {event["name"]: event.get("correct") is True for event in reversed(guesses)}
            predictions += first.values()
        return LessonSummary(
            lesson,
            sum(row.opened for row in rows),
            sum(row.complete for row in rows),
            tuple(quiz),
            tuple(predictions),
            n_goals,
        )


def first_answers(learner: Learner) -> dict[tuple[str, int], object]:
    """The learner's first answer to each question, and the first second vote: by question and vote."""
    answers: dict[tuple[str, int], object] = {}
    for event in learner.export.progress.events:
        if event["kind"] == "quiz" and "answer" in event:
            vote = event.get("vote") or (1 if event.get("first_try") else 0)
            if vote:
                answers.setdefault((event["name"], vote), event["answer"])
    return answers


def _question_result(lesson: Lesson, question: Question, answers: dict) -> QuestionResult:
    (first, first_choices), (second, second_choices) = (
        _marked(question, answers.get((question.id, vote), ())) for vote in (1, 2)
    )
    return QuestionResult(lesson, question, first, second, first_choices, second_choices)


def _marked(question: Question, answers: Sequence[object]) -> tuple[tuple[bool, ...], Counter[int]]:
    """Whether each answer is right, and how often each option was chosen.

    An answer that doesn't fit the question, perhaps from another version of the course, is left out.
    """
    right, choices = [], Counter()
    for answer in answers:
        try:
            reply = read_answer(question, answer)
        except ValueError:
            continue
        right.append(mark(question, reply).correct)
        if question.kind == "number":
            options = [next(i for i, option in enumerate(question.options) if option.fits(reply))]
        else:
            options = [reply] if question.kind == "single" else reply
        choices.update({int(index) for index in options})
    return tuple(right), choices
