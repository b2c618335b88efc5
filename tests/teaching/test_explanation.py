"""Explanations: written, compared, ticked off by the learner, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.teaching import explanation as module
from course_lib.teaching import progress
from course_lib.teaching.explanation import LONGEST, explain
from course_lib.teaching.questions import read

ASKED = read(Path(__file__).parent / "samples" / "quiz.json")


@pytest.fixture(autouse=True)
def of_the_sample(monkeypatch):
    monkeypatch.setattr(module, "question", lambda lesson, name, *kinds: ASKED[name])


def from_page(card, **message) -> dict:
    card._handle_custom_msg(message, [])
    return card.state


def events() -> list[dict]:
    return [event for event in progress.read().events if event["kind"] == "explanation"]


def test_it_is_written_compared_and_ticked():
    card = explain("08", "sample-why")
    assert "model" not in card.state and "two jobs" not in str(card.payload)
    told = from_page(card, text="<b>Two</b> jobs")
    assert told["text"] == "<b>Two</b> jobs"  # the page sets it as the field's value, never as HTML
    assert "<math" in told["model"] and len(told["points"]) == 2
    assert from_page(card, ticked=[1, 1, 7])["ticked"] == [1]
    last = events()[-1]
    assert (last["text"], last["ticked"], last["of"]) == ("<b>Two</b> jobs", [1], 2)
    assert "explanations 1" in progress.read().lesson("query_key_value").counts


def test_one_may_look_without_writing_and_nothing_is_kept():
    card = explain("08", "sample-why")
    assert from_page(card, text="  ")["model"]
    from_page(card, ticked=[0])
    assert events() == []


def test_long_texts_are_cut_and_rubbish_is_passed_over(monkeypatch):
    card = explain("08", "sample-why")
    for content in ({}, {"text": 7}, {"ticked": "all"}, None):
        card._handle_custom_msg(content, [])
    assert card.state == {}
    assert len(from_page(card, text="x" * 10**6)["text"]) == LONGEST
    monkeypatch.setenv("COURSE_OPEN", "1")
    assert explain("08", "sample-why").state["model"]


def test_the_stored_form_folds_the_model_answer():
    data, _ = explain("08", "sample-why")._repr_mimebundle_()
    asked, folded = data["text/html"].split("<details>")
    assert "<em>two</em>" in asked and "two jobs" not in asked and "two jobs" in folded
    assert folded.count("<li>") == 2 and "$W_Q$" in folded
    assert data["text/plain"] == "In your own words: Why are there *two* matrices?"
