"""Answers to the exercises of lesson 10, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as they are; lesson 08's file explains what follows each answer.
"""

import math

import torch

from lessons.l08_query_key_value.exercises import blend, scaled


def real_words(lengths, n):
    """True for words, False for padding: (batch, n)."""
    return torch.arange(n) < lengths[:, None]


# --- masked_attention


def in_two_fills(queries, keys, values, mask):
    scores = scaled(queries, keys)
    nothing = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~mask & ~nothing, -math.inf).softmax(-1)
    weights = torch.where(nothing, torch.zeros_like(weights), weights)
    return blend(weights, values)


def by_hand_softmax(queries, keys, values, mask):
    scores = scaled(queries, keys).masked_fill(~mask, -1e30)
    grown = (scores - scores.max(-1, keepdim=True).values.detach()).exp() * mask
    weights = grown / grown.sum(-1, keepdim=True).clamp(min=1e-30)
    return blend(weights, values)


def by_where(queries, keys, values, mask):
    scores = torch.einsum("...md,...nd->...mn", queries, keys) / math.sqrt(queries.shape[-1])
    opened = mask | ~mask.any(dim=-1, keepdim=True)
    weights = torch.where(opened, scores, -math.inf).softmax(dim=-1) * mask
    return torch.einsum("...mn,...nv->...mv", weights, values), weights


def nan_to_num_only(queries, keys, values, mask):
    scores = scaled(queries, keys)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1).nan_to_num(0.0)
    return blend(weights, values)


def multiplies_scores(queries, keys, values, mask):
    scores = scaled(queries, keys) * mask.float()
    weights = scores.softmax(dim=-1) * mask.any(-1, keepdim=True)
    return blend(weights, values)


def multiplies_weights(queries, keys, values, mask):
    weights = scaled(queries, keys).softmax(dim=-1) * mask
    return blend(weights, values)


def polarity(queries, keys, values, mask):
    return in_two_fills(queries, keys, values, ~mask)


def upside_down(queries, keys, values, mask):
    scores = scaled(queries, keys)
    weights = scores.masked_fill(mask, -math.inf).softmax(dim=-1)
    return blend(weights, values)


def upside_down_without_nan(queries, keys, values, mask):
    _, weights = upside_down(queries, keys, values, mask)
    weights = weights.nan_to_num(0.0)
    return blend(weights, values)


# --- training_mask


def causal_by_loop(n):
    return torch.tensor([[column <= row for column in range(n)] for row in range(n)])


def causal_by_arange(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


def causal_by_triu(n):
    return ~torch.ones(n, n, dtype=torch.bool).triu(1)


def still_leaks(n):
    return torch.tril(torch.ones(n, n), diagonal=1).bool()


def as_numbers(n):
    return torch.ones(n, n).tril()


def as_whole_numbers(n):
    return torch.ones(n, n, dtype=torch.int64).tril()


# --- translator_masks


def three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt):
    source = torch.stack([torch.arange(n_src) < length for length in src_lengths])
    target = torch.stack([torch.arange(n_tgt) < length for length in tgt_lengths])
    causal = torch.ones(n_tgt, n_tgt).tril().bool()
    return source[:, None], target[:, None] & causal, source[:, None]


def three_by_view(src_lengths, tgt_lengths, n_src, n_tgt):
    source = torch.arange(n_src).view(1, 1, -1) < src_lengths.view(-1, 1, 1)
    target = torch.arange(n_tgt).view(1, 1, -1) < tgt_lengths.view(-1, 1, 1)
    return source, target & causal_by_arange(n_tgt), source.clone()


def three_as_a_list(src_lengths, tgt_lengths, n_src, n_tgt):
    return list(three_by_view(src_lengths, tgt_lengths, n_src, n_tgt))


def three_hides_rows(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, cross = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    target = real_words(tgt_lengths, n_tgt)
    return encoder, decoder & target[:, :, None], cross


def three_cross_causal(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, cross = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    return encoder, decoder, cross & (torch.arange(n_src) <= torch.arange(n_tgt)[:, None])


def weighs_with(weights_of, emptied=False):
    """Attention with these weights; if `emptied`, they are 0 for a query that may attend to no key."""

    def attention(queries, keys, values, mask):
        weights = weights_of(scaled(queries, keys), mask)
        if emptied:
            weights = weights * mask.any(-1, keepdim=True)
        return weights @ values, weights

    return attention


def not_scaled(weights_of):
    def attention(queries, keys, values, mask):
        weights = weights_of(torch.einsum("...md,...nd->...mn", queries, keys), mask)
        return weights @ values, weights

    return attention


def indexes_with_the_mask(queries, keys, values, mask):
    scores = scaled(queries, keys).clone()
    scores[~mask] = -1e9
    weights = scores.softmax(-1) * mask
    return weights @ values, weights


def adds_infinity(queries, keys, values, mask):
    scores = scaled(queries, keys) + torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights @ values, weights


def causal_with(opens):
    """A mask from a rule for row and column."""
    return lambda n: opens(torch.arange(n)[:, None], torch.arange(n))


def as_numbers_too(src_lengths, tgt_lengths, n_src, n_tgt):
    return tuple(mask.float() for mask in three_by_view(src_lengths, tgt_lengths, n_src, n_tgt))


def masks_with(opens):
    """The three masks, the decoder's with another rule for row, column and length."""

    def masks(src_lengths, tgt_lengths, n_src, n_tgt):
        source = (torch.arange(n_src) < src_lengths[:, None])[:, None]
        places = torch.arange(n_tgt)
        decoder = opens(places[:, None], places, tgt_lengths[:, None, None])
        return source, decoder.expand(len(tgt_lengths), n_tgt, n_tgt), source

    return masks


WRONG = {
    "masked_attention": [
        (multiplies_scores, "times-zero-emptied"),
        (weighs_with(lambda scores, mask: scores.masked_fill(~mask, 0.0).softmax(-1)), "times-zero"),
        (multiplies_weights, "zero-after"),
        (not_scaled(lambda scores, mask: (scores * mask).softmax(-1)), "times-zero-not-scaled"),
        (not_scaled(lambda scores, mask: scores.softmax(-1) * mask), "zero-after-not-scaled"),
        (polarity, "inverted"),
        (upside_down_without_nan, "inverted"),
        (indexes_with_the_mask, "raises"),
        (adds_infinity, "wrong-gradient"),
    ],
    "training_mask": [
        (still_leaks, "unrepaired"),
        (as_numbers, "wrong-form"),
        (as_whole_numbers, "wrong-form"),
        (lambda n: torch.dropout(torch.ones(n, n), 0.1, train=True).tril() > 0, "random"),
        (causal_with(lambda row, column: (column <= row) & (row - column < 8)), None),
    ],
    "translator_masks": [
        (three_hides_rows, "padding-rows"),
        (
            masks_with(lambda row, column, length: (column <= row) & (row < length)),
            "padding-rows",
        ),
        (three_cross_causal, "cross-causal"),
        (as_numbers_too, "wrong-form"),
    ],
}

RIGHT = {
    "masked_attention": [in_two_fills, by_hand_softmax, by_where, nan_to_num_only],
    "training_mask": [causal_by_loop, causal_by_arange, causal_by_triu],
    "translator_masks": [three_by_loop, three_by_view, three_as_a_list],
}
