"""The exercises of lesson 12: split the heads, join them, and multi-head attention as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.multi_head import join_heads, split_heads
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise, wrong_only_at

LN3 = math.log(3)  # a score of 0 and a score of ln 3 give weights of exactly 1/4 and 3/4


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- split and join


# The library's functions are imported by name: the lesson's last section replaces `split_heads` there.
def split(features: Tensor, n_heads: int) -> Tensor:
    return split_heads(features, n_heads=n_heads)


def first_version(features, n_heads):
    """As in the lesson's cell, before the learner repairs it."""
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n_heads, n, d_model // n_heads)


SPLIT_CASES = (
    lambda: (normal(2, 5, 12), 3),
    lambda: (normal(5, 12, seed=1), 4),
    lambda: (normal(2, 3, 4, 6, seed=2), 2),
    lambda: (normal(2, 4, 6, seed=3), 1),
    lambda: (normal(1, 7, 5, seed=4), 5),
)

AXES_FROM_THE_FRONT = (
    "axes are counted from the front (axis 1, axis 2), which is right only with exactly one axis in front of "
    "the words. Count them from the back: −1, −2, −3."
)
KEEPS_MEMORY_ORDER = (
    "`reshape` keeps the order of the numbers in memory. It can split the last axis in two or merge two "
    "axes, but it can't swap axes."
)


def slices(features: Tensor, n_heads: int, width: int) -> Tensor:
    return torch.stack([features[..., i * width : (i + 1) * width] for i in range(n_heads)], dim=-3)


def split_words(features: Tensor, n_heads: int) -> Tensor:
    """Each head gets some whole words, and zeros if there are too few."""
    pieces = features.tensor_split(n_heads, dim=-2)
    longest = pieces[0].shape[-2]
    return torch.stack([F.pad(piece, (0, 0, 0, longest - piece.shape[-2])) for piece in pieces], dim=-3)


LAST_WORD = (..., -1, slice(None))
LAST_HEAD = (..., -1, slice(None), slice(None))


def zeros(features: Tensor, n_heads: int) -> Tensor:
    return 0 * split(features, n_heads)


def reversed_heads(features: Tensor, n_heads: int) -> Tensor:
    return split(features, n_heads).flip(-3)


