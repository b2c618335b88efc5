"""What a learner may turn: a trait that knows its label, its stops and its widget.

    >>> class Lab(Explorable):
    ...     d_k = Choice("d_k", (1, 8, 64), 8)
    ...     noise = Number("noise", 0.0, 2.0, 1.0, step=0.25)

The last number is where it stands at the start. The trait itself refuses what lies outside its range. All of
them answer to the keyboard: Tab to reach one, arrow keys to move it, or letters and Enter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ipywidgets
from traitlets import Enum, Float, Int, Unicode

LONGEST = 200  # signs of a written text


class Control:
    """What all of them have; `name` comes from traitlets, and the explorable sets and links the value."""

    name: str
    label: str  # short: it stands left of the slider
    stops: list[Any]  # every value it can take, in the order of its slider or buttons

    def widget(self) -> ipywidgets.DOMWidget:
        """The ipywidgets control."""
        raise NotImplementedError

    def _look(self) -> dict[str, Any]:
        return {"description": self.label, "style": {"description_width": "initial"}}  # no label is cut off


class Choice(Control, Enum):
    """One of some values: a slider (a `wide` one for long names), or `buttons`, all in sight."""

    def __init__(
        self,
        label: str,
        values: tuple,
        start: Any,
        *,
        text: Callable[[Any], str] = str,
        buttons: bool = False,
        wide: bool = False,
    ):
        super().__init__(values, default_value=start)
        self.label, self.stops = label, list(values)
        self._text, self._buttons, self._wide = text, buttons, wide

    def widget(self) -> ipywidgets.DOMWidget:
        look = {"options": [(self._text(value), value) for value in self.stops], **self._look()}
        if self._buttons:
            look["style"]["button_width"] = "auto"
            return ipywidgets.ToggleButtons(**look)
        slider = ipywidgets.SelectionSlider(**look)
        return slider.add_class("course-wide") if self._wide else slider


class Whole(Control, Int):
    """A whole number from `low` to `high`, by a slider."""

    def __init__(self, label: str, low: int, high: int, start: int):
        super().__init__(start, min=low, max=high)
        self.label, self.stops = label, list(range(low, high + 1))

    def widget(self) -> ipywidgets.DOMWidget:
        return ipywidgets.IntSlider(min=self.min, max=self.max, **self._look())


class Number(Control, Float):
    """A finite number from `low` to `high`, by a slider; a plain `Float` would let NaN through."""

    info_text = "a finite number"

    def __init__(self, label: str, low: float, high: float, start: float, *, step: float):
        super().__init__(start, min=low, max=high)
        self.label, self._step = label, step
        self.stops = [min(low + step * i, high) for i in range(round((high - low) / step) + 1)]

    def validate(self, obj: object, value: float) -> float:
        number = super().validate(obj, value)
        if not math.isfinite(number):
            self.error(obj, value)
        return number

    def widget(self) -> ipywidgets.DOMWidget:
        digits = len(f"{self._step:g}".partition(".")[2])
        ends = {"min": self.min, "max": self.max, "step": self._step, "readout_format": f".{digits}f"}
        return ipywidgets.FloatSlider(**ends, **self._look())


class Writing(Control, Unicode):
    """A text of the learner's own; what is longer than `LONGEST` is cut.

    Its stops are texts worth trying, the first at the start: the tests and the bench go through them.
    """

    def __init__(self, label: str, samples: tuple[str, ...]):
        super().__init__(samples[0])
        self.label, self.stops = label, list(samples)

    def validate(self, obj: object, value: str) -> str:
        return super().validate(obj, value)[:LONGEST]

    def widget(self) -> ipywidgets.DOMWidget:  # heard when it is done: with Enter, or when the field is left
        return ipywidgets.Text(continuous_update=False, **self._look())
