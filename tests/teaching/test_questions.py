"""The questions of lessons: reading them, marking answers, and reading what the page sends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from course_lib.teaching.questions.question import (
    mark,
    question,
    questions,
    questions_for,
    read_answer,
    read_number,
    read_questions,
)

SAMPLE = Path(__file__).parent / "samples" / "quiz.json"
ASKED = read_questions(SAMPLE)
SINGLE, SEVERAL, NUMBER, ORDERED, LARGEST, MOVES, SIZE, WHY = (
    question for question in ASKED.values() if question.id != "sample-measured"
)


def shown_indices(asked) -> list[int]:
    return [index for _, index, _ in asked.shown]


def mark_as_tuple(asked, answer) -> tuple:
    """Right or wrong, the misconception, and the feedback."""
    feedback = mark(asked, answer)
    return feedback.correct, feedback.misconception, *(remark.text for remark in feedback.remarks)


# ---- reading


def test_the_sample_is_read_whole():
    assert {question.lesson for question in ASKED.values()} == {"query_key_value"}
    raw = json.loads(SAMPLE.read_text(encoding="utf-8"))
    assert len(ASKED) == sum(len(part) for part in raw.values() if isinstance(part, list))
    assert (SINGLE.options[0].diagnoses, SINGLE.reread, SINGLE.right) == ("M06", "Why the root", [1])
    assert [option.text for option in NUMBER.options] == [
        "0.25 of $1$",
        "1 of $1$",
        "4 of $1$",
        "another number",
    ]
    assert (NUMBER.answer, NUMBER.options[0].tolerance, NUMBER.options[1].diagnoses) == (0.25, 0.01, "M12")
    assert (LARGEST.kind, LARGEST.answer, LARGEST.unit, LARGEST.preset) == ("number", 0.96, "of $1$", "wide")
    assert (MOVES.kind, MOVES.right, MOVES.options[2].text) == ("single", [1], "Both")
    assert (SIZE.kind, SIZE.answer, ASKED["sample-measured"].answer) == ("estimate", 262144, None)
    assert (WHY.kind, len(WHY.points)) == ("explanation", 2)


@pytest.mark.parametrize(
    ("ask", "wrong_name", "names"),
    [
        (lambda: questions("8"), "'8'", "00, 01"),
        (lambda: questions_for("08", "closng"), "'closng'", "closing"),
        (lambda: question("07", "nowhere", "estimate"), "'nowhere'", "forced-the"),
        (lambda: question("08", "why-the-order-flips", "estimate"), "'why-the-order-flips'", ""),
    ],
)
def test_a_name_that_does_not_exist_is_an_error_that_lists_those_that_do(ask, wrong_name, names):
    with pytest.raises(ValueError, match=f"{re.escape(wrong_name)}.* {names}"):
        ask()


def test_options_are_shuffled_the_same_way_every_time():
    """On every machine too, so that letters in a classroom's votes and in records keep their meaning."""
    assert shown_indices(SINGLE) == [2, 0, 1]
    assert shown_indices(SEVERAL) == [3, 1, 0, 2]
    assert shown_indices(ORDERED) == shown_indices(MOVES) == [0, 1, 2]  # as written: guesses are not shuffled
    for asked in (SINGLE, SEVERAL):
        assert [option for *_, option in asked.shown] == [asked.options[i] for i in shown_indices(asked)]
        assert "".join(letter for letter, _, _ in asked.shown) == "ABCD"[: len(asked.options)]


