"""A quiz that stands still: for GitHub, a printed page, or a notebook that has not been run yet.

Plain HTML without style or script, because every reader's sanitiser takes something away. Formulas stay
LaTeX between dollars: JupyterLab strips MathML from a notebook it does not trust, and typesets dollars.
"""

from __future__ import annotations

from html import escape

from course_lib.teaching.maths import dollars, inline_html
from course_lib.teaching.questions import Question


def still_html(title: str, questions: list[Question]) -> str:
    """All questions with their options; answers and feedback are folded away."""
    items = "".join(f"<li>{_question(question)}</li>" for question in questions)
    head = f"<p><strong>{_set(title)}</strong> <em>Run this cell to answer here.</em></p>"
    return f"<div>{head}<ol>{items}</ol></div>"


def _question(question: Question) -> str:
    asked = f"<p>{_set(question.text)}</p>"
    if question.kind == "number":
        return asked + _folded(_number_answers(question), question)
    options = [(question.letter(place), question.options[place]) for place in question.order]
    listed = "".join(f"<li>{_set(option.text)}</li>" for _, option in options)
    answers = [(f"{letter} · {_verdict(option.correct)}", option.feedback) for letter, option in options]
    return f'{asked}<ol type="A">{listed}</ol>' + _folded(answers, question)


def _number_answers(question: Question) -> list[tuple[str, str]]:
    unit = f" {question.unit}" if question.unit else ""
    right = (f"{_number(question.answer)}{unit} · {_verdict(True)}", question.feedback)
    near = [(f"{_number(near.value)}{unit} · {_verdict(False)}", near.feedback) for near in question.near]
    return [right, *near, (f"another number · {_verdict(False)}", question.wrong_feedback)]


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) >= 1 else f"{value:.4g}"


def _folded(answers: list[tuple[str, str]], question: Question) -> str:
    lines = "".join(f"<li><strong>{_set(head)}</strong>: {_set(feedback)}</li>" for head, feedback in answers)
    reread = f"<p>Read again: {escape(question.reread)}</p>" if question.reread else ""
    return f"<details><summary>Answer and feedback</summary><ul>{lines}</ul>{reread}</details>"


def _verdict(correct: bool) -> str:
    return "✓ right" if correct else "✗ not quite"


def _set(text: str) -> str:
    return inline_html(text, formula=dollars)
