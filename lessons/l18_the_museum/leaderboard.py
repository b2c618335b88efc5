"""The leaderboard: the systems of one column, ranked by their mean, worst or best seed.

    >>> compute(column="BLEU R-Drop", rows=EVERY, rank_by=MEAN)["beats"]     # 0: undecided, despite the seeds
    [0, 0, 0]

    >>> compute(column="BLEU beam", rows=EVERY, rank_by=MEAN)["names"][:2]
    ['convs2s', 'transformer']
    >>> compute(column="21 to 30 words", rows=EVERY, rank_by=MEAN)["names"][:2]
    ['bahdanau', 'luong_concat']

All numbers are those of data/results, for three seeds each (seconds and words per second: three timings).
Intervals are drawn where a result for every sentence was recorded.
"""

from __future__ import annotations

from statistics import mean

import numpy as np

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show, blank_axes
from course_lib.formatting import fixed
from course_lib.views.bars import HorizontalBars
from course_lib.views.pillow_text import add_text, set_texts
from lessons.l18_the_museum.museum import (
    CEILING,
    COLUMNS,
    NO_RESIDUAL,
    TITLES,
    WITHOUT_ATTENTION,
    beats,
    n_at_ceiling,
    seeds_of,
)
from lessons.l18_the_museum.sentences import difference_interval, interval, verdict

EVERY, ATTENTION, PLAIN = "all systems", "with attention", "without attention"
MEAN, WORST, BEST = "mean", "worst seed", "best seed"
N_ROWS, N_CLOSE, N_SEEDS = 15, 4, 3
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


def ranking_value(seeds: list[float], rank_by: str, higher: bool) -> float:
    """The number by which a system is ranked."""
    if rank_by == MEAN:
        return mean(seeds)
    return max(seeds) if (rank_by == BEST) == higher else min(seeds)


def ranked(column: str, rows: str, rank_by: str) -> dict[str, list[float]]:
    """The chosen systems of a column with their seeds, best first."""
    wanted = {EVERY: (True, False), ATTENTION: (False,), PLAIN: (True,)}[rows]
    chosen = {
        name: seeds for name, seeds in seeds_of(column).items() if (name in WITHOUT_ATTENTION) in wanted
    }
    higher = COLUMNS[column].higher
    order = sorted(chosen, key=lambda name: ranking_value(chosen[name], rank_by, higher), reverse=higher)
    return {name: chosen[name] for name in order}


def compute(*, column: str, rows: str, rank_by: str) -> Facts:
    """`lead`: from the first to the second; `spread`: from best to worst seed, the larger of the two;
    `beats`, `beaten_by`: how many systems each is ahead of and behind, by seeds and, if recorded, sentences;
    `undecided`: how many systems the first isn't ahead of; `by_sentences`: how many comparisons use them."""
    systems, about = ranked(column, rows, rank_by), COLUMNS[column]
    names, seeds = list(systems), list(systems.values())
    values = [ranking_value(of_system, rank_by, about.higher) for of_system in seeds]
    verdicts = {name: [verdict(column, name, rival) for rival in names if rival != name] for name in names}
    has_rival = len(names) > 1
    intervals = [interval(column, name) for name in names]
    close = [*seeds[:N_CLOSE], *filter(None, intervals[:N_CLOSE])]
    return {
        "names": names,
        "seeds": seeds,
        "values": values,
        "intervals": intervals,
        "scale": [min(map(min, close)), max(map(max, close))] if names else [0.0, 1.0],  # of the top four
        "unit": about.unit,
        "digits": about.digits,
        "higher": about.higher,
        "lead": abs(values[0] - values[1]) if has_rival else None,
        "spread": max(max(pair) - min(pair) for pair in seeds[:2]) if has_rival else None,
        "beats": [verdicts[name].count("ahead") for name in names],
        "beaten_by": [verdicts[name].count("behind") for name in names],
        "undecided": len(names) - 1 - verdicts[names[0]].count("ahead") if has_rival else 0,
        "by_sentences": sum(difference_interval(column, names[0], rival) is not None for rival in names[1:]),
        "rivals": max(len(names) - 1, 0),
        "at_ceiling": n_at_ceiling(column),
        "ceiling": CEILING,
        "first_by_mean": next(iter(ranked(column, rows, MEAN)), None),
    }


def value_text(facts: Facts, value: float) -> str:
    return fixed(float(value), facts["digits"])


