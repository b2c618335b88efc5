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


def scaled_reads(query, keys, values):
    root = math.sqrt(len(query))
    context, first = look(query / root, keys, values)
    answer, second = look((query + context) / root, keys, values)
    return answer, first, second


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
    scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(w_k.shape[-1])
    return blend(torch.softmax(scores.masked_fill(~is_open, -1e9), dim=0), x @ w_v)


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
    for place, _ in enumerate(words):
        closed += [place]
        if pronoun(closed) != usual:
            found.append(place)
    return found


def gives_words(words, pronoun):
    return [word for place, word in enumerate(words) if pronoun([place]) != pronoun([])]


def by_index(words, pronoun):
    return [words.index(word) for word in words if pronoun([words.index(word)]) != pronoun([])]


def closes_the_word(words, pronoun):
    return [place for place, word in enumerate(words) if pronoun([word]) != pronoun([])]


def closes_no_list(words, pronoun):
    return [place for place in range(len(words)) if pronoun(place) != pronoun([])]


def compares_with_il(words, pronoun):
    return [place for place, _ in enumerate(words) if pronoun([place]) not in ("il",)]


def skips_the_last(words, pronoun):
    return [place for place in range(len(words) - 1) if pronoun([place]) != pronoun([])]


def waits_for_elle(words, pronoun):
    return [place for place in range(len(words)) if pronoun([place]) in ("elle",)]


def returns_early(words, pronoun):
    for place in range(len(words)):
        if pronoun([place]) != pronoun([]):
            return [place]
    return []


def one_number(words, pronoun):
    return len([place for place in range(len(words)) if pronoun([place]) != pronoun([])])


def with_a_loop(words, pronoun):
    usual = pronoun([])
    found = []
    for place in range(len(words)):
        if pronoun([place]) != usual:
            found.append(place)
    return found


def with_enumerate(words, pronoun):
    return [place for place, _ in enumerate(words) if pronoun([place]) != pronoun([])]


def with_filter(words, pronoun):
    return tuple(filter(lambda place: pronoun([place]) != pronoun([]), range(len(words))))


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
        scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(score_root(x) if score_root else w_k.shape[1])
        weights = scores.masked_fill(~(mask(is_open) if mask else is_open), -math.inf).softmax(-1)
        return change(weights @ x @ w_v, weights, is_open)

    return layer


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
        (three_reads, None),
        (scaled_reads, None),
        (weights_first, "swapped-outputs"),
        (adds_in_place, "in-place"),
        (no_answer, "wrong-count"),
        (reads_with(next_query=lambda query, context, of_keys: query + of_keys), "adds-keys"),
        (reads_with(lambda query, context, answer: context), "first-context"),
        (reads_with(lambda query, context, answer: context + answer), "both-added"),
        (reads_with(lambda query, context, answer: answer + query + context), "answer-plus-query"),
        (reads_with(next_query=lambda query, context, of_keys: query - context), "minus"),
    ],
    "self_attention": [
        (narrow_weights, "wrong-shape"),
        (closes_x, "wrong-shape"),
        (ignores_open, "nothing-closed"),
        (zero_afterwards, "not-shared-out-again"),
        (zeroes_keys, "keys-set-to-0"),
        (zeroes_keys_and_values, "keys-and-values-times-0"),
        (zeroes_x, "x-times-0"),
        (glues_zeros_on, "columns-at-the-right"),
        (softmax_down, None),
        (unscaled, "no-scale"),
        (outputs_alone, "missing-output"),
        (detached_weights, "wrong-gradient"),
        (
            attention_with(
                mask=torch.logical_not, change=lambda o, w, is_open: (o.nan_to_num(), w.nan_to_num())
            ),
            "turned-round",
        ),
        (
            attention_with(
                change=lambda outputs, weights, is_open: (
                    outputs * is_open[:, None],
                    weights * is_open[:, None],
                )
            ),
            "closed-words-do-not-ask",
        ),
        (attention_with(mask=lambda is_open: is_open | torch.eye(len(is_open)).bool()), "sees-itself"),
        (attention_with(score_root=lambda x: x.shape[1]), "root-of-d_model"),
        (lambda x, w_q, w_k, w_v, is_open: attention_with()(x, w_q, w_q, w_v, is_open), "shared-w_q"),
        (lambda x, w_q, w_k, w_v, is_open: attention_with()(x, w_k, w_q, w_v, is_open), "exchanged"),
        (attention_with(change=lambda outputs, weights, is_open: (outputs, weights.T)), "weights-transposed"),
    ],
    "flipping_words": [
        (stays_closed, "keeps-closing"),
        (gives_words, "words-for-places"),
        (by_index, None),
        (closes_the_word, "raises"),
        (closes_no_list, "pronoun wants a list of positions"),
        (compares_with_il, "all-but-il"),
        (skips_the_last, "last-forgotten"),
        (waits_for_elle, "waits-for-elle"),
        (returns_early, "first-only"),
        (one_number, None),
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
        (only_reversed, "lets-through", "looks at both neighbours, in a ring"),
        (only_rolled, "lets-through", "looks at both neighbours, in a ring"),
        (wants_the_same, "rejects-the-right-one"),
        (only_sums, "one that sorts its outputs"),
        (only_a_shape, "lets-through"),
        (equal_words, "lets-through", "5 of 8"),
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
