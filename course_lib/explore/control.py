"""What a learner may turn: a control is a trait's name and a label, nothing more.

    >>> class Lab(Explorable):
    ...     d_k = Enum((1, 8, 64), default_value=8)
    ...     controls = (Control("d_k", "d_k"),)

The range, the choices and the refusal of anything else live in the trait, so they are written once. An
`Enum` becomes a slider over its choices (or a row of buttons), a `Number` a slider, an `Int` a slider, a
`Writing` a field to write in. All of them answer to the keyboard: Tab to reach one, arrow keys to move it, or
letters and Enter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import ipywidgets
from traitlets import Enum, Float, Int, TraitType, Unicode


class Number(Float):
    """A finite number from `min` to `max`; a plain `Float` would let NaN through."""

    info_text = "a finite number"

    def validate(self, obj: object, value: float) -> float:
        number = super().validate(obj, value)
        if not math.isfinite(number):
            self.error(obj, value)
        return number


class Writing(Unicode):
    """A text of the learner's own, of `longest` signs at most; what is longer is cut.

    `samples` are texts worth trying, the default first: the tests and the bench go through them.
    """

    def __init__(self, samples: tuple[str, ...], longest: int = 200):
        super().__init__(samples[0])
        self.samples, self.longest = samples, longest

    def validate(self, obj: object, value: str) -> str:
        return super().validate(obj, value)[: self.longest]


@dataclass(frozen=True)
class Control:
    trait: str
    label: str  # short: it stands left of the slider
    step: float = 0.1  # of a Number
    text: Callable[[object], str] = str  # how a choice is written
    buttons: bool = False  # choices side by side, all in sight
    wide: bool = False  # a slider over long names: room to read them

    def widget(self, trait: TraitType) -> ipywidgets.DOMWidget:
        """The ipywidgets control for a trait; its value is set and linked by the explorable."""
        look = {"description": self.label, "style": {"description_width": "initial"}}  # no label is cut off
        if isinstance(trait, Enum):
            options = [(self.text(value), value) for value in trait.values]
            if not self.buttons:
                slider = ipywidgets.SelectionSlider(options=options, **look)
                return slider.add_class("course-wide") if self.wide else slider
            look["style"]["button_width"] = "auto"
            return ipywidgets.ToggleButtons(options=options, **look)
        if isinstance(trait, Int):
            return ipywidgets.IntSlider(min=trait.min, max=trait.max, **look)
        if isinstance(trait, Number):
            digits = len(f"{self.step:g}".partition(".")[2])
            ends = {"min": trait.min, "max": trait.max, "step": self.step}
            return ipywidgets.FloatSlider(**ends, readout_format=f".{digits}f", **look)
        if isinstance(trait, Writing):  # heard when it is done: with Enter, or when the field is left
            return ipywidgets.Text(continuous_update=False, **look)
        raise TypeError(
            f"Control {self.label!r}: no control is known for the trait {self.trait!r} of type "
            f"{type(trait).__name__}. Use an Enum, a Number, a Writing or an Int with min and max."
        )