def draw_board(axes: Axes) -> Show:
    blank_axes(axes, x=(-0.52, 1.17), y=(N_ROWS + 0.5, -0.7))
    axes.axvline(0, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
    bars = HorizontalBars(
        axes, np.arange(N_ROWS), gap=0.045, thickness=0.72, size=9, label_x=-0.02, label_size=9
    )
    [dots] = axes.plot([], [], "o", color=theme.INK, markersize=3.2)
    [ranges] = axes.plot([], [], color=theme.INK, linewidth=1)
    note = add_text(axes, 0.99, 0.02, coords="axes", ha="right", size=9, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        names, seeds, values = facts["names"], facts["seeds"], facts["values"]
        empty = N_ROWS - len(names)
        upper = [high for _, high in filter(None, facts["intervals"])]
        top = max([*upper, *map(max, seeds)], default=1) or 1
        colours = [theme.PINK if name in WITHOUT_ATTENTION else theme.BLUE for name in names]
        readings = [value_text(facts, value) for value in values] + [""] * empty
        bars.show(np.array(values + [0.0] * empty) / top, readings, colours + [theme.PAPER] * empty)
        set_texts(bars.labels, map(label, names))
        for text, of_system, value, ends in zip(
            bars.value_texts, seeds, values, facts["intervals"], strict=False
        ):
            text.set_x(max(max([*of_system, value, *(ends or ())]) / top, 0) + 0.03)
        dots.set_data(np.ravel(seeds) / top, np.repeat(np.arange(len(seeds)), N_SEEDS))
        ranges.set_data(*lines(facts["intervals"], 0, top))
        sense = "higher" if facts["higher"] else "lower"
        note.set_text(f"pink: without attention   ·   {sense} is better")

    return show


def lines(intervals: list, least: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a line from end to end of every interval, in its row; where there is None, no line."""
    gap = np.nan
    ends = [(gap, gap) if ends is None else ends for ends in intervals]
    x = [((low - least) / width, (high - least) / width, gap) for low, high in ends]
    return np.ravel(x), np.ravel([(row, row, gap) for row in range(len(intervals))])


def draw_close(axes: Axes) -> Show:
    blank_axes(axes, x=(-0.12, 1.12), y=(N_CLOSE + 0.35, -0.75))
    [ranges] = axes.plot([], [], color=theme.BLUE, linewidth=2)
    [dots] = axes.plot([], [], "o", color=theme.INK, markersize=6)
    names = [add_text(axes, -0.1, row - 0.3, size=9) for row in range(N_CLOSE)]
    middle = {"ha": "center", "va": "center"}
    ends = ((0.0, -0.3), (1.0, -0.3), (0.5, -0.05))  # of the scale, and the lead
    small = [add_text(axes, x, N_CLOSE + y, size=9, colour=theme.SOFT_INK, **middle) for x, y in ends]
    verdict = add_text(axes, 0.5, N_CLOSE + 0.2, size=10, weight="bold", **middle)

    def show(facts: Facts) -> None:
        seeds, intervals = facts["seeds"][:N_CLOSE], facts["intervals"][:N_CLOSE]
        least, most = facts["scale"]
        width = (most - least) or 1
        dots.set_data((np.ravel(seeds) - least) / width, np.repeat(np.arange(len(seeds)), N_SEEDS))
        ranges.set_data(*lines(intervals, least, width))
        set_texts(names, map(close_label, facts["names"][:N_CLOSE], facts["beats"], facts["beaten_by"]))
        low, high = value_text(facts, least), value_text(facts, most) if most > least else ""
        set_texts(small, (low, high, lead_text(facts)) if seeds else ())
        verdict.set_text(verdict_text(facts))

    return show


def close_label(name: str, n_beaten: int, n_better: int) -> str:
    return f"{label(name)}: ahead of {n_beaten}, behind {n_better}"


def verdict_text(facts: Facts) -> str:
    if facts["lead"] is None:
        return "no other system was measured" if facts["names"] else "no system was measured"
    if facts["undecided"]:
        return f"first: not ahead of {facts['undecided']} of {facts['rivals']}"
    return "first: ahead of all the others"


def lead_text(facts: Facts) -> str:
    if facts["lead"] is None:
        return ""
    if facts["at_ceiling"] > 2:
        return f"{facts['at_ceiling']} systems at the ceiling, {facts['ceiling']:.0f}% or more"
    lead, spread = (value_text(facts, facts[name]) for name in ("lead", "spread"))
    return f"lead {lead}, larger spread over seeds {spread}"


class Leaderboard(Explorable):
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
        "crowded": "All systems, by mean: the first isn't ahead of three or more",
        "sentences": "Every seed of the first is better, but sentences leave it undecided",
        "worst-seed": "A system that is first by its mean but not by its worst seed",
    }
    panels = (
        Panel("All systems, with seeds and intervals", draw_board, 1.9),
        Panel("Top four, magnified", draw_close),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        every, first = now["rows"] == EVERY, now["names"][:1]
        all_seeds_ahead = len(first) == 1 and all(
            beats(now["seeds"][0], rival, now["higher"]) == "yes" for rival in now["seeds"][1:]
        )
        return {
            "crowded": every and now["rank_by"] == MEAN and now["undecided"] >= 3,
            "sentences": all_seeds_ahead and now["undecided"] > 0,
            "worst-seed": now["rank_by"] == WORST and first != [now["first_by_mean"]] and bool(first),
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        task = COLUMNS[facts["column"]].task
        unit = f", {facts['unit']}" if facts["unit"] else ""
        return [f"{task}: {facts['column']}{unit}", facts["rows"], f"by {facts['rank_by']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        first = ", ".join(
            f"{label(name)} {value_text(facts, value)}"
            for name, value in zip(facts["names"][:3], facts["values"], strict=False)
        )
        compared = f", compared by sentences with {facts['by_sentences']}" if facts["by_sentences"] else ""
        about = ", ".join(filter(None, (facts["unit"], COLUMNS[facts["column"]].description)))
        return (
            f"{facts['column']} ({about}), {facts['rows']}, ranked by {facts['rank_by']}: "
            f"{f'{first}; ' if first else ''}{verdict_text(facts)}{compared}."
        )
