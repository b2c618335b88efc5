"""Every explorable, swept through its range: computed, drawn, put into words, and its goals fair."""

from __future__ import annotations

import base64
import io
from itertools import product

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib import theme
from course_lib.explore.control import Choice, Writing
from course_lib.explore.moving import MovingFigure
from tests.explore.stops import KINDS, places

PAPER = np.round(np.multiply(to_rgb(theme.PAPER), 255))
every_explorable = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def states(kind):
    """All combinations of choices and ends of ranges, then each control through all its stops."""
    ends = [one.stops if isinstance(one, Choice) else [one.stops[0], one.stops[-1]] for one in kind.controls]
    for values in product(*ends):
        yield dict(zip(kind.start, values, strict=True))
    for control in kind.controls:
        for value in control.stops:
            yield {control.name: value}


def ink_at_the_edge(pixels: np.ndarray, depth: int = 10) -> bool:
    strips = pixels[:depth], pixels[-depth:], pixels[:, :depth], pixels[:, -depth:]
    return any((np.abs(strip[..., :3] - PAPER) > 8).any() for strip in strips)


@pytest.mark.slow
@every_explorable
def test_every_state_is_drawn_whole_and_described(kind):
    explorable = kind()
    picture = explorable.view.children[-1]
    seen = set()
    for state in states(kind):
        with explorable.hold_trait_notifications():
            explorable.reset()
            for name, value in state.items():
                setattr(explorable, name, value)
        numbers = [value for value in explorable.facts.values() if isinstance(value, float | np.ndarray)]
        assert all(np.isfinite(value).all() for value in numbers)
        assert picture.alt == explorable.description
        assert not ink_at_the_edge(explorable.moving().pixels()), f"something is cut off at {explorable!r}"
        seen.add(picture.tiles)
    assert len(seen) > 10, "the picture follows the controls"


@pytest.mark.slow
@every_explorable
def test_the_way_to_a_state_leaves_no_trace(kind):
    """As on a fresh figure that knows no other state; else `show` does not set all that moves each time."""
    explorable = kind()
    for name in kind.presets:
        explorable.preset(name)
        explorable.still()
        fresh = MovingFigure(theme.figure(*kind.size), kind.scene, explorable.facts)
        fresh.move(explorable.facts)
        assert np.array_equal(fresh.pixels(), explorable.moving().pixels()), name


@every_explorable
def test_presets_reset_and_words(kind):
    explorable = kind()
    start = explorable.description
    assert 40 < len(start) < 260
    for name in kind.presets:
        explorable.preset(name)
        assert explorable.view.children[-1].alt == explorable.description
    explorable.reset()
    assert explorable.description == start
    assert 1 <= len(kind.presets) <= 4 and kind.title and kind.question
    assert all(len(control.label) <= 16 for control in kind.controls)
    assert all(preset.keys() <= kind.start.keys() for preset in kind.presets.values())
    written = sum(isinstance(control, Writing) for control in kind.controls)
    assert 1 <= len(kind.controls) - written <= 3 and written <= 1, "more would not be clear"


@every_explorable
def test_the_stored_picture(kind):
    """Small enough for a notebook, narrow enough for a shared screen, and the same as what is seen live."""
    explorable = kind()
    data, metadata = explorable._repr_mimebundle_()
    png = base64.b64decode(data["image/png"])
    assert len(png) < 120_000
    assert metadata["image/png"]["width"] <= 840
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    explorable.still()
    assert np.array_equal(pixels, explorable.moving().pixels()[..., :3])
    assert pixels.shape[1] == 2 * metadata["image/png"]["width"]


@every_explorable
def test_every_goal_can_be_reached_by_hand_and_none_is_a_gift(kind):
    start = kind.facts_at(kind.start)
    assert 2 <= len(kind.goals) <= 3 and kind.goals_met(start, start).keys() == kind.goals.keys()
    assert not any(kind.goals_met(start, start).values()), "met at the start"
    for goal, text in kind.goals.items():
        assert len(text) <= 70
        assert goal in places(kind), f"no setting reaches {goal}"
        explorable = kind()
        for control, place in zip(kind.controls, places(kind)[goal], strict=True):
            setattr(explorable, control.name, control.stops[place])
        assert goal in explorable.ticked
    explorable = kind()
    for name in kind.presets:
        explorable.preset(name)
        explorable.reset()
    assert explorable.ticked == set(), "presets do not count"
