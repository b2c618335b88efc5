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


def weights_repaired_too_late(queries, keys, values, mask):
    context, weights = nan_in_closed_rows(queries, keys, values, mask)
    return context, weights.nan_to_num(0.0)


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


def weighs_with(weights_of, emptied=False):
    """Attention with these weights; if `emptied`, they are 0 for a query that may attend to no key."""

    def attention(queries, keys, values, mask):
        weights = weights_of(scaled(queries, keys), mask)
        if emptied:
            weights = weights * mask.any(-1, keepdim=True)
        return weights @ values, weights

    return attention


def minus_ten(scores, mask):
    return torch.where(mask, scores, -10.0).softmax(-1)


def minus_thousand(scores, mask):
    return torch.where(mask, scores, -1000.0).softmax(-1)


def adds_minus_hundred(scores, mask):
    return (scores + torch.where(mask, 0.0, -100.0)).softmax(-1)


def adds_the_mask(scores, mask):
    return (scores + mask).softmax(-1)


def divides_by_the_sum(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


def divides_by_some_sum(scores, mask):
    weights = scores.softmax(-1) * mask
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total)


def divides_by_sum_plus(epsilon):
    def weights_of(scores, mask):
        weights = torch.where(mask, scores.softmax(-1), 0.0)
        return weights / (weights.sum(-1, keepdim=True) + epsilon)

    return weights_of


def not_scaled(weights_of):
    def attention(queries, keys, values, mask):
        weights = weights_of(torch.einsum("...md,...nd->...mn", queries, keys), mask)
        return weights @ values, weights

    return attention


def fills_weights(scores, mask):
    return torch.softmax(scores, dim=-1).masked_fill(~mask, -math.inf)


def lets_empty_rows_attend(scores, mask):
    is_empty = mask.sum(-1, keepdim=True) == 0
    return scores.masked_fill(~(mask | is_empty), -math.inf).softmax(-1)


def empties_all_but_full_rows(scores, mask):
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return torch.where(mask.all(-1, keepdim=True), weights, 0.0)


def softmax_of_columns(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-2) * mask


def softmax_of_columns_nan(scores, mask):
    return torch.where(mask, scores, -math.inf).softmax(-2)


def softmax_of_columns_emptied(scores, mask):
    is_empty = mask.sum(-1, keepdim=True) == 0
    return scores.masked_fill(~(mask | is_empty), -math.inf).softmax(-2).masked_fill(is_empty, 0.0)


def zero_before_and_after(scores, mask):
    weights = torch.softmax(scores.masked_fill(~mask, 0.0), dim=-1)
    return weights.masked_fill(~mask, 0.0)


def any_over_queries(scores, mask):
    is_empty = mask.sum(-2, keepdim=True) == 0
    weights = torch.softmax(scores.masked_fill(~mask & ~is_empty, -math.inf), dim=-1)
    return torch.where(is_empty, 0.0, weights)


def masks_the_weights(queries, keys, values, mask):
    weights = scaled(queries, keys).softmax(-1)
    return weights @ values, weights.masked_fill(~mask, 0.0)


def masks_the_context(queries, keys, values, mask):
    weights = scaled(queries, keys).softmax(-1)
    return (weights * mask) @ values, weights


def empties_the_context(queries, keys, values, mask):
    weights = scaled(queries, keys).masked_fill(~mask, -1e9).softmax(-1)
    return (weights @ values) * mask.any(dim=-1, keepdim=True), weights


def indexes_with_the_mask(queries, keys, values, mask):
    scores = scaled(queries, keys).clone()
    scores[~mask] = -1e9
    weights = scores.softmax(-1) * mask
    return weights @ values, weights


def adds_infinity(queries, keys, values, mask):
    scores = scaled(queries, keys) + torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights @ values, weights


def multiplies_infinity(scores, mask):
    return (scores + (1 - mask.float()) * -math.inf).softmax(-1)


def times_infinity(scores, mask):
    return torch.where(mask, scores, scores * -math.inf).softmax(-1)


def empties_the_others(scores, mask):
    can_attend = mask.sum(-1, keepdim=True) > 0
    weights = torch.where(mask | ~can_attend, scores, -math.inf).softmax(-1)
    return weights * ~can_attend


def softmax_twice(scores, mask):
    return torch.where(mask, scores.softmax(-1), -math.inf).softmax(-1)


def scales_the_weights(queries, keys, values, mask):
    root = queries.shape[-1] ** 0.5
    weights = by_where(queries * root, keys, values, mask)[1] / root
    return weights @ values, weights


