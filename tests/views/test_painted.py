"""Quick texts, blocks and lying bars stand where matplotlib's own would."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

from course_lib import theme
from course_lib.views.bars import Blocks, HorizontalBars
from course_lib.views.heatmap import Heatmap
from course_lib.views.quick_text import quick_text, write


def painted(paint) -> np.ndarray:
    """Which pixels `paint(axes)` darkens on a paper of 320 by 160, in data units of a pixel."""
    figure = theme.figure(2, 1)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 320), ylim=(0, 160))
    axes.set_axis_off()
    paint(axes)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int).sum(axis=2) < 500


def box(dark: np.ndarray) -> tuple[int, ...]:
    """The smallest box around what is dark: top, bottom, left, right."""
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    return rows[0], rows[-1], columns[0], columns[-1]


@pytest.mark.parametrize("ha", ["left", "center", "right"])
@pytest.mark.parametrize("va", ["baseline", "center", "bottom"])
@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_quick_text_stands_where_matplotlib_would_put_it(ha, va, weight):
    ours = painted(lambda axes: quick_text(axes, 160, 80, "0.25", ha=ha, va=va, weight=weight))
    look = {"ha": ha, "va": va, "fontweight": weight}
    plain = painted(lambda axes: axes.add_artist(Text(160, 80, "0.25", transform=axes.transData, **look)))
    room = 7 if va == "bottom" else 3  # matplotlib measures a line's bottom by this text, Pillow by the font
    assert np.abs(np.subtract(box(ours), box(plain))).max() <= room


def test_quick_text_without_text_paints_nothing():
    assert not painted(lambda axes: (quick_text(axes, 160, 80, ""), quick_text(axes, 160, 80, " "))).any()


def test_texts_left_over_are_blank_and_yet_known_to_move():
    texts = [quick_text(theme.figure().subplots(), 0, 0, "old") for _ in range(3)]
    for text in texts:
        text.stale = False
    write(texts, ["a", "b"], colours=[theme.BLUE, theme.ORANGE], bold=[True, False])
    assert [text.get_text() for text in texts] == ["a", "b", ""] and all(text.stale for text in texts)
    assert [text.get_color() for text in texts[:2]] == [theme.BLUE, theme.ORANGE]
    assert [text.get_fontweight() for text in texts[:2]] == ["bold", "normal"]


def test_blocks_and_lying_bars_stand_between_their_edges():
    edges = {"left": [80, 160], "right": [160, 240], "low": 0, "high": [80, 40]}
    wanted = np.zeros((160, 320), dtype=bool)
    wanted[80:, 80:160] = wanted[120:, 160:240] = True
    assert np.array_equal(painted(lambda axes: Blocks(axes, 2, theme.INK).place(**edges)), wanted)

    def lying(axes):
        axes.set_xlim(-100, 220)
        bars = HorizontalBars(axes, [40, 120], gap=5, thick=40, colour=theme.INK)
        bars.show(np.array([80.0, -60.0]), ["", ""])
        assert [text.get_position() for text in bars.readings] == [(85, 40), (5, 120)]

    wanted = np.zeros((160, 320), dtype=bool)
    wanted[100:140, 100:180] = wanted[20:60, 40:100] = True
    assert np.array_equal(painted(lying), wanted)


@pytest.mark.parametrize("scores", [[[-3.0, -1.0]], [[-4.0, 2.0]], [[0.5, 0.0]]])
def test_the_colours_of_scores_reach_as_far_up_as_down(scores):
    """So white is 0 and both ends of the scale have the same strength, also where all scores are negative."""
    axes = theme.figure(2, 1).add_subplot()
    cells = Heatmap(axes, ["row"], ["a", "b"], kind="scores")
    cells.show(np.array(scores))
    norm = axes.collections[0].norm
    assert norm.vmax == -norm.vmin == np.abs(scores).max()
