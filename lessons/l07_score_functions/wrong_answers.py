"""Answers to the exercises of lesson 07, as learners write them: wrong, with what must be said, and right."""

import math

import torch
from torch.nn import functional as F


def parts(query, states, w, w_p, v_p, half_width):
    """What most answers for local-p begin with: scores, positions, centre, and what is inside the window."""
    positions = torch.arange(len(states))
    centre = len(states) * torch.sigmoid(v_p @ torch.tanh(w_p @ query))
    return states @ (query @ w), positions, centre, (positions - centre).abs() <= half_width


# ---- general


def general_by_einsum(queries, keys, w):
    return torch.einsum("mq,qk,nk->mn", queries, w, keys)


def general_keys_first(queries, keys, w):
    return queries @ (keys @ w.T).T


def general_by_loop(queries, keys, w):
    return torch.stack([torch.stack([q @ w @ k for k in keys]) for q in queries])


def general_as_weights(queries, keys, w):
    return torch.softmax(queries @ w @ keys.T, dim=1)


def general_scaled(queries, keys, w):
    return queries @ w @ keys.T / keys.shape[1] ** 0.5


def general_lying_down(queries, keys, w):
    return keys @ (queries @ w).T


def general_without_w(queries, keys, w):
    return queries @ keys.T


def general_w_turned(queries, keys, w):
    return queries @ w.T @ keys.T


def general_first_only(queries, keys, w):
    return (keys @ (w.T @ queries[0])).repeat(len(queries), 1)


def general_as_columns_of_weights(queries, keys, w):
    return torch.softmax(queries @ w @ keys.T, dim=0)


def general_scaled_by_queries(queries, keys, w):
    return queries @ w @ keys.T / math.sqrt(queries.shape[1])


def general_by_means(queries, keys, w):
    return torch.einsum("ma,ab,nb->mnab", queries, w, keys).mean(dim=(-1, -2))


def general_added(queries, keys, w):
    return torch.stack([(query + keys).sum(dim=1) for query in queries @ w])


def general_as_cosine(queries, keys, w):
    return F.normalize(queries @ w, dim=-1) @ F.normalize(keys, dim=-1).T


def general_reshaped(queries, keys, w):
    return queries @ w @ keys.reshape(keys.shape[1], keys.shape[0])


def general_first_key_only(queries, keys, w):
    return (queries @ w @ keys[0])[:, None].repeat(1, len(keys))


def general_diagonal(queries, keys, w):
    scores = torch.zeros(len(queries), len(keys))
    for i, (query, key) in enumerate(zip(queries, keys, strict=False)):
        scores[i, i] = query @ w @ key
    return scores


def general_with(ranges):
    """A double loop over other ranges than all queries and all keys."""

    def general(queries, keys, w):
        scores = torch.zeros(len(queries), len(keys))
        m, n = ranges(len(queries), len(keys))
        for i in range(m):
            for j in range(n):
                scores[i, j] = queries[i] @ w @ keys[j]
        return scores

    return general


def general_absolute(queries, keys, w):
    return (queries @ w @ keys.T).abs()


def general_detached(queries, keys, w):
    return queries @ w.detach() @ keys.T


# ---- concat


def concat_pair_by_pair(queries, keys, w, v):
    rows = [torch.stack([v @ torch.tanh(w @ torch.cat([q, k])) for k in keys]) for q in queries]
    return torch.stack(rows)


def concat_expanded(queries, keys, w, v):
    m, n = len(queries), len(keys)
    left = queries[:, None, :].expand(m, n, -1)
    right = keys[None, :, :].expand(m, n, -1)
    return torch.tanh(torch.cat([left, right], dim=-1) @ w.T) @ v


def concat_as_additive(queries, keys, w, v):
    w_query, w_key = w.split([queries.shape[1], keys.shape[1]], dim=1)
    return torch.tanh(F.linear(queries, w_query).unsqueeze(1) + F.linear(keys, w_key)) @ v


def concat_key_in_front(queries, keys, w, v):
    rows = [torch.stack([v @ torch.tanh(w @ torch.cat([k, q])) for k in keys]) for q in queries]
    return torch.stack(rows)


