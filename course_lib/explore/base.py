"""An explorable: a picture that answers to at most three controls, and asks for two or three things.

    >>> lab = SaturationLab()       # as the last line of a cell: controls, presets, goals, picture, text
    >>> lab.preset("unscaled-512")
    >>> lab.facts["mean_max"]       # the numbers that are seen

A subclass says what may change (traits and `controls`), what follows from it (`compute`, a pure function),
how that looks (`panels`, `heading`) and reads (`describe`), and what to try (`goals`). The rest is here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from typing import Any, ClassVar, NamedTuple

import ipywidgets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from traitlets import HasTraits, TraitType, link

from course_lib import theme
from course_lib.explore.control import Control, Writing
from course_lib.explore.picture import Picture
from course_lib.views import still
from course_lib.views.moving import Facts, Show, Stage, quick_text

MARGIN, LINE, ROOM = 0.14, 0.34, 0.46  # inches: paper at the edges, top to baseline, top to panels


@dataclass(frozen=True)
class Goal:
    """Something to bring about with the controls, told by the facts alone.

        >>> Goal("sure", "Bring cat's weight above 0.9", lambda now, start: now["weights"][0] > 0.9)

    It is reached by a move of the learner's own that leads from where it is not met to where it is. A preset
    (or a reset) never reaches one: a button would have done the work.
    """

    id: str
    text: str
    met: Callable[[Facts, Facts], bool]  # of the facts now, and at the start


class Panel(NamedTuple):
    """A part of the picture; `draw` paints what stays and returns the function that shows the rest."""

    title: str
    draw: Callable[[Axes], Show]
    width: float = 1.0  # beside the others


class Explorable(HasTraits):
    title: ClassVar[str] = ""  # short; stands in the picture
    question: ClassVar[str] = ""  # stands above the controls
    size: ClassVar[tuple[float, float]] = (9.6, 3.8)  # inches, 80 CSS pixels each; multiples of 0.2
    controls: ClassVar[tuple[Control, ...]] = ()
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    goals: ClassVar[tuple[Goal, ...]] = ()
    panels: ClassVar[tuple[Panel, ...]] = ()
    compute: ClassVar[Callable[..., Facts]]  # staticmethod; the state goes in by keyword
    start: ClassVar[dict[str, Any]]  # the state at the start, from the traits
    _lock: ClassVar = threading.RLock()  # of all stages: in a foreign Lab, callbacks come on a second thread

    # Whoever keeps progress puts functions here: told of explorable and goal, asked for goals of other days.
    reached: ClassVar[Callable[[str, str], None]] = staticmethod(lambda name, goal: None)
    remembered: ClassVar[Callable[[str], Collection[str]]] = staticmethod(lambda name: ())

    def __init_subclass__(cls) -> None:
        """An explorable that breaks the rules is refused when it is written, not when a learner meets it."""
        super().__init_subclass__()
        names = {control.trait for control in cls.controls}
        written = [name for name in names if isinstance(getattr(cls, name, None), Writing)]
        if not 1 <= len(cls.controls) - len(written) <= 3 or len(written) > 1:
            raise TypeError(
                f"{cls.__name__} has {len(cls.controls)} controls; one to three keep it clear, "
                "beside one field to write in."
            )
        for name in names:
            if not isinstance(getattr(cls, name, None), TraitType):
                raise TypeError(f"{cls.__name__} has a control for {name!r}, which is not one of its traits.")
        for preset, values in cls.presets.items():
            if unknown := set(values) - names:
                raise TypeError(
                    f"Preset {preset!r} of {cls.__name__} sets {sorted(unknown)}: no such control."
                )
        cls.start = {control.trait: getattr(cls, control.trait).default_value for control in cls.controls}

    def __init__(self) -> None:
        super().__init__()
        self.ticked = {goal.id for goal in self.goals} & set(Explorable.remembered(type(self).__name__))
        self._picture: Picture | None = None
        self._seen = self.start
        self._by_hand = True
        self.observe(self._follow, names=list(self.start))

    # -- what a lesson uses ---------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        return {control.trait: getattr(self, control.trait) for control in self.controls}

    @property
    def facts(self) -> Facts:
        """The numbers behind what is seen now: the state, and what follows from it."""
        return self.facts_at(self.state)

    @classmethod
    def facts_at(cls, state: dict[str, Any]) -> Facts:
        return {**state, **cls.compute(**state)}

    @property
    def description(self) -> str:
        """One line that says what is seen now; also the picture's alt text."""
        return self.describe(self.facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        raise NotImplementedError("An explorable must say what is seen: describe(facts) -> str")

    @staticmethod
    def heading(facts: Facts) -> str:
        """The state, right of the title: a stored notebook shows the picture without its controls."""
        return ""

    def preset(self, name: str) -> None:
        """Go to a named state. What the preset does not mention goes back to where it started."""
        if name not in self.presets:
            raise ValueError(
                f"{type(self).__name__} has no preset {name!r}; it has {', '.join(self.presets)}."
            )
        self._go({**self.start, **self.presets[name]})

    def reset(self) -> None:
        self._go(self.start)

    def still(self) -> bytes:
        """The picture of now as PNG bytes, made to be stored."""
        with self._lock:
            self.stage().move(self.facts)
            return still.encoded(self.stage().pixels())

    @cached_property
    def view(self) -> ipywidgets.VBox:
        """The live thing, built when it is first asked for."""
        with self._lock:
            facts = self.facts
            self.stage().move(facts)
            self._picture = Picture(self.stage(), self.describe(facts), self._listed())
        knobs = []
        for control in self.controls:
            knobs.append(control.widget(self.traits()[control.trait]))
            link((self, control.trait), (knobs[-1], "value"))
        buttons = [_button(name, lambda _, name=name: self.preset(name)) for name in self.presets]
        reset = _button("Reset", lambda _: self.reset())
        reset.add_class("course-reset")
        question = ipywidgets.HTML(f'<p class="course-question">{escape(self.question)}</p>')
        rows = [_row(knobs, "course-knobs"), _row([*buttons, reset], "course-presets")]
        return ipywidgets.VBox([question, *rows, self._picture]).add_class("course-explorable")

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={value!r}" for name, value in self.state.items())
        return f"{type(self).__name__}({state})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = self.stored()
        return {**self.view._repr_mimebundle_(), **data}, metadata

    def stored(self) -> tuple[dict, dict]:
        """What a notebook keeps: a picture that knows nothing of goals reached, the same for everyone."""
        image = self.still()
        width, height = still.shown_size(self.stage().figure)
        return still.bundle(image, alt=self.description, width=width, height=height)

    # -- how it works ---------------------------------------------------------------------------------

    @classmethod
    @cache
    def stage(cls) -> Stage:
        """One stage serves all of a kind: running a cell fifty times leaves one figure, not fifty."""
        return Stage(theme.figure(*cls.size), cls.scene, cls.facts_at(cls.start))

    @classmethod
    def scene(cls, figure: Figure) -> Show:
        """The line on top, title left and state right, and below it the panels."""
        width, height = figure.get_size_inches()
        left, bottom, baseline = MARGIN / width, MARGIN / height, 1 - LINE / height
        inside = (left, bottom, 1 - 2 * left, 1 - bottom - ROOM / height)
        figure.get_layout_engine().set(rect=inside, w_pad=0.06, h_pad=0.03)
        figure.text(left, baseline, cls.title, fontsize=13, fontweight="bold", in_layout=False)
        state = quick_text(figure, 1 - left, baseline, ha="right", colour=theme.SOFT_INK, size=11)
        grid = figure.add_gridspec(1, len(cls.panels), width_ratios=[panel.width for panel in cls.panels])
        places = (figure.add_subplot(grid[i], title=panel.title) for i, panel in enumerate(cls.panels))
        shows = [panel.draw(axes) for panel, axes in zip(cls.panels, places, strict=True)]

        def show_all(facts: Facts) -> None:
            state.set_text(cls.heading(facts))
            for show in shows:
                show(facts)

        return show_all

    def _go(self, state: dict[str, Any]) -> None:
        self._by_hand = False
        try:
            with self.hold_trait_notifications():  # all are in place before the first is announced
                for name, value in state.items():
                    setattr(self, name, value)
        finally:
            self._by_hand = True

    def _follow(self, change: object) -> None:
        with self._lock:  # two threads may bring changes; the later state must win
            if self.state == self._seen:  # a preset announces every trait it set: one picture is enough
                return
            before, self._seen, facts = self._seen, self.state, self.facts
            news = self._judge(facts, before) if self._by_hand else []
            if self._picture is not None:
                self.stage().move(facts)
                said = f"Goal reached: {'; '.join(goal.text for goal in news)}." if news else ""
                self._picture.show(self.stage(), self.describe(facts), self._listed(), said)
        for goal in news:
            Explorable.reached(type(self).__name__, goal.id)

    def _judge(self, facts: Facts, before: dict[str, Any]) -> list[Goal]:
        """Tick the goals that this move has reached."""
        left = [goal for goal in self.goals if goal.id not in self.ticked]
        if not left:  # a slider asks at every step
            return []
        start = self.facts_at(self.start)
        met = [goal for goal in left if goal.met(facts, start)]
        news = [goal for goal in met if not goal.met(self.facts_at(before), start)]
        self.ticked |= {goal.id for goal in news}
        return news

    def _listed(self) -> list[dict[str, Any]]:
        return [{"text": goal.text, "reached": goal.id in self.ticked} for goal in self.goals]


def _button(text: str, on_click: Callable[[Any], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=text)
    button.on_click(on_click)
    return button


def _row(children: list[ipywidgets.DOMWidget], css_class: str) -> ipywidgets.HBox:
    return ipywidgets.HBox(children).add_class("course-row").add_class(css_class)
