"""The cost explorer: where n² dominates, inside a block and against a recurrent network.

    >>> facts = compute(n=512, d=512, heads=8)
    >>> round(100 * facts["fraction"], 1), facts["against_recurrent"]
    (14.3, 1.0)

FLOPs of one block with a feed-forward network four times as wide, for one sentence: the four projections take
8nd², the feed-forward network 16nd², scores and weighted sum 4n²d. A recurrent layer takes 4nd². Numbers are
float32.
"""

from __future__ import annotations

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Rectangles
from course_lib.explore.raster.base import Axes, Choice, Facts, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text, set_texts
from course_lib.formatting import fixed, significant
from course_lib.views.lines import add_marker, format_log_ticks

LENGTHS = (16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
WIDTHS = (64, 128, 256, 512, 1024)
HEADS = (1, 2, 4, 8, 16)
PARTS = {"projections": theme.BLUE, "feed-forward": theme.GREEN, "attention": theme.ORANGE}
RECURRENT = theme.PINK
BYTES = 4  # of a float32


def flops(n: int, d: int) -> dict[str, int]:
    """Of one block over n words, by part."""
    return {"projections": 8 * n * d**2, "feed-forward": 16 * n * d**2, "attention": 4 * n**2 * d}


def recurrent_flops(n: int, d: int) -> int:
    return 4 * n * d**2


def compute(*, n: int, d: int, heads: int) -> Facts:
    """The facts that the panels show."""
    parts = flops(n, d)
    total, recurrent = sum(parts.values()), recurrent_flops(n, d)
    return {
        "parts": parts,
        "total": total,
        "fraction": parts["attention"] / total,
        "recurrent": recurrent,
        "against_recurrent": parts["attention"] / recurrent,
        "table_bytes": BYTES * heads * n**2,
        "words_bytes": BYTES * n * d,
    }


def draw_fractions(axes: Axes) -> Show:
    axes.set(xlim=(0, 1), ylim=(1.45, -0.3), yticks=(), xlabel="fraction of the block's FLOPs")
    axes.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100%"))
    axes.spines["left"].set_visible(False)
    strip = Rectangles(axes, len(PARTS), list(PARTS.values()))
    look = {"size": 10, "weight": "bold", "va": "center"}
    lines = [add_text(axes, 0, 0.72 + 0.21 * i, colour=c, **look) for i, c in enumerate(PARTS.values())]
    table = add_text(axes, 0, 1.36, colour=theme.SOFT_INK, size=9, va="center")

    def show(facts: Facts) -> None:
        fractions = np.array([facts["parts"][name] / facts["total"] for name in PARTS])
        edges = np.concatenate([[0], np.cumsum(fractions)])
        strip.set_edges(left=edges[:-1], right=edges[1:], low=0, high=0.5)
        percent = [f"{fixed(100 * fraction, 1)}%" for fraction in fractions]
        set_texts(lines, [f"{name}  {text}" for name, text in zip(PARTS, percent, strict=True)])
        tables, words = megabytes(facts["table_bytes"]), megabytes(facts["words_bytes"])
        table.set_text(f"attention weights: {tables} MB (hidden states: {words} MB)")

    return show


def draw_growth(axes: Axes) -> Show:
    axes.set(xscale="log", yscale="log", xlabel="words, n", ylabel="FLOPs")
    axes.set(xlim=(13, 10_000), ylim=(1e5, 1e13), xticks=(16, 64, 256, 1024, 4096))
    axes.set_yticks((1e6, 1e8, 1e10, 1e12), ("1 million", "100 million", "10 billion", "1 trillion"))
    format_log_ticks(axes.xaxis)
    axes.yaxis.minorticks_off()
    axes.grid(axis="y")
    colours = {"rest": theme.INK, "attention": PARTS["attention"], "recurrent": RECURRENT}
    curves = {name: axes.plot(LENGTHS, LENGTHS, color=c, linewidth=2)[0] for name, c in colours.items()}
    dots = {name: add_marker(axes) for name in colours}
    named = {"rest": "rest of the block", "attention": "attention", "recurrent": "recurrent layer"}
    look = {"fontweight": "bold", "transform": axes.transAxes}
    for i, (name, words) in enumerate(named.items()):
        axes.text(0.03, 0.905 - 0.09 * i, words, color=colours[name], **look)

    def show(facts: Facts) -> None:
        lengths, d = np.array(LENGTHS, dtype=float), facts["d"]
        work = flops(lengths, d)
        rest = work["projections"] + work["feed-forward"]
        heights = {"rest": rest, "attention": work["attention"], "recurrent": recurrent_flops(lengths, d)}
        index = LENGTHS.index(facts["n"])
        drawn = slice(index + 1)  # up to this length only: the learner has to find where lines cross
        for name, curve in curves.items():
            curve.set_data(lengths[drawn], heights[name][drawn])
            dots[name].set(data=([facts["n"]], [heights[name][index]]), markerfacecolor=colours[name])

    return show


def megabytes(number: int) -> str:
    return significant(number / 1e6, 3) if number < 1e9 else f"{number / 1e6:,.0f}"


class CostExplorer(RasterExplorable):
    title = "Where do a block's FLOPs go?"
    question = "One block, one sentence. When does attention's n² matter, and compared with what?"
    n = Choice("words, n", LENGTHS, 64)
    d = Choice("width, d", WIDTHS, 512)
    heads = Choice("heads", HEADS, 8)
    presets = {
        "a long sentence": {"n": 64},
        "a page": {"n": 512},
        "an article": {"n": 3072},
        "a chapter": {"n": 8192},
    }
    goals = {
        "half": "Attention takes half of the FLOPs, in a block narrower than 512",
        "dearer": "d = 1024: above a recurrent layer, yet under 25% of the block",  # style: ok
        "tables": "Attention weights 10 times the hidden states, attention under 15%",
    }
    panels = (Panel("One block", draw_fractions), Panel("As sentences grow", draw_growth, 1.05))
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        above = now["against_recurrent"] > 1
        return {
            "half": abs(now["fraction"] - 0.5) < 1e-9 and now["d"] < start["d"],
            "dearer": above and now["fraction"] < 0.25 and now["d"] == 1024,  # style: ok
            "tables": now["table_bytes"] >= 10 * now["words_bytes"] and now["fraction"] < 0.15,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        return [f"n = {facts['n']:,}", f"d = {facts['d']:,}", f"heads: {facts['heads']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        percent = fixed(100 * facts["fraction"], 1)
        return (
            f"{facts['n']} words, width {facts['d']}: attention (scores and weighted sum) takes {percent}% "
            f"of the block's FLOPs, {significant(facts['against_recurrent'], 3)} times those of a recurrent "
            f"layer. The attention weights take {megabytes(facts['table_bytes'])} MB with {facts['heads']} "
            f"head{'s' * (facts['heads'] > 1)}, the hidden states {megabytes(facts['words_bytes'])} MB."
        )
