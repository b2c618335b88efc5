"""Attention, compared with torch and with loops in plain Python, and its properties.

Masks, scores, `attend`, Luong's windows.
"""

from __future__ import annotations

import math
from functools import partial
from operator import mul

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from course_lib.layers import local, scores
from course_lib.layers.attention import attend, masked_softmax, weighted_sum
from course_lib.layers.masks import causal_mask, mask_scores, padding_mask
from course_lib.layers.scores import cosine, dot, scaled_dot

# All sizes differ, keys and values differ, and the numbers have variance 1, so that mistakes show.
BATCH, QUERIES, KEYS, QUERY_DIM, KEY_DIM, VALUE_DIM, ATTN_DIM = 2, 3, 5, 4, 16, 7, 9
RAGGED = torch.tensor([[[1, 1, 0, 1, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 1]], [[0, 0, 1, 0, 0]] * 3]).bool()
FRONTS = pytest.mark.parametrize("front", [(), (BATCH,), (BATCH, 4)], ids=str)

properties = settings(derandomize=True, deadline=None, max_examples=25, database=None)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def inputs(*front: int, seed: int = 0, dtype: torch.dtype = torch.float64, keys: int = KEYS):
    shapes = ((QUERIES, KEY_DIM), (keys, KEY_DIM), (keys, VALUE_DIM))
    return [draw(*front, *shape, seed=seed + i, dtype=dtype) for i, shape in enumerate(shapes)]


