"""The leaderboard: the systems of one column, ranked by their mean, worst or best run.

    >>> compute(column="BLEU R-Drop", rows=EVERY, rank_by=MEAN)["better_than"]    # despite the runs
    [0, 0, 0]

    >>> compute(column="BLEU beam", rows=EVERY, rank_by=MEAN)["names"][:2]
    ['convs2s', 'transformer']
    >>> compute(column="21 to 30 words", rows=EVERY, rank_by=MEAN)["names"][:2]
    ['bahdanau', 'luong_concat']

All numbers are those of data/results, for three runs each (seconds and words per second: three timings).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import RunDots
from course_lib.explore.raster.base import Axes, Choice, Facts, Panel, RasterExplorable, Show, blank_axes
from course_lib.explore.raster.pillow_text import PillowText, add_text, set_texts
from course_lib.formatting import fixed
from course_lib.translation.comparison import BETTER, UNCLEAR, by_runs
from course_lib.views.run_dots import in_words
from lessons.l18_the_museum.museum import (
    CEILING,
    COLUMNS,
    NO_RESIDUAL,
    TITLES,
    WITHOUT_ATTENTION,
    n_at_ceiling,
    numbers_of,
)
from lessons.l18_the_museum.sentences import compared

EVERY, ATTENTION, PLAIN = "all systems", "with attention", "without attention"
MEAN, WORST, BEST = "mean", "worst run", "best run"
N_ROWS, N_CLOSE = 15, 4
SHORT = {  # titles that are too long for their column
    "rctm": "RCTM",
    "luong_local_m": "Luong, local-m",
    "luong_local_p": "Luong, local-p",
    "key_value_predict_lm": "Key-value-predict",
    "transformer_lm": "Decoder-only Transf.",
    "self_attentive": "Self-attentive emb.",
    NO_RESIDUAL: "Transf., no residual",
}


def label(system: str) -> str:
    """A system's title, or a shorter one."""
    return SHORT.get(system, TITLES[system])


def ranking_value(runs: list[float], rank_by: str, higher: bool) -> float:
    """The number by which a system is ranked."""
    if rank_by == MEAN:
        return mean(runs)
    return max(runs) if (rank_by == BEST) == higher else min(runs)


def ranked(column: str, rows: str, rank_by: str) -> dict[str, list[float]]:
    """The chosen systems of a column with their runs, best first."""
    wanted = {EVERY: (True, False), ATTENTION: (False,), PLAIN: (True,)}[rows]
    chosen = {
        name: runs for name, runs in numbers_of(column).items() if (name in WITHOUT_ATTENTION) in wanted
    }
    higher = COLUMNS[column].higher
    order = sorted(chosen, key=lambda name: ranking_value(chosen[name], rank_by, higher), reverse=higher)
    return {name: chosen[name] for name in order}


def compute(*, column: str, rows: str, rank_by: str) -> Facts:
    """`gap`: from the first to the second; `spread`: from best to worst run, the larger of the two;
    `better_than`, `worse_than`: how many of the others each is better and worse than;
    `unclear`: from how many the first has no clear difference."""
    systems, about = ranked(column, rows, rank_by), COLUMNS[column]
    names, runs = list(systems), list(systems.values())
    values = [ranking_value(of_system, rank_by, about.higher) for of_system in runs]
    verdicts = {pair: compared(column, *pair).verdict for pair in combinations(sorted(names), 2)}
    clear = [pair if found == BETTER else pair[::-1] for pair, found in verdicts.items() if found != UNCLEAR]
    better_than, worse_than = (Counter(pair[side] for pair in clear) for side in (0, 1))
    has_rival = len(names) > 1
    return {
        "names": names,
        "runs": runs,
        "values": values,
        "unit": about.unit,
        "digits": about.digits,
        "higher": about.higher,
        "gap": abs(values[0] - values[1]) if has_rival else None,
        "spread": max(max(pair) - min(pair) for pair in runs[:2]) if has_rival else None,
        "better_than": [better_than[name] for name in names],
        "worse_than": [worse_than[name] for name in names],
        "unclear": sum(names[0] in pair and found == UNCLEAR for pair, found in verdicts.items()),
        "rivals": max(len(names) - 1, 0),
        "at_ceiling": n_at_ceiling(column),
        "ceiling": CEILING,
        "first_by_mean": next(iter(ranked(column, rows, MEAN)), None),
    }


def value_text(facts: Facts, value: float) -> str:
    return fixed(float(value), facts["digits"])


def draw_runs(axes: Axes, bounds: list[float], n_rows: int, add: Callable) -> Callable[..., None]:
    """Rows of dots within these bounds, from the least to the largest number of the rows that are shown."""
    inside = axes.inset_axes(bounds)
    blank_axes(inside, x=(-0.03, 1.03), y=(0, 1))
    dots = RunDots(inside, n_rows, add=add)
    style = {"ha": "center", "va": "center", "size": 9, "colour": theme.SOFT_INK}
    ends = [add_text(inside, x, 0, **style) for x in (0, 1)]

    def show(facts: Facts, names: Sequence[str]) -> None:
        systems, rows = facts["names"][:n_rows], facts["runs"][:n_rows]
        numbers = [number for runs in rows for number in runs]
        least, most = min(numbers, default=0), max(numbers, default=0)
        scaled = [[(number - least) / ((most - least) or 1) for number in runs] for runs in rows]
        dots.show(
            scaled, names, [theme.PINK if name in WITHOUT_ATTENTION else theme.BLUE for name in systems]
        )
        set_texts(ends, [value_text(facts, end) for end in sorted({least, most})] if rows else ())
        for end in ends:
            end.set_y(len(rows) - 1 + 0.065 * n_rows)

    return show


