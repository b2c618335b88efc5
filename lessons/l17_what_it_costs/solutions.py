"""The solutions of lesson 17: its notebook shows them, and the checks compare answers with them."""

import math

import torch

from lessons.l17_what_it_costs.linear_attention import feature_map


# The notebook has no empty line before the inner function.
# fmt: off
def block_flops(n, d, d_ff):
    """n words of width d  ->  {"projections": …, "attention": …, "feed-forward": …}"""
    def product(rows, inner, columns):
        return 2 * rows * inner * columns

    flops = {"projections": 4 * product(n, d, d)}
    # solution
    flops["attention"] = product(n, d, n) + product(n, n, d)
    flops["feed-forward"] = product(n, d, d_ff) + product(n, d_ff, d)
    return flops
    # end solution
# fmt: on


def running_attention(blocks):
    """blocks: pairs of scores (b,) and values (b, d), available once  ->  (d,)"""
    maximum, total, output = torch.tensor(-math.inf), 0.0, 0.0  # m, ℓ and o
    # solution
    for scores, values in blocks:
        largest = torch.maximum(maximum, scores.max())
        scale = torch.exp(maximum - largest)
        weights = torch.exp(scores - largest)
        total = scale * total + weights.sum()
        output = scale * output + weights @ values
        maximum = largest
    return output / total
    # end solution


def linear_reader(query, keys, values):
    """query (n, d_k), keys (n, d_k), values (n, d_v)

    ->  outputs (n, d_v), S (d_k, d_v)
    """
    S, z = torch.zeros(keys.shape[1], values.shape[1]), torch.zeros(keys.shape[1])
    outputs = []
    # solution
    for q, k, v in zip(feature_map(query), feature_map(keys), values, strict=True):
        S = S + torch.outer(k, v)
        z = z + k
        outputs.append(q @ S / (q @ z))
    return torch.stack(outputs), S
    # end solution


def cache_bytes(n_words, n_layers, d_model, n_heads, n_kv_heads, bytes_each):
    """All integers  ->  the bytes of all keys and values that are kept"""
    # solution
    d_k = d_model // n_heads
    numbers = 2 * n_layers * n_words * n_kv_heads * d_k
    return numbers * bytes_each
    # end solution
