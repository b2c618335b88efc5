"""The attention map: whole, readable at every length, and words are never taken for formulas."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib import theme
from course_lib.views.attention_map import attention_map, picture_bytes

ODD = ["$x_1$", "$\\frac", "<b>&amp;", "猫", "a--b"]


def weights(n_rows: int, n_columns: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(n_columns), size=n_rows)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (2, 9), (12, 3)])
def test_nothing_is_cut_off(n_rows, n_columns):
    words = ["incomprehensibility", "it", *"abcdefghijklmnop"]
    figure = attention_map(
        weights(n_rows, n_columns),
        source=words[:n_columns],
        target=words[:n_rows],
        title="A long title of it",
    )
    pixels = np.asarray(Image.open(io.BytesIO(picture_bytes(figure, ".png"))).convert("RGB")).astype(int)
    inked = (np.abs(pixels - np.round(np.multiply(to_rgb(theme.PAPER), 255))) > 8).any(axis=2)
    inked[8:-8, 8:-8] = False
    assert inked.sum() == 0


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_words_are_shown_as_they_are_and_the_same_figure_gives_the_same_bytes(suffix):
    made = [
        picture_bytes(attention_map(weights(2, 5), source=ODD, target=["$$", "{"], title="$x"), suffix)
        for _ in range(2)
    ]
    assert made[0] == made[1]
    if suffix == ".svg":
        assert "<!-- $x_1$ -->" in made[0].decode()


@pytest.mark.parametrize("n", [3, 40])
def test_words_never_touch_and_numbers_stand_where_there_is_room(n):
    figure = attention_map(np.eye(n), source=["thirsty"] * n, target=["thirsty"] * n)
    (axes,) = figure.axes
    renderer = figure.canvas.get_renderer()
    tops = [tick.label1.get_window_extent(renderer) for tick in axes.yaxis.get_major_ticks()]
    assert all(above.y0 >= below.y1 for above, below in pairwise(tops))
    assert len(axes.texts) == (n if n == 3 else 0)


def test_wrong_input_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="Target words: 2 needed, 1 given"):
        attention_map(weights(2, 2), source="ab", target="a")
    with pytest.raises(ValueError, match=r"ends in \.png or \.svg, but got '\.gif'"):
        picture_bytes(attention_map(weights(1, 1), source="a", target="b"), ".gif")