def returns_opened_weights(queries, keys, values, mask):
    nothing = ~mask.any(-1, keepdim=True)
    weights = scaled(queries, keys).masked_fill(~(mask | nothing), -math.inf).softmax(-1)
    return (weights * ~nothing) @ values, weights


def causal_with(opens):
    """A mask from a rule for row and column."""
    return lambda n: opens(torch.arange(n)[:, None], torch.arange(n))


def loops_from(first, missing_at_end):
    def mask(n):
        mask = torch.zeros(n, n, dtype=torch.bool)
        for row in range(first, n - missing_at_end):
            mask[row, : row + 1] = True
        return mask

    return mask


def additive(n):
    return torch.full((n, n), -math.inf).triu(diagonal=1)


def changes(name, change):
    """The three masks, with one of them changed."""

    def masks(src_lengths, tgt_lengths, n_src, n_tgt):
        found = dict(
            zip(
                ("encoder", "decoder", "cross"),
                three_by_loop(src_lengths, tgt_lengths, n_src, n_tgt),
                strict=True,
            )
        )
        found[name] = change(found[name], src_lengths, tgt_lengths, n_src, n_tgt)
        return tuple(found.values())

    return masks


def longest(src_lengths, tgt_lengths, n_src, n_tgt):
    return three_by_view(src_lengths, tgt_lengths, max(src_lengths.tolist()), max(tgt_lengths.tolist()))


