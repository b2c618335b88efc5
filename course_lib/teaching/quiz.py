"""A quiz in the notebook: the page asks, the kernel marks.

    >>> quiz("08", "closing")           # as the last line of a cell
    Quiz('08', 'closing', 6 questions)

The first try is what the score counts; learners may try as often as they like. With `classroom=True`, or with
COURSE_CLASSROOM=1, a first vote gets no feedback: people discuss, vote again, and see both votes.

`quiz("08", "recall")` draws on the lesson before, on the one three lessons back, and on what this learner
got wrong earlier and has not put right.
"""

from __future__ import annotations

import threading
from typing import Any

import anywidget
import traitlets

from course_lib import runtime
from course_lib.teaching import progress
from course_lib.teaching.lessons import lessons
from course_lib.teaching.maths import inline_html
from course_lib.teaching.questions import (
    Answer,
    Feedback,
    Question,
    Remark,
    files,
    mark,
    questions,
    received,
    used_for,
)
from course_lib.teaching.quiz_still import still_html
from course_lib.teaching.static import CARD_STYLE, static_text

TITLES = {"recall": "What do you remember?", "closing": "Closing quiz"}
DISCUSS = "Discuss with a neighbour, then vote again."
LATER = "later"  # the use of questions that a lesson leaves to the lessons after it
MOST_MISSES = 2


def quiz(lesson: str, use: str, *, classroom: bool | None = None) -> Quiz:
    """The questions of lesson "08" for one place in it: "recall", "closing" or a section's name."""
    if classroom is None:
        classroom = runtime.switched_on("COURSE_CLASSROOM")
    chosen = recalled(lesson) if use == "recall" else used_for(lesson, use)
    return Quiz(lesson, use, chosen, classroom=classroom)


def recalled(lesson: str) -> list[Question]:
    """Two questions of the lesson before, one of three lessons back, and this learner's own misses.

    Where those lessons are not there yet, the lesson's own questions for "recall" stand in.
    """
    asked = {path.parent.name[:2]: questions(path.parent.name[:2]) for path in files()}
    numbers = [one.number for one in lessons()]
    place = numbers.index(lesson)

    def left_by(back: int) -> list[Question]:
        there = asked.get(numbers[place - back], {}) if place >= back else {}
        return [one for one in there.values() if one.use == LATER]

    chosen = [*left_by(1)[:2], *left_by(3)[-1:]]
    if len(chosen) < 2:
        chosen += [one for one in asked.get(lesson, {}).values() if one.use == "recall"]
    earlier = {name: one for number in numbers[:place] for name, one in asked.get(number, {}).items()}
    missed = [earlier[name] for name in progress.read().missed if name in earlier]
    chosen += [one for one in missed if one not in chosen][:MOST_MISSES]
    return chosen or used_for(lesson, "recall")


