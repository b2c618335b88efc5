"""An explorable: a picture that answers to at most three controls, and asks for two or three things.

    >>> lab = SaturationLab()       # as the last line of a cell: controls, presets, goals, picture, text
    >>> lab.preset("unscaled-512")
    >>> lab.facts["mean_max"]       # the numbers that are seen

A subclass says what may change (its controls), what follows from it (`compute`, a pure function), how that
looks (`panels`, `heading`) and reads (`describe`), what to try (`goals`) and when that is `met`.

A goal is told by the facts alone. It is reached by a move of the learner's own that leads from where it is
not met to where it is; a preset (or a reset) never reaches one: a button would have done the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from functools import cache, cached_property
from html import escape
from typing import Any, ClassVar, NamedTuple

import ipywidgets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from traitlets import HasTraits, link

from course_lib import theme
from course_lib.explore.control import Choice, Control, Number, Whole, Writing
from course_lib.explore.moving import Facts, MovingFigure, Show
from course_lib.explore.picture import Picture
from course_lib.views import still
from course_lib.views.quick_text import quick_text

__all__ = ["Axes", "Choice", "Explorable", "Facts", "Number", "Panel", "Show", "Whole", "Writing", "bare"]

MARGIN, LINE, ROOM = 0.14, 0.34, 0.46  # inches: paper at the edges, top to baseline, top to panels


class Panel(NamedTuple):
    """A part of the picture; `draw` paints what stays and returns the function that shows the rest."""

    title: str
    draw: Callable[[Axes], Show]
    width: float = 1.0  # beside the others


class Explorable(HasTraits):
    title: ClassVar[str] = ""  # short; stands in the picture
    question: ClassVar[str] = ""  # stands above the controls
    size: ClassVar[tuple[float, float]] = (9.6, 3.8)  # inches, 80 CSS pixels each; multiples of 0.2
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    goals: ClassVar[dict[str, str]] = {}  # what stands on the page, by id
    panels: ClassVar[tuple[Panel, ...]] = ()
    compute: ClassVar[Callable[..., Facts]]  # staticmethod; the state goes in by keyword
    controls: ClassVar[tuple[Control, ...]] = ()  # gathered from the class, in its order
    start: ClassVar[dict[str, Any]]  # the state at the start
    _lock: ClassVar = threading.RLock()  # of all figures: in a foreign Lab, callbacks come on a second thread

    # Whoever keeps progress puts functions here: told of explorable and goal, asked for goals of other days.
    reached: ClassVar[Callable[[str, str], None]] = staticmethod(lambda name, goal: None)
    remembered: ClassVar[Callable[[str], Collection[str]]] = staticmethod(lambda name: ())

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        found = {name: one for name, one in vars(cls).items() if isinstance(one, Control)}
        if found:
            cls.controls = tuple(found.values())
            cls.start = {name: control.default_value for name, control in found.items()}

    def __init__(self) -> None:
        super().__init__()
        self.ticked = set(self.goals) & set(Explorable.remembered(type(self).__name__))
        self._picture: Picture | None = None
        self._seen = self.start
        self._by_hand = True
        self.observe(self._follow, names=list(self.start))

    # -- what a lesson uses ---------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.start}

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
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        """Which goals are met by the facts of now, beside those of the start."""
        return {}

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        """The state in parts, right of the title: a stored notebook shows a picture without its controls."""
        return []

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
            self.moving().move(self.facts)
            return still.encoded(self.moving().pixels())

    @cached_property
    def view(self) -> ipywidgets.VBox:
        """The live thing, built when it is first asked for."""
        with self._lock:
            facts = self.facts
            self.moving().move(facts)
            self._picture = Picture(self.moving(), self.describe(facts), self._listed())
        knobs = []
        for control in self.controls:
            knobs.append(control.widget())
            link((self, control.name), (knobs[-1], "value"))
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
        width, height = still.shown_size(self.moving().figure)
        return still.bundle(image, alt=self.description, width=width, height=height)

    # -- how it works ---------------------------------------------------------------------------------

    @classmethod
    @cache
    def moving(cls) -> MovingFigure:
        """One figure serves all of a kind: running a cell fifty times leaves one, not fifty."""
        return MovingFigure(theme.figure(*cls.size), cls.scene, cls.facts_at(cls.start))

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
            state.set_text("   ·   ".join(cls.heading(facts)))
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
                self.moving().move(facts)
                said = f"Goal reached: {'; '.join(self.goals[goal] for goal in news)}." if news else ""
                self._picture.show(self.moving(), self.describe(facts), self._listed(), said)
        for goal in news:
            Explorable.reached(type(self).__name__, goal)

    def _judge(self, facts: Facts, before: dict[str, Any]) -> list[str]:
        """Tick the goals that this move has reached."""
        if self.ticked == set(self.goals):  # a slider asks at every step
            return []
        start = self.facts_at(self.start)
        news = [goal for goal, met in self.goals_met(facts, start).items() if met and goal not in self.ticked]
        if news:
            met_before = self.goals_met(self.facts_at(before), start)
            news = [goal for goal in news if not met_before[goal]]
            self.ticked.update(news)
        return news

    def _listed(self) -> list[dict[str, Any]]:
        return [{"text": text, "reached": goal in self.ticked} for goal, text in self.goals.items()]


def _button(text: str, on_click: Callable[[Any], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=text)
    button.on_click(on_click)
    return button


def _row(children: list[ipywidgets.DOMWidget], css_class: str) -> ipywidgets.HBox:
    return ipywidgets.HBox(children).add_class("course-row").add_class(css_class)


def bare(axes: Axes, *, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Paper to draw on: from end to end, without ticks and frame."""
    axes.set(xlim=x, ylim=y, xticks=(), yticks=())
    axes.spines[:].set_visible(False)