def of_first_sentence(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, cross = three_by_view(src_lengths, tgt_lengths, n_src, n_tgt)
    b = len(src_lengths)
    return encoder[:1].repeat(b, 1, 1), decoder[:1].repeat(b, 1, 1), cross[:1].repeat(b, 1, 1)


def closes_from_the_end(src_lengths, tgt_lengths, n_src, n_tgt):
    b = len(src_lengths)
    source = torch.ones(b, 1, n_src, dtype=torch.bool)
    decoder = torch.ones(b, n_tgt, n_tgt, dtype=torch.bool).tril()
    for i in range(b):
        source[i, :, -(n_src - int(src_lengths[i])) :] = False
        decoder[i, :, -(n_tgt - int(tgt_lengths[i])) :] = False
    return source, decoder, source


def one_width_for_both(src_lengths, tgt_lengths, n_src, n_tgt):
    positions = torch.arange(n_src)
    source = (positions < src_lengths[:, None])[:, None]
    target = (positions < tgt_lengths[:, None])[:, None]
    return source, target & torch.ones(n_src, n_src).tril().bool(), source


def hidden_is_true(src_lengths, tgt_lengths, n_src, n_tgt):
    source = (torch.arange(n_src) >= src_lengths[:, None])[:, None]
    target = (torch.arange(n_tgt) >= tgt_lengths[:, None])[:, None]
    return source, target | torch.ones(n_tgt, n_tgt).triu(1).bool(), source


def expands_source(src_lengths, tgt_lengths, n_src, n_tgt):
    encoder, decoder, cross = three_by_view(src_lengths, tgt_lengths, n_src, n_tgt)
    return encoder.repeat(1, n_src, 1), decoder, cross.repeat(1, n_tgt, 1)


def words_hidden(src_lengths, tgt_lengths, n_src, n_tgt):
    source = (torch.arange(n_src) >= src_lengths[:, None])[:, None]
    target = (torch.arange(n_tgt) >= tgt_lengths[:, None])[:, None]
    return source, target & causal_by_arange(n_tgt), source


def padding_in_front(src_lengths, tgt_lengths, n_src, n_tgt):
    source = (torch.arange(n_src) >= n_src - src_lengths[:, None])[:, None]
    target = (torch.arange(n_tgt) >= n_tgt - tgt_lengths[:, None])[:, None]
    return source, target & causal_by_arange(n_tgt), source


def axis_at_the_end(src_lengths, tgt_lengths, n_src, n_tgt):
    source = real_words(src_lengths, n_src)[:, :, None]
    return source, three_by_view(src_lengths, tgt_lengths, n_src, n_tgt)[1], source


def squeezes_all(src_lengths, tgt_lengths, n_src, n_tgt):
    masks = three_by_view(src_lengths, tgt_lengths, n_src, n_tgt)
    return [mask[0] if len(mask) == 1 else mask for mask in masks]


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
        (nan_in_closed_rows, "empty-row-nan"),
        (weights_repaired_too_late, "empty-row-nan-in-context"),
        (multiplies_scores, "times-zero-emptied"),
        (weighs_with(lambda scores, mask: scores.masked_fill(~mask, 0.0).softmax(-1)), "times-zero"),
        (multiplies_weights, "zero-after"),
        (forgets_the_mask, "no-mask"),
        (weighs_with(lambda scores, mask: scores.softmax(-1), emptied=True), "no-mask-emptied"),
        (not_scaled(lambda scores, mask: scores.softmax(-1)), "no-mask-not-scaled"),
        (not_scaled(lambda scores, mask: (scores * mask).softmax(-1)), "times-zero-not-scaled"),
        (not_scaled(lambda scores, mask: scores.softmax(-1) * mask), "zero-after-not-scaled"),
        (weighs_with(adds_the_mask), "mask-added"),
        (weighs_with(adds_the_mask, emptied=True), "mask-added-emptied"),
        (weighs_with(divides_by_the_sum), "renormalised"),
        (weighs_with(divides_by_some_sum), "renormalised-without-nan"),
        *((weighs_with(divides_by_sum_plus(e)), f"renormalised-plus-{e}") for e in (1e-9, 1e-8, 1e-6)),
        (weighs_with(fills_weights), "infinity-after"),
        (masks_the_context, "zero-after-in-context"),
        (polarity, "inverted"),
        (upside_down, "no-tilde"),
        (upside_down_and_emptied, "no-tilde-emptied"),
        (upside_down_without_nan, "inverted"),
        (large_negative, "empty-row-uniform"),
        (weighs_with(lets_empty_rows_attend), "empty-row-attends"),
        (empties_the_context, "empty-row-in-weights"),
        (returns_opened_weights, "empty-row-attends-in-weights"),
        (weighs_with(multiplies_infinity), "zero-times-infinity"),
        (weighs_with(times_infinity), "scores-times-infinity"),
        (
            weighs_with(lambda scores, mask: times_infinity(scores, mask).nan_to_num(0.0)),
            "scores-times-infinity-without-nan",
        ),
        (weighs_with(softmax_twice), "second-softmax"),
        (
            weighs_with(lambda scores, mask: softmax_twice(scores, mask).nan_to_num(0.0)),
            "second-softmax-emptied",
        ),
        (weighs_with(empties_the_others), "other-rows-emptied"),
        (scales_the_weights, "scaled-after"),
        (
            weighs_with(lambda scores, mask: multiplies_infinity(scores, mask).nan_to_num(0.0)),
            "zero-times-infinity-without-nan",
        ),
        (weighs_with(empties_all_but_full_rows), "all-instead-of-any"),
        (lambda q, k, v, mask: by_where(q * q.shape[-1] ** 0.5, k, v, mask), "not-scaled"),
        (lambda q, k, v, mask: by_where(q / q.shape[-1] ** 0.5, k, v, mask), "scaled-by-d_k"),
        (lambda q, k, v, mask: by_where(q, k, k, mask), "sum-of-keys"),
        (lambda q, k, v, mask: nan_in_closed_rows(q * q.shape[-1] ** 0.5, k, v, mask), "not-scaled-nan"),
        (lambda q, k, v, mask: large_negative(q * q.shape[-1] ** 0.5, k, v, mask), "not-scaled-uniform"),
        (lambda q, k, v, mask: by_where(q * (q.shape[-1] / k.shape[-2]) ** 0.5, k, v, mask), "root-of-n"),
        (lambda q, k, v, mask: by_where(q * (q.shape[-1] / v.shape[-1]) ** 0.5, k, v, mask), "root-of-d_v"),
        (weighs_with(lambda scores, mask: torch.where(mask, scores, 0.0)), "no-softmax"),
        (weighs_with(zero_before_and_after), "times-zero-and-after"),
        (weighs_with(any_over_queries), "any-over-queries"),
        (masks_the_weights, "context-not-masked"),
        (weighs_with(minus_ten), "score-of-minus-10"),
        (weighs_with(minus_ten, emptied=True), "score-of-minus-10-emptied"),
        (weighs_with(minus_thousand), "low-score"),
        (weighs_with(minus_thousand, emptied=True), "low-score-emptied"),
        (weighs_with(adds_minus_hundred), "lowered-score"),
        (weighs_with(adds_minus_hundred, emptied=True), "lowered-score-emptied"),
        (weighs_with(softmax_of_columns), "over-the-queries"),
        (weighs_with(softmax_of_columns_nan), "over-the-queries-nan"),
        (weighs_with(softmax_of_columns_emptied), "over-the-queries-emptied"),
        (indexes_with_the_mask, "raises"),
        (adds_infinity, "wrong-gradient"),
    ],
    "training_mask": [
        (still_leaks, "unrepaired"),
        (only_before, "not-itself"),
        (only_after, "looks-ahead"),
        (as_numbers, "wrong-form"),
        (as_whole_numbers, "wrong-form"),
        (additive, "additive"),
        (lambda n: torch.dropout(torch.ones(n, n), 0.1, train=True).tril() > 0, "random"),
        (lambda n: torch.full((n, n), -1e9).triu(diagonal=1), "additive-1e9"),
        (causal_with(lambda row, column: column <= row + 2), "two-ahead"),
        (causal_with(lambda row, column: column == row + 1), "only-next"),
        (causal_with(lambda row, column: column >= row - 1), "from-previous-on"),
        (lambda n: torch.full((n, n), True), "all-open"),
        (lambda n: torch.full((n, n), False), "all-masked"),
        (causal_with(lambda row, column: column > row), "inverted"),
        (causal_with(lambda row, column: column != row + 1), "only-next-masked"),
        (causal_with(lambda row, column: column == row), "only-itself"),
        (causal_with(lambda row, column: column > row + 1), "only-far-ahead"),
        (causal_with(lambda row, column: (row - column).abs() <= 1), "neighbours"),
        (causal_with(lambda row, column: (column == row) | (column == row - 1)), "only-last-two"),
        (causal_with(lambda row, column: (column <= row) & (row - column < 8)), None),
        (causal_with(lambda row, column: (column < row) | (row + column == 0)), "not-itself-but-first"),
        (lambda n: torch.ones(16, 16).tril().bool(), "fixed-size"),
        (lambda n: torch.ones(3, 3).tril().bool(), "fixed-size-3"),
        (lambda n: torch.ones(4, 4).tril().bool(), "fixed-size-4"),
        (lambda n: causal_by_arange(n - 1), "one-position-short"),
        (lambda n: causal_by_arange(n + 1), "one-position-long"),
        (loops_from(0, 1), "last-row-missing"),
        (loops_from(1, 0), "first-row-missing"),
        (lambda n: torch.squeeze(causal_by_arange(n)), "squeezed"),
        (lambda n: causal_by_arange(n).unsqueeze(0), "extra-axis"),
    ],
    "translator_masks": [
        (three_without_middle, "no-middle-axis"),
        (expands_source, "source-expanded"),
        (three_uncausal, "no-causal"),
        (
            changes("decoder", lambda mask, s, t, n, m: (torch.arange(m) < t[:, None])[:, None]),
            "no-causal-or-rows",
        ),
        (three_with_or, "either"),
        (three_hides_rows, "padding-rows"),
        (
            masks_with(lambda row, column, length: (column <= row) & (row < length)),
            "padding-rows",
        ),
        (three_cross_causal, "cross-causal"),
        (three_target_across, "cross-hides-target"),
        (
            changes("cross", lambda mask, s, t, n, m: (torch.arange(n) < t[:, None])[:, None]),
            "cross-by-target-lengths",
        ),
        (changes("cross", lambda mask, s, t, n, m: mask & real_words(t, m)[:, :, None]), "cross-both"),
        (
            changes("encoder", lambda mask, s, t, n, m: mask & torch.ones(n, n).tril().bool()),
            "encoder-causal",
        ),
        (masks_with(lambda row, column, length: column <= row + 0 * length), "no-padding-in-decoder"),
        (
            changes("decoder", lambda mask, s, t, n, m: torch.ones(m, m).tril() == 1),
            "no-padding-or-batch-in-decoder",
        ),
        (masks_with(lambda row, column, length: (column >= row) & (column < length)), "ahead"),
        (masks_with(lambda row, column, length: (column <= row + 1) & (column < length)), "one-ahead"),
        (masks_with(lambda row, column, length: (column < row) & (column < length)), "not-itself"),
        (masks_with(lambda row, column, length: (column > row) & (column < length)), "only-later"),
        (
            changes("decoder", lambda mask, s, t, n, m: real_words(t, m) & causal_by_arange(m)),
            "no-axis-in-decoder",
        ),
        (
            changes("decoder", lambda mask, s, t, n, m: real_words(s, n)[:, None] & causal_by_arange(m)),
            "source-in-decoder",
        ),
        (lambda s, t, n, m: three_by_loop(s, t, n, m)[1], "decoder-alone"),
        (lambda s, t, n, m: three_by_loop(s, t, n, m)[:2], "without-cross"),
        (changes("decoder", lambda mask, *_: mask.logical_not()), "decoder-inverted"),
        (changes("decoder", lambda mask, *_: torch.where(mask, 0.0, -math.inf)), "decoder-additive"),
        (changes("decoder", lambda mask, *_: mask.unsqueeze(1)), "decoder-heads-axis"),
        (changes("decoder", lambda mask, *_: mask[:1].repeat(len(mask), 1, 1)), "decoder-first-length"),
        (changes("decoder", lambda mask, *_: mask[0]), "decoder-first-length-alone"),
        (
            changes("decoder", lambda mask, s, t, n, m: mask[:, : max(t.tolist()), : max(t.tolist())]),
            "decoder-longest-sentence",
        ),
        (
            changes("decoder", lambda mask, s, t, n, m: real_words(t, m)[:, None] ^ causal_by_arange(m)),
            "exclusive-or",
        ),
        (
            lambda s, t, n, m: [three_by_view(s, t, n, m)[i] for i in (0, 1, 1)],
            "cross-like-decoder",
        ),
        (
            masks_with(lambda row, column, length: (column <= row) & (column >= length)),
            "target-padding-inverted",
        ),
        (
            masks_with(lambda row, column, length: (column <= row) & (column > length)),
            "target-padding-above",
        ),
        (lambda s, t, n, m: three_by_view(s + 1, t + 1, n, m), "one-too-many"),
        (lambda s, t, n, m: three_by_view(s - 1, t - 1, n, m), "one-too-few"),
        (lambda s, t, n, m: three_by_view(s - 1, t, n, m), "one-too-few-in-source"),
        (lambda s, t, n, m: three_by_view(s, t - 1, n, m), "one-too-few-in-target"),
        (lambda s, t, n, m: three_by_view(t, s, m, n), "languages-swapped"),
        (lambda s, t, n, m: [three_by_view(s, t, n, m)[i] for i in (0, 2, 1)], "other-order"),
        (hidden_is_true, "inverted"),
        (longest, "longest-sentence"),
        (of_first_sentence, "first-lengths"),
        (closes_from_the_end, "full-sentence-hidden"),
        (one_width_for_both, "source-width-in-decoder"),
        (squeezes_all, "squeezed"),
        (
            changes("decoder", lambda mask, *_: mask[0] if len(mask) == 1 else mask),
            "decoder-squeezed",
        ),
        (as_numbers_too, "wrong-form"),
        (
            changes("decoder", lambda mask, s, t, n, m: real_words(s, m)[:, None] & causal_by_arange(m)),
            "source-lengths-in-decoder",
        ),
        (
            changes("decoder", lambda mask, s, t, n, m: real_words(t + 1, m)[:, None] & causal_by_arange(m)),
            "one-too-many-in-target",
        ),
        (
            lambda s, t, n, m: changes("decoder", lambda *_: three_by_loop(s, t, n, m)[1])(s + 1, t, n, m),
            "one-too-many-in-source",
        ),
        (changes("encoder", lambda mask, s, t, n, m: torch.ones(len(s), 1, n).bool()), "encoder-open"),
        (changes("cross", lambda mask, s, t, n, m: torch.ones(len(s), 1, n).bool()), "cross-open"),
        (changes("cross", lambda mask, s, t, n, m: mask.repeat(1, m, 1)), "cross-expanded"),
        (
            changes("encoder", lambda mask, s, t, n, m: mask & real_words(s, n)[:, :, None]),
            "encoder-rows",
        ),
        (words_hidden, "padding-inverted"),
        (padding_in_front, "padding-in-front"),
        (axis_at_the_end, "axis-at-the-end"),
        (
            lambda s, t, n, m: [mask.unsqueeze(1) for mask in three_by_loop(s, t, n, m)],
            "heads-axis",
        ),
        (
            lambda s, t, n, m: [torch.where(mask, 0.0, -math.inf) for mask in three_by_loop(s, t, n, m)],
            "additive",
        ),
        (lambda s, t, n, m: [three_by_view(s, t, n, m)[i] for i in (1, 0, 2)], "decoder-first"),
        (
            lambda s, t, n, m: dict(
                zip(["encoder", "decoder", "cross"], three_by_loop(s, t, n, m), strict=True)
            ),
            "dictionary",
        ),
    ],
}

RIGHT = {
    "masked_attention": [in_two_fills, by_hand_softmax, by_where, nan_to_num_only],
    "training_mask": [causal_by_loop, causal_by_arange, causal_by_triu],
    "translator_masks": [three_by_loop, three_by_view, three_as_a_list],
}
