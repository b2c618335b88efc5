"""Quizzes that answer in the page, without a kernel.

    >>> quiz_html("08", "closing")          # goes into the page, which loads the files of `page_files`
    '<div class="course-quiz-page"><div><p><strong>Closing quiz · ...

The card of the notebooks asks, and static/quiz_page.js replaces the kernel. It doesn't mark: this module
computes the reply to each possible answer with the code that marks in a notebook. Without scripts, the
questions remain as static HTML with folded answers. Nothing is recorded.
"""

from __future__ import annotations

import json
import math
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import Question, Reply, mark, read_answer
from course_lib.teaching.questions.question_card import STYLE, script
from course_lib.teaching.questions.quiz import Quiz, choose_questions, question_state

STATIC = Path(__file__).with_name("static")


def quiz_html(number: str, use: str) -> str:
    """The quiz of lesson "08" for one part of it, as `quiz` would ask a new learner on the full track."""
    quiz = Quiz(number, use, choose_questions(number, use))
    remarks: list[dict] = []
    replies = {name: possible_replies(asked, remarks) for name, asked in quiz.questions.items()}
    data = as_script_json({"payload": quiz.payload, "replies": replies, "remarks": remarks})
    return f'<div class="course-quiz-page">{quiz.static(to_html=inline_html)}{data}</div>'


def possible_replies(question: Question, remarks: list[dict]) -> Any:
    """The replies to every possible answer, by the answer's JSON. For a number: a list of (value, reach,
    reply), the first that fits applies. Remarks are added to `remarks`; a reply has their indices."""
    if question.kind == "number":
        values = [option.value for option in question.options[:-1]]
        elsewhere = 1 + 2 * sum(abs(option.value) + option.reach for option in question.options[:-1])
        return [
            [
                option.value,
                None if math.isinf(option.reach) else option.reach,
                reply(question, answer, remarks),
            ]
            for option, answer in zip(question.options, [*values, elsewhere], strict=True)
        ]
    indices = range(len(question.options))
    answers: list = [None, *indices]
    if question.kind == "several":
        subsets = chain.from_iterable(combinations(indices, size) for size in range(len(indices) + 1))
        answers = [list(subset) for subset in subsets]
    return {as_key(answer): reply(question, answer, remarks) for answer in answers}


def reply(question: Question, answer: Reply | None, remarks: list[dict]) -> dict[str, Any]:
    """The state after an answer as first try, or the note that asks for another answer."""
    try:
        read = read_answer(question, answer)
    except ValueError as error:
        return {"note": str(error)}
    state = question_state(question, [read], mark(question, read))
    for remark in chain(state["remarks"], state["others"]):
        if remark not in remarks:
            remarks.append(remark)
    numbered = {name: [remarks.index(remark) for remark in state[name]] for name in ("remarks", "others")}
    return {"correct": state["correct"], "votes": state["votes"], **numbered}


def as_key(answer: Reply | None) -> str:
    """As JavaScript writes it.

    >>> as_key([0, 2])
    '[0,2]'
    """
    return json.dumps(answer, separators=(",", ":"))


def as_script_json(data: Any) -> str:
    """JSON in a script element. A `<` could end the script, and a `$` start a formula: both are escaped."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace("$", "\\u0024")
    return f'<script type="application/json">{text}</script>'


def page_files() -> dict[str, str]:
    """The files of static/ by name, with what they share with the cards of a notebook put before them."""
    files = {path.name: path.read_text(encoding="utf-8") for path in STATIC.glob("*.*")}
    widget, stand_in = script("quiz.js").replace("export default ", "const widget = "), files["quiz_page.js"]
    # A plain script, not a module: browsers load no modules from a folder that is opened without a server.
    return files | {
        "quiz_page.js": f"(() => {{\n{widget}\n{stand_in}}})();\n",
        "cards.css": STYLE + files["cards.css"],
    }
