"""Wrong and right answers to the exercises of lesson 12, as learners write them.

A row of WRONG: the answer and what its verdict must contain, the name of a slip or a part of the text; None
if the verdict may name no slip.
"""

import math

import torch
import torch.nn.functional as F

from lessons.l12_many_heads.exercises import by_reshape_and_transpose, join, split

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


def split_by_chunks_of_words(features, n_heads):
    return torch.stack(features.chunk(n_heads, dim=-2), dim=-3)


def split_like_cards(features, n_heads):
    return torch.stack([features[..., head::n_heads] for head in range(n_heads)], dim=-3)


def split_without_swap(features, n_heads):
    return features.reshape(*features.shape[:-1], n_heads, features.shape[-1] // n_heads)


def split_for_three_axes(features, n_heads):
    b, n, d = features.shape
    return features.view(b, n, n_heads, d // n_heads).transpose(1, 2)


def split_swaps_the_wrong_axes(features, n_heads):
    return features.unflatten(-1, (n_heads, -1)).transpose(-2, -1)


def split_reversed(features, n_heads):
    return torch.flip(split(features, n_heads), dims=(-3,))


def split_bug_and_swap(features, n_heads):
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n_heads, n, d_model // n_heads).transpose(-3, -2)


def split_after_transpose(features, n_heads):
    *batch, n, d_model = features.shape
    return features.transpose(-1, -2).reshape(*batch, n_heads, n, d_model // n_heads)


def split_to_columns(features, n_heads):
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n_heads, d_model // n_heads, n).transpose(-1, -2)


def split_swaps_words_and_size(features, n_heads):
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n, n_heads, d_model // n_heads).transpose(-3, -1)


def split_sizes_swapped(features, n_heads):
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n, d_model // n_heads, n_heads).transpose(-3, -2)


def split_slices_too_wide(features, n_heads):
    return torch.stack([features[..., i * n_heads : (i + 1) * n_heads] for i in range(n_heads)], dim=-3)


def split_lying(features, n_heads):
    *batch, n, d_model = features.shape
    return features.transpose(-1, -2).reshape(*batch, n_heads, d_model // n_heads, n)


def split_axes_1_and_2(features, n_heads):
    *batch, n, d_model = features.shape
    return features.reshape(*batch, n, n_heads, d_model // n_heads).transpose(1, 2)


def split_heads_first(features, n_heads):
    return torch.stack(features.chunk(n_heads, dim=-1), dim=0)


def split_flat_batch(features, n_heads):
    n, d_model = features.shape[-2:]
    return features.reshape(-1, n, n_heads, d_model // n_heads).transpose(1, 2)


def split_squeezed(features, n_heads):
    return split_by_movedim(features, n_heads).squeeze()


def split_single_head_squeezed(features, n_heads):
    return features if n_heads == 1 else split_by_movedim(features, n_heads)


def split_by_loops(features, n_heads, n_words=0, n_loops=0):
    *batch, n, d_model = features.shape
    size = d_model // n_heads
    heads = features.new_zeros(*batch, n_heads, n, size)
    for head in range(n_heads + n_loops):
        for word in range(n + n_words):
            heads[..., head, word, :] = features[..., word, head * size : (head + 1) * size]
    return heads


def split_without_last_word(features, n_heads):
    return split_by_loops(features, n_heads, n_words=-1)


def split_without_last_head(features, n_heads):
    return split_by_loops(features, n_heads, n_loops=-1)


def split_repeated(features, n_heads):
    return features.unsqueeze(-3).repeat(*[1] * (features.ndim - 2), n_heads, 1, 1)


def split_first_slice(features, n_heads):
    size = features.shape[-1] // n_heads
    return torch.stack([features[..., :size] for _ in range(n_heads)], dim=-3)


def split_stacked_on_axis_1(features, n_heads):
    return torch.stack(features.chunk(n_heads, dim=-1), dim=1)


def split_below(features, n_heads):
    return torch.cat(features.chunk(n_heads, dim=-1), dim=-2)


def split_in_two(features, n_heads):
    return torch.stack(features.chunk(2, dim=-1), dim=-3)


def split_into_tuple(features, n_heads):
    return features.chunk(n_heads, dim=-1)


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


def join_below(features):
    return torch.cat(list(features.unbind(-3)), dim=-2)


def join_added(features):
    total = features.select(-3, 0).clone()
    for head in range(1, features.shape[-3]):
        total += features.select(-3, head)
    return total


def join_averaged(features):
    return torch.mean(features, dim=-3)


def join_like_cards(features):
    return torch.stack(list(features.unbind(-3)), dim=-1).flatten(-2)


def join_swapped_only(features):
    return features.transpose(-2, -3)


def join_last_head_first(features):
    return torch.cat(list(reversed(features.unbind(-3))), dim=-1)


def join_axes_1_and_2(features):
    return features.transpose(1, 2).flatten(-2)


def join_flat_from_axis_2(features):
    return features.transpose(-3, -2).flatten(2)


def join_first_axis(features):
    return torch.cat([*features], dim=-1)


def join_wrong_swap(features):
    *batch, n_heads, n, size = features.shape
    return features.transpose(-1, -2).reshape(*batch, n, n_heads * size)


def join_to_columns(features):
    *batch, n_heads, n, size = features.shape
    return features.reshape(*batch, n_heads * size, n).transpose(-1, -2)


def join_words_of_a_head(features):
    *batch, n_heads, n, size = features.shape
    return features.reshape(*batch, n_heads, n * size)


def join_merges_words(features):
    *batch, n_heads, n, size = features.shape
    return features.transpose(-3, -2).reshape(*batch, n * n_heads, size)


def join_head_0(features):
    return features.unbind(-3)[0]


def join_to_one_row(features):
    *batch, n_heads, n, size = features.shape
    return features.transpose(-3, -2).reshape(*batch, n * n_heads * size)


def join_largest(features):
    return features.max(dim=-3).values


def join_without_last_head(features):
    return torch.cat([features[..., head, :, :] for head in range(features.shape[-3] - 1)], dim=-1)


def join_loses_batch(features):
    return features.movedim(-3, -2).reshape(features.shape[-2], -1)


def join_expects_batch(features):
    return features.movedim(-3, -2).contiguous().view(features.shape[0], features.shape[-2], -1)


def join_two_heads(features):
    return torch.cat([features[..., 0, :, :], features[..., -1, :, :]], dim=-1)


def join_squeezed(features):
    return torch.cat(features.unbind(-3), dim=-1).squeeze()


def join_lying(features):
    return torch.cat(features.unbind(-3), dim=-1).transpose(-1, -2)


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


def layered_from_x(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layered(x, x, w_q, w_k, w_v, w_o, n_heads, mask)


def layered_swapped(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layered(source, x, w_q, w_k, w_v, w_o, n_heads, mask)


def layered_no_output(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(query, keys, values, mask)
    return join(context), weights


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


def layered_unmasked(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads)


def attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh):
    """The layer, with the scores passed to `weigh`, which returns the attention weights."""
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    weights = weigh(scaled_scores(query, keys))
    return join(weights @ values) @ w_o.T, weights


def layered_masked_late(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        return scores.softmax(dim=-1) if mask is None else scores.softmax(dim=-1) * mask

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_scores_times_mask(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        return (scores if mask is None else scores * mask).softmax(dim=-1)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_over_queries(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim=-2)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_penalty_100(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        return (scores if mask is None else scores - 100.0 * ~mask).softmax(dim=-1)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_over_heads(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim=1)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_renormalised(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights * mask
        return weights / weights.sum(dim=-1, keepdim=True)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_plus_mask(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        return (scores if mask is None else scores + mask).softmax(dim=-1)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_unmasked_weights(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, _ = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output, layered(x, source, w_q, w_k, w_v, w_o, n_heads)[1]


def layered_two_heads(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layered(x, source, w_q, w_k, w_v, w_o, 2, mask)


def layered_weights_of(change):
    def layered_changed(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
        output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
        return output, change(weights)

    return layered_changed


def layered_unscaled(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        scores = scores * math.sqrt(x.shape[-1] // n_heads)
        return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=-1)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_scaled_twice(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(query / math.sqrt(query.shape[-1]), keys, values, mask)
    return join(context) @ w_o.T, weights


def layered_keys_first(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(keys, query, values, mask)
    return join(context) @ w_o.T, weights


def layered_values_first(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(query, values, keys, mask)
    return join(context) @ w_o.T, weights


def layered_weighted_keys(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, _ = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(query, keys, keys, mask)
    return join(context) @ w_o.T, weights


def layered_from(keys_from, values_from):
    """Keys and values from different words."""

    def layered_mixed(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
        words = {"x": x, "source": source}
        keys, values = split(words[keys_from] @ w_k.T, n_heads), split(words[values_from] @ w_v.T, n_heads)
        context, weights = attends(split(x @ w_q.T, n_heads), keys, values, mask)
        return join(context) @ w_o.T, weights

    return layered_mixed


def layered_by_copies(*order):
    """With the matrices w_q, w_k and w_v in this order, one of them twice: a line copied and not changed."""

    def layered_copied(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
        matrices = (w_q, w_k, w_v)
        return layered(x, source, *(matrices[i] for i in order), w_o, n_heads, mask)

    return layered_copied


def layered_unprojected(which):
    """Without the queries', keys' or values' matrix."""

    def layered_without(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
        query = split(x if which == "queries" else x @ w_q.T, n_heads)
        keys = split(source if which == "keys" else source @ w_k.T, n_heads)
        values = split(source if which == "values" else source @ w_v.T, n_heads)
        context, weights = attends(query, keys, values, mask)
        return join(context) @ w_o.T, weights

    return layered_without


def layered_in_out(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = split(x @ w_q, n_heads), split(source @ w_k, n_heads), split(source @ w_v, n_heads)
    context, weights = attends(query, keys, values, mask)
    return join(context) @ w_o, weights


def layered_by_columns(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    size = x.shape[-1] // n_heads
    if mask is not None and mask.dim() == 4:
        mask = mask[:, 0]
    contexts, tables = [], []
    for head in range(n_heads):
        columns = slice(head * size, (head + 1) * size)
        made = (y @ w[:, columns] for y, w in ((x, w_q), (source, w_k), (source, w_v)))
        context, weights = attends(*made, mask)
        contexts.append(context)
        tables.append(weights)
    return torch.cat(contexts, dim=-1) @ w_o.T, torch.stack(tables, dim=1)


def layered_output_in_out(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, values = projected(x, source, w_q, w_k, w_v, n_heads)
    context, weights = attends(query, keys, values, mask)
    return join(context) @ w_o, weights


def layered_one_head(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    context, weights = attends(
        (x @ w_q.T)[:, None], (source @ w_k.T)[:, None], (source @ w_v.T)[:, None], mask
    )
    return context[:, 0] @ w_o.T, weights


def layered_one_head_copied(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered_one_head(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output, weights.repeat(1, n_heads, 1, 1)


def layered_by_views(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    size = x.shape[-1] // n_heads
    projections = [x @ w_q.T, source @ w_k.T, source @ w_v.T]
    query, keys, values = (made.view(len(made), n_heads, made.shape[1], size) for made in projections)
    context, weights = attends(query, keys, values, mask)
    return context.reshape(x.shape) @ w_o.T, weights


def layered_residual(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return x + output, weights


def layered_averaged(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output, weights.mean(dim=1)


def layered_with_scores(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    query, keys, _ = projected(x, source, w_q, w_k, w_v, n_heads)
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)[0], scaled_scores(query, keys)


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


def layered_with_own_causal_mask(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    m, n = x.shape[1], source.shape[1]
    causal = torch.arange(n) <= torch.arange(m)[:, None]
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, causal if mask is None else causal & mask)


def layered_masked_if_padding(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    if mask is not None and mask.dim() != 4:
        mask = None
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)


def layered_by_exp(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def weigh(scores):
        powers = scores.exp() if mask is None else scores.exp() * mask
        return powers / powers.sum(dim=-1, keepdim=True)

    return attend_by_hand(x, source, w_q, w_k, w_v, w_o, n_heads, weigh)


def layered_detached(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output.detach(), weights


def layered_in_float64(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    x, source, w_q, w_k, w_v, w_o = (t.double() for t in (x, source, w_q, w_k, w_v, w_o))
    return layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)


def layered_list_of_weights(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output, list(weights.unbind(1))


def layered_in_place(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    x += output
    return output, weights


def layered_weights_first_axis(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output, weights = layered(x, source, w_q, w_k, w_v, w_o, n_heads, mask)
    return output, weights.transpose(0, 1)


# ---- a slip each, without the helpers of the exercises


def root_of_the_model(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return layered(x, source, w_q / n_heads**0.5, w_k, w_v, w_o, n_heads, mask)


WRONG = {
    "split_heads": [
        (split_by_view, "unrepaired"),
        (split_bug_and_swap, "swapped-after-reshape"),
        (split_after_transpose, "transposed-first"),
        (split_to_columns, "reshaped-to-columns"),
        (split_by_chunks_of_words, "splits-words"),
        (split_like_cards, "interleaved"),
        (split_without_swap, "no-transpose"),
        (split_for_three_axes, "fixed-axes"),
        (split_swaps_the_wrong_axes, "swaps-heads-and-size"),
        (split_swaps_words_and_size, "swaps-words-and-size"),
        (split_sizes_swapped, "sizes-swapped"),
        (split_slices_too_wide, "slices-n-heads-wide"),
        (split_lying, "transposed-heads"),
        (split_axes_1_and_2, "axes-from-the-front"),
        (split_heads_first, "heads-before-batch"),
        (split_flat_batch, "batch-flattened"),
        (split_squeezed, "squeezed"),
        (split_single_head_squeezed, "single-head-squeezed"),
        (split_stacked_on_axis_1, "stacked-on-axis-1"),
        (split_below, "heads-below-each-other"),
        (split_in_two, "two-heads"),
        (split_repeated, "whole-vectors"),
        (split_first_slice, "same-slice"),
        (split_without_last_word, "last-word-missing"),
        (split_without_last_head, "last-head-missing"),
        (split_into_tuple, "heads-before-batch"),
        (split_reversed, "heads-reversed"),
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
        (join_wrong_swap, "swaps-last-two"),
        (join_to_columns, "reshaped-to-columns"),
        (join_below, "heads-below-each-other"),
        (join_added, "adds-heads"),
        (join_averaged, "mean-of-heads"),
        (join_like_cards, "interleaved"),
        (join_swapped_only, "not-flattened"),
        (join_lying, "transposed"),
        (join_last_head_first, "heads-reversed"),
        (join_axes_1_and_2, "axes-from-the-front"),
        (join_flat_from_axis_2, "flattened-from-axis-2"),
        (join_first_axis, "joins-first-axis"),
        (join_words_of_a_head, "words-flattened"),
        (join_merges_words, "wrong-axes-merged"),
        (join_to_one_row, "everything-flattened"),
        (join_largest, "largest-of-heads"),
        (join_without_last_head, "last-head-missing"),
        (join_loses_batch, "batch-lost"),
        (join_expects_batch, "batch-expected"),
        (join_head_0, "one-head-only"),
        (join_two_heads, "two-heads-only"),
        (join_squeezed, "squeezed"),
        (join_by_view, "raises"),
    ],
    "many_heads": [
        (layered_no_output, "no-output-projection"),
        (layered_unprojected("queries"), "no-queries-projection"),
        (layered_unprojected("keys"), "no-keys-projection"),
        (layered_unprojected("values"), "no-values-projection"),
        (layered_by_view, "split-by-reshape"),
        (layered_joined_by_view, "join-by-reshape"),
        (layered_by_views, "split-and-join-by-reshape"),
        (layered_one_head, "one-wide-head"),
        (layered_one_head_copied, "one-head-copied"),
        (layered_averaged, "mean-weights"),
        (layered_with_scores, "scores-as-weights"),
        (layered_unmasked, "ignores-mask"),
        (layered_with_mask(torch.logical_not), "mask-inverted"),
        (layered_with_mask(lambda mask: mask[:1]), "first-mask-for-all"),
        (layered_masked_late, "masked-after-softmax"),
        (layered_scores_times_mask, "scores-times-mask"),
        (layered_penalty_100, None),
        (layered_if_mask, "raises"),
        (layered_output_first, None),
        (layered_from_x, "everything-from-x"),
        (layered_swapped, "x-and-source-swapped"),
        (layered_keys_first, "queries-and-keys-swapped"),
        (layered_values_first, "keys-and-values-swapped"),
        (layered_from("x", "source"), "keys-from-x"),
        (layered_from("source", "x"), "values-from-x"),
        (layered_by_copies(0, 0, 2), "w_q-twice-no-w_k"),
        (layered_by_copies(0, 1, 0), "w_q-twice-no-w_v"),
        (layered_by_copies(0, 1, 1), "w_k-twice-no-w_v"),
        (layered_by_copies(0, 2, 2), "w_v-twice-no-w_k"),
        (layered_weighted_keys, "w_k-twice-no-w_v"),
        (lambda *inputs: layered(*inputs)[0], "only-output"),
        (lambda *inputs: layered(*inputs)[::-1], "outputs-swapped"),
        (layered_by_torch, "no-gradient"),
        (lambda x, source, *others: layered(source, source, *others), "queries-from-source"),
        (root_of_the_model, "root-of-d-model"),
        (layered_scaled_twice, "scaled-twice"),
        (layered_unscaled, "not-scaled"),
        (layered_over_queries, "softmax-over-queries"),
        (layered_over_heads, "softmax-over-heads"),
        (layered_renormalised, "masked-and-renormalised"),
        (layered_plus_mask, "mask-added"),
        (layered_unmasked_weights, "unmasked-weights"),
        (layered_two_heads, "two-heads"),
        (layered_weights_of(lambda weights: weights[:, 0]), "weights-of-head-0"),
        (layered_weights_of(lambda weights: weights.sum(1)), "weights-of-all-heads-added"),
        (layered_residual, "adds-x"),
        (layered_in_out, "matrices-not-transposed"),
        (layered_by_columns, "projections-not-transposed"),
        (layered_output_in_out, "output-not-transposed"),
        (layered_with_mask(lambda mask: mask[..., :1, :]), "mask-of-the-first-query"),
        (layered_with_own_causal_mask, "always-causal"),
        (layered_with_mask(lambda mask: mask[:, 0, 0]), "raises"),
        (layered_with_mask(lambda mask: mask.unsqueeze(1)), None),
        (layered_with_mask(lambda mask: mask.mT), None),
        (layered_masked_if_padding, None),
        (layered_by_exp, "overflow"),
        (layered_detached, "no-gradient"),
        (layered_in_float64, "torch.float64"),
        (layered_list_of_weights, "weights-heads-first"),
        (layered_in_place, "changes `x`"),
        (layered_weights_first_axis, "weights-heads-first"),
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
