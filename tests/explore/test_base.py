"""What every explorable gets from the base: rules, presets, one picture a change, no leaks, no races."""

from __future__ import annotations

import gc
import threading
from typing import ClassVar

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from traitlets import Bool, Enum, Int, TraitError

from course_lib.explore import SaturationLab, SoftmaxDial, WhoAttends
from course_lib.explore.base import Explorable
from course_lib.explore.control import Control, Number
from course_lib.views.mosaic import mosaic
from course_lib.views.stage import Moving

WIDGET = "application/vnd.jupyter.widget-view+json"


def draw_dot(figure: Figure) -> Moving:
    axes = figure.subplots()
    axes.set(xlim=(0, 4), ylim=(0, 4))
    [dot] = axes.plot([0], [0], "o")
    return Moving([dot], lambda facts: dot.set_data([facts["x"]], [facts["y"]]))


class Dot(Explorable):
    title = "Dot"
    question = "Where is <b>the dot</b> & why?"
    size = (2.0, 2.0)
    x = Number(1.0, min=0.0, max=4.0)
    y = Int(1, min=0, max=4)
    controls = (Control("x", "x", step=0.5), Control("y", "y"))
    presets: ClassVar = {"far": {"x": 4.0, "y": 4}, "low": {"y": 0}}
    compute = staticmethod(lambda *, x, y: {"x": x, "y": y})
    draw = staticmethod(draw_dot)

    def describe(self, facts):
        return f"The dot is at {facts['x']:.1f}, {facts['y']}."


@pytest.fixture
def messages(monkeypatch):
    """What a picture sends to the page, message by message."""
    from course_lib.explore.picture import Picture

    sent = []
    original = Picture._send
    monkeypatch.setattr(
        Picture, "_send", lambda self, msg, buffers=None: (sent.append(msg), original(self, msg, buffers))
    )
    return sent


def define(**changes):
    """A class like Dot with something changed."""
    return type("Wrong", (Dot,), changes)


def test_the_rules_are_kept_when_a_class_is_written():
    with pytest.raises(TypeError, match="Wrong has 4 controls; one to three"):
        define(controls=(Control("x", "x"),) * 4)
    with pytest.raises(TypeError, match="0 controls"):
        define(controls=())
    with pytest.raises(TypeError, match="'speed', which is not one of its traits"):
        define(controls=(Control("speed", "speed"),))
    with pytest.raises(TypeError, match=r"Preset 'odd' of Wrong sets \['z'\]"):
        define(presets={"odd": {"z": 1}})


def test_it_must_say_what_is_seen():
    class Silent(Explorable):
        x = Int(0, min=0, max=1)
        controls = (Control("x", "x"),)
        compute = staticmethod(lambda *, x: {})

    with pytest.raises(NotImplementedError, match="Silent must say what is seen"):
        Silent().description  # noqa: B018


def test_presets_and_reset():
    dot = Dot()
    dot.preset("far")
    assert dot.state == {"x": 4.0, "y": 4}
    dot.preset("low")
    assert dot.state == {"x": 1.0, "y": 0}, "what a preset leaves out goes back to the start"
    dot.x = 2.5
    dot.reset()
    assert dot.state == {"x": 1.0, "y": 1}
    with pytest.raises(ValueError, match="Dot has no preset 'near'; it has far, low"):
        dot.preset("near")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("x", 4.5, "not be greater than 4"),
        ("x", -0.1, "not be less than 0"),
        ("x", "1", "finite number"),
        ("x", float("nan"), "finite number"),
        ("y", 5, "not be greater than 4"),
        ("y", 1.5, "an int"),
    ],
)
def test_wrong_values_are_refused_and_change_nothing(name, value, says):
    dot = Dot()
    before = dot.state
    with pytest.raises(TraitError, match=says):
        setattr(dot, name, value)
    assert dot.state == before


