"""Wrong and right answers to the exercises of lesson 12, as learners write them.

A row of WRONG: the answer and what its verdict must contain, the name of a slip or a part of the text; None
if the verdict may name no slip.
"""

import math

import torch
import torch.nn.functional as F

from lessons.l12_many_heads.exercises import by_reshape_and_transpose
from lessons.l12_many_heads.solutions import join_heads as join
from lessons.l12_many_heads.solutions import split_heads as split

# ---- what the answers share

WORDS = torch.arange(60.0).reshape(1, 5, 12)  # every number is different


def weighted_sum(scores, values):
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights


def scaled_scores(query, keys):
    return query @ keys.mT / math.sqrt(keys.shape[-1])


def attends(query, keys, values, mask=None):
    scores = scaled_scores(query, keys)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return weighted_sum(scores, values)


def projected(x, source, w_q, w_k, w_v, n_heads):
    return split(x @ w_q.T, n_heads), split(source @ w_k.T, n_heads), split(source @ w_v.T, n_heads)


# ---- split_heads


def split_by_view(features, n_heads):
    size = features.shape[-1] // n_heads
    return features.view(*features.shape[:-2], n_heads, features.shape[-2], size)


def split_for_three_axes(features, n_heads):
    b, n, d = features.shape
    return features.view(b, n, n_heads, d // n_heads).transpose(1, 2)


def split_detached(features, n_heads):
    return split(features, n_heads).detach()


def split_by_numpy(features, n_heads):
    return torch.from_numpy(split(features, n_heads).numpy())


def split_by_slices(features, n_heads):
    size = features.shape[-1] // n_heads
    return torch.stack([features[..., i * size : i * size + size] for i in range(n_heads)], -3)


def split_by_tensor_chunks(features, n_heads):
    return torch.stack(features.chunk(n_heads, dim=-1), dim=-3)


def split_by_movedim(features, n_heads):
    return features.unflatten(-1, (n_heads, -1)).movedim(-2, -3)


# ---- test_split


def test_shape_only(split):
    assert split(torch.randn(2, 5, 12), 3).shape == (2, 3, 5, 4)


def test_there_and_back(split):
    features = torch.randn(2, 5, 12)
    heads = split(features, 3)
    assert torch.equal(heads.sum(), heads.sum())
    assert heads.numel() == features.numel()


def test_one_head(split):
    features = torch.randn(2, 5, 12)
    assert torch.equal(split(features, 1), features[:, None])


def test_square(split):
    features = torch.arange(16.0).reshape(1, 4, 4)
    assert torch.equal(split(features, 2)[0, 0, 0], torch.tensor([0.0, 1.0]))


def test_returns_bool(split):
    return torch.equal(split(torch.arange(12.0).reshape(1, 3, 4), 2)[0, 0, 1], torch.tensor([4.0, 5.0]))


def test_head_zero(split):
    assert torch.equal(split(WORDS, 3)[:, 0], WORDS[..., :4])


def test_last_head(split):
    assert torch.equal(split(WORDS, 3)[:, 2], WORDS[..., 8:])


def test_one_number(split):
    assert split(WORDS, 3)[0, 2, 3, 1] == WORDS[0, 3, 9]


def test_first_words(split):
    heads = split(WORDS, 3)
    for number in range(3):
        assert torch.equal(heads[:, number, 0], WORDS[:, 0, 4 * number : 4 * number + 4])


def test_all_but_the_last_word(split):
    words = torch.arange(12.0).reshape(1, 3, 4)
    heads = split(words, 2)
    assert heads[0, :, :2].tolist() == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]


def test_nothing(split):
    split(torch.randn(2, 5, 12), 3)


def test_one_sentence(split):
    for head, got in enumerate(split(WORDS, 4)[0]):
        torch.testing.assert_close(got, WORDS[0, :, 3 * head : 3 * head + 3])


def test_without_a_batch(split):
    heads = split(torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]]), 2)
    assert heads.tolist() == [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]


def test_first_numbers(split):
    words = torch.randn(2, 5, 12)
    assert torch.equal(split(words, 3)[..., 0], words[..., ::4].transpose(-1, -2))


