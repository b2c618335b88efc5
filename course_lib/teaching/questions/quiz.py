"""A quiz in the notebook: the page asks, the kernel marks.

    >>> quiz("08", "closing")           # as the last line of a cell
    Quiz('08', 'closing', ... questions)

The score counts the first try; learners may try as often as they like. With COURSE_CLASSROOM=1 a first vote
gets no feedback: people discuss, vote again, and see both votes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.contents import FULL, lessons
from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import (
    Feedback,
    Question,
    Remark,
    Reply,
    mark,
    questions,
    questions_for,
    read_answer,
)
from course_lib.teaching.questions.question_card import (
    QuestionCard,
    question_html,
    question_payload,
    script,
    static_html,
)
from course_lib.teaching.track import notebook_track

TITLES = {"recall": "What do you remember?", "closing": "Closing quiz"}
RUN = "<em>Run this cell to answer here.</em>"
DISCUSS = "Discuss with a neighbour, then vote again."
LATER = "later"  # the use of questions that a lesson leaves to the lessons after it
MOST_MISSES = 2


def quiz(lesson: str, use: str) -> Quiz:
    """The questions of lesson "08" for one part of it: "recall", "closing" or a section's name.

    A quiz asks about the notebook's track. Recall asks about the learner's, who may have read the lessons
    before on another one.
    """
    classroom = runtime.switched_on("COURSE_CLASSROOM")
    track, missed = notebook_track(), ()
    if use == "recall":
        learner = progress.read()
        track, missed = learner.track or track, learner.missed
    return Quiz(lesson, use, choose_questions(lesson, use, track, missed), classroom=classroom)


def choose_questions(lesson: str, use: str, track: str = FULL, missed: Sequence[str] = ()) -> list[Question]:
    """The lesson's own questions for this use; for "recall", two that the lesson before left for later, one
    from three lessons back, and a few that this learner `missed`. If those lessons left too few, the lesson's
    own questions for "recall" are added, and then those that other lessons left."""
    if use != "recall":
        return questions_for(lesson, use, track)
    numbers = [row.number for row in lessons()]
    by_lesson = [questions(number) for number in numbers[: numbers.index(lesson)]]
    later = [
        [question for question in asked.values() if question.use == LATER and question.is_on(track)]
        for asked in by_lesson
    ]
    chosen = [question for asked in later[-1:] for question in asked[:2]]
    chosen += [question for asked in later[-3:-2] for question in asked[-1:]]
    if len(chosen) < 2:
        chosen += [item for item in questions(lesson).values() if item.use == use and item.is_on(track)]
    if len(chosen) < 2:
        chosen += [question for asked in reversed(later) for question in asked if question not in chosen][:2]
    earlier = {name: question for asked in by_lesson for name, question in asked.items()}
    again = [earlier[name] for name in missed if name in earlier and earlier[name] not in chosen]
    return [*chosen, *again[:MOST_MISSES]]


class Quiz(QuestionCard):
    """`state` holds what the page shows of each question, `tries` the answers, oldest first."""

    _esm = script("quiz.js")

    def __init__(self, lesson: str, use: str, asked: list[Question], *, classroom: bool = False):
        self.questions = {question.id: question for question in asked}
        self.tries: dict[str, list[Reply]] = {name: [] for name in self.questions}
        self._lesson, self._use, self._classroom = lesson, use, classroom
        self._count_text = f"{len(asked)} question{'s' * (len(asked) > 1)}"
        self.title = f"{TITLES.get(use, 'Quick check')} · {self._count_text}"
        payloads = [question_payload(question) for question in asked]
        super().__init__({"title": self.title, "classroom": classroom, "questions": payloads}, self._receive)

    def answer(self, name: str, answer: object) -> Feedback:
        """Answer as a learner would: the index of an option, a list of indices, or a number."""
        question, tries = self.questions[name], self.tries[name]
        tries.append(read_answer(question, answer))
        feedback = mark(question, tries[-1])
        progress.record(self._event(question, feedback))
        if self._classroom and len(tries) == 1:
            voted = f"You voted {_answer_text(question, tries[0])}. {DISCUSS}"
            feedback = Feedback(None, [Remark(True, "", voted)])
        self._update(name, question_state(question, tries, feedback, classroom=self._classroom))
        return feedback

    def _receive(self, content: dict[str, Any]) -> None:
        """The page sends {"question": id, "answer": indices or text}; it is asked again if unreadable."""
        name = content.get("question")
        if not isinstance(name, str) or name not in self.questions:
            return  # not from our page
        try:
            self.answer(name, content.get("answer"))
        except ValueError as error:
            before = self.state.get(name, {"tries": 0})
            self._update(name, {**before, "note": str(error)})

    def _update(self, name: str, question_state: dict[str, Any]) -> None:
        self.state = {**self.state, name: {**question_state, "asked": next(self.replies)}}

    def _event(self, question: Question, feedback: Feedback) -> dict[str, Any]:
        number = len(self.tries[question.id])
        event = {
            "kind": "quiz",
            "lesson": question.lesson,
            "name": question.id,
            "first_try": number == 1 and self._use != "recall",
            "correct": feedback.correct,
            "answer": self.tries[question.id][-1],
        }
        if feedback.misconception:
            event["misconception"] = feedback.misconception
        if self._classroom and number <= 2:
            event["vote"] = number
        return event

    def __repr__(self) -> str:
        return f"Quiz({self._lesson!r}, {self._use!r}, {self._count_text})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        """The live view, and beside it the questions as static HTML, their answers folded away."""
        data, metadata = super()._repr_mimebundle_()
        return {**data, "text/html": self.static(RUN)}, metadata

    def static(self, note: str = "", to_html: Callable[[str], str] = static_html) -> str:
        """The questions as static HTML, their answers folded away; `note` is HTML after the title."""
        folded = "".join(
            f"<li>{_folded_html(question, to_html)}</li>" for question in self.questions.values()
        )
        return f"<div><p><strong>{to_html(self.title)}</strong> {note}</p><ol>{folded}</ol></div>"


def question_state(
    question: Question, tries: Sequence[Reply], feedback: Feedback, *, classroom: bool = False
) -> dict[str, Any]:
    """What the page gets after the last try. The other options get their feedback once it is solved."""
    labels = {remark.label for remark in feedback.remarks}
    others = [
        Remark(option.correct, letter, option.feedback)
        for letter, _, option in question.shown
        if feedback.correct and letter not in labels
    ]
    return {
        "tries": len(tries),
        "answer": tries[-1],
        "correct": feedback.correct,
        "first": None if feedback.correct is None else mark(question, tries[0]).correct,
        "remarks": [_remark_payload(remark) for remark in feedback.remarks],
        "others": [_remark_payload(remark) for remark in others],
        "votes": [_answer_text(question, answer) for answer in tries[:2]] if classroom else [],
        "note": "",
    }


def _remark_payload(remark: Remark) -> dict[str, Any]:
    return {"good": remark.good, "label": remark.label, "html": inline_html(remark.text)}


def _answer_text(question: Question, answer: Reply) -> str:
    """An answer in short: the letters shown, or the number."""
    if question.kind == "number":
        return f"{answer:g}"
    return ", ".join(letter for letter, _ in question.chosen(answer))


def _folded_html(question: Question, to_html: Callable[[str], str]) -> str:
    labelled = [(letter, option) for letter, _, option in question.shown]
    answers = ""
    for label, option in labelled or [(option.text, option) for option in question.options]:
        head = to_html(f"{label} · {'✓ right' if option.correct else '✗ not quite'}")
        answers += f"<li><strong>{head}</strong>: {to_html(option.feedback)}</li>"
    reread = f"<p>Read again: {escape(question.reread)}</p>" if question.reread else ""
    folded = f"<details><summary>Answer and feedback</summary><ul>{answers}</ul>{reread}</details>"
    return question_html(question, to_html) + folded
