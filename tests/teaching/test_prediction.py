"""Predictions: covered until a guess is committed, then guess and truth side by side."""

from __future__ import annotations

import base64
import json

import ipywidgets
import pytest

from course_lib import theme
from course_lib.teaching import progress
from course_lib.teaching.prediction import Prediction, predict
from course_lib.views import still

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
OPTIONS = ["The weights", "The context", "Both"]


class Bars:
    """As much of an explorable as a prediction needs."""

    title = "Bars"
    presets = {"wide": {"width": 512}}  # noqa: RUF012

    def __init__(self):
        self.width = 8
        self.view = ipywidgets.VBox([ipywidgets.IntSlider()])

    @property
    def facts(self) -> dict:
        return {"width": self.width}

    def describe(self, facts: dict) -> str:
        return f"Bars for a width of {facts['width']}."

    def preset(self, name: str) -> None:
        self.width = self.presets[name]["width"]

    def still(self) -> bytes:
        drawn = theme.figure(2, 1)
        drawn.text(0.1, 0.1, str(self.width))
        return still.png(drawn)


@pytest.fixture
def events(monkeypatch):
    noted: list[dict] = []
    monkeypatch.setattr(progress, "record", noted.append)
    return noted


def number(bars: Bars, because: str = "It spreads.") -> Prediction:
    return predict(
        "How large is $w$?", bars, answer=0.96, tolerance=0.05, unit="of $1$", preset="wide", because=because,
        name="query_key_value/unscaled-max",
    )  # fmt: skip


def choice(bars: Bars) -> Prediction:
    return predict(
        "What moves?", bars, options=OPTIONS, answer="The context", because="Values are handed out.",
        name="query_key_value/one-value",
    )  # fmt: skip


def test_it_is_covered_until_the_guess_and_opens_where_the_truth_shows(events):
    bars = Bars()
    prediction = number(bars)
    assert not prediction.opened
    assert bars.view not in prediction.view.children
    assert bars.width == 8
    assert prediction.commit(0.4) is False
    assert prediction.opened
    assert prediction.view.children[-1] is bars.view
    assert bars.width == 512
    assert events == [
        {
            "kind": "prediction",
            "lesson": "query_key_value",
            "name": "query_key_value/unscaled-max",
            "guess": 0.4,
            "correct": False,
        }
    ]


@pytest.mark.parametrize(
    ("guess", "right"), [(0.96, True), (1.01, True), (0.91, True), (0.9, False), (2, False)]
)
def test_a_number_is_right_within_its_tolerance(events, guess, right):
    assert number(Bars()).commit(guess) is right


def test_a_choice_is_committed_by_its_text_and_leaves_the_explorable_where_it_is(events):
    bars = Bars()
    prediction = choice(bars)
    assert prediction.commit("The context") is True
    assert prediction.guess == "The context"
    assert bars.width == 8  # no preset was named
    assert [(event["guess"], event["correct"]) for event in events] == [("The context", True)]


def test_a_guess_from_the_page_does_the_same(events):
    bars = Bars()
    prediction = choice(bars)
    card = prediction.view.children[0]
    card.set_state({"guess": 0})
    assert (prediction.guess, prediction.correct, prediction.opened) == ("The weights", False, True)
    assert len(events) == 1


def test_a_guess_is_made_once(events):
    prediction = number(Bars())
    prediction.commit(0.4)
    with pytest.raises(ValueError, match=r"0\.4 is committed already"):
        prediction.commit(0.96)
    prediction.view.children[0].set_state({"guess": 0.96})  # a second view of the same cell
    assert prediction.guess == 0.4
    assert len(events) == 1


def test_it_opens_without_a_guess_and_records_none(events):
    bars = Bars()
    prediction = number(bars)
    prediction.view.children[0].set_state({"opened": True})
    assert prediction.opened
    assert prediction.guess is None
    assert not prediction.correct
    assert bars.width == 512
    assert events == []


def test_the_switch_opens_all(monkeypatch, events):
    monkeypatch.setenv("COURSE_OPEN", "1")
    assert number(Bars()).opened
    assert events == []


def test_it_is_kept_in_the_learners_progress():
    choice(Bars()).commit("Both")
    seen = progress.read().lesson("query_key_value")
    assert (seen.predictions, seen.predictions_right) == (1, 0)


# -- standing still --------------------------------------------------------------------------------------


def test_the_stored_form_is_a_picture_and_the_question_and_never_changes(monkeypatch):
    bars = Bars()
    start = bars.still()
    data, metadata = choice(bars)._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png", WIDGET_VIEW}
    assert base64.b64decode(data["image/png"]) == start
    assert metadata["image/png"] == {"width": 160, "height": 80, "alt": "Bars for a width of 8."}
    assert data["text/plain"].splitlines() == [
        "Predict first: What moves?",
        "  A  The weights",
        "  B  The context",
        "  C  Both",
        "Then look: Bars for a width of 8.",
    ]
    monkeypatch.setenv("COURSE_OPEN", "1")
    opened, _ = number(Bars())._repr_mimebundle_()
    assert opened["text/plain"] == "Predict first: How large is $w$?\nThen look: Bars for a width of 8."
    assert base64.b64decode(opened["image/png"]) == start


def test_it_has_a_name_without_an_address():
    prediction = number(Bars())
    assert repr(prediction) == "Prediction('query_key_value/unscaled-max')"
    assert repr(prediction.view.children[0]) == "GuessCard()"


def test_texts_are_escaped_before_they_reach_the_page():
    payload = number(Bars(), because="<script>alert(1)</script> & $a<b$").view.children[0].payload
    assert payload["because"].startswith("&lt;script&gt;alert(1)&lt;/script&gt; &amp; <math")
    assert "<script" not in json.dumps(payload)


# -- arguments that cannot be meant ----------------------------------------------------------------------

GOOD = {"answer": 1.0, "tolerance": 0.1, "because": "So.", "name": "query_key_value/x"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"tolerance": None}, "A number needs a tolerance"),
        ({"tolerance": -0.1}, "A number needs a tolerance"),
        ({"answer": "1"}, "Without options the answer must be a number, got '1'"),
        ({"options": OPTIONS, "answer": "None", "tolerance": None}, "'None' is not among the options"),
        ({"options": OPTIONS, "answer": "Both"}, "tolerance and unit belong to a number"),
        ({"options": ["Both"], "answer": "Both", "tolerance": None}, "Expected 2 to 5 different options"),
        (
            {"options": ["Both", "Both"], "answer": "Both", "tolerance": None},
            "Expected 2 to 5 different options",
        ),
        ({"preset": "narrow"}, "Bars has no preset 'narrow'. It has: wide."),
        ({"name": "unscaled-max"}, 'name must read "lesson_topic/short-name"'),
        ({"because": "It costs 5 $"}, "A \\$ has no partner"),
    ],
)
def test_wrong_arguments_are_told(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        predict("How large?", Bars(), **{**GOOD, **changes})


def test_wrong_guesses_are_told():
    with pytest.raises(ValueError, match="wants a number, got 'many'"):
        number(Bars()).commit("many")
    with pytest.raises(ValueError, match=r"wants one of .*, got 'None'"):
        choice(Bars()).commit("None")
