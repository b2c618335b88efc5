"""Answers to the exercises of lesson 09, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as they are; lesson 08's file explains what follows each answer.
"""

import math

import torch

from lessons.l08_query_key_value.exercises import blend
from lessons.l08_query_key_value.exercises import look_up as look

ORDER = [3, 0, 5, 1, 4, 2]


def random_words(n=6, d=4):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(3))


def open_attention(x, w_q, w_k, w_v, is_open):
    """The weights over the open words, and their values."""
    queries, keys, values = x @ w_q, (x @ w_k)[is_open], (x @ w_v)[is_open]
    return torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1), values


# --- read_twice


def asks_the_same_again(query, keys, values):
    _context, first = look(query, keys, values)
    answer, second = look(query, keys, values)
    return answer, first, second


def replaces_the_query(query, keys, values):
    query, first = look(query, keys, values)
    answer, second = look(query, keys, values)
    return answer, first, second


def one_read(query, keys, values):
    context, first = look(query, keys, values)
    return context, first, first


def three_reads(query, keys, values):
    context, first = look(query, keys, values)
    query = query + context
    context, _ = look(query, keys, values)
    answer, second = look(query + context, keys, values)
    return answer, first, second


def answers_with_a_third_read(query, keys, values):
    context, first = look(query, keys, values)
    context_2, second = look(query + context, keys, values)
    answer, _ = look(query + context + context_2, keys, values)
    return answer, first, second


def three_reads_reset(query, keys, values):
    context, first = look(query, keys, values)
    context, _ = look(query + context, keys, values)
    answer, second = look(query + context, keys, values)
    return answer, first, second


def scaled_reads(query, keys, values):
    scale = keys.shape[-1] ** 0.5
    first = torch.softmax(keys @ query / scale, 0)
    second = torch.softmax(keys @ (query + first @ values) / scale, 0)
    return second @ values, first, second


def adds_the_best(query, keys, values):
    _, first = look(query, keys, values)
    answer, second = look(query + values[first.argmax()], keys, values)
    return answer, first, second


def no_softmax(query, keys, values):
    first = keys @ query
    query = query + values.T @ first
    second = keys @ query
    return values.T @ second, first, second


def first_weights_twice(query, keys, values):
    context, weights = look(query, keys, values)
    answer, _ = look(query + context, keys, values)
    return answer, weights, weights


def swaps_in_the_second(query, keys, values):
    context, first = look(query, keys, values)
    answer, second = look(query + context, values, keys)
    return answer, first, second


def blends_keys(query, keys, values):
    context, first = look(query, keys, values)
    _, second = look(query + context, keys, values)
    return keys.T @ second, first, second


def weights_first(query, keys, values):
    context, first = look(query, keys, values)
    answer, second = look(query + context, keys, values)
    return first, second, answer


def adds_in_place(query, keys, values):
    context, first = look(query, keys, values)
    query += context
    answer, second = look(query, keys, values)
    return answer, first, second


def no_answer(query, keys, values):
    context, first = look(query, keys, values)
    return first, look(query + context, keys, values)[1]


def reads_by_loop(query, keys, values):
    looked = []
    for _ in range(2):
        context, weights = look(query, keys, values)
        query = query + context
        looked.append(weights)
    return context, *looked


def reads_by_einsum(query, keys, values):
    first = torch.einsum("nd,d->n", keys, query).softmax(0)
    query = query + torch.einsum("n,nd->d", first, values)
    second = torch.einsum("nd,d->n", keys, query).softmax(0)
    return torch.einsum("n,nd->d", second, values), first, second


def reads_by_scores(query, keys, values):
    scores = keys @ query
    first = scores.softmax(0)
    second = (scores + keys @ (values.T @ first)).softmax(0)
    return values.T @ second, first, second


# --- self_attention


