"""What every explorable gets from the base: presets, goals, one picture a change, no leaks, no races."""

from __future__ import annotations

import gc
import threading
from typing import ClassVar

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text
from traitlets import TraitError

from course_lib import theme
from course_lib.explore.base import Choice, Explorable, Number, Panel, Whole
from course_lib.explore.picture import Picture
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
    y = Whole("y", 0, 4, 1)
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


def test_the_state_stands_in_the_picture_in_parts():
    dot = Dot()
    dot.preset("far")
    dot.still()
    assert "x 4.0   ·   y 4" in [text.get_text() for text in dot.moving().figure.findobj(Text)]


@pytest.fixture
def messages(monkeypatch):
    """What a picture sends to the page, message by message."""
    sent, original = [], Picture._send
    monkeypatch.setattr(
        Picture, "_send", lambda self, msg, buffers=None: (sent.append(msg), original(self, msg, buffers))
    )
    return sent


@pytest.fixture
def shown(messages):
    """A dot on the page; only what comes later is in `messages`."""
    dot = Dot()
    dot.view  # noqa: B018
    messages.clear()
    return dot


@pytest.fixture
def told(monkeypatch):
    """The goals that whoever keeps progress was told of."""
    heard = []
    monkeypatch.setattr(Explorable, "reached", lambda name, goal: heard.append((name, goal)))
    return heard


def test_presets_reset_and_the_page_follow_each_other():
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
    ("kind", "name", "value", "says"),
    [
        (Dot, "x", 4.5, "not be greater than 4"),
        (Dot, "x", -0.1, "not be less than 0"),
        (Dot, "x", "1", "finite number"),
        (Dot, "x", float("nan"), "finite number"),
        (Dot, "y", 5, "not be greater than 4"),
        (Dot, "y", 1.5, "an int"),
        (SaturationLab, "d_k", 3, r"'d_k' trait .*expected any of .*512.*, not the int 3"),
        (SaturationLab, "divisor", "√n", r"'divisor' trait .*expected any of"),
    ],
)
def test_wrong_values_are_refused_and_change_nothing(kind, name, value, says):
    explorable = kind()
    with pytest.raises(TraitError, match=says):
        setattr(explorable, name, value)
    assert explorable.state == kind.start


def test_every_control_can_be_made():
    controls = [
        Whole("t", 0, 3, 1),
        Number("t", 0.0, 0.6, 0.5, step=0.25),
        Choice("t", (1, 2), 1, text=lambda value: f"{value} cm"),
        Choice("t", ("a", "b"), "a", buttons=True),
        Choice("t", ("a", "b"), "a", wide=True),
    ]
    assert [control.stops for control in controls[:3]] == [[0, 1, 2, 3], [0.0, 0.25, 0.5], [1, 2]]
    made = [control.widget() for control in controls]
    kinds = ["IntSlider", "FloatSlider", "SelectionSlider", "ToggleButtons", "SelectionSlider"]
    assert [type(widget).__name__ for widget in made] == kinds
    assert made[1].readout_format == ".2f" and [text for text, _ in made[2].options] == ["1 cm", "2 cm"]
    assert all(widget.style.description_width == "initial" for widget in made)
    assert all(getattr(widget, "continuous_update", True) for widget in made)


def test_a_move_sends_one_message_with_picture_and_words_and_no_move_sends_none(shown, messages, monkeypatch):
    shown.x = 1.0
    shown.reset()
    assert messages == []
    shown.x = 3.0
    [message] = messages
    assert message["state"]["alt"] == "The dot is at 3.0, 1; the sum is 4.0."
    assert ["tiles"] in message["buffer_paths"]
    drawn = []
    monkeypatch.setattr(shown.moving(), "move", drawn.append)
    shown.preset("far")
    assert drawn == [{"x": 4.0, "y": 4, "sum": 8.0}] and len(messages) <= 2, "a preset draws once"


