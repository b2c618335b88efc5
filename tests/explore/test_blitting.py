"""A blitted figure shows what a whole draw would, and its changed tiles hold all that changed."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from course_lib import theme
from course_lib.explore.raster.blitting import TILE, BlittedFigure
from course_lib.explore.raster.pillow_text import add_text


def make_figure(width: float = 3.2) -> BlittedFigure:
    def draw(figure):
        axes = figure.subplots()
        axes.set(xlim=(0, 1), ylim=(0, 1), title="Background")
        axes.plot([0, 1], [0, 1])
        [dot] = axes.plot([0.5], [0.5], "o")
        label = add_text(axes, 0.1, 0.9)

        def show(facts):
            dot.set_data([facts["x"]], [0.5])
            label.set_text(f"{facts['x']:.1f}")

        return show

    return BlittedFigure(theme.figure(width, 2.0), draw, {"x": 0.5})


def rebuild(figure: BlittedFigure) -> np.ndarray:
    """What the page makes of the changed tiles."""
    pixels, columns = figure.background.copy(), figure.background.shape[1] // TILE
    numbers, tiles = figure.changed_tiles()
    numbers = np.frombuffer(numbers, dtype="<u2")
    tiles = np.frombuffer(zlib.decompress(tiles), dtype=np.uint8).reshape(len(numbers), TILE, TILE, 4)
    for number, tile in zip(numbers, tiles, strict=True):
        y, x = divmod(int(number), columns)
        pixels[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE] = tile
    return pixels


def test_an_update_shows_what_a_whole_draw_shows_and_nothing_of_the_last_one():
    figure = make_figure()
    assert [type(artist).__name__ for artist in figure.animated] == ["Line2D", "PillowText"]
    pictures = []
    for x in (0.3, 0.8, 0.3):
        figure.update({"x": x})
        pictures.append(figure.pixels().copy())
    assert not np.array_equal(pictures[1], pictures[0]) and np.array_equal(pictures[2], pictures[0])
    for artist in figure.animated:
        artist.set_animated(False)
    figure.figure.canvas.draw()
    assert np.array_equal(figure.pixels(), pictures[0])


def test_the_changed_tiles_rebuild_the_picture():
    figure = make_figure()
    assert figure.changed_tiles()[0] == b"", "nothing has changed yet"
    for x in (0.0, 0.41, 1.0):
        figure.update({"x": x})
        n_tiles = figure.background.size / 4 / TILE**2
        assert 0 < len(figure.changed_tiles()[0]) / 2 < n_tiles / 2, "only a part has changed"
        assert np.array_equal(rebuild(figure), figure.pixels())
    figure.background = 255 - figure.pixels()  # everything
    assert np.array_equal(rebuild(figure), figure.pixels())


def test_sizes_that_are_no_whole_tiles_are_rejected():
    with pytest.raises(ValueError, match=r"496 × 320 is no whole.*multiples of 0\.2 inches"):
        make_figure(3.1).changed_tiles()
