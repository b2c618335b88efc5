"""Images of all figures: bytes, alt text and size; nothing cut off; clear errors."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib import theme
from course_lib.explore.raster.artists import Heatmap
from course_lib.formatting import minus
from course_lib.views import Part, StaticImage, bars, gallery, heatmap, lines, panels, word_rows
from course_lib.views.lines import spread
from course_lib.views.static_image import MARGIN, encode_png, encode_webp, fit

LONG = "A title that is much wider than any picture below it can ever be, and goes on"
ODD = ["$x_1$", "$\\frac", "<b>&amp;", "a_b", "a--b"]


def make_figure():
    figure = theme.figure(3, 2)
    figure.subplots().plot([1, 2, 3])
    return figure


def decode(png: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


def random_weights(n_rows: int, n_columns: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(n_columns), size=n_rows)


def test_a_webp_is_much_smaller_and_looks_the_same():
    image = lines([1, 2], {"a": [1, 2], "b": [2, 1]}, alt="Random lines.")
    exact = np.asarray(decode(image.png)).astype(int)
    webp = encode_webp(exact.astype(np.uint8))
    shown = np.asarray(decode(webp).convert("RGB")).astype(int)
    assert len(webp) < len(image.png) / 2 and shown.shape == exact.shape
    assert np.abs(shown - exact).max() < 80 and np.abs(shown - exact).mean() < 0.5
    assert (
        f'width="{image.width}" height="{image.height}"' in image.img() and image.img().count("Random") == 1
    )


def test_the_bundle_holds_image_alt_text_and_size():
    data, metadata = StaticImage(make_figure(), alt="A line that rises.")._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}
    assert data["text/plain"] == "A line that rises."
    sizes = {"width": 240, "height": 160, "alt": "A line that rises."}
    assert metadata == {"image/png": sizes, "needs_background": "light"}
    assert decode(base64.b64decode(data["image/png"])).size == (480, 320)  # twice what is shown


def test_bytes_are_reproducible_keep_every_pixel_and_hold_no_metadata():
    noise = np.random.default_rng(0).integers(0, 256, (37, 53, 4), dtype=np.uint8)
    image = decode(encode_png(noise))
    assert np.array_equal(np.asarray(image), noise[..., :3]) and image.info == {}
    assert StaticImage(make_figure(), alt="").png == StaticImage(make_figure(), alt="").png
    assert repr(StaticImage(make_figure(), alt="A line.")) == "StaticImage('A line.')"  # no address
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("title", ["", LONG])
def test_fit_grows_the_figure_around_the_labels(title):
    axes = theme.figure(1, 1).subplots()
    axes.set(title=title, ylabel="a long label of the upright axis")
    fit(axes, width=2.0, height=1.0)
    figure = axes.figure
    box = axes.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches() * figure.dpi
    margins = [box.x0, box.y0, width - box.x1, height - box.y1]
    assert margins == pytest.approx([MARGIN * figure.dpi] * 4, abs=2)
    assert axes.get_position().width * figure.get_figwidth() == pytest.approx(2.0)
    assert axes.get_position().height * figure.get_figheight() == pytest.approx(1.0)


def cells(n_rows: int, n_columns: int, kind: str, numbers: bool = True) -> bytes:
    labels = {"rows": range(n_rows), "columns": range(n_columns)}
    return heatmap(random_weights(n_rows, n_columns), **labels, kind=kind, numbers=numbers, title=LONG).png()


def maps(count: int, n_rows: int = 12) -> StaticImage:
    words = ["the", "cat", "drank", "the", "water", "because", "it", "was", "thirsty", "this", "morning", "."]
    named = {f"map {i}": random_weights(12, 12) for i in range(count)}
    return gallery(named, rows=words[:n_rows], columns=words, marks=[(0, 1)], alt="Maps.")


def curves(log: bool) -> StaticImage:
    named = {"unscaled": [1, 10, 100], "scaled": [1, 1, 1], "flat": [1, 0.9, 1.1]}
    names = {"x_name": "d", "y_name": "spread", "title": "Spread"}
    return lines([1, 10, 100], named, **names, log_x=log, log_y=log)


PARTS = [
    Part("left", [1, 10], {"a": [1, 2], "b": [2, 1]}, "steps", log_x=True),
    Part("right", [1, 10], {"b": [0.1, 0.001]}, log_y=True),
]


IMAGES = {
    "one cell": lambda: cells(1, 1, "weights"),
    "wide scores": lambda: cells(3, 5, "scores"),
    "tall, no numbers": lambda: cells(4, 2, "weights", numbers=False),
    "words": lambda: heatmap(
        random_weights(2, 2), rows=["incomprehensibility", "it"], columns=["thirsty", "a"]
    ).png(),
    "gallery": lambda: maps(4).png(),
    "bars": lambda: bars([0.7, 0.25], labels=["cat", "water"], title=LONG).png(),
    "below": lambda: bars([-1.9, 0.8, -0.001], labels=["a rather long label", "b", "c"], name="score").png(),
    "lines": lambda: curves(log=False).png,
    "log lines": lambda: curves(log=True).png,
    "panels": lambda: panels(PARTS, x_name="distance").png,
    "row": lambda: word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title=LONG).png(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IMAGES)
def test_nothing_is_cut_off(name):
    pixels = np.asarray(decode(IMAGES[name]()).convert("RGB")).astype(int)
    inked = (np.abs(pixels - np.round(np.multiply(to_rgb(theme.PAPER), 255))) > 8).any(axis=2)
    assert inked.any()
    inked[8:-8, 8:-8] = False
    assert not inked.any()


ALT_TEXTS = [
    (
        lambda: heatmap([[0.1, 0.2], [0.1, 0.7]], rows=["cat", "it"], columns="ab", title="Looks"),
        "Looks: attention weights, 2 by 2; the largest, 0.70, is in row it, column b.",
    ),
    (
        lambda: bars([0.7, 0.25, 0.05], labels=["cat", "water", "drank"], title="Attention of it"),
        "Attention of it: attention weight of cat 0.70, water 0.25, drank 0.05.",
    ),
    (
        lambda: curves(log=True),
        "Spread: spread for d from 1 to 100. unscaled goes from 1 to 100; "
        "scaled goes from 1 to 1; flat goes from 1 to 1.1.",
    ),
    (
        lambda: panels(PARTS, x_name="distance"),
        "left, distance from 1 to 10: a goes from 1 to 2; b goes from 2 to 1. "
        "right, distance from 1 to 10: b goes from 0.1 to 0.001.",
    ),
    (lambda: panels(PARTS, x_name="distance", alt="Two panels."), "Two panels."),
    (
        lambda: word_rows([[0.9, 0.1]], words=[["cat", "it"]], marked=["it"], title="Attention of it"),
        "Attention of it. cat 0.90, it 0.10.",
    ),
]


@pytest.mark.parametrize(("make", "alt"), ALT_TEXTS)
def test_every_image_has_an_alt_text_and_a_sensible_size(make, alt):
    image = make()
    assert image.alt == alt and 100 < image.width < 840 and image.height > 60


def test_labels_of_a_heat_map_are_no_formulas_and_masked_scores_are_no_numbers():
    axes = theme.figure().subplots()
    Heatmap(axes, ODD, ODD)
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert [label.get_text() for label in labels] == ODD * 2
    assert not any(label.get_parse_math() for label in labels)
    scores = torch.tensor([[-3.0, -torch.inf], [float("nan"), 2.0]], requires_grad=True)
    for part, ending in (
        (scores, "the largest, 2.00, is in row b, column d."),
        (scores[:1, 1:], "no cell contains a number."),
    ):
        names = {"rows": "ab"[: len(part)], "columns": "cd"[-part.shape[1] :]}
        assert heatmap(part, **names, kind="scores").alt.endswith(ending)


@pytest.mark.parametrize("kind", ["weights", "scores"])
def test_numbers_are_readable_on_every_cell(kind):
    def brightness(colour) -> float:
        linear = [c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    panel = Heatmap(theme.figure().subplots(), ["a"], ["b"], kind=kind)
    values = np.linspace(0 if kind == "weights" else -1, 1, 41)
    panel.show(values[-1:, None])
    colours = theme.WEIGHTS if kind == "weights" else theme.SCORES
    for value in values:
        cell, ink = colours((value + 1) / 2 if kind == "scores" else value)[:3], panel.text_colour(value)
        low, high = sorted([brightness(cell), brightness(ink)])
        assert (high + 0.05) / (low + 0.05) > 3.0, f"{value:.2f}: {ink} on {cell}"


def test_negative_numbers_have_a_true_minus_sign():
    assert [minus(text) for text in ("-0.00", "-1.50", "0.25")] == ["0.00", "−1.50", "0.25"]


def test_names_of_curves_are_moved_apart():
    moved = spread([0.5, 0.1, 0.5, 0.52], gap=0.1)
    assert np.diff(sorted(moved)).min() >= 0.1 - 1e-6
    assert moved[1] == pytest.approx(0.1)  # far from the others
    assert np.mean(moved) == pytest.approx(np.mean([0.5, 0.1, 0.5, 0.52]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: maps(10), "1 to 9 maps; 10 were given"),
        (lambda: maps(1, n_rows=2), "Labels of the rows: 12 needed, 2 given"),
        (lambda: heatmap(np.ones((2, 2, 2)), rows="ab", columns="ab"), r"2 axes.*\(2, 2, 2\).*weights\[0\]"),
        (lambda: heatmap(np.ones((2, 3)), rows="ab", columns="ab"), "the columns: 3 needed, 2 given"),
        (lambda: heatmap(np.ones((2, 3)), rows="abc", columns="abc"), "the rows: 2 needed, 3 given"),
        (lambda: heatmap(np.ones((1, 1)), rows="a", columns="a", kind="probs"), 'kind="weights".*probs'),
        (lambda: bars([], labels=[]), "at least one number"),
        (lambda: bars([1.0, np.inf], labels="ab"), "finite heights"),
        (lambda: bars([[1.0]], labels="a"), "1 axis"),
        (lambda: lines([1, 2], {"a": [1, 2, 3]}), "'a' has 3 points and x has 2"),
        (lambda: lines([1, 2], {}), "1 to 6 curves; 0"),
        (lambda: panels([], x_name=""), "1 to 3 panels"),
        (lambda: panels([Part("", [1], {str(i): [1] for i in range(9)})], x_name=""), "1 to 6 curves"),
        (lambda: panels([Part("", [1, 2], {"a": [1]})], x_name=""), "'a' has 1 points and x has 2"),
        (lambda: word_rows([[1.0]], words=[["it"], ["it"]], marked=["it"]), "argument 2 is longer"),
        (lambda: word_rows([[0.5, 0.5]], words=[["it"]], marked=["it"]), "Words of sentence 1: 2 needed, 1"),
    ],
)
def test_wrong_input_is_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
