"""The controls of an explorable: traits that also know their label, their values and their widget.

    >>> class Lab(Explorable):
    ...     d_k = Choice("d_k", (1, 8, 64), 8)
    ...     noise = Number("noise", 0.0, 2.0, 1.0, step=0.25)

The last positional argument is the initial value. A trait rejects values outside its range. All controls
work with the keyboard: Tab to reach one, then arrow keys, or letters and Enter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ipywidgets
from traitlets import Enum, Float, Int, TraitError, Tuple, Unicode

if TYPE_CHECKING:
    from course_lib.views.plane import Plane

MAX_LENGTH = 200  # characters of a text
STYLE = {"description_width": "initial"}  # no label is cut off


class Control:
    name: str  # set by traitlets
    label: str  # short, because it is left of the slider
    values: Any  # all values it can take, in order; of a text, some samples
    widget: Callable[[], Any]  # makes a widget, which the explorable sets and links; None: the picture has it

    def text_of(self, value: Any) -> str:
        """A value as the control shows it."""
        return str(value)


class Choice(Control, Enum):
    """One of some values: a slider (a `wide` one for long names), or `buttons`."""

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
        self.label, self._text, self._buttons, self._wide = label, text, buttons, wide

    def text_of(self, value: Any) -> str:
        return self._text(value)

    def widget(self) -> ipywidgets.DOMWidget:
        options = [(self._text(value), value) for value in self.values]
        if self._buttons:
            style = {**STYLE, "button_width": "auto"}
            return ipywidgets.ToggleButtons(options=options, description=self.label, style=style)
        slider = ipywidgets.SelectionSlider(options=options, description=self.label, style=STYLE)
        return slider.add_class("course-wide") if self._wide else slider


class Integer(Control, Int):
    def __init__(self, label: str, low: int, high: int, start: int):
        super().__init__(start, min=low, max=high)
        self.label, self.values = label, list(range(low, high + 1))

    def widget(self) -> ipywidgets.DOMWidget:
        return ipywidgets.IntSlider(min=self.min, max=self.max, description=self.label, style=STYLE)


class Number(Control, Float):
    """A finite number; a plain `Float` would accept NaN."""

    info_text = "a finite number"

    def __init__(self, label: str, low: float, high: float, start: float, *, step: float):
        super().__init__(start, min=low, max=high)
        self.label, self._step = label, step
        self._format = f".{len(f'{step:g}'.partition('.')[2])}f"
        self.values = [min(low + step * i, high) for i in range(round((high - low) / step) + 1)]

    def validate(self, obj: object, value: float) -> float:
        try:
            number = super().validate(obj, value)
        except OverflowError:  # an int that no float can hold
            number = math.inf
        if not math.isfinite(number):
            self.error(obj, value)
        return number

    def text_of(self, value: float) -> str:
        return f"{value:{self._format}}"

    def widget(self) -> ipywidgets.DOMWidget:
        limits = {"min": self.min, "max": self.max, "step": self._step, "readout_format": self._format}
        return ipywidgets.FloatSlider(**limits, description=self.label, style=STYLE)


class Point(Control, Tuple):
    """Two numbers: a place in a plane, where the learner drags a handle (`Plane.handle`).

    It is rounded to the step. Dragged out of the plane, it stays at the edge.
    """

    def __init__(self, label: str, plane: Plane, start: tuple[float, float], *, step: float):
        super().__init__(Float(), Float(), default_value=start)
        self.label, self._plane, self.step = label, plane, step
        columns, rows = (range(round(low / step), round(high / step) + 1) for low, high in (plane.x, plane.y))
        self.values = [self._rounded(step * column, step * row) for column in columns for row in rows]

    def validate(self, obj: object, value: Any) -> tuple[float, float]:
        x, y = super().validate(obj, value)
        if not self._plane.holds(x, y):
            (left, right), (low, high) = self._plane.x, self._plane.y
            limits = f"from {left:g} to {right:g} and from {low:g} to {high:g}"
            raise TraitError(f"{self.label}: expected two numbers {limits}, got {value!r}.")
        return self._rounded(x, y)

    def _rounded(self, x: float, y: float) -> tuple[float, float]:
        return tuple(round(round(number / self.step) * self.step, 6) for number in (x, y))

    def value_at(self, across: float, down: float) -> tuple[float, float]:
        """The value at a place of the page."""
        place = self._plane.value(float(across), float(down))
        limits = zip(place, (self._plane.x, self._plane.y), strict=True)
        return self._rounded(*(min(high, max(low, number)) for number, (low, high) in limits))

    def text_of(self, value: tuple[float, float]) -> str:
        return ", ".join(f"{number:g}" for number in value)

    def widget(self) -> None:
        return None  # the picture has it


class TextInput(Control, Unicode):
    """A text that the learner types, cut after `MAX_LENGTH` characters; it starts with the first sample."""

    def __init__(self, label: str, samples: tuple[str, ...]):
        super().__init__(samples[0])
        self.label, self.values = label, list(samples)

    def validate(self, obj: object, value: str) -> str:
        return super().validate(obj, value)[:MAX_LENGTH]

    def widget(self) -> ipywidgets.DOMWidget:  # updates on Enter, or when the field loses the focus
        return ipywidgets.Text(continuous_update=False, description=self.label, style=STYLE)
