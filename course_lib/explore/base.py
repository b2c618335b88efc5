"""An explorable: a figure with at most three controls, and two or three goals to reach with them.

    >>> lab = SaturationLab()       # as the last line of a cell: controls, presets, goals, picture, text
    >>> lab.preset("unscaled-512")
    >>> lab.facts["mean_max"]       # the numbers in the picture

A subclass defines its controls, the facts that follow from them (`compute`, a pure function), how it shows
(`panels`, `heading`) and describes them (`describe`), its `goals`, and when these are met (`goals_met`).

Goals depend on the facts alone. A goal is reached when the learner moves a control from a state that doesn't
meet it to one that does. Presets and resets never count, because a button would have done the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from functools import cache, cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import ipywidgets
from traitlets import HasTraits, link

from course_lib import theme
from course_lib.explore.blitting import BlittedFigure, Facts, Show
from course_lib.explore.control import Choice, Control, Integer, Number, TextInput
from course_lib.explore.live_view import live_view
from course_lib.explore.picture import Picture
from course_lib.views.pillow_text import add_text
from course_lib.views.static_image import MARGIN, StaticImage, encode_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # matplotlib's are slow to import, and explorables only annotate with them
    Axes = Any

__all__ = [
    "Axes",
    "Choice",
    "Explorable",
    "Facts",
    "Integer",
    "Number",
    "Panel",
    "Show",
    "TextInput",
    "blank_axes",
]

BASELINE, PANELS_TOP = 0.34, 0.46  # inches from the top: of the title, of the panels


class Panel(NamedTuple):
    title: str
    draw: Callable[[Axes], Show]  # draws what stays, and returns the function that shows the rest
    width: float = 1.0  # relative to the other panels


class Explorable(HasTraits):
    title: ClassVar[str] = ""  # short, because it is in the picture
    question: ClassVar[str] = ""  # above the controls
    size: ClassVar[tuple[float, float]] = (9.6, 3.8)  # inches of 80 CSS pixels; multiples of 0.2
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    goals: ClassVar[dict[str, str]] = {}  # their texts, by id
    panels: ClassVar[tuple[Panel, ...]] = ()
    compute: ClassVar[Callable[..., Facts]]  # a staticmethod that takes the state as keyword arguments
    controls: ClassVar[tuple[Control, ...]] = ()  # collected from the class body, in its order
    main_control: ClassVar[str] = ""  # the one that the reading edition moves; default: the first
    start: ClassVar[dict[str, Any]]  # the initial state
    _lock: ClassVar = threading.RLock()  # for all figures: a JupyterLab may run callbacks on a second thread

    # Set by the code that records progress: called with the explorable's name (and the goal).
    on_goal_reached: ClassVar[Callable[[str, str], None]] = staticmethod(lambda name, goal: None)
    find_reached_goals: ClassVar[Callable[[str], Collection[str]]] = staticmethod(lambda name: ())

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        controls = {name: value for name, value in vars(cls).items() if isinstance(value, Control)}
        if controls:
            cls.controls = tuple(controls.values())
            cls.start = {name: control.default_value for name, control in controls.items()}

    def __init__(self) -> None:
        super().__init__()
        self.reached_goals = set(self.goals) & set(Explorable.find_reached_goals(type(self).__name__))
        self._picture: Picture | None = None
        self._last_state = self.start
        self._by_hand = True
        self.observe(self._update, names=list(self.start))

    # -- what a subclass defines ----------------------------------------------------------------------

    @staticmethod
    def describe(facts: Facts) -> str:
        raise NotImplementedError("An explorable must describe its picture: describe(facts) -> str")

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        """For each goal, whether the current facts meet it; some compare with the facts at the start."""
        return {}

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        """The state in words, right of the title, for a stored notebook, which shows no controls."""
        return []

    # -- what a lesson uses ---------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.start}

    @property
    def facts(self) -> Facts:
        """The state and all numbers that follow from it."""
        return self.facts_at(self.state)

    @classmethod
    def facts_at(cls, state: dict[str, Any]) -> Facts:
        return {**state, **cls.compute(**state)}

    @property
    def description(self) -> str:
        """The alt text of the picture."""
        return self.describe(self.facts)

    def preset(self, name: str) -> None:
        """Go to a named state. Controls that the preset doesn't mention return to their initial values."""
        if name not in self.presets:
            raise ValueError(
                f"{type(self).__name__} has no preset {name!r}; it has {', '.join(self.presets)}."
            )
        self._set_state({**self.start, **self.presets[name]})

    def reset(self) -> None:
        self._set_state(self.start)

    def static_image(self) -> StaticImage:
        """The picture that a notebook stores: it shows no goals, so that it is the same for everyone."""
        with self._lock:
            self.shared_figure().update(self.facts)
            return StaticImage(self.shared_figure().figure, self.description, drawn=True)

    @cached_property
    def view(self) -> ipywidgets.VBox:
        with self._lock:
            background = self.shared_figure().background
            size = {"width": background.shape[1], "height": background.shape[0]}
            self._picture = Picture(
                **size, background=encode_png(background), **self._picture_traits(self.facts)
            )
        widgets = [control.widget() for control in self.controls]
        for control, widget in zip(self.controls, widgets, strict=True):
            link((self, control.name), (widget, "value"))
        buttons = [_button(name, lambda _, name=name: self.preset(name)) for name in self.presets]
        buttons.append(_button("Reset", lambda _: self.reset()).add_class("course-reset"))
        question = ipywidgets.HTML(f'<p class="course-question">{escape(self.question)}</p>')
        rows = [_row(widgets, "course-controls"), _row(buttons, "course-presets")]
        return ipywidgets.VBox([question, *rows, self._picture]).add_class("course-explorable")

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={value!r}" for name, value in self.state.items())
        return f"{type(self).__name__}({state})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data, metadata = self.static_image()._repr_mimebundle_()
        view = self.view
        _, for_colab = self._picture._repr_mimebundle_()  # how to load anywidget; only anywidget adds it
        return {**live_view(view), **data}, {**metadata, **for_colab}

    # -- how it works ---------------------------------------------------------------------------------

    @classmethod
    @cache
    def shared_figure(cls) -> BlittedFigure:
        """One figure for all instances: running a cell fifty times makes one figure, not fifty."""
        return BlittedFigure(theme.figure(*cls.size), cls.draw, cls.facts_at(cls.start))

    @classmethod
    def draw(cls, figure: Figure) -> Show:
        """Draw the title, the state to the right of it, and the panels below."""
        width, height = figure.get_size_inches()
        left, bottom, baseline = MARGIN / width, MARGIN / height, 1 - BASELINE / height
        inside = (left, bottom, 1 - 2 * left, 1 - bottom - PANELS_TOP / height)
        figure.get_layout_engine().set(rect=inside, w_pad=0.06, h_pad=0.03)
        figure.text(left, baseline, cls.title, fontsize=13, fontweight="bold", in_layout=False)
        heading = add_text(figure, 1 - left, baseline, ha="right", colour=theme.SOFT_INK, size=11)
        grid = figure.add_gridspec(1, len(cls.panels), width_ratios=[panel.width for panel in cls.panels])
        all_axes = [figure.add_subplot(grid[i], title=panel.title) for i, panel in enumerate(cls.panels)]
        shows = [panel.draw(axes) for panel, axes in zip(cls.panels, all_axes, strict=True)]

        def show_all(facts: Facts) -> None:
            heading.set_text("   ·   ".join(cls.heading(facts)))
            for show in shows:
                show(facts)

        return show_all

    def _set_state(self, state: dict[str, Any]) -> None:
        self._by_hand = False
        try:
            with self.hold_trait_notifications():  # notify after all values are set
                for name, value in state.items():
                    setattr(self, name, value)
        finally:
            self._by_hand = True

    def _update(self, change: object) -> None:
        with self._lock:  # changes may come from two threads; the later state must win
            if self.state == self._last_state:  # a preset notifies for each trait; one picture is enough
                return
            before, self._last_state, facts = self._last_state, self.state, self.facts
            new_goals = self._find_new_goals(facts, before) if self._by_hand else []
            self.reached_goals.update(new_goals)
            if self._picture is not None:
                traits = self._picture_traits(facts)
                if new_goals:
                    texts = "; ".join(self.goals[goal] for goal in new_goals)
                    traits["announcement"] = f"Goal reached: {texts}."
                self._picture.update(traits)
        for goal in new_goals:
            Explorable.on_goal_reached(type(self).__name__, goal)

    def _find_new_goals(self, facts: Facts, before: dict[str, Any]) -> list[str]:
        if self.reached_goals == set(self.goals):  # saves time: this runs at every step of a slider
            return []
        start = self.facts_at(self.start)
        new_goals = [goal for goal, met in self.goals_met(facts, start).items() if met]
        new_goals = [goal for goal in new_goals if goal not in self.reached_goals]
        if new_goals:
            met_before = self.goals_met(self.facts_at(before), start)
            new_goals = [goal for goal in new_goals if not met_before[goal]]
        return new_goals

    def _picture_traits(self, facts: Facts) -> dict[str, Any]:
        self.shared_figure().update(facts)
        tile_numbers, tiles = self.shared_figure().changed_tiles()
        goals = [{"text": text, "reached": goal in self.reached_goals} for goal, text in self.goals.items()]
        return {"tile_numbers": tile_numbers, "tiles": tiles, "alt": self.describe(facts), "goals": goals}


def _button(text: str, on_click: Callable[[Any], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=text)
    button.on_click(on_click)
    return button


def _row(children: list[ipywidgets.DOMWidget], css_class: str) -> ipywidgets.HBox:
    return ipywidgets.HBox(children).add_class("course-row").add_class(css_class)


def blank_axes(axes: Axes, *, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Axes without ticks and frame, to draw on."""
    axes.set(xlim=x, ylim=y, xticks=(), yticks=())
    axes.spines[:].set_visible(False)
