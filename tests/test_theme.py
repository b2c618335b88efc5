"""The figure style: readable, safe for colour-blind readers, and independent of pyplot."""

from __future__ import annotations

import io
import itertools
import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from course_lib import theme
from course_lib.runtime import PROJECT_ROOT

CYCLE = {name: getattr(theme, name) for name in ("BLUE", "ORANGE", "GREEN", "YELLOW", "PINK", "SKY")}

# Machado, Oliveira, Fernandes 2009, severity 1, for linear RGB: what a reader without one cone sees.
EYES = {
    "trichromat": np.eye(3),
    "protanope": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranope": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}

# Ottosson 2020, Oklab: equal distances look about equally far apart, black to white is 1.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour) -> np.ndarray:
    rgb = np.asarray(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(colour, background) -> float:
    """WCAG's contrast ratio, 1 to 21."""
    luminances = (linear(shade) @ [0.2126, 0.7152, 0.0722] for shade in (colour, background))
    light, dark = sorted(luminances, reverse=True)
    return (light + 0.05) / (dark + 0.05)


def oklab(colour, eye: str = "trichromat") -> np.ndarray:
    perceived = np.clip(EYES[eye] @ linear(colour), 0, 1)
    return OKLAB @ np.cbrt(CONES @ perceived)


def closest(colours: dict, eye: str) -> tuple[float, str]:
    perceived = {name: oklab(colour, eye) for name, colour in colours.items()}
    pairs = itertools.combinations(perceived, 2)
    return min((float(np.linalg.norm(perceived[a] - perceived[b])), f"{a} and {b}") for a, b in pairs)


def test_a_light_grey_and_matplotlibs_own_cycle_would_not_pass_below():
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.01)
    usual = dict(enumerate(mpl.color_sequences["tab10"][:6]))
    for eye in ("protanope", "deuteranope"):
        assert closest(usual, eye)[0] < 0.05 < closest(usual, "trichromat")[0]


@pytest.mark.parametrize("eye", EYES)
def test_colours_stay_apart_and_maps_darken_for_every_eye(eye):
    assert min(contrast(ink, theme.PAPER) for ink in (theme.INK, theme.SOFT_INK)) >= 4.5  # text is readable
    distance, pair = closest(CYCLE, eye)
    assert distance > 0.06, pair  # 0.02 is about the least that is seen side by side
    lightness = np.array([oklab(theme.WEIGHTS(x), eye)[0] for x in np.linspace(0, 1, 65)])
    assert (np.diff(lightness) < -1e-3).all()  # a larger weight is always darker
    assert lightness[0] - lightness[-1] > 0.6
    lightness = np.array([oklab(theme.SCORES(x), eye)[0] for x in np.linspace(0, 1, 65)])
    assert lightness.argmax() == 32  # scores are lightest at zero and darken to both sides
    assert (np.diff(lightness[:33]) > 0).all() and (np.diff(lightness[32:]) < 0).all()
    assert np.linalg.norm(oklab(theme.SCORES(0.1), eye) - oklab(theme.SCORES(0.9), eye)) > 0.12


@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_on_both_pages_every_colour_can_be_text_and_the_four_with_a_meaning_stay_apart(page):
    shades = {name: colours[page] for name, colours in theme.PALETTE.items()}
    four = {name: shades[name] for name in ("query", "key", "value", "accent")}
    for colour in (*four.values(), shades["ink"], shades["soft"]):
        assert contrast(colour, shades["paper"]) >= 4.5
    for eye in EYES:
        distance, pair = closest({name: four[name] for name in ("query", "key", "value")}, eye)
        assert distance > 0.09, (eye, pair)
        assert closest(four, eye)[0] > 0.06, eye


def at_night(colour) -> np.ndarray:
    """The colour in JupyterLab's dark theme, computed from the page's style by the definitions of CSS."""
    [(fraction, angle)] = re.findall(r"invert\(([\d.]+)\) hue-rotate\((\d+)deg\)", theme.PAGE_STYLE)
    assert angle == "180"
    inverted = float(fraction) + (1 - 2 * float(fraction)) * np.asarray(to_rgb(colour))
    grey = np.tile([0.213, 0.715, 0.072], (3, 1))
    return np.clip((2 * grey - np.eye(3)) @ inverted, 0, 1)


def test_at_night_paper_is_dark_text_readable_and_hues_stay():
    paper = at_night(theme.PAPER)
    assert contrast(paper, "#111111") < 1.15, "too bright beside JupyterLab's own background"
    assert contrast(at_night(theme.INK), paper) > 7 and contrast(at_night(theme.SOFT_INK), paper) > 4.5
    for eye in EYES:
        night = {name: at_night(colour) for name, colour in CYCLE.items()}
        distance, pair = closest(night, eye)
        assert distance > 0.03, pair  # pink and sky become similar, but curves have names and shapes too
        assert closest({name: night[name] for name in ("BLUE", "ORANGE", "GREEN")}, eye)[0] > 0.08, eye
    for name, colour in CYCLE.items():
        assert contrast(at_night(colour), paper) > 3, name
        day, night = (oklab(shown)[1:] for shown in (colour, at_night(colour)))
        assert day @ night > 0.8 * np.linalg.norm(day) * np.linalg.norm(night), f"{name} is another hue"


@mpl.rc_context()
def test_a_figure_has_the_style_the_size_and_a_canvas():
    mpl.rcdefaults()
    figure = theme.figure(4, 2)
    axes = figure.subplots()
    axes.plot([0, 1])
    assert axes.get_facecolor()[:3] == to_rgb(theme.PAPER)
    assert axes.lines[0].get_color() == theme.BLUE
    assert mpl.rcParams["savefig.facecolor"] == theme.PAPER
    assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(CYCLE.values())
    with io.BytesIO() as file:
        figure.canvas.print_png(file)
        picture = mpl.image.imread(io.BytesIO(file.getvalue()))
    assert picture.shape[:2] == (2 * theme.DPI, 4 * theme.DPI)
    np.testing.assert_allclose(picture[0, 0, :3], to_rgb(theme.PAPER), atol=1 / 255)


@pytest.mark.slow
def test_a_figure_leaves_pyplot_alone():
    """In a new process: drawing doesn't import pyplot, which has no figures afterwards."""
    program = """
import sys
from course_lib import theme
figure = theme.figure()
figure.subplots().plot([0, 1])
figure.canvas.draw()
assert "matplotlib.pyplot" not in sys.modules
import matplotlib.pyplot as plt
assert plt.get_fignums() == []
"""
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr


def test_ink_is_chosen_by_how_light_a_colour_looks():
    """Green looks lighter than red, and red lighter than blue, though each is one full channel."""
    red, green, blue = ((*channels, 1.0) for channels in np.eye(3))
    assert [theme.ink_on(colour) for colour in (red, green, blue)] == [theme.PAPER, theme.INK, theme.PAPER]
