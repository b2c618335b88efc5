"""Where the controls of an explorable can stand, and the shortest way to a goal."""

from __future__ import annotations

from functools import cache
from itertools import product

from course_lib.explore.base import Explorable
from course_lib.teaching.questions.question import questions
from tools.bench.explorables import explorables

KINDS = list(explorables().values())


def start(kind: type[Explorable]) -> tuple[int, ...]:
    """The place of every control at the start, among its stops; of numbers, the nearest one."""
    tracks = [control.stops for control in kind.controls]
    return tuple(_place(track, value) for track, value in zip(tracks, kind.start.values(), strict=True))


@cache
def places(kind: type[Explorable]) -> dict[str, tuple[int, ...]]:
    """For each goal that can be reached, the place of every control among its stops: as few controls turned
    as can be, by as few steps."""
    tracks = [control.stops for control in kind.controls]
    at_start, found, begin = kind.facts_at(kind.start), {}, start(kind)

    def effort(way: tuple[int, ...]) -> tuple[int, int]:
        steps = [abs(a - b) for a, b in zip(way, begin, strict=True)]
        return sum(map(bool, steps)), sum(steps)

    for way in sorted(product(*(range(len(track)) for track in tracks)), key=effort):
        values = [track[place] for track, place in zip(tracks, way, strict=True)]
        facts = kind.facts_at(dict(zip(kind.start, values, strict=True)))
        found |= {
            goal: way for goal, met in kind.goals_met(facts, at_start).items() if met and goal not in found
        }
        if len(found) == len(kind.goals):
            break
    return found


def _place(track: list, value: object) -> int:
    """Where the value stands; of numbers, the nearest stop."""
    if value in track:
        return track.index(value)
    return min(range(len(track)), key=lambda i: abs(track[i] - value))


def meeting(kind: type[Explorable], goal: str, **sweep) -> list:
    """The values of the last control named that meet a goal; the others are as given, or as at the start."""
    (name, values), fixed = sweep.popitem(), {**kind.start, **sweep}
    at_start = kind.facts_at(kind.start)
    return [v for v in values if kind.goals_met(kind.facts_at({**fixed, name: v}), at_start)[goal]]


def opened(lesson: str, question: str, kind: type[Explorable]) -> tuple:
    """The question and its right option, the facts at the start, and those where its preset opens."""
    asked, explorable = questions(lesson)[question], kind()
    before = explorable.facts
    explorable.preset(asked.preset)
    return asked, asked.options[asked.right[0]].text if asked.options else "", before, explorable.facts
