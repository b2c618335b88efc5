"""The museum's leaderboard: every system in one column, ranked by its mean, its worst or its best seed.

    >>> compute(column="BLEU beam", rows=EVERY, place=MEAN)["names"][:2]
    ['convs2s', 'transformer']
    >>> compute(column="21 to 30 words", rows=EVERY, place=MEAN)["names"][:2]
    ['bahdanau', 'luong_concat']

All numbers are those of data/results, three seeds each (of seconds and words a second: three timings).
"""

from __future__ import annotations

from statistics import mean
from typing import ClassVar

import numpy as np
from matplotlib.axes import Axes
from traitlets import Enum

from course_lib import theme
from course_lib.explore.base import Explorable, Goal, Panel
from course_lib.explore.control import Control
from course_lib.formatting import fixed
from course_lib.models.museum import COLUMNS, COSTS, TITLES, WITHOUT_ATTENTION, beats, numbers
from course_lib.views.bars import LyingBars
from course_lib.views.moving import Facts, Show, quick_text

EVERY, ATTENTION, PLAIN = "every system", "with attention", "without"
MEAN, WORST, BEST = "mean", "worst seed", "best seed"
N_ROWS, N_CLOSE, N_SEEDS = 15, 4, 3
SHORT = {
    "rctm": "RCTM 2013",
    "rnn_encoder_decoder": "RNN enc.-dec. 2014",
    "seq2seq": "seq2seq 2014",
    "bahdanau": "Bahdanau 2015",
    "luong_local_m": "Luong, local-m",
    "luong_local_p": "Luong, local-p",
    "lstmn_shallow": "LSTMN, shallow 2016",
    "lstmn_deep": "LSTMN, deep 2016",
    "convs2s": "ConvS2S 2017",
    "transformer": "Transformer 2017",
    "no_residual": "Transf., no residual",
    "attention_lm": "LSTM + attention",
    "key_value_lm": "Key-value",
    "key_value_predict_lm": "Key-value-predict",
    "transformer_lm": "Decoder-only Transf.",
    "self_attentive": "Self-attentive emb.",
}


def label(system: str) -> str:
    return SHORT.get(system, TITLES[system])


def placed(seeds: list[float], place: str, higher: bool) -> float:
    """The number that a system is ranked by."""
    if place == MEAN:
        return mean(seeds)
    return max(seeds) if (place == BEST) == higher else min(seeds)


def ranked(column: str, rows: str, place: str) -> dict[str, list[float]]:
    """The systems of a column that are looked at, the best first, with their seeds."""
    wanted = {EVERY: (True, False), ATTENTION: (False,), PLAIN: (True,)}[rows]
    found = {name: seeds for name, seeds in numbers(column).items() if (name in WITHOUT_ATTENTION) in wanted}
    higher = COLUMNS[column].higher
    order = sorted(found, key=lambda name: placed(found[name], place, higher), reverse=higher)
    return {name: found[name] for name in order}


def compute(*, column: str, rows: str, place: str) -> Facts:
    """`lead`: from the first to the second; `spread`: from best to worst seed, the larger of the two;
    `level`: how many the first does not beat, seed by seed."""
    found, about = ranked(column, rows, place), COLUMNS[column]
    names, seeds = list(found), list(found.values())
    values = [placed(one, place, about.higher) for one in seeds]
    two = len(names) > 1
    return {
        "names": names,
        "seeds": seeds,
        "values": values,
        "unit": about.unit,
        "digits": about.digits,
        "higher": about.higher,
        "lead": abs(values[0] - values[1]) if two else None,
        "spread": max(max(one) - min(one) for one in seeds[:2]) if two else None,
        "level": sum(beats(seeds[0], rival, about.higher) != "yes" for rival in seeds[1:]),
        "first_by_mean": next(iter(ranked(column, rows, MEAN)), None),
    }


def reading(facts: Facts, value: float) -> str:
    return fixed(float(value), facts["digits"])


