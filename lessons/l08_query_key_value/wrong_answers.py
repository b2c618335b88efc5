"""Answers to the exercises of lesson 08, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are wrong answers already and are tried as they are. This file adds answers that are
written differently or are wrong in another way. After each answer comes the slip that must be recognised, or
None where no slip may be.
"""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F

from lessons.l06_bahdanau_attention.wrong_answers import hard_choice
from lessons.l08_query_key_value.exercises import LN3, blend, right_attention, scaled

d_k = 32  # a variable of the notebook, defined in another cell


def with_weights(weights):
    """A lookup or an attention that is wrong in its weights alone: `weights` takes queries and keys."""
    return lambda queries, keys, values: blend(weights(queries, keys), values)


def over_sum(weights):
    return weights / weights.sum(-1, keepdim=True)


def random_inputs(*batch):
    """Queries, keys and values: 3 queries, 5 keys of width 16, values of width 7."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(*batch, *shape, generator=generator) for shape in ((3, 16), (5, 16), (5, 7))]


# --- soft_lookup


def cosine(query, keys):
    return ((keys @ query) / (keys.norm(dim=-1) * query.norm())).softmax(-1)


def weights_first(query, keys, values):
    weights = torch.softmax(keys @ query, 0)
    return weights, weights @ values


def doubled_context(query, keys, values):
    weights = torch.softmax(keys @ query, 0)
    return 2 * weights @ values, weights


def numpy_and_back(query, keys, values):
    scores = keys.numpy() @ query.numpy()
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return torch.from_numpy(weights @ values.numpy()), torch.from_numpy(weights)


def lookup_loop(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
    parts = [torch.exp(score - max(scores)) for score in scores]
    weights = torch.stack([part / sum(parts) for part in parts])
    return sum(weight * value for weight, value in zip(weights, values, strict=True)), weights


def lookup_einsum(query, keys, values):
    weights = torch.einsum("d,nd->n", query, keys).softmax(0)
    return torch.einsum("n,nv->v", weights, values), weights


def lookup_sdpa(query, keys, values):
    def look(values):
        return F.scaled_dot_product_attention(query[None], keys, values, scale=1.0)[0]

    return look(values), look(torch.eye(len(keys)))


# --- scaled_attention


def no_batch(queries, keys, values):
    return blend(torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1), values)


def unscaled_in_double(queries, keys, values):
    return blend(torch.softmax(queries.double() @ keys.double().mT, dim=-1), values.double())


def squeezes(queries, keys, values):
    context, weights = right_attention(queries, keys, values)
    return context.squeeze(), weights.squeeze()


def left_over(queries, keys, values):
    return blend(torch.softmax(queries @ keys.mT / math.sqrt(d_k), dim=-1), values)


def bmm_attention(queries, keys, values):
    if queries.dim() == 2:
        return right_attention(queries, keys, values)
    scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(keys.shape[-1])
    return blend(torch.softmax(scores, dim=-1), values)


def across_heads(queries, keys, values):
    flat = [t.reshape(*t.shape[:1], -1, t.shape[-1]) if t.dim() > 2 else t for t in (queries, keys, values)]
    return blend(torch.softmax(scaled(*flat[:2]), dim=-1), flat[2])


def half_detached(queries, keys, values):
    weights = torch.softmax(scaled(queries, keys), dim=-1)
    return weights.detach() @ values, weights


@torch.no_grad()
def without_gradients(queries, keys, values):
    return right_attention(queries, keys, values)


def values_detached(queries, keys, values):
    return blend(torch.softmax(scaled(queries, keys), dim=-1), values.detach())


def changed_after_use(queries, keys, values):
    context, weights = right_attention(queries, keys, values)
    return context, weights.mul_(1)


def attention_loop(queries, keys, values):
    weights = torch.zeros(*queries.shape[:-1], keys.shape[-2])
    for i in range(queries.shape[-2]):
        scores = (queries[..., i, None, :] * keys).sum(-1) / math.sqrt(keys.shape[-1])
        raised = torch.exp(scores - scores.max(-1, keepdim=True).values)
        weights[..., i, :] = raised / raised.sum(-1, keepdim=True)
    return weights @ values, weights


def attention_einsum(queries, keys, values):
    weights = F.softmax(torch.einsum("...md,...nd->...mn", queries, keys) * keys.size(-1) ** -0.5, dim=-1)
    return torch.einsum("...mn,...nv->...mv", weights, values), weights


def attention_sdpa(queries, keys, values):
    eye = torch.eye(keys.shape[-2]).expand(*keys.shape[:-1], keys.shape[-2])
    weights = F.scaled_dot_product_attention(queries, keys, eye)
    return [F.scaled_dot_product_attention(queries, keys, values), weights]


def attention_scaling_queries(queries, keys, values):
    print("shapes:", queries.shape, keys.shape)
    queries = queries / math.sqrt(queries.shape[-1])
    return blend(torch.softmax(queries @ keys.mT, -1), values)


# --- test_attention


def test_by_loop(attention):
    queries, keys, values = random_inputs(2)
    context, weights = attention(queries, keys, values)
    for i, j in itertools.product(range(2), range(3)):
        right = torch.softmax(keys[i] @ queries[i, j] / 4, dim=0)
        assert torch.allclose(weights[i, j], right, atol=1e-4)
        assert torch.allclose(context[i, j], right @ values[i], atol=1e-4)


def test_by_formula(attention):
    inputs = random_inputs(2)
    torch.testing.assert_close(list(attention(*inputs)), list(right_attention(*inputs)))


def test_by_hand(attention):
    keys = torch.tensor([[0.0, 0.0, 0.0, 0.0], [LN3, 0.0, 0.0, 0.0], [0.0] * 4])
    queries = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0] * 4])
    values = torch.tensor([[4.0, 1.0], [8.0, 2.0], [0.0, 3.0]])
    expected_weights = torch.tensor([[0.2, 0.6, 0.2], [1 / 3, 1 / 3, 1 / 3]])
    expected = torch.tensor([[5.6, 2.0], [4.0, 2.0]])
    context, weights = attention(queries, keys, values)
    torch.testing.assert_close(weights, expected_weights)
    torch.testing.assert_close(context, expected)
    batch = [torch.stack([tensor, tensor.flip(0)]) for tensor in (queries, keys, values)]
    context, weights = attention(*batch)
    torch.testing.assert_close(weights, torch.stack([expected_weights, expected_weights.flip(0, 1)]))
    torch.testing.assert_close(context, torch.stack([expected, expected.flip(0)]))


def only_rows(attention):
    _, weights = attention(*random_inputs())
    assert torch.allclose(weights.sum(-1), torch.ones(3))


def only_shapes(attention):
    context, weights = attention(*random_inputs())
    assert context.shape == (3, 7) and weights.shape == (3, 5)


def compares(select, *batch):
    """A test that compares only a part of each output."""

    def test(attention):
        inputs = random_inputs(*batch)
        for output, expected in zip(attention(*inputs), right_attention(*inputs), strict=True):
            torch.testing.assert_close(select(output), select(expected))

    return test


def without_absolute_value(attention):
    inputs = random_inputs(2)
    for output, expected in zip(attention(*inputs), right_attention(*inputs), strict=True):
        assert (output - expected).max() < 1e-4


def weights_by_their_sums(attention):
    queries, keys, values = random_inputs(2)
    context, weights = attention(queries, keys, values)
    torch.testing.assert_close(context, right_attention(queries, keys, values)[0])
    assert weights.shape == (2, 3, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))


def context_by_its_shape(attention):
    queries, keys, values = random_inputs(2)
    context, weights = attention(queries, keys, values)
    torch.testing.assert_close(weights, right_attention(queries, keys, values)[1])
    assert context.shape == (2, 3, 7)


def one_component_of_the_context(attention):
    queries, keys, values = random_inputs(2)
    context, weights = attention(queries, keys, values)
    expected = right_attention(queries, keys, values)
    torch.testing.assert_close(weights, expected[1])
    torch.testing.assert_close(context[..., 0], expected[0][..., 0])


def says_false(attention):
    inputs = random_inputs()
    return all(map(torch.allclose, attention(*inputs), right_attention(*inputs)))


def exactly_equal(attention):
    inputs = random_inputs(2)
    assert all(map(torch.equal, attention(*inputs), right_attention(*inputs)))


def rejects_all(attention):
    attention(*random_inputs())
    raise AssertionError("no")


def never_calls(attention):
    assert callable(attention)


def misspelt(attention):
    _context, _ = attention(*random_inputs())
    assert context.shape == (3, 7)  # noqa: F821


def weighted(weights, values):
    return weights @ values, weights


def attention_over(divisor):
    """Attention with another divisor, of queries, keys and values."""
    return lambda q, k, v: weighted(F.softmax(q @ k.mT / divisor(q, k, v), dim=-1), v)


def attention_after(combine):
    """Attention with the right scores; `combine` takes them and the values."""
    return lambda q, k, v: combine(q @ k.mT / q.shape[-1] ** 0.5, v)


def look_up_after(combine):
    return lambda query, keys, values: combine(torch.mv(keys, query), values)


def softmax_by_hand(scores, shift):
    """A softmax that subtracts something other than the largest score of each row."""
    return over_sum(torch.exp(scores - shift))


WRONG = {
    "soft_lookup": [
        (look_up_after(lambda s, v: weighted(hard_choice(s), v)), "hard-choice"),
        (look_up_after(lambda s, v: weighted(softmax_by_hand(s, 0), v)), "not-finite"),
        (look_up_after(lambda s, v: weighted(softmax_by_hand(s, s[0]), v)), "not-finite"),
        (look_up_after(lambda s, v: weighted(softmax_by_hand(s, s[-1]), v)), "not-finite"),
        (look_up_after(lambda s, v: weighted(softmax_by_hand(s, s.mean()), v)), "not-finite"),
        (look_up_after(lambda s, v: weighted(softmax_by_hand(s.clamp(max=80), 0), v)), "large-numbers"),
        (with_weights(lambda query, keys: torch.softmax(keys @ query, dim=1)), "raises"),
        (with_weights(lambda query, keys: torch.softmax(query[None] @ keys.mT, -1)), "wrong-shape"),
        (
            with_weights(lambda query, keys: torch.tensor([float(key @ query) for key in keys]).softmax(0)),
            "no-gradient",
        ),
        (with_weights(cosine), "cosine"),
        (lambda query, keys, values: (2 * cosine(query, keys) @ values, cosine(query, keys)), None),
        (lambda query, keys, values: torch.softmax(keys @ query, 0) @ values, "missing-output"),
        (lambda query, keys, values: (values[0], keys[0], query), "wrong-count"),
        (lambda keys, query, values: values, "parameters"),
        (weights_first, "swapped-outputs"),
        (doubled_context, "input-doubled"),
        (numpy_and_back, "no-gradient", "NumPy"),
    ],
    "scaled_attention": [
        (attention_after(lambda s, v: weighted(hard_choice(s), v)), "hard-choice"),
        (attention_after(lambda s, v: weighted(F.dropout(s.softmax(-1), 0.5), v)), "random"),
        (no_batch, "raises"),
        (bmm_attention, "fixed-axes"),
        (across_heads, "wrong-shape"),
        (unscaled_in_double, "no-scale", "torch.float64"),
        (attention_over(lambda q, k, v: (q @ k.mT).shape[-1] ** 0.5), "root-of-keys"),
        (attention_over(lambda q, k, v: round(math.sqrt(k.shape[-1]))), None),
        (attention_over(lambda q, k, v: torch.sqrt(k.shape[-1])), "raises", "math.sqrt"),
        (with_weights(lambda queries, keys: queries @ keys), "raises"),
        (left_over, "left-over", "`d_k`"),
        (squeezes, "wrong-shape"),
        (attention_after(lambda s, v: weighted(softmax_by_hand(s, 0), v)), "not-finite"),
        (attention_after(lambda s, v: weighted(softmax_by_hand(s, s.max()), v)), "not-finite"),
        (attention_after(lambda s, v: weighted(softmax_by_hand(s, s[..., :1]), v)), "not-finite"),
        (with_weights(lambda queries, keys: scaled(queries, keys).clamp(-2, 2).softmax(-1)), None),
        (with_weights(lambda queries, keys: scaled(queries, keys).clamp(-9, 9).softmax(-1)), "large-numbers"),
        (
            with_weights(lambda queries, keys: scaled(queries, keys).clamp(max=80).softmax(-1)),
            "large-numbers",
        ),
        (with_weights(lambda queries, keys: scaled(queries, keys).bfloat16().float().softmax(-1)), None),
        (half_detached, "wrong-gradient", "`queries` and `keys`"),
        (without_gradients, "no-gradient", "`queries`, `keys` and `values`"),
        (values_detached, "no-gradient", "`values`"),
        (changed_after_use, "no-gradient", "RuntimeError"),
        (attention_over(lambda q, k, v: q.shape[-1]), "over-d"),
        (attention_after(lambda s, v: weighted(F.softmax(s, dim=-2), v)), "softmax-over-queries"),
    ],
    "test_attention": [
        (only_rows, "lets-through"),
        (only_shapes, "lets-through"),
        (compares(lambda output: output), "lets-through", "batch of matrices"),
        (compares(lambda output: output, 1), "lets-through", "every sentence"),
        (compares(lambda output: output[0], 2), "lets-through", "every sentence"),
        (compares(lambda output: output[1], 2), "lets-through", "first sentence"),
        (compares(lambda output: output.norm(dim=-1), 2), "lets-through", "sorted"),
        (without_absolute_value, "lets-through", "too small"),
        (compares(lambda output: output[:, -1], 2), "lets-through", "first query"),
        (compares(lambda output: output[:, 0], 2), "lets-through", "last query"),
        (compares(lambda output: output.sum(), 2), "lets-through", "reverse order"),
        (compares(lambda output: output.flatten().sort().values, 2), "lets-through", "reverse order"),
        (weights_by_their_sums, "lets-through", "unscaled"),
        (context_by_its_shape, "lets-through", "mean of the values"),
        (one_component_of_the_context, "lets-through", "last component"),
        (says_false, "returns-instead"),
        (rejects_all, "rejects-the-right-one"),
        (exactly_equal, "too-strict", "double precision"),
        (never_calls, "never-calls"),
        (misspelt, "raises", "NameError"),
    ],
}

RIGHT = {
    "soft_lookup": [lookup_loop, lookup_einsum, lookup_sdpa],
    "scaled_attention": [attention_loop, attention_einsum, attention_sdpa, attention_scaling_queries],
    "test_attention": [test_by_loop, test_by_formula, test_by_hand],
}
