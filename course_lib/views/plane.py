"""A plane: places of the page by their numbers, for vectors and for curves.

>>> plane = Plane(left=20, top=10, width=200, height=100, x=(-1, 1), y=(0, 1))
>>> plane.at(0, 0.5), plane.value(120, 60)
((120.0, 60.0), (0.0, 0.5))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course_lib.views.svg import Point, choice, dot, line, word


@dataclass(frozen=True)
class Plane:
    left: float
    top: float
    width: float
    height: float
    x: Point
    y: Point
    log_x: bool = False
    log_y: bool = False

    def at(self, x: float, y: float) -> Point:
        """Where it is on the page; what lies outside is put at the edge."""
        across, up = _fraction(x, self.x, self.log_x), _fraction(y, self.y, self.log_y)
        return self.left + self.width * across, self.top + self.height * (1 - up)

    def value(self, across: float, down: float) -> Point:
        """The numbers at a place of the page, on scales that aren't logarithmic."""
        x = self.x[0] + (self.x[1] - self.x[0]) * (across - self.left) / self.width
        return x, self.y[1] - (self.y[1] - self.y[0]) * (down - self.top) / self.height

    def holds(self, x: float, y: float) -> bool:
        return self.x[0] <= x <= self.x[1] and self.y[0] <= y <= self.y[1]  # false for NaN

    def cross(self) -> str:
        """Two thin lines through (0, 0)."""
        across = line([self.at(self.x[0], 0), self.at(self.x[1], 0)], "hair")
        return across + line([self.at(0, self.y[0]), self.at(0, self.y[1])], "hair")

    def scale_x(self, ticks: Mapping[float, str], name: str = "") -> str:
        """Numbers under the plane, and what they are."""
        bottom = self.top + self.height
        texts = [
            word(self.at(x, self.y[0])[0], bottom + 16, text, 11, "soft", class_="scale")
            for x, text in ticks.items()
        ]
        rule = line([(self.left, bottom), (self.left + self.width, bottom)], "hair")
        return rule + "".join(texts) + word(self.left + self.width / 2, bottom + 34, name, 12, "soft")

    def scale_y(self, ticks: Mapping[float, str], *, rules: bool = True) -> str:
        """Numbers left of the plane, each with a thin line across."""
        out = ""
        for y, text in ticks.items():
            height = self.at(self.x[0], y)[1]
            out += word(self.left - 7, height + 4, text, 11, "soft", "end", class_="scale")
            out += line([(self.left, height), (self.left + self.width, height)], "hair") if rules else ""
        return out

    def curve(self, xs: Sequence[float], ys: Sequence[float], stroke: str, width: float = 2, **more) -> str:
        """A curve through points; where a number isn't finite, it has a gap."""
        pieces, piece = [], []
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(y):
                piece.append(self.at(x, y))
            elif piece:
                pieces, piece = [*pieces, piece], []
        return "".join(line(points, stroke, width, **more) for points in [*pieces, piece] if points)

    def choices(
        self, control: str, xs: Sequence[float], curves: Mapping, names: Mapping, chosen: object, at: float
    ) -> str:
        """A curve for each value of a control, with a name that sets it; a dot on the chosen one at `at`."""
        out = ""
        for value, ys in curves.items():
            lit, (right, height) = value == chosen, self.at(xs[-1], ys[-1])
            out += self.curve(xs, ys, "accent" if lit else "calm", 2.5 if lit else 2)
            fill = "accent" if lit else "soft"
            label = word(right + 12, height + 4, names[value], 13, fill, "start", bold=lit)
            out += choice(label, names[value], chosen=lit, **{control: value})
        return out + dot(*self.at(at, curves[chosen][xs.index(at)]), 6, "accent", "paper", 2)

    def arrow(self, x: float, y: float, stroke: str, width: float = 2, **more) -> str:
        """A vector from (0, 0)."""
        return line([self.at(0, 0), self.at(x, y)], stroke, width, head=True, **more)

    def handle(self, name: str, place: Point, step: float, *, label: str, fill: str = "query") -> str:
        """A disc that the learner drags, or moves with the arrow keys; the control `name` follows it.

        A part with `data_end=name` is a line that ends at it, one with `data_follows=name` moves along.
        """
        (x, y), unit = self.at(*place), self.width / (self.x[1] - self.x[0])
        (left, bottom), (right, top) = self.at(self.x[0], self.y[0]), self.at(self.x[1], self.y[1])
        limits = " ".join(f"{edge:.0f}" for edge in (left, top, right, bottom))
        value = ", ".join(f"{number:.2f}" for number in place)
        said = {"role": "slider", "tabindex": "0", "aria_label": label, "aria_valuetext": value}
        said |= {"aria_valuenow": f"{place[0]:.2f}"}
        return dot(x, y, 11, fill, "paper", 2, data_drag=name, data_box=limits, data_step=step * unit, **said)


def _fraction(value: float, limits: Point, log: bool) -> float:
    low, high = limits
    if log:
        value, low, high = (math.log(max(each, 1e-300)) for each in (value, low, high))
    return min(1.0, max(0.0, (value - low) / (high - low)))
