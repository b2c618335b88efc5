"""Heat maps, bars and lines: nothing cut off, numbers readable, wrong input refused with a way out."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib import theme
from course_lib.views import bars, heatmap, lines
from course_lib.views.bars import minus
from course_lib.views.heatmap import Heatmap
from course_lib.views.lines import spread

pytestmark = pytest.mark.slow

WORDS = ["because", "it", "was", "thirsty"]


def ink_at_the_edge(png: bytes, depth: int = 8) -> int:
    """How many of the outermost pixels are not plain paper: 0 when nothing is cut off."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    paper = np.round(np.multiply(to_rgb(theme.PAPER), 255))
    inked = (np.abs(pixels - paper) > 8).any(axis=2)
    inked[depth:-depth, depth:-depth] = False
    return int(inked.sum())


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("kind", ["weights", "scores"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 2)])
def test_heat_map_is_whole(shape, kind, numbers):
    matrix = np.random.default_rng(0).dirichlet(np.ones(shape[1]), size=shape[0])
    picture = heatmap(
        matrix,
        rows=range(shape[0]),
        columns=range(shape[1]),
        kind=kind,
        numbers=numbers,
        title="A title that is much wider than this small matrix can ever be",
    )
    assert ink_at_the_edge(picture.png) == 0


def test_heat_map_with_long_words_is_whole_and_described():
    weights = np.full((2, 4), 0.1)
    weights[1, 3] = 0.7
    picture = heatmap(weights, rows=["incomprehensibility", "it"], columns=WORDS, title="Who looks where")
    assert ink_at_the_edge(picture.png) == 0
    assert picture.alt == "Who looks where: weights, 2 by 4; the largest, 0.70, is in row it, column thirsty."


def test_words_of_a_heat_map_are_no_formulas():
    odd = ["$x_1$", "$\\nonsense$", "a_b"]
    picture = heatmap(np.eye(3), rows=odd, columns=odd)
    assert picture.alt.endswith("the largest, 1.00, is in row $x_1$, column $x_1$.")
    axes = theme.figure().subplots()
    Heatmap(axes, odd, odd)
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert [label.get_text() for label in labels] == odd * 2
    assert not any(label.get_parse_math() for label in labels)


def test_heat_map_shows_masked_scores():
    scores = torch.tensor([[1.0, -torch.inf], [float("nan"), 2.0]], requires_grad=True)
    picture = heatmap(scores, rows="ab", columns="cd", kind="scores")
    assert picture.alt.endswith("the largest, 2.00, is in row b, column d.")
    assert heatmap(scores[:1, 1:], rows="a", columns="d", kind="scores").alt.endswith(
        "no cell holds a number."
    )


@pytest.mark.parametrize("kind", ["weights", "scores"])
def test_numbers_stand_out_from_every_cell(kind):
    def brightness(colour) -> float:
        linear = [c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    axes = theme.figure().subplots()
    panel = Heatmap(axes, ["a"], ["b"], kind=kind)
    values = np.linspace(0 if kind == "weights" else -1, 1, 41)
    panel.show(values[-1:, None])
    colours = theme.WEIGHTS if kind == "weights" else theme.SCORES
    for value in values:
        cell, ink = colours((value + 1) / 2 if kind == "scores" else value)[:3], panel.ink_on(value)
        low, high = sorted([brightness(cell), brightness(ink)])
        assert (high + 0.05) / (low + 0.05) > 3.0, f"{value:.2f}: {ink} on {cell}"


def test_bars_are_whole_and_described():
    picture = bars([0.7, 0.25, 0.05], labels=["cat", "water", "drank"], title="Where it looks")
    assert ink_at_the_edge(picture.png) == 0
    assert picture.alt == "Where it looks: weight of cat 0.70, water 0.25, drank 0.05."


def test_bars_below_nothing_are_whole():
    picture = bars([-1.9, 0.8, -0.001], labels=["a rather long label", "b", "c"], name="score")
    assert ink_at_the_edge(picture.png) == 0


@pytest.mark.parametrize(
    ("text", "meant"), [("-0.00", "0.00"), ("-1.50", "−1.50"), ("0.25", "0.25"), ("-0.01", "−0.01")]
)
def test_minus_is_a_minus(text, meant):
    assert minus(text) == meant


@pytest.mark.parametrize("logs", [(False, False), (True, True)])
def test_lines_are_whole_and_described(logs):
    picture = lines(
        [1, 10, 100],
        {"unscaled": [1, 10, 100], "scaled": [1, 1, 1], "flat": [1, 0.9, 1.1]},
        x_name="d",
        y_name="spread",
        title="Spread",
        log_x=logs[0],
        log_y=logs[1],
    )
    assert ink_at_the_edge(picture.png) == 0
    assert picture.alt.startswith("Spread: spread for d from 1 to 100. unscaled goes from 1 to 100; scaled")
    assert picture.height < 400


def test_names_of_curves_are_pushed_apart():
    settled = spread([0.5, 0.1, 0.5, 0.52], gap=0.1)
    assert np.diff(sorted(settled)).min() >= 0.1 - 1e-6
    assert settled[1] == pytest.approx(0.1)  # far from the others: stays
    assert np.mean(settled) == pytest.approx(np.mean([0.5, 0.1, 0.5, 0.52]))


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (lambda: heatmap(np.ones((2, 2, 2)), rows="ab", columns="ab"), r"2 axes.*\(2, 2, 2\).*weights\[0\]"),
        (
            lambda: heatmap(np.ones((2, 3)), rows="ab", columns="ab"),
            "Labels of the columns: 3 needed, 2 given",
        ),
        (
            lambda: heatmap(np.ones((2, 3)), rows="abc", columns="abc"),
            "Labels of the rows: 2 needed, 3 given",
        ),
        (lambda: heatmap(np.ones((1, 1)), rows="a", columns="a", kind="probs"), 'kind="weights".*probs'),
        (lambda: bars([], labels=[]), "at least one number"),
        (lambda: bars([1.0, np.inf], labels="ab"), "finite height"),
        (lambda: bars([[1.0]], labels="a"), "1 axis"),
        (lambda: lines([1, 2], {"a": [1, 2, 3]}), "'a' has 3 points and x has 2"),
        (lambda: lines([1, 2], {}), "1 to 6 curves; 0"),
    ],
)
def test_wrong_input_is_refused_with_a_way_out(attempt, says):
    with pytest.raises(ValueError, match=says):
        attempt()
