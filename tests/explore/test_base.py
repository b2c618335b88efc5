"""What every explorable inherits: presets, goals, one picture per change, no leaks, no races."""

from __future__ import annotations

import gc
import threading
from typing import ClassVar

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text
from traitlets import HasTraits, TraitError

from course_lib import theme
from course_lib.explore.base import Choice, Explorable, Integer, Number, Panel
from course_lib.explore.control import MAX_LENGTH, TextInput
from lessons.l00_start_here import SoftmaxDial
from lessons.l08_query_key_value import SaturationLab, WhoAttends

WIDGET = "application/vnd.jupyter.widget-view+json"


def draw_dot(axes):
    axes.set(xlim=(0, 4), ylim=(0, 4))
    [dot] = axes.plot([0], [0], "o")
    return lambda facts: dot.set_data([facts["x"]], [facts["y"]])


class Dot(Explorable):
    title = "Dot"
    question = "Where is <b>the dot</b> & why?"
    size = (2.0, 2.0)
    x = Number("x", 0.0, 4.0, 1.0, step=0.5)
    y = Integer("y", 0, 4, 1)
    presets: ClassVar = {"far": {"x": 4.0, "y": 4}, "low": {"y": 0}}
    goals: ClassVar = {"right": "Right of 3", "up": "Two up from the start"}
    panels = (Panel("Plane", draw_dot),)
    compute = staticmethod(lambda *, x, y: {"sum": x + y})

    @staticmethod
    def goals_met(now, start):
        return {"right": now["x"] > 3, "up": now["y"] == start["y"] + 2}

    @staticmethod
    def describe(facts):
        return f"The dot is at {facts['x']:.1f}, {facts['y']}; the sum is {facts['sum']:.1f}."

    @staticmethod
    def heading(facts):
        return [f"x {facts['x']:.1f}", f"y {facts['y']}"]


def test_the_heading_shows_the_state():
    dot = Dot()
    dot.preset("far")
    dot.static_image()
    assert "x 4.0   ·   y 4" in [text.get_text() for text in dot.shared_figure().figure.findobj(Text)]


@pytest.fixture
def messages(monkeypatch):
    """The messages that a picture sends to the page."""
    sent, original = [], Picture._send

    def send(self, msg, buffers=None):
        sent.append(msg)
        original(self, msg, buffers)

    monkeypatch.setattr(Picture, "_send", send)
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
        (SaturationLab, "d_k", 3, r"'d_k' trait .*expected any of .*512.*, not the int 3"),
        (SaturationLab, "divisor", "√n", r"'divisor' trait .*expected any of"),
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


def test_a_change_sends_one_message_with_picture_and_alt_text(live_dot, messages, monkeypatch):
    live_dot.x = 1.0
    live_dot.reset()
    assert messages == []
    live_dot.x = 3.0
    [message] = messages
    assert message["state"]["alt"] == "The dot is at 3.0, 1; the sum is 4.0."
    assert ["tiles"] in message["buffer_paths"]
    drawn = []
    monkeypatch.setattr(live_dot.shared_figure(), "update", drawn.append)
    live_dot.preset("far")
    assert drawn == [{"x": 4.0, "y": 4, "sum": 8.0}] and len(messages) <= 2, "a preset draws once"


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


def test_a_notebook_shows_it_live_and_stores_an_image():
    dot = Dot()
    data, metadata = dot._repr_mimebundle_()
    assert set(data) == {WIDGET, "image/png", "text/plain"}
    assert data["text/plain"] == dot.description == "The dot is at 1.0, 1; the sum is 2.0."
    assert metadata["image/png"] == {"width": 160, "height": 160, "alt": dot.description}
    assert data[WIDGET]["model_id"] == dot.view.model_id
    assert "&lt;b&gt;the dot&lt;/b&gt; &amp; why?" in dot.view.children[0].value, "text is escaped"
    assert repr(dot.view.children[-1]) == "Picture('The dot is at 1.0, 1; the sum is 2.0.')"
    assert repr(SaturationLab()) == "SaturationLab(d_k=64, divisor='√d_k', query=1)"
    assert theme.PAGE_STYLE.strip() in str(Picture._css), "the style that darkens pictures"
    page = str(Picture._esm)
    assert 'role: "status"' in page and 'make("ul"' in page and "✓" in page, (
        "goals are a list for screen readers"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Dot, SaturationLab])
def test_static_images_are_reproducible_byte_for_byte(kind):
    first, second = kind(), kind()
    before = first.static_image().png
    first.preset(next(iter(kind.presets)))
    assert first.static_image().png != before
    first.reset()
    assert first.static_image().png == before == second.static_image().png


def test_two_instances_share_a_figure_and_do_not_disturb_each_other():
    first, second = Dot(), Dot()
    assert first.shared_figure() is second.shared_figure()
    pictures = [dot.view.children[-1] for dot in (first, second)]
    second.preset("far")
    first.x = 2.0
    assert [picture.alt[:22] for picture in pictures] == ["The dot is at 2.0, 1; ", "The dot is at 4.0, 4; "]
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
    explorable, errors = WhoAttends(), []
    picture = explorable.view.children[-1]

    def set_all(name, values):
        try:
            for value in values:
                setattr(explorable, name, value)
        except Exception as error:  # otherwise lost with the thread
            errors.append(error)

    seeds, widths = [*range(1, 13), 5], [1, 2, 4, 8, 16, 64] * 2 + [4]
    run_on_threads(lambda: set_all("seed", seeds), lambda: set_all("d_k", widths))
    assert not errors and (explorable.seed, explorable.d_k) == (5, 4)
    assert picture.alt == explorable.description
    fresh = WhoAttends()
    fresh.seed, fresh.d_k = 5, 4
    assert fresh.view.children[-1].tiles == picture.tiles