def test_equal_words(split):
    heads = split(torch.arange(8.0).expand(2, 3, 8), 2)
    assert (heads[:, 0] == torch.arange(4.0)).all() and (heads[:, 1] == torch.arange(4.0, 8.0)).all()


def test_every_slice(split):
    words = torch.arange(72.0).reshape(2, 3, 12)
    for head in range(4):
        torch.testing.assert_close(split(words, 4)[:, head], words[..., 3 * head : 3 * head + 3])


def test_by_hand(split):
    got = split(torch.arange(16.0).reshape(2, 2, 4), n_heads=2)
    assert got.tolist() == [
        [[[0, 1], [4, 5]], [[2, 3], [6, 7]]],
        [[[8, 9], [12, 13]], [[10, 11], [14, 15]]],
    ]


def test_number_by_number(split):
    words = torch.randn(3, 4, 6)
    heads = split(words, 2)
    for sentence, head, word, i in torch.cartesian_prod(*map(torch.arange, (3, 2, 4, 3))).tolist():
        assert heads[sentence, head, word, i] == words[sentence, word, 3 * head + i]


def test_by_chunks(split):
    features = torch.rand(3, 6, 8)
    assert torch.equal(split(features, 2), torch.stack(features.chunk(2, -1), 1))


# ---- join_heads


def join_by_reshape(features):
    *lead, heads, n, size = features.shape
    return features.contiguous().view(*lead, n, heads * size)


def join_by_view(features):
    *batch, n_heads, n, size = features.shape
    return features.transpose(-3, -2).view(*batch, n, n_heads * size)


def join_by_cat(features):
    return torch.cat(list(features.unbind(-3)), dim=-1)


def join_by_reshape_after_swap(features):
    swapped = features.transpose(-3, -2)
    return swapped.reshape(*swapped.shape[:-2], -1)


def join_by_movedim(features):
    return features.movedim(-3, -2).flatten(start_dim=-2)


# ---- many_heads


def layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(query, keys, values, mask)
    return join(context) @ w_o.T, weights


