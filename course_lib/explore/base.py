"""An explorable: a picture that answers to at most three controls.

    >>> lab = SaturationLab()       # as the last line of a cell: controls, presets, picture, a line of text
    >>> lab.preset("unscaled-512")
    >>> lab.facts["mean_max"]       # the numbers that are seen

A subclass says what may change (traits and `controls`), what follows from it (`compute`, a pure function),
how that looks (`draw`) and how it reads (`describe`). Everything else is here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape
from typing import Any, ClassVar

import ipywidgets
from matplotlib.figure import Figure
from traitlets import HasTraits, TraitType, link

from course_lib import theme
from course_lib.explore.control import Control
from course_lib.explore.picture import Picture
from course_lib.views import encode, still
from course_lib.views.stage import Moving, Stage


class Explorable(HasTraits):
    title: ClassVar[str] = ""  # short; stands in the picture
    question: ClassVar[str] = ""  # stands above the controls
    size: ClassVar[tuple[float, float]] = (
        9.6,
        3.8,
    )  # inches, 80 CSS pixels each; multiples of 0.2 (whole tiles)
    controls: ClassVar[tuple[Control, ...]] = ()
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    compute: ClassVar[Callable[..., dict[str, Any]]]  # staticmethod; the state goes in by keyword
    draw: ClassVar[Callable[[Figure], Moving]]  # staticmethod; paints the scenery, returns what moves
    _lock: ClassVar[threading.RLock]  # of the stage: in a foreign Lab, callbacks come on a second thread
    _stage: ClassVar[Stage | None]

    def __init_subclass__(cls) -> None:
        """An explorable that breaks the rules is refused when it is written, not when a learner meets it."""
        super().__init_subclass__()
        if not 1 <= len(cls.controls) <= 3:
            raise TypeError(f"{cls.__name__} has {len(cls.controls)} controls; one to three keep it clear.")
        names = {control.trait for control in cls.controls}
        for name in names:
            if not isinstance(getattr(cls, name, None), TraitType):
                raise TypeError(f"{cls.__name__} has a control for {name!r}, which is not one of its traits.")
        for preset, values in cls.presets.items():
            if unknown := set(values) - names:
                raise TypeError(
                    f"Preset {preset!r} of {cls.__name__} sets {sorted(unknown)}: no such control."
                )
        cls._lock = threading.RLock()
        cls._stage = None

    @classmethod
    def stage(cls) -> Stage:
        """One stage serves all of a kind: running a cell fifty times leaves one figure, not fifty."""
        with cls._lock:
            if cls._stage is None:
                figure = theme.figure(*cls.size)
                cls._stage = Stage(figure, cls.draw(figure))
            return cls._stage

    def __init__(self) -> None:
        super().__init__()
        self._start = self.state
        self._view: ipywidgets.VBox | None = None
        self._picture: Picture | None = None
        self._shown: dict[str, Any] | None = None
        self.observe(self._follow, names=list(self._start))

    # -- what a lesson uses ---------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        return {control.trait: getattr(self, control.trait) for control in self.controls}

    @property
    def facts(self) -> dict[str, Any]:
        """The numbers behind what is seen now."""
        return type(self).compute(**self.state)

    @property
    def description(self) -> str:
        """One line that says what is seen now; also the picture's alt text."""
        return self.describe(self.facts)

    def describe(self, facts: dict[str, Any]) -> str:
        raise NotImplementedError(f"{type(self).__name__} must say what is seen: describe(facts) -> str")

    def preset(self, name: str) -> None:
        """Go to a named state. What the preset does not mention goes back to where it started."""
        if name not in self.presets:
            raise ValueError(
                f"{type(self).__name__} has no preset {name!r}; it has {', '.join(self.presets)}."
            )
        self._go({**self._start, **self.presets[name]})

    def reset(self) -> None:
        self._go(self._start)

    def still(self) -> bytes:
        """The picture of now as PNG bytes, made to be stored."""
        with self._lock:
            self.stage().move(self.facts)
            return encode.small(self.stage().pixels())

    @property
    def view(self) -> ipywidgets.VBox:
        """The live thing, built when it is first asked for."""
        if self._view is None:
            self._view = self._build()
        return self._view

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={value!r}" for name, value in self.state.items())
        return f"{type(self).__name__}({state})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        width, height = still.shown_size(self.stage().figure)
        data, metadata = still.bundle(self.still(), alt=self.description, width=width, height=height)
        live = self.view._repr_mimebundle_()
        return {**live, **data}, metadata

    # -- how it works ---------------------------------------------------------------------------------

    def _go(self, state: dict[str, Any]) -> None:
        with self.hold_trait_notifications():  # all traits are in place before the first of them is announced
            for name, value in state.items():
                setattr(self, name, value)

    def _follow(self, change: object) -> None:
        if self._picture is not None:
            with self._lock:  # two threads may bring changes; the later state must win
                if self.state != self._shown:  # a preset announces every trait it set: one picture is enough
                    words = self._perform()
                    self._picture.show(self.stage(), words)

    def _perform(self) -> str:
        """Bring the stage to the state of now, and return the words for it."""
        self._shown, facts = self.state, self.facts
        self.stage().move(facts)
        return self.describe(facts)

    def _build(self) -> ipywidgets.VBox:
        with self._lock:
            words = self._perform()
            self._picture = Picture(self.stage(), words)
        knobs = []
        for control in self.controls:
            knob = control.widget(self.traits()[control.trait])
            link((self, control.trait), (knob, "value"))
            knobs.append(knob)
        buttons = [_button(name, lambda _, name=name: self.preset(name)) for name in self.presets]
        reset = _button("Reset", lambda _: self.reset())
        reset.add_class("course-reset")
        view = ipywidgets.VBox(
            [
                ipywidgets.HTML(f'<p class="course-question">{escape(self.question)}</p>'),
                _row(knobs, "course-knobs"),
                _row([*buttons, reset], "course-presets"),
                self._picture,
            ]
        )
        view.add_class("course-explorable")
        return view


def _button(text: str, on_click: Callable[[Any], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=text)
    button.on_click(on_click)
    return button


def _row(children: list[ipywidgets.DOMWidget], css_class: str) -> ipywidgets.HBox:
    row = ipywidgets.HBox(children)
    row.add_class("course-row")
    row.add_class(css_class)
    return row