def draw_board(axes: Axes) -> Show:
    axes.set(xlim=(-0.52, 1.17), ylim=(N_ROWS + 0.5, -0.7), xticks=(), yticks=())
    axes.spines[:].set_visible(False)
    axes.axvline(0, color=theme.HAIRLINE, linewidth=1, zorder=0.5)
    bars = LyingBars(axes, np.arange(N_ROWS), gap=0.045, thick=0.72, size=9, words_at=-0.02, words_size=9)
    [dots] = axes.plot([], [], "o", color=theme.INK, markersize=3.2)
    note = quick_text(axes, 0.99, 0.02, of="axes", ha="right", size=9, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        n, empty = len(facts["names"]), N_ROWS - len(facts["names"])
        top = max((max(one) for one in facts["seeds"]), default=1) or 1
        values = np.array([*facts["values"], *[0.0] * empty]) / top
        readings = [*(reading(facts, value) for value in facts["values"]), *[""] * empty]
        colours = [theme.PINK if name in WITHOUT_ATTENTION else theme.BLUE for name in facts["names"]]
        bars.show(values, readings, [*colours, *[theme.PAPER] * empty])
        for text, name in zip(bars.words, [*map(label, facts["names"]), *[""] * empty], strict=True):
            text.set_text(name)
        ends = [max([*one, value]) / top for one, value in zip(facts["seeds"], facts["values"], strict=True)]
        for text, end in zip(bars.readings, ends, strict=False):
            text.set_x(max(end, 0) + 0.03)
        flat = [x / top for one in facts["seeds"] for x in one]
        dots.set_data(flat, np.repeat(np.arange(n), N_SEEDS))
        sense = "more" if facts["higher"] else "less"
        note.set_text(f"pink: without attention   ·   {sense} is better")

    return show


def draw_close(axes: Axes) -> Show:
    axes.set(xlim=(-0.12, 1.12), ylim=(N_CLOSE + 0.35, -0.75), xticks=(), yticks=())
    axes.spines[:].set_visible(False)
    [ranges] = axes.plot([], [], color=theme.BLUE, linewidth=2)
    [dots] = axes.plot([], [], "o", color=theme.INK, markersize=6)
    names = [quick_text(axes, 0.0, row - 0.3, size=9.5) for row in range(N_CLOSE)]
    low = quick_text(axes, 0.0, N_CLOSE - 0.3, ha="center", va="center", size=9, colour=theme.SOFT_INK)
    high = quick_text(axes, 1.0, N_CLOSE - 0.3, ha="center", va="center", size=9, colour=theme.SOFT_INK)
    lead = quick_text(axes, 0.5, N_CLOSE - 0.05, ha="center", va="center", size=9, colour=theme.SOFT_INK)
    verdict = quick_text(axes, 0.5, N_CLOSE + 0.2, ha="center", va="center", size=10, weight="bold")

    def show(facts: Facts) -> None:
        seeds = facts["seeds"][:N_CLOSE]
        least, most = min(map(min, seeds), default=0), max(map(max, seeds), default=1)
        width = (most - least) or 1
        xs, ys = [], []
        for row, one in enumerate(seeds):
            xs += [(min(one) - least) / width, (max(one) - least) / width, np.nan]
            ys += [row, row, np.nan]
        ranges.set_data(xs, ys)
        dots.set_data(
            [(x - least) / width for one in seeds for x in one], np.repeat(np.arange(len(seeds)), N_SEEDS)
        )
        for row, text in enumerate(names):
            text.set_text(label(facts["names"][row]) if row < len(seeds) else "")
        low.set_text(reading(facts, least) if seeds else "")
        high.set_text(reading(facts, most) if seeds and most > least else "")
        lead.set_text(told_small(facts))
        verdict.set_text(told(facts))

    return show


def told(facts: Facts) -> str:
    if facts["lead"] is None:
        return "no rival was measured" if facts["names"] else "nobody was measured"
    if not facts["level"]:
        return "alone: all its seeds are ahead"
    return f"level with the first: {facts['level']} more"


def told_small(facts: Facts) -> str:
    if facts["lead"] is None:
        return ""
    return f"lead {reading(facts, facts['lead'])}, wider spread of the two {reading(facts, facts['spread'])}"


def crowded(now: Facts, start: Facts) -> bool:
    return now["rows"] == EVERY and now["place"] == MEAN and now["level"] >= 3


def loses_by_worst(now: Facts, start: Facts) -> bool:
    return now["place"] == WORST and bool(now["names"]) and now["names"][0] != now["first_by_mean"]


def without_attention(now: Facts, start: Facts) -> bool:
    better = now["rows"] == EVERY and now["column"] not in COSTS and bool(now["lead"])
    return better and now["names"][0] in WITHOUT_ATTENTION


class Leaderboard(Explorable):
    title = "Leaderboard"
    question = "Which system is first? Change the column, who takes part, and which seed counts."
    size = (9.6, 4.8)
    column = Enum(tuple(COLUMNS), default_value="21 to 30 words")
    rows = Enum((EVERY, ATTENTION, PLAIN), default_value=EVERY)
    place = Enum((MEAN, WORST, BEST), default_value=MEAN)
    controls = (
        Control("column", "column", wide=True),
        Control("rows", "rows", buttons=True),
        Control("place", "rank by", buttons=True),
    )
    presets: ClassVar = {
        "test set": {"column": "test"},
        "real sentences": {"column": "BLEU beam"},
        "language models": {"column": "perplexity"},
    }
    goals = (
        Goal("crowded", "By mean, every system: three or more are level with the first", crowded),
        Goal("worst-seed", "A system that is first by its mean and not by its worst seed", loses_by_worst),
        Goal(
            "no-attention",
            "Every system, and not a column of cost: the first has no attention",
            without_attention,
        ),
    )
    panels = (
        Panel("All, with their seeds", draw_board, 1.9),
        Panel("The first four, magnified", draw_close),
    )
    compute = staticmethod(compute)

    @staticmethod
    def heading(facts: Facts) -> str:
        hall = COLUMNS[facts["column"]].hall
        unit = f", {facts['unit']}" if facts["unit"] else ""
        return f"{hall}: {facts['column']}{unit}   ·   {facts['rows']}   ·   by {facts['place']}"

    @staticmethod
    def describe(facts: Facts) -> str:
        first = ", ".join(
            f"{label(name)} {reading(facts, value)}"
            for name, value in zip(facts["names"][:3], facts["values"], strict=False)
        )
        about = ", ".join(filter(None, (facts["unit"], COLUMNS[facts["column"]].says)))
        return (
            f"{facts['column']} ({about}), {facts['rows']}, ranked by {facts['place']}: "
            f"{f'{first}; ' if first else ''}{told(facts)}."
        )