def layered_by_loop(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    size = x.shape[-1] // n_heads
    if mask is not None and mask.dim() == 4:
        mask = mask[:, 0]
    out, tables = 0, []
    for head in range(n_heads):
        rows = slice(head * size, (head + 1) * size)
        context, weights = attends(x @ w_q[rows].T, source @ w_k[rows].T, source @ w_v[rows].T, mask)
        out = out + context @ w_o[:, rows].T
        tables.append(weights)
    return out, torch.stack(tables, 1)


def layered_by_linear(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def heads(y, w):
        return F.linear(y, w).reshape(y.shape[0], y.shape[1], n_heads, -1).transpose(1, 2)

    query, keys, values = heads(x, w_q), heads(source, w_k), heads(source, w_v)
    context = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    weights = attends(query, keys, values, mask)[1]
    return F.linear(context.transpose(1, 2).reshape(x.shape), w_o), weights


def layered_minus_1e9(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        return (scores if mask is None else torch.where(mask, scores, -1e9)).softmax(dim=-1)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_always_masked(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    if mask is None:
        mask = torch.ones(x.shape[1], source.shape[1], dtype=torch.bool)
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)


def layered_by_torch(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    module = torch.nn.MultiheadAttention(x.shape[-1], n_heads, bias=False, batch_first=True)
    module.in_proj_weight.data = torch.cat([w_q, w_k, w_v])
    module.out_proj.weight.data = w_o
    if mask is not None:
        mask = ~mask.expand(len(x), n_heads, x.shape[1], source.shape[1]).flatten(0, 1)
    return module(x, source, source, attn_mask=mask, average_attn_weights=False)


def layered_by_einsum(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = (
        projection.unflatten(-1, (n_heads, -1)) for projection in (x @ w_q.T, source @ w_k.T, source @ w_v.T)
    )
    scores = torch.einsum("bmhd,bnhd->bhmn", query, keys) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhmn,bnhd->bmhd", weights, values).flatten(-2) @ w_o.T, weights


def layered_by_view(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    size = x.shape[-1] // n_heads
    projections = [x @ w_q.T, source @ w_k.T, source @ w_v.T]
    query, keys, values = (made.view(len(made), n_heads, made.shape[1], size) for made in projections)
    context, weights = attends(query, keys, values, mask)
    return join(context) @ w_o.T, weights


def layered_joined_by_view(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(query, keys, values, mask)
    return context.reshape(x.shape) @ w_o.T, weights


def attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh):
    """The layer, with the scores passed to `weigh`, which returns the attention weights."""
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    weights = weigh(scaled_scores(query, keys))
    return join(weights @ values) @ w_o.T, weights


def layered_penalty_100(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        return (scores if mask is None else scores - 100.0 * ~mask).softmax(dim=-1)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_by_views(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    size = x.shape[-1] // n_heads
    projections = [x @ w_q.T, source @ w_k.T, source @ w_v.T]
    query, keys, values = (made.view(len(made), n_heads, made.shape[1], size) for made in projections)
    context, weights = attends(query, keys, values, mask)
    return context.reshape(x.shape) @ w_o.T, weights


def layered_if_mask(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask if mask else None)


def layered_with_mask(change):
    def layered_changed(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
        return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask if mask is None else change(mask))

    return layered_changed


def layered_output_first(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys = split(x @ w_q.T, n_heads), split(source @ w_k.T, n_heads)
    context, weights = attends(query, keys, split(source @ w_v.T @ w_o.T, n_heads), mask)
    return join(context), weights


def layered_masked_if_padding(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    if mask is not None and mask.dim() != 4:
        mask = None
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)


def layered_detached(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output.detach(), weights


def layered_in_float64(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    x, source, w_q, w_k, w_v, w_o = (t.double() for t in (x, source, w_q, w_k, w_v, w_o))
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)


def layered_in_place(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    x += output
    return output, weights


def root_of_the_model(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layered(x, source, w_q / n_heads**0.5, w_k, w_v, w_o, n_heads, mask)


WRONG = {
    "split_heads": [
        (split_by_view, "unrepaired"),
        (split_for_three_axes, "fixed-axes"),
        (split_detached, "no-gradient"),
        (split_by_numpy, "no-gradient"),
    ],
    "test_split": [
        (test_shape_only, "lets-through"),
        (test_there_and_back, "lets-through"),
        (test_one_head, "lets-through"),
        (test_square, "lets-through"),
        (test_returns_bool, "returns-instead"),
        (test_nothing, "lets-through"),
        (test_head_zero, "lets-through"),
        (test_last_head, "lets-through"),
        (test_one_number, "lets-through"),
        (test_first_words, "lets-through"),
        (test_all_but_the_last_word, "lets-through"),
        (test_one_sentence, "lets-through"),
        (test_without_a_batch, "lets-through"),
        (test_equal_words, "lets-through"),
        (test_first_numbers, "lets-through"),
    ],
    "join_heads": [
        (join_by_reshape, "reshape-alone"),
        (join_by_view, "raises"),
    ],
    "many_heads": [
        (layered_by_view, "split-by-reshape"),
        (layered_joined_by_view, "join-by-reshape"),
        (layered_by_views, "split-and-join-by-reshape"),
        (layered_penalty_100, None),
        (layered_if_mask, "raises"),
        (layered_output_first, None),
        (layered_by_torch, "no-gradient"),
        (root_of_the_model, "root-of-d-model"),
        (layered_with_mask(lambda mask: mask[:, 0, 0]), "raises"),
        (layered_with_mask(lambda mask: mask.unsqueeze(1)), None),
        (layered_with_mask(lambda mask: mask.mT), None),
        (layered_masked_if_padding, None),
        (layered_detached, "no-gradient"),
        (layered_in_float64, "torch.float64"),
        (layered_in_place, "changes `x`"),
    ],
}

RIGHT = {
    "split_heads": [split_by_slices, split_by_tensor_chunks, split_by_movedim, by_reshape_and_transpose],
    "test_split": [test_every_slice, test_by_hand, test_by_chunks, test_number_by_number],
    "join_heads": [join_by_cat, join_by_reshape_after_swap, join_by_movedim],
    "many_heads": [
        layered,
        layered_by_loop,
        layered_by_einsum,
        layered_by_linear,
        layered_minus_1e9,
        layered_always_masked,
    ],
}
