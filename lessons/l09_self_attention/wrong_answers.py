"""Answers to the exercises of lesson 09, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as they are; lesson 08's file explains what follows each answer.
"""

import math

import torch


def blend(weights, values):
    return weights @ values, weights


def open_attention(x, w_q, w_k, w_v, is_open):
    """The weights over the open words, and their values."""
    queries, keys, values = x @ w_q.T, (x @ w_k.T)[is_open], (x @ w_v.T)[is_open]
    return torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1), values


# --- self_attention


def without_transposes(x, w_q, w_k, w_v, is_open):
    """The contract of an earlier version of the lesson: the matrices are (in, out)."""
    queries, keys, values = x @ w_q, (x @ w_k)[is_open], (x @ w_v)[is_open]
    open_weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = open_weights
    return open_weights @ values, weights


def open_queries(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    outputs, table = weights @ values, torch.zeros(len(x), len(x))
    table[:, is_open] = weights
    return outputs[is_open], table[is_open]


def open_queries_square(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    table = torch.zeros(len(x), len(x))
    table[:, is_open] = weights
    return (weights @ values)[is_open], table * is_open.unsqueeze(1)


def open_queries_zeros(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    table = torch.zeros(len(x), len(x))
    table[is_open][:, is_open] = weights[is_open]
    return weights[is_open] @ values, table


def writes_into_a_copy(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    table = torch.zeros(len(x), len(x))
    table[list(range(len(x)))][:, is_open] = weights
    return weights @ values, table


def zeroed_on_return(x, w_q, w_k, w_v, is_open):
    weights = torch.softmax((x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(len(w_k)), dim=-1)
    return weights @ (x @ w_v.T), torch.where(is_open, weights, 0.0)


def inverted_with(score):
    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(len(w_k))
        return blend(scores.masked_fill(is_open, score).softmax(-1), x @ w_v.T)

    return layer


def adds_the_mask(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(len(w_k))
    return blend(torch.softmax(scores + 1.0 * is_open, dim=-1), x @ w_v.T)


def root_of_the_open_words(x, w_q, w_k, w_v, is_open):
    keys = (x @ w_k.T)[is_open]
    scores = torch.full((len(x), len(x)), -math.inf)
    scores[:, is_open] = x @ w_q.T @ keys.T / len(keys) ** 0.5
    return blend(scores.softmax(-1), x @ w_v.T)


def narrow_weights(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    return weights @ values, weights


def masks_x(x, w_q, w_k, w_v, is_open):
    x = x[is_open]
    weights = torch.softmax((x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0]), dim=-1)
    return weights @ (x @ w_v.T), weights


def ignores_open(x, w_q, w_k, w_v, is_open):
    queries, keys = x @ w_q.T, x @ w_k.T
    return blend(torch.softmax(queries @ keys.T / keys.shape[1] ** 0.5, dim=1), x @ w_v.T)


def zero_afterwards(x, w_q, w_k, w_v, is_open):
    _, weights = ignores_open(x, w_q, w_k, w_v, is_open)
    return blend(weights.masked_fill(~is_open, 0.0), x @ w_v.T)


def zeroes_keys(x, w_q, w_k, w_v, is_open):
    keys = (x @ w_k.T) * is_open[:, None]
    return blend(torch.softmax((x @ w_q.T) @ keys.T / keys.shape[1] ** 0.5, dim=-1), x @ w_v.T)


def zeroes_keys_and_values(x, w_q, w_k, w_v, is_open):
    keys, values = (x @ w_k.T) * is_open[:, None], (x @ w_v.T) * is_open[:, None]
    return blend(torch.softmax((x @ w_q.T) @ keys.T / keys.shape[1] ** 0.5, dim=-1), values)


def zeroes_x(x, w_q, w_k, w_v, is_open):
    x = torch.where(is_open[:, None], x, 0.0)
    return blend(torch.softmax((x @ w_q.T) @ (x @ w_k.T).T / w_k.shape[0] ** 0.5, dim=-1), x @ w_v.T)


def glues_zeros_on(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    return narrow @ values, torch.cat([narrow, torch.zeros(len(x), int((~is_open).sum()))], dim=1)


def softmax_down(x, w_q, w_k, w_v, is_open):
    queries, keys, values = x @ w_q.T, (x @ w_k.T)[is_open], (x @ w_v.T)[is_open]
    narrow = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=0)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = narrow
    return narrow @ values, weights


def softmax_down_with_infinity(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0])
    return blend(torch.softmax(scores.masked_fill(~is_open, -math.inf), dim=0), x @ w_v.T)


def divides_by_the_sum(x, w_q, w_k, w_v, is_open):
    _, weights = zero_afterwards(x, w_q, w_k, w_v, is_open)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return blend(weights, x @ w_v.T)


def divides_by_some_sum(x, w_q, w_k, w_v, is_open):
    _, weights = zero_afterwards(x, w_q, w_k, w_v, is_open)
    weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-12)
    return blend(weights, x @ w_v.T)


def lowers_scores(by):
    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0]) + torch.where(is_open, 0.0, -by)
        return blend(torch.softmax(scores, dim=-1), x @ w_v.T)

    return layer


def wipes_queries(x, w_q, w_k, w_v, is_open):
    queries, keys, values = x @ w_q.T, (x @ w_k.T)[is_open], (x @ w_v.T)[is_open]
    queries = torch.where(is_open[:, None], queries, 0.0)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1)
    return weights[:, is_open] @ values, weights


def masks_rows(x, w_q, w_k, w_v, is_open):
    weights = torch.softmax((x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0]), dim=-1)
    weights = weights.masked_fill(~is_open[:, None], 0.0)
    return weights @ (x @ w_v.T), weights


