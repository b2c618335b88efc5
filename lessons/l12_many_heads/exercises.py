"""The exercises of lesson 12: split, join, attend in every head, the whole layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from course_lib.layers.attention import attend
from course_lib.layers.multi_head import join_heads, multi_head, split_heads
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TestExercise

LN3 = math.log(3)  # a score of 0 and a score of ln 3 give weights of exactly 1/4 and 3/4


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator("cpu").manual_seed(seed))


# ---- split and join


# The library's functions are imported by name: the lesson replaces them in their module by what `yours`
# returns, which may be the functions below.
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

SPLIT_HEADS = PlainExercise(
    name="split_heads",
    lesson="many_heads",
    inputs=("features", "n_heads"),
    reference=split,
    unrepaired=first_version,
    by_hand=ByHand(
        inputs={"features": torch.arange(12.0).reshape(1, 3, 4), "n_heads": 2},
        answer=torch.tensor([[[[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]], [[2.0, 3.0], [6.0, 7.0], [10.0, 11.0]]]]),
        says="Three words: 0 1 2 3, then 4 5 6 7, then 8 9 10 11. Head 0 gets the first two numbers of every "
        "word: 0 1, 4 5, 8 9. Head 1 gets the last two: 2 3, 6 7, 10 11.",
    ),
    others=SPLIT_CASES,
    slips=(
        Slip(
            "no-transpose",
            lambda features, n_heads: features.unflatten(-1, (n_heads, -1)),
            "the vectors are cut, but words still come before heads: the axes are (words, heads, head_dim). "
            "Bring the heads forward: `transpose(-3, -2)`.",
        ),
        Slip(
            "every-other-number",
            lambda features, n_heads: features.unflatten(-1, (-1, n_heads)).movedim(-1, -3),
            "head 0 gets every n_heads-th number of a word. It should get the first d_model / n_heads "
            "numbers, next to one another.",
        ),
        Slip(
            "lying-on-its-side",
            lambda features, n_heads: split(features, n_heads).mT,
            "each head's table lies on its side: (heads, head_dim, words). Words are rows.",
        ),
        Slip(
            "heads-from-the-back",
            lambda features, n_heads: split(features, n_heads).flip(-3),
            "the heads come in the wrong order: head 0 gets the first numbers of each word.",
        ),
    ),
)


def careful_test(split_heads: Callable) -> None:
    features = torch.arange(120.0).reshape(2, 5, 12)
    heads = split_heads(features, 3)
    assert heads.shape == (2, 3, 5, 4)
    for head in range(3):
        assert torch.equal(heads[:, head], features[:, :, 4 * head : 4 * head + 4])


def by_loop(features: Tensor, n_heads: int) -> Tensor:
    width = features.shape[-1] // n_heads
    return torch.stack([features[..., i * width : (i + 1) * width] for i in range(n_heads)], dim=-3)


def by_reshape_and_transpose(features: Tensor, n_heads: int) -> Tensor:
    *lead, n, width = features.shape
    return features.reshape(*lead, n, n_heads, width // n_heads).transpose(-3, -2)


def with_head_replaced(features: Tensor, n_heads: int, head: int, by: int) -> Tensor:
    """Right except for one head, which gets the slice of another."""
    heads = split(features, n_heads).clone()
    heads[..., head, :, :] = heads[..., by, :, :].clone()
    return heads


def with_words_reversed(features: Tensor, n_heads: int, words: slice) -> Tensor:
    """Right except for some words, whose heads are in reverse order."""
    heads = split(features, n_heads).clone()
    heads[..., words, :] = heads[..., words, :].flip(-3)
    return heads


# Each is wrong for some heads or words only. They are for learners' tests, which must reject them.
PARTLY_WRONG = (
    Slip("cuts-the-words", first_version, "words are mixed.", misconception="M34"),
    Slip(
        "last-head",
        lambda features, n_heads: with_head_replaced(features, n_heads, -1, 0),
        "the last is wrong.",
    ),
    Slip(
        "head-zero",
        lambda features, n_heads: with_head_replaced(features, n_heads, 0, -1),
        "head 0 is wrong.",
    ),
    Slip(
        "last-word",
        lambda features, n_heads: with_words_reversed(features, n_heads, slice(-1, None)),
        "the last word is wrong.",
    ),
    Slip(
        "later-words",
        lambda features, n_heads: with_words_reversed(features, n_heads, slice(1, None)),
        "only the first word is right.",
    ),
)

TEST_SPLIT = TestExercise(
    name="test_split",
    lesson="many_heads",
    inputs={"split": "a function"},
    of=replace(SPLIT_HEADS, unrepaired=None, slips=(*SPLIT_HEADS.slips, *PARTLY_WRONG)),
    what="split",
    accepts={"with a loop": by_loop, "with reshape": by_reshape_and_transpose},
    rejects={
        "no-transpose": "leaves the words before the heads",
        "every-other-number": "deals the numbers out like cards",
        "lying-on-its-side": "lays each head's table on its side",
        "heads-from-the-back": "hands out the heads in reverse order",
        "cuts-the-words": "cuts the memory as it lies and mixes the words",
        "last-head": "hands the last head the slice of head 0",
        "head-zero": "hands head 0 the slice of the last head",
        "last-word": "is right for every word but the last",
        "later-words": "is right for the first word alone",
    },
    reference=careful_test,
)


def join(features: Tensor) -> Tensor:
    return join_heads(features)


JOIN_HEADS = PlainExercise(
    name="join_heads",
    lesson="many_heads",
    inputs=("features",),
    reference=join,
    by_hand=ByHand(
        inputs={"features": torch.tensor([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]])},
        answer=torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]),
        says="Head 0 has 1 2 for the first word and 5 6 for the second; head 1 has 3 4 and 7 8. End to end, "
        "the first word is 1 2 3 4 and the second 5 6 7 8.",
    ),
    others=(
        lambda: (normal(2, 3, 5, 4),),
        lambda: (normal(4, 5, 3, seed=1),),
        lambda: (normal(2, 1, 4, 6, seed=2),),
        lambda: (normal(2, 3, 2, 4, 5, seed=3),),
        lambda: (split(normal(2, 6, 8, seed=4), 4),),
    ),
    slips=(
        Slip(
            "reshape-alone",
            lambda features: features.reshape(
                *features.shape[:-3], features.shape[-2], features.shape[-3] * features.shape[-1]
            ),
            "the shape is right, but the memory is cut as it lies: a row holds several words of one head. "
            "Swap heads and words first, then lay the last two axes end to end.",
            misconception="M34",
        ),
        Slip(
            "words-end-to-end",
            lambda features: features.flatten(-3, -2),
            "the heads stand below one another: n_heads · words rows. They belong side by side, in one row "
            "for each word.",
        ),
        Slip(
            "adds-heads",
            lambda features: features.sum(-3),
            "the heads are added up. Each keeps its own place in the row; mixing is W_O's job.",
        ),
        Slip(
            "mean-of-heads",
            lambda features: features.mean(-3),
            "the heads are averaged. Each keeps its own place in the row.",
        ),
        Slip(
            "interleaved",
            lambda features: features.movedim(-3, -1).flatten(-2),
            "the heads' numbers are dealt out like cards: first of head 0, first of head 1, and so on. First "
            "all numbers of head 0, then all of head 1.",
        ),
        Slip(
            "not-flattened",
            lambda features: features.transpose(-3, -2),
            "words come first now, but the heads are still an axis of their own. Lay the last two axes end "
            "to end: `flatten(-2)`.",
        ),
    ),
)


# ---- attention in every head


def in_every_head(query, keys, values, mask=None, causal=False, with_weights=True):
    return multi_head(query, keys, values, mask=mask, causal=causal, with_weights=True)


def with_causal_mask(triangle: Callable[[Tensor], Tensor]) -> Callable:
    """Attention with another triangle as its causal mask."""

    def attends(query, keys, values, mask=None, causal=False, with_weights=True):
        if causal:
            mask = triangle(torch.ones(query.shape[-2], keys.shape[-2])) == 1
        return attend(query, keys, values, mask=mask)

    return attends


def with_mean_weights(query, keys, values, mask=None, causal=False, with_weights=True):
    _, weights = in_every_head(query, keys, values, mask, causal)
    mean = weights.mean(dim=1, keepdim=True).expand_as(weights)
    return mean @ values, mean


def heads_case(seed: int, mask: Tensor | None = None, *, causal: bool = False, scale: float = 1.0):
    shape = (2, 3, 4, 5)
    return lambda: (
        scale * normal(*shape, seed=seed),
        normal(*shape, seed=seed + 1),
        normal(*shape, seed=seed + 2),
        mask,
        causal,
        True,
    )


SHORT_SENTENCES = (torch.arange(4) < torch.tensor([[3], [2]]))[:, None, None]  # of 3 and of 2 words
LN3_KEY = [LN3, 0.0, 0.0, 0.0]
MULTI_HEAD = PlainExercise(
    name="multi_head",
    lesson="many_heads",
    inputs=("query", "keys", "values", "mask", "causal", "with_weights"),
    reference=in_every_head,
    by_hand=ByHand(
        inputs={
            "query": torch.tensor([[[[2.0, 0, 0, 0], [2.0, 0, 0, 0]], [[-2.0, 0, 0, 0], [0.0, 0, 0, 0]]]]),
            "keys": torch.tensor([[[[0.0] * 4, LN3_KEY], [[0.0] * 4, LN3_KEY]]]),
            "values": torch.tensor([[[[4.0], [8.0]], [[40.0], [80.0]]]]),
            "mask": None,
            "causal": False,
            "with_weights": True,
        },
        answer=(
            torch.tensor([[[[7.0], [7.0]], [[50.0], [60.0]]]]),
            torch.tensor([[[[0.25, 0.75], [0.25, 0.75]], [[0.75, 0.25], [0.5, 0.5]]]]),
        ),
        says="Keys have four numbers, and √4 = 2. In head 0 both queries score 0 and 2 · ln 3 / 2 = ln 3: "
        "weights 1/4, 3/4, and 1/4 · 4 + 3/4 · 8 = 7. In head 1 the first query scores 0 and −ln 3: weights "
        "3/4 and 1/4, 3/4 · 40 + 1/4 · 80 = 50; the second scores 0 twice: 60.",
    ),
    others=(
        lambda: (
            normal(2, 3, 4, 5),
            normal(2, 3, 6, 5, seed=1),
            normal(2, 3, 6, 7, seed=2),
            None,
            False,
            True,
        ),
        heads_case(3, SHORT_SENTENCES),
        heads_case(6, causal=True),
        heads_case(9, (torch.ones(4, 4).tril() == 1) & (torch.arange(4) < 3)),
        heads_case(12, SHORT_SENTENCES, scale=30.0),  # a hidden score far above the others
    ),
    slips=(
        Slip(
            "ignores-causal",
            lambda q, k, v, mask, causal, with_weights: in_every_head(q, k, v, mask),
            "`causal=True` changes nothing. Then each word may look at itself and back, never ahead.",
        ),
        Slip(
            "ignores-mask",
            lambda q, k, v, mask, causal, with_weights: in_every_head(q, k, v, None, causal),
            "`mask` changes nothing: hidden keys still get weight.",
        ),
        Slip(
            "looks-ahead",
            with_causal_mask(torch.triu),
            "with `causal` each word looks ahead, not back. Row i may be True in columns 0 to i: `tril`.",
        ),
        Slip(
            "not-at-itself",
            with_causal_mask(lambda ones: ones.tril(-1)),
            "with `causal` a word looks back, but not at itself. The diagonal is True too: `tril()`.",
        ),
        Slip(
            "turned-mask",
            lambda q, k, v, mask, causal, with_weights: in_every_head(
                q, k, v, None if mask is None else ~mask, causal
            ),
            "the mask is turned round. `True` means *may look*.",
        ),
        Slip(
            "one-table-for-all",
            with_mean_weights,
            "every head has the same table of weights. Each head shares out by itself.",
        ),
        Slip(
            "only-context",
            lambda *inputs: in_every_head(*inputs)[0],
            "only the context came back. Return two things: context and weights.",
        ),
        Slip(
            "not-scaled",
            lambda q, *rest: in_every_head(q * math.sqrt(q.shape[-1]), *rest),
            "the scores are not divided by the root of a key's width (lesson 08).",
        ),
        Slip(
            "root-of-all-heads",
            lambda q, *rest: in_every_head(q / math.sqrt(q.shape[1]), *rest),
            "the scores are divided by √d_model, the width of all heads together. Each head divides by the "
            "root of its own width.",
            misconception="M08",
        ),
    ),
)


# ---- the whole layer


def layer(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None, *, split=split, join=join, scale=1.0):
    projections = (scale * (x @ w_q), source @ w_k, source @ w_v)
    query, keys, values = (split(projection, n_heads) for projection in projections)
    context, weights = attend(query, keys, values, mask=mask)
    return join(context) @ w_o, weights


def one_wide_head(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layer(x, source, w_q, w_k, w_v, w_o, 1, mask)


def no_output(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layer(x, source, w_q, w_k, w_v, torch.eye(len(w_o)), n_heads, mask)


def mean_weights(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    out, weights = layer(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return out, weights.mean(-3)


def layer_case(seed: int, batch: int, m: int, n: int, d: int, n_heads: int, masked: bool):
    shapes = ((batch, m, d), (batch, n, d), (d, d), (d, d), (d, d), (d, d))
    tensors = [normal(*shape, seed=seed + i) for i, shape in enumerate(shapes)]
    tensors[2:] = [matrix / math.sqrt(d) for matrix in tensors[2:]]
    mask = (torch.arange(n) < n - torch.arange(batch)[:, None])[:, None, None] if masked else None
    return lambda: (*(tensor.clone() for tensor in tensors), n_heads, mask)


EYE = torch.eye(2)
MANY_HEADS = PlainExercise(
    name="many_heads",
    lesson="many_heads",
    inputs=("x", "source", "w_q", "w_k", "w_v", "w_o", "n_heads", "mask"),
    reference=layer,
    by_hand=ByHand(
        inputs={
            "x": torch.tensor([[[LN3, -LN3]]]),
            "source": torch.tensor([[[0.0, 0.0], [1.0, 1.0]]]),
            "w_q": EYE,
            "w_k": EYE,
            "w_v": 4 * EYE,
            "w_o": torch.tensor([[1.0, 0.0], [10.0, 1.0]]),
            "n_heads": 2,
            "mask": None,
        },
        answer=(torch.tensor([[[13.0, 1.0]]]), torch.tensor([[[[0.25, 0.75]], [[0.75, 0.25]]]])),
        says="Two heads of one number each. Head 0 asks with ln 3: scores 0 and ln 3, weights 1/4 and 3/4, "
        "values 0 and 4, blend 3. Head 1 asks with −ln 3: weights 3/4 and 1/4, blend 1. Joined: (3, 1). "
        "Times W_O: 3 · 1 + 1 · 10 = 13, and 3 · 0 + 1 · 1 = 1.",
    ),
    others=(
        layer_case(0, 2, 3, 5, 12, 4, masked=False),
        layer_case(10, 2, 4, 4, 6, 3, masked=True),
        layer_case(20, 1, 2, 3, 8, 1, masked=False),
        layer_case(
            30, 3, 4, 4, 8, 8, masked=True
        ),  # m = n where masked: swapping x and source raises no error
    ),
    slips=(
        Slip(
            "one-wide-head",
            one_wide_head,
            "there is only one head, of the whole width. Split queries, keys and values before they meet.",
        ),
        Slip(
            "no-output-projection",
            no_output,
            "the joined heads are returned as they are. One product is missing: `@ w_o`.",
        ),
        Slip(
            "straight-view",
            lambda *inputs: layer(*inputs, split=first_version),
            "words are mixed where the heads are cut: a reshape straight to the final shape.",
            misconception="M34",
        ),
        Slip(
            "join-by-reshape",
            lambda *inputs: layer(*inputs, join=lambda c: c.reshape(len(c), c.shape[2], -1)),
            "words are mixed where the heads are joined: swap heads and words first.",
            misconception="M34",
        ),
        Slip(
            "queries-from-source",
            lambda x, source, *rest: layer(source, source, *rest),
            "the queries are made from `source`. Who asks is `x`.",
        ),
        Slip(
            "everything-from-x",
            lambda x, source, *rest: layer(x, x, *rest),
            "keys and values are made from `x`. They come from `source`.",
        ),
        Slip(
            "x-and-source-swapped",
            lambda x, source, *rest: layer(source, x, *rest),
            "`x` and `source` are swapped. `x` asks: queries. `source` is looked at: keys and values.",
        ),
        Slip(
            "root-of-d-model",
            lambda *inputs: layer(*inputs, scale=1 / math.sqrt(inputs[6])),
            "the scores are divided by √d_model. Each head divides by the root of its own width, d_model / "
            "n_heads.",
            misconception="M08",
        ),
        Slip(
            "ignores-mask",
            lambda *inputs: layer(*inputs[:7], None),
            "`mask` changes nothing.",
        ),
        Slip(
            "no-weights",
            lambda *inputs: (layer(*inputs)[0], None),
            "the weights are None. The library's `multi_head` gives them when asked: `with_weights=True`.",
        ),
        Slip(
            "mean-weights",
            mean_weights,
            "the weights are averaged over the heads. Return a table for each head.",
        ),
        Slip(
            "matrix-turned",
            lambda x, source, w_q, w_k, w_v, w_o, *rest: layer(x, source, w_q, w_k, w_v, w_o.T, *rest),
            "`w_o` is turned round. Here a matrix stands to the right of what it multiplies: `joined @ w_o`.",
        ),
    ),
)

EXERCISES = (SPLIT_HEADS, TEST_SPLIT, JOIN_HEADS, MULTI_HEAD, MANY_HEADS)
