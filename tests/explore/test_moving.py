"""A moving figure paints as a whole draw would, and its changes hold all that changed."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from course_lib import theme
from course_lib.explore.moving import TILE, MovingFigure
from course_lib.views.quick_text import quick_text


def make(width: float = 3.2) -> MovingFigure:
    def draw(figure):
        axes = figure.subplots()
        axes.set(xlim=(0, 1), ylim=(0, 1), title="Stays")
        axes.plot([0, 1], [0, 1])
        [dot] = axes.plot([0.5], [0.5], "o")
        label = quick_text(axes, 0.1, 0.9)

        def show(facts):
            dot.set_data([facts["x"]], [0.5])
            label.set_text(f"{facts['x']:.1f}")

        return show

    return MovingFigure(theme.figure(width, 2.0), draw, {"x": 0.5})


def rebuilt(moving: MovingFigure) -> np.ndarray:
    """What the page makes of the changes."""
    whole, columns = moving.scenery.copy(), moving.scenery.shape[1] // TILE
    places, tiles = moving.changes()
    places = np.frombuffer(places, dtype="<u2")
    tiles = np.frombuffer(zlib.decompress(tiles), dtype=np.uint8).reshape(len(places), TILE, TILE, 4)
    for place, tile in zip(places, tiles, strict=True):
        y, x = divmod(int(place), columns)
        whole[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE] = tile
    return whole


def test_a_move_paints_what_a_whole_draw_paints_and_leaves_nothing_of_the_last_one():
    moving = make()
    assert [type(mover).__name__ for mover in moving.movers] == ["Line2D", "QuickText"]
    pictures = []
    for x in (0.3, 0.8, 0.3):
        moving.move({"x": x})
        pictures.append(moving.pixels().copy())
    assert not np.array_equal(pictures[1], pictures[0]) and np.array_equal(pictures[2], pictures[0])
    for mover in moving.movers:
        mover.set_animated(False)
    moving.figure.canvas.draw()
    assert np.array_equal(moving.pixels(), pictures[0])


def test_the_changes_put_the_picture_together_again():
    moving = make()
    assert moving.changes()[0] == b"", "nothing has moved yet"
    for x in (0.0, 0.41, 1.0):
        moving.move({"x": x})
        all_tiles = moving.scenery.size / 4 / TILE**2
        assert 0 < len(moving.changes()[0]) / 2 < all_tiles / 2, "only a part has changed"
        assert np.array_equal(rebuilt(moving), moving.pixels())
    moving.scenery = 255 - moving.pixels()  # everything
    assert np.array_equal(rebuilt(moving), moving.pixels())


def test_sizes_that_are_no_whole_tiles_are_refused():
    with pytest.raises(ValueError, match=r"496 × 320 is no whole.*multiples of 0\.2 inches"):
        make(3.1).changes()
