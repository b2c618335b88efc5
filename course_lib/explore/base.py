"""An explorable: a picture with at most three controls, and two or three goals to reach with them.

    >>> lab = SoftDictionary()      # as the last line of a cell: controls, presets, goals, picture, text
    >>> lab.preset("triple cream")
    >>> lab.facts["weights"]        # the numbers in the picture

A subclass defines its controls, the facts that follow from them (`compute`, a pure function), how it looks
(`draw`, from facts to SVG) and reads (`describe`), its `goals`, and when these are met (`goals_met`). Parts
of the picture can be controls, too: course_lib/views/svg.py has `choice`, and a plane its `handle`.

Goals depend on the facts alone. A goal is reached when the learner moves a control from a state that doesn't
meet it to one that does. Presets, resets and play never count, because a button would have done the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from html import escape
from typing import Any, ClassVar

import ipywidgets
from traitlets import HasTraits, TraitError, link

from course_lib.explore.control import Choice, Control, Integer, Number, Point, TextInput
from course_lib.explore.live_picture import LivePicture
from course_lib.explore.live_view import live_view
from course_lib.views.picture import WIDTH, Picture

__all__ = ["Choice", "Explorable", "Facts", "Integer", "Number", "Point", "TextInput"]

Facts = dict[str, Any]


class Explorable(HasTraits):
    title: ClassVar[str] = ""  # on the cover of a prediction
    question: ClassVar[str] = ""  # above the controls
    size: ClassVar[tuple[float, float]] = (WIDTH, 380)  # pixels
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    goals: ClassVar[dict[str, str]] = {}  # their texts, by id
    compute: ClassVar[Callable[..., Facts]]  # a staticmethod that takes the state as keyword arguments
    controls: ClassVar[tuple[Control, ...]] = ()  # collected from the class body, in its order
    main_control: ClassVar[str] = ""  # the one that the reading edition moves; default: the first
    play: ClassVar[str] = ""  # the control that is time, if one is
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
            cls.start = {name: control.default() for name, control in controls.items()}

    def __init__(self) -> None:
        super().__init__()
        self.reached_goals = set(self.goals) & set(Explorable.find_reached_goals(type(self).__name__))
        self._picture: Any = None  # the widget on the page
        self._last_state = self.start
        self._by_hand = True
        self.observe(self._update, names=list(self.start))

    # -- what a subclass defines ----------------------------------------------------------------------

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        """The parts of the picture, as SVG: what they show, they take from the facts."""
        raise NotImplementedError("An explorable must draw its picture: draw(facts) -> parts")

    @staticmethod
    def describe(facts: Facts) -> str:
        raise NotImplementedError("An explorable must describe its picture: describe(facts) -> str")

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        """For each goal, whether the current facts meet it; some compare with the facts at the start."""
        return {}

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

    @classmethod
    def picture_of(cls, facts: Facts) -> Picture:
        return Picture(*cls.size, *cls.draw(facts), alt=cls.describe(facts))

    def static_image(self) -> Picture:
        """The picture that a notebook stores: it shows no goals, so that it is the same for everyone."""
        return self.picture_of(self.facts)

    @cached_property
    def view(self) -> ipywidgets.VBox:
        with self._lock:
            self._picture = self._make_picture(self._picture_traits(self.facts))
        linked = {control.name: control.widget() for control in self.controls}
        widgets = {name: widget for name, widget in linked.items() if widget is not None}
        for name, widget in widgets.items():
            link((self, name), (widget, "value"))
        buttons = [_button(name, lambda _, name=name: self.preset(name)) for name in self.presets]
        buttons.append(_button("Reset", lambda _: self.reset()).add_class("course-reset"))
        question = ipywidgets.HTML(f'<p class="course-question">{escape(self.question)}</p>')
        rows = [_row(list(widgets.values()), "course-controls"), _row(buttons, "course-presets")]
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

    def _make_picture(self, traits: dict[str, Any]) -> LivePicture:
        label = self._control(self.play).label if self.play else ""
        picture = LivePicture(play=label, **traits)
        picture.on_msg(lambda _, content, buffers: self._receive(content))
        return picture

    def _control(self, name: str) -> Control:
        for control in self.controls:
            if control.name == name:
                return control
        names = ", ".join(control.name for control in self.controls)
        raise ValueError(f"{type(self).__name__} has no control {name!r}; it has {names}.")

    def _receive(self, content: dict[str, Any]) -> None:
        """What happened in the picture: something was set, dragged or played. Every report is answered."""
        answer: dict[str, Any] = {"done": True}
        try:
            if "play" in content:
                answer["last"] = self._play(first=content["play"] == "first")
            elif "drag" in content:
                control = self._control(content["drag"])
                if not isinstance(control, Point):
                    raise ValueError(f"{control.name} can't be dragged; only a Point can.")
                self._set_state({control.name: control.value_at(*content["to"])}, by_hand=True)
            else:
                state = {self._control(name).name: value for name, value in content["set"].items()}
                self._set_state(state, by_hand=True)
        except (ValueError, TraitError) as error:
            answer["error"] = str(error)
        self._picture.send(answer)

    def _play(self, *, first: bool) -> bool:
        """One step on, or back to the first; returns whether this is the last."""
        values = list(self._control(self.play).values)
        place = values.index(getattr(self, self.play))
        place = 0 if first and place == len(values) - 1 else min(place + 1, len(values) - 1)
        self._set_state({self.play: values[place]})
        return place == len(values) - 1

    def _set_state(self, state: dict[str, Any], *, by_hand: bool = False) -> None:
        self._by_hand = by_hand
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
        goals = [{"text": text, "reached": goal in self.reached_goals} for goal, text in self.goals.items()]
        return {**self._drawn(facts), "goals": goals}

    def _drawn(self, facts: Facts) -> dict[str, Any]:
        """The traits of the widget that hold the picture and its alt text."""
        picture = self.picture_of(facts)
        return {"svg": picture.svg, "alt": picture.alt}


def _button(text: str, on_click: Callable[[Any], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=text)
    button.on_click(on_click)
    return button


def _row(children: list[ipywidgets.DOMWidget], css_class: str) -> ipywidgets.HBox:
    return ipywidgets.HBox(children).add_class("course-row").add_class(css_class)