def narrow_weights(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    return weights @ values, weights


def closes_x(x, w_q, w_k, w_v, is_open):
    x = x[is_open]
    weights = torch.softmax((x @ w_q) @ (x @ w_k).T / math.sqrt(w_k.shape[-1]), dim=-1)
    return weights @ (x @ w_v), weights


def ignores_open(x, w_q, w_k, w_v, is_open):
    queries, keys = x @ w_q, x @ w_k
    return blend(torch.softmax(queries @ keys.T / keys.shape[1] ** 0.5, dim=1), x @ w_v)


def zero_afterwards(x, w_q, w_k, w_v, is_open):
    _, weights = ignores_open(x, w_q, w_k, w_v, is_open)
    return blend(weights.masked_fill(~is_open, 0.0), x @ w_v)


def zeroes_keys(x, w_q, w_k, w_v, is_open):
    keys = (x @ w_k) * is_open[:, None]
    return blend(torch.softmax((x @ w_q) @ keys.T / keys.shape[1] ** 0.5, dim=-1), x @ w_v)


def zeroes_keys_and_values(x, w_q, w_k, w_v, is_open):
    keys, values = (x @ w_k) * is_open[:, None], (x @ w_v) * is_open[:, None]
    return blend(torch.softmax((x @ w_q) @ keys.T / keys.shape[1] ** 0.5, dim=-1), values)


def zeroes_x(x, w_q, w_k, w_v, is_open):
    x = torch.where(is_open[:, None], x, 0.0)
    return blend(torch.softmax((x @ w_q) @ (x @ w_k).T / w_k.shape[1] ** 0.5, dim=-1), x @ w_v)


def glues_zeros_on(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    return narrow @ values, torch.cat([narrow, torch.zeros(len(x), int((~is_open).sum()))], dim=1)


def softmax_down(x, w_q, w_k, w_v, is_open):
    queries, keys, values = x @ w_q, (x @ w_k)[is_open], (x @ w_v)[is_open]
    narrow = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=0)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = narrow
    return narrow @ values, weights


def softmax_down_with_infinity(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(w_k.shape[-1])
    return blend(torch.softmax(scores.masked_fill(~is_open, -math.inf), dim=0), x @ w_v)


def divides_by_the_sum(x, w_q, w_k, w_v, is_open):
    _, weights = zero_afterwards(x, w_q, w_k, w_v, is_open)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return blend(weights, x @ w_v)


def divides_by_some_sum(x, w_q, w_k, w_v, is_open):
    _, weights = zero_afterwards(x, w_q, w_k, w_v, is_open)
    weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-12)
    return blend(weights, x @ w_v)


def lowers_scores(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(w_k.shape[-1]) + torch.where(is_open, 0.0, -1000.0)
    return blend(torch.softmax(scores, dim=-1), x @ w_v)


def wipes_queries(x, w_q, w_k, w_v, is_open):
    queries, keys, values = x @ w_q, (x @ w_k)[is_open], (x @ w_v)[is_open]
    queries = torch.where(is_open[:, None], queries, 0.0)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[-1]), dim=-1)
    return weights[:, is_open] @ values, weights


def closes_rows(x, w_q, w_k, w_v, is_open):
    weights = torch.softmax((x @ w_q) @ (x @ w_k).T / math.sqrt(w_k.shape[-1]), dim=-1)
    weights = weights.masked_fill(~is_open[:, None], 0.0)
    return weights @ (x @ w_v), weights


