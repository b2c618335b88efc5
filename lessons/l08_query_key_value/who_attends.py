"""Who attends to whom: why queries and keys need projections of their own.

    >>> compute(projections="shared", d_k=64, seed=0)["symmetry_error"]
    0.0

Eight words get random vectors and random projections W_Q and W_K, as before training. Shared projections
(W_Q = W_K) make the scores symmetric and each word's score with itself large.

The score of i for j is then u_i · u_j with u_i = W x_i, so the diagonal holds |u_i|². It is certainly the
largest of its row if all u have the same length (Cauchy-Schwarz). Random lengths differ, less so the larger
d_k is: the diagonal is the largest in 25% of the rows at d_k = 1, in 92% at 8 and in 100% from 32 on
(rounded).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from course_lib import theme
from course_lib.explore.raster.artists import Heatmap
from course_lib.explore.raster.base import Axes, Choice, Facts, Integer, Panel, RasterExplorable, Show
from course_lib.explore.raster.pillow_text import add_text
from course_lib.formatting import fixed
from course_lib.views.lines import add_marker, format_log_ticks

WORDS = ("because", "it", "was", "thirsty", "the", "cat", "drank", "water")
N_WORDS, D_MODEL = len(WORDS), 64
WIDTHS = (1, 2, 4, 8, 16, 32, 64)
SHARED, SEPARATE = "shared", "separate"
COLOURS = {SHARED: theme.BLUE, SEPARATE: theme.ORANGE}
N_DRAWS = 500  # random draws behind the percentages
N_SEEDS = 20  # of them, those that can be selected
PAIRS = np.triu_indices(N_WORDS, 1)


@cache
def all_scores() -> dict[tuple[str, int], np.ndarray]:
    """Scaled scores for each setting: (draws, queries, keys)."""
    generator = np.random.default_rng(0)
    words = generator.standard_normal((N_DRAWS, N_WORDS, D_MODEL))
    w_query, w_key = generator.standard_normal((2, N_DRAWS, D_MODEL, D_MODEL)) / np.sqrt(D_MODEL)
    queries, keys = words @ w_query, words @ w_key
    scores = {}
    for d_k in WIDTHS:  # a narrower d_k uses the first columns of the same projections
        query, key = queries[..., :d_k], keys[..., :d_k]
        scores[SEPARATE, d_k] = query @ key.transpose(0, 2, 1) / np.sqrt(d_k)
        scores[SHARED, d_k] = query @ query.transpose(0, 2, 1) / np.sqrt(d_k)
    return scores


def on_diagonal(scores: np.ndarray) -> np.ndarray:
    """For each row, whether its largest score is the word's score for itself."""
    return scores.argmax(axis=-1) == np.arange(scores.shape[-1])


def symmetry_error(scores: np.ndarray) -> float:
    """‖S − Sᵀ‖ / 2‖S‖: 0 if S is symmetric, 1 if it is antisymmetric, 0.65 on average for random scores."""
    return float(np.linalg.norm(scores - scores.T) / (2 * np.linalg.norm(scores)))


@cache
def diagonal_fraction(projections: str, d_k: int) -> float:
    """The fraction of rows, over all draws, whose largest score is on the diagonal."""
    return float(on_diagonal(all_scores()[projections, d_k]).mean())


def compute(*, projections: str, d_k: int, seed: int) -> Facts:
    scores = all_scores()[projections, d_k][seed]
    return {
        "scores": scores,
        "attends_to": scores.argmax(axis=-1),
        "on_diagonal": int(on_diagonal(scores).sum()),
        "diagonal_fraction": diagonal_fraction(projections, d_k),
        "symmetry_error": symmetry_error(scores),
        "rank": int(np.linalg.matrix_rank(scores)),
    }


def draw_scores(axes: Axes) -> Show:
    cells = Heatmap(axes, WORDS, WORDS, kind="scores")
    axes.tick_params(labelcolor=theme.INK)
    axes.set_anchor("N")
    elsewhere = axes.plot([], [], "o", ms=7.5, mfc=theme.PAPER, mec=theme.INK, mew=1.6)[0]
    itself = axes.plot([], [], "o", ms=8, mfc=theme.INK, mec=theme.PAPER, mew=1)[0]
    rows = np.arange(N_WORDS)

    def show(facts: Facts) -> None:
        cells.show(facts["scores"])
        columns, diagonal = facts["attends_to"], facts["attends_to"] == rows
        itself.set_data(columns[diagonal] + 0.5, rows[diagonal] + 0.5)
        elsewhere.set_data(columns[~diagonal] + 0.5, rows[~diagonal] + 0.5)

    return show


