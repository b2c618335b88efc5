"""What every explorable inherits: presets, goals, one picture per change, no leaks, no races."""

from __future__ import annotations

import gc
import re
import threading
from typing import ClassVar

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from traitlets import HasTraits, TraitError

from course_lib import theme
from course_lib.explore.base import Choice, Explorable, Integer, Number, Point
from course_lib.explore.control import MAX_LENGTH, TextInput
from course_lib.explore.live_picture import LivePicture
from course_lib.explore.raster.picture import TilePicture
from course_lib.views.plane import Plane
from course_lib.views.svg import choice, dot
from lessons.l00_start_here import SoftmaxDial

WIDGET = "application/vnd.jupyter.widget-view+json"


PLANE = Plane(0, 0, 200, 200, (-1, 1), (-1, 1))


class Dot(Explorable):
    title = "Dot"
    question = "Where is <b>the dot</b> & why?"
    size = (200, 200)
    x = Number("x", 0.0, 4.0, 1.0, step=0.5)
    y = Integer("y", 0, 4, 1)
    presets: ClassVar = {"far": {"x": 4.0, "y": 4}, "low": {"y": 0}}
    goals: ClassVar = {"right": "Right of 3", "up": "Two up from the start"}
    compute = staticmethod(lambda *, x, y: {"sum": x + y})

    @staticmethod
    def goals_met(now, start):
        return {"right": now["x"] > 3, "up": now["y"] == start["y"] + 2}

    @staticmethod
    def describe(facts):
        return f"The dot is at {facts['x']:.1f}, {facts['y']}; the sum is {facts['sum']:.1f}."

    @staticmethod
    def draw(facts):
        return [choice(dot(50 * facts["x"], 50 * facts["y"], 5), "home", x=0.0, y=0)]


class Held(Explorable):
    """A point to drag, and a control that is time."""

    at = Point("at", PLANE, (0.0, 0.0), step=0.1)
    hour = Integer("hour", 0, 2, 0)
    goals: ClassVar = {"corner": "In the corner", "late": "At the last hour"}
    play = "hour"
    compute = staticmethod(lambda *, at, hour: {})
    goals_met = staticmethod(lambda now, start: {"corner": sum(now["at"]) > 1.5, "late": now["hour"] == 2})
    describe = staticmethod(lambda facts: f"At {facts['at']}, hour {facts['hour']}.")
    draw = staticmethod(lambda facts: [PLANE.handle("at", facts["at"], 0.1, label="at")])


@pytest.fixture
def held(monkeypatch):
    """On the page; `answers` has what the page was told after each report."""
    explorable, answers = Held(), []
    explorable.view  # noqa: B018
    monkeypatch.setattr(explorable._picture, "send", answers.append)
    explorable.answers = answers
    return explorable


def test_what_happens_in_the_picture_sets_controls_and_every_report_is_answered(held, recorded_goals):
    held._receive({"drag": "at", "to": [163, 40]})
    assert held.at == (0.6, 0.6) and f'cx="{160}" cy="{40}"' in held._picture.svg
    held._receive({"drag": "at", "to": [900, -900]})
    assert held.at == (1.0, 1.0) and held.reached_goals == {"corner"}, "from outside: the edge, and by hand"
    held._receive({"drag": "at", "to": [900, -900]})
    held._receive({"set": {"hour": 1}})
    assert held.hour == 1 and held.answers == [{"done": True}] * 4


def test_play_goes_step_by_step_says_when_it_ends_starts_again_and_reaches_no_goal(held, recorded_goals):
    hours = []
    for word in ("first", "next", "next", "first"):
        held._receive({"play": word})
        hours.append(held.hour)
    assert hours == [1, 2, 2, 0] and [answer["last"] for answer in held.answers] == [False, True, True, False]
    assert recorded_goals == []


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ({"set": {"minute": 1}}, "Held has no control 'minute'; it has at, hour."),
        ({"set": {"hour": 7}}, "should not be greater than 2|not be greater than 2"),
        ({"drag": "hour", "to": [1, 1]}, "hour can't be dragged; only a Point can."),
        ({"drag": "at", "to": ["left", 1]}, "could not convert"),
        ({"set": {"at": [3, 0]}}, "expected two numbers|tuple"),
    ],
)
def test_a_report_that_makes_no_sense_changes_nothing_and_gets_one_sentence(held, report, message):
    held._receive(report)
    [answer] = held.answers
    assert re.search(message, answer["error"]) and "\n" not in answer["error"]
    assert held.state == Held.start


