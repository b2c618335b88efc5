"""Score functions against loops, against each other, and by their properties."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch.nn import functional as F

from course_lib.layers.scores import (
    AdditiveScore,
    ConcatScore,
    GeneralScore,
    LocationScore,
    additive,
    additive_projected,
    concat,
    cosine,
    dot,
    general,
    location,
    scaled_dot,
)

# All sizes differ, so that a swapped pair of axes cannot go unseen.
BATCH, QUERIES, KEYS, QUERY_DIM, KEY_DIM, ATTN_DIM, MAX_LEN = 2, 3, 5, 4, 6, 7, 8
FRONTS = [(), (BATCH,), (BATCH, 9)]


@pytest.fixture
def draw():
    generator = torch.Generator().manual_seed(0)
    return partial(torch.randn, generator=generator, dtype=torch.float64)


def loop(query, keys, one_score):
    """The definition, pair by pair."""
    scores = torch.empty(*query.shape[:-1], keys.shape[-2], dtype=query.dtype)
    for *front, i, j in torch.cartesian_prod(*(torch.arange(size) for size in scores.shape)).tolist():
        scores[(*front, i, j)] = one_score(query[(*front, i)], keys[(*front, j)])
    return scores


@pytest.mark.parametrize("front", FRONTS, ids=str)
@pytest.mark.parametrize(
    ("score", "one_score"),
    [
        (dot, lambda q, k: sum(q * k)),
        (scaled_dot, lambda q, k: sum(q * k) / math.sqrt(KEY_DIM)),
        (cosine, lambda q, k: F.cosine_similarity(q, k, dim=0)),
    ],
    ids=["dot", "scaled_dot", "cosine"],
)
def test_weightless_scores_equal_the_loop(draw, score, one_score, front):
    query, keys = draw(*front, QUERIES, KEY_DIM), draw(*front, KEYS, KEY_DIM)
    torch.testing.assert_close(score(query, keys), loop(query, keys, one_score))


@pytest.mark.parametrize("front", FRONTS, ids=str)
def test_general_equals_the_loop(draw, front):
    query, keys = draw(*front, QUERIES, QUERY_DIM), draw(*front, KEYS, KEY_DIM)
    weight = draw(QUERY_DIM, KEY_DIM)
    expected = loop(query, keys, lambda q, k: q @ weight @ k)
    torch.testing.assert_close(general(query, keys, weight=weight), expected)


@pytest.mark.parametrize("front", FRONTS, ids=str)
def test_additive_and_concat_equal_the_loop_and_each_other(draw, front):
    """W [q; k] with W = [W_q W_k] is W_q q + W_k k: one score under two names."""
    query, keys = draw(*front, QUERIES, QUERY_DIM), draw(*front, KEYS, KEY_DIM)
    w_query, w_key, v = draw(ATTN_DIM, QUERY_DIM), draw(ATTN_DIM, KEY_DIM), draw(ATTN_DIM)
    expected = loop(query, keys, lambda q, k: v @ torch.tanh(w_query @ q + w_key @ k))
    scores = additive(query, keys, w_query=w_query, w_key=w_key, v=v)
    torch.testing.assert_close(scores, expected)
    torch.testing.assert_close(concat(query, keys, weight=torch.cat([w_query, w_key], dim=1), v=v), expected)
    assert scores.abs().max() <= v.abs().sum()


@pytest.mark.parametrize("front", FRONTS, ids=str)
def test_keys_may_be_projected_once_for_all_queries(draw, front):
    query, keys = draw(*front, QUERIES, QUERY_DIM), draw(*front, KEYS, KEY_DIM)
    w_query, w_key, v = draw(ATTN_DIM, QUERY_DIM), draw(ATTN_DIM, KEY_DIM), draw(ATTN_DIM)
    expected = additive(query, keys, w_query=w_query, w_key=w_key, v=v)
    torch.testing.assert_close(additive_projected(query, keys @ w_key.mT, w_query=w_query, v=v), expected)
    module = AdditiveScore(query_dim=QUERY_DIM, key_dim=KEY_DIM, attn_dim=ATTN_DIM).double()
    projected = module.project_keys(keys)
    assert projected.shape == (*front, KEYS, ATTN_DIM)
    torch.testing.assert_close(module.score_projected(query, projected), module(query, keys))


@pytest.mark.parametrize("front", FRONTS, ids=str)
def test_location_looks_at_the_query_alone(draw, front):
    query, weight = draw(*front, QUERIES, QUERY_DIM), draw(MAX_LEN, QUERY_DIM)
    scores = location(query, draw(*front, KEYS, KEY_DIM), weight=weight)
    assert torch.equal(scores, location(query, draw(*front, KEYS, KEY_DIM), weight=weight))
    for j in range(KEYS):
        torch.testing.assert_close(scores[..., j], query @ weight[j])


def test_general_with_the_identity_is_dot(draw):
    query, keys = draw(BATCH, QUERIES, KEY_DIM), draw(BATCH, KEYS, KEY_DIM)
    weight = torch.eye(KEY_DIM, dtype=query.dtype)
    torch.testing.assert_close(general(query, keys, weight=weight), dot(query, keys))


def test_length_counts_for_dot_and_not_for_cosine(draw):
    query, keys = draw(QUERIES, KEY_DIM), draw(KEYS, KEY_DIM)
    torch.testing.assert_close(dot(query, 2 * keys), 2 * dot(query, keys))
    torch.testing.assert_close(cosine(3 * query, 2 * keys), cosine(query, keys))
    assert cosine(query, keys).abs().max() <= 1


def test_scaled_dot_has_variance_one_at_any_width(draw):
    for width in (4, 64, 512):
        scores = scaled_dot(draw(100, width), draw(100, width))
        assert scores.std().item() == pytest.approx(1.0, abs=0.05)


def test_axes_of_one_in_front_are_shared(draw):
    """The same queries asked of every sentence: (1, queries, dim) against (batch, keys, dim)."""
    query, keys = draw(1, QUERIES, QUERY_DIM), draw(BATCH, KEYS, KEY_DIM)
    for score in (
        partial(general, weight=draw(QUERY_DIM, KEY_DIM)),
        partial(additive, w_query=draw(ATTN_DIM, QUERY_DIM), w_key=draw(ATTN_DIM, KEY_DIM), v=draw(ATTN_DIM)),
        partial(concat, weight=draw(ATTN_DIM, QUERY_DIM + KEY_DIM), v=draw(ATTN_DIM)),
    ):
        torch.testing.assert_close(score(query, keys), score(query.expand(BATCH, -1, -1), keys))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_cosine_of_a_zero_vector_is_zero(dtype):
    query, keys = torch.zeros(1, KEY_DIM, dtype=dtype), torch.ones(KEYS, KEY_DIM, dtype=dtype)
    assert cosine(query, keys).tolist() == [[0.0] * KEYS]
    assert cosine(keys, query).tolist() == [[0.0]] * KEYS


def test_scaled_dot_divides_before_float16_overflows():
    query = torch.full((1, 256), 20.0, dtype=torch.float16)  # the bare product is 102400, above 65504
    assert scaled_dot(query, query).item() == pytest.approx(6400, rel=1e-3)


WIDTHS = {"query_dim": QUERY_DIM, "key_dim": KEY_DIM}
ADDITIVE_COUNT = ATTN_DIM * (QUERY_DIM + KEY_DIM) + ATTN_DIM


@pytest.mark.parametrize(
    ("module", "sizes", "function", "count"),
    [
        (GeneralScore, WIDTHS, general, QUERY_DIM * KEY_DIM),
        (AdditiveScore, WIDTHS | {"attn_dim": ATTN_DIM}, additive, ADDITIVE_COUNT),
        (ConcatScore, WIDTHS | {"attn_dim": ATTN_DIM}, concat, ADDITIVE_COUNT),
        (LocationScore, {"query_dim": QUERY_DIM, "max_len": MAX_LEN}, location, MAX_LEN * QUERY_DIM),
    ],
)
def test_a_module_owns_the_weights_of_its_function(draw, module, sizes, function, count):
    score = module(**sizes)
    weights = dict(score.named_parameters())
    assert sum(weight.numel() for weight in weights.values()) == count
    query, keys = draw(BATCH, QUERIES, QUERY_DIM).float(), draw(BATCH, KEYS, KEY_DIM).float()
    scores = score(query, keys)
    assert scores.shape == (BATCH, QUERIES, KEYS)
    assert torch.equal(scores, function(query, keys, **weights))
    scores.square().sum().backward()
    assert all(weight.grad.abs().sum() > 0 for weight in weights.values())


def test_fresh_weights_start_with_scores_of_a_sensible_size(draw):
    """Neither saturated nor dead at widths a lesson uses: the spread stays within 0.2 and 1."""
    torch.manual_seed(0)
    query, keys = draw(200, 64).float(), draw(100, 96).float()
    for module in (
        GeneralScore(query_dim=64, key_dim=96),
        AdditiveScore(query_dim=64, key_dim=96, attn_dim=32),
        ConcatScore(query_dim=64, key_dim=96, attn_dim=32),
        LocationScore(query_dim=64, max_len=100),
    ):
        assert 0.2 < module(query, keys).std().item() < 1, type(module).__name__
