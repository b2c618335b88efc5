"""The head-count slider: what more heads cost, with the width of the model fixed.

    >>> cost(8, 20, SHARED) == cost(1, 20, SHARED) | {"d_k": 64, "entries": 3200}
    True

d_model is 512, as in the 2017 paper, with four matrices without biases, as in its formula and in our layer.
The small maps are the attention weights of each head for six random words under random matrices. W_Q has
torch's orientation (out, in), so a head is a group of its rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Panel, Show, blank_axes
from course_lib.formatting import significant
from course_lib.views.bars import Rectangles
from course_lib.views.pillow_text import add_text, set_texts
from lessons.l00_start_here.softmax_dial import softmax

D_MODEL, EACH_WIDTH, MAX_HEADS = 512, 64, 64
COUNTS = (1, 2, 4, 8, 16, 32, 64)
LENGTHS = (8, 16, 32, 64, 128, 256, 512)
SHARED, EACH = "512 split", "64 per head"
MEASURES = {"params": "parameters", "multiplies": "multiplications, QKᵀ", "entries": "scores"}
COLOURS = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.YELLOW, theme.PINK, theme.SKY)
N_WORDS, SIDE = 6, 64  # words in a small map; cells along a side of the image


def cost(n_heads: int, n: int, widths: str) -> dict[str, int]:
    """The cost of one layer of self-attention over n words."""
    d_k = D_MODEL // n_heads if widths == SHARED else EACH_WIDTH
    inner = n_heads * d_k
    return {
        "d_k": d_k,
        "params": 4 * D_MODEL * inner,
        "multiplies": n * n * inner,
        "entries": n_heads * n * n,
    }


@cache
def tables(n_heads: int, widths: str) -> np.ndarray:
    """The attention weights of all heads in one square image: (SIDE, SIDE), −1 where there is no map."""
    d_k = cost(n_heads, N_WORDS, widths)["d_k"]
    generator = np.random.default_rng(12)
    queries, keys = generator.standard_normal((2, N_WORDS, MAX_HEADS * EACH_WIDTH))
    across = next(count for count in (1, 2, 4, 8) if count**2 >= n_heads)
    scale = SIDE // across // (N_WORDS + 2)
    image = np.full((SIDE, SIDE), -1.0)
    for head in range(n_heads):
        columns = slice(head * d_k, (head + 1) * d_k)
        weights = softmax(queries[:, columns] @ keys[:, columns].T * 2 / np.sqrt(d_k))
        row, column = (SIDE // across * index + scale for index in divmod(head, across))
        size = N_WORDS * scale
        image[row : row + size, column : column + size] = np.kron(weights, np.ones((scale, scale)))
    return image


def compute(*, n_heads: int, n: int, widths: str) -> Facts:
    costs, of_one_head = cost(n_heads, n, widths), cost(1, n, SHARED)
    ratios = np.array([costs[name] / of_one_head[name] for name in MEASURES])
    return {**costs, "ratios": ratios, "tables": tables(n_heads, widths)}


def draw_strips(axes: Axes) -> Show:
    blank_axes(axes, x=(0, 1), y=(1.3, -0.18))
    strips = Rectangles(axes, MAX_HEADS, [COLOURS[i % len(COLOURS)] for i in range(MAX_HEADS)])
    rows = add_text(axes, 0.0, 1.12, size=10, weight="bold")
    note = add_text(axes, 0.0, 1.25, size=9, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        h, inner = facts["n_heads"], facts["n_heads"] * facts["d_k"]
        edges = np.minimum(np.arange(MAX_HEADS + 1), h) / h * inner / max(inner, D_MODEL)
        gap = 0.1 * (edges[1] - edges[0])
        strips.set_edges(left=0, right=1, low=edges[:-1], high=np.maximum(edges[1:] - gap, edges[:-1]))
        rows.set_text(f"{h} × {facts['d_k']} = {inner} rows")
        note.set_text("of 512 numbers each; one colour per head")

    return show


def draw_tables(axes: Axes) -> Show:
    axes.set(xticks=(), yticks=())
    axes.spines[:].set_visible(False)
    style = {"cmap": theme.WEIGHTS.with_extremes(bad=theme.PAPER), "vmin": 0, "vmax": 1}
    image = axes.imshow(np.zeros((SIDE, SIDE)), interpolation="nearest", aspect="equal", **style)
    return lambda facts: image.set_data(np.ma.masked_less(facts["tables"], 0))


def draw_costs(axes: Axes) -> Show:
    axes.set(xscale="log", xlim=(0.09, 700), ylim=(2.75, -0.6), yticks=())
    axes.set(xlabel="relative to one wide head")
    axes.set_xticks((1 / 8, 1, 8, 64), ("⅛", "1", "8", "64"))
    axes.minorticks_off()
    axes.spines["left"].set_visible(False)
    axes.axvline(1, color=theme.INK, linewidth=1.1)
    middles = np.arange(len(MEASURES))
    blocks = Rectangles(axes, len(MEASURES), [theme.BLUE, theme.GREEN, theme.ORANGE])
    for middle, name in zip(middles, MEASURES.values(), strict=True):
        paper = {"fc": theme.PAPER, "ec": "none", "pad": 1.5}
        axes.text(0.11, middle - 0.28, name, fontsize=9.5, fontweight="bold", bbox=paper)
    readings = [add_text(axes, 1, middle + 0.1, va="center", size=9.5) for middle in middles]

    def show(facts: Facts) -> None:
        ratios = facts["ratios"]
        left, right = np.minimum(ratios, 0.97), np.maximum(ratios, 1.03)
        blocks.set_edges(left=left, right=right, low=middles - 0.16, high=middles + 0.36)
        set_texts(readings, [f"{facts[name]:,}" for name in MEASURES])
        for reading, end in zip(readings, right, strict=True):
            reading.set_x(end * 1.12)

    return show


def heads_in_words(facts: Facts) -> str:
    return "1 head" if facts["n_heads"] == 1 else f"{facts['n_heads']} heads"


class HeadCount(Explorable):
    title = "How many heads?"
    question = "What do more heads cost? A model of width 512, as in the 2017 paper."
    size = (9.6, 3.6)
    n_heads = Choice("heads", COUNTS, 1)
    n = Choice("words", LENGTHS, 16)
    widths = Choice("width", (SHARED, EACH), SHARED, buttons=True)
    presets = {
        "8 heads, split": {"n_heads": 8},
        "64 heads, split": {"n_heads": 64},
        "64 heads of 64": {"n_heads": 64, "widths": EACH},
    }
    goals = {
        "million": "Over a million scores for at most 128 words",
        "level": "64 per head: exactly as many parameters as one wide head",
        "dear": "More than five times the parameters of one wide head",
    }
    panels = (
        Panel("W_Q, split into heads", draw_strips),
        Panel("Attention weights, 6 words", draw_tables),
        Panel("Cost of one layer", draw_costs, 1.15),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "million": now["entries"] > 1e6 and now["n"] <= 128,
            "level": now["widths"] == EACH and abs(now["ratios"][0] - 1) < 1e-9,
            "dear": now["ratios"][0] > 5,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        heads = heads_in_words(facts)
        return [f"{heads}, dₖ = {facts['d_k']}", f"{facts['n']} words", facts["widths"]]

    @staticmethod
    def describe(facts: Facts) -> str:
        measures = (
            f"{facts[name]:,} {words} ({significant(ratio, 3)} times as many as one wide head)"
            for (name, words), ratio in zip(MEASURES.items(), facts["ratios"], strict=True)
        )
        opening = f"{heads_in_words(facts)} of width {facts['d_k']}, {facts['n']} words, {facts['widths']}"
        return f"{opening}: {'; '.join(measures)}."