# ---- marking


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        (SINGLE, 0, (False, "M06", "Softmax subtracts the *largest* score.")),
        (SINGLE, 1, (True, None, "Yes, a spread near $1$.")),
        (NUMBER, 0.25, (True, None, "Yes.")),
        (NUMBER, 0.26, (True, None, "Yes.")),  # not in binary
        (NUMBER, 0.2601, (False, None, "Equal scores share equally.")),
        (NUMBER, 1.001, (False, "M12", "Each would have it all.")),
        (NUMBER, 4, (False, None, "Turn it over.")),
        (LARGEST, 0.92, (True, None, "It *spreads*.")),
        (LARGEST, 0.9, (False, None, "It *spreads*.")),  # a prediction has one reason
        (MOVES, 1, (True, None, "Values are handed out.")),
    ],
)
def test_an_answer_is_marked_and_gets_its_feedback(asked, answer, expected):
    assert mark_as_tuple(asked, answer) == expected


@pytest.mark.parametrize(
    ("picked", "correct", "misconception", "n_missing"),
    [([0, 2], True, None, 0), ([0], False, None, 1), ([1], False, "M11", 2), ([0, 1, 2], False, "M11", 0)],
)
def test_each_picked_option_gets_its_own_feedback(picked, correct, misconception, n_missing):
    remarks = {
        "Rows sum to 1": (True, "They do."),
        "Columns sum to 1": (False, "They need not."),
        "Weights are not negative": (True, "An exponential never is."),
    }
    texts = {letter: option.text for letter, _, option in SEVERAL.shown}
    feedback = mark(SEVERAL, picked)
    assert (feedback.correct, feedback.misconception) == (correct, misconception)
    labelled = {texts[label]: (good, text) for good, label, text in feedback.remarks if label}
    assert labelled == {name: remarks[name] for name in (SEVERAL.options[index].text for index in picked)}
    others = [(good, text.split()[0]) for good, label, text in feedback.remarks if not label]
    assert others == ([(False, {1: "One", 2: "2"}[n_missing])] if n_missing else [])


@pytest.mark.parametrize(
    ("guess", "words", "right"),
    [
        (262144, ("close",), True),
        (131072, ("2 ×", "factor of 2.0"), True),
        (100000, ("10 ×", "factor of 2.6"), False),
        (2621440, ("10 ×", "factor of 10"), False),
        (512, ("magnitude", "factor of 512"), False),
        (-5, ("sign",), False),
    ],
)
def test_an_estimate_is_judged_by_factor(guess, words, right):
    assert all(word in mark(SIZE, guess).word for word in words)
    assert mark_as_tuple(SIZE, guess) == (right, None, "Each row has 512.")


# ---- what comes from the page


def test_an_answer_is_put_in_its_proper_form():
    sent = [(SEVERAL, [0, 3]), (SINGLE, 2), (SINGLE, 0), (NUMBER, 0.25), (SIZE, 7)]
    assert [read_answer(asked, answer) for asked, answer in sent] == [answer for _, answer in sent]
    assert read_answer(NUMBER, "1/4") == 0.25


def test_numbers_are_read_as_people_write_them():
    numbers = {"0.5": 0.5, " 0,5 ": 0.5, ".5": 0.5, "5.": 5, "+7": 7, "−2": -2, "1e-4": 1e-4, "1/8": 0.125,
               "262 144": 262144, "262'144": 262144, "262_144": 262144, "0,500": 0.5}  # fmt: skip
    assert {text: read_number(text) for text in numbers} == numbers


@pytest.mark.parametrize(
    ("asked", "sent", "words"),
    [(SINGLE, None, "Choose"), (SEVERAL, [], "Tick at least one"), (NUMBER, None, "Type"),
     (NUMBER, float("nan"), "Type"), (NUMBER, "8,000", "8000 or 8.000"), (SIZE, "1,234,567", "1234567 or"),
     (NUMBER, "1/0", "divide by 0"),
     *((NUMBER, text, "Type a number") for text in ("", "abc", "1 2", "1.2.3", "1/2/3", "0x10", "Infinity",
                                                    "9" * 10**6, "1e999"))],
)  # fmt: skip
def test_what_cannot_be_an_answer_is_asked_for_again(asked, sent, words):
    with pytest.raises(ValueError, match=words):
        read_answer(asked, sent)
