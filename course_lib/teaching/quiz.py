"""A quiz in the notebook: it marks in the page, and the kernel hears every answer.

    >>> quiz("08", "closing")           # as the last line of a cell
    Quiz('08', 'closing', 6 questions)

The first try is what the score counts; learners may try as often as they like. With `classroom=True`, or with
COURSE_CLASSROOM=1, a first vote gets no feedback: people discuss, vote again, and see both votes.
"""

from __future__ import annotations

import threading
from typing import Any

import anywidget
import traitlets

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.maths import inline_html
from course_lib.teaching.quiz_data import LessonQuiz, Question, read_lesson
from course_lib.teaching.quiz_marking import Answer, Feedback, Remark, checked, mark
from course_lib.teaching.quiz_still import still_html
from course_lib.teaching.static import static_text

TITLES = {"recall": "What do you remember?", "closing": "Closing quiz"}
DISCUSS = "Discuss with a neighbour, then vote again."


def quiz(lesson: str, use: str, *, classroom: bool | None = None) -> Quiz:
    """The questions of lesson "08" for one place in it: "recall", "closing" or a section's name."""
    if classroom is None:
        classroom = runtime.switched_on("COURSE_CLASSROOM")
    return Quiz(lesson, use, read_lesson(lesson), classroom=classroom)


class Quiz(anywidget.AnyWidget):
    """The widget. Its whole state is `answers`: for each question id the list of tries, oldest first."""

    _esm = static_text("card.js", "quiz.js")
    _css = static_text("card.css")

    payload = traitlets.Dict().tag(sync=True)
    answers = traitlets.Dict().tag(sync=True)

    def __init__(self, lesson: str, use: str, content: LessonQuiz, *, classroom: bool = False):
        self.questions = {question.id: question for question in content.used_for(use)}
        self._name = (lesson, use)
        self._topic = content.topic
        self._classroom = classroom
        self._heard: dict[str, int] = dict.fromkeys(self.questions, 0)
        self._lock = threading.Lock()
        super().__init__()
        self.payload = {
            "title": self.title,
            "classroom": classroom,
            "discuss": DISCUSS,
            "questions": [question_payload(question) for question in self.questions.values()],
        }
        self.observe(self._hear, names="answers")

    @property
    def title(self) -> str:
        count = len(self.questions)
        return f"{TITLES.get(self._name[1], 'Quick check')} · {count} question{'s' * (count > 1)}"

    def answer(self, question: str, answer: Answer) -> Feedback:
        """Answer as a learner would: an option's place in the file, a list of places, or a number."""
        if question not in self.questions:
            raise ValueError(f"No question {question!r} here. There are: {', '.join(self.questions)}.")
        tried = checked(self.questions[question], answer)
        tries = [*self.answers.get(question, []), tried]
        self.answers = {**self.answers, question: tries}
        if self._classroom and len(tries) == 1:
            return Feedback(question, None, (Remark(True, "", DISCUSS),))
        return mark(self.questions[question], tried)

    @property
    def votes(self) -> dict[str, list[Answer]]:
        """First and second vote of each question that has been voted on (classroom)."""
        return {name: tries[:2] for name, tries in self.answers.items() if self._classroom and tries}

    @property
    def score(self) -> tuple[int, int]:
        """How many questions were right at the first try, and how many there are."""
        first = (mark(self.questions[name], tries[0]) for name, tries in self.answers.items() if tries)
        return sum(feedback.correct for feedback in first), len(self.questions)

    def _hear(self, change: dict[str, Any]) -> None:
        # Widget messages may come on a second thread of the kernel; each try is recorded once all the same.
        with self._lock:
            for name, tries in change["new"].items():
                fresh = list(enumerate(tries))[self._heard[name] :]
                self._heard[name] = max(self._heard[name], len(tries))
                for number, tried in fresh:
                    progress.record(self._event(self.questions[name], number, tried))

    def _event(self, question: Question, number: int, tried: object) -> dict[str, Any]:
        answer = checked(question, tried)
        feedback = mark(question, answer)
        event = {
            "kind": "quiz",
            "lesson": self._topic,
            "name": question.id,
            "first_try": number == 0,
            "correct": feedback.correct,
            "answer": answer,
        }
        if feedback.misconception:
            event["misconception"] = feedback.misconception
        if self._classroom and number < 2:
            event["vote"] = number + 1
        return event

    def __repr__(self) -> str:
        count = len(self.questions)
        lesson, use = self._name
        return f"Quiz({lesson!r}, {use!r}, {count} question{'s' * (count > 1)})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_()
        data["text/html"] = still_html(self.title, tuple(self.questions.values()))
        return data, metadata


def question_payload(question: Question) -> dict[str, Any]:
    """What the page needs to show and mark a question: texts as safe HTML, options in shown order."""
    payload: dict[str, Any] = {"id": question.id, "kind": question.kind, "text": inline_html(question.text)}
    if question.reread:
        payload["reread"] = question.reread  # set as text by the page
    if question.kind == "number":
        return payload | {
            "answer": question.answer,
            "tolerance": question.tolerance,
            "unit": inline_html(question.unit),
            "feedback": inline_html(question.feedback),
            "wrong_feedback": inline_html(question.wrong_feedback),
            "near": [
                {
                    "value": near.value,
                    "tolerance": near.tolerance,
                    "feedback": inline_html(near.feedback),
                    "diagnoses": near.diagnoses,
                }
                for near in question.near
            ],
        }
    payload["options"] = [
        {
            "place": place,
            "letter": question.letter(place),
            "text": inline_html(question.options[place].text),
            "correct": question.options[place].correct,
            "feedback": inline_html(question.options[place].feedback),
            "diagnoses": question.options[place].diagnoses,
        }
        for place in question.order
    ]
    return payload