SPLIT_HEADS = PlainExercise(
    name="split_heads",
    lesson="many_heads",
    inputs=("features", "n_heads"),
    reference=split,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={"features": torch.arange(12.0).reshape(1, 3, 4), "n_heads": 2},
        answer=torch.tensor([[[[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]], [[2.0, 3.0], [6.0, 7.0], [10.0, 11.0]]]]),
        says="There are three words: 0 1 2 3, then 4 5 6 7, then 8 9 10 11. Head 0 gets the first two "
        "numbers of every word: 0 1, 4 5, 8 9. Head 1 gets the last two: 2 3, 6 7, 10 11.",
    ),
    others=SPLIT_CASES,
    slips=(
        Slip(
            "no-transpose",
            lambda features, n_heads: features.unflatten(-1, (n_heads, -1)),
            "the vectors are split, but the words still come before the heads: the axes are (words, heads, "
            "head size). Swap the first two of these.",
        ),
        Slip(
            "swapped-after-reshape",
            lambda features, n_heads: first_version(features, n_heads).transpose(-3, -2),
            "the axes are swapped after a reshape that has mixed the words already. First split the last "
            "axis in two, and then swap.",
        ),
        Slip(
            "transposed-first",
            lambda features, n_heads: first_version(features.mT.reshape(features.shape), n_heads),
            "words and features are swapped before the reshape, so each head mixes the words. First split "
            "the last axis in two, and then swap.",
        ),
        Slip(
            "reshaped-to-columns",
            lambda features, n_heads: (
                features.reshape(*features.shape[:-2], n_heads, -1, features.shape[-2]).mT
            ),
            f"the words are mixed. {KEEPS_MEMORY_ORDER}",
        ),
        Slip(
            "swaps-heads-and-size",
            lambda features, n_heads: features.unflatten(-1, (n_heads, -1)).mT,
            "the last two axes are swapped: (words, head size, heads). Swap words and heads instead.",
        ),
        Slip(
            "swaps-words-and-size",
            lambda features, n_heads: features.unflatten(-1, (n_heads, -1)).transpose(-3, -1),
            "the axes are (head size, heads, words): words and head size are swapped. Swap words and heads "
            "instead.",
        ),
        Slip(
            "interleaved",
            lambda features, n_heads: features.unflatten(-1, (-1, n_heads)).movedim(-1, -3),
            "head 0 gets every n_heads-th number of a word. It should get the first d_model / n_heads "
            "numbers, which are adjacent.",
        ),
        Slip(
            "sizes-swapped",
            lambda features, n_heads: features.unflatten(-1, (-1, n_heads)).transpose(-3, -2),
            "the two new axes have each other's size: there are d_model / n_heads heads with n_heads numbers "
            "each. It should be the other way round.",
        ),
        Slip(
            "slices-n-heads-wide",
            lambda features, n_heads: slices(features, n_heads, n_heads),
            "each slice is n_heads numbers wide. The width of a slice is d_model / n_heads.",
        ),
        Slip(
            "transposed-heads",
            lambda features, n_heads: split(features, n_heads).mT,
            "each head's matrix is transposed: its axes are (head size, words). Its rows should be words.",
        ),
        Slip(
            "heads-reversed",
            reversed_heads,
            "the heads are in reverse order. Head 0 gets the first numbers of each word.",
        ),
        Slip(
            "axes-from-the-front",
            lambda features, n_heads: features.unflatten(-1, (n_heads, -1)).transpose(1, 2),
            AXES_FROM_THE_FRONT,
        ),
        Slip(
            "stacked-on-axis-1",
            lambda features, n_heads: split(features, n_heads).movedim(-3, 1),
            "the heads are always axis 1, which is right only with exactly one axis in front of the words. "
            "Count from the back: −3.",
        ),
        Slip(
            "heads-below-each-other",
            lambda features, n_heads: split(features, n_heads).flatten(-3, -2),
            "the slices are concatenated along the words. The heads should have an axis of their own.",
        ),
        Slip(
            "two-heads",
            lambda features, n_heads: split(features, 2),
            "there are always two heads. Use `n_heads`.",
        ),
        Slip(
            "heads-before-batch",
            lambda features, n_heads: split(features, n_heads).movedim(-3, 0),
            "the heads come first, in front of the batch, as in a list or tuple of heads. Return one tensor "
            "in which the axis of the heads comes directly before the words.",
        ),
        Slip(
            "batch-flattened",
            lambda features, n_heads: split(features.reshape(-1, *features.shape[-2:]), n_heads),
            "all axes in front of the words are merged into one. They should stay as they are, however many "
            "there are.",
        ),
        Slip(
            "squeezed",
            lambda features, n_heads: split(features, n_heads).squeeze(),
            "`squeeze()` removes every axis of size 1: a batch of one sentence, a single head. Leave it out.",
        ),
        Slip(
            "single-head-squeezed",
            lambda features, n_heads: split(features, n_heads).squeeze(-3),
            "a single head has no axis of its own. Keep the axis of the heads, even if its size is 1.",
        ),
        Slip(
            "splits-words",
            split_words,
            "the words are divided among the heads. Every head gets all words, and of each word a slice of "
            "its vector.",
        ),
        Slip(
            "whole-vectors",
            lambda features, n_heads: torch.stack([features] * n_heads, dim=-3),
            "every head gets the whole vector of each word. It should get only its own slice.",
        ),
        Slip(
            "same-slice",
            lambda features, n_heads: torch.stack([split(features, n_heads)[..., 0, :, :]] * n_heads, dim=-3),
            "every head gets the first slice of each word. Head 1 should get the second, and so on.",
        ),
        Slip(
            "last-word-missing",
            wrong_only_at(LAST_WORD, split, zeros),
            "the last word is missing in every head. Does a loop end too early?",
        ),
        Slip(
            "last-head-missing",
            wrong_only_at(LAST_HEAD, split, zeros),
            "the last head is missing. Does a loop end too early?",
        ),
    ),
)