def test_a_point_outside_its_plane_is_rejected(held):
    with pytest.raises(TraitError, match="at: expected two numbers from -1 to 1 and from -1 to 1, got"):
        held.at = (0.0, 1.5)
    with pytest.raises(TraitError, match="two numbers"):
        held.at = (0.0, float("nan"))


@pytest.fixture
def messages(monkeypatch):
    """The messages that a picture sends to the page."""
    sent, original = [], LivePicture._send

    def send(self, msg, buffers=None):
        sent.append(msg)
        original(self, msg, buffers)

    monkeypatch.setattr(LivePicture, "_send", send)
    return sent


@pytest.fixture
def live_dot(messages):
    """A dot on the page; `messages` holds only later ones."""
    dot = Dot()
    dot.view  # noqa: B018
    messages.clear()
    return dot


@pytest.fixture
def recorded_goals(monkeypatch):
    recorded = []
    monkeypatch.setattr(Explorable, "on_goal_reached", lambda name, goal: recorded.append((name, goal)))
    return recorded


def test_presets_reset_and_widgets_set_the_state():
    dot = Dot()
    assert dot.facts == {"x": 1.0, "y": 1, "sum": 2.0}
    (x, y), presets = dot.view.children[1].children, dot.view.children[2].children
    assert [button.description for button in presets] == ["far", "low", "Reset"]
    presets[0].click()
    assert dot.state == {"x": 4.0, "y": 4} == {"x": x.value, "y": y.value}
    dot.preset("low")
    assert dot.state == {"x": 1.0, "y": 0}, "what a preset leaves out goes back to the start"
    x.value, dot.y = 3.5, 4
    assert dot.x == 3.5 and y.value == 4
    presets[-1].click()
    assert dot.state == {"x": 1.0, "y": 1}
    with pytest.raises(ValueError, match="Dot has no preset 'near'; it has far, low"):
        dot.preset("near")


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (Dot, "x", 4.5, "not be greater than 4"),
        (Dot, "x", -0.1, "not be less than 0"),
        (Dot, "x", "1", "finite number"),
        (Dot, "x", float("nan"), "finite number"),
        (Dot, "x", 10**400, "finite number"),
        (Dot, "y", 5, "not be greater than 4"),
        (Dot, "y", 1.5, "an int"),
    ],
)
def test_wrong_values_are_rejected_and_change_nothing(kind, name, value, message):
    explorable = kind()
    with pytest.raises(TraitError, match=message):
        setattr(explorable, name, value)
    assert explorable.state == kind.start


def test_a_long_text_is_cut():
    typed = type("Typed", (HasTraits,), {"text": TextInput("t", ("a",))})()
    typed.text = "x" * (MAX_LENGTH + 1)
    assert typed.text == "x" * MAX_LENGTH


def test_every_control_makes_its_widget():
    controls = [
        Integer("t", 0, 3, 1),
        Number("t", 0.0, 0.6, 0.5, step=0.25),
        Choice("t", (1, 2), 1, text=lambda value: f"{value} cm"),
        Choice("t", ("a", "b"), "a", buttons=True),
        Choice("t", ("a", "b"), "a", wide=True),
    ]
    assert [control.values for control in controls[:3]] == [[0, 1, 2, 3], [0.0, 0.25, 0.5], (1, 2)]
    widgets = [control.widget() for control in controls]
    kinds = ["IntSlider", "FloatSlider", "SelectionSlider", "ToggleButtons", "SelectionSlider"]
    assert [type(widget).__name__ for widget in widgets] == kinds
    assert widgets[1].readout_format == ".2f" and [text for text, _ in widgets[2].options] == ["1 cm", "2 cm"]
    assert all(widget.style.description_width == "initial" for widget in widgets)
    assert all(getattr(widget, "continuous_update", True) for widget in widgets)


def test_a_change_sends_one_message_with_picture_and_alt_text(live_dot, messages):
    live_dot.x = 1.0
    live_dot.reset()
    assert messages == []
    live_dot.x = 3.0
    [message] = messages
    assert message["state"]["alt"] == "The dot is at 3.0, 1; the sum is 4.0."
    assert 'cx="150"' in message["state"]["svg"]
    live_dot.preset("far")
    assert len(messages) <= 2, "a preset draws once"


def test_a_goal_is_recorded_and_announced_once_and_stays(live_dot, messages, recorded_goals):
    live_dot.x = 3.5
    assert recorded_goals == [("Dot", "right")] and live_dot.reached_goals == {"right"}
    state = messages[-1]["state"]
    assert state["announcement"] == "Goal reached: Right of 3."
    assert [goal["reached"] for goal in state["goals"]] == [True, False]
    live_dot.x, live_dot.x = 1.0, 3.5
    assert recorded_goals == [("Dot", "right")] and "goals" not in messages[-1]["state"]
    live_dot.view.children[1].children[1].value = 3  # the slider's own message, by key or mouse
    assert recorded_goals == [("Dot", "right"), ("Dot", "up")]


