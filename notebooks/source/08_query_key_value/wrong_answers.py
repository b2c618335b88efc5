"""Answers to the exercises of lesson 08, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are wrong answers already and are tried as they are. Here stands what is written
differently, or is wrong in another way. After each come the slip that must be named, or a part of the text;
None where no slip may be named.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

d_k = 16  # left over in the notebook from some other cell
HIDDEN = -1e9


def blend(weights, values):
    return weights @ values, weights


def scaled(queries, keys):
    return queries @ keys.T / math.sqrt(keys.shape[-1])


# Most wrong answers are wrong in their weights alone.


def look_up(weights):
    return lambda query, keys, values: blend(weights(query, keys), values)


def attention(weights):
    return lambda queries, keys, values: blend(weights(queries, keys), values)


def masked(weights):
    return lambda queries, keys, values, may_look: blend(weights(scaled(queries, keys), may_look), values)


def over_sum(weights):
    return weights / weights.sum(-1, keepdim=True)


def best_key_only(query, keys, values):
    best = torch.argmax(keys @ query)
    weights = torch.zeros(len(keys))
    weights[best] = 1
    return values[best], weights


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


def unscaled_loop(queries, keys, values):
    weights = torch.stack([torch.softmax(keys @ query, dim=0) for query in queries])
    return torch.stack([row @ values for row in weights]), weights


def unscaled_in_double(queries, keys, values):
    return blend(torch.softmax(queries.double() @ keys.double().T, dim=-1), values.double())


def squeezes(queries, keys, values):
    context, weights = blend(torch.softmax(scaled(queries, keys), dim=-1), values)
    return context.squeeze(), weights.squeeze()


def transposed(queries, keys, values):
    context, weights = blend(torch.softmax(scaled(queries, keys), dim=-1), values)
    return context, weights.T


def left_over(queries, keys, values):
    return blend(torch.softmax(queries @ keys.T / math.sqrt(d_k), dim=-1), values)


def half_detached(queries, keys, values):
    weights = torch.softmax(scaled(queries, keys), dim=-1)
    return weights.detach() @ values, weights


@torch.no_grad()
def without_gradients(queries, keys, values):
    return blend(torch.softmax(scaled(queries, keys), dim=-1), values)


def values_detached(queries, keys, values):
    return blend(torch.softmax(scaled(queries, keys), dim=-1), values.detach())


def changed_after_use(queries, keys, values):
    context, weights = blend(torch.softmax(scaled(queries, keys), dim=-1), values)
    return context, weights.mul_(1)


def masked_unscaled(queries, keys, values, may_look):
    scores = queries @ keys.T
    scores[~may_look] = -1e9
    return blend(torch.softmax(scores, dim=-1), values)


def masked_and_over_d(queries, keys, values, may_look):
    scores = queries @ keys.T / keys.shape[-1]
    return blend(scores.masked_fill(~may_look, -torch.inf).softmax(-1), values)


def exchanged(x, w_q, w_k, w_v):
    queries, keys = F.linear(x, w_k.T), F.linear(x, w_q.T)
    return queries, keys, x @ w_v, scaled(queries, keys)


def whole_root(x, w_q, w_k, w_v):
    queries, keys = x @ w_q, x @ w_k
    return queries, keys, x @ w_v, queries @ keys.T / int(math.sqrt(keys.shape[1]))


def one_matrix_and_no_scale(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_q, x @ w_v, x @ w_q @ (x @ w_q).T


def keys_then_queries(x, w_q, w_k, w_v):
    return x @ w_k, x @ w_q, x @ w_v, scaled(x @ w_q, x @ w_k)


def scores_from_numbers(x, w_q, w_k, w_v):
    queries, keys = x @ w_q, x @ w_k
    scores = torch.tensor([[float(q @ k) / math.sqrt(len(k)) for k in keys] for q in queries])
    return queries, keys, x @ w_v, scores


SUM_TO_1 = "the weights of each query sum to 1"
EXACTLY_0 = "where `may_look` is False, the weight is exactly 0"
ONLY_LARGE = "Right for ordinary numbers, but not for large ones"

WRONG = {
    "soft_lookup": [
        (look_up(lambda query, keys: torch.exp(torch.mv(keys, query))), "no-softmax-division", SUM_TO_1),
        (
            look_up(lambda query, keys: over_sum(torch.exp(keys @ query))),
            "not-finite",
            ONLY_LARGE,
            "more than 88",
        ),
        (look_up(lambda query, keys: torch.softmax((keys @ query)[:, None], -1)[:, 0]), None, SUM_TO_1),
        (look_up(lambda query, keys: torch.softmax(keys @ query, dim=1)), "There is no such axis"),
        (look_up(lambda query, keys: torch.softmax(query[None] @ keys.T, -1)), "wrong-shape"),
        (
            look_up(lambda query, keys: torch.tensor([float(key @ query) for key in keys]).softmax(0)),
            "no-gradient",
        ),
        (look_up(cosine), "cosine"),
        (lambda query, keys, values: (2 * cosine(query, keys) @ values, cosine(query, keys)), None),
        (lambda query, keys, values: torch.softmax(keys @ query, 0) @ values, "missing-output"),
        (lambda query, keys, values: (values[0], keys[0], query), "wrong-count", "`return context, weights`"),
        (lambda keys, query, values: values, "parameters", "another order"),
        (best_key_only, "hard-choice"),
        (weights_first, "swapped-outputs"),
        (doubled_context, None, "`context` is not what comes out by hand; `weights` is right"),
        (numpy_and_back, "no-gradient", "NumPy"),
    ],
    "scaled_attention": [
        (unscaled_loop, "no-scale"),
        (unscaled_in_double, "no-scale", "Besides: `weights` is torch.float64"),
        (attention(lambda queries, keys: over_sum((queries @ keys.T).exp())), "no-scale"),
        (attention(lambda q, k: (q @ k.T / (q @ k.T).shape[-1] ** 0.5).softmax(-1)), "root-of-keys"),
        (attention(lambda q, k: (q @ k.T / int(math.sqrt(k.shape[1]))).softmax(-1)), None),
        (attention(lambda q, k: (q @ k.T / round(math.sqrt(k.shape[1]))).softmax(-1)), None),
        (attention(lambda q, k: (q @ k.T / torch.sqrt(k.shape[1])).softmax(-1)), "use `math.sqrt(d)`"),
        (attention(lambda queries, keys: queries @ keys), "is a transpose (`.T`) missing"),
        (left_over, "left-over", "It uses `d_k`, a variable of the notebook"),
        (squeezes, "An axis of size 1 was lost"),
        (transposed, "Its axes are the wrong way round"),
        (attention(lambda queries, keys: over_sum(scaled(queries, keys).exp())), "not-finite", ONLY_LARGE),
        (attention(lambda queries, keys: scaled(queries, keys).clamp(-2, 2).softmax(-1)), None),
        (attention(lambda queries, keys: scaled(queries, keys).clamp(-9, 9).softmax(-1)), "large-numbers"),
        (attention(lambda queries, keys: scaled(queries, keys).clamp(max=80).softmax(-1)), ONLY_LARGE),
        (attention(lambda queries, keys: scaled(queries, keys).bfloat16().float().softmax(-1)), None),
        (half_detached, "wrong-gradient", "the gradient that reaches `queries` and `keys` is not"),
        (without_gradients, "no-gradient", "no gradient reaches `queries`, `keys` and `values`"),
        (values_detached, "no-gradient", "no gradient reaches `values`"),
        (changed_after_use, "no-gradient", "no gradient can be computed"),
    ],
    "masked_attention": [
        *((masked(lambda s, look, n=n: s.masked_fill(~look, n).softmax(-1)), EXACTLY_0) for n in (-1, -12)),
        *((masked(lambda s, look, n=n: s.masked_fill(~look, n).softmax(-1)), EXACTLY_0) for n in (-50, -100)),
        (masked(lambda scores, look: scores.masked_fill(~look, 0).softmax(-1)), "zero-before-softmax"),
        (masked(lambda scores, look: scores.softmax(-1).masked_fill(~look, 0.0)), "zero-after-softmax"),
        (
            masked(lambda s, look: over_sum(torch.where(look, s.softmax(-1), 0))),
            "shared-out-again",
            ONLY_LARGE,
        ),
        (masked(lambda scores, look: torch.where(look, -torch.inf, scores).softmax(-1)), "inverted-mask"),
        (masked(lambda scores, look: (scores + ~look * -torch.inf).softmax(-1)), "not-finite"),
        (masked(lambda scores, look: scores.softmax(-1) if look else scores), "A whole tensor stands where"),
        (masked_unscaled, "no-scale"),
        (masked_and_over_d, None, "not what comes out by hand"),
    ],
    "project_qkv": [
        (exchanged, "exchanged"),
        (whole_root, None),
        (one_matrix_and_no_scale, None),
        (keys_then_queries, "swapped-outputs"),
        (scores_from_numbers, "wrong-gradient"),
    ],
}


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


def attention_loop(queries, keys, values):
    weights = torch.zeros(len(queries), len(keys))
    for i, query in enumerate(queries):
        scores = torch.stack([query @ key for key in keys]) / math.sqrt(len(query))
        weights[i] = torch.exp(scores - scores.max())
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
    return blend(torch.softmax(queries @ keys.mT, -1), values)


def masked_loop(queries, keys, values, may_look):
    weights = torch.zeros(may_look.shape)
    for i, query in enumerate(queries):
        seen = [j for j in range(len(keys)) if may_look[i, j]]
        scores = torch.stack([query @ keys[j] for j in seen]) / len(query) ** 0.5
        weights[i, seen] = torch.softmax(scores, 0)
    return blend(weights, values)


def masked_einsum(queries, keys, values, may_look):
    scores = torch.einsum("md,nd->mn", queries, keys) / math.sqrt(keys.shape[-1])
    return blend(torch.where(may_look, scores, -torch.inf).softmax(-1), values)


def masked_sdpa(queries, keys, values, may_look):
    def look(values):
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=may_look)

    return look(values), look(torch.eye(len(keys)))


def project_einsum(x, w_q, w_k, w_v):
    queries, keys = torch.einsum("nm,md->nd", x, w_q), torch.einsum("nm,md->nd", x, w_k)
    return queries, keys, x @ w_v, torch.einsum("id,jd->ij", queries, keys) / w_q.shape[-1] ** 0.5


def project_linear(x, w_q, w_k, w_v):
    queries, keys, values = F.linear(x, w_q.T), F.linear(x, w_k.T), F.linear(x, w_v.T)
    return queries, keys, values, torch.matmul(queries, keys.transpose(-2, -1)).div(w_k.size(1) ** 0.5)


def project_merged(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_v, x @ (w_q @ w_k.T) @ x.T / math.sqrt(w_q.shape[1])


def masked_with_a_name(queries, keys, values, may_look):
    return blend(scaled(queries, keys).masked_fill(~may_look, HIDDEN).softmax(-1), values)


RIGHT = {
    "soft_lookup": [lookup_loop, lookup_einsum, lookup_sdpa],
    "scaled_attention": [attention_loop, attention_einsum, attention_sdpa, attention_scaling_queries],
    "masked_attention": [masked_loop, masked_einsum, masked_sdpa, masked_with_a_name],
    "project_qkv": [project_einsum, project_linear, project_merged],
}