def masks_rows_with_infinity(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0])
    scores[~is_open] = -math.inf
    return blend(scores.softmax(-1), x @ w_v.T)


def takes_rows_1_and_0(x, w_q, w_k, w_v, is_open):
    keys, values = (x @ w_k.T)[is_open.long()], (x @ w_v.T)[is_open.long()]
    weights = torch.softmax((x @ w_q.T) @ keys.T / math.sqrt(keys.shape[-1]), dim=-1)
    return weights @ values, weights * is_open


def zeros_first(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    return narrow @ values, torch.cat([torch.zeros(len(x), int((~is_open).sum())), narrow], dim=1)


def scores_alone(x, w_q, w_k, w_v, is_open):
    weights = ((x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0])).masked_fill(~is_open, 0.0)
    return weights @ (x @ w_v.T), weights


def masks_values(x, w_q, w_k, w_v, is_open):
    _, weights = ignores_open(x, w_q, w_k, w_v, is_open)
    return weights @ torch.where(is_open[:, None], x @ w_v.T, 0.0), weights


def masks_weights_only(x, w_q, w_k, w_v, is_open):
    outputs, _ = ignores_open(x, w_q, w_k, w_v, is_open)
    return outputs, minus_infinity(x, w_q, w_k, w_v, is_open)[1]


def masks_outputs_only(x, w_q, w_k, w_v, is_open):
    _, weights = ignores_open(x, w_q, w_k, w_v, is_open)
    return minus_infinity(x, w_q, w_k, w_v, is_open)[0], weights


def words_as_keys(x, w_q, w_k, w_v, is_open):
    scores = (x @ x.T / x.shape[-1] ** 0.5).masked_fill(~is_open, -math.inf)
    return blend(scores.softmax(-1), x @ w_v.T)


def sums_keys(x, w_q, w_k, w_v, is_open):
    _, weights = minus_infinity(x, w_q, w_k, w_v, is_open)
    return weights @ (x @ w_k.T), weights


def sums_words(x, w_q, w_k, w_v, is_open):
    _, weights = minus_infinity(x, w_q, w_k, w_v, is_open)
    return weights @ x, weights


def low_score(score):
    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q.T) @ (x @ w_k.T).T / w_k.shape[0] ** 0.5
        weights = torch.where(is_open, scores, score).softmax(-1)
        return weights @ (x @ w_v.T), weights

    return layer


