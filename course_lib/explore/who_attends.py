"""W9, who attends to whom: why queries and keys need projections of their own.

    >>> compute(projections="shared", d_k=64, seed=0)["symmetry_error"]
    0.0

Eight words get random vectors, then random projections W_Q and W_K, as on the first day of training. Shared
projections (W_Q = W_K) make the scores symmetric: whatever "it" thinks of "cat", "cat" thinks of "it". And
they pull every word's largest score towards itself.

When is that pull complete? The score of i for j is u_i · u_j with u = X W, so the diagonal holds |u_i|². It
is the largest in its row for certain when all u have one length (Cauchy-Schwarz). Random lengths differ, less
so the wider d_k is: the diagonal wins in 25% of the rows at d_k = 1, 92% at 8, 100% from 32 on (rounded).
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from traitlets import Enum, Int

from course_lib import theme
from course_lib.explore.base import Explorable
from course_lib.explore.control import Control
from course_lib.explore.header import header
from course_lib.formatting import fixed
from course_lib.views.heatmap import Heatmap
from course_lib.views.lines import plain_powers
from course_lib.views.quick_text import quick_text
from course_lib.views.stage import Moving

WORDS = ("because", "it", "was", "thirsty", "the", "cat", "drank", "water")
N_WORDS, D_MODEL = len(WORDS), 64
WIDTHS = (1, 2, 4, 8, 16, 32, 64)
SHARED, SEPARATE = "shared", "separate"
N_WORLDS = 500  # random draws behind the percentages
N_SEEDS = 20  # of them, those a learner can look at
PAIRS = np.triu_indices(N_WORDS, 1)


@cache
def all_scores() -> dict[tuple[str, int], np.ndarray]:
    """Scaled scores of every world, for each setting: (worlds, words, words); a row asks."""
    generator = np.random.default_rng(0)
    words = generator.standard_normal((N_WORLDS, N_WORDS, D_MODEL))
    w_query, w_key = generator.standard_normal((2, N_WORLDS, D_MODEL, D_MODEL)) / np.sqrt(D_MODEL)
    queries, keys = words @ w_query, words @ w_key
    scores = {}
    for d_k in WIDTHS:  # a narrower d_k uses the first columns of the same projections
        asking, looked_at = queries[..., :d_k], keys[..., :d_k]
        scores[SEPARATE, d_k] = asking @ looked_at.transpose(0, 2, 1) / np.sqrt(d_k)
        scores[SHARED, d_k] = asking @ asking.transpose(0, 2, 1) / np.sqrt(d_k)
    return scores


def on_diagonal(scores: np.ndarray) -> np.ndarray:
    """For each row, whether its largest score is the word's score for itself."""
    return scores.argmax(axis=-1) == np.arange(scores.shape[-1])


def symmetry_error(scores: np.ndarray) -> float:
    """‖S − Sᵀ‖ / 2‖S‖: 0 when S is symmetric, 1 when it is the very opposite, 0.65 on average at random."""
    return float(np.linalg.norm(scores - scores.T) / (2 * np.linalg.norm(scores)))


@cache
def diagonal_share(projections: str, d_k: int) -> float:
    """The share of rows, over all worlds, whose largest score is on the diagonal."""
    return float(on_diagonal(all_scores()[projections, d_k]).mean())


def compute(*, projections: str, d_k: int, seed: int) -> dict[str, Any]:
    scores = all_scores()[projections, d_k][seed]
    return {
        "projections": projections,
        "d_k": d_k,
        "seed": seed,
        "scores": scores,
        "looks_at": scores.argmax(axis=-1),
        "on_diagonal": int(on_diagonal(scores).sum()),
        "diagonal_share": diagonal_share(projections, d_k),
        "symmetry_error": symmetry_error(scores),
        "rank": int(np.linalg.matrix_rank(scores)),
    }