def concat_straight(queries, keys, w, v):
    rows = [torch.stack([v @ w @ torch.cat([q, k]) for k in keys]) for q in queries]
    return torch.stack(rows)


def concat_bent_late(queries, keys, w, v):
    return torch.tanh(concat_straight(queries, keys, w, v))


def concat_unjudged(queries, keys, w, v):
    rows = [torch.stack([torch.tanh(w @ torch.cat([q, k])).sum() for k in keys]) for q in queries]
    return torch.stack(rows)


def concat_as_weights(queries, keys, w, v):
    return torch.softmax(concat_pair_by_pair(queries, keys, w, v), dim=-1)


def concat_relu(queries, keys, w, v):
    m, n = len(queries), len(keys)
    pairs = torch.cat([queries[:, None].expand(m, n, -1), keys[None].expand(m, n, -1)], dim=-1)
    return torch.relu(pairs @ w.T) @ v


def concat_keeps_an_axis(queries, keys, w, v):
    return concat_expanded(queries, keys, w, v).unsqueeze(-1)


# ---- cosine


def cosine_by_torch(query, keys):
    return F.cosine_similarity(keys, query[None], dim=-1)


def cosine_unit_vectors(query, keys):
    return (keys / keys.norm(dim=-1, keepdim=True)) @ (query / query.norm())


def cosine_by_loop(query, keys):
    return torch.stack([(key @ query) / (key.norm() * query.norm()) for key in keys])


def cosine_first_version(query, keys):
    length = keys.norm() * query.norm()
    return (keys @ query) / length


def cosine_long_keys_win(query, keys):
    return keys @ (query / query.norm())


def cosine_dot(query, keys):
    return torch.mv(keys, query)


def cosine_columns(query, keys):
    return (keys / keys.norm(dim=0, keepdim=True)) @ query / query.norm()


def cosine_squares(query, keys):
    return keys @ query / ((query @ query) * (keys * keys).sum(dim=1))


def cosine_distance(query, keys):
    return 1 - F.cosine_similarity(keys, query[None], dim=-1)


# ---- local-p