def test_a_choice_that_is_none_is_refused():
    lab = SaturationLab()
    with pytest.raises(TraitError, match=r"'d_k' trait .*expected any of .*512.*, not the int 3"):
        lab.d_k = 3
    with pytest.raises(TraitError, match=r"'divisor' trait .*expected any of"):
        lab.divisor = "√n"


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
    kinds = {
        "IntSlider": (Int(1, min=0, max=3), Control("t", "t")),
        "FloatSlider": (Number(1.0, min=0.0, max=3.0), Control("t", "t", step=0.25)),
        "SelectionSlider": (
            Enum((1, 2), default_value=1),
            Control("t", "t", text=lambda value: f"{value} cm"),
        ),
        "ToggleButtons": (Enum(("a", "b"), default_value="a"), Control("t", "t", buttons=True)),
    }
    made = {name: control.widget(trait) for name, (trait, control) in kinds.items()}
    assert {name: type(widget).__name__ for name, widget in made.items()} == {name: name for name in kinds}
    assert made["FloatSlider"].readout_format == ".2f"
    assert [text for text, _ in made["SelectionSlider"].options] == ["1 cm", "2 cm"]
    assert all(widget.style.description_width == "initial" for widget in made.values())
    assert all(getattr(widget, "continuous_update", True) for widget in made.values())
    with pytest.raises(TypeError, match=r"'flag' of type Bool.*Use an Enum"):
        Control("flag", "flag").widget(Bool())


def test_a_move_sends_one_message_with_picture_and_words(messages):
    dot = Dot()
    dot.view  # noqa: B018
    messages.clear()
    dot.x = 3.0
    assert len(messages) == 1
    assert messages[0]["state"]["alt"] == "The dot is at 3.0, 1."
    assert ["tiles"] in messages[0]["buffer_paths"]


def test_a_preset_draws_once(messages, monkeypatch):
    dot = Dot()
    dot.view  # noqa: B018
    messages.clear()
    drawn = []
    monkeypatch.setattr(dot.stage(), "move", lambda facts: drawn.append(facts))
    dot.preset("far")
    assert drawn == [{"x": 4.0, "y": 4}]
    assert len(messages) <= 1


def test_what_does_not_change_is_not_sent(messages):
    dot = Dot()
    dot.view  # noqa: B018
    messages.clear()
    dot.x = 1.0
    dot.reset()
    assert messages == []


def test_it_displays_itself_live_and_still():
    dot = Dot()
    data, metadata = dot._repr_mimebundle_()
    assert set(data) == {WIDGET, "image/png", "text/plain"}
    assert data["text/plain"] == dot.description == "The dot is at 1.0, 1."
    assert metadata["image/png"] == {"width": 160, "height": 160, "alt": dot.description}
    assert data[WIDGET]["model_id"] == dot.view.model_id
    assert "&lt;b&gt;the dot&lt;/b&gt; &amp; why?" in dot.view.children[0].value, "text is escaped"


def test_repr_is_the_state():
    assert repr(Dot()) == "Dot(x=1.0, y=1)"
    assert repr(SaturationLab()) == "SaturationLab(d_k=64, divisor='√d_k', query=1)"
    dot = Dot()
    assert repr(dot.view.children[-1]) == "Picture('The dot is at 1.0, 1.')"


@pytest.mark.slow
def test_stills_are_reproducible_byte_for_byte():
    for kind in (Dot, SaturationLab):
        first, second = kind(), kind()
        before = first.still()
        first.preset(next(iter(kind.presets)))
        assert first.still() != before
        first.reset()
        assert first.still() == before == second.still()


def test_two_of_a_kind_do_not_disturb_each_other():
    one, two = Dot(), Dot()
    pictures = [each.view.children[-1] for each in (one, two)]
    two.preset("far")
    one.x = 2.0
    assert [picture.alt for picture in pictures] == ["The dot is at 2.0, 1.", "The dot is at 4.0, 4."]
    assert pictures[1].tiles != pictures[0].tiles


@pytest.mark.slow
def test_no_figure_leaks():
    """Fifty reruns of a cell and two hundred moves later there is one figure, and pyplot knows of none."""
    SoftmaxDial().still()
    gc.collect()
    before = sum(type(thing) is Figure for thing in gc.get_objects())
    many = [SoftmaxDial() for _ in range(50)]
    for dial in many:
        dial.view  # noqa: B018
    for i in range(200):
        many[i % 50].multiplier = i / 25
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

    walkers = [
        threading.Thread(target=walk, args=("seed", [*range(1, 13), 5])),
        threading.Thread(target=walk, args=("d_k", [1, 2, 4, 8, 16, 64] * 2 + [4])),
    ]
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
    assert np.array_equal(*(mosaic(who.stage().pixels(), who.stage().scenery)[0] for _ in range(2)))
