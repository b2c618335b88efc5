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


LONG = "A note that is longer than a small map is wide, and so goes on in the line below"


@pytest.mark.slow
@pytest.mark.parametrize("notes", [[], [LONG, "$x_1$"]])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (2, 9), (12, 3)])
def test_nothing_is_cut_off(n_rows, n_columns, notes):
    words = ["incomprehensibility", "it", *"abcdefghijklmnop"]
    figure = attention_map(
        weights(n_rows, n_columns),
        source=words[:n_columns],
        target=words[:n_rows],
        title="A long title of it",
        notes=notes,
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
    numbers = [text for text in axes.texts if text.get_text() == "1.00"]
    assert len(numbers) == (n if n == 3 else 0)


def test_axes_key_and_notes_say_what_is_seen():
    figure = attention_map(weights(2, 2), source="ab", target="cd", notes=[LONG, "layer 3 of 3"])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("source", "translation")
    (key,) = axes.child_axes
    assert key.images[0].get_cmap().name == theme.WEIGHTS.name
    renderer = figure.canvas.get_renderer()
    below = [text for text in axes.texts if text.get_window_extent(renderer).y1 < axes.bbox.y0]
    said = [text.get_text() for text in below]
    assert said[:2] == ["0", "1   weight of a source word"] and said[-1] == "layer 3 of 3"
    assert " ".join(said[2:-1]) == LONG and len(said) == 5
    boxes = [text.get_window_extent(renderer) for text in below[1:]]
    assert all(above.y0 >= under.y1 for above, under in pairwise(boxes))


def test_wrong_input_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="Target words: 2 needed, 1 given"):
        attention_map(weights(2, 2), source="ab", target="a")
    with pytest.raises(ValueError, match=r"ends in \.png or \.svg, but got '\.gif'"):
        picture_bytes(attention_map(weights(1, 1), source="a", target="b"), ".gif")