def test_a_preset_reaches_no_goal_and_neither_does_a_small_move_after_it(recorded_goals):
    dot = Dot()
    dot.preset("far")
    dot.x = 3.5  # the goal was met before the learner moved anything
    assert recorded_goals == [] and dot.reached_goals == set()
    dot.x, dot.x = 2.0, 3.5
    assert recorded_goals == [("Dot", "right")]


def test_goals_reached_earlier_are_shown_live_and_never_stored(monkeypatch, recorded_goals):
    fresh = Dot()._repr_mimebundle_()
    earlier = {"Dot": {"up", "a goal it hasn't"}}
    monkeypatch.setattr(Explorable, "find_reached_goals", earlier.__getitem__)
    dot = Dot()
    assert dot.reached_goals == {"up"}
    assert [goal["reached"] for goal in dot.view.children[-1].goals] == [False, True]
    for expected, stored in zip(fresh, dot._repr_mimebundle_(), strict=True):
        assert {**expected, WIDGET: None} == {**stored, WIDGET: None}
    dot.y = 3
    assert recorded_goals == []


def test_a_notebook_shows_it_live_and_the_builder_stores_png(monkeypatch):
    dot = Dot()
    data, metadata = dot._repr_mimebundle_()
    assert set(data) == {WIDGET, "text/html", "text/plain"}
    assert data["text/plain"] == dot.description == "The dot is at 1.0, 1; the sum is 2.0."
    monkeypatch.setenv("COURSE_STILLS", "1")
    stored, metadata = dot._repr_mimebundle_()
    assert set(stored) == {WIDGET, "image/png", "text/plain"}
    assert metadata["image/png"] == {"width": 200, "height": 200, "alt": dot.description}
    assert data[WIDGET]["model_id"] == dot.view.model_id
    assert "&lt;b&gt;the dot&lt;/b&gt; &amp; why?" in dot.view.children[0].value, "text is escaped"
    assert repr(dot.view.children[-1]) == "LivePicture('The dot is at 1.0, 1; the sum is 2.0.')"
    assert repr(dot) == "Dot(x=1.0, y=1)"
    for widget in (LivePicture, TilePicture):
        assert theme.PAGE_STYLE.strip() in str(widget._css), "the style that darkens pictures"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Dot, SoftmaxDial])
def test_static_images_are_reproducible_byte_for_byte(kind):
    def stored(explorable):
        image = explorable.static_image()
        return image.png() if callable(image.png) else image.png

    first, second = kind(), kind()
    before = stored(first)
    first.preset(next(iter(kind.presets)))
    assert stored(first) != before
    first.reset()
    assert stored(first) == before == stored(second)


def test_two_instances_share_a_figure_and_do_not_disturb_each_other():
    first, second = SoftmaxDial(), SoftmaxDial()
    assert first.shared_figure() is second.shared_figure()
    pictures = [dial.view.children[-1] for dial in (first, second)]
    first.multiplier, second.multiplier = 2.0, 4.0
    assert [picture.alt for picture in pictures] == [first.description, second.description]
    assert pictures[1].tiles != pictures[0].tiles


@pytest.mark.slow
def test_no_figure_leaks():
    """After twenty runs of a cell and forty moves there is still one figure, and pyplot holds none."""
    SoftmaxDial().static_image()
    gc.collect()
    before = sum(type(value) is Figure for value in gc.get_objects())
    dials = [SoftmaxDial() for _ in range(20)]
    for i, dial in enumerate([*dials, *dials]):
        dial.view.children[1].children[0].value = i / 10
    gc.collect()
    assert sum(type(value) is Figure for value in gc.get_objects()) == before
    assert pyplot.get_fignums() == []


def run_on_threads(*calls) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_leave_the_last_state_on_the_page():
    """Some JupyterLabs run callbacks on a second thread: alt text and picture must still agree."""
    explorable, errors = Dot(), []
    picture = explorable.view.children[-1]

    def set_all(name, values):
        try:
            for value in values:
                setattr(explorable, name, value)
        except Exception as error:  # otherwise lost with the thread
            errors.append(error)

    xs, ys = [0.5, 1.0, 2.0, 3.5] * 50 + [2.5], [0, 1, 2, 4] * 50 + [3]
    run_on_threads(lambda: set_all("x", xs), lambda: set_all("y", ys))
    assert not errors and explorable.state == {"x": 2.5, "y": 3}
    assert picture.alt == explorable.description and picture.svg == explorable.static_image().svg
