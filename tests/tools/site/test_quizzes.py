"""Quizzes of the reading edition: the table of replies is what the kernel would send."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import pytest

from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import progress
from course_lib.teaching.questions.guess import Guess
from course_lib.teaching.questions.question import Option, Question, questions, read_questions
from course_lib.teaching.questions.quiz import Quiz
from tools.site.lesson_pages import CARD
from tools.site.quizzes import as_script_json, guess_html, page_files, possible_replies, quiz_html

SAMPLE = Path(__file__).parents[2] / "teaching" / "samples" / "quiz.json"
ASKED = {name: asked for name, asked in read_questions(SAMPLE).items() if asked.use == "closing"}
NASTY = "</script><script>alert('x')</script> <!-- $5 --> & \"quotes\""


def embedded(html: str) -> dict:
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    return json.loads(text)


def from_kernel(question: Question, answer: object) -> dict:
    """What a notebook's page gets after a first answer."""
    card = Quiz("08", "closing", [question])
    card._receive({"question": question.id, "answer": answer})
    return card.state[question.id]


def looked_up(question: Question, answer: object) -> dict:
    remarks: list[dict] = []
    table = possible_replies(question, remarks)
    if isinstance(table, list):
        number = float(answer)
        found = next(r for value, reach, r in table if reach is None or abs(number - value) <= reach)
    else:
        found = table[json.dumps(answer, separators=(",", ":"))]
    if "note" in found:
        return found
    return found | {name: [remarks[index] for index in found[name]] for name in ("remarks", "others")}


def all_answers(question: Question) -> list:
    n_options = len(question.options)
    if question.kind == "single":
        return [None, *range(n_options)]
    if question.kind == "several":
        subsets = chain.from_iterable(combinations(range(n_options), size) for size in range(n_options + 1))
        return [list(subset) for subset in subsets]
    ends = [option.value + sign * option.tolerance for option in question.options[:-1] for sign in (-1, 0, 1)]
    return [str(number) for number in (*ends, -1e9, 0, 123.456, 1e9)]


@pytest.mark.parametrize("name", ASKED)
def test_every_answer_gets_the_reply_of_the_kernel(monkeypatch, name):
    recorded: list[dict] = []
    monkeypatch.setattr(progress, "record", recorded.append)
    question = ASKED[name]
    replies = [looked_up(question, answer) for answer in all_answers(question)]
    assert recorded == [], "nothing is recorded for a reader"
    for answer, reply in zip(all_answers(question), replies, strict=True):
        state = from_kernel(question, answer)
        if state["note"]:
            assert reply == {"note": state["note"]}
        else:
            assert reply == {key: state[key] for key in ("correct", "remarks", "others", "votes")}
    assert len({reply["correct"] for reply in replies if "note" not in reply}) == 2


def test_the_page_has_the_questions_without_scripts_and_nothing_to_run():
    html = quiz_html("08", "closing")
    static, data = html.split('<script type="application/json">')
    questions = embedded(html)["payload"]["questions"]
    assert static.count("<details>") == len(questions) > 2
    assert "Run this cell" not in html and "<math" in static and "$" not in data
    assert {question["id"] for question in questions} == set(embedded(html)["replies"])


def test_a_text_can_not_end_the_script():
    asked = Question(
        "x", "y", "single", NASTY, options=(Option(NASTY, True, NASTY), Option("no", False, NASTY))
    )
    html = as_script_json(possible_replies(asked, remarks := []))
    assert html.count("<") == 2 and embedded(as_script_json(NASTY)) == NASTY
    assert all("<script" not in remark["html"] for remark in remarks)


def test_the_files_that_a_page_loads_hold_what_they_share_with_the_notebooks_cards():
    files = page_files()
    assert "export" not in files["quiz_page.js"]
    assert files["quiz_page.js"].count("const quizCard = card(") == 1
    assert files["quiz_page.js"].count("const guessCard = card(") == 1
    assert ".course-card {" in files["cards.css"] and 'html[data-theme="dark"]' in files["cards.css"]
    assert "sweep.js" in files


# ---- predictions and estimates

GUESSES = [
    (cell["metadata"]["course"]["answer"], *CARD.search("".join(cell["source"])).groups())
    for path in sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb"))
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    if cell["metadata"]["course"]["kind"] in ("predict", "estimate")
]


def from_guess(asked: Question, guess: object) -> tuple[str, str]:
    card = Guess("08", asked)
    card.commit(guess)
    return card._card.state["look"], card._card.state["word"].partition(":")[0]


def test_every_guess_of_the_course_is_called_what_the_kernel_calls_it():
    kinds = set()
    for answer, _, number, name in GUESSES:
        asked = questions(number)[name]
        data = embedded(guess_html(asked, "", answer))
        kinds.add(asked.kind)
        if asked.kind == "single":
            for index in range(len(asked.options)):
                assert tuple(data["replies"][str(index)].values()) == from_guess(asked, index)
            continue
        truth = float(re.match(r"[\d.]+", data["opened"]["truth"].replace(",", ""))[0])
        asked = replace(asked, answer=truth) if asked.kind == "estimate" else asked
        for guess in (truth, *(truth * factor for factor in (1.05, 0.6, 1.5, 0.2, 5))):
            found = next(r for v, reach, r in data["replies"] if reach is None or abs(guess - v) <= reach)
            assert (found["look"], found["word"]) == from_guess(asked, guess), (name, guess)
    assert kinds == {"single", "number", "estimate"} and len(GUESSES) > 50
