"""The solutions of lesson 10: its notebook shows them, and the checks compare answers with them."""

import math

import torch


def masked_attention(queries, keys, values, mask):
    """queries (..., m, d_k), keys (..., n, d_k), values (..., n, d_v),
    mask (..., m, n) or broadcastable to it, True where a query may attend

    ->  context (..., m, d_v), weights (..., m, n)
    """
    # solution
    scores = queries @ keys.mT / math.sqrt(keys.shape[-1])
    all_masked = ~mask.any(dim=-1, keepdim=True)
    opened = mask | all_masked  # let these rows attend to everything: no NaN
    weights = torch.softmax(scores.masked_fill(~opened, -math.inf), dim=-1)
    weights = weights.masked_fill(all_masked, 0.0)  # then remove their weights
    return weights @ values, weights
    # end solution


def translator_masks(src_lengths, tgt_lengths, n_src, n_tgt):
    """lengths (b,)

    ->  encoder (b, 1, n_src), decoder (b, n_tgt, n_tgt), cross (b, 1, n_src)
    """
    is_source_word = torch.arange(n_src) < src_lengths[:, None]  # (b, n_src)
    encoder = cross = is_source_word[:, None]  # (b, 1, n_src): for every query
    # solution
    is_target_word = torch.arange(n_tgt) < tgt_lengths[:, None]
    causal = torch.arange(n_tgt) <= torch.arange(n_tgt)[:, None]
    decoder = is_target_word[:, None] & causal
    return encoder, decoder, cross
    # end solution