# ---- the test of the split


def reversed_words(features: Tensor, n_heads: int) -> Tensor:
    return split(features, n_heads).flip(-2)


def by_loop(features: Tensor, n_heads: int) -> Tensor:
    return slices(features, n_heads, features.shape[-1] // n_heads)


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
        "reshapes straight to the final shape and mixes the words": first_version,
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


def join(features: Tensor) -> Tensor:
    return join_heads(features)


def join_by_reshape(features: Tensor) -> Tensor:
    return features.reshape(*features.shape[:-3], features.shape[-2], -1)


JOIN_HEADS = PlainExercise(
    name="join_heads",
    lesson="many_heads",
    inputs=("features",),
    reference=join,
    by_hand=ByHand(
        inputs={"features": torch.tensor([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]])},
        answer=torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]),
        says="Head 0 has 1 2 for the first word and 5 6 for the second; head 1 has 3 4 and 7 8. "
        "Concatenated, the first word is 1 2 3 4 and the second is 5 6 7 8.",
    ),
    others=(
        lambda: (normal(2, 3, 5, 4),),
        lambda: (normal(4, 5, 3, seed=1),),
        lambda: (normal(2, 1, 4, 6, seed=2),),
        lambda: (normal(2, 3, 2, 4, 5, seed=3),),
        lambda: (split(normal(2, 6, 8, seed=4), 4),),
        lambda: (normal(1, 3, 1, 2, seed=5),),  # a single sentence of a single word
    ),
    slips=(
        Slip(
            "reshape-alone",
            join_by_reshape,
            "the shape is right, but each row contains several words of one head. `reshape` keeps the order "
            "of the numbers in memory. Swap heads and words first, and then merge the last two axes.",
            misconception="M34",
        ),
        Slip(
            "swaps-last-two",
            lambda features: join_by_reshape(features.mT.reshape(features.shape)),
            "the words are mixed: the last two axes are swapped before the reshape. Swap heads and words "
            "instead.",
        ),
        Slip(
            "reshaped-to-columns",
            lambda features: features.reshape(*features.shape[:-3], -1, features.shape[-2]).mT,
            f"the words are mixed. {KEEPS_MEMORY_ORDER}",
        ),
        Slip(
            "heads-below-each-other",
            lambda features: features.flatten(-3, -2),
            "the heads are concatenated along the words, which makes n_heads · n rows. Concatenate them "
            "along the last axis: one row for each word.",
        ),
        Slip(
            "adds-heads",
            lambda features: features.sum(-3),
            "the heads are added up. Concatenate them; mixing them is W_O's job.",
        ),
        Slip(
            "mean-of-heads",
            lambda features: features.mean(-3),
            "the heads are averaged. Concatenate them; mixing them is W_O's job.",
        ),
        Slip(
            "interleaved",
            lambda features: features.movedim(-3, -1).flatten(-2),
            "the heads are interleaved: the first number of every head, then the second of every head. All "
            "numbers of head 0 come first, then all of head 1.",
        ),
        Slip(
            "not-flattened",
            lambda features: features.transpose(-3, -2),
            "the words come first now, but the heads still have an axis of their own. Merge the last two "
            "axes.",
        ),
        Slip(
            "words-flattened",
            lambda features: features.flatten(-2),
            "all words of a head are concatenated: there is one row for each head. There should be one row "
            "for each word, so swap heads and words first.",
        ),
        Slip(
            "wrong-axes-merged",
            lambda features: features.transpose(-3, -2).flatten(-3, -2),
            "words and heads are merged, which makes n · n_heads rows. After the swap, merge the last two "
            "axes: heads and size.",
        ),
        Slip(
            "everything-flattened",
            lambda features: features.transpose(-3, -2).flatten(-3),
            "all words are in one row. Merge the last two axes only: one row for each word.",
        ),
        Slip(
            "largest-of-heads",
            lambda features: features.amax(-3),
            "the largest number of all heads is returned. Concatenate the heads; mixing them is W_O's job.",
        ),
        Slip(
            "last-head-missing",
            lambda features: join(features[..., :-1, :, :]),
            "the last head is missing. Does a loop end too early?",
        ),
        Slip(
            "batch-lost",
            lambda features: features.transpose(-3, -2).reshape(features.shape[-2], -1),
            "the axes in front are merged with the others. They should stay as they are.",
        ),
        Slip(
            "batch-expected",
            lambda features: features.transpose(-3, -2).reshape(features.shape[0], features.shape[-2], -1),
            "the first axis is always treated as the batch. There may be none, or several axes in front.",
        ),
        Slip(
            "one-head-only",
            lambda features: features[..., 0, :, :],
            "only head 0 is returned. Concatenate all heads.",
        ),
        Slip(
            "transposed",
            lambda features: join(features).mT,
            "the result is transposed: its axes are (n_heads · size, words). The words should be its rows.",
        ),
        Slip(
            "heads-reversed",
            lambda features: join(features.flip(-3)),
            "the heads are in reverse order. The numbers of head 0 come first.",
        ),
        Slip(
            "axes-from-the-front",
            lambda features: features.transpose(1, 2).flatten(-2),
            AXES_FROM_THE_FRONT,
        ),
        Slip(
            "flattened-from-axis-2",
            lambda features: features.transpose(-3, -2).flatten(2),
            AXES_FROM_THE_FRONT,
        ),
        Slip(
            "joins-first-axis",
            lambda features: torch.cat(list(features), dim=-1),
            "the first axis is treated as the heads, but it is the batch if there is one. The heads are the "
            "third axis from the back.",
        ),
        Slip(
            "two-heads-only",
            lambda features: join(features[..., [0, -1], :, :]),
            "only two heads are concatenated, the first and the last. There may be any number of heads.",
        ),
        Slip(
            "squeezed",
            lambda features: join(features).squeeze(),
            "`squeeze()` removes every axis of size 1: a batch of one sentence, a sentence of one word. "
            "Leave it out.",
        ),
    ),
)


