"""Answers to the exercises of lesson 08, as learners write them: wrong, with what must be said, and right."""

import math

import numpy as np
import torch
import torch.nn.functional as F

# --- soft_lookup(query, keys, values) -> context, weights


def scores_as_weights(query, keys, values):
    weights = keys @ query
    context = weights @ values
    return context, weights


def exp_only(query, keys, values):
    weights = torch.exp(torch.mv(keys, query))
    return torch.einsum("n,nv->v", weights, values), weights


def scores_over_their_sum(query, keys, values):
    scores = keys @ query
    weights = scores / scores.sum()
    return weights @ values, weights


def best_key_only(query, keys, values):
    best = torch.argmax(keys @ query)
    weights = torch.zeros(len(keys))
    weights[best] = 1
    return values[best], weights


def mixes_keys(query, keys, values):
    weights = F.softmax(keys @ query, dim=0)
    return (weights[:, None] * keys).sum(0), weights


def scales_too_early(query, keys, values):
    d = query.shape[0]
    weights = torch.softmax(keys @ query / d**0.5, dim=-1)
    return weights @ values, weights


def cosine(query, keys, values):
    lengths = keys.norm(dim=-1) * query.norm()
    weights = ((keys @ query) / lengths).softmax(-1)
    return weights @ values, weights


def mean_of_values(query, keys, values):
    return values.mean(0), torch.ones(len(keys)) / len(keys)


def only_context(query, keys, values):
    return torch.softmax(keys @ query, 0) @ values


def three_results(query, keys, values):
    scores = keys @ query
    weights = scores.softmax(0)
    return weights @ values, weights, scores


def weights_first(query, keys, values):
    weights = torch.softmax(keys @ query, 0)
    return weights, weights @ values


def parameters_swapped(keys, query, values):
    weights = torch.softmax(keys @ query, 0)
    return weights @ values, weights


def rows_kept(query, keys, values):
    weights = torch.softmax(query[None] @ keys.T, -1)
    return weights @ values, weights


def softmax_over_one(query, keys, values):
    weights = torch.softmax((keys @ query)[:, None], dim=-1)[:, 0]
    return weights @ values, weights


def lookup_in_numpy(query, keys, values):
    scores = np.exp(keys.numpy() @ query.numpy())
    weights = scores / scores.sum()
    return weights @ values.numpy(), weights


def lookup_in_double(query, keys, values):
    weights = torch.softmax(keys.double() @ query.double(), 0)
    return weights @ values.double(), weights


def lookup_in_place(query, keys, values):
    weights = torch.softmax(keys @ query, 0)
    values *= weights[:, None]
    return values.sum(0), weights


def wrong_dim(query, keys, values):
    weights = torch.softmax(keys @ query, dim=1)
    return weights @ values, weights


def no_dim_matches(query, keys, values):
    weights = torch.softmax(query @ keys, dim=0)
    return weights @ values, weights


def right_weights_wrong_context(query, keys, values):
    weights = torch.softmax(keys @ query, 0)
    return (weights @ values) * 2, weights


def cosine_and_doubled(query, keys, values):
    context, weights = cosine(query, keys, values)
    return 2 * context, weights


# --- scaled_attention(queries, keys, values) -> context, weights


def unscaled(queries, keys, values):
    weights = torch.softmax(queries @ keys.T, dim=-1)
    return weights @ values, weights


def unscaled_loop(queries, keys, values):
    weights = torch.stack([torch.softmax(keys @ query, dim=0) for query in queries])
    return torch.stack([row @ values for row in weights]), weights


def by_d(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / queries.shape[1], dim=-1)
    return weights @ values, weights


def by_root_n(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / math.sqrt(keys.size(0)), dim=-1)
    return weights @ values, weights


def by_root_v(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / values.shape[1] ** 0.5, dim=-1)
    return weights @ values, weights