def unscaled(x, w_q, w_k, w_v, is_open):
    scores = ((x @ w_q.T) @ (x @ w_k.T).T).masked_fill(~is_open, -math.inf)
    return blend(scores.softmax(-1), x @ w_v.T)


def outputs_alone(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    return weights @ values


def detached_weights(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = narrow.detach()
    return narrow @ values, weights


def naive_softmax(x, w_q, w_k, w_v, is_open):
    exponentials = torch.exp((x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0]))
    exponentials[:, ~is_open] = 0
    return blend(exponentials / exponentials.sum(dim=1, keepdim=True), x @ w_v.T)


def not_to_itself(score):
    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(w_k.shape[0])
        scores[:, ~is_open] = score
        scores.fill_diagonal_(score)
        return blend(scores.softmax(-1), x @ w_v.T)

    return layer


def softmax_twice(x, w_q, w_k, w_v, is_open):
    outputs, table = puts_back(x, w_q, w_k, w_v, is_open)
    return outputs, torch.softmax(table, dim=1)


def first_values(x, w_q, w_k, w_v, is_open):
    narrow, _ = open_attention(x, w_q, w_k, w_v, is_open)
    _, table = puts_back(x, w_q, w_k, w_v, is_open)
    return narrow @ (x @ w_v.T)[: narrow.shape[1]], table


def puts_back(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = narrow
    return narrow @ values, weights


def minus_infinity(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q.T) @ (x @ w_k.T).mT / math.sqrt(w_k.shape[0])
    return blend(scores.masked_fill(~is_open, -math.inf).softmax(-1), x @ w_v.T)


def row_by_row(x, w_q, w_k, w_v, is_open):
    places = is_open.nonzero()[:, 0]
    keys, values = (x @ w_k.T)[places], (x @ w_v.T)[places]
    back = torch.eye(len(x))[places]  # (open, n)
    rows = [torch.softmax(keys @ (word @ w_q.T) / len(w_k) ** 0.5, dim=0) for word in x]
    narrow = torch.stack(rows)
    return narrow @ values, narrow @ back


# --- flipping_words


def stays_masked(words, pronoun):
    usual, masked, found = pronoun([]), [], []
    for position, _ in enumerate(words):
        masked += [position]
        if pronoun(masked) != usual:
            found.append(position)
    return found


def flips_stay_masked(words, pronoun):
    usual, masked = pronoun([]), []
    for position in range(len(words)):
        if pronoun([*masked, position]) != usual:
            masked.append(position)
    return masked


def flips_become_usual(words, pronoun):
    usual, masked = pronoun([]), []
    for position in range(len(words)):
        if pronoun([*masked, position]) != usual:
            masked.append(position)
            usual = pronoun(masked)
    return masked


def masks_all_but_one(words, pronoun):
    usual, found = pronoun([]), []
    for position in range(len(words)):
        others = [other for other in range(len(words)) if other != position]
        if pronoun(others) != usual:
            found.append(position)
    return found


def compares_with_the_last(words, pronoun):
    found, last = [], pronoun([])
    for position in range(len(words)):
        now = pronoun([position])
        if now != last:
            found.append(position)
        last = now
    return found


def gives_words(words, pronoun):
    return [word for position, word in enumerate(words) if pronoun([position]) != pronoun([])]


def by_index(words, pronoun):
    return [words.index(word) for word in words if pronoun([words.index(word)]) != pronoun([])]


def index_afterwards(words, pronoun):
    return [words.index(word) for word in gives_words(words, pronoun)]


def skips_known_words(words, pronoun):
    usual, seen, found = pronoun([]), set(), []
    for position, word in enumerate(words):
        if word not in seen and pronoun([position]) != usual:
            found.append(position)
        seen.add(word)
    return found


def masks_the_word(words, pronoun):
    return [position for position, word in enumerate(words) if pronoun([word]) != pronoun([])]


def masks_no_list(words, pronoun):
    return [position for position in range(len(words)) if pronoun(position) != pronoun([])]


def compares_with_il(words, pronoun):
    return [position for position, _ in enumerate(words) if pronoun([position]) not in ("il",)]


def compares_with_elle(words, pronoun):
    return [position for position, _ in enumerate(words) if pronoun([position]) not in ("elle",)]


def waits_for_elle(words, pronoun):
    return [position for position in range(len(words)) if pronoun([position]) in ("elle",)]


def il_and_elle(words, pronoun):
    other = {"il": "elle", "elle": "il"}
    return [i for i in range(len(words)) if pronoun([i]) == other.get(pronoun([]))]


def other_gender(words, pronoun):
    other = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}
    return [i for i in range(len(words)) if pronoun([i]) == other.get(pronoun([]))]


def leaves_out_the_pronoun(words, pronoun):
    places = [i for i, word in enumerate(words) if word != "it" and word != "they"]
    return [i for i in places if pronoun([i]) != pronoun([])]


def compares_objects(words, pronoun):
    usual = pronoun([])
    return [position for position in range(len(words)) if pronoun([position]) is not usual]


def skips_the_last(words, pronoun):
    return [position for position in range(len(words) - 1) if pronoun([position]) != pronoun([])]


def skips_the_first(words, pronoun):
    return [position for position in range(1, len(words)) if pronoun([position]) != pronoun([])]


def returns_early(words, pronoun):
    for position in range(len(words)):
        if pronoun([position]) != pronoun([]):
            return [position]
    return []


def first_number(words, pronoun):
    for position in range(len(words)):
        if pronoun([position]) != pronoun([]):
            return position


def returns_at_once(words, pronoun):
    flips = []
    for position in range(len(words)):
        if pronoun([position]) != pronoun([]):
            flips.append(position)
        return flips


def with_the_next(words, pronoun):
    return [i for i in range(len(words)) if pronoun([i, i + 1]) != pronoun([])]


def with_the_previous(words, pronoun):
    return [i for i in range(len(words)) if pronoun([max(0, i - 1), i]) != pronoun([])]


def positions_and_pronouns(words, pronoun):
    found = []
    for i in range(len(words)):
        if pronoun([i]) != pronoun([]):
            found.append((i, pronoun([i])))
    return found


def overwrites(words, pronoun):
    found = []
    for position in range(len(words)):
        if pronoun([position]) != pronoun([]):
            found = [position]
    return found


def from_the_end(words, pronoun):
    return [i for i in reversed(range(len(words))) if pronoun([i]) != pronoun([])]


def as_a_set(words, pronoun):
    return {position for position in range(len(words)) if pronoun([position]) != pronoun([])}


def as_booleans(words, pronoun):
    return [pronoun([position]) != pronoun([]) for position in range(len(words))]


def one_number(words, pronoun):
    return len([position for position in range(len(words)) if pronoun([position]) != pronoun([])])


def empties_words(words, pronoun):
    found, position = [], 0
    while words:
        words.pop(0)
        found += [position] if pronoun([position]) != pronoun([]) else []
        position += 1
    return found


def with_a_loop(words, pronoun):
    usual = pronoun([])
    found = []
    for position in range(len(words)):
        if pronoun([position]) != usual:
            found.append(position)
    return found


def with_enumerate(words, pronoun):
    return [position for position, _ in enumerate(words) if pronoun([position]) != pronoun([])]


def with_filter(words, pronoun):
    return tuple(filter(lambda position: pronoun([position]) != pronoun([]), range(len(words))))


# ---- a slip each, without the helpers of the exercises


def attention_with(score_root=None, mask=None, change=lambda outputs, weights, is_open: (outputs, weights)):
    """Self-attention with another divisor, another mask, or its two results changed."""

    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(score_root(x, w_k) if score_root else w_k.shape[0])
        weights = scores.masked_fill(~(mask(is_open) if mask else is_open), -math.inf).softmax(-1)
        return change(weights @ x @ w_v.T, weights, is_open)

    return layer


def masks_only_one(is_open):
    masked = (~is_open).nonzero()[:1, 0]
    return torch.ones_like(is_open).index_fill(0, masked, False)


def compares_with_all_masked(words, pronoun):
    last = pronoun([*range(len(words))])
    return [i for i, _ in enumerate(words) if pronoun([i]) != last]


def tries_nine_words(words, pronoun):
    before = pronoun([])
    flips = []
    for position in range(9):
        if pronoun([position]) != before:
            flips.append(position)
    return flips


WRONG = {
    "self_attention": [
        (without_transposes, "in-out"),
        (narrow_weights, "narrow-weights"),
        (open_queries, "open-queries"),
        (open_queries_square, "open-queries-square"),
        (open_queries_zeros, "open-queries-zeros"),
        (writes_into_a_copy, "zeros-in-weights"),
        (zeroed_on_return, "zeroed-on-return"),
        (inverted_with(-math.inf), "inverted-nan"),
        (inverted_with(-1e9), "inverted-finite"),
        (masks_x, "only-open-words"),
        (ignores_open, "nothing-masked"),
        (zero_afterwards, "zero-after-softmax"),
        (divides_by_the_sum, "renormalised"),
        (zeroes_keys, "score-of-0"),
        (zeroes_keys_and_values, "keys-and-values-of-0"),
        (zeroes_x, "x-of-0"),
        (wipes_queries, "queries-of-0"),
        (low_score(-10.0), "score-of-minus-10"),
        (low_score(-1000.0), "low-score-1000"),
        (low_score(-10000.0), "low-score-1000"),
        (low_score(-100.0), "low-score-100"),
        (adds_the_mask, "adds-the-mask"),
        (root_of_the_open_words, "root-of-open"),
        (lowers_scores(100.0), "lowered-score-100"),
        (lowers_scores(1000.0), "lowered-score-1000"),
        (divides_by_some_sum, "renormalised-without-nan"),
        (glues_zeros_on, "columns-at-the-right"),
        (masks_rows, "rows-masked"),
        (masks_rows_with_infinity, "rows-masked-nan"),
        (takes_rows_1_and_0, "by-number"),
        (softmax_down, "over-the-queries"),
        (softmax_down_with_infinity, "over-the-queries-nan"),
        (unscaled, "no-scale"),
        (sums_words, "no-w_v"),
        (sums_keys, "sums-keys"),
        (words_as_keys, "no-w_q-and-w_k"),
        (zeros_first, "columns-at-the-left"),
        (scores_alone, "no-softmax"),
        (masks_values, "values-of-0"),
        (masks_weights_only, "outputs-not-masked"),
        (masks_outputs_only, "weights-not-masked"),
        (attention_with(score_root=lambda x, w_k: 1 / w_k.shape[0]), "times-root"),
        (naive_softmax, "exponentials"),
        (not_to_itself(-1e9), "not-to-itself"),
        (not_to_itself(-math.inf), "not-to-itself-nan"),
        (softmax_twice, "softmax-twice"),
        (first_values, "first-values"),
        (outputs_alone, "missing-output"),
        (detached_weights, "wrong-gradient"),
        (
            attention_with(
                mask=torch.logical_not, change=lambda o, w, is_open: (o.nan_to_num(), w.nan_to_num())
            ),
            "inverted",
        ),
        (
            attention_with(
                change=lambda outputs, weights, is_open: (
                    outputs * is_open[:, None],
                    weights * is_open[:, None],
                )
            ),
            "masked-rows-empty",
        ),
        (attention_with(mask=lambda is_open: torch.outer(is_open, is_open)), "masked-rows-nan"),
        (attention_with(mask=lambda is_open: is_open | torch.eye(len(is_open)).bool()), "attends-to-itself"),
        (attention_with(mask=masks_only_one), "only-first-masked"),
        (attention_with(score_root=lambda x, w_k: x.shape[1]), "root-of-d_model"),
        (attention_with(score_root=lambda x, w_k: x.shape[0]), "root-of-n"),
        (attention_with(score_root=lambda x, w_k: w_k.shape[0] ** 2), "scaled-by-d_k"),
        (
            lambda x, w_q, w_k, w_v, is_open: attention_with(lambda *_: w_v.shape[0])(
                x, w_q, w_k, w_v, is_open
            ),
            "root-of-d_v",
        ),
        (lambda x, w_q, w_k, w_v, is_open: attention_with()(x, w_q, w_q, w_v, is_open), "shared-w_q"),
        (lambda x, w_q, w_k, w_v, is_open: attention_with()(x, w_k, w_k, w_v, is_open), "shared-w_k"),
        (lambda x, w_q, w_k, w_v, is_open: attention_with()(x, w_k, w_q, w_v, is_open), "exchanged"),
        (attention_with(change=lambda outputs, weights, is_open: (outputs, weights.T)), "weights-transposed"),
    ],
    "flipping_words": [
        (stays_masked, "keeps-masking"),
        (flips_stay_masked, "keeps-flips-masked"),
        (flips_become_usual, "flips-back-and-forth"),
        (masks_all_but_one, "masks-the-others"),
        (compares_with_the_last, "compares-with-previous"),
        (gives_words, "words-for-positions"),
        (by_index, "first-occurrence"),
        (index_afterwards, "first-occurrence-returned"),
        (skips_known_words, "skips-repeated"),
        (masks_the_word, "raises"),
        (masks_no_list, "raises"),
        (compares_with_il, "all-but-il"),
        (compares_with_elle, "all-but-elle"),
        (waits_for_elle, "waits-for-elle"),
        (il_and_elle, "only-il-and-elle"),
        (other_gender, "only-the-gender"),
        (leaves_out_the_pronoun, "skips-the-pronoun"),
        (compares_objects, "all-positions"),
        (skips_the_last, "last-forgotten"),
        (skips_the_first, "first-forgotten"),
        (returns_early, "first-only"),
        (overwrites, "last-only"),
        (first_number, "first-number-only"),
        (with_the_next, "masks-the-next-too"),
        (with_the_previous, "masks-the-previous-too"),
        (positions_and_pronouns, "pairs-with-pronouns"),
        (lambda words, pronoun: dict(positions_and_pronouns(words, pronoun)), "dictionary-of-pronouns"),
        (
            lambda words, pronoun: {i: w for i, w in enumerate(words) if pronoun([i]) != pronoun([])},
            "dictionary-of-words",
        ),
        (returns_at_once, "returns-at-once"),
        (from_the_end, "reversed"),
        (as_a_set, "set"),
        (as_booleans, "booleans"),
        (one_number, "count"),
        (empties_words, "in-place"),
        (
            lambda words, pronoun: [i for i in range(len(words)) if pronoun([*range(i)]) != pronoun([])],
            "masks-earlier-words",
        ),
        (
            lambda words, pronoun: [i - 1 for i in range(1, len(words) + 1) if pronoun([i]) != pronoun([])],
            "masks-the-next",
        ),
        (
            lambda words, pronoun: [i for i, _ in enumerate(words) if pronoun([0]) != pronoun([i])],
            "compares-with-first",
        ),
        (compares_with_all_masked, "compares-with-all-masked"),
        (tries_nine_words, "first-nine"),
        (
            lambda words, pronoun: [pronoun([i]) for i, _ in enumerate(words) if pronoun([i]) != pronoun([])],
            "pronouns",
        ),
        (
            lambda words, pronoun: [pair for pair in enumerate(words) if pronoun([pair[0]]) != pronoun([])],
            "pairs",
        ),
        (
            lambda words, pronoun: [
                i for i in range(len(words)) if pronoun([]) == "il" and pronoun([i]) == "elle"
            ],
            "il-to-elle",
        ),
        (
            lambda words, pronoun: [i + 1 for i in range(len(words)) if pronoun([i]) != pronoun([])],
            "counted-from-1",
        ),
        (
            lambda words, pronoun: [i for i in range(len(words)) if pronoun([i]) == pronoun([])],
            "those-that-stay",
        ),
    ],
}

RIGHT = {
    "self_attention": [puts_back, minus_infinity, row_by_row],
    "flipping_words": [with_a_loop, with_enumerate, with_filter],
}