# ---- multi-head attention


def layer(
    x, source, w_q, w_k, w_v, w_o, n_heads, mask=None, *, split=split, join=join, attend=attend, scale=1.0
):
    """Multi-head attention; other versions of its steps make it wrong."""
    projections = (scale * (x @ w_q.mT), source @ w_k.mT, source @ w_v.mT)
    query, keys, values = (split(projection, n_heads) for projection in projections)
    context, weights = attend(query, keys, values, mask=mask)
    return join(context) @ w_o.mT, weights


def layer_with(**steps: Any) -> Callable:
    return lambda *inputs: layer(*inputs, **steps)


def attend_with(weigh: Callable[[Tensor, Tensor | None], Tensor]) -> Callable:
    """Attention with another way from scores (and a mask or None) to attention weights."""

    def attends(query, keys, values, mask=None):
        weights = weigh(query @ keys.mT / math.sqrt(keys.shape[-1]), mask)
        return weights @ values, weights

    return attends


def where_masked(change: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    return lambda scores, mask: scores if mask is None else change(scores, mask)


def masked_after_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    return where_masked(torch.mul)(scores.softmax(-1), mask)


def over_queries(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores.masked_fill(torch.zeros(()).bool() if mask is None else ~mask, -math.inf).softmax(-2)


def over_heads(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores.masked_fill(torch.zeros(()).bool() if mask is None else ~mask, -math.inf).softmax(-3)


def exp_without_shift(scores: Tensor, mask: Tensor | None) -> Tensor:
    powers = scores.exp() if mask is None else scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True)


def masked_and_renormalised(scores: Tensor, mask: Tensor | None) -> Tensor:
    weights = masked_after_softmax(scores, mask)
    return weights / weights.sum(-1, keepdim=True)


def returns_unmasked(query, keys, values, mask=None):
    return attend(query, keys, values, mask=mask)[0], attend(query, keys, values)[1]


def returns_scores(query, keys, values, mask=None):
    return attend(query, keys, values, mask=mask)[0], query @ keys.mT / math.sqrt(keys.shape[-1])


def weights_changed(change: Callable[[Tensor], Tensor]) -> Callable:
    def changed(*inputs):
        output, weights = layer(*inputs)
        return output, change(weights)

    return changed


def one_wide_head(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layer(x, source, w_q, w_k, w_v, w_o, 1, mask)


def one_head_copied(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = one_wide_head(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output, weights.expand(-1, n_heads, -1, -1)


def without_matrix(index: int) -> Callable:
    """Without one of the projections: its matrix is the identity."""

    def unprojected(*inputs):
        changed = list(inputs)
        changed[index] = torch.eye(len(inputs[index]))
        return layer(*changed)

    return unprojected


def with_copied_matrix(index: int, of: int) -> Callable:
    """One matrix is used twice, and another one not at all."""
    return lambda *inputs: layer(*inputs[:index], inputs[of], *inputs[index + 1 :])


def with_transposed(*names: str) -> Callable:
    """These matrices are used as (in, out)."""
    return lambda *inputs: layer(
        *(value.T if name in names else value for name, value in zip(INPUTS, inputs, strict=False))
    )


def from_x(name: str) -> Callable:
    """The keys or the values alone are computed from x."""

    def changed_layer(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
        sources = {"keys": source, "values": source} | {name: x}
        projections = (x @ w_q.mT, sources["keys"] @ w_k.mT, sources["values"] @ w_v.mT)
        context, weights = attend(*(split(made, n_heads) for made in projections), mask=mask)
        return join(context) @ w_o.mT, weights

    return changed_layer


def with_mask(change: Callable[[Tensor], Tensor]) -> Callable:
    return lambda *inputs: layer(*inputs[:7], None if inputs[7] is None else change(inputs[7]))


def always_causal(*inputs):
    causal = torch.ones(inputs[0].shape[1], inputs[1].shape[1]).tril() == 1
    return layer(*inputs[:7], causal if inputs[7] is None else inputs[7] & causal)


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
OUT_IN = "They have torch's orientation, (out, in)."
INPUTS = ("x", "source", "w_q", "w_k", "w_v", "w_o", "n_heads", "mask")
MANY_HEADS = PlainExercise(
    name="many_heads",
    lesson="many_heads",
    inputs=INPUTS,
    reference=layer,
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
    slips=(
        Slip(
            "one-wide-head",
            one_wide_head,
            "there is only one head, of the full width. Split queries, keys and values before the attention.",
        ),
        Slip(
            "one-head-copied",
            one_head_copied,
            "there is only one head, of the full width, and its attention weights are repeated for every "
            "head. Split queries, keys and values before the attention.",
        ),
        Slip(
            "split-by-reshape",
            layer_with(split=first_version),
            "numbers of different words are mixed when the heads are split: a single reshape to the final "
            "shape does that.",
            misconception="M34",
        ),
        Slip(
            "join-by-reshape",
            layer_with(join=join_by_reshape),
            "numbers of different words are mixed when the heads are concatenated. Swap heads and words "
            "first.",
            misconception="M34",
        ),
        Slip(
            "split-and-join-by-reshape",
            layer_with(split=first_version, join=join_by_reshape),
            "numbers of different words are mixed when the heads are split, and again when they are "
            "concatenated: `reshape` alone can't swap axes.",
            misconception="M34",
        ),
        Slip(
            "no-output-projection",
            without_matrix(5),
            "the concatenated heads are returned without the output projection. Multiply them by `w_o`.",
        ),
        *(
            Slip(
                f"no-{name}-projection",
                without_matrix(index),
                f"the {name} are not projected. Multiply by `w_{name[0]}` before you split.",
            )
            for index, name in ((2, "queries"), (3, "keys"), (4, "values"))
        ),
        Slip(
            "matrices-not-transposed",
            with_transposed("w_q", "w_k", "w_v", "w_o"),
            f"all four matrices are used as if their shape were (in, out). {OUT_IN} Multiply by `w_q.T`, "
            "`w_k.T`, `w_v.T` and `w_o.T`.",
        ),
        Slip(
            "projections-not-transposed",
            with_transposed("w_q", "w_k", "w_v"),
            f"`w_q`, `w_k` and `w_v` are used as if their shape were (in, out). {OUT_IN} Multiply by their "
            "transposes, as you do with `w_o`.",
        ),
        Slip(
            "output-not-transposed",
            with_transposed("w_o"),
            f"`w_o` is used as if its shape were (in, out). {OUT_IN} Multiply by `w_o.T`.",
        ),
        Slip(
            "queries-from-source",
            lambda x, source, *rest: layer(source, source, *rest),
            "the queries are computed from `source`. They come from `x`.",
        ),
        Slip(
            "everything-from-x",
            lambda x, source, *rest: layer(x, x, *rest),
            "keys and values are computed from `x`. They come from `source`.",
        ),
        Slip(
            "x-and-source-swapped",
            lambda x, source, *rest: layer(source, x, *rest),
            "`x` and `source` are swapped. The queries come from `x`, the keys and values from `source`.",
        ),
        *(
            Slip(
                f"{name}-from-x", from_x(name), f"the {name} are computed from `x`. They come from `source`."
            )
            for name in ("keys", "values")
        ),
        *(
            Slip(
                f"{used}-twice-no-{unused}",
                with_copied_matrix(INPUTS.index(unused), INPUTS.index(used)),
                f"`{used}` is used twice, and `{unused}` not at all.",
            )
            for used, unused in (("w_q", "w_k"), ("w_q", "w_v"), ("w_k", "w_v"), ("w_v", "w_k"))
        ),
        Slip(
            "keys-and-values-swapped",
            lambda x, source, w_q, w_k, w_v, *rest: layer(x, source, w_q, w_v, w_k, *rest),
            "keys and values are swapped, in the projections or in the attention.",
        ),
        Slip(
            "queries-and-keys-swapped",
            layer_with(attend=lambda query, keys, values, mask: attend(keys, query, values, mask=mask)),
            "queries and keys are swapped in the attention. Pass the queries first.",
        ),
        Slip(
            "root-of-d-model",
            lambda *inputs: layer(*inputs, scale=1 / math.sqrt(inputs[6])),
            "the scores are divided by √d_model. Each head divides by the square root of its own width, "
            "d_model / n_heads.",
            misconception="M08",
        ),
        Slip(
            "scaled-twice",
            lambda *inputs: layer(*inputs, scale=math.sqrt(inputs[6] / inputs[0].shape[-1])),
            "the scores are divided by the width of a head instead of its square root. Are they scaled "
            "twice? `scaled_attention` and `masked_attention` already divide by the square root.",
        ),
        Slip(
            "not-scaled",
            lambda *inputs: layer(*inputs, scale=math.sqrt(inputs[0].shape[-1] / inputs[6])),
            "the scores aren't divided by the square root of the head's width (lesson 08).",
        ),
        Slip(
            "softmax-over-queries",
            layer_with(attend=attend_with(over_queries)),
            "the softmax is taken over the queries. Take it over the keys, the last axis of the scores.",
        ),
        Slip(
            "softmax-over-heads",
            layer_with(attend=attend_with(over_heads)),
            "the softmax is taken over the heads. Take it over the keys, the last axis of the scores.",
        ),
        Slip(
            "overflow",
            layer_with(attend=attend_with(exp_without_shift)),
            "large scores overflow in `exp`, and inf / inf is NaN. Use `torch.softmax`, which subtracts the "
            "largest score first.",
        ),
        Slip(
            "two-heads",
            lambda *inputs: layer(*inputs[:6], 2, *inputs[7:]),
            "there are always two heads. Use `n_heads`.",
        ),
        Slip(
            "ignores-mask",
            with_mask(torch.ones_like),
            "`mask` has no effect. Pass it on to the attention.",
        ),
        Slip(
            "mask-inverted",
            with_mask(torch.logical_not),
            "the mask is inverted. True means that a word may be attended to.",
        ),
        Slip(
            "first-mask-for-all",
            with_mask(lambda mask: mask[:1]),
            "the mask of the first sentence is used for the whole batch. Every sentence has its own.",
        ),
        Slip(
            "mask-of-the-first-query",
            with_mask(lambda mask: mask[..., :1, :]),
            "the first row of the mask is used for all queries. That is right for a padding mask, but in a "
            "causal mask every query has its own row. Pass the mask on unchanged.",
        ),
        Slip(
            "always-causal",
            always_causal,
            "a causal mask is always applied. `mask` contains everything that has to be masked.",
        ),
        Slip(
            "masked-after-softmax",
            layer_with(attend=attend_with(masked_after_softmax)),
            "the mask is applied to the attention weights, so a row no longer sums to 1. Mask the scores, "
            "before the softmax.",
        ),
        Slip(
            "masked-and-renormalised",
            layer_with(attend=attend_with(masked_and_renormalised)),
            "the mask is applied after the softmax. If a masked word has by far the highest score, all other "
            "weights are 0, and 0 / 0 is NaN. Mask the scores, before the softmax.",
        ),
        Slip(
            "mask-added",
            layer_with(attend=attend_with(lambda *it: where_masked(torch.add)(*it).softmax(-1))),
            "the mask is added to the scores as 0 and 1. A masked score has to be −∞.",
        ),
        Slip(
            "scores-times-mask",
            layer_with(attend=attend_with(lambda *it: where_masked(torch.mul)(*it).softmax(-1))),
            "the scores are multiplied by the mask. A score of 0 still gets attention; a masked score has to "
            "be −∞.",
        ),
        Slip(
            "adds-x",
            lambda x, *rest: (x + layer(x, *rest)[0], layer(x, *rest)[1]),
            "`x` is added to the output. The residual connection comes in lesson 13, outside this function.",
        ),
        Slip(
            "only-output",
            lambda *inputs: layer(*inputs)[0],
            "only the output is returned. Return two things, the output and the attention weights.",
        ),
        Slip(
            "outputs-swapped",
            lambda *inputs: layer(*inputs)[::-1],
            "the two results are in the wrong order. Return the output first, then the attention weights.",
        ),
        Slip(
            "mean-weights",
            weights_changed(lambda weights: weights.mean(-3)),
            "the attention weights are averaged over the heads. Return a matrix for each head.",
        ),
        *(
            Slip(
                f"weights-of-{name}",
                weights_changed(change),
                "there is one matrix of attention weights for all heads. Return one for each head.",
            )
            for name, change in {
                "head-0": lambda weights: weights[:, 0],
                "all-heads-added": lambda weights: weights.sum(1),
            }.items()
        ),
        Slip(
            "weights-heads-first",
            weights_changed(lambda weights: weights.transpose(0, 1)),
            "the heads are the first axis of the attention weights, as in a list of heads. Return one tensor "
            "with the axes (batch, heads, m, n).",
        ),
        Slip(
            "unmasked-weights",
            layer_with(attend=returns_unmasked),
            "the output is masked, but the attention weights that are returned aren't.",
        ),
        Slip(
            "scores-as-weights",
            layer_with(attend=returns_scores),
            "the scores are returned. The attention weights are their softmax.",
        ),
    ),
)

EXERCISES = (SPLIT_HEADS, TEST_SPLIT, JOIN_HEADS, MANY_HEADS)