def by_root_m(queries, keys, values):
    scores = queries @ keys.T
    weights = torch.softmax(scores / scores.shape[0] ** 0.5, dim=-1)
    return weights @ values, weights


def by_root_of_last_score_axis(queries, keys, values):
    scores = queries @ keys.transpose(0, 1)
    return F.softmax(scores / scores.shape[-1] ** 0.5, -1) @ values, F.softmax(
        scores / scores.shape[-1] ** 0.5, -1
    )


def multiplied(queries, keys, values):
    weights = torch.softmax(queries @ keys.T * queries.shape[-1] ** 0.5, dim=-1)
    return weights @ values, weights


def columns(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[1]), dim=0)
    return weights @ values, weights


def scaled_late(queries, keys, values):
    weights = torch.softmax(queries @ keys.T, dim=-1) / math.sqrt(keys.shape[1])
    return weights @ values, weights


def without_softmax(queries, keys, values):
    weights = queries @ keys.T / math.sqrt(keys.shape[1])
    return weights @ values, weights


def keys_mixed(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[1]), dim=-1)
    return weights @ keys, weights


def transposed_weights(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[1]), dim=-1)
    return weights @ values, weights.T


def missing_transpose(queries, keys, values):
    scores = queries @ keys
    return scores @ values, scores


def squeezes(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[1]), dim=-1)
    return (weights @ values).squeeze(), weights.squeeze()


def root_of_an_int(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / torch.sqrt(keys.shape[1]), dim=-1)
    return weights @ values, weights


def unscaled_in_double(queries, keys, values):
    weights = torch.softmax(queries.double() @ keys.double().T, dim=-1)
    return weights @ values.double(), weights


def scales_the_input(queries, keys, values):
    queries /= keys.shape[1] ** 0.5
    weights = torch.softmax(queries @ keys.T, dim=-1)
    return weights @ values, weights


def forgets_return(queries, keys, values):
    weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[1]), dim=-1)
    weights @ values, weights


# --- masked_attention(queries, keys, values, may_look) -> context, weights


def scaled_scores(queries, keys):
    return queries @ keys.T / math.sqrt(keys.shape[-1])


def times_mask(queries, keys, values, may_look):
    weights = torch.softmax(scaled_scores(queries, keys) * may_look.float(), dim=-1)
    return weights @ values, weights


def filled_with_zero(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).masked_fill(~may_look, 0).softmax(-1)
    return weights @ values, weights


def zeroed_after(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).softmax(-1).masked_fill(~may_look, 0.0)
    return weights @ values, weights


def upside_down(queries, keys, values, may_look):
    weights = torch.where(may_look, float("-inf"), scaled_scores(queries, keys)).softmax(-1)
    return weights @ values, weights


def sdpa_thinks_other_way(queries, keys, values, may_look):
    weights = torch.softmax(scaled_scores(queries, keys) + torch.zeros_like(may_look).float().masked_fill(
        may_look, -torch.inf), dim=-1)  # fmt: skip
    return weights @ values, weights


def ignores_mask(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).softmax(-1)
    return weights @ values, weights


def adds_mask(queries, keys, values, may_look):
    weights = (scaled_scores(queries, keys) + may_look.int()).softmax(-1)
    return weights @ values, weights


def masked_unscaled(queries, keys, values, may_look):
    scores = queries @ keys.T
    scores[~may_look] = -1e9
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights


def masked_columns(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).masked_fill(~may_look, float("-inf")).softmax(dim=0)
    return weights @ values, weights


def masked_keys(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).masked_fill(~may_look, float("-inf")).softmax(dim=-1)
    return weights @ keys, weights


def mild_fill(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).masked_fill(~may_look, -1.0).softmax(-1)
    return weights @ values, weights


def infinity_times_zero(queries, keys, values, may_look):
    weights = (scaled_scores(queries, keys) + ~may_look * float("-inf")).softmax(-1)
    return weights @ values, weights


