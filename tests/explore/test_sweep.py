"""Every explorable over its whole range: facts, picture, description, and goals that can be reached."""

from __future__ import annotations

import base64
import io
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib import theme
from course_lib.explore.control import Choice, TextInput
from course_lib.explore.raster.blitting import BlittedFigure
from course_lib.views.picture import LARGEST
from tests.explore.settings import DRAWN, KINDS, RASTER, goal_settings

PAPER = np.round(np.multiply(to_rgb(theme.PAPER), 255))
every_explorable, every_raster, every_drawn = (
    pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.__name__) for kinds in (KINDS, RASTER, DRAWN)
)


def corners(kind):
    """All combinations of the first and last value of each control."""
    return combinations(kind, [(control.values[0], control.values[-1]) for control in kind.controls])


def choices(kind):
    """All combinations of choices and ends of ranges."""
    ends = [c.values if isinstance(c, Choice) else (c.values[0], c.values[-1]) for c in kind.controls]
    return combinations(kind, ends)


def combinations(kind, all_values):
    return [dict(zip(kind.start, values, strict=True)) for values in product(*all_values)]


def single_changes(kind):
    """Every value of each control, with the others at the start; of a point, 90 of its places."""
    thin = {control.name: control.values[:: max(1, len(control.values) // 90)] for control in kind.controls}
    return [{**kind.start, name: value} for name, values in thin.items() for value in values]


def has_ink_at_edge(pixels: np.ndarray, depth: int = 10) -> bool:
    strips = pixels[:depth], pixels[-depth:], pixels[:, :depth], pixels[:, -depth:]
    return any((np.abs(strip[..., :3] - PAPER) > 8).any() for strip in strips)


@pytest.mark.slow
@every_raster
def test_the_picture_fits_and_follows_the_controls(kind):
    explorable = kind()
    picture = explorable.view.children[-1]
    pictures = set()
    for state in [*corners(kind), *single_changes(kind)]:
        with explorable.hold_trait_notifications():
            for name, value in state.items():
                setattr(explorable, name, value)
        assert picture.alt == explorable.description
        pixels = explorable.shared_figure().pixels()
        assert not has_ink_at_edge(pixels), f"something is cut off at {explorable!r}"
        pictures.add(picture.tiles)
    assert len(pictures) > 10, "the picture follows the controls"


@pytest.mark.slow
@every_drawn
def test_svg_is_well_formed_small_legible_and_follows_the_controls(kind):
    pictures = set()
    for state in [*corners(kind), *single_changes(kind)]:
        picture = kind.picture_of(kind.facts_at(state))
        root = ElementTree.fromstring(picture.svg)
        pictures.add(picture.svg)
        assert len(picture.svg) < LARGEST and picture.width <= 760, state
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            assert float(text.get("font-size")) >= 11, (state, text.text)
        keys = [node.get("data-key") for node in root.iter() if node.get("data-key")]
        assert len(keys) == len(set(keys)), "what moves has a name of its own"
    assert len(pictures) > 8, "the picture follows the controls"


@pytest.mark.slow
@every_explorable
def test_every_combination_of_choices_has_finite_numbers_and_a_description(kind):
    for state in [*choices(kind), *single_changes(kind)]:
        facts = kind.facts_at(state)
        numbers = [value for value in facts.values() if isinstance(value, float | np.ndarray)]
        assert all(np.isfinite(value).all() for value in numbers), state
        assert 40 < len(kind.describe(facts)) < 700, state


@pytest.mark.slow
@every_raster
def test_the_picture_depends_on_the_state_alone(kind):
    """It is the same after other states; otherwise `show` doesn't set all that changes."""
    states = [kind.facts_at({**kind.start, **preset}) for preset in kind.presets.values()]
    other = BlittedFigure(theme.figure(*kind.size), kind.draw, kind.facts_at(kind.start))
    there, back = [], []
    for figure, order, pictures in ((kind.shared_figure(), states, there), (other, states[::-1], back)):
        for facts in order:
            figure.update(facts)
            pictures.append(figure.pixels().copy())
    for name, one, two in zip(kind.presets, there, back[::-1], strict=True):
        assert np.array_equal(one, two), name


@every_explorable
def test_presets_reset_and_description(kind):
    explorable = kind()
    start = explorable.description
    assert 40 < len(start) < 400
    for name in kind.presets:
        explorable.preset(name)
        assert explorable.view.children[-1].alt == explorable.description
    explorable.reset()
    assert explorable.description == start
    assert 1 <= len(kind.presets) <= 4 and kind.title and kind.question
    assert all(len(control.label) <= 16 for control in kind.controls)
    assert all(preset.keys() <= kind.start.keys() for preset in kind.presets.values())
    n_texts = sum(isinstance(control, TextInput) for control in kind.controls)
    assert 1 <= len(kind.controls) - n_texts <= 3 and n_texts <= 1, "too many controls"


@every_raster
def test_the_stored_picture(kind):
    """Small enough for a notebook, narrow enough for a shared screen, and the same as the live picture."""
    explorable = kind()
    data, metadata = explorable._repr_mimebundle_()
    png = base64.b64decode(data["image/png"])
    assert len(png) < 120_000
    assert metadata["image/png"]["width"] <= 840
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    explorable.static_image()
    assert np.array_equal(pixels, explorable.shared_figure().pixels()[..., :3])
    assert pixels.shape[1] == 2 * metadata["image/png"]["width"]


@every_explorable
def test_every_goal_can_be_reached_by_hand_and_none_is_met_at_the_start(kind):
    start = kind.facts_at(kind.start)
    assert 2 <= len(kind.goals) <= 3 and kind.goals_met(start, start).keys() == kind.goals.keys()
    assert not any(kind.goals_met(start, start).values()), "met at the start"
    for goal, text in kind.goals.items():
        assert len(text) <= 70
        assert goal in goal_settings(kind), f"no setting reaches {goal}"
        explorable = kind()
        for control, index in zip(kind.controls, goal_settings(kind)[goal], strict=True):
            setattr(explorable, control.name, control.values[index])
        assert goal in explorable.reached_goals
    explorable = kind()
    for name in kind.presets:
        explorable.preset(name)
        explorable.reset()
    assert explorable.reached_goals == set(), "presets do not count"
