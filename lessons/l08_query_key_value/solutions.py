"""The solutions of lesson 08: its notebook shows them, and the checks compare answers with them."""

import math

import torch


def soft_lookup(query, keys, values):
    """query (d_k,), keys (n, d_k), values (n, d_v)

    ->  context (d_v,), weights (n,)
    """
    # solution
    weights = torch.softmax(keys @ query, dim=-1)
    return weights @ values, weights
    # end solution


def scaled_attention(queries, keys, values):
    """queries (..., m, d_k), keys (..., n, d_k), values (..., n, d_v)

    ->  context (..., m, d_v), weights (..., m, n)
    """
    # solution
    scores = queries @ keys.mT / math.sqrt(keys.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights
    # end solution


def test_attention(attention):
    """Takes a function like scaled_attention; raises an exception if it is wrong."""
    # solution
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, 3, 16, generator=generator)
    k = torch.randn(2, 5, 16, generator=generator)
    v = torch.randn(2, 5, 7, generator=generator)
    context, weights = attention(q, k, v)
    expected = torch.softmax(q @ k.mT / 4, dim=-1)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(context, expected @ v)
    # end solution
