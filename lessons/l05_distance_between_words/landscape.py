"""A landscape: how much each of 33 words influences the last output of four networks.

It answers a prediction of the lesson, which measures the curves and passes them on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, dot, group, line, number, path, word

LEAST = 1e-6  # smaller influences are drawn there
RIDGE, TOP, BETWEEN = 60, 66, 86  # the height of a ridge, where the first is, from one to the next
HOPS = {"LSTM": 32, "4 dilated layers": 4, "16 layers": 16, "RNN": 32}  # across 33 words
BIAS = ", forget bias 4"  # of the lesson's LSTM


def draw(curves: Mapping[str, Sequence[float]]) -> Picture:
    """The influence of 33 words on the last output, each curve divided by its maximum."""
    headline = "Before training, two of four networks hardly notice the first word"
    ridges = "".join(
        _ridge(name, [max(LEAST, float(value)) for value in curves[name]], TOP + BETWEEN * i)
        for i, name in enumerate(HOPS)
    )
    first = ", ".join(f"{name} {_fraction(float(curves[name][0]))}" for name in HOPS)
    return Picture(
        WIDTH,
        TOP + BETWEEN * len(HOPS) + 22,
        word(14, 26, headline, 15, anchor="start", bold=True),
        word(
            176,
            50,
            "influence on the last output, the largest is 1 (logarithmic); all words are within reach",
            11,
            "soft",
            "start",
        ),
        ridges,
        alt="Influence of the first of 33 words on the last output of untrained networks, as a part of the "
        f"largest: {first}. In the 16 layers the middle word has the most; in the RNN, the last one.",
    )


def _ridge(name: str, values: Sequence[float], top: float) -> str:
    """One network: a curve from the first word to the last, filled down to a millionth."""
    plane = Plane(176, top, 540, RIDGE, x=(0, len(values) - 1), y=(LEAST, 1), log_y=True)
    points = [plane.at(i, value) for i, value in enumerate(values)]
    bottom, (x, y), below = number(top + RIDGE), points[0], sum(value <= LEAST for value in values)
    out = plane.scale_y({1: "1", LEAST: "10⁻⁶"})
    if name == list(HOPS)[-1]:
        out += plane.scale_x({0: "first word", 16: "17th word", 32: "last word"})
    outline = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    area = f"M{number(x)} {bottom}L{outline}L{number(points[-1][0])} {bottom}Z"
    out += path(area, "none", 0, fill="value", fill_opacity="0.16") + line(points[below:], "value", 2)
    if below:  # the first words, where the curve is below the scale
        out += line(points[: below + 1], "value", 2, dash="2 5")
    out += dot(x, y, 5, "accent", "paper", 1.5)
    height = y + (17 if y < top + 40 else -8)
    out += word(x + 9, height, _fraction(values[0]), 12, "accent", "start", bold=True)
    out += word(14, top + 26, name, 13, anchor="start", bold=True)
    out += word(14, top + 42, f"{HOPS[name]} hops{BIAS * (name == 'LSTM')}", 11, "soft", "start")
    return group(out, **belongs(tip=f"{name}, first word: {_fraction(values[0])} of the largest influence"))


def _fraction(value: float) -> str:
    if value <= LEAST:
        return "under 1/1,000,000"
    return f"{value:.2f}" if value > 0.01 else f"1/{round(1 / value, -2):,.0f}"