def flips_mask_in_place(queries, keys, values, may_look):
    may_look.logical_not_()
    weights = scaled_scores(queries, keys).masked_fill(may_look, -1e9).softmax(-1)
    return weights @ values, weights


def upside_down_and_keys(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).masked_fill(may_look, -1e9).softmax(-1)
    return weights @ keys[:, : values.shape[1]], weights


def divided_by_d_and_masked(queries, keys, values, may_look):
    weights = (queries @ keys.T / keys.shape[-1]).masked_fill(~may_look, -torch.inf).softmax(-1)
    return weights @ values, weights


def mask_as_condition(queries, keys, values, may_look):
    scores = scaled_scores(queries, keys)
    if may_look:
        scores = scores.softmax(-1)
    return scores @ values, scores


# --- project_qkv(x, w_q, w_k, w_v) -> queries, keys, values, scores


def one_matrix_q(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_q, x @ w_v
    return queries, keys, values, queries @ keys.T / math.sqrt(w_q.shape[1])


def one_matrix_k(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_k, x @ w_k, x @ w_v
    return queries, keys, values, queries @ keys.T / math.sqrt(w_q.shape[1])


def root_d_model(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return queries, keys, values, queries @ keys.T / math.sqrt(w_q.shape[0])


def root_n(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return queries, keys, values, queries @ keys.T / keys.shape[0] ** 0.5


def whole_d_k(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return queries, keys, values, queries @ keys.T / keys.shape[1]


def scale_forgotten(x, w_q, w_k, w_v):
    queries, keys, values = (x @ w for w in (w_q, w_k, w_v))
    return queries, keys, values, queries @ keys.T


def keys_ask(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return queries, keys, values, keys @ queries.T / math.sqrt(keys.shape[1])


def values_by_w_k(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_k
    return queries, keys, values, queries @ keys.T / math.sqrt(keys.shape[1])


def values_are_x(x, w_q, w_k, w_v):
    queries, keys = x @ w_q, x @ w_k
    return queries, keys, x, queries @ keys.T / math.sqrt(keys.shape[1])


def weights_on_the_left(x, w_q, w_k, w_v):
    queries, keys, values = w_q @ x, w_k @ x, w_v @ x
    return queries, keys, values, queries @ keys.T


def softmaxed(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return queries, keys, values, (queries @ keys.T / math.sqrt(keys.shape[1])).softmax(-1)


def values_and_scores_wrong(x, w_q, w_k, w_v):
    queries, keys = x @ w_q, x @ w_k
    return queries, keys, x, (queries @ keys.T).softmax(-1)


def one_matrix_and_plain_values(x, w_q, w_k, w_v):
    queries = keys = x @ w_q
    return queries, keys, x, queries @ keys.T / math.sqrt(w_q.shape[1])


def keys_then_queries(x, w_q, w_k, w_v):
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return keys, queries, values, queries @ keys.T / math.sqrt(keys.shape[1])


def only_three(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_v


def projected_in_double(x, w_q, w_k, w_v):
    x, w_q, w_k, w_v = (t.double() for t in (x, w_q, w_k, w_v))
    queries, keys, values = x @ w_q, x @ w_k, x @ w_v
    return queries, keys, values, queries @ keys.T / math.sqrt(keys.shape[1])


WRONG = {
    "soft_lookup": [
        (scores_as_weights, "raw-scores"),
        (exp_only, "no-softmax-division"),
        (exp_only, "the weights of each query sum to 1"),
        (scores_over_their_sum, "shared-out-scores"),
        (best_key_only, "hard-choice"),
        (mixes_keys, "blends-keys"),
        (scales_too_early, "scaled-already"),
        (cosine, "cosine"),
        (mean_of_values, "plain-mean"),
        (only_context, "missing-output"),
        (only_context, "`return context, weights`"),
        (three_results, "wrong-count"),
        (weights_first, "swapped-outputs"),
        (parameters_swapped, "parameters"),
        (parameters_swapped, "another order"),
        (rows_kept, "wrong-shape"),
        (softmax_over_one, "the weights of each query sum to 1"),
        (lookup_in_numpy, "numpy"),
        (lookup_in_double, "dtype"),
        (lookup_in_place, "in-place"),
        (lookup_in_place, "its input `values` in place"),
        (wrong_dim, "There is no such axis"),
        (no_dim_matches, "The shapes do not fit"),
        (right_weights_wrong_context, "`context` is not what comes out by hand; `weights` is right"),
        (cosine_and_doubled, "cosine"),
        (cosine_and_doubled, "That explains a part"),
    ],
    "scaled_attention": [
        (unscaled, "no-scale"),
        (unscaled_loop, "no-scale"),
        (by_d, "over-d"),
        (by_root_n, "root-of-keys"),
        (by_root_of_last_score_axis, "root-of-keys"),
        (by_root_v, "root-of-value-width"),
        (by_root_m, "root-of-queries"),
        (multiplied, "times-root"),
        (columns, "softmax-over-queries"),
        (scaled_late, "scale-after-softmax"),
        (without_softmax, "raw-scores"),
        (keys_mixed, "blends-keys"),
        (transposed_weights, "Its axes are the wrong way round"),
        (missing_transpose, "is a transpose (`.T`) missing"),
        (squeezes, "An axis of size 1 was lost"),
        (root_of_an_int, "for a plain number use `math.sqrt(d)`"),
        (unscaled_in_double, "no-scale"),
        (unscaled_in_double, "Besides: `weights` is torch.float64"),
        (scales_the_input, "in-place"),
        (forgets_return, "returns-none"),
    ],
    "masked_attention": [
        (times_mask, "zero-before-softmax"),
        (filled_with_zero, "zero-before-softmax"),
        (zeroed_after, "zero-after-softmax"),
        (upside_down, "inverted-mask"),
        (sdpa_thinks_other_way, "inverted-mask"),
        (ignores_mask, "no-mask"),
        (adds_mask, "added-mask"),
        (masked_unscaled, "no-scale"),
        (masked_columns, "softmax-over-queries"),
        (masked_keys, "blends-keys"),
        (mild_fill, "where `may_look` is False, the weight is 0"),
        (infinity_times_zero, "not-finite"),
        (flips_mask_in_place, "in-place"),
        (upside_down_and_keys, "inverted-mask"),
        (upside_down_and_keys, "That explains a part"),
        (divided_by_d_and_masked, "not what comes out by hand"),
        (mask_as_condition, "A whole tensor stands where one number is wanted"),
    ],
    "project_qkv": [
        (one_matrix_q, "shared-w_q"),
        (one_matrix_k, "shared-w_k"),
        (root_d_model, "root-of-model-width"),
        (root_n, "root-of-words"),
        (whole_d_k, "over-d"),
        (scale_forgotten, "no-scale"),
        (keys_ask, "transposed-scores"),
        (values_by_w_k, "values-from-w_k"),
        (values_are_x, "values-unprojected"),
        (weights_on_the_left, "The shapes do not fit"),
        (softmaxed, "weights-for-scores"),
        (values_and_scores_wrong, "values-unprojected"),
        (one_matrix_and_plain_values, "shared-w_q"),
        (one_matrix_and_plain_values, "That explains a part"),
        (keys_then_queries, "swapped-outputs"),
        (only_three, "wrong-count"),
        (projected_in_double, "dtype"),
    ],
}


def lookup_loop(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
    largest = max(scores)
    parts = [torch.exp(score - largest) for score in scores]
    weights = torch.stack([part / sum(parts) for part in parts])
    context = torch.zeros(values.shape[1])
    for weight, value in zip(weights, values, strict=True):
        context = context + weight * value
    return context, weights


def lookup_einsum(query, keys, values):
    weights = torch.einsum("d,nd->n", query, keys).softmax(0)
    return torch.einsum("n,nv->v", weights, values), weights


def lookup_sdpa(query, keys, values):
    def look(values):
        return F.scaled_dot_product_attention(query[None], keys, values, scale=1.0)[0]

    return look(values), look(torch.eye(len(keys)))


def attention_loop(queries, keys, values):
    n_queries, n_keys = len(queries), len(keys)
    weights = torch.zeros(n_queries, n_keys)
    for i in range(n_queries):
        for j in range(n_keys):
            weights[i, j] = torch.exp(queries[i] @ keys[j] / math.sqrt(queries.shape[1]))
        weights[i] /= weights[i].sum()
    return weights @ values, weights


def attention_einsum(queries, keys, values):
    weights = F.softmax(torch.einsum("md,nd->mn", queries, keys) * keys.size(-1) ** -0.5, dim=1)
    return torch.einsum("mn,nv->mv", weights, values), weights


def attention_sdpa(queries, keys, values):
    weights = F.scaled_dot_product_attention(queries, keys, torch.eye(len(keys)))
    return [F.scaled_dot_product_attention(queries, keys, values), weights]


def attention_scaling_queries(queries, keys, values):
    print("shapes:", queries.shape, keys.shape)
    queries = queries / math.sqrt(queries.shape[-1])
    weights = torch.softmax(queries @ keys.mT, -1)
    return weights @ values, weights


def masked_loop(queries, keys, values, may_look):
    weights = torch.zeros(may_look.shape)
    for i, query in enumerate(queries):
        seen = [j for j in range(len(keys)) if may_look[i, j]]
        scores = torch.stack([query @ keys[j] for j in seen]) / len(query) ** 0.5
        weights[i, seen] = torch.softmax(scores, 0)
    return weights @ values, weights


def masked_einsum(queries, keys, values, may_look):
    scores = torch.einsum("md,nd->mn", queries, keys) / math.sqrt(keys.shape[-1])
    weights = torch.where(may_look, scores, -torch.inf).softmax(-1)
    return torch.einsum("mn,nv->mv", weights, values), weights


def masked_sdpa(queries, keys, values, may_look):
    def look(values):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=may_look)

    return look(values), look(torch.eye(len(keys)))


def masked_large_fill(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).masked_fill(~may_look, -1e9).softmax(-1)
    return weights @ values, weights


def zeroed_after_and_shared_out_again(queries, keys, values, may_look):
    weights = scaled_scores(queries, keys).softmax(-1) * may_look
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ values, weights


def project_loop(x, w_q, w_k, w_v):
    queries, keys, values = (torch.stack([row @ w for row in x]) for w in (w_q, w_k, w_v))
    scores = torch.tensor([[float(q @ k) / math.sqrt(len(k)) for k in keys] for q in queries])
    return queries, keys, values, scores


def project_einsum(x, w_q, w_k, w_v):
    queries, keys = torch.einsum("nm,md->nd", x, w_q), torch.einsum("nm,md->nd", x, w_k)
    return queries, keys, x @ w_v, torch.einsum("id,jd->ij", queries, keys) / w_q.shape[-1] ** 0.5


def project_linear(x, w_q, w_k, w_v):
    queries, keys, values = F.linear(x, w_q.T), F.linear(x, w_k.T), F.linear(x, w_v.T)
    return queries, keys, values, torch.matmul(queries, keys.transpose(-2, -1)).div(w_k.size(1) ** 0.5)


def project_merged(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_v, x @ (w_q @ w_k.T) @ x.T / math.sqrt(w_q.shape[1])


RIGHT = {
    "soft_lookup": [lookup_loop, lookup_einsum, lookup_sdpa],
    "scaled_attention": [attention_loop, attention_einsum, attention_sdpa, attention_scaling_queries],
    "masked_attention": [
        masked_loop,
        masked_einsum,
        masked_sdpa,
        masked_large_fill,
        zeroed_after_and_shared_out_again,
    ],
    "project_qkv": [project_loop, project_einsum, project_linear, project_merged],
}
