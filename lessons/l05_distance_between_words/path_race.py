"""The path-length racetrack: how many hops separate the first word from the last.

    >>> at = compute(n=32, width=3)
    >>> at["hops"]
    {'recurrent': 31, 'convolution': 16, 'dilated': 4}

One hop is one step of a recurrent network or one layer of convolution. A window ends at its own word, so a
layer of width k carries information at most k - 1 positions forward. With dilations that are k times as large
in each layer, L layers see k^L words, each by exactly one path.
"""

from __future__ import annotations

import numpy as np

from course_lib import theme
from course_lib.explore.raster.base import Axes, Choice, Facts, Panel, RasterExplorable, Show, blank_axes
from course_lib.explore.raster.pillow_text import add_text
from course_lib.views.lines import add_marker, format_log_ticks

LENGTHS = (8, 16, 32, 64, 128, 256, 512)
WIDTHS = (2, 3, 5, 7, 9)
COLOURS = {"recurrent": theme.ORANGE, "convolution": theme.BLUE, "dilated": theme.GREEN}
NAMES = {"recurrent": "recurrent network", "convolution": "convolutions", "dilated": "dilated convolutions"}
LANES = {"recurrent": 2.0, "convolution": 1.0, "dilated": 0.0}
TALLEST = 0.5  # of a lane's arcs
HALF_CIRCLE = np.linspace(np.pi, 0, 25)


def jumps(n: int, width: int, dilated: bool) -> list[int]:
    """How many positions each layer of convolution carries the first word, until it reaches the last.

    >>> jumps(8, 3, False), jumps(32, 3, True)
    ([2, 2, 2, 1], [1, 3, 0, 27])
    """
    if not dilated:
        steps, rest = divmod(n - 1, width - 1)
        return [width - 1] * steps + [rest] * (rest > 0)
    distance, dilation, lengths = n - 1, 1, []
    while distance:  # its digits in base `width`
        distance, digit = divmod(distance, width)
        lengths.append(digit * dilation)
        dilation *= width
    return lengths


def hops(n: int, width: int) -> dict[str, int]:
    convolution, dilated = len(jumps(n, width, False)), len(jumps(n, width, True))
    return {"recurrent": n - 1, "convolution": convolution, "dilated": dilated}


def compute(*, n: int, width: int) -> Facts:
    """The jumps and hops of each network, and how many steps must be computed one after another."""
    counts = hops(n, width)
    return {
        "jumps": {
            "recurrent": [1] * (n - 1),
            "convolution": jumps(n, width, False),
            "dilated": jumps(n, width, True),
        },
        "hops": counts,
        "sequential_steps": counts | {"recurrent": n},  # a recurrent network also processes the first word
    }


def arcs(lengths: list[int], n: int, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Half circles from word to word, as one line with breaks; a jump of length 0 is a small ring."""
    start, xs, ys = 0.0, [], []
    for length in lengths:
        wide = length / (n - 1)
        radius, high = (wide / 2, TALLEST * wide**0.5) if length else (0.012, 0.13)
        xs += [*(start + radius + radius * np.cos(HALF_CIRCLE) - (0 if length else radius)), np.nan]
        ys += [*(floor + high * np.sin(HALF_CIRCLE)), np.nan]
        start += wide
    return np.array(xs), np.array(ys)


def draw_race(axes: Axes) -> Show:
    blank_axes(axes, x=(-0.03, 1.42), y=(-0.4, 2.8))
    paths, words, counts, steps = {}, {}, {}, {}
    for name, floor in LANES.items():
        colour = COLOURS[name]
        axes.text(-0.02, floor + 0.66, NAMES[name], color=colour, fontweight="bold", fontsize=10)
        [words[name]] = axes.plot([], [], "o", color=theme.SOFT_INK, markersize=2.6)
        [paths[name]] = axes.plot([], [], color=colour, linewidth=1.7)
        counts[name] = add_text(axes, 1.05, floor + 0.2, colour=colour, size=17, weight="bold")
        steps[name] = add_text(axes, 1.05, floor - 0.07, colour=theme.SOFT_INK, size=8.5)
    ends = {"fontsize": 8.5, "color": theme.SOFT_INK, "va": "top"}
    axes.text(0, -0.14, "first word", ha="left", **ends)
    axes.text(1, -0.14, "last word", ha="right", **ends)

    def show(facts: Facts) -> None:
        positions = np.linspace(0, 1, facts["n"])
        for name, floor in LANES.items():
            words[name].set(
                data=(positions, np.full(facts["n"], floor)), markersize=3 if facts["n"] < 99 else 1
            )
            paths[name].set_data(*arcs(facts["jumps"][name], facts["n"], floor))
            number, sequential = facts["hops"][name], facts["sequential_steps"][name]
            counts[name].set_text(f"{number} hop{'s' * (number > 1)}")
            steps[name].set_text(f"{sequential} sequential step{'s' * (sequential > 1)}")

    return show


def draw_growth(axes: Axes) -> Show:
    axes.set(xscale="log", yscale="log", xlabel="words in the sentence", ylim=(0.75, 800), xlim=(6.5, 620))
    axes.set(xticks=(8, 32, 128, 512), yticks=(1, 10, 100))
    format_log_ticks(axes.xaxis, axes.yaxis)
    axes.grid(axis="y")
    widths = {"recurrent": 5, "convolution": 2, "dilated": 2}  # at width 2, the first two have equal values
    curves = {
        name: axes.plot(LENGTHS, LENGTHS, color=COLOURS[name], linewidth=widths[name])[0] for name in COLOURS
    }
    dots = {name: add_marker(axes) for name in COLOURS}

    def show(facts: Facts) -> None:
        counts = [hops(n, facts["width"]) for n in LENGTHS]
        for name, dot in dots.items():
            curves[name].set_ydata([count[name] for count in counts])
            dot.set(data=([facts["n"]], [facts["hops"][name]]), markerfacecolor=COLOURS[name])

    return show


class PathRace(RasterExplorable):
    title = "Path-length racetrack"
    question = "How many hops separate the first word from the last?"
    n = Choice("words", LENGTHS, 8)
    width = Choice("kernel width", WIDTHS, 2)
    presets = {
        "32 words": {"n": 32, "width": 3},
        "512 words": {"n": 512, "width": 3},
    }
    goals = {
        "far-in-four": "Cross 512 words with dilated convolutions in at most 4 hops",
        "wide-enough": "Cross 128 words without dilation in at most 16 hops",
        "saves-nothing": "Find a setting in which dilation doesn’t save a single hop",
    }
    panels = (Panel("From the first word to the last", draw_race, 2.1), Panel("Hops", draw_growth))
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        count = now["hops"]
        return {
            "far-in-four": now["n"] == 512 and count["dilated"] <= 4,
            "wide-enough": now["n"] == 128 and count["convolution"] <= 16,
            "saves-nothing": count["dilated"] == count["convolution"],
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"{facts['n']} words", f"kernel width {facts['width']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        count = facts["hops"]
        return (
            f"{facts['n']} words. Hops from the first to the last: {count['recurrent']} in a recurrent "
            f"network, {count['convolution']} with convolutions of width {facts['width']}, "
            f"and {count['dilated']} if these are dilated."
        )
