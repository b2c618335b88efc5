"""What every explorable gets from the base: rules, presets, goals, one picture a change, no leaks, races."""

from __future__ import annotations

import gc
import threading
from typing import ClassVar

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from traitlets import Bool, Enum, Int, TraitError

from course_lib import theme
from course_lib.explore import SaturationLab, SoftmaxDial, WhoAttends
from course_lib.explore.base import Explorable, Goal, Panel
from course_lib.explore.control import Control, Number
from course_lib.explore.picture import Picture

WIDGET = "application/vnd.jupyter.widget-view+json"


def draw_dot(axes):
    axes.set(xlim=(0, 4), ylim=(0, 4))
    [dot] = axes.plot([0], [0], "o")
    return lambda facts: dot.set_data([facts["x"]], [facts["y"]])


class Dot(Explorable):
    title = "Dot"
    question = "Where is <b>the dot</b> & why?"
    size = (2.0, 2.0)
    x = Number(1.0, min=0.0, max=4.0)
    y = Int(1, min=0, max=4)
    controls = (Control("x", "x", step=0.5), Control("y", "y"))
    presets: ClassVar = {"far": {"x": 4.0, "y": 4}, "low": {"y": 0}}
    goals = (
        Goal("right", "Right of 3", lambda now, start: now["x"] > 3),
        Goal("up", "Two up from the start", lambda now, start: now["y"] == start["y"] + 2),
    )
    panels = (Panel("Plane", draw_dot),)
    compute = staticmethod(lambda *, x, y: {"sum": x + y})

    @staticmethod
    def describe(facts):
        return f"The dot is at {facts['x']:.1f}, {facts['y']}; the sum is {facts['sum']:.1f}."


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


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"controls": (Control("x", "x"),) * 4}, "Wrong has 4 controls; one to three"),
        ({"controls": ()}, "0 controls"),
        ({"controls": (Control("speed", "speed"),)}, "'speed', which is not one of its traits"),
        ({"presets": {"odd": {"z": 1}}}, r"Preset 'odd' of Wrong sets \['z'\]"),
    ],
)
def test_the_rules_are_kept_when_a_class_is_written(changes, says):
    with pytest.raises(TypeError, match=says):
        type("Wrong", (Dot,), changes)


def test_presets_and_reset():
    dot = Dot()
    assert dot.facts == {"x": 1.0, "y": 1, "sum": 2.0}
    dot.preset("far")
    assert dot.state == {"x": 4.0, "y": 4}
    dot.preset("low")
    assert dot.state == {"x": 1.0, "y": 0}, "what a preset leaves out goes back to the start"
    dot.x = 2.5
    dot.reset()
    assert dot.state == {"x": 1.0, "y": 1}
    with pytest.raises(ValueError, match="Dot has no preset 'near'; it has far, low"):
        dot.preset("near")
    silent = type("Silent", (Dot,), {"describe": staticmethod(Explorable.describe)})
    with pytest.raises(NotImplementedError, match="must say what is seen"):
        silent().description  # noqa: B018


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


def test_controls_and_traits_follow_each_other():
    dot = Dot()
    x, y = dot.view.children[1].children
    assert (x.value, y.value) == (1.0, 1)
    x.value = 3.5
    assert dot.x == 3.5
    dot.y = 4
    assert y.value == 4
    presets = dot.view.children[2].children
    assert [button.description for button in presets] == ["far", "low", "Reset"]
    presets[0].click()
    assert dot.state == {"x": 4.0, "y": 4} and (x.value, y.value) == (4.0, 4)
    presets[-1].click()
    assert dot.state == {"x": 1.0, "y": 1}


def test_every_control_can_be_made():
    numbers = Number(1.0, min=0.0, max=3.0)
    choice, switch = Enum((1, 2), default_value=1), Enum(("a", "b"), default_value="a")
    made = [
        Control("t", "t").widget(Int(1, min=0, max=3)),
        Control("t", "t", step=0.25).widget(numbers),
        Control("t", "t", text=lambda value: f"{value} cm").widget(choice),
        Control("t", "t", buttons=True).widget(switch),
        Control("t", "t", wide=True).widget(switch),
    ]
    kinds = ["IntSlider", "FloatSlider", "SelectionSlider", "ToggleButtons", "SelectionSlider"]
    assert [type(widget).__name__ for widget in made] == kinds
    assert made[1].readout_format == ".2f" and [text for text, _ in made[2].options] == ["1 cm", "2 cm"]
    assert all(widget.style.description_width == "initial" for widget in made)
    assert all(getattr(widget, "continuous_update", True) for widget in made)
    with pytest.raises(TypeError, match=r"'flag' of type Bool.*Use an Enum"):
        Control("flag", "flag").widget(Bool())


def test_a_move_sends_one_message_with_picture_and_words_and_no_move_sends_none(shown, messages):
    shown.x = 1.0
    shown.reset()
    assert messages == []
    shown.x = 3.0
    [message] = messages
    assert message["state"]["alt"] == "The dot is at 3.0, 1; the sum is 4.0."
    assert ["tiles"] in message["buffer_paths"]


def test_a_preset_draws_once(shown, messages, monkeypatch):
    drawn = []
    monkeypatch.setattr(shown.stage(), "move", drawn.append)
    shown.preset("far")
    assert drawn == [{"x": 4.0, "y": 4, "sum": 8.0}]
    assert len(messages) <= 1


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


def test_the_page_gets_the_style_that_darkens_pictures_and_a_list_that_is_heard():
    assert theme.PAGE_STYLE.strip() in str(Picture._css)
    page = str(Picture._esm)
    assert 'role: "status"' in page and 'make("ul"' in page and "✓" in page


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Dot, SaturationLab])
def test_stills_are_reproducible_byte_for_byte(kind):
    first, second = kind(), kind()
    before = first.still()
    first.preset(next(iter(kind.presets)))
    assert first.still() != before
    first.reset()
    assert first.still() == before == second.still()


def test_two_of_a_kind_share_a_stage_and_do_not_disturb_each_other():
    one, two = Dot(), Dot()
    assert one.stage() is two.stage()
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


def test_two_threads_leave_the_last_state_on_the_page():
    """In a foreign JupyterLab, callbacks come on a second thread: words and picture must stay together."""
    who = WhoAttends()
    picture = who.view.children[-1]
    errors = []

    def walk(name, values):
        try:
            for value in values:
                setattr(who, name, value)
        except Exception as error:  # a thread's error would else be lost
            errors.append(error)

    seeds, widths = [*range(1, 13), 5], [1, 2, 4, 8, 16, 64] * 2 + [4]
    walkers = [threading.Thread(target=walk, args=way) for way in (("seed", seeds), ("d_k", widths))]
    for walker in walkers:
        walker.start()
    for walker in walkers:
        walker.join()
    assert not errors
    assert who.state["seed"] == 5 and who.state["d_k"] == 4
    assert picture.alt == who.description
    fresh = WhoAttends()
    fresh.seed, fresh.d_k = 5, 4
    assert fresh.view.children[-1].tiles == picture.tiles