def draw(figure: Figure) -> Moving:
    state = header(figure, WhoAttends.title)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.35, 1, 1))

    left.set_title("Scores (circle: largest of its row)")
    cells = Heatmap(left, list(WORDS), list(WORDS), kind="scores")
    left.tick_params(labelcolor=theme.INK)
    left.set_anchor("N")
    middle.set_anchor("N")
    [elsewhere] = left.plot(
        [],
        [],
        "o",
        markersize=7.5,
        markerfacecolor=theme.PAPER,
        markeredgecolor=theme.INK,
        markeredgewidth=1.6,
    )
    [itself] = left.plot(
        [], [], "o", markersize=8, markerfacecolor=theme.INK, markeredgecolor=theme.PAPER, markeredgewidth=1
    )

    middle.set_title("Is it mutual?")
    middle.set(
        xlim=(-1.08, 1.08),
        ylim=(-1.08, 1.3),  # the points end at 1: room for the line of text above them
        aspect="equal",
        xticks=(),
        yticks=(),
        xlabel="score of i for j",
        ylabel="score of j for i",
    )
    middle.plot([-1, 1], [-1, 1], color=theme.HAIRLINE, linewidth=1.5)
    [pairs] = middle.plot(
        [], [], "o", markersize=6, color=theme.BLUE, alpha=0.75, markeredgecolor=theme.PAPER
    )
    error = quick_text(middle, 0.03, 0.97, of="axes", va="top", size=9.5)

    right.set_title("Largest on the diagonal")
    right.set(xscale="log", ylim=(-0.03, 1.08), xlabel="dₖ")
    right.set_xticks((1, 4, 16, 64))
    plain_powers(right.xaxis)
    right.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0%", "25%", "50%", "75%", "100%"))
    right.grid(axis="y", color=theme.HAIRLINE, linewidth=0.6)
    right.axhline(1 / N_WORDS, color=theme.INK, linewidth=1.2, linestyle=(0, (3, 2)))
    right.text(
        64, 1 / N_WORDS - 0.025, "chance, 1 in 8", ha="right", va="top", fontsize=8.5, color=theme.SOFT_INK
    )
    [curve] = right.plot(WIDTHS, np.zeros(len(WIDTHS)), linewidth=2)
    [dot] = right.plot([1], [1], "o", markersize=10, markeredgecolor=theme.PAPER, markeredgewidth=2)
    share = quick_text(right, 0.97, 0.5, of="axes", ha="right", size=17, weight="bold")
    right.text(0.97, 0.44, "of all rows", transform=right.transAxes, ha="right", va="top", fontsize=9)

    def show(facts: dict[str, Any]) -> None:
        colour = theme.BLUE if facts["projections"] == SHARED else theme.ORANGE
        named = "W_Q = W_K" if facts["projections"] == SHARED else "W_Q ≠ W_K"
        state.set_text(
            f"{named}   ·   dₖ = {facts['d_k']}   ·   seed {facts['seed']}   ·   rank of S: {facts['rank']}"
        )
        scores, looks_at = facts["scores"], facts["looks_at"]
        cells.show(scores)
        rows = np.arange(N_WORDS)
        own = looks_at == rows
        itself.set_data(looks_at[own] + 0.5, rows[own] + 0.5)
        elsewhere.set_data(looks_at[~own] + 0.5, rows[~own] + 0.5)
        reach = np.abs(scores).max()
        pairs.set_data(scores[PAIRS] / reach, scores.T[PAIRS] / reach)
        pairs.set_color(colour)
        pairs.set_markeredgecolor(theme.PAPER)
        error.set_text(f"symmetry error {fixed(facts['symmetry_error'], 2)}")
        curve.set_ydata([diagonal_share(facts["projections"], width) for width in WIDTHS])
        curve.set_color(colour)
        dot.set_data([facts["d_k"]], [facts["diagonal_share"]])
        dot.set_color(colour)
        dot.set_markeredgecolor(theme.PAPER)
        share.set_text(f"{fixed(100 * facts['diagonal_share'], 0)}%")
        share.set_color(colour)

    return Moving([state, *cells.artists, elsewhere, itself, pairs, error, curve, dot, share], show)


class WhoAttends(Explorable):
    title = "Who attends to whom"
    question = "Why two projections, W_Q and W_K, and not one for both?"
    projections = Enum((SHARED, SEPARATE), default_value=SEPARATE)
    d_k = Enum(WIDTHS, default_value=32)
    seed = Int(0, min=0, max=N_SEEDS - 1)
    controls = (
        Control("projections", "W_Q and W_K", buttons=True),
        Control("d_k", "d_k"),
        Control("seed", "seed"),
    )
    presets: ClassVar = {
        "shared": {"projections": SHARED},
        "separate": {"projections": SEPARATE},
        "shared, d_k = 1": {"projections": SHARED, "d_k": 1},
    }
    compute = staticmethod(compute)
    draw = staticmethod(draw)

    def describe(self, facts: dict[str, Any]) -> str:
        return (
            f"{facts['projections'].capitalize()} projections, d_k = {facts['d_k']}: "
            f"{facts['on_diagonal']} of {N_WORDS} words look most at themselves "
            f"({fixed(100 * facts['diagonal_share'], 0)}% over {N_WORLDS} random draws). "
            f"The symmetry error of the scores is {fixed(facts['symmetry_error'], 2)}, "
            f"their rank {facts['rank']}."
        )