class Quiz(anywidget.AnyWidget):
    """The widget. `states` tells the page how each question stands; `tries` are the answers, oldest first."""

    _esm = static_text("card.js", "quiz.js")
    _css = CARD_STYLE

    payload = traitlets.Dict().tag(sync=True)
    states = traitlets.Dict().tag(sync=True)

    def __init__(self, lesson: str, use: str, asked: list[Question], *, classroom: bool = False):
        self.questions = {question.id: question for question in asked}
        self.tries: dict[str, list[Answer]] = {name: [] for name in self.questions}
        self._name = (lesson, use)
        self._classroom = classroom
        self._lock = threading.Lock()  # widget messages may come on a second thread of the kernel
        super().__init__()
        self.payload = {
            "title": self.title,
            "classroom": classroom,
            "questions": [question_payload(question) for question in asked],
        }
        self.on_msg(self._hear)

    @property
    def title(self) -> str:
        return f"{TITLES.get(self._name[1], 'Quick check')} · {_counted(self.questions)}"

    def answer(self, name: str, answer: object) -> Feedback:
        """Answer as a learner would: an option's place in the file, a list of places, or a number."""
        if name not in self.questions:
            raise ValueError(f"No question {name!r} here. There are: {', '.join(self.questions)}.")
        question = self.questions[name]
        tried = received(question, answer)
        with self._lock:
            tries = self.tries[name]
            tries.append(tried)
            number = len(tries)
        feedback = mark(question, tried)
        progress.record(self._event(question, number, tried, feedback))
        if self._classroom and number == 1:
            feedback = Feedback(None, (Remark(True, "", f"You voted {_said(question, tried)}. {DISCUSS}"),))
        self._tell(question, feedback)
        return feedback

    @property
    def score(self) -> tuple[int, int]:
        """How many questions were right at the first try, and how many there are."""
        first = [mark(self.questions[name], tries[0]) for name, tries in self.tries.items() if tries]
        return sum(bool(feedback.correct) for feedback in first), len(self.questions)

    def _hear(self, widget: object, content: Any, buffers: object) -> None:
        """The page sends {"question": id, "answer": places or text}; what cannot be read is asked again."""
        name = content.get("question") if isinstance(content, dict) else None
        if name not in self.questions:
            return
        try:
            self.answer(name, content.get("answer"))
        except ValueError as error:
            state = self.states.get(name, {"tries": 0})
            self.states = {**self.states, name: {**state, "note": str(error), "asked": asked_again(state)}}

    def _tell(self, question: Question, feedback: Feedback) -> None:
        tries = self.tries[question.id]
        said = {remark.label for remark in feedback.remarks}
        others = [
            Remark(option.correct, question.letter(place), option.feedback)
            for place in question.order
            if (option := question.options[place]) and question.letter(place) not in said
        ]
        first = mark(question, tries[0]).correct
        state = {
            "tries": len(tries),
            "answer": tries[-1],
            "correct": feedback.correct,
            "first": first if feedback.correct is not None else None,
            "remarks": [_page(remark) for remark in feedback.remarks],
            "others": [_page(remark) for remark in others] if feedback.correct else [],
            "votes": [_said(question, one) for one in tries[:2]] if self._classroom else [],
            "note": "",
            "asked": asked_again(self.states.get(question.id, {})),
        }
        self.states = {**self.states, question.id: state}

    def _event(self, question: Question, number: int, answer: Answer, feedback: Feedback) -> dict[str, Any]:
        event = {
            "kind": "quiz",
            "lesson": question.lesson,
            "name": question.id,
            "first_try": number == 1 and self._name[1] != "recall",
            "correct": feedback.correct,
            "answer": answer,
        }
        if feedback.misconception:
            event["misconception"] = feedback.misconception
        if self._classroom and number <= 2:
            event["vote"] = number
        return event

    def __repr__(self) -> str:
        lesson, use = self._name
        return f"Quiz({lesson!r}, {use!r}, {_counted(self.questions)})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_()
        data["text/html"] = still_html(self.title, list(self.questions.values()))
        return data, metadata


def question_payload(question: Question) -> dict[str, Any]:
    """What the page needs to ask: texts as safe HTML, options in shown order. What is right stays here."""
    return {
        "id": question.id,
        "kind": question.kind,
        "text": inline_html(question.text),
        "unit": inline_html(question.unit),
        "reread": question.reread,  # set as text by the page
        "options": [
            {
                "place": place,
                "letter": question.letter(place),
                "text": inline_html(question.options[place].text),
            }
            for place in question.order
        ],
    }


def _page(remark: Remark) -> dict[str, Any]:
    return {"good": remark.good, "label": remark.label, "html": inline_html(remark.text)}


def _said(question: Question, answer: Answer) -> str:
    """An answer in a word: the letters shown, or the number."""
    if question.kind == "number":
        return f"{answer:g}"
    chosen = [answer] if question.kind == "single" else answer
    return ", ".join(sorted(question.letter(place) for place in chosen))


def asked_again(state: dict[str, Any]) -> int:
    """A number that changes with every reply, so that the page hears an equal one too."""
    return state.get("asked", 0) + 1


def _counted(asked: dict[str, Question]) -> str:
    return f"{len(asked)} question{'s' * (len(asked) > 1)}"