def test_a_goal_is_ticked_told_and_announced_once_and_stays(shown, messages, told):
    shown.x = 3.5
    assert told == [("Dot", "right")] and shown.ticked == {"right"}
    state = messages[-1]["state"]
    assert state["news"] == "Goal reached: Right of 3."
    assert [goal["reached"] for goal in state["goals"]] == [True, False]
    shown.x, shown.x = 1.0, 3.5
    assert told == [("Dot", "right")] and "goals" not in messages[-1]["state"]
    shown.view.children[1].children[1].value = 3  # the slider's own message, by key or mouse
    assert told == [("Dot", "right"), ("Dot", "up")]


def test_a_preset_reaches_no_goal_and_neither_does_a_nudge_after_it(told):
    dot = Dot()
    dot.preset("far")
    dot.x = 3.5  # it was met before the learner moved anything
    assert told == [] and dot.ticked == set()
    dot.x, dot.x = 2.0, 3.5
    assert told == [("Dot", "right")]


def test_goals_of_earlier_days_are_ticked_when_live_and_never_stored(monkeypatch, told):
    fresh = Dot()._repr_mimebundle_()
    asked = []
    monkeypatch.setattr(Explorable, "remembered", lambda name: asked.append(name) or {"up", "long gone"})
    dot = Dot()
    assert asked == ["Dot"] and dot.ticked == {"up"}
    assert [goal["reached"] for goal in dot.view.children[-1].goals] == [False, True]
    for one, other in zip(fresh, dot._repr_mimebundle_(), strict=True):
        assert {**one, WIDGET: None} == {**other, WIDGET: None}
    dot.y = 3
    assert told == []


def test_it_displays_itself_live_and_still():
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
    assert 'role: "status"' in page and 'make("ul"' in page and "✓" in page, "a list that is heard"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Dot, SaturationLab])
def test_stills_are_reproducible_byte_for_byte(kind):
    first, second = kind(), kind()
    before = first.still()
    first.preset(next(iter(kind.presets)))
    assert first.still() != before
    first.reset()
    assert first.still() == before == second.still()


def test_two_of_a_kind_share_a_figure_and_do_not_disturb_each_other():
    one, two = Dot(), Dot()
    assert one.moving() is two.moving()
    pictures = [each.view.children[-1] for each in (one, two)]
    two.preset("far")
    one.x = 2.0
    assert [picture.alt[:22] for picture in pictures] == ["The dot is at 2.0, 1; ", "The dot is at 4.0, 4; "]
    assert pictures[1].tiles != pictures[0].tiles


@pytest.mark.slow
def test_no_figure_leaks():
    """Twenty reruns of a cell and forty moves later there is one figure, and pyplot knows of none."""
    SoftmaxDial().still()
    gc.collect()
    before = sum(type(thing) is Figure for thing in gc.get_objects())
    many = [SoftmaxDial() for _ in range(20)]
    for i, dial in enumerate([*many, *many]):
        dial.view.children[1].children[0].value = i / 10
    gc.collect()
    assert sum(type(thing) is Figure for thing in gc.get_objects()) == before
    assert pyplot.get_fignums() == []


def on_threads(*calls) -> None:
    """Each call on a thread of its own, all at once."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_leave_the_last_state_on_the_page():
    """In a foreign JupyterLab, callbacks come on a second thread: words and picture must stay together."""
    who, errors = WhoAttends(), []
    picture = who.view.children[-1]

    def walk(name, values):
        try:
            for value in values:
                setattr(who, name, value)
        except Exception as error:  # a thread's error would else be lost
            errors.append(error)

    seeds, widths = [*range(1, 13), 5], [1, 2, 4, 8, 16, 64] * 2 + [4]
    on_threads(lambda: walk("seed", seeds), lambda: walk("d_k", widths))
    assert not errors and (who.seed, who.d_k) == (5, 4)
    assert picture.alt == who.description
    fresh = WhoAttends()
    fresh.seed, fresh.d_k = 5, 4
    assert fresh.view.children[-1].tiles == picture.tiles