def draw_board(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=(0, 1))
    show_runs = draw_runs(axes, [0.29, 0.1, 0.58, 0.9], N_ROWS, add_text)
    heights = 1 - 0.9 * (np.arange(N_ROWS) + 0.5) / N_ROWS
    values = [add_text(axes, 0.96, y, ha="right", va="center", size=9) for y in heights]
    note = add_text(axes, 0.58, 0, ha="center", size=9, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        show_runs(facts, list(map(label, facts["names"])))
        set_texts(values, [value_text(facts, value) for value in facts["values"]])
        sense = "higher" if facts["higher"] else "lower"
        note.set_text(f"pink: without attention   ·   {sense} is better")

    return show


def draw_close(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=(0, 1))
    show_runs = draw_runs(axes, [0.01, 0.24, 0.93, 0.76], N_CLOSE, add_above)
    middle = {"ha": "center", "size": 9}
    gap = add_text(axes, 0.5, 0.12, colour=theme.SOFT_INK, **middle)
    verdict = add_text(axes, 0.5, 0, weight="bold", **middle)

    def show(facts: Facts) -> None:
        show_runs(facts, list(map(close_label, facts["names"], facts["better_than"], facts["worse_than"])))
        gap.set_text(gap_text(facts))
        verdict.set_text(verdict_text(facts))

    return show


def add_above(axes: Axes, x: float, y: float, **style: Any) -> PillowText:
    """The name of a row above its dots, instead of to their left."""
    return add_text(axes, 0, y + 0.35 / N_CLOSE, **style | {"ha": "left"})


def close_label(name: str, n_worse: int, n_better: int) -> str:
    return f"{label(name)}: better than {n_worse}, worse than {n_better}"


def verdict_text(facts: Facts) -> str:
    if facts["gap"] is None:
        return "no other system was measured" if facts["names"] else "no system was measured"
    if facts["unclear"]:
        return f"first: {UNCLEAR} from {facts['unclear']} of {facts['rivals']}"
    return "first: better than all the others"


def gap_text(facts: Facts) -> str:
    if facts["gap"] is None:
        return ""
    if facts["at_ceiling"] > 2:
        return f"{facts['at_ceiling']} systems at the ceiling, {facts['ceiling']:.0f}% or more"
    gap, spread = (value_text(facts, facts[name]) for name in ("gap", "spread"))
    return f"first to second: {gap}, larger spread: {spread}"


class Leaderboard(RasterExplorable):
    title = "Leaderboard"
    question = "Which system is first? Change the column, the systems compared, and how they are ranked."
    size = (9.6, 4.8)
    column = Choice("column", tuple(COLUMNS), "21 to 30 words", wide=True)
    rows = Choice("systems", (EVERY, ATTENTION, PLAIN), EVERY, buttons=True)
    rank_by = Choice("rank by", (MEAN, WORST, BEST), MEAN, buttons=True)
    presets = {
        "test set": {"column": "test"},
        "real sentences": {"column": "BLEU beam"},
        "language models": {"column": "perplexity"},
    }
    goals = {
        "crowded": "All, by mean: the first has no clear difference from three or more",
        "sentences": "Every run of the first is better, but there is no clear difference",
        "worst-run": "A system that is first by its mean but not by its worst run",
    }
    panels = (
        Panel("All systems, with their runs", draw_board, 1.55),
        Panel("Top four, magnified", draw_close),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        every, first = now["rows"] == EVERY, now["names"][:1]
        all_runs_better = len(first) == 1 and all(
            by_runs(now["runs"][0], rival, higher=now["higher"]) == BETTER for rival in now["runs"][1:]
        )
        return {
            "crowded": every and now["rank_by"] == MEAN and now["unclear"] >= 3,
            "sentences": all_runs_better and now["unclear"] > 0,
            "worst-run": now["rank_by"] == WORST and first != [now["first_by_mean"]] and bool(first),
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        task = COLUMNS[facts["column"]].task
        unit = f", {facts['unit']}" if facts["unit"] else ""
        return [f"{task}: {facts['column']}{unit}", facts["rows"], f"by {facts['rank_by']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        first = dict(zip(map(label, facts["names"][:3]), facts["runs"], strict=False))
        found = "; ".join(filter(None, (in_words(first, facts["digits"]), verdict_text(facts))))
        about = ", ".join(filter(None, (facts["unit"], COLUMNS[facts["column"]].description)))
        return f"{facts['column']} ({about}), {facts['rows']}, ranked by {facts['rank_by']}: {found}."