def local_by_index(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = torch.zeros(len(states))
    weights[inside] = torch.softmax(scores[inside], dim=0)
    sigma = half_width / 2
    return weights * torch.exp(-((places - centre) ** 2) / (2 * sigma**2)), centre


def local_by_infinity(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = torch.where(inside, scores, torch.tensor(-float("inf"))).softmax(0)
    return weights * (-2 * ((places - centre) / half_width).square()).exp(), centre


def local_by_hand(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    grown = torch.exp(scores - scores[inside].max()).clamp(max=1e6) * inside
    sigma = half_width / 2
    return grown / grown.sum() * torch.exp(-0.5 * ((places - centre) / sigma) ** 2), centre


def local_shared_out_again(*given):
    weights, centre = local_by_index(*given)
    return weights / weights.sum(), centre


def local_wide_bell(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = scores.masked_fill(~inside, -1e9).softmax(0)
    return weights * torch.exp(-((places - centre) ** 2) / (2 * half_width**2)), centre


def local_cut_late(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = torch.softmax(scores, dim=0)
    weights = torch.where(inside, weights, torch.tensor(0.0))
    return weights * torch.exp(-2 * ((places - centre) / half_width) ** 2), centre


def local_window_alone(query, states, w, w_p, v_p, half_width):
    scores, _, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = torch.zeros(len(states))
    weights[inside] = torch.softmax(scores[inside], dim=0)
    return weights, centre


def local_zero_scores(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = torch.softmax(scores * inside, dim=0)
    return weights * torch.exp(-2 * ((places - centre) / half_width) ** 2), centre


def local_from_one(query, states, w, w_p, v_p, half_width):
    places = torch.arange(1, len(states) + 1)
    centre = len(states) * torch.sigmoid(v_p @ torch.tanh(w_p @ query))
    inside = (places - centre).abs() <= half_width
    weights = torch.zeros(len(states))
    if inside.any():
        weights[inside] = torch.softmax((states @ (query @ w))[inside], dim=0)
    return weights * torch.exp(-2 * ((places - centre) / half_width) ** 2), centre


def local_edge_out(query, states, w, w_p, v_p, half_width):
    scores, places, centre, _ = parts(query, states, w, w_p, v_p, half_width)
    inside = (places - centre).abs() < half_width
    weights = torch.zeros(len(states))
    weights[inside] = torch.softmax(scores[inside], dim=0)
    return weights * torch.exp(-2 * ((places - centre) / half_width) ** 2), centre


def local_raw_scores(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    return torch.where(inside, scores, 0) * torch.exp(-2 * ((places - centre) / half_width) ** 2), centre


def local_centre_as_share(*given):
    weights, _ = local_by_index(*given)
    return weights, torch.sigmoid(given[4] @ torch.tanh(given[3] @ given[0]))


def local_bell_detached(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = torch.zeros(len(states))
    weights[inside] = torch.softmax(scores[inside], dim=0)
    distances = (places - centre).detach()
    return weights * torch.exp(-2 * (distances / half_width) ** 2), centre


def local_bell_of_floats(query, states, w, w_p, v_p, half_width):
    scores, places, centre, inside = parts(query, states, w, w_p, v_p, half_width)
    weights = torch.zeros(len(states))
    weights[inside] = torch.softmax(scores[inside], dim=0)
    sigma = float(half_width) / 2
    bell = [math.exp(-((place - centre.item()) ** 2) / (2 * sigma**2)) for place in places.tolist()]
    return weights * torch.tensor(bell), centre


def local_the_wrong_way_round(*given):
    weights, centre = local_by_index(*given)
    return centre, weights


def local_weights_alone(*given):
    return local_by_index(*given)[0]


def local_no_bend(query, states, w, w_p, v_p, half_width):
    places = torch.arange(len(states))
    centre = len(states) * torch.sigmoid(v_p @ (w_p @ query))
    inside = (places - centre).abs() <= half_width
    weights = (states @ (query @ w)).masked_fill(~inside, -1e9).softmax(0)
    return weights * torch.exp(-2 * ((places - centre) / half_width) ** 2), centre


# ---- a slip each, without the helpers of the exercises


def inside_softmax(scores, inside):
    return scores.masked_fill(~inside, -math.inf).softmax(-1)


def local_with(weights_of=None, centre_of=None):
    """local-p with other weights (of scores, positions, centre and D), or with another centre."""

    def local(query, states, w, w_p, v_p, half_width):
        scores, positions, centre, _ = parts(query, states, w, w_p, v_p, half_width)
        if centre_of:
            centre = centre_of(v_p @ torch.tanh(w_p @ query), len(states))
        if weights_of:
            return weights_of(scores, positions, centre, half_width), centre
        return windowed(scores, positions, centre, half_width) * gaussian(
            positions, centre, half_width
        ), centre

    return local


def windowed(scores, positions, centre, half_width):
    return inside_softmax(scores, (positions - centre).abs() <= half_width)


def gaussian(positions, centre, half_width):
    return torch.exp(-2 * ((positions - centre) / half_width).square())


WRONG = {
    "general_scores": [
        (general_as_weights, "softmax-already"),
        (general_scaled, "scaled-already"),
        (general_first_only, "first-query-for-all"),
        (general_absolute, "abs-of-scores"),
        (general_lying_down, "transposed-scores"),
        (general_without_w, "no-w"),
        (general_w_turned, "input-transposed"),
        (general_detached, "no-gradient"),
        (lambda queries, keys, w: general_by_einsum(queries, keys, w) / keys.shape[1], "mean-for-sum"),
        (lambda queries, keys, w: (queries @ w).tanh() @ keys.mT, "tanh-of-queries"),
        (lambda queries, keys, w: general_by_loop(queries, keys, w).tanh(), "tanh-of-scores"),
        (general_as_columns_of_weights, "softmax-over-queries"),
        (general_scaled_by_queries, "scaled-by-query-width"),
        (general_by_means, "mean-over-both"),
        (general_added, "added"),
        (lambda queries, keys, w: torch.tanh((queries @ w).unsqueeze(1) + keys).sum(dim=-1), "added-tanh"),
        (lambda queries, keys, w: F.relu(queries @ w) @ keys.mT, "relu-of-queries"),
        (lambda queries, keys, w: (queries @ w @ keys.T).clamp(min=0), "relu-of-scores"),
        (lambda queries, keys, w: F.sigmoid(queries @ w @ keys.T), "sigmoid-of-scores"),
        (lambda queries, keys, w: math.e ** (queries @ w @ keys.T), "exp-of-scores"),
        (general_as_cosine, "cosine"),
        (general_reshaped, "keys-reshaped"),
        (general_first_key_only, "first-key-for-all"),
        (general_diagonal, "diagonal-only"),
        (lambda q, k, w: torch.einsum("iq,qk,ik->i", q, w, k), "same-index"),
        (general_with(lambda m, n: (m, n - 1)), "last-key"),
        (general_with(lambda m, n: (m - 1, n)), "last-query"),
        (lambda queries, keys, w: (queries @ w @ keys.T).squeeze(), "wrong-shape"),
        (lambda queries, keys, w: (queries @ w @ keys.T).round(), None),
    ],
    "concat_scores": [
        (concat_key_in_front, "keys-first"),
        (concat_straight, "no-tanh"),
        (concat_bent_late, "tanh-after-v"),
        (concat_unjudged, "no-v"),
        (concat_as_weights, "softmax-already"),
        (concat_relu, None),
        (concat_keeps_an_axis, "wrong-shape"),
        (
            lambda queries, keys, w, v: (
                (torch.tanh(F.linear(queries, w[:, : queries.shape[1]])) @ v)[:, None]
                + torch.tanh(F.linear(keys, w[:, queries.shape[1] :])) @ v
            ),
            "bent-apart",
        ),
        (
            lambda queries, keys, w, v: concat_expanded(queries[:1], keys, w, v).repeat(len(queries), 1),
            "first-query-for-all",
        ),
    ],
    "cosine_scores": [
        (cosine_first_version, "unrepaired"),
        (cosine_long_keys_win, "query-only"),
        (cosine_dot, "plain-dot"),
        (cosine_columns, "over-columns"),
        (cosine_squares, "squared"),
        (cosine_distance, None),
        (lambda query, keys: F.normalize(keys, dim=-1) @ query, "keys-only"),
    ],
    "local_p_weights": [
        (local_shared_out_again, "sums-to-one-again"),
        (local_wide_bell, "sigma-is-D"),
        (local_cut_late, "cut-after-softmax"),
        (local_window_alone, "no-bell"),
        (local_zero_scores, "zero-for-hidden"),
        (local_from_one, "from-one"),
        (local_edge_out, "edge-outside"),
        (local_raw_scores, "no-softmax"),
        (local_centre_as_share, "share-for-centre"),
        (local_bell_detached, "wrong-gradient"),
        (local_bell_of_floats, "wrong-gradient"),
        (local_the_wrong_way_round, "swapped-outputs"),
        (local_weights_alone, "missing-output"),
        (local_no_bend, None),
        (local_with(lambda s, p, c, d: s.softmax(0) * gaussian(p, c, d)), "no-window"),
        (local_with(lambda s, p, c, d: windowed(s * gaussian(p, c, d), p, c, d)), "bell-on-scores"),
        (local_with(lambda s, p, c, d: windowed(s, p, c, d) * gaussian(p, c, d).square()), "no-two"),
        (
            local_with(lambda s, p, c, d: windowed(s, p, c, d) * torch.exp(-2 * (p - c).abs() / d**2)),
            "not-squared",
        ),
        (local_with(centre_of=lambda x, n: torch.round(n * x.sigmoid())), "whole-centre"),
        (local_with(centre_of=lambda x, n: x.sigmoid() * (n - 1)), "last-place"),
        (local_with(centre_of=lambda x, n: torch.floor(n * x.sigmoid())), "cut-centre"),
        (
            local_with(lambda s, p, c, d: windowed(torch.zeros_like(s), p, c, d) * gaussian(p, c, d)),
            "all-alike-inside",
        ),
    ],
}

RIGHT = {
    "general_scores": [general_by_einsum, general_keys_first, general_by_loop],
    "concat_scores": [concat_pair_by_pair, concat_expanded, concat_as_additive],
    "cosine_scores": [cosine_by_torch, cosine_unit_vectors, cosine_by_loop],
    "local_p_weights": [local_by_index, local_by_infinity, local_by_hand],
}