def with_gradients(attends, tensors) -> list[torch.Tensor]:
    """The output, and the gradient of its sum of squares for each input."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    context = attends(*leaves)
    return [context, *torch.autograd.grad(context.square().sum(), leaves)]


# ---- masks


def test_masks_have_the_shape_of_the_scores_and_combine_with_and():
    padding, causal = padding_mask(torch.tensor([3, 0, 4]), 4), causal_mask(4)
    assert padding.shape == (3, 1, 4) and padding.dtype == causal.dtype == torch.bool
    assert padding[:, 0].int().tolist() == [[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    assert all(causal[i, j] == (j <= i) for i in range(4) for j in range(4))
    assert torch.equal((padding & causal)[0, 3], padding[0, 0]) and torch.equal((padding & causal)[2], causal)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_masked_scores_are_minus_infinity_and_the_rest_is_unchanged(dtype):
    before = torch.tensor([[1.0, float("nan"), -3.0]], dtype=dtype)
    hidden = mask_scores(before, torch.tensor([[True, False, True]]))
    assert hidden.dtype == dtype and hidden.tolist() == [[1.0, float("-inf"), -3.0]]
    assert before[0, 1].isnan()  # the input is not modified


def test_torchs_multihead_attention_uses_the_opposite_mask_convention():
    states = draw(2, 3, 4)
    theirs = nn.MultiheadAttention(4, num_heads=1, bias=False, batch_first=True, dtype=states.dtype)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        theirs.out_proj.weight.copy_(torch.eye(4))
    mask = padding_mask(torch.tensor([3, 2]), 3) & causal_mask(3)
    ours = attend(states, states, states, mask=mask)
    torch.testing.assert_close(ours, theirs(states, states, states, attn_mask=~mask))


# ---- scores: for each function the shapes of its weights, its formula for one pair, and the module's sizes

WIDTHS = {"query_dim": QUERY_DIM, "key_dim": KEY_DIM}
ADDITIVE = {"w_query": (ATTN_DIM, QUERY_DIM), "w_key": (ATTN_DIM, KEY_DIM), "v": (ATTN_DIM,)}
SCORES = {
    "dot": ({}, lambda q, k: sum(q * k), None),
    "scaled_dot": ({}, lambda q, k: sum(q * k) / math.sqrt(KEY_DIM), None),
    "cosine": ({}, lambda q, k: F.cosine_similarity(q, k, dim=0), None),
    "general": ({"weight": (QUERY_DIM, KEY_DIM)}, lambda q, k, weight: q @ weight @ k, WIDTHS),
    "additive": (
        ADDITIVE,
        lambda q, k, w_query, w_key, v: v @ torch.tanh(w_query @ q + w_key @ k),
        WIDTHS | {"attn_dim": ATTN_DIM},
    ),
    "concat": (
        {"weight": (ATTN_DIM, QUERY_DIM + KEY_DIM), "v": (ATTN_DIM,)},
        lambda q, k, weight, v: v @ torch.tanh(weight @ torch.cat([q, k])),
        WIDTHS | {"attn_dim": ATTN_DIM},
    ),
}


def scored(name: str, *front: int):
    """A query, keys, and the weights of the score function by name."""
    shapes, _, sizes = SCORES[name]
    query = draw(*front, QUERIES, QUERY_DIM if sizes else KEY_DIM)
    return query, draw(*front, KEYS, KEY_DIM, seed=1), {n: draw(*s, seed=2) for n, s in shapes.items()}


@FRONTS
@pytest.mark.parametrize("name", SCORES)
def test_a_score_equals_its_formula_pair_by_pair(name, front):
    query, keys, weights = scored(name, *front)
    actual, formula = getattr(scores, name)(query, keys, **weights), SCORES[name][1]
    assert actual.shape == (*front, QUERIES, KEYS)
    for *row, i, j in torch.cartesian_prod(*(torch.arange(size) for size in actual.shape)).tolist():
        expected = formula(query[(*row, i)], keys[(*row, j)], **weights)
        torch.testing.assert_close(actual[(*row, i, j)], expected)
    if front:  # a leading axis of 1 broadcasts: the same queries for every sentence
        shared = getattr(scores, name)(query[:1], keys, **weights)
        torch.testing.assert_close(shared, getattr(scores, name)(query[:1].expand_as(query), keys, **weights))


def test_additive_concat_and_projected_scores_are_equal():
    query, keys, weights = scored("additive", BATCH)
    expected = scores.additive(query, keys, **weights)
    assert expected.abs().max() <= weights["v"].abs().sum()
    both = torch.cat([weights["w_query"], weights["w_key"]], dim=1)
    torch.testing.assert_close(scores.concat(query, keys, weight=both, v=weights["v"]), expected)
    module = scores.AdditiveScore(**WIDTHS, attn_dim=ATTN_DIM).double()
    module.load_state_dict(weights)
    torch.testing.assert_close(module.score_projected(query, module.project_keys(keys)), expected)


def test_new_weights_are_within_the_bound_of_the_terms_that_they_sum():
    torch.manual_seed(0)
    module = scores.AdditiveScore(query_dim=16, key_dim=400, attn_dim=100)
    general, location = (
        scores.GeneralScore(query_dim=16, key_dim=25),
        scores.LocationScore(query_dim=16, max_len=9),
    )
    terms = [(module.w_query, 16), (module.w_key, 400), (module.v, 100)]
    for weight, n_terms in (*terms, (general.weight, 400), (location.weight, 16)):
        assert 0.9 < weight.abs().max() * math.sqrt(n_terms) <= 1


@FRONTS
def test_location_depends_only_on_the_query(front):
    query, weight = draw(*front, QUERIES, QUERY_DIM), draw(8, QUERY_DIM)
    actual = scores.location(query, draw(*front, KEYS, KEY_DIM), weight=weight)
    assert torch.equal(actual, scores.location(query, draw(*front, KEYS, KEY_DIM, seed=9), weight=weight))
    torch.testing.assert_close(actual, torch.stack([query @ weight[j] for j in range(KEYS)], dim=-1))


@properties
@given(st.integers(1, 64), st.floats(0.01, 100), st.integers(0, 2**16))
def test_dot_depends_on_norms_and_cosine_does_not(width, factor, seed):
    query, keys = draw(QUERIES, width, seed=seed), draw(KEYS, width, seed=seed + 1)
    close, plain = torch.testing.assert_close, dot(query, keys)
    close(scaled_dot(query, keys) * math.sqrt(width), plain)
    close(scores.general(query, keys, weight=torch.eye(width, dtype=query.dtype)), plain)
    close(dot(query, factor * keys), factor * plain)
    close(dot(keys, query), plain.mT)
    close(cosine(factor * query, keys / factor), cosine(query, keys))
    assert cosine(query, keys).abs().max() < 1 + 1e-12


@pytest.mark.parametrize("width", [4, 64, 512])
def test_scaled_dot_keeps_the_variance(width):
    actual = scaled_dot(draw(100, width), draw(100, width, seed=1))
    assert actual.std().item() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_scores_of_zero_vectors_and_of_large_numbers_are_finite(dtype):
    query, keys = torch.zeros(1, KEY_DIM, dtype=dtype), torch.ones(KEYS, KEY_DIM, dtype=dtype)
    assert cosine(query, keys).eq(0).all() and cosine(keys, query).eq(0).all()
    large = torch.full((1, 256), 20.0, dtype=dtype)  # the bare product, 102400, is more than float16 holds
    assert scaled_dot(large, large).item() == pytest.approx(6400, rel=1e-2)


@pytest.mark.parametrize("name", ["general", "additive", "location"])
def test_a_module_equals_its_function_and_starts_with_scores_of_moderate_size(name):
    torch.manual_seed(0)
    sizes = {"query_dim": 64, "max_len": 100} if name == "location" else {"query_dim": 64, "key_dim": 96}
    sizes |= {"attn_dim": 32} if name == "additive" else {}
    counts = {"general": 64 * 96, "additive": 32 * 161, "location": 6400}
    module = getattr(scores, f"{name.title()}Score")(**sizes)
    weights = dict(module.named_parameters())
    assert sum(weight.numel() for weight in weights.values()) == counts[name]
    query, keys = draw(200, 64, dtype=torch.float32), draw(100, 96, seed=1, dtype=torch.float32)
    actual = module(query, keys)
    assert torch.equal(actual, getattr(scores, name)(query, keys, **weights)) and 0.2 < actual.std() < 1
    actual.square().sum().backward()
    assert all(weight.grad.abs().sum() > 0 for weight in weights.values())


# ---- attend


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "mask",
    [None, RAGGED, padding_mask(torch.tensor([4, 2]), KEYS), RAGGED[0]],
    ids=["none", "ragged", "padding", "same for all rows"],
)
def test_equals_torch_with_gradients(dtype, mask):
    ours = with_gradients(lambda *qkv: attend(*qkv, mask=mask)[0], inputs(BATCH, dtype=dtype))
    fused = partial(F.scaled_dot_product_attention, attn_mask=mask)
    torch.testing.assert_close(ours, with_gradients(fused, inputs(BATCH, dtype=dtype)))


@FRONTS
def test_equals_a_loop_over_python_numbers(front):
    tensors = inputs(*front)
    outputs = attend(*tensors, mask=RAGGED[0])
    assert [tensor.shape for tensor in outputs] == [(*front, QUERIES, VALUE_DIM), (*front, QUERIES, KEYS)]
    flat = (tensor.reshape(-1, *tensor.shape[-2:]).tolist() for tensor in (*tensors, *outputs))
    for query, keys, values, context, weights in zip(*flat, strict=True):
        for q, mask, q_context, q_weights in zip(query, RAGGED[0].tolist(), context, weights, strict=True):
            q_scores = [sum(map(mul, q, key)) / math.sqrt(KEY_DIM) for key in keys]
            exponentials = [visible * math.exp(score) for visible, score in zip(mask, q_scores, strict=True)]
            assert q_weights == pytest.approx([number / sum(exponentials) for number in exponentials])
            columns = zip(*values, strict=True)
            assert q_context == pytest.approx([sum(map(mul, q_weights, column)) for column in columns])


@pytest.mark.parametrize("score", [dot, cosine, lambda q, k: dot(q, k) / 0.5])
def test_any_score_can_be_used_and_weights_do_not_depend_on_values(score):
    query, keys, values = inputs(BATCH)
    context, weights = attend(query, keys, values.requires_grad_(), mask=RAGGED, score=score)
    torch.testing.assert_close(weights, masked_softmax(score(query, keys), RAGGED))
    torch.testing.assert_close(context, weighted_sum(weights, values))
    assert not weights.requires_grad


@st.composite
def attention_inputs(draw):
    """A query, keys, values and a mask; in some rows all keys may be masked."""
    n_keys = draw(st.integers(1, 6))
    tensors = inputs(BATCH, seed=draw(st.integers(0, 2**16)), keys=n_keys)
    bits = draw(st.lists(st.booleans(), min_size=BATCH * QUERIES * n_keys, max_size=BATCH * QUERIES * n_keys))
    return *tensors, torch.tensor(bits).view(BATCH, QUERIES, n_keys)


@properties
@given(attention_inputs(), st.floats(-50, 50), st.randoms(use_true_random=False))
def test_weights_are_a_distribution_over_unmasked_keys_in_any_order(arguments, constant, random):
    query, keys, values, mask = arguments
    context, weights = attend(query, keys, values, mask=mask)
    assert weights[~mask].eq(0).all() and weights[mask].gt(0).all()
    torch.testing.assert_close(weights.sum(dim=-1), mask.any(dim=-1).to(weights.dtype))
    torch.testing.assert_close(masked_softmax(scaled_dot(query, keys) + constant, mask), weights)
    order = random.sample(range(keys.shape[-2]), keys.shape[-2])
    shuffled = attend(query, keys[:, order], values[:, order], mask=mask[..., order])
    torch.testing.assert_close(shuffled, (context, weights[..., order]))
    visible, values = mask.unsqueeze(-1), values.unsqueeze(-3)
    low = values.masked_fill(~visible, math.inf).amin(dim=-2)
    high = values.masked_fill(~visible, -math.inf).amax(dim=-2)
    in_range = (low - 1e-12 <= context) & (context <= high + 1e-12)
    assert torch.where(mask.any(dim=-1, keepdim=True), in_range, context == 0).all()


@properties
@given(
    attention_inputs(), st.sampled_from([-1e30, 1e30, 12345.0]), st.sampled_from([scaled_dot, dot, cosine])
)
def test_the_content_of_a_masked_key_changes_no_output_and_no_gradient(arguments, junk, score):
    query, keys, values, mask = arguments
    mask = mask.clone()
    mask[..., 0] = False
    outcomes = []
    for filler in (0.0, junk):
        keys[:, 0], values[:, 0] = filler, filler
        run = lambda *qkv: torch.cat(attend(*qkv, mask=mask, score=score), dim=-1)  # noqa: E731
        outcomes.append(with_gradients(run, (query, keys, values)))
    torch.testing.assert_close(*outcomes, rtol=0, atol=0)


@pytest.mark.parametrize("score", [dot, scaled_dot, cosine])
def test_a_query_without_unmasked_keys_gets_zeros_and_passes_no_gradient(score):
    """In anomaly mode, which detects a NaN anywhere in the forward or backward pass."""
    leaves = [tensor.requires_grad_() for tensor in inputs(BATCH)]
    mask = RAGGED.clone()
    mask[0, 1], mask[1] = False, False
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        context, weights = attend(*leaves, mask=mask, score=score)
        (context.square().sum() + weights.square().sum()).backward()
    assert weights[0, 1].eq(0).all() and weights[1].eq(0).all() and context[1].eq(0).all()
    assert (
        leaves[0].grad[0, 1].eq(0).all() and leaves[0].grad[0, 0].ne(0).any()
    )  # the other query has an unmasked key
    assert all(leaf.grad.isfinite().all() and leaf.grad[1].eq(0).all() for leaf in leaves)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_huge_scores_do_not_overflow(dtype, size):
    weights = masked_softmax(
        torch.tensor([[size, size, 0.0, size]], dtype=dtype), torch.tensor([[True, True, False, False]])
    )
    assert weights.tolist() == [[0.5, 0.5, 0.0, 0.0]] and weights.dtype == dtype


@pytest.mark.parametrize("hidden", [math.nan, math.inf, -math.inf])
def test_a_masked_score_may_be_any_number(hidden):
    raw_scores = torch.tensor([[1.0, hidden, 1.0], [hidden, hidden, hidden]], requires_grad=True)
    weights = masked_softmax(raw_scores, torch.tensor([[True, False, True], [False, False, False]]))
    assert weights.tolist() == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
    weights[:, 0].sum().backward()
    assert raw_scores.grad.tolist() == [[0.25, 0.0, -0.25], [0.0, 0.0, 0.0]]


def test_an_infinite_masked_value_gives_nan_as_documented_and_no_keys_give_zeros():
    query, keys, values = inputs()
    values[2] = math.inf
    context, weights = attend(query, keys, values, mask=torch.tensor([[True, True, False, True, True]]))
    assert weights[:, 2].eq(0).all() and context.isnan().all()
    for mask in (None, torch.ones(BATCH, 1, 0, dtype=torch.bool)):
        context, weights = attend(*inputs(BATCH, keys=0), mask=mask)
        assert weights.shape == (BATCH, QUERIES, 0) and torch.equal(context, torch.zeros(2, 3, 7).double())


# ---- Luong's windows


@pytest.mark.parametrize("half_width", [1, 3])
@pytest.mark.parametrize("centres", [[0.0, 2.5, 4.0], [0, 1, 3]], ids=["between words", "on words"])
def test_window_mask_and_gaussian_equal_a_loop(centres, half_width):
    mask = local.local_mask(torch.tensor(centres), torch.arange(5), half_width=half_width)
    gaussian = local.gaussian_window(torch.tensor(centres), torch.arange(5), sigma=half_width / 2)
    assert mask.shape == gaussian.shape == (3, 5) and mask.dtype == torch.bool
    for i, centre in enumerate(centres):
        for j in range(5):
            assert mask[i, j].item() == (centre - half_width <= j <= centre + half_width)
            expected = math.exp(-((j - centre) ** 2) / (2 * (half_width / 2) ** 2))
            assert gaussian[i, j].item() == pytest.approx(expected, rel=1e-6)


def test_centres_equal_a_loop():
    steps = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3]])
    assert local.monotonic_centres(steps, torch.tensor([4, 2])).tolist() == [[0, 1, 2, 3], [0, 1, 1, 1]]
    query, w_p, v_p = (
        draw(BATCH, QUERIES, QUERY_DIM),
        draw(ATTN_DIM, QUERY_DIM, seed=1),
        draw(ATTN_DIM, seed=2),
    )
    centres = local.predicted_centres(query, torch.tensor([7, 2]), w_p=w_p, v_p=v_p)
    for sentence, length in enumerate((7, 2)):
        for word in range(QUERIES):
            logit = sum(v * math.tanh(row @ query[sentence, word]) for v, row in zip(v_p, w_p, strict=True))
            assert centres[sentence, word].item() == pytest.approx(length / (1 + math.exp(-logit)))


@pytest.mark.slow
@properties
@given(
    lengths=st.lists(st.integers(1, 12), min_size=2, max_size=4),
    half_width=st.integers(1, 4),
    size=st.sampled_from([0.1, 3.0, 1e4]),  # at 1e4 the sigmoid is exactly 0 or 1
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16]),
    seed=st.integers(0, 2**16),
)
def test_a_window_contains_a_real_word(lengths, half_width, size, dtype, seed):
    longest, lengths = max(lengths) + 2, torch.tensor(lengths)
    query = draw(len(lengths), QUERIES, QUERY_DIM, seed=seed).to(dtype) * size
    w_p, v_p = draw(ATTN_DIM, QUERY_DIM).to(dtype), draw(ATTN_DIM).to(dtype) * size
    predicted = local.predicted_centres(query, lengths, w_p=w_p, v_p=v_p)
    assert predicted.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert (predicted >= 0).all() and (predicted <= lengths[:, None]).all()
    monotonic = local.monotonic_centres(torch.arange(20).expand(len(lengths), 20), lengths)
    for centres in (predicted, monotonic):
        mask = local.local_mask(centres, torch.arange(longest), half_width=half_width)
        assert (mask & padding_mask(lengths, longest)).any(dim=-1).all()
        assert (mask.sum(dim=-1) <= 2 * half_width + 1).all()


def test_centres_are_precise_in_16_bits_and_get_their_gradient_from_the_gaussian():
    zeros = torch.zeros(ATTN_DIM, QUERY_DIM, dtype=torch.bfloat16)
    query = torch.zeros(1, 1, QUERY_DIM, dtype=torch.bfloat16)
    assert local.predicted_centres(query, torch.tensor([401]), w_p=zeros, v_p=zeros[:, 0]).item() == 200.5
    torch.manual_seed(0)
    module = local.PredictedCentres(query_dim=QUERY_DIM, attn_dim=ATTN_DIM)
    centres = module(draw(BATCH, QUERIES, QUERY_DIM).float(), torch.tensor([7, 4]))
    assert not local.local_mask(centres, torch.arange(7), half_width=2).requires_grad
    local.gaussian_window(centres, torch.arange(7), sigma=1.0).sum().backward()
    assert all(weight.grad.abs().sum() > 0 for weight in module.parameters())
