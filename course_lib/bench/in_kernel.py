"""The half of the bench that runs inside a kernel: our way and interact's, on the same moves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

from course_lib import explore
from course_lib.explore.base import Explorable
from course_lib.explore.control import Number

OUR_MOVES, INTERACT_MOVES, COUNTED_MOVES = 120, 20, 12


def stops(explorable: Explorable) -> Iterator[tuple[str, Any]]:
    """Every control swept from end to end, one after another, for ever."""
    sweeps = []
    for control in explorable.controls:
        trait = explorable.traits()[control.trait]
        if hasattr(trait, "samples"):
            sweeps.append([(control.trait, text) for text in trait.samples])
        elif hasattr(trait, "values"):
            sweeps.append([(control.trait, value) for value in trait.values])
        else:
            step = control.step if isinstance(trait, Number) else 1
            count = round((trait.max - trait.min) / step)
            sweeps.append([(control.trait, trait.min + step * i) for i in range(count + 1)])
    longest = max(map(len, sweeps))
    for i in cycle(range(longest)):
        for sweep in sweeps:
            yield sweep[i % len(sweep)]


def report(name: str) -> None:
    """Print one line of JSON: milliseconds and bytes, ours and interact's."""
    kind = getattr(explore, name)
    ours, theirs = our_way(kind), interact_way(kind)
    facts = {
        "kernel": _times(kind(), ours, OUR_MOVES),
        "interact": _times(kind(), theirs, INTERACT_MOVES),
        "kernel_bytes": _bytes_a_move(kind(), ours),
        "interact_bytes": _bytes_a_move(kind(), theirs),
    }
    print("\n" + json.dumps(facts))


def our_way(kind: type[Explorable]) -> dict[str, Any]:
    """The explorable on the page; its knobs by trait."""
    from IPython.display import display

    explorable = kind()
    display(explorable)
    knobs = explorable.view.children[1].children
    return {control.trait: knob for control, knob in zip(kind.controls, knobs, strict=True)}


def interact_way(kind: type[Explorable]) -> dict[str, Any]:
    """The same picture, as `interact` and pyplot draw it; its knobs by trait."""
    import ipywidgets
    from IPython.display import display
    from matplotlib import pyplot

    pyplot.ioff()
    places = [axes.get_position() for axes in kind.stage().figure.axes]

    def show(**state: Any) -> None:
        figure = pyplot.figure(figsize=kind.size, layout="constrained")
        show_facts = kind.scene(figure)
        figure.set_layout_engine("none")  # ours settled its layout once: do not charge for it here
        for axes, place in zip(figure.axes, places, strict=True):
            axes.set_position(place)
        show_facts(kind.facts_at(state))
        pyplot.show()

    start = kind()
    knobs = {control.trait: control.widget(start.traits()[control.trait]) for control in kind.controls}
    for name, knob in knobs.items():
        knob.value = getattr(start, name)
    display(ipywidgets.VBox([*knobs.values(), ipywidgets.interactive(show, **knobs).children[-1]]))
    return knobs


def _moves(explorable: Explorable, knobs: dict[str, Any], count: int) -> Iterator[Callable[[], None]]:
    """So many changes of a knob, each to be called."""
    for name, value in stops(explorable):
        if not count:
            return
        if knobs[name].value != value:
            count -= 1
            yield lambda knob=knobs[name], value=value: setattr(knob, "value", value)


def _times(explorable: Explorable, knobs: dict[str, Any], count: int) -> list[float]:
    times = []
    for move in _moves(explorable, knobs, count):
        start = time.perf_counter()
        move()
        times.append(1000 * (time.perf_counter() - start))
    return times


def _bytes_a_move(explorable: Explorable, knobs: dict[str, Any]) -> float:
    """Counted in moves of their own, for counting takes time."""
    from IPython import get_ipython

    session = get_ipython().kernel.session
    send, sent = session.send, []

    def count(stream: Any, message: Any, *details: Any, **named: Any) -> Any:
        content = message.get("content") if isinstance(message, dict) else named.get("content", details[:1])
        sent.append(len(session.pack(content)) + sum(len(buffer) for buffer in named.get("buffers") or ()))
        return send(stream, message, *details, **named)

    session.send = count
    try:
        for move in _moves(explorable, knobs, COUNTED_MOVES):
            move()
    finally:
        del session.send
    return sum(sent) / COUNTED_MOVES
