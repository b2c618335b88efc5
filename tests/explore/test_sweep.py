"""Every explorable, swept through its whole range: every state is computed, drawn and put into words."""

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
from course_lib.explore.control import Number

pytestmark = pytest.mark.slow

KINDS = [getattr(explore, name) for name in explore.__all__ if name != "Explorable"]
PAPER = np.round(np.multiply(to_rgb(theme.PAPER), 255))


def choices(kind, control, *, all_stops: bool) -> list:
    trait = kind.class_traits()[control.trait]
    if isinstance(trait, Enum):
        return list(trait.values)
    step = control.step if isinstance(trait, Number) else 1
    count = round((trait.max - trait.min) / step)
    stops = [min(trait.min + step * i, trait.max) for i in range(count + 1)]
    return stops if all_stops else [stops[0], stops[-1]]


def states(kind):
    """All combinations of choices and ends of ranges, then each control through all its stops."""
    names = [control.trait for control in kind.controls]
    for values in product(*(choices(kind, control, all_stops=False) for control in kind.controls)):
        yield dict(zip(names, values, strict=True))
    for control in kind.controls:
        for value in choices(kind, control, all_stops=True):
            yield {control.trait: value}


def ink_at_the_edge(pixels: np.ndarray, depth: int = 10) -> bool:
    strips = pixels[:depth], pixels[-depth:], pixels[:, :depth], pixels[:, -depth:]
    return any((np.abs(strip[..., :3] - PAPER) > 8).any() for strip in strips)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_state_is_drawn_whole_and_described(kind):
    explorable = kind()
    picture = explorable.view.children[-1]
    seen = set()
    for state in states(kind):
        with explorable.hold_trait_notifications():
            explorable.reset()
            for name, value in state.items():
                setattr(explorable, name, value)
        facts = explorable.facts
        assert all(
            np.isfinite(value).all() for value in facts.values() if isinstance(value, float | np.ndarray)
        )
        assert picture.alt == explorable.description == explorable.describe(kind.compute(**explorable.state))
        assert not ink_at_the_edge(explorable.stage().pixels()), f"something is cut off at {explorable!r}"
        seen.add(picture.tiles)
    assert len(seen) > 10, "the picture follows the controls"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_presets_reset_and_words(kind):
    explorable = kind()
    start = explorable.description
    assert 40 < len(start) < 260
    for name in kind.presets:
        explorable.preset(name)
        assert explorable.description == explorable.describe(explorable.facts)
        assert explorable.view.children[-1].alt == explorable.description
    explorable.reset()
    assert explorable.description == start
    assert 1 <= len(kind.presets) <= 4 and kind.title and kind.question
    assert all(len(control.label) <= 16 for control in kind.controls)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
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
