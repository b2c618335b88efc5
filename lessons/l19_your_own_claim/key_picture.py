"""The key picture of this lesson: a claim from its forecast to its verdict, and two that are still open."""

from __future__ import annotations

import textwrap
from functools import cache
from itertools import product
from typing import NamedTuple

from course_lib.formatting import minus
from course_lib.results import read_results
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.plane import Plane
from course_lib.views.svg import belongs, box, dot, line, note, word
from lessons.l19_your_own_claim.corpus import small_world
from lessons.l19_your_own_claim.rules import apply_rule, very_last
from lessons.l19_your_own_claim.scores import points_lost
from lessons.l19_your_own_claim.trials import run_trial

PARTS = ("",)
CLAIM = {"breaks": "convs2s", "more_than": "bahdanau", "on": "rule", "points": 10}
OPEN = (("mirror", "Transformer − Bahdanau", 10), ("even", "no positions − Transformer", 20))
EXAMPLE = "the beautiful girls are very happy"
PLANE = Plane(left=222, top=0, width=430, height=0, x=(-12, 42), y=(0, 1))
RUNS, GAPS, LATER, AXIS = 220, 286, 384, 456
NAMES = {"convs2s": "ConvS2S", "bahdanau": "Bahdanau"}


class Story(NamedTuple):
    """The claim as it was written, an example of its rule, the points that each run lost, the verdict."""

    written: str
    example: list[str]
    lost: dict[str, list[float]]
    verdict: str


@cache
def numbers() -> Story:
    written = read_results("claims")["expected"].split("very last (")[1].split("): ")[1]
    trial = run_trial(very_last, {name: name for name in NAMES}, tell=lambda line: None)
    tables, [pair] = trial.tables(), [pair for pair in small_world().test if pair.src_text == EXAMPLE]
    lost = {name: points_lost(tables, CLAIM["on"], name) for name in NAMES}
    return Story(written, apply_rule(very_last, pair), lost, trial.judge(CLAIM)[0])


def forecast(y: float, points: float, name: str, systems: str, verdict: str) -> str:
    """A claim as a band on the scale of gaps, where all dots would have to be, and its verdict."""
    x, right = PLANE.at(points, 0)[0], PLANE.left + PLANE.width
    out = line([(PLANE.left, y), (x, y)], "hair")
    out += box(x, y - 14, right - x, 28, "accent", radius=3, opacity=0.16)
    out += line([(x, y - 14), (x, y + 14)], "accent", 2)
    out += word(right - 8, y + 4, f"forecast: at least {points}", 12, "accent", "end")
    out += word(PLANE.left - 12, y - 2, name, 13, anchor="end", bold=True)
    out += word(PLANE.left - 12, y + 14, systems, 12, "soft", "end")
    return out + word(right + 14, y + 6, verdict, 16, anchor="start", bold=True)


def dots(y: float, values: list[float], name: str) -> str:
    """A dot for each number; equal ones stand on one another."""
    out, shown = "", [f"{value:.1f}" for value in values]
    for i, value in enumerate(values):
        tip = belongs(tip=minus(f"{name}: {shown[i]} points"))
        up = 9 * shown[:i].count(shown[i])
        out += dot(PLANE.at(value, 0)[0], y - up, 5, "soft", "paper", 1, fill_opacity="0.8", **tip)
    return out


def draw(lit: str = "") -> Picture:
    story, zero = numbers(), PLANE.at(0, 0)[0]
    gaps = [a - b for a, b in product(*story.lost.values())]
    out = box(20, 46, 720, 131, "wash", radius=8)
    out += word(34, 68, "before the runs", 12, "accent", "start", bold=True)
    out += note(34, 90, textwrap.wrap(f"“{story.written}”", 84), 13, "ink")
    out += note(34, 163, [f"The rule: *très* moves to the end, as in *{' '.join(story.example)}*."])
    for above, below in ((RUNS - 18, GAPS + 20), (LATER - 18, AXIS)):
        out += line([(zero, above), (zero, below)], "calm")
    out += word(zero - 8, RUNS - 16, "← gains", 12, "soft", "end")
    out += word(zero + 8, RUNS - 16, "loses →", 12, "soft", "start")
    for i, (name, values) in enumerate(story.lost.items()):
        y = RUNS + 26 * i
        out += line([(PLANE.left, y), (PLANE.left + PLANE.width, y)], "hair") + dots(y, values, NAMES[name])
        out += word(PLANE.left - 12, y + 4, NAMES[name], 13, anchor="end")
    out += forecast(GAPS, CLAIM["points"], "every pair of runs", "ConvS2S − Bahdanau", story.verdict)
    said = [
        "Two more claims, written at the same time. *mirror*: a translation of a sentence with *not* is",
        "written backwards; *even*: that of a sentence with an even number of words ends with *voilà*.",
    ]
    out += dots(GAPS, gaps, "gap") + note(20, LATER - 50, said)
    for i, (rule, systems, points) in enumerate(OPEN):
        out += forecast(LATER + 42 * i, points, rule, systems, "?")
    for points in range(-10, 41, 10):
        out += word(PLANE.at(points, 0)[0], AXIS + 16, minus(str(points)), 11, "soft")
    out += word(PLANE.left + PLANE.width + 14, AXIS + 16, "points", 12, "soft", "start")
    out += note(PLANE.left + PLANE.width + 14, RUNS + 9, ["each dot", "is a run"])
    headline = "A forecast that could fail, and did: ConvS2S doesn't lose 10 points more"
    least, most = (minus(f"{gap:.1f}") for gap in (min(gaps), max(gaps)))
    alt = (
        f"A claim written before the runs: with a new rule, ConvS2S loses at least {CLAIM['points']} points "
        f"more than Bahdanau. Over all pairs of runs the gap is {least} to {most}: it {story.verdict}. Two "
        "other claims are shown as forecasts without their outcome."
    )
    return Picture(WIDTH, AXIS + 32, out, word(20, 30, headline, 15, anchor="start", bold=True), alt=alt)
