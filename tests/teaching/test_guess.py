"""Predictions and estimates: covered until a guess is committed, then guess and truth side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import ipywidgets
import pytest

from course_lib import theme, views
from course_lib.explore import SoftmaxDial
from course_lib.teaching import guess as module
from course_lib.teaching import progress
from course_lib.teaching.guess import Guess, estimate, predict
from course_lib.teaching.questions import Option, read

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
ASKED = read(Path(__file__).parent / "samples" / "quiz.json")


class Bars:
    """As much of an explorable as a prediction needs."""

    title = "Bars"
    presets = {"wide": {"width": 512}}  # noqa: RUF012

    def __init__(self):
        self.width = 8
        self.view = ipywidgets.VBox([ipywidgets.IntSlider()])

    def preset(self, name: str) -> None:
        self.width = self.presets[name]["width"]

    def _repr_mimebundle_(self) -> tuple[dict, dict]:
        data = {WIDGET_VIEW: {}, "text/plain": f"Bars for a width of {self.width}.", "image/png": "picture"}
        return data, {"image/png": {"width": 160}}


@pytest.fixture
def events(monkeypatch):
    noted: list[dict] = []
    monkeypatch.setattr(progress, "record", noted.append)
    return noted


def number(bars: Bars) -> Guess:
    return Guess("08", ASKED["sample-largest"], covered=bars)


def choice(bars: Bars) -> Guess:
    return Guess("08", ASKED["sample-moves"], covered=bars)


def from_page(made: Guess, **message) -> dict:
    card = made.view.children[0]
    card._handle_custom_msg(message, [])
    return card.state


def test_it_is_covered_until_the_guess_and_opens_where_the_truth_shows(events):
    bars = Bars()
    prediction = number(bars)
    assert not prediction.opened and bars.view not in prediction.view.children and bars.width == 8
    assert prediction.commit(0.4) is False
    assert prediction.opened and prediction.view.children[-1] is bars.view and bars.width == 512
    event = {"kind": "prediction", "lesson": "query_key_value", "name": "sample-largest"}
    assert events == [{**event, "guess": "0.4 of $1$", "correct": False}]


@pytest.mark.parametrize(("guess", "right"), [(0.96, True), (1.01, True), (0.9, False)])
def test_a_number_is_right_within_its_tolerance(events, guess, right):
    assert number(Bars()).commit(guess) is right


def test_a_choice_from_the_page(events):
    bars = Bars()
    prediction = choice(bars)
    told = from_page(prediction, guess=0)
    assert (prediction.correct, prediction.opened, bars.width) == (False, True, 8)  # no preset was named
    assert (told["look"], told["word"]) == ("wrong", "Not as you predicted")
    assert (told["guess"], told["truth"]) == ("The weights", "The context") and told["because"]
    assert from_page(choice(Bars()), guess=1)["word"] == "As you predicted"
    assert [event["guess"] for event in events] == ["The weights", "The context"]


def test_a_guess_is_made_once(events):
    prediction = number(Bars())
    prediction.commit(0.4)
    with pytest.raises(ValueError, match=r"0\.4 of \$1\$ is committed already"):
        prediction.commit(0.96)
    from_page(prediction, guess="0.96")  # a second view of the same cell
    assert prediction.guess == 0.4 and len(events) == 1


def test_what_is_no_guess_is_asked_for_again(events):
    prediction = number(Bars())
    first = from_page(prediction, guess="many")
    assert "Type a number" in first["note"] and not prediction.opened
    assert from_page(prediction, guess="many")["asked"] > first["asked"]
    prediction.view.children[0]._handle_custom_msg("rubbish", [])
    assert events == [] and not prediction.opened


def test_it_opens_without_a_guess_and_records_none(events):
    bars = Bars()
    prediction = number(bars)
    told = from_page(prediction, open=True)
    assert prediction.opened and prediction.guess is None and not prediction.correct and bars.width == 512
    assert (told["look"], told["guess"]) == ("seen", None) and told["truth"].startswith("0.96 of <math")
    assert events == []


def test_a_lesson_asks_by_name_and_the_switch_opens_all(monkeypatch, events):
    monkeypatch.setattr(module, "question", lambda lesson, name, *kinds: ASKED[name])
    assert not predict("08", "sample-largest", Bars()).opened
    monkeypatch.setenv("COURSE_OPEN", "1")
    assert predict("08", "sample-largest", Bars()).opened
    assert estimate("08", "sample-size").opened
    assert events == []


def test_an_estimate_is_judged_by_factor_and_measured_when_the_guess_is_in(events):
    measured = []

    def measure() -> float:
        measured.append(1)
        return 40.0

    guess = Guess("08", ASKED["sample-measured"], measure=measure)
    assert not measured
    told = from_page(guess, guess="30")
    assert guess.correct and len(measured) == 1 and told["word"] == "Within 2 ×: off by a factor of 1.3"
    assert (told["guess"], told["truth"]) == ("30", "40")
    assert events[0]["kind"] == "estimate" and events[0]["correct"]
    known = Guess("08", ASKED["sample-size"])
    assert not known.commit(512) and known._card.state["truth"] == "262,144 numbers"
    unseen = Guess("08", ASKED["sample-measured"], measure=measure)
    unseen.open()
    assert unseen._card.state["truth"] == "40" and len(measured) == 2


def test_it_is_kept_in_the_learners_progress():
    choice(Bars()).commit(2)
    Guess("08", ASKED["sample-size"]).commit(300000)
    seen = progress.read().lesson("query_key_value")
    assert {"predictions 0 of 1", "estimates within 2 × 1 of 1"} <= set(seen.counts)


def test_the_stored_form_is_a_picture_and_the_question_and_never_changes():
    data, metadata = choice(Bars())._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png", WIDGET_VIEW} and metadata["image/png"] == {"width": 160}
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
    asked, _ = Guess("08", ASKED["sample-size"])._repr_mimebundle_()
    assert asked["text/plain"].startswith("Estimate first: How many") and "512 × 512" in asked["text/html"]
    assert "262" not in asked["text/html"]


def test_an_explorable_is_not_built_before_it_is_opened(events):
    dial = SoftmaxDial()
    prediction = Guess("08", ASKED["sample-moves"], covered=dial)
    assert "image/png" in prediction._repr_mimebundle_()[0] and dial._view is None
    prediction.open()
    assert prediction.view.children[1] is dial._view


def test_a_figure_may_be_covered_too(events):
    axes = theme.figure(2, 1).subplots()
    figure = views.Still(axes.figure, alt="A line.")
    prediction = Guess("08", ASKED["sample-moves"], covered=figure)
    assert len(prediction.view.children) == 1
    stored = prediction._repr_mimebundle_()[0]
    assert "image/png" not in stored and "A line." not in str(stored) and "What moves?" in stored["text/html"]
    prediction.commit(1)
    picture = prediction.view.children[1]
    assert bytes(picture.value) == figure.png and int(picture.width) == figure.width


def test_texts_are_escaped_before_they_reach_the_page():
    nasty = "<script>alert(1)</script> & $a<b$"
    options = tuple(Option(text, not i, nasty) for i, text in enumerate((nasty, "Both")))
    guess = Guess(
        "08", replace(ASKED["sample-moves"], text=nasty, options=options, feedback=""), covered=Bars()
    )
    guess.commit(0)
    card = guess.view.children[0]
    assert "<script" not in json.dumps([card.payload, card.state])
    assert card.state["because"].startswith("&lt;script&gt;alert(1)&lt;/script&gt; &amp; <math")


def test_a_preset_the_explorable_does_not_have_is_told(monkeypatch):
    class Dots(Bars):
        presets = {}  # noqa: RUF012

    monkeypatch.setattr(module, "question", lambda lesson, name, *kinds: ASKED[name])
    with pytest.raises(
        ValueError, match="'sample-largest' of lesson 08 wants the preset 'wide', which Dots does not"
    ):
        predict("08", "sample-largest", Dots())
