"""Texts, rectangles and bars are drawn where matplotlib's own would be."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from course_lib import theme
from course_lib.explore.raster.artists import Bars, Heatmap, HorizontalBars, Rectangles
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.views import Picture, gallery, heatmap


def draw_on_canvas(draw) -> np.ndarray:
    """Which pixels `draw(axes)` darkens on a canvas of 320 by 160, where a data unit is a pixel."""
    figure = theme.figure(2, 1)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 320), ylim=(0, 160))
    axes.set_axis_off()
    draw(axes)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int).sum(axis=2) < 500


def bounding_box(dark: np.ndarray) -> tuple[int, ...]:
    """Top, bottom, left and right of the dark pixels."""
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    return rows[0], rows[-1], columns[0], columns[-1]


@pytest.mark.parametrize("ha", ["left", "center", "right"])
@pytest.mark.parametrize("va", ["baseline", "center", "bottom"])
@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_pillow_text_is_where_matplotlib_would_put_it(ha, va, weight):
    ours = draw_on_canvas(lambda axes: add_text(axes, 160, 80, "0.25", ha=ha, va=va, weight=weight))
    style = {"ha": ha, "va": va, "fontweight": weight}
    plain = draw_on_canvas(
        lambda axes: axes.add_artist(Text(160, 80, "0.25", transform=axes.transData, **style))
    )
    # matplotlib takes the bottom of this text, Pillow that of the font
    tolerance = 7 if va == "bottom" else 3
    assert np.abs(np.subtract(bounding_box(ours), bounding_box(plain))).max() <= tolerance


def test_an_empty_text_draws_nothing():
    assert not draw_on_canvas(lambda axes: (add_text(axes, 160, 80, ""), add_text(axes, 160, 80, " "))).any()


def test_artists_left_over_are_cleared_and_marked_as_changed():
    texts = [add_text(theme.figure().subplots(), 0, 0, "old") for _ in range(3)]
    for text in texts:
        text.stale = False
    set_texts(texts, ["a", "b"], colours=[theme.BLUE, theme.ORANGE], bold=[True, False])
    assert [text.get_text() for text in texts] == ["a", "b", ""] and all(text.stale for text in texts)
    assert [text.get_color() for text in texts[:2]] == [theme.BLUE, theme.ORANGE]
    assert [text.get_fontweight() for text in texts[:2]] == ["bold", "normal"]


def test_rectangles_and_horizontal_bars_fill_their_edges():
    edges = {"left": [80, 160], "right": [160, 240], "low": 0, "high": [80, 40]}
    expected = np.zeros((160, 320), dtype=bool)
    expected[80:, 80:160] = expected[120:, 160:240] = True
    drawn = draw_on_canvas(lambda axes: Rectangles(axes, 2, theme.INK).set_edges(**edges))
    assert np.array_equal(drawn, expected)

    def draw_bars(axes):
        axes.set_xlim(-100, 220)
        bars = HorizontalBars(axes, [40, 120], gap=5, thickness=40, colour=theme.INK)
        bars.show(np.array([80.0, -60.0]), ["", ""])
        assert [text.get_position() for text in bars.value_texts] == [(85, 40), (5, 120)]

    expected = np.zeros((160, 320), dtype=bool)
    expected[100:140, 100:180] = expected[20:60, 40:100] = True
    assert np.array_equal(draw_on_canvas(draw_bars), expected)


@pytest.mark.parametrize("scores", [[[-3.0, -1.0]], [[-4.0, 2.0]], [[0.5, 0.0]]])
def test_the_colour_scale_of_scores_is_symmetric(scores):
    """So the middle colour is 0, even if all scores are negative."""
    axes = theme.figure(2, 1).add_subplot()
    cells = Heatmap(axes, ["row"], ["a", "b"], kind="scores")
    cells.show(np.array(scores))
    norm = axes.collections[0].norm
    assert norm.vmax == -norm.vmin == np.abs(scores).max()


def one_heatmap(matrix=0.0, rows="66", columns="6666", **more) -> Picture:
    return heatmap(np.zeros((2, 4)) + matrix, rows=rows, columns=columns, **more)


def one_gallery(matrix=0.0, rows="66", columns="6666", **more) -> Picture:
    return gallery({"A": np.zeros((2, 4)) + matrix}, rows=rows, columns=columns, alt="", **more)


def centre_of_change(image: Picture, other: Picture) -> np.ndarray:
    """The middle (y, x), in pixels, of what differs between two pictures of the same size."""
    pixels, others = (
        np.asarray(Image.open(io.BytesIO(each.png())).convert("RGB")).astype(int) for each in (image, other)
    )
    top, bottom, left, right = bounding_box((np.abs(pixels - others) > 8).any(axis=2))
    return np.array([(top + bottom) / 2, (left + right) / 2])


@pytest.mark.parametrize("draw", [one_heatmap, one_gallery])
def test_row_0_of_a_heat_map_is_at_the_top_and_rings_and_labels_are_at_their_cells(draw):
    plain, centres = draw(), np.zeros((2, 4, 2))
    for cell in np.ndindex(2, 4):
        dark = np.zeros((2, 4))
        dark[cell] = 1.0
        centres[cell] = centre_of_change(draw(dark), plain)
        assert centre_of_change(draw(marks=[cell]), plain) == pytest.approx(centres[cell], abs=1.5)
    assert (np.diff(centres[..., 0], axis=0) > 10).all(), "row 1 is below row 0"
    assert (np.diff(centres[..., 1], axis=1) > 10).all(), "columns go from left to right"
    for row, labels in enumerate(("96", "69")):
        assert centre_of_change(draw(rows=labels), plain)[0] == pytest.approx(centres[row, 0, 0], abs=3)
    for column, labels in enumerate(("9666", "6966", "6696", "6669")):
        middle = centre_of_change(draw(columns=labels), plain)[1]
        assert middle == pytest.approx(centres[0, column, 1], abs=3)


def test_the_number_of_a_bar_is_outside_the_bar():
    """With bars in the colour of the paper, only the numbers are dark. The axis goes from −1.25 to 1.25."""

    def draw_bars(axes):
        Bars(axes, "ab", low=-1.0, colour=theme.PAPER).show(np.array([-0.5, 0.5]))

    dark = draw_on_canvas(draw_bars)
    top_of_negative, *_ = bounding_box(dark[:, :160])
    _, bottom_of_positive, *_ = bounding_box(dark[:, 160:])
    assert bottom_of_positive < 48 - 3 and top_of_negative > 112 + 3  # the ends of the bars, and a gap
