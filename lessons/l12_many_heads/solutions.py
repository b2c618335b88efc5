"""The solutions of lesson 12: its notebook shows them, and the checks compare answers with them."""

import torch  # noqa: F401 - the mistakes use it

from lessons.l08_query_key_value.solutions import scaled_attention
from lessons.l10_masks.solutions import masked_attention


def split_heads(features, n_heads):
    """features (..., n, d_model)  ->  (..., n_heads, n, d_model / n_heads)"""
    # solution
    *batch, n, d_model = features.shape
    slices = features.reshape(*batch, n, n_heads, d_model // n_heads)
    return slices.transpose(-3, -2)
    # end solution


def join_heads(features):
    """features (..., n_heads, n, size)  ->  (..., n, n_heads * size)"""
    # solution
    return features.transpose(-3, -2).flatten(-2)
    # end solution


def many_heads(x, source, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """x (batch, m, d_model), source (batch, n, d_model),
    w_q, w_k, w_v, w_o (d_model, d_model), mask broadcasts to (batch, n_heads, m, n)

    ->  output (batch, m, d_model), weights (batch, n_heads, m, n)
    """
    # solution
    queries = split_heads(x @ w_q.T, n_heads)
    keys = split_heads(source @ w_k.T, n_heads)
    values = split_heads(source @ w_v.T, n_heads)
    if mask is None:
        context, weights = scaled_attention(queries, keys, values)
    else:
        context, weights = masked_attention(queries, keys, values, mask)
    return join_heads(context) @ w_o.T, weights
    # end solution
