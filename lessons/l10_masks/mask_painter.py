"""The mask painter: a mask applied to a trained model, in the right way and in wrong ones.

    >>> apply(np.zeros((1, 4)), np.array([[True, True, False, False]]), BEFORE)[0]
    array([[0.5, 0.5, 0. , 0. ]])

The model is the shipped Transformer language model, on a French sentence followed by three padding tokens.
The scores and the attention weights are those of a head in layer 0. For the predictions, the same mask is
applied in the same way in every head of every layer. A masked cell has a stroke, which is orange where the
cell gets an attention weight all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import numpy as np
import torch
from matplotlib.collections import LineCollection
from torch import Tensor
from torch.nn import functional as F

from course_lib import theme
from course_lib.explore.raster.artists import Heatmap, HorizontalBars
from course_lib.explore.raster.base import (
    Axes,
    Choice,
    Facts,
    Integer,
    Panel,
    RasterExplorable,
    Show,
    blank_axes,
)
from course_lib.explore.raster.pillow_text import set_texts
from course_lib.formatting import fixed
from course_lib.layers.multi_head import MultiHead, join_heads
from course_lib.models.transformer_lm import TransformerLM
from course_lib.text.special import BOS, EOS, PAD
from course_lib.translation.shipped import shared
from lessons.l00_start_here.softmax_dial import softmax

WORDS = ("le", "chat", "a", "bu", "l'", "eau")
N_REAL, N = 1 + len(WORDS), 10
LABELS = ("<s>", *WORDS, *("·",) * (N - N_REAL))
N_HEADS = 4

NONE, PADDING, CAUSAL, BOTH, BLIND = "none", "padding", "causal", "both", "fully masked row"
BEFORE, TIMES_0, AFTER, RENORMED = "−∞ before", "× 0 before", "0 after", "0 after, renormalised"


@cache
def masks() -> dict[str, np.ndarray]:
    """The masks by name: True where the query of a row may attend to the key of a column."""
    everything = np.ones((N, N), dtype=bool)
    padding = everything & (np.arange(N) < N_REAL)
    causal = np.tril(everything)
    blind = everything.copy()
    blind[4] = False
    return {NONE: everything, PADDING: padding, CAUSAL: causal, BOTH: padding & causal, BLIND: blind}


@contextmanager
def attending(model: TransformerLM, weights_of: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """In every head, compute the attention weights from the scaled scores with this function."""

    def attend(heads: MultiHead, query: Tensor, keys: Tensor, values: Tensor, **_) -> tuple[Tensor, Tensor]:
        weights = weights_of(query @ keys.mT / math.sqrt(keys.shape[-1]))
        return F.linear(join_heads(weights @ values), heads.w_output), weights

    layers = [block.attention for block in model.stack.blocks]
    for heads in layers:
        heads.attend = partial(attend, heads)
    try:
        yield
    finally:
        for heads in layers:
            del heads.attend


@torch.no_grad()
def logits_with(tokens: Tensor, weights_of: Callable[[Tensor], Tensor]) -> Tensor:
    """(words, vocabulary): what the language model predicts with attention weights computed like this."""
    model = shared("transformer_lm").model
    with attending(model, weights_of):
        x = model.positions.add(model.words.target(tokens[None]))
        return model.words.logits(model.stack(x, rotate=model.positions.rotate)[0])[0]


def sentence() -> list[int]:
    return [BOS, *shared("transformer_lm").tokenizer.encode(" ".join(WORDS))]


def padded_sentence() -> Tensor:
    return torch.tensor(sentence() + [PAD] * (N - N_REAL))


@cache
def model_scores() -> np.ndarray:
    """The scaled scores of layer 0, (heads, queries, keys)."""
    seen = []

    def keep(scores: Tensor) -> Tensor:
        seen.append(scores)
        return scores.softmax(dim=-1)

    logits_with(padded_sentence(), keep)
    return seen[0][0].numpy().astype(float)


def masked_weights(scores: Tensor, mask: np.ndarray, method: str) -> Tensor:
    return torch.from_numpy(apply(scores.numpy(), mask, method)[0])


@cache
def next_word(mask: str, method: str) -> np.ndarray:
    """The probability that the model gives the correct next word, after each of the words."""
    logits = logits_with(padded_sentence(), partial(masked_weights, mask=masks()[mask], method=method))
    targets = torch.tensor([*sentence()[1:], EOS])
    return logits[:N_REAL].softmax(dim=-1)[torch.arange(N_REAL), targets].numpy().astype(float)


def apply(scores: np.ndarray, mask: np.ndarray, method: str) -> tuple[np.ndarray, np.ndarray]:
    """The attention weights, and the scores that went into the softmax. A row of −∞ alone is 0 / 0: NaN."""
    with np.errstate(invalid="ignore"):
        if method in (BEFORE, TIMES_0):
            scores = np.where(mask, scores, np.asarray(-np.inf if method == BEFORE else 0.0, scores.dtype))
            return softmax(scores), scores
        weights = softmax(scores) * mask
        if method == RENORMED:
            weights = weights / weights.sum(axis=-1, keepdims=True)
        return weights, scores


def compute(*, mask: str, method: str, head: int) -> Facts:
    """The facts at one setting.

    Rows that are not numbers are `broken`, and predictions that are not `fails`; both are given as 0.
    """
    visible = masks()[mask]
    weights, masked = apply(model_scores()[head], visible, method)
    broken = ~np.isfinite(weights).all(axis=-1)
    weights = np.where(broken[:, None], 0.0, weights)
    predictions = next_word(mask, method)
    fails = np.isnan(predictions)
    return {
        "scores": np.where(np.isfinite(masked), masked, 0.0),
        "infinite": ~np.isfinite(masked),
        "weights": weights,
        "sums": weights.sum(axis=-1),
        "broken": broken,
        "hidden_weight": float(weights[~visible].sum()),
        "visible": visible,
        "next_word": np.where(fails, 0.0, predictions),
        "fails": fails,
        "perplexity": 0.0 if fails.any() else float(np.exp(-np.log(predictions).mean())),
    }


def _strokes(axes: Axes) -> Callable[[np.ndarray, np.ndarray], None]:
    """A stroke in every masked cell; `show` takes the mask and the weights."""
    axes.set(xlabel="key (· is padding)", ylabel="query")
    strokes = LineCollection([], linewidth=1.6, capstyle="round", zorder=2)
    axes.add_collection(strokes, autolim=False)

    def show(mask: np.ndarray, weights: np.ndarray) -> None:
        hidden = np.argwhere(~mask)
        strokes.set_segments([((x + 0.28, y + 0.72), (x + 0.72, y + 0.28)) for y, x in hidden])
        strokes.set_color(np.where(weights[~mask] > 0, theme.ORANGE, theme.SOFT_INK).tolist())

    return show


def draw_scores(axes: Axes) -> Show:
    cells, strokes = Heatmap(axes, LABELS, LABELS, kind="scores"), _strokes(axes)

    def show(facts: Facts) -> None:
        cells.show(np.where(facts["infinite"], -np.inf, facts["scores"]))
        strokes(facts["visible"], np.zeros((N, N)))

    return show


def draw_weights(axes: Axes) -> Show:
    cells, strokes = Heatmap(axes, LABELS, LABELS), _strokes(axes)

    def show(facts: Facts) -> None:
        cells.show(np.where(facts["broken"][:, None], np.nan, facts["weights"]))
        strokes(facts["visible"], facts["weights"])

    return show


def _unit_bars(axes: Axes, n: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """Draws n bars on a scale from 0 to 1, given their values, which of them are NaN, and which to mark."""
    blank_axes(axes, x=(0, 1.75), y=(N, 0))
    axes.set_xticks((0, 0.5, 1), ("0", "½", "1"))
    axes.axvline(1, color=theme.HAIRLINE, linewidth=1.2)
    bars = HorizontalBars(axes, np.arange(n) + 0.5, gap=0.06)

    def show(values: np.ndarray, is_nan: np.ndarray, marked: np.ndarray) -> None:
        readings = ["NaN" if nan else fixed(value, 2) for nan, value in zip(is_nan, values, strict=True)]
        bars.show(values, readings, colours=np.where(marked, theme.ORANGE, theme.BLUE).tolist())
        set_texts(bars.value_texts, readings, np.where(marked, theme.ORANGE, theme.INK))

    return show


def draw_sums(axes: Axes) -> Show:
    bars = _unit_bars(axes, N)

    def show(facts: Facts) -> None:
        bars(facts["sums"], facts["broken"], facts["broken"] | ~np.isclose(facts["sums"], 1))

    return show


def draw_next_word(axes: Axes) -> Show:
    bars = _unit_bars(axes, N_REAL)

    def show(facts: Facts) -> None:
        bars(facts["next_word"], facts["fails"], facts["fails"])

    return show


def describe_perplexity(facts: Facts) -> str:
    return "NaN" if facts["fails"].any() else fixed(facts["perplexity"], 1)


class MaskPainter(RasterExplorable):
    title = "Mask painter"
    question = "A stroke marks a masked position. What does each way of masking do to a trained model?"
    size = (10.4, 4.0)
    main_control = "method"
    mask = Choice("mask", (NONE, PADDING, CAUSAL, BOTH, BLIND), NONE, buttons=True)
    method = Choice("method", (BEFORE, TIMES_0, AFTER, RENORMED), BEFORE, buttons=True)
    head = Integer("head", 0, N_HEADS - 1, 0)
    presets = {
        "causal, correct": {"mask": CAUSAL, "method": BEFORE},
        "causal, × 0": {"mask": CAUSAL, "method": TIMES_0},
        "causal, 0 after": {"mask": CAUSAL, "method": AFTER},
    }
    goals = {
        "quiet-leak": "Every row sums to 1, yet masked positions get some attention",
        "lost": "A row that has lost more than four fifths of its attention",
        "nan": "Turn one row into NaN, and see what happens to the predictions",
    }
    panels = (
        Panel("Scores (blue > 0, orange < 0)", draw_scores),
        Panel("Attention weights (orange: leak)", draw_weights),
        Panel("Sum of the row", draw_sums, 0.42),
        Panel("P(next word)", draw_next_word, 0.42),
    )
    compute = staticmethod(compute)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        broken, sums = now["broken"], now["sums"]
        return {
            "quiet-leak": not broken.any() and np.allclose(sums, 1) and now["hidden_weight"] > 0,
            "lost": (sums[~broken] < 0.2).any(),
            "nan": broken.any(),
        }

    @staticmethod
    def heading(facts: Facts) -> list[str]:
        leaked = fixed(facts["hidden_weight"], 2)
        return [
            f"mask: {facts['mask']}, {facts['method']}",
            f"attention on masked positions: {leaked}",
            f"perplexity: {describe_perplexity(facts)}",
        ]

    @staticmethod
    def describe(facts: Facts) -> str:
        sums = facts["sums"][~facts["broken"]]
        broken = int(facts["broken"].sum())
        return (
            f"Mask: {facts['mask']}, method: {facts['method']}, head 0.{facts['head']}. The row sums "
            f"range from {fixed(sums.min(), 2)} to {fixed(sums.max(), 2)}, and {broken} of {N} rows are NaN. "
            f"The attention weights of masked positions sum to {fixed(facts['hidden_weight'], 2)}. "
            f"The model's perplexity on the sentence is {describe_perplexity(facts)}."
        )
