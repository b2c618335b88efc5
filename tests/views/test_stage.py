"""The stage paints as a whole draw would, and the mosaic holds all that changed."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

from course_lib import theme
from course_lib.views.blocks import Blocks
from course_lib.views.mosaic import TILE, mosaic
from course_lib.views.quick_text import quick_text
from course_lib.views.stage import Moving, Stage


def make_stage() -> Stage:
    figure = theme.figure(3.2, 2.0)
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    [dot] = axes.plot([0.5], [0.5], "o")
    label = quick_text(axes, 0.1, 0.9)

    def show(facts):
        dot.set_data([facts["x"]], [0.5])
        label.set_text(f"{facts['x']:.1f}")

    return Stage(figure, Moving([dot, label], show))


def rebuild(places: np.ndarray, tiles: np.ndarray, scenery: np.ndarray) -> np.ndarray:
    """What the page does with a mosaic."""
    whole = scenery.copy()
    columns = scenery.shape[1] // TILE
    for i, place in enumerate(places):
        y, x = divmod(int(place), columns)
        from_y, from_x = divmod(i, columns)
        whole[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE] = tiles[
            from_y * TILE : (from_y + 1) * TILE, from_x * TILE : (from_x + 1) * TILE
        ]
    return whole


def test_a_move_paints_what_a_whole_draw_paints():
    stage = make_stage()
    stage.move({"x": 0.3})
    blitted = stage.pixels().copy()
    for artist in stage.figure.axes[0].get_children():
        artist.set_animated(False)
    stage.figure.canvas.draw()
    assert np.array_equal(stage.pixels(), blitted)


def test_nothing_of_the_last_move_is_left():
    stage = make_stage()
    stage.move({"x": 0.3})
    first = stage.pixels().copy()
    stage.move({"x": 0.8})
    assert not np.array_equal(stage.pixels(), first)
    stage.move({"x": 0.3})
    assert np.array_equal(stage.pixels(), first)


def test_the_mosaic_puts_the_picture_together_again():
    stage = make_stage()
    for x in (0.0, 0.41, 1.0):
        stage.move({"x": x})
        places, tiles = mosaic(stage.pixels(), stage.scenery)
        assert 0 < len(places) < stage.scenery.size / 4 / TILE**2 / 2, "only a part has changed"
        assert np.array_equal(rebuild(places, tiles, stage.scenery), stage.pixels())


def test_a_mosaic_of_nothing_is_still_a_picture():
    scenery = make_stage().scenery
    places, tiles = mosaic(scenery, scenery)
    assert len(places) == 0
    assert tiles.shape == (TILE, scenery.shape[1], 4)


def test_a_mosaic_of_everything():
    scenery = make_stage().scenery
    places, tiles = mosaic(255 - scenery, scenery)
    assert np.array_equal(rebuild(places, tiles, scenery), 255 - scenery)


def test_sizes_that_are_no_whole_tiles_are_refused():
    with pytest.raises(ValueError, match=r"300 × 320 is no whole.*multiples of 0\.2 inches"):
        mosaic(np.zeros((320, 300, 4), dtype=np.uint8), np.zeros((320, 300, 4), dtype=np.uint8))


def ink_box(paint) -> tuple[int, ...]:
    """The smallest box around what `paint(axes)` leaves on the paper: top, bottom, left, right."""
    figure = theme.figure(2, 1)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    paint(axes)
    figure.canvas.draw()
    dark = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int).sum(axis=2) < 500
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    return rows[0], rows[-1], columns[0], columns[-1]


@pytest.mark.parametrize("ha", ["left", "center", "right"])
@pytest.mark.parametrize("va", ["baseline", "center", "bottom"])
@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_quick_text_stands_where_matplotlib_would_put_it(ha, va, weight):
    ours = ink_box(lambda axes: quick_text(axes, 0.5, 0.5, "0.25", ha=ha, va=va, weight=weight))
    plain = ink_box(
        lambda axes: axes.add_artist(
            Text(0.5, 0.5, "0.25", ha=ha, va=va, fontweight=weight, transform=axes.transData)
        )
    )
    room = 7 if va == "bottom" else 3  # matplotlib measures a line's bottom by this text, Pillow by the font
    assert np.abs(np.subtract(ours, plain)).max() <= room


def test_quick_text_without_text_paints_nothing():
    with pytest.raises(IndexError):  # no ink, no box
        ink_box(lambda axes: (quick_text(axes, 0.5, 0.5, ""), quick_text(axes, 0.5, 0.5, " ")))


def test_blocks_stand_between_their_edges():
    figure = theme.figure(2, 1)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 320), ylim=(0, 160))
    axes.set_axis_off()
    blocks = Blocks(axes, 2, theme.INK)
    blocks.place(left=[80, 160], right=[160, 240], low=0, high=[80, 40])
    figure.canvas.draw()
    dark = np.asarray(figure.canvas.buffer_rgba())[..., 0] < 128
    wanted = np.zeros((160, 320), dtype=bool)
    wanted[80:, 80:160] = wanted[120:, 160:240] = True
    assert np.array_equal(dark, wanted)
