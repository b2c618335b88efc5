"""Predictions: covered until a guess is committed, then guess and truth side by side."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import ipywidgets
import pytest

from course_lib import theme
from course_lib.teaching import progress
from course_lib.teaching.asked import Asked
from course_lib.teaching.prediction import Prediction, predict
from course_lib.teaching.quiz_data import QuizError, read
from course_lib.views import still

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SAMPLE = Path(__file__).parent / "samples" / "quiz.json"


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


def shown(name: str, explorable: Bars) -> Prediction:
    content = read(SAMPLE)
    return Prediction("08", content.topic, content.asked(name), explorable)


def number(bars: Bars) -> Prediction:
    return shown("sample-largest", bars)


def choice(bars: Bars) -> Prediction:
    return shown("sample-moves", bars)


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
            "name": "sample-largest",
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


def test_a_lesson_asks_by_name_and_the_switch_opens_all(monkeypatch, events):
    monkeypatch.setattr("course_lib.teaching.prediction.read_lesson", lambda lesson: read(SAMPLE))
    assert not predict("08", "sample-largest", Bars()).opened
    monkeypatch.setenv("COURSE_OPEN", "1")
    assert predict("08", "sample-largest", Bars()).opened
    assert events == []


def test_it_is_kept_in_the_learners_progress():
    choice(Bars()).commit("Both")
    seen = progress.read().lesson("query_key_value")
    assert (seen.predictions, seen.predictions_right) == (1, 0)


# -- standing still --------------------------------------------------------------------------------------


def test_the_stored_form_is_a_picture_and_the_question_and_never_changes():
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
    after = number(Bars())
    after.open()
    opened, _ = after._repr_mimebundle_()
    assert opened["text/plain"] == "Predict first: How large is $w$?\nThen look: Bars for a width of 8."
    assert base64.b64decode(opened["image/png"]) == start


def test_it_has_a_name_without_an_address():
    prediction = number(Bars())
    assert repr(prediction) == "Prediction('08', 'sample-largest')"
    assert repr(prediction.view.children[0]) == "GuessCard()"


def test_texts_are_escaped_before_they_reach_the_page():
    nasty = "<script>alert(1)</script> & $a<b$"
    asked = Asked("x", nasty, nasty, nasty, options=(nasty, "Both"))
    payload = Prediction("08", "query_key_value", asked, Bars()).view.children[0].payload
    assert payload["because"].startswith("&lt;script&gt;alert(1)&lt;/script&gt; &amp; <math")
    assert json.dumps(payload).count("&lt;script&gt;") == 3
    assert "<script" not in json.dumps(payload)


# -- what cannot be meant --------------------------------------------------------------------------------


def test_an_unknown_prediction_is_told_what_there_is():
    with pytest.raises(QuizError, match=r"no prediction 'why'. There are: sample-largest, sample-moves\."):
        read(SAMPLE).asked("why")


def test_a_preset_the_explorable_does_not_have_is_told():
    class Dots(Bars):
        presets = {}  # noqa: RUF012

    with pytest.raises(
        ValueError, match="'sample-largest' of lesson 08 wants the preset 'wide', which Dots does not"
    ):
        shown("sample-largest", Dots())


def test_wrong_guesses_are_told():
    with pytest.raises(ValueError, match="wants a number, got 'many'"):
        number(Bars()).commit("many")
    with pytest.raises(ValueError, match=r"wants one of .*, got 'None'"):
        choice(Bars()).commit("None")
