"""What a move of a slider costs: `python3 -m course_lib bench explorables`.

                 ms a move
    SoftmaxDial  6.1 / 7.9

Some explorables, two of them on the trained translator. From the key press to the picture on the screen, in a
real browser: `python3 -m tests.browser.speed`.
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

NAMES = ("SoftmaxDial", "SaturationLab", "SoftDictionary", "WhoAttends")
TRAINED = ("HeadSwitches", "ThreeUses")  # on the trained translator
PACKAGES = ("matplotlib", "ipywidgets", "ipykernel", "anywidget")
MOVES = 120

ABOUT = f"""\
From setting a control until the new picture is there for the page: compute, draw, PNG.
{MOVES} moves that sweep every control; median / 95th percentile. At most 25 ms feel smooth."""


def run() -> None:
    """Measure and print the table."""
    print(conditions(*PACKAGES), "", ABOUT, "", sep="\n", flush=True)
    known = explorables()
    rows = [[name, told(move(known[name]))] for name in (*NAMES, *TRAINED)]
    print(columns(["", "ms a move"], rows))


def explorables() -> dict[str, type[Explorable]]:
    """Every explorable of the course, by name, in the order of the lessons."""
    packages = [import_module(lesson.package) for lesson in lessons()]
    names = [(package, name) for package in packages for name in getattr(package, "__all__", ())]
    exported = [getattr(package, name) for package, name in names]
    kinds = [one for one in exported if isinstance(one, type) and issubclass(one, Explorable)]
    return {kind.__name__: kind for kind in kinds}


def told(times: list[float]) -> str:
    """Median and 95th percentile.

    >>> told([float(number) for number in range(101)])
    '50.0 / 95.0'
    """
    return f"{median(times):.1f} / {quantiles(times, n=20, method='inclusive')[-1]:.1f}"


def move(kind: type[Explorable]) -> list[float]:
    """The milliseconds of each move of a knob."""
    explorable = kind()
    knobs = dict(zip(explorable.start, explorable.view.children[1].children, strict=True))
    moves = ((knobs[name], value) for name, value in sweep(kind) if knobs[name].value != value)

    def one() -> None:
        knob, value = next(moves)
        knob.value = value

    return [1000 * taken for taken in in_turn({"move": one}, rounds=MOVES)["move"]]


def sweep(kind: type[Explorable]) -> Iterator[tuple[str, Any]]:
    """Every control from end to end, all of them in turn, for ever."""
    tracks = {control.name: control.stops for control in kind.controls}
    for i in cycle(range(max(map(len, tracks.values())))):
        for name, track in tracks.items():
            yield name, track[i % len(track)]
