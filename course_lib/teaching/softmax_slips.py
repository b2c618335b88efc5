"""Slips that every exercise about attention shares: what can go wrong once the scores are right."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.teaching.exercises import Slip


def choose_best(scores: Tensor) -> Tensor:
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).float()


def spread_evenly(scores: Tensor) -> Tensor:
    return torch.full_like(scores, 1 / scores.shape[-1])


WRONG_WEIGHTS = {  # of the scores
    "raw-scores": (
        lambda scores: scores,
        "the scores themselves are used as attention weights. Apply a softmax to them first.",
    ),
    "not-normalised": (
        torch.exp,
        "the exponentials of the scores aren't divided by their sum. A softmax does both.",
    ),
    "proportional": (
        lambda scores: scores / scores.sum(-1, keepdim=True),
        "the scores are divided by their sum without taking `exp` first. Scores can be negative, so use a "
        "softmax.",
    ),
    "uniform": (spread_evenly, "the attention is uniform. The weights should be the softmax of the scores."),
    "sigmoid-weights": (
        torch.sigmoid,
        "a sigmoid is applied to each score. Use a softmax over all of them, so that the attention weights "
        "sum to 1.",
    ),
    "softmax-twice": (
        lambda scores: scores.softmax(-1).softmax(-1),
        "the softmax is applied twice. Apply it once, to the scores.",
    ),
    "negative-scores": (
        lambda scores: (-scores).softmax(-1),
        "the scores have the wrong sign: the lowest one gets the largest attention weight.",
    ),
    "log-weights": (
        lambda scores: scores.log_softmax(-1),
        "these are logarithms of the attention weights. Use `softmax` instead of `log_softmax`.",
    ),
    "all-ones": (
        torch.ones_like,
        "every attention weight is 1. Is the softmax computed over an axis of size 1?",
    ),
}
WRONG_CONTEXTS = {  # the weights that are used for the context; the right ones are returned
    "uniform-context": (
        spread_evenly,
        "the attention weights are right, but the context is the mean of the {}. It should be their sum, "
        "weighted by the attention weights.",
    ),
    "plain-sum": (
        torch.ones_like,
        "the attention weights are right, but the context is the plain sum of the {}. Weight them by the "
        "attention weights.",
    ),
    "hard-context": (
        choose_best,
        "the attention weights are right, but the context is just one of the {}. It should be the sum of all "
        "of them, weighted by the attention weights.",
    ),
    "mean-of-products": (
        lambda weights: weights / weights.shape[-1],
        "the weighted {} are averaged. The attention weights sum to 1 already: use `sum` instead of `mean`.",
    ),
}


def softmax_slips(find: Callable, blend: Callable, values: str) -> tuple[Slip, ...]:
    """The slips of an exercise that returns a context and attention weights.

    `find` returns the scores and the vectors to be weighted, which are called `values`; `blend` returns the
    context and the weights.
    """

    def with_weights(weigh: Callable) -> Callable:
        def wrong(*inputs: Tensor) -> tuple[Tensor, Tensor]:
            scores, vectors = find(*inputs)
            return blend(weigh(scores), vectors)

        return wrong

    def with_context(weigh: Callable) -> Callable:
        def wrong(*inputs: Tensor) -> tuple[Tensor, Tensor]:
            scores, vectors = find(*inputs)
            return blend(weigh(scores.softmax(-1)), vectors)[0], scores.softmax(-1)

        return wrong

    def return_scores(*inputs: Tensor) -> tuple[Tensor, Tensor]:
        scores, vectors = find(*inputs)
        return blend(scores.softmax(-1), vectors)[0], scores

    hard = f"all the weight is on the highest score. The context should be a weighted sum of all {values}."
    unweighted = "the context is right, but the scores are returned instead of the attention weights."
    return (
        Slip("hard-choice", with_weights(choose_best), hard, misconception="M12"),
        Slip("weights-are-scores", return_scores, unweighted),
        *(Slip(name, with_weights(weigh), message) for name, (weigh, message) in WRONG_WEIGHTS.items()),
        *(
            Slip(name, with_context(weigh), message.format(values))
            for name, (weigh, message) in WRONG_CONTEXTS.items()
        ),
    )
