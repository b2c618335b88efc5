"""`attend` against torch's own, against a loop in plain Python, and by its properties."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from course_lib.layers.attention import attend, masked_softmax, mix
from course_lib.layers.masks import causal_mask, padding_mask
from course_lib.layers.scores import AdditiveScore, cosine, dot, scaled_dot

# All sizes differ, keys and values differ, the numbers have variance 1: inputs that no slip survives.
BATCH, QUERIES, KEYS, KEY_DIM, VALUE_DIM = 2, 3, 5, 16, 7
RAGGED = torch.tensor([[[1, 1, 0, 1, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 1]], [[0, 0, 1, 0, 0]] * 3]).bool()

properties = settings(derandomize=True, deadline=None, max_examples=25, database=None)


def inputs(*front: int, seed: int = 0, dtype: torch.dtype = torch.float64, keys: int = KEYS):
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return draw(*front, QUERIES, KEY_DIM), draw(*front, keys, KEY_DIM), draw(*front, keys, VALUE_DIM)


@st.composite
def worlds(draw):
    """A query, keys, values and a mask in which some rows may see nothing at all."""
    n_keys = draw(st.integers(1, 6))
    query, keys, values = inputs(BATCH, seed=draw(st.integers(0, 2**16)), keys=n_keys)
    bits = draw(st.lists(st.booleans(), min_size=BATCH * QUERIES * n_keys, max_size=BATCH * QUERIES * n_keys))
    return query, keys, values, torch.tensor(bits).view(BATCH, QUERIES, n_keys)


def loop(query, keys, values, may_look):
    """Attention as a beginner would write it: Python numbers only."""
    contexts = []
    for q, row in zip(query.tolist(), may_look.tolist(), strict=True):
        seen = [(k, v) for k, v, look in zip(keys.tolist(), values.tolist(), row, strict=True) if look]
        scores = [sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)) for k, _ in seen]
        total = sum(math.exp(score) for score in scores)
        weights = [math.exp(score) / total for score in scores]
        context = [0.0] * VALUE_DIM
        for weight, (_, v) in zip(weights, seen, strict=True):
            context = [sum_so_far + weight * number for sum_so_far, number in zip(context, v, strict=True)]
        contexts.append(context)
    return torch.tensor(contexts, dtype=query.dtype)


# ---- equal to other implementations


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("mask", ["none", "ragged", "padding", "shared by all"])
def test_equals_torch_with_gradients(dtype, mask):
    may_look = {
        "none": None,
        "ragged": RAGGED,
        "padding": padding_mask(torch.tensor([4, 2]), KEYS),
        "shared by all": RAGGED[0],
    }[mask]
    ours = [tensor.requires_grad_() for tensor in inputs(BATCH, dtype=dtype)]
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    context, _ = attend(*ours, may_look=may_look)
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=may_look)
    torch.testing.assert_close(context, expected)
    upstream = torch.randn(context.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    context.backward(upstream)
    expected.backward(upstream)
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our.grad, their.grad)


def test_equals_torch_over_heads_with_a_causal_mask():
    query, keys, values = inputs(BATCH, 4, keys=QUERIES)
    context, weights = attend(query, keys, values, may_look=causal_mask(QUERIES))
    torch.testing.assert_close(context, F.scaled_dot_product_attention(query, keys, values, is_causal=True))
    assert weights.shape == (BATCH, 4, QUERIES, QUERIES)


@pytest.mark.parametrize("front", [(), (BATCH,), (BATCH, 4)], ids=str)
def test_equals_the_loop(front):
    query, keys, values = inputs(*front)
    context, weights = attend(query, keys, values, may_look=RAGGED[0])
    assert context.shape == (*front, QUERIES, VALUE_DIM) and weights.shape == (*front, QUERIES, KEYS)
    flat = zip(*(tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (query, keys, values)), strict=True)
    expected = torch.stack([loop(*one, RAGGED[0]) for one in flat]).view(context.shape)
    torch.testing.assert_close(context, expected)


def test_a_case_worked_by_hand():
    """Scores ln 1, ln 3 and one hidden: weights 1/4, 3/4, 0 and a context of 1/4 · 8 + 3/4 · 4 = 5."""
    query, keys = torch.tensor([[1.0]]), torch.tensor([[0.0], [math.log(3)], [7.0]])
    values = torch.tensor([[8.0], [4.0], [100.0]])
    context, weights = attend(query, keys, values, may_look=torch.tensor([[True, True, False]]))
    torch.testing.assert_close(weights, torch.tensor([[0.25, 0.75, 0.0]]))
    torch.testing.assert_close(context, torch.tensor([[5.0]]))


def test_any_score_may_be_used():
    query, keys, values = inputs(BATCH, dtype=torch.float32)
    score = AdditiveScore(query_dim=KEY_DIM, key_dim=KEY_DIM, attn_dim=9)
    for chosen in (dot, cosine, score, lambda q, k: dot(q, k) / 0.5):
        context, weights = attend(query, keys, values, may_look=RAGGED, score=chosen)
        torch.testing.assert_close(weights, masked_softmax(chosen(query, keys), RAGGED))
        torch.testing.assert_close(context, mix(weights, values))
    assert torch.equal(attend(query, keys, values)[0], attend(query, keys, values, score=scaled_dot)[0])


# ---- properties


@properties
@given(worlds())
def test_rows_sum_to_one_over_what_may_be_seen_and_are_exactly_zero_elsewhere(world):
    query, keys, values, may_look = world
    _, weights = attend(query, keys, values, may_look=may_look)
    assert weights[~may_look].eq(0).all()
    assert weights[may_look].gt(0).all()
    torch.testing.assert_close(weights.sum(dim=-1), may_look.any(dim=-1).to(weights.dtype))


@properties
@given(worlds(), st.floats(-50, 50))
def test_a_constant_added_to_all_scores_changes_nothing(world, constant):
    query, keys, _, may_look = world
    scores = scaled_dot(query, keys)
    torch.testing.assert_close(masked_softmax(scores + constant, may_look), masked_softmax(scores, may_look))


@properties
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_the_keys_does_not_matter(world, random):
    query, keys, values, may_look = world
    order = random.sample(range(keys.shape[-2]), keys.shape[-2])
    context, weights = attend(query, keys, values, may_look=may_look)
    shuffled = attend(query, keys[:, order], values[:, order], may_look=may_look[..., order])
    torch.testing.assert_close(shuffled, (context, weights[..., order]))


@properties
@given(worlds())
def test_the_context_lies_among_the_values_that_may_be_seen(world):
    query, keys, values, may_look = world
    context, _ = attend(query, keys, values, may_look=may_look)
    seen, values = may_look.unsqueeze(-1), values.unsqueeze(-3)
    low = values.masked_fill(~seen, math.inf).amin(dim=-2)
    high = values.masked_fill(~seen, -math.inf).amax(dim=-2)
    among = (low - 1e-12 <= context) & (context <= high + 1e-12)
    assert torch.where(may_look.any(dim=-1, keepdim=True), among, context == 0).all()


@properties
@given(worlds(), st.sampled_from([-1e30, 1e30, 12345.0]), st.sampled_from([scaled_dot, dot, cosine]))
def test_a_hidden_key_may_hold_anything_that_does_not_overflow(world, junk, score):
    """Hidden from every query: neither the result nor a gradient knows what was there."""
    *tensors, may_look = world
    may_look = may_look.clone()
    may_look[..., 0] = False
    outcomes = []
    for filler in (0.0, junk):
        query, keys, values = (tensor.clone() for tensor in tensors)
        keys[:, 0], values[:, 0] = filler, filler
        leaves = [tensor.requires_grad_() for tensor in (query, keys, values)]
        context, weights = attend(*leaves, may_look=may_look, score=score)
        (context.square().sum() + weights.square().sum()).backward()
        outcomes.append([context, weights, *(leaf.grad for leaf in leaves)])
    torch.testing.assert_close(*outcomes, rtol=0, atol=0)


def test_weights_do_not_depend_on_the_values():
    query, keys, values = inputs(BATCH)
    _, weights = attend(query, keys, values.requires_grad_(), may_look=RAGGED)
    assert not weights.requires_grad  # no path at all from values to weights
    assert torch.equal(weights, attend(query, keys, values * 9, may_look=RAGGED)[1])


def test_equal_keys_get_equal_weights():
    query, keys, values = inputs(BATCH)
    _, weights = attend(query, keys[:, :1].expand(-1, KEYS, -1), values)
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / KEYS))


# ---- the edges


@pytest.mark.parametrize("score", [dot, scaled_dot, cosine])
def test_a_query_that_sees_nothing_gets_zeros_and_passes_no_gradient(score):
    """Anomaly mode too: no NaN anywhere inside, neither forwards nor backwards."""
    leaves = [tensor.requires_grad_() for tensor in inputs(BATCH)]
    may_look = RAGGED.clone()
    may_look[0, 1], may_look[1] = False, False
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        context, weights = attend(*leaves, may_look=may_look, score=score)
        (context.square().sum() + weights.square().sum()).backward()
    assert weights[0, 1].eq(0).all() and weights[1].eq(0).all() and context[1].eq(0).all()
    query_grad, keys_grad, values_grad = (leaf.grad for leaf in leaves)
    assert query_grad[0, 1].eq(0).all()  # it sees nothing
    assert query_grad[0, 0].ne(0).any()  # its neighbour does
    for grad in (query_grad, keys_grad, values_grad):
        assert grad.isfinite().all() and grad[1].eq(0).all()


def test_gradients_equal_finite_differences_with_an_empty_row():
    scores = inputs(BATCH)[0][..., :KEYS].contiguous().requires_grad_()
    may_look = RAGGED.clone()
    may_look[0, 0] = False
    assert torch.autograd.gradcheck(lambda scores: masked_softmax(scores, may_look), scores)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_huge_scores_do_not_overflow(dtype, size):
    scores = torch.tensor([[size, size, 0.0, size]], dtype=dtype)
    may_look = torch.tensor([[True, True, False, False]])
    assert masked_softmax(scores, may_look).tolist() == [[0.5, 0.5, 0.0, 0.0]]
    assert masked_softmax(scores, may_look).dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_close_to_full(dtype):
    full = inputs(BATCH, dtype=torch.float32)
    context, weights = attend(*(tensor.to(dtype) for tensor in full), may_look=RAGGED)
    assert context.dtype == weights.dtype == dtype
    expected = attend(*full, may_look=RAGGED)[0]
    torch.testing.assert_close(context.float(), expected, atol=8 * torch.finfo(dtype).eps, rtol=0)


@pytest.mark.parametrize("hidden", [math.nan, math.inf, -math.inf])
def test_a_hidden_score_may_hold_anything(hidden):
    scores = torch.tensor([[1.0, hidden, 1.0], [hidden, hidden, hidden]], requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[True, False, True], [False, False, False]]))
    assert weights.tolist() == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
    weights[:, 0].sum().backward()
    assert scores.grad.tolist() == [[0.25, 0.0, -0.25], [0.0, 0.0, 0.0]]


def test_an_infinite_hidden_value_spoils_the_context_as_documented():
    query, keys, values = inputs()
    values[2] = math.inf
    context, weights = attend(query, keys, values, may_look=torch.tensor([[True, True, False, True, True]]))
    assert weights[:, 2].eq(0).all() and context.isnan().all()


def test_no_keys_at_all_is_a_context_of_zeros():
    query, keys, values = inputs(BATCH, keys=0)
    for may_look in (None, torch.ones(BATCH, 1, 0, dtype=torch.bool)):
        context, weights = attend(query, keys, values, may_look=may_look)
        assert weights.shape == (BATCH, QUERIES, 0)
        assert context.eq(0).all() and context.shape == (BATCH, QUERIES, VALUE_DIM)


def test_inputs_are_left_as_they_were():
    before = inputs(BATCH)
    tensors, may_look = inputs(BATCH), RAGGED.clone()
    attend(*tensors, may_look=may_look)
    assert torch.equal(may_look, RAGGED)
    assert all(torch.equal(a, b) for a, b in zip(before, tensors, strict=True))