def closes_rows_with_infinity(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(w_k.shape[-1])
    scores[~is_open] = -math.inf
    return blend(scores.softmax(-1), x @ w_v)


def takes_rows_1_and_0(x, w_q, w_k, w_v, is_open):
    keys, values = (x @ w_k)[is_open.long()], (x @ w_v)[is_open.long()]
    weights = torch.softmax((x @ w_q) @ keys.T / math.sqrt(keys.shape[-1]), dim=-1)
    return weights @ values, weights * is_open


def zeros_first(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    return narrow @ values, torch.cat([torch.zeros(len(x), int((~is_open).sum())), narrow], dim=1)


def scores_alone(x, w_q, w_k, w_v, is_open):
    weights = ((x @ w_q) @ (x @ w_k).T / math.sqrt(w_k.shape[-1])).masked_fill(~is_open, 0.0)
    return weights @ (x @ w_v), weights


def closes_values(x, w_q, w_k, w_v, is_open):
    _, weights = ignores_open(x, w_q, w_k, w_v, is_open)
    return weights @ torch.where(is_open[:, None], x @ w_v, 0.0), weights


def closes_weights_only(x, w_q, w_k, w_v, is_open):
    outputs, _ = ignores_open(x, w_q, w_k, w_v, is_open)
    return outputs, minus_infinity(x, w_q, w_k, w_v, is_open)[1]


def closes_outputs_only(x, w_q, w_k, w_v, is_open):
    _, weights = ignores_open(x, w_q, w_k, w_v, is_open)
    return minus_infinity(x, w_q, w_k, w_v, is_open)[0], weights


def words_as_keys(x, w_q, w_k, w_v, is_open):
    scores = (x @ x.T / x.shape[-1] ** 0.5).masked_fill(~is_open, -math.inf)
    return blend(scores.softmax(-1), x @ w_v)


def sums_keys(x, w_q, w_k, w_v, is_open):
    _, weights = minus_infinity(x, w_q, w_k, w_v, is_open)
    return weights @ (x @ w_k), weights


def sums_words(x, w_q, w_k, w_v, is_open):
    _, weights = minus_infinity(x, w_q, w_k, w_v, is_open)
    return weights @ x, weights


def low_score(score):
    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q) @ (x @ w_k).T / w_k.shape[1] ** 0.5
        weights = torch.where(is_open, scores, score).softmax(-1)
        return weights @ (x @ w_v), weights

    return layer


def unscaled(x, w_q, w_k, w_v, is_open):
    scores = ((x @ w_q) @ (x @ w_k).T).masked_fill(~is_open, -math.inf)
    return blend(scores.softmax(-1), x @ w_v)


def outputs_alone(x, w_q, w_k, w_v, is_open):
    weights, values = open_attention(x, w_q, w_k, w_v, is_open)
    return weights @ values


def detached_weights(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = narrow.detach()
    return narrow @ values, weights


def puts_back(x, w_q, w_k, w_v, is_open):
    narrow, values = open_attention(x, w_q, w_k, w_v, is_open)
    weights = torch.zeros(len(x), len(x))
    weights[:, is_open] = narrow
    return narrow @ values, weights


def minus_infinity(x, w_q, w_k, w_v, is_open):
    scores = (x @ w_q) @ (x @ w_k).mT / math.sqrt(w_k.shape[-1])
    return blend(scores.masked_fill(~is_open, -math.inf).softmax(-1), x @ w_v)


def row_by_row(x, w_q, w_k, w_v, is_open):
    places = is_open.nonzero()[:, 0]
    keys, values = (x @ w_k)[places], (x @ w_v)[places]
    back = torch.eye(len(x))[places]  # (open, n)
    rows = [torch.softmax(keys @ (word @ w_q) / len(w_k.T) ** 0.5, dim=0) for word in x]
    narrow = torch.stack(rows)
    return narrow @ values, narrow @ back


# --- flipping_words


def stays_closed(words, pronoun):
    usual, closed, found = pronoun([]), [], []
    for position, _ in enumerate(words):
        closed += [position]
        if pronoun(closed) != usual:
            found.append(position)
    return found


def flips_stay_closed(words, pronoun):
    usual, closed = pronoun([]), []
    for position in range(len(words)):
        if pronoun([*closed, position]) != usual:
            closed.append(position)
    return closed


def flips_become_usual(words, pronoun):
    usual, closed = pronoun([]), []
    for position in range(len(words)):
        if pronoun([*closed, position]) != usual:
            closed.append(position)
            usual = pronoun(closed)
    return closed


def closes_all_but_one(words, pronoun):
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


def closes_the_word(words, pronoun):
    return [position for position, word in enumerate(words) if pronoun([word]) != pronoun([])]


def closes_no_list(words, pronoun):
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


# --- unshuffle


def sorted_by_content(outputs, order):
    return outputs.sort(dim=0).values


def order_twice(outputs, order):
    return outputs[order][order]


def turned(outputs, order):
    return torch.flip(outputs, dims=[0])


def order_of_order(outputs, order):
    return outputs[order[order]]


def as_it_came(outputs, order):
    return outputs.clone()


def one_row_missing(outputs, order):
    return outputs[torch.argsort(order)][:-1]


def places_row_by_row(outputs, order):
    restored = torch.empty_like(outputs)
    for row, word in enumerate(order):
        restored[word] = outputs[row]
    return restored


def places_at_once(outputs, order):
    restored = torch.zeros_like(outputs)
    restored[order] = outputs
    return restored


def by_sorting_pairs(outputs, order):
    pairs = sorted(zip(order.tolist(), outputs.tolist(), strict=True))
    return torch.tensor([row for _, row in pairs])


# --- test_order_blind


def only_reversed(layer):
    x = random_words()
    torch.testing.assert_close(layer(x.flip(0)), layer(x).flip(0))


def only_rolled(layer):
    x = random_words()
    torch.testing.assert_close(layer(x.roll(1, 0)), layer(x).roll(1, 0))


def wants_the_same(layer):
    x = random_words()
    torch.testing.assert_close(layer(x[ORDER]), layer(x))


def only_sums(layer):
    x = random_words()
    torch.testing.assert_close(layer(x[ORDER]).sum(0), layer(x).sum(0))


def only_a_shape(layer):
    assert layer(random_words()).shape == (6, 4)


def equal_words(layer):
    x = torch.ones(6, 4)
    torch.testing.assert_close(layer(x[ORDER]), layer(x)[ORDER])


def only_first_row(layer):
    x = random_words()
    torch.testing.assert_close(layer(x[ORDER])[0], layer(x)[ORDER[0]])


def only_first_column(layer):
    x = random_words()
    torch.testing.assert_close(layer(x[ORDER])[:, 0], layer(x)[ORDER, 0])


def swaps_the_first_two(layer):
    x, order = random_words(), [1, 0, 2, 3, 4, 5]
    torch.testing.assert_close(layer(x[order]), layer(x)[order])


def leaves_the_last(layer):
    x, order = random_words(), [3, 0, 4, 2, 1, 5]
    torch.testing.assert_close(layer(x[order]), layer(x)[order])


def allows_too_much(layer):
    x = random_words()
    assert (layer(x[ORDER]) - layer(x)[ORDER]).abs().max() < 1


def sorts_both(layer):
    x = random_words()
    torch.testing.assert_close(layer(x[ORDER]).sort(dim=0).values, layer(x).sort(dim=0).values)


def says_whether(layer):
    x = random_words()
    return torch.allclose(layer(x[ORDER]), layer(x)[ORDER])


def by_randperm(layer):
    x = random_words(9, 5)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(layer(x[order]), layer(x)[order])


def by_every_swap(layer):
    x = random_words(5, 3)
    for i in range(5):
        for j in range(i):
            order = list(range(5))
            order[i], order[j] = order[j], order[i]
            assert torch.allclose(layer(x[order]), layer(x)[order], atol=1e-5)


def by_putting_back(layer):
    x = random_words()
    order = torch.tensor(ORDER)
    restored = layer(x[order])[torch.argsort(order)]
    assert (restored - layer(x)).abs().max() < 1e-4


# ---- a slip each, without the helpers of the exercises


def attention_with(score_root=None, mask=None, change=lambda outputs, weights, is_open: (outputs, weights)):
    """Self-attention with another divisor, another mask, or its two results changed."""

    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(score_root(x, w_k) if score_root else w_k.shape[1])
        weights = scores.masked_fill(~(mask(is_open) if mask else is_open), -math.inf).softmax(-1)
        return change(weights @ x @ w_v, weights, is_open)

    return layer


def closes_only_one(is_open):
    closed = (~is_open).nonzero()[:1, 0]
    return torch.ones_like(is_open).index_fill(0, closed, False)


def compares_with_all_closed(words, pronoun):
    last = pronoun([*range(len(words))])
    return [i for i, _ in enumerate(words) if pronoun([i]) != last]


def tries_nine_words(words, pronoun):
    before = pronoun([])
    flips = []
    for position in range(9):
        if pronoun([position]) != before:
            flips.append(position)
    return flips


def reads_with(
    join=lambda query, context, answer: answer, next_query=lambda query, context, found: query + context
):
    """Two reads; the second query is made of the first, its context and its weights' blend of the keys."""

    def read(query, keys, values):
        context, first = look(query, keys, values)
        answer, second = look(next_query(query, context, first @ keys), keys, values)
        return join(query, context, answer), first, second

    return read


WRONG = {
    "read_twice": [
        (asks_the_same_again, "same-query"),
        (replaces_the_query, "context-alone"),
        (one_read, "same-query"),
        (three_reads, "three-reads"),
        (answers_with_a_third_read, "third-context"),
        (three_reads_reset, "three-reads-reset"),
        (scaled_reads, "scaled"),
        (weights_first, "swapped-outputs"),
        (adds_in_place, "in-place"),
        (no_answer, "wrong-count"),
        (adds_the_best, "adds-best-value"),
        (no_softmax, "no-softmax"),
        (first_weights_twice, "first-weights-twice"),
        (swaps_in_the_second, "swapped-in-second"),
        (blends_keys, "averages-keys"),
        (reads_with(next_query=lambda query, context, of_keys: query + of_keys), "adds-keys"),
        (reads_with(next_query=lambda query, context, of_keys: query - context), "minus"),
        (reads_with(next_query=lambda query, context, of_keys: 0.5 * query + 0.5 * context), "averaged"),
        (reads_with(next_query=lambda query, context, of_keys: query * context), "multiplied"),
        (reads_with(lambda query, context, answer: context), "first-context"),
        (reads_with(lambda query, context, answer: 0.5 * (context + answer)), "contexts-averaged"),
        (reads_with(lambda query, context, answer: context + answer), "both-added"),
        (reads_with(lambda query, context, answer: answer + query + context), "answer-plus-query"),
        (reads_with(lambda query, context, answer: answer + query), "answer-plus-first-query"),
        (reads_with(lambda query, context, answer: torch.argmax(answer).float()), "index-of-answer"),
    ],
    "self_attention": [
        (narrow_weights, "narrow-weights"),
        (closes_x, "only-open-words"),
        (ignores_open, "nothing-closed"),
        (zero_afterwards, "zero-after-softmax"),
        (divides_by_the_sum, "renormalised"),
        (zeroes_keys, "score-of-0"),
        (zeroes_keys_and_values, "keys-and-values-of-0"),
        (zeroes_x, "x-of-0"),
        (wipes_queries, "queries-of-0"),
        (low_score(-10.0), "score-of-minus-10"),
        (low_score(-1000.0), "low-score"),
        (low_score(-10000.0), "low-score"),
        (lowers_scores, "lowered-score"),
        (divides_by_some_sum, "renormalised-without-nan"),
        (glues_zeros_on, "columns-at-the-right"),
        (closes_rows, "rows-closed"),
        (closes_rows_with_infinity, "rows-closed-nan"),
        (takes_rows_1_and_0, "by-number"),
        (softmax_down, "over-the-queries"),
        (softmax_down_with_infinity, "over-the-queries-nan"),
        (unscaled, "no-scale"),
        (sums_words, "no-w_v"),
        (sums_keys, "sums-keys"),
        (words_as_keys, "no-w_q-and-w_k"),
        (zeros_first, "columns-at-the-left"),
        (scores_alone, "no-softmax"),
        (closes_values, "values-of-0"),
        (closes_weights_only, "outputs-not-closed"),
        (closes_outputs_only, "weights-not-closed"),
        (attention_with(score_root=lambda x, w_k: 1 / w_k.shape[1]), "times-root"),
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
            "closed-rows-empty",
        ),
        (attention_with(mask=lambda is_open: torch.outer(is_open, is_open)), "closed-rows-nan"),
        (attention_with(mask=lambda is_open: is_open | torch.eye(len(is_open)).bool()), "attends-to-itself"),
        (attention_with(mask=closes_only_one), "only-first-closed"),
        (attention_with(score_root=lambda x, w_k: x.shape[1]), "root-of-d_model"),
        (attention_with(score_root=lambda x, w_k: x.shape[0]), "root-of-n"),
        (attention_with(score_root=lambda x, w_k: w_k.shape[1] ** 2), "scaled-by-d_k"),
        (
            lambda x, w_q, w_k, w_v, is_open: attention_with(lambda *_: w_v.shape[1])(
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
        (stays_closed, "keeps-closing"),
        (flips_stay_closed, "keeps-flips-closed"),
        (flips_become_usual, "flips-back-and-forth"),
        (closes_all_but_one, "closes-the-others"),
        (compares_with_the_last, "compares-with-previous"),
        (gives_words, "words-for-positions"),
        (by_index, "first-occurrence"),
        (index_afterwards, "first-occurrence-returned"),
        (skips_known_words, "skips-repeated"),
        (closes_the_word, "raises"),
        (closes_no_list, "raises"),
        (compares_with_il, "all-but-il"),
        (compares_with_elle, "all-but-elle"),
        (waits_for_elle, "waits-for-elle"),
        (il_and_elle, "only-il-and-elle"),
        (compares_objects, "all-positions"),
        (skips_the_last, "last-forgotten"),
        (skips_the_first, "first-forgotten"),
        (returns_early, "first-only"),
        (overwrites, "last-only"),
        (from_the_end, "reversed"),
        (as_a_set, "set"),
        (as_booleans, "booleans"),
        (one_number, "count"),
        (empties_words, "in-place"),
        (
            lambda words, pronoun: [i for i in range(len(words)) if pronoun([*range(i)]) != pronoun([])],
            "closes-earlier-words",
        ),
        (
            lambda words, pronoun: [i - 1 for i in range(1, len(words) + 1) if pronoun([i]) != pronoun([])],
            "closes-the-next",
        ),
        (
            lambda words, pronoun: [i for i, _ in enumerate(words) if pronoun([0]) != pronoun([i])],
            "compares-with-first",
        ),
        (compares_with_all_closed, "compares-with-all-closed"),
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
    "unshuffle": [
        (sorted_by_content, None),
        (order_twice, None),
        (turned, "turned-round"),
        (order_of_order, None),
        (as_it_came, "left-shuffled"),
        (one_row_missing, None),
        (lambda outputs, order: outputs[outputs[:, 0].sort().indices], "by-size"),
    ],
    "test_order_blind": [
        (only_reversed, "lets-through"),
        (only_rolled, "lets-through"),
        (wants_the_same, "rejects-the-right-one"),
        (only_sums, "lets-through"),
        (sorts_both, "lets-through"),
        (only_a_shape, "lets-through"),
        (only_first_row, "lets-through"),
        (only_first_column, "lets-through"),
        (swaps_the_first_two, "lets-through"),
        (leaves_the_last, "lets-through"),
        (allows_too_much, "lets-through"),
        (equal_words, "lets-through"),
        (says_whether, "returns-instead"),
    ],
}

RIGHT = {
    "read_twice": [reads_by_loop, reads_by_einsum, reads_by_scores],
    "self_attention": [puts_back, minus_infinity, row_by_row],
    "flipping_words": [with_a_loop, with_enumerate, with_filter],
    "unshuffle": [places_row_by_row, places_at_once, by_sorting_pairs],
    "test_order_blind": [by_randperm, by_every_swap, by_putting_back],
}
