"""The leaderboard: the systems of one column, ranked by their mean, worst or best seed.

    >>> compute(column="BLEU beam", rows=EVERY, rank_by=MEAN)["names"][:2]
    ['convs2s', 'transformer']
    >>> compute(column="21 to 30 words", rows=EVERY, rank_by=MEAN)["names"][:2]
    ['bahdanau', 'luong_concat']

All numbers are those of data/results, for three seeds each (seconds and words per second: three timings).
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
    COLUMNS,
    COSTS,
    NO_RESIDUAL,
    TITLES,
    WITHOUT_ATTENTION,
    beats,
    seeds_of,
)

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
    `level`: how many systems the first does not beat with every seed."""
    systems, about = ranked(column, rows, rank_by), COLUMNS[column]
    names, seeds = list(systems), list(systems.values())
    values = [ranking_value(of_system, rank_by, about.higher) for of_system in seeds]
    has_rival = len(names) > 1
    return {
        "names": names,
        "seeds": seeds,
        "values": values,
        "unit": about.unit,
        "digits": about.digits,
        "higher": about.higher,
        "lead": abs(values[0] - values[1]) if has_rival else None,
        "spread": max(max(pair) - min(pair) for pair in seeds[:2]) if has_rival else None,
        "level": sum(beats(seeds[0], rival, about.higher) != "yes" for rival in seeds[1:]),
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
    note = add_text(axes, 0.99, 0.02, coords="axes", ha="right", size=9, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        names, seeds, values = facts["names"], facts["seeds"], facts["values"]
        empty = N_ROWS - len(names)
        top = max(map(max, seeds), default=1) or 1
        colours = [theme.PINK if name in WITHOUT_ATTENTION else theme.BLUE for name in names]
        readings = [value_text(facts, value) for value in values] + [""] * empty
        bars.show(np.array(values + [0.0] * empty) / top, readings, colours + [theme.PAPER] * empty)
        set_texts(bars.labels, map(label, names))
        for text, of_system, value in zip(bars.value_texts, seeds, values, strict=False):
            text.set_x(max(max([*of_system, value]) / top, 0) + 0.03)
        dots.set_data(np.ravel(seeds) / top, np.repeat(np.arange(len(seeds)), N_SEEDS))
        sense = "higher" if facts["higher"] else "lower"
        note.set_text(f"pink: without attention   ·   {sense} is better")

    return show


def draw_close(axes: Axes) -> Show:
    blank_axes(axes, x=(-0.12, 1.12), y=(N_CLOSE + 0.35, -0.75))
    [ranges] = axes.plot([], [], color=theme.BLUE, linewidth=2)
    [dots] = axes.plot([], [], "o", color=theme.INK, markersize=6)
    names = [add_text(axes, 0.0, row - 0.3, size=9.5) for row in range(N_CLOSE)]
    middle = {"ha": "center", "va": "center"}
    ends = ((0.0, -0.3), (1.0, -0.3), (0.5, -0.05))  # of the scale, and the lead
    small = [add_text(axes, x, N_CLOSE + y, size=9, colour=theme.SOFT_INK, **middle) for x, y in ends]
    verdict = add_text(axes, 0.5, N_CLOSE + 0.2, size=10, weight="bold", **middle)

    def show(facts: Facts) -> None:
        seeds = facts["seeds"][:N_CLOSE]
        least, most = min(map(min, seeds), default=0), max(map(max, seeds), default=1)
        scaled = (np.reshape(seeds, (-1, N_SEEDS)) - least) / ((most - least) or 1)
        rows, gaps = np.arange(len(seeds)), np.full(len(seeds), np.nan)
        from_to = np.stack([scaled.min(axis=1), scaled.max(axis=1), gaps], axis=1)
        ranges.set_data(from_to.ravel(), np.stack([rows, rows, gaps], axis=1).ravel())
        dots.set_data(scaled.ravel(), np.repeat(rows, N_SEEDS))
        set_texts(names, map(label, facts["names"][:N_CLOSE]))
        low, high = value_text(facts, least), value_text(facts, most) if most > least else ""
        set_texts(small, (low, high, lead_text(facts)) if seeds else ())
        verdict.set_text(verdict_text(facts))

    return show


def verdict_text(facts: Facts) -> str:
    if facts["lead"] is None:
        return "no other system was measured" if facts["names"] else "no system was measured"
    if not facts["level"]:
        return "clear: all its seeds are ahead"
    return f"undecided against {facts['level']} other{'s' * (facts['level'] > 1)}"


def lead_text(facts: Facts) -> str:
    if facts["lead"] is None:
        return ""
    lead, spread = (value_text(facts, facts[name]) for name in ("lead", "spread"))
    return f"lead {lead}, larger spread of the two {spread}"


class Leaderboard(Explorable):
    title = "Leaderboard"
    question = "Which system is first? Change the column, the systems compared, and the seed that counts."
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
        "crowded": "All systems, by mean: the first is undecided against three or more",
        "worst-seed": "A system that is first by its mean but not by its worst seed",
        "no-attention": "All systems, any column but a cost: the first has no attention",
    }
    panels = (
        Panel("All systems, with their seeds", draw_board, 1.9),
        Panel("Top four, magnified", draw_close),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        every, first = now["rows"] == EVERY, now["names"][:1]
        quality = now["column"] not in COSTS and bool(now["lead"])
        return {
            "crowded": every and now["rank_by"] == MEAN and now["level"] >= 3,
            "worst-seed": now["rank_by"] == WORST and first != [now["first_by_mean"]] and bool(first),
            "no-attention": every and quality and first[0] in WITHOUT_ATTENTION,
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
        about = ", ".join(filter(None, (facts["unit"], COLUMNS[facts["column"]].description)))
        return (
            f"{facts['column']} ({about}), {facts['rows']}, ranked by {facts['rank_by']}: "
            f"{f'{first}; ' if first else ''}{verdict_text(facts)}."
        )
