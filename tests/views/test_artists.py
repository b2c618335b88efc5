"""Texts, rectangles and bars are drawn where matplotlib's own would be."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

from course_lib import theme
from course_lib.views.bars import HorizontalBars, Rectangles
from course_lib.views.heatmap import Heatmap
from course_lib.views.pillow_text import add_text, set_texts


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
