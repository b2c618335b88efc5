"""Who attends to whom: why queries and keys need projections of their own.

    >>> compute(projections="shared", d_k=64, seed=0)["symmetry_error"]
    0.0

Eight words get random vectors and random projections W_Q and W_K, as before training. Shared projections
(W_Q = W_K) make the scores symmetric and each word's score with itself large.

The score of i for j is then u_i · u_j with u_i = W x_i, so the diagonal holds |u_i|². It is certainly the
largest of its row if all u have the same length (Cauchy-Schwarz). Random lengths differ, less so the larger
d_k is: the diagonal is the largest in 25% of the rows at d_k = 1, in 92% at 8 and in 100% from 32 on
(rounded). What sharing costs after training is recorded: one dot for each run of the translator.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts, Integer
from course_lib.formatting import fixed
from course_lib.results import runs, value_at
from course_lib.views.cells import word_map
from course_lib.views.plane import Plane
from course_lib.views.shapes import run_rows
from course_lib.views.svg import line, word

WORDS = ("because", "it", "was", "thirsty", "the", "cat", "drank", "water")
N_WORDS, D_MODEL = len(WORDS), 64
WIDTHS = (1, 2, 4, 8, 16, 32, 64)
SHARED, SEPARATE = "shared", "separate"
MATRICES = {SHARED: "one matrix", SEPARATE: "two matrices"}
N_TEST = 1000  # sentences that the trained systems translate
N_DRAWS = 500  # random draws behind the percentages
N_SEEDS = 20  # of them, those that can be selected
TRAINED = {
    "two matrices": ("toy_ladder", "transformer"),
    "one, in 6 of 9 layers": ("shared_query_key", "one in self-attention"),
    "one, in all 9 layers": ("shared_query_key", "one everywhere"),
}

MAP, CELL = (86, 92), 28  # the corner of the map, and its cells
CURVES = Plane(404, 104, 234, 100, (1, 64), (0, 1), log_x=True)
DOTS = Plane(510, 288, 226, 72, (94, 100), (0, 1))


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


@cache
def trained() -> dict[str, list[float]]:
    """Exact translations of the test sentences, in percent: a number for each trained Transformer."""
    return {
        name: [
            100 * value_at(run, "scores", "test", "exact") for run in runs(file) if run["variant"] == variant
        ]
        for name, (file, variant) in TRAINED.items()
    }


def compute(*, projections: str, d_k: int, seed: int) -> Facts:
    scores = all_scores()[projections, d_k][seed]
    return {
        "scores": scores,
        "attends_to": scores.argmax(axis=-1),
        "on_diagonal": int(on_diagonal(scores).sum()),
        "diagonal_fraction": diagonal_fraction(projections, d_k),
        "symmetry_error": symmetry_error(scores),
        "rank": int(np.linalg.matrix_rank(scores)),
        "trained": trained(),
    }


def draw_scores(facts: Facts) -> Iterable[str]:
    (left, top), scores = MAP, facts["scores"]
    yield word(14, 62, "scores of random vectors, before training", 12, "soft", "start")
    yield word(14, 80, "rows ask, columns are asked; ring: the largest of its row", 11, "soft", "start")
    rings = set(enumerate(facts["attends_to"]))
    largest = float(np.abs(scores).max())
    words = {"rows": WORDS, "columns": WORDS}
    yield word_map(left, top, scores, **words, size=CELL, largest=largest, rings=rings, mirror=True)
    side = CELL * N_WORDS
    yield line([(left - 1, top - 1), (left + side, top + side)], "ink", 1, dash="2 4", opacity=0.5)
    below = f"symmetry error {fixed(facts['symmetry_error'], 2)} (0: each score equals its mirror image)"
    yield word(14, 388, below, 12, "soft", "start")


def draw_fractions(facts: Facts) -> Iterable[str]:
    """How often the diagonal wins with two matrices, and with one if that is chosen."""
    plane = CURVES
    yield word(
        plane.left - 36, 62, "how often a word's largest score is the one for itself", 12, "soft", "start"
    )
    share = f"{fixed(100 * facts['diagonal_fraction'], 0)}% in {N_DRAWS} random draws"
    yield word(plane.left - 36, 80, share, 14, "accent", "start", bold=True)
    yield plane.scale_x({1: "1", 4: "4", 16: "16", 64: "64"}, "dₖ")
    yield plane.scale_y({0: "0%", 0.5: "50%", 1: "100%"})
    shown = {
        SEPARATE,
        facts["projections"],
    }  # at the start without "one matrix": that is a prediction's answer
    curves = {name: [diagonal_fraction(name, d_k) for d_k in WIDTHS] for name in MATRICES if name in shown}
    yield plane.choices("projections", WIDTHS, curves, MATRICES, facts["projections"], facts["d_k"])


def draw_trained(facts: Facts) -> Iterable[str]:
    """One dot for each trained translator; those with as many matrices as chosen are dark."""
    plane = DOTS
    yield word(
        CURVES.left - 36, 268, f"our Transformer, trained: exact of {N_TEST:,} sentences", 12, "soft", "start"
    )
    chosen = {name: (name == MATRICES[SEPARATE]) == (facts["projections"] == SEPARATE) for name in TRAINED}
    fills = {name: "ink" if lit else "calm" for name, lit in chosen.items()}
    yield run_rows(plane.left, plane.top, facts["trained"], plane, fills=fills)
    yield plane.scale_x({94: "94%", 96: "96%", 98: "98%", 100: "100%"})


class WhoAttends(Explorable):
    title = "Who attends to whom"
    question = "Why two projections, W_Q and W_K, rather than one for both?"
    size = (760, 402)
    projections = Choice("W_Q and W_K", (SHARED, SEPARATE), SEPARATE, text=MATRICES.__getitem__, buttons=True)
    d_k = Choice("d_k", WIDTHS, 32)
    seed = Integer("seed", 0, N_SEEDS - 1, 0)
    main_control = "d_k"
    presets = {"shared": {"projections": SHARED}, "separate": {"projections": SEPARATE}}
    goals = {
        "others-win": "One shared matrix, yet most words attend most to another word",
        "by-luck": "Two matrices, and by luck half of the words attend most to themselves",
    }
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "others-win": now["projections"] == SHARED and now["on_diagonal"] < N_WORDS / 2,
            "by-luck": now["projections"] == SEPARATE and now["on_diagonal"] >= N_WORDS / 2,
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        n, shared = facts["on_diagonal"], facts["projections"] == SHARED
        said = (
            "One matrix: the scores are symmetric" if shared else "Two matrices: the scores aren't symmetric"
        )
        attend = "attends most to itself" if n == 1 else "attend most to themselves"
        yield word(14, 28, f"{said}; {n} of {N_WORDS} words {attend}", 15, anchor="start", bold=True)
        for draw in (draw_scores, draw_fractions, draw_trained):
            yield from draw(facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        trained = "; ".join(
            f"{name} {', '.join(fixed(run, 1) for run in runs)}" for name, runs in facts["trained"].items()
        )
        return (
            f"{MATRICES[facts['projections']].capitalize()} for W_Q and W_K, d_k = {facts['d_k']}: "
            f"{facts['on_diagonal']} of {N_WORDS} words attend most to themselves "
            f"({fixed(100 * facts['diagonal_fraction'], 0)}% over {N_DRAWS} random draws). "
            f"The symmetry error of the scores is {fixed(facts['symmetry_error'], 2)}, "
            f"their rank {facts['rank']}. Exact translations after training, in percent: {trained}."
        )
