"""Linear attention: its three forms agree, with one another and with the formula written out."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from course_lib.layers.linear_attention import (
    causal_linear_attend,
    feature_map,
    linear_attend,
    linear_start,
    linear_step,
)
from course_lib.layers.masks import causal_mask, padding_mask

BATCH, HEADS, LEN, KEY_DIM, VALUE_DIM = 2, 3, 6, 4, 5


def inputs(queries: int = LEN):
    generator = torch.Generator().manual_seed(0)
    shapes = ((queries, KEY_DIM), (LEN, KEY_DIM), (LEN, VALUE_DIM))
    return [torch.randn(BATCH, HEADS, *shape, generator=generator, dtype=torch.float64) for shape in shapes]


def written_out(query, keys, values, may_look):
    """Weights φ(q)ᵀφ(k), divided by their sum: the quadratic form."""
    weights = ((F.elu(query) + 1) @ (F.elu(keys) + 1).mT).masked_fill(~may_look, 0.0)
    return weights / weights.sum(dim=-1, keepdim=True) @ values


def step_by_step(query, keys, values):
    state, contexts = linear_start(keys, values), []
    for position in range(LEN):
        context, state = linear_step(state, *(x[..., position, :] for x in (query, keys, values)))
        contexts.append(context)
    return torch.stack(contexts, dim=-2)


def test_every_query_to_every_key_equals_the_formula():
    query, keys, values = inputs(queries=2)
    everything = torch.ones(2, LEN, dtype=torch.bool)
    torch.testing.assert_close(
        linear_attend(query, keys, values), written_out(query, keys, values, everything)
    )


def test_padding_is_hidden():
    query, keys, values = inputs(queries=2)
    may_look = padding_mask(torch.tensor([LEN, 2]), LEN).unsqueeze(1)
    expected = written_out(query, keys, values, may_look)
    torch.testing.assert_close(linear_attend(query, keys, values, may_look=may_look), expected)


@pytest.mark.parametrize("form", [causal_linear_attend, step_by_step])
def test_both_causal_forms_equal_the_formula_with_gradients(form):
    outcomes = []
    for attend in (form, lambda *tensors: written_out(*tensors, causal_mask(LEN))):
        leaves = [tensor.requires_grad_() for tensor in inputs()]
        context = attend(*leaves)
        context.square().sum().backward()
        outcomes.append([context, *(leaf.grad for leaf in leaves)])
    torch.testing.assert_close(*outcomes)


def test_the_last_causal_word_has_seen_all():
    query, keys, values = inputs()
    expected = linear_attend(query[..., -1:, :], keys, values)
    torch.testing.assert_close(causal_linear_attend(query, keys, values)[..., -1:, :], expected)
    torch.testing.assert_close(step_by_step(query, keys, values)[..., -1:, :], expected)


def test_the_state_never_grows():
    query, keys, values = inputs()
    state = linear_start(keys, values)
    before = {name: tensor.shape for name, tensor in state.items()}
    for position in range(LEN):
        _, state = linear_step(state, *(x[..., position, :] for x in (query, keys, values)))
        assert {name: tensor.shape for name, tensor in state.items()} == before
    assert before == {"summary": (BATCH, HEADS, KEY_DIM, VALUE_DIM), "total": (BATCH, HEADS, KEY_DIM)}


def test_features_are_positive():
    assert feature_map(torch.linspace(-10, 10, 99)).gt(0).all()


def test_where_nothing_may_be_looked_at_there_are_zeros():
    leaves = [tensor.requires_grad_() for tensor in inputs()]
    context = linear_attend(*leaves, may_look=torch.zeros(1, LEN, dtype=torch.bool))
    context.sum().backward()
    assert context.eq(0).all() and all(leaf.grad.isfinite().all() for leaf in leaves)


@pytest.mark.parametrize(
    ("may_look", "error", "message"),
    [
        (torch.ones(3, 1, LEN), TypeError, "boolean"),
        (torch.ones(LEN, LEN, dtype=torch.bool), ValueError, "hide keys from all queries alike"),
        (torch.ones(2, 1, LEN, dtype=torch.bool), ValueError, "fit scores of shape"),
    ],
)
def test_a_mask_that_cannot_be_meant_is_refused(may_look, error, message):
    query, keys, values = inputs()
    with pytest.raises(error, match=message):
        linear_attend(query, keys, values, may_look=may_look)


def test_what_would_be_stretched_is_refused():
    """One value, or one query, would serve all positions without a word."""
    query, keys, values = inputs()
    for attends in (linear_attend, causal_linear_attend):
        with pytest.raises(ValueError, match="one value for each key"):
            attends(query, keys, values[..., :1, :])
    with pytest.raises(ValueError, match="as many queries as keys"):
        causal_linear_attend(query[..., :1, :], keys, values)


def test_wrong_widths_are_refused():
    query, keys, values = inputs()
    for form in (linear_attend, causal_linear_attend):
        with pytest.raises(ValueError, match="expects one width"):
            form(query[..., :3], keys, values)
        with pytest.raises(ValueError, match="as many axes in both"):
            form(query[0], keys, values)
