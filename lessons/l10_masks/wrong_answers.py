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


def nan_in_closed_rows(queries, keys, values, mask):
    scores = scaled(queries, keys)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return blend(weights, values)


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


def forgets_the_mask(queries, keys, values, mask):
    weights = scaled(queries, keys).softmax(dim=-1)
    return blend(weights, values)


def polarity(queries, keys, values, mask):
    return in_two_fills(queries, keys, values, ~mask)


def upside_down(queries, keys, values, mask):
    scores = scaled(queries, keys)
    weights = scores.masked_fill(mask, -math.inf).softmax(dim=-1)
    return blend(weights, values)


def upside_down_and_emptied(queries, keys, values, mask):
    scores = scaled(queries, keys)
    weights = torch.where(mask, -math.inf, scores).softmax(dim=-1)
    weights = weights * mask.any(dim=-1, keepdim=True)
    return blend(weights, values)


def upside_down_without_nan(queries, keys, values, mask):
    _, weights = upside_down(queries, keys, values, mask)
    weights = weights.nan_to_num(0.0)
    return blend(weights, values)


def large_negative(queries, keys, values, mask):
    scores = scaled(queries, keys).masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=-1)
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


def only_before(n):
    return torch.ones(n, n).tril(-1).bool()


def only_after(n):
    return torch.ones(n, n).triu().bool()


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


def three_without_middle(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, cross = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    return encoder[:, 0], decoder, cross[:, 0]


def three_uncausal(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, _, cross = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    target = real_words(tgt_lengths, n_tgt)
    return encoder, target[:, None].expand(-1, n_tgt, -1), cross


def three_with_or(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, _, cross = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    target = real_words(tgt_lengths, n_tgt)
    return encoder, target[:, None] | causal_by_arange(n_tgt), cross


def three_hides_rows(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, cross = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    target = real_words(tgt_lengths, n_tgt)
    return encoder, decoder & target[:, :, None], cross


def three_target_across(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, _ = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    return encoder, decoder, real_words(tgt_lengths, n_tgt)[:, None]


def three_cross_causal(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, cross = three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt)
    return encoder, decoder, cross & (torch.arange(n_src) <= torch.arange(n_tgt)[:, None])


# ---- a slip each, without the helpers of the exercises


def minus_ten(queries, keys, values, mask):
    weights = torch.where(mask, scaled(queries, keys), -10.0).softmax(-1) * mask.any(-1, keepdim=True)
    return blend(weights, values)


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
        (nan_in_closed_rows, "not-finite"),
        (multiplies_scores, "times-zero"),
        (multiplies_weights, "zero-after"),
        (forgets_the_mask, None),
        (polarity, "turned-round"),
        (upside_down, "no-tilde", "upside down"),
        (upside_down_and_emptied, "no-tilde-emptied", "upside down"),
        (upside_down_without_nan, "turned-round"),
        (large_negative, "closed-row-shares"),
        (
            lambda q, k, v, mask: blend(
                (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * mask.any(-1, keepdim=True), v
            ),
            "no-mask",
        ),
        (lambda q, k, v, mask: by_where(q * q.shape[-1] ** 0.5, k, v, mask), "not-scaled"),
        (minus_ten, "one-too-small"),
    ],
    "training_mask": [
        (still_leaks, "unrepaired"),
        (only_before, "not-itself"),
        (only_after, "looks-ahead"),
        (as_numbers, "numbers"),
        (as_whole_numbers, "numbers"),
        (lambda n: torch.full((n, n), True), "all-open"),
    ],
    "translator_masks": [
        (three_without_middle, None),
        (three_uncausal, "no-causal"),
        (three_with_or, "either"),
        (three_hides_rows, "padding-rows"),
        (three_cross_causal, "cross-causal"),
        (three_target_across, "cross-hides-target"),
        (masks_with(lambda row, column, length: column <= row), "no-padding-in-decoder"),
        (masks_with(lambda row, column, length: (column >= row) & (column < length)), "ahead"),
        (
            lambda s, t, n, m: masks_with(lambda row, column, length: (column <= row) & (column < length))(
                s + 1, t + 1, n, m
            ),
            "one-too-many",
        ),
    ],
}

RIGHT = {
    "masked_attention": [in_two_fills, by_hand_softmax, by_where, nan_to_num_only],
    "training_mask": [causal_by_loop, causal_by_arange, causal_by_triu],
    "translator_masks": [three_by_loop, three_by_view, three_as_a_list],
}
