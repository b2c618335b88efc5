"""LayerNorm and BatchNorm: which numbers are averaged, and which words can change a word's result.

    >>> compute(norm=LAYER, other=AS_IT_IS, word=1)["after"][0].round(4).tolist()
    [-1.3416, -0.4472, 0.4472, 1.3416]

Three sentences of three positions, four features each; the first word is 0, 1, 2, 3. The last position of the
second sentence and the last two of the third are padding. BatchNorm averages over all positions here, padding
included, as torch's does; in evaluation mode it takes the means of the unchanged batch.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from course_lib import theme
from course_lib.explore.base import Axes, Choice, Explorable, Facts, Integer, Panel, Show
from course_lib.formatting import fixed
from course_lib.views.bars import Rectangles
from course_lib.views.pillow_text import add_text, set_texts

N_SENTENCES, N_POSITIONS, WIDTH = 3, 3, 4
N_ROWS, EPS = N_SENTENCES * N_POSITIONS, 1e-5
PADDED = (5, 7, 8)  # rows
LAYER, UNBIASED = "LayerNorm", "LayerNorm, n − 1"
TRAINING, IN_USE = "BatchNorm, train", "BatchNorm, eval"
AS_IT_IS, LOUDER, PADDING = "unchanged", "sentence 2 × 4", "padding 9, not 0"
NAMES = [
    f"{row // N_POSITIONS + 1}.{row % N_POSITIONS + 1}{' pad' if row in PADDED else ''}"
    for row in range(N_ROWS)
]
BEFORE = {"key": "x", "limit": 12, "decimals": 0}  # beyond the limit the colour no longer changes
AFTER = {"key": "after", "limit": 2.6, "decimals": 2}


@cache
def words() -> np.ndarray:
    """(rows, features): whole numbers, so that they can be checked on paper."""
    x = np.random.default_rng(13).integers(-3, 6, (N_ROWS, WIDTH)).astype(float)
    x[0] = np.arange(WIDTH)
    x[list(PADDED)] = 0
    return x


def batch(other: str) -> np.ndarray:
    x = words().copy()
    if other == LOUDER:
        x[N_POSITIONS : N_POSITIONS + 2] *= 4
    if other == PADDING:
        x[list(PADDED)] = 9
    return x


def normalised(x: np.ndarray, norm: str) -> np.ndarray:
    """Every word under one of the four norms, without scale and shift."""
    if norm in (LAYER, UNBIASED):
        mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True, ddof=int(norm == UNBIASED))
    else:
        averaged = words() if norm == IN_USE else x
        mean, variance = averaged.mean(0), averaged.var(0)
    return (x - mean) / np.sqrt(variance + EPS)


def is_averaged(norm: str, row: int) -> np.ndarray:
    """True for the numbers whose mean is subtracted from the row's first number: (rows, features)."""
    cells = np.zeros((N_ROWS, WIDTH), dtype=bool)
    if norm in (LAYER, UNBIASED):
        cells[row] = True
    elif norm == TRAINING:
        cells[:, 0] = True
    return cells


def compute(*, norm: str, other: str, word: int) -> Facts:
    """`word` counts the rows from 1; `change` is the largest change of the word's result."""
    x, row = batch(other), word - 1
    after, before = normalised(x, norm), normalised(words(), norm)
    return {
        "x": x,
        "after": after,
        "averaged": is_averaged(norm, row),
        "changed": not np.array_equal(x[row], words()[row]),
        "change": float(np.abs(after[row] - before[row]).max()),
        "variance": float(after[row].var()),
    }


def draw_table(axes: Axes, *, key: str, limit: float, decimals: int) -> Show:
    axes.set(xlim=(-0.05, WIDTH), ylim=(N_ROWS + 0.8, -0.1))
    axes.set_xticks(np.arange(WIDTH) + 0.5, ("feature 1", "2", "3", "4"))
    axes.set_yticks([row + 0.4 * (row // N_POSITIONS) + 0.5 for row in range(N_ROWS)], NAMES)
    axes.tick_params(length=0, labelcolor=theme.INK)
    axes.spines[:].set_visible(False)
    rows, left = (index.ravel() for index in np.indices((N_ROWS, WIDTH)))
    top = rows + 0.4 * (rows // N_POSITIONS)
    frames, cells = Rectangles(axes, rows.size), Rectangles(axes, rows.size)
    middle = {"ha": "center", "va": "center", "size": 9}
    texts = [add_text(axes, x + 0.5, y + 0.5, **middle) for x, y in zip(left, top, strict=True)]

    def show(facts: Facts) -> None:
        values = facts[key].ravel()
        lit = facts["averaged"].ravel() if key == "x" else rows == facts["word"] - 1
        edges = np.where(lit, theme.INK, theme.PAPER).tolist()
        frames.set_edges(left=left, right=left + 0.98, low=top, high=top + 0.98, colours=edges)
        shades = [theme.SCORES(0.5 + 0.5 * np.clip(v / limit, -1, 1)) for v in values]
        # a cell is three times as wide as high, so these are equal in points
        beside, above = np.where(lit, 0.035, 0.02), np.where(lit, 0.1, 0.02)
        sides = {"left": left + beside, "right": left + 0.98 - beside}
        cells.set_edges(**sides, low=top + above, high=top + 0.98 - above, colours=shades)
        inks = np.where(np.abs(values) > 0.62 * limit, theme.PAPER, theme.INK)
        set_texts(texts, [fixed(value, decimals) for value in values], inks, bold=lit)

    return show


class WhichMean(Explorable):
    title = "What is averaged?"
    question = (
        "Three sentences of three positions, some of them padding. Which numbers affect a word's result?"
    )
    size = (9.6, 4.4)
    norm = Choice("norm", (LAYER, UNBIASED, TRAINING, IN_USE), LAYER, buttons=True)
    other = Choice("batch", (AS_IT_IS, LOUDER, PADDING), AS_IT_IS, buttons=True)
    word = Integer("row", 1, N_ROWS, 1)
    presets = {
        "LayerNorm, sentence 2 × 4": {"other": LOUDER},
        "BatchNorm, sentence 2 × 4": {"norm": TRAINING, "other": LOUDER},
        "BatchNorm, padding 9": {"norm": TRAINING, "other": PADDING},
    }
    goals = {
        "moved": "A word that stays the same, yet its result changes by more than ½",
        "unmoved": "A word multiplied by 4, with the same result as before",
        "short": "LayerNorm, yet the result has a variance of ¾ instead of 1",
    }
    panels = (
        Panel("Before (framed: averaged for feature 1)", partial(draw_table, **BEFORE)),
        Panel("After (framed: the chosen row)", partial(draw_table, **AFTER)),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "moved": now["change"] > 0.5 and not now["changed"],
            "unmoved": now["other"] == LOUDER and now["changed"] and now["change"] < 0.01,
            "short": now["norm"] in (LAYER, UNBIASED) and 0.7 < now["variance"] < 0.8,
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        changed = f"row {NAMES[facts['word'] - 1]} changed by {fixed(facts['change'], 2)}"
        return [facts["norm"], f"batch: {facts['other']}", changed]

    @staticmethod
    def describe(facts: Facts) -> str:
        row = facts["word"] - 1
        before, after = (", ".join(fixed(v, n) for v in facts[k][row]) for k, n in (("x", 0), ("after", 2)))
        return (
            f"{facts['norm']}, batch: {facts['other']}. Row {NAMES[row]} is {before} before and {after} "
            f"after; {int(facts['averaged'].sum())} numbers of the batch are averaged for its first feature; "
            f"it differs by {fixed(facts['change'], 2)} from its result in the unchanged batch."
        )