def draw_pairs(axes: Axes) -> Show:
    axes.set(xlabel="score of i for j", ylabel="score of j for i", xticks=(), yticks=(), aspect="equal")
    axes.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.3), anchor="N")  # the points end at 1: above is room for text
    axes.plot([-1, 1], [-1, 1], color=theme.HAIRLINE, linewidth=1.5)
    [pairs] = axes.plot([], [], "o", markersize=6, alpha=0.75, markeredgecolor=theme.PAPER)
    error = add_text(axes, 0.03, 0.97, coords="axes", va="top", size=9.5)

    def show(facts: Facts) -> None:
        scores = facts["scores"] / np.abs(facts["scores"]).max()
        pairs.set_data(scores[PAIRS], scores.T[PAIRS])
        pairs.set_markerfacecolor(COLOURS[facts["projections"]])
        error.set_text(f"symmetry error {fixed(facts['symmetry_error'], 2)}")

    return show


def draw_fractions(axes: Axes) -> Show:
    axes.set(xscale="log", xlabel="dₖ", xticks=(1, 4, 16, 64), ylim=(-0.03, 1.08))
    format_log_ticks(axes.xaxis)
    axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0%", "25%", "50%", "75%", "100%"))
    axes.grid(axis="y")
    axes.axhline(1 / N_WORDS, color=theme.INK, linewidth=1.2, linestyle=(0, (3, 2)))
    below = {"ha": "right", "va": "top", "color": theme.SOFT_INK}
    axes.text(64, 1 / N_WORDS - 0.025, "at random: 1 in 8", fontsize=8.5, **below)
    [curve] = axes.plot(WIDTHS, np.zeros(len(WIDTHS)), linewidth=2)
    dot = add_marker(axes)
    fraction = add_text(axes, 0.97, 0.5, coords="axes", ha="right", size=17, weight="bold")
    axes.text(0.97, 0.44, "of all rows", transform=axes.transAxes, ha="right", va="top", fontsize=9)

    def show(facts: Facts) -> None:
        colour = COLOURS[facts["projections"]]
        curve.set(ydata=[diagonal_fraction(facts["projections"], width) for width in WIDTHS], color=colour)
        dot.set(data=([facts["d_k"]], [facts["diagonal_fraction"]]), markerfacecolor=colour)
        fraction.set(text=f"{fixed(100 * facts['diagonal_fraction'], 0)}%", color=colour)

    return show


class WhoAttends(RasterExplorable):
    title = "Who attends to whom"
    question = "Why two projections, W_Q and W_K, rather than one for both?"
    projections = Choice("W_Q and W_K", (SHARED, SEPARATE), SEPARATE, buttons=True)
    d_k = Choice("d_k", WIDTHS, 32)
    seed = Integer("seed", 0, N_SEEDS - 1, 0)
    presets = {
        "shared": {"projections": SHARED},
        "separate": {"projections": SEPARATE},
        "shared, d_k = 1": {"projections": SHARED, "d_k": 1},
    }
    goals = {
        "others-win": "One shared matrix, yet most words attend most to another word",
        "by-luck": "Two matrices, and by luck half of the words attend most to themselves",
    }
    panels = (
        Panel("Scores (circle: largest of its row)", draw_scores, 1.35),
        Panel("Are the scores symmetric?", draw_pairs),
        Panel("Largest on the diagonal", draw_fractions),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "others-win": now["projections"] == SHARED and now["on_diagonal"] < N_WORDS / 2,
            "by-luck": now["projections"] == SEPARATE and now["on_diagonal"] >= N_WORDS / 2,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        named = "W_Q = W_K" if facts["projections"] == SHARED else "W_Q ≠ W_K"
        return [named, f"dₖ = {facts['d_k']}", f"seed {facts['seed']}", f"rank of S: {facts['rank']}"]

    @staticmethod
    def describe(facts: Facts) -> str:
        return (
            f"{facts['projections'].capitalize()} projections, d_k = {facts['d_k']}: "
            f"{facts['on_diagonal']} of {N_WORDS} words attend most to themselves "
            f"({fixed(100 * facts['diagonal_fraction'], 0)}% over {N_DRAWS} random draws). "
            f"The symmetry error of the scores is {fixed(facts['symmetry_error'], 2)}, "
            f"their rank {facts['rank']}."
        )
