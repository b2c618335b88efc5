"""Quizzes and predictions that answer in the page, without a kernel.

    >>> quiz_html("08", "closing")          # goes into the page, which loads the files of `page_files`
    '<div class="course-quiz-page"><div><p><strong>Closing quiz · ...

The cards of the notebooks ask, and static/quiz_page.js replaces the kernel. It doesn't mark: this module
computes the reply to each possible answer with the code that marks in a notebook. Without scripts, the
questions remain as static HTML with folded answers. Nothing is recorded.
"""

from __future__ import annotations

import json
import math
import re
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching.questions.guess import guess_payload
from course_lib.teaching.questions.markup import inline_html
from course_lib.teaching.questions.question import Option, Question, Reply, mark, mark_by_factor, read_answer
from course_lib.teaching.questions.question_card import STATIC as CARDS
from course_lib.teaching.questions.question_card import STYLE, question_html
from course_lib.teaching.questions.quiz import Quiz, choose_questions, question_state
from tools.site.formulas import with_mathml

STATIC = Path(__file__).with_name("static")
EXPLORE = PROJECT_ROOT / "course_lib" / "explore"
ANSWER = re.compile(
    r'<div class="course-actual"><p><strong>[^<]*</strong> (.*?)</p><p>(.*?)</p>(<img.*)?</div>', re.S
)
NUMBER = re.compile(r"[\d.,]+")


def quiz_html(number: str, use: str) -> str:
    """The quiz of lesson "08" for one part of it, as `quiz` would ask a new learner on the full track."""
    quiz = Quiz(number, use, choose_questions(number, use))
    remarks: list[dict] = []
    replies = {name: possible_replies(asked, remarks) for name, asked in quiz.questions.items()}
    data = as_script_json({"payload": quiz.payload, "replies": replies, "remarks": remarks})
    return f'<div class="course-quiz-page">{quiz.static(to_html=inline_html)}{data}</div>'


def guess_html(asked: Question, figure: str, answer: str) -> str:
    """A prediction or an estimate. Until the guess, the page covers the figure and the `answer`, which is the
    one that the builder stored; without scripts, the answer is folded."""
    answer = with_mathml(answer)
    truth, because, image = ANSWER.fullmatch(answer).groups()
    payload = guess_payload(asked, "Figure" if figure or image else "")
    opened = {"opened": True, "truth": truth, "because": because, "guess": None}
    seen = {"look": "seen", "word": f"Shown without your {payload['kind']}"}
    data = {"payload": payload, "replies": guess_replies(asked, truth), "opened": opened | seen}
    folded = f'<details class="course-answer"><summary>Answer</summary>{answer}</details>'
    question = question_html(asked, inline_html, title=f"{payload['title']}.")
    return (
        f'<div class="course-guess-page"><div>{question}</div>'
        f'<div class="course-covered">{figure}{folded}</div>{as_script_json(data)}</div>'
    )


def guess_replies(asked: Question, truth: str) -> Any:
    """How a guess is called and looks, for every possible one, in the form of `possible_replies`."""
    if asked.kind == "estimate":
        value = float(NUMBER.match(truth)[0].replace(",", ""))
        table = []
        for inside, factor in ((1, 1.1), (1.5, 2), (5, 10)):  # the steps of `mark_by_factor`
            correct, word = mark_by_factor(value * inside, value)
            least, most = value / factor, value * factor
            table.append([(least + most) / 2, (most - least) / 2, called(correct, word.partition(":")[0])])
        return [*table, [0, None, called(False, "Off by more than a factor of 10")]]
    replies = [called(option.correct) for option in asked.options]
    if asked.kind == "number":
        return [
            [option.value, reach_of(option), reply]
            for option, reply in zip(asked.options, replies, strict=True)
        ]
    return {as_key(index): reply for index, reply in enumerate(replies)}


def called(correct: bool, word: str = "") -> dict[str, str]:
    if correct:
        return {"look": "right", "word": word or "As you predicted"}
    return {"look": "wrong", "word": word or "Not what you predicted"}


def reach_of(option: Option) -> float | None:
    """How far a number may be from the option's; None for "any other"."""
    return None if math.isinf(option.reach) else option.reach


def possible_replies(question: Question, remarks: list[dict]) -> Any:
    """The replies to every possible answer, by the answer's JSON. For a number: a list of (value, reach,
    reply), the first that fits applies. Remarks are added to `remarks`; a reply has their indices."""
    if question.kind == "number":
        values = [option.value for option in question.options[:-1]]
        elsewhere = 1 + 2 * sum(abs(option.value) + option.reach for option in question.options[:-1])
        return [
            [option.value, reach_of(option), reply(question, answer, remarks)]
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
    cards = "\n".join(
        (CARDS / name).read_text(encoding="utf-8") for name in ("card.js", "quiz.js", "guess.js")
    )
    for name in ("quiz", "guess"):
        cards = cards.replace(f'export default card("{name}"', f'const {name}Card = card("{name}"')
    live, *styles = (
        (EXPLORE / name).read_text("utf-8") for name in ("live.js", "explorable.css", "live.css")
    )
    # A plain script, not a module: browsers load no modules from a folder that is opened without a server.
    return files | {
        "quiz_page.js": f"(() => {{\n{cards}\n{files['quiz_page.js']}}})();\n",
        "live_figure.js": f"(() => {{\n{live}\n{files['live_figure.js']}}})();\n",
        "cards.css": "".join([STYLE, *styles, files["cards.css"]]),
    }
