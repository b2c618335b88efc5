"""The time from moving a slider to the new picture: `python3 -m course_lib bench explorables`.

                 ms a move
    SoftmaxDial  6.1 / 7.9

Some explorables are measured, two of them with the trained translator. `python3 -m tests.browser.speed`
measures from the key press to the picture on the screen of a real browser.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import cycle
from statistics import median, quantiles
from typing import Any

from course_lib.explore.base import Explorable
from course_lib.teaching.contents import lessons
from lessons.l17_what_it_costs.timing import columns, conditions, in_turn

NAMES = (
    *("SoftmaxDial", "AttentionLines", "AttentionEmerges", "AttentionStepper", "Steering"),
    *("SaturationLab", "SoftDictionary"),
)
TRAINED = ("HeadSwitches",)  # on the trained translator
PACKAGES = ("matplotlib", "ipywidgets", "ipykernel", "anywidget")
MOVES = 120

ABOUT = f"""\
Time from changing a control until the new picture is ready for the page (compute, draw), over
{MOVES} moves that sweep every control: median / 95th percentile. Up to 25 ms feels smooth."""


def run() -> None:
    """Measure and print the table."""
    print(conditions(*PACKAGES), "", ABOUT, "", sep="\n", flush=True)
    classes = explorables()
    rows = [[name, summarise(time_moves(classes[name]))] for name in (*NAMES, *TRAINED)]
    print(columns(["", "ms per move"], rows))


def explorables() -> dict[str, type[Explorable]]:
    """The class of every explorable, by name, in the order of the lessons."""
    packages = [import_module(lesson.package) for lesson in lessons()]
    names = [(package, name) for package in packages for name in getattr(package, "__all__", ())]
    exported = [getattr(package, name) for package, name in names]
    classes = [value for value in exported if isinstance(value, type) and issubclass(value, Explorable)]
    return {kind.__name__: kind for kind in classes}


def summarise(times: list[float]) -> str:
    """Median and 95th percentile as text.

    >>> summarise([float(number) for number in range(101)])
    '50.0 / 95.0'
    """
    return f"{median(times):.1f} / {quantiles(times, n=20, method='inclusive')[-1]:.1f}"


def time_moves(kind: type[Explorable]) -> list[float]:
    """The milliseconds of each move of a control."""
    explorable = kind()
    explorable.view  # noqa: B018 - from now on every change makes a picture for the page
    moves = ((name, value) for name, value in sweep(kind) if getattr(explorable, name) != value)

    def move() -> None:
        setattr(explorable, *next(moves))

    return [1000 * seconds for seconds in in_turn({"move": move}, rounds=MOVES)["move"]]


def sweep(kind: type[Explorable]) -> Iterator[tuple[str, Any]]:
    """An endless sequence of settings: every control in turn, each from end to end."""
    values_by_name = {control.name: control.values for control in kind.controls}
    for i in cycle(range(max(map(len, values_by_name.values())))):
        for name, values in values_by_name.items():
            yield name, values[i % len(values)]
