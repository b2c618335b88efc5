"""Every explorable, swept through its range: computed, drawn, put into words, and its goals fair."""

from __future__ import annotations

import base64
import io
from itertools import product

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image
from traitlets import Enum

from course_lib import explore, theme
from course_lib.views.moving import Stage
from tests.explore.stops import places, stops

KINDS = [getattr(explore, name) for name in explore.__all__ if name != "Explorable"]
PAPER = np.round(np.multiply(to_rgb(theme.PAPER), 255))
every_explorable = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def states(kind):
    """All combinations of choices and ends of ranges, then each control through all its stops."""
    names = [control.trait for control in kind.controls]
    ends = []
    for control in kind.controls:
        few = isinstance(kind.class_traits()[control.trait], Enum)
        ends.append(stops(kind, control) if few else [stops(kind, control)[0], stops(kind, control)[-1]])
    for values in product(*ends):
        yield dict(zip(names, values, strict=True))
    for control in kind.controls:
        for value in stops(kind, control):
            yield {control.trait: value}


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
        assert not ink_at_the_edge(explorable.stage().pixels()), f"something is cut off at {explorable!r}"
        seen.add(picture.tiles)
    assert len(seen) > 10, "the picture follows the controls"


@pytest.mark.slow
@every_explorable
def test_the_way_to_a_state_leaves_no_trace(kind):
    """As on a fresh stage that knows no other state; else `show` does not set all that moves each time."""
    explorable = kind()
    for name in kind.presets:
        explorable.preset(name)
        explorable.still()
        fresh = Stage(theme.figure(*kind.size), kind.scene, explorable.facts)
        fresh.move(explorable.facts)
        assert np.array_equal(fresh.pixels(), explorable.stage().pixels()), name


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
    assert np.array_equal(pixels, explorable.stage().pixels()[..., :3])
    assert pixels.shape[1] == 2 * metadata["image/png"]["width"]


@every_explorable
def test_every_goal_can_be_reached_by_hand_and_none_is_a_gift(kind):
    start = kind.facts_at(kind.start)
    assert 2 <= len({goal.id for goal in kind.goals}) == len(kind.goals) <= 3
    for goal in kind.goals:
        assert not goal.met(start, start), f"{goal.id} is met at the start"
        assert len(goal.text) <= 70
        assert goal.id in places(kind), f"no setting reaches {goal.id}"
        explorable = kind()
        for control, place in zip(kind.controls, places(kind)[goal.id], strict=True):
            setattr(explorable, control.trait, stops(kind, control)[place])
        assert goal.id in explorable.ticked
    explorable = kind()
    for name in kind.presets:
        explorable.preset(name)
        explorable.reset()
    assert explorable.ticked == set(), "presets do not count"
