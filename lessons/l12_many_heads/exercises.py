"""The exercises of lesson 12: split the heads, join them, and multi-head attention as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.teaching.exercises import (
    ByHand,
    PlainExercise,
    TestExercise,
    known_mistakes,
    wrong_only_at,
)
from course_lib.teaching.exercises.mistakes import unrepaired
from lessons.l12_many_heads import solutions
from lessons.l12_many_heads.solutions import split_heads as split

LN3 = math.log(3)  # a score of 0 and a score of ln 3 give weights of exactly 1/4 and 3/4


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- split and join


SPLIT_CASES = (
    lambda: (normal(2, 5, 12), 3),
    lambda: (normal(5, 12, seed=1), 4),
    lambda: (normal(2, 3, 4, 6, seed=2), 2),
    lambda: (normal(2, 4, 6, seed=3), 1),
    lambda: (normal(1, 7, 5, seed=4), 5),
)

LAST_WORD = (..., -1, slice(None))
LAST_HEAD = (..., -1, slice(None), slice(None))


def reversed_heads(features: Tensor, n_heads: int) -> Tensor:
    return split(features, n_heads).flip(-3)


SPLIT_HEADS = PlainExercise(
    name="split_heads",
    lesson="many_heads",
    inputs=("features", "n_heads"),
    reference=solutions.split_heads,
    unrepaired=unrepaired(solutions.split_heads),
    by_hand=ByHand(
        inputs={"features": torch.arange(12.0).reshape(1, 3, 4), "n_heads": 2},
        answer=torch.tensor([[[[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]], [[2.0, 3.0], [6.0, 7.0], [10.0, 11.0]]]]),
        says="There are three words: 0 1 2 3, then 4 5 6 7, then 8 9 10 11. Head 0 gets the first two "
        "numbers of every word: 0 1, 4 5, 8 9. Head 1 gets the last two: 2 3, 6 7, 10 11.",
    ),
    others=SPLIT_CASES,
    slips=known_mistakes(solutions.split_heads),
)


# ---- the test of the split


def reversed_words(features: Tensor, n_heads: int) -> Tensor:
    return split(features, n_heads).flip(-2)


def by_loop(features: Tensor, n_heads: int) -> Tensor:
    size = features.shape[-1] // n_heads
    return torch.stack([features[..., i * size : (i + 1) * size] for i in range(n_heads)], dim=-3)


def by_reshape_and_transpose(features: Tensor, n_heads: int) -> Tensor:
    *batch, n, width = features.shape
    return features.reshape(*batch, n, n_heads, width // n_heads).transpose(-3, -2)


def careful_test(split_heads: Callable) -> None:
    features = torch.arange(120.0).reshape(2, 5, 12)
    heads = split_heads(features, 3)
    assert heads.shape == (2, 3, 5, 4)
    for head in range(3):
        assert torch.equal(heads[:, head], features[:, :, 4 * head : 4 * head + 4])


TEST_SPLIT = TestExercise(
    name="test_split",
    lesson="many_heads",
    inputs=("split",),
    of=SPLIT_HEADS,
    what="split",
    accepts={"with a loop": by_loop, "with reshape": by_reshape_and_transpose},
    rejects={
        "no-transpose": "leaves the words in front of the heads",
        "interleaved": "gives head 0 every n_heads-th number of a word",
        "transposed-heads": "transposes the matrix of each head",
        "heads-reversed": "returns the heads in reverse order",
        "heads-before-batch": "puts the heads in front of the batch",
    },
    wrong={
        "reshapes straight to the final shape and mixes the words": SPLIT_HEADS.unrepaired,
        "reverses the order of the words": reversed_words,
        "is wrong for the last head only": wrong_only_at(LAST_HEAD, split, reversed_heads),
        "is wrong for head 0 only": wrong_only_at((..., 0, slice(None), slice(None)), split, reversed_heads),
        "is wrong for the last word only": wrong_only_at(LAST_WORD, split, reversed_heads),
        "is right for the first word only": wrong_only_at(
            (..., slice(1, None), slice(None)), split, reversed_heads
        ),
        "is right for the first sentence only": wrong_only_at(slice(1, None), split, reversed_words),
        "is wrong for the last number of each slice only": wrong_only_at((..., -1), split, reversed_words),
    },
    reference=careful_test,
)


# ---- join


JOIN_HEADS = PlainExercise(
    name="join_heads",
    lesson="many_heads",
    inputs=("features",),
    reference=solutions.join_heads,
    by_hand=ByHand(
        # three words: with two, concatenating along the words would return the expected sizes in reverse
        inputs={
            "features": torch.tensor(
                [[[1.0, 2.0], [5.0, 6.0], [9.0, 10.0]], [[3.0, 4.0], [7.0, 8.0], [11.0, 12.0]]]
            )
        },
        answer=torch.arange(1.0, 13.0).reshape(3, 4),
        says="Head 0 has 1 2 for the first word, 5 6 for the second and 9 10 for the third; head 1 has 3 4, "
        "7 8 and 11 12. Concatenated, the words are 1 2 3 4, then 5 6 7 8, then 9 10 11 12.",
    ),
    others=(
        lambda: (normal(2, 3, 5, 4),),
        lambda: (normal(4, 5, 3, seed=1),),
        lambda: (normal(2, 1, 4, 6, seed=2),),
        lambda: (normal(2, 3, 2, 4, 5, seed=3),),
        lambda: (split(normal(2, 6, 8, seed=4), 4),),
        lambda: (normal(1, 3, 1, 2, seed=5),),  # a single sentence of a single word
    ),
    slips=known_mistakes(solutions.join_heads),
)


# ---- multi-head attention


def padding_mask(batch: int, m: int, n: int) -> Tensor:
    """(batch, 1, 1, n), for n − 1, n − 2 … words: every sentence has padding, and at least one word."""
    lengths = (n - 1 - torch.arange(batch)).clamp(min=1)
    return (torch.arange(n) < lengths[:, None])[:, None, None]


def mask_for_each_query(batch: int, m: int, n: int) -> Tensor:
    """(m, n): query i may attend to keys 0 and i.

    Neither this mask nor its inverse hides all keys of a query, so an inverted mask has the same result
    however the attention is written.
    """
    keys, queries = torch.arange(n), torch.arange(m)[:, None]
    return (keys == 0) | (keys == queries)


def both_masks(batch: int, m: int, n: int) -> Tensor:
    """(batch, 1, m, n)."""
    return padding_mask(batch, m, n) & mask_for_each_query(batch, m, n)


def layer_case(seed: int, batch: int, m: int, n: int, d: int, n_heads: int, mask: Callable | None = None):
    shapes = ((batch, m, d), (batch, n, d), (d, d), (d, d), (d, d), (d, d))
    tensors = [normal(*shape, seed=seed + i) for i, shape in enumerate(shapes)]
    tensors[2:] = [matrix / math.sqrt(d) for matrix in tensors[2:]]
    return lambda: (*(tensor.clone() for tensor in tensors), n_heads, mask and mask(batch, m, n))


def strong_scores_case() -> tuple:
    """Scores in the hundreds, and exact: no finite penalty hides a masked word, and all ways of writing
    the scores agree."""
    x, source, _, _, *others = layer_case(40, 2, 4, 4, 8, 2, padding_mask)()
    return (20 * x).round(), (4 * source).round(), torch.eye(8), torch.eye(8), *others


EYE = torch.eye(2)
MANY_HEADS = PlainExercise(
    name="many_heads",
    lesson="many_heads",
    inputs=("x", "source", "w_q", "w_k", "w_v", "w_o", "n_heads", "mask"),
    reference=solutions.many_heads,
    answered_by=("torch.nn.MultiheadAttention", "torch.nn.functional.multi_head_attention_forward"),
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[[LN3, -LN3]]]),
            "source": torch.tensor([[[0.0, 0.0], [1.0, 1.0]]]),
            "w_q": EYE,
            "w_k": EYE,
            "w_v": 4 * EYE,
            "w_o": torch.tensor([[1.0, 10.0], [0.0, 1.0]]),
            "n_heads": 2,
            "mask": None,
        },
        answer=(torch.tensor([[[13.0, 1.0]]]), torch.tensor([[[[0.25, 0.75]], [[0.75, 0.25]]]])),
        says=(
            "There are two heads, and each gets one number of every word. The query of head 0 is ln 3: its "
            "scores are 0 and ln 3, its attention weights 1/4 and 3/4. The values are 0 and 4, so its "
            "context is 3. The query of head 1 is −ln 3: its attention weights are 3/4 and 1/4, and its "
            "context is 1. Concatenated, they are (3, 1). The rows of W_O give 1 · 3 + 10 · 1 = 13 and "
            "0 · 3 + 1 · 1 = 1."
        ),
    ),
    others=(  # m = n in most masked cases: swapping x and source raises no error there
        layer_case(0, 2, 3, 5, 12, 4),
        layer_case(10, 2, 4, 4, 6, 3, padding_mask),
        layer_case(20, 1, 2, 3, 8, 1),
        layer_case(30, 3, 4, 4, 8, 8, padding_mask),
        strong_scores_case,
        layer_case(50, 2, 4, 4, 8, 2, mask_for_each_query),
        layer_case(60, 3, 4, 4, 6, 2, both_masks),
        layer_case(70, 2, 3, 5, 6, 3, padding_mask),
    ),
    slips=known_mistakes(solutions.many_heads),
)

EXERCISES = (SPLIT_HEADS, TEST_SPLIT, JOIN_HEADS, MANY_HEADS)
