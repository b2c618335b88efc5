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


def masks_the_word(words, pronoun):
    return [position for position, word in enumerate(words) if pronoun([word]) != pronoun([])]


def masks_no_list(words, pronoun):
    return [position for position in range(len(words)) if pronoun(position) != pronoun([])]


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


def attention_with(score_root=None, mask=None, change=lambda outputs, weights, is_open: (outputs, weights)):
    """Self-attention with another divisor, another mask, or its two results changed."""

    def layer(x, w_q, w_k, w_v, is_open):
        scores = (x @ w_q.T) @ (x @ w_k.T).T / math.sqrt(score_root(x, w_k) if score_root else w_k.shape[0])
        weights = scores.masked_fill(~(mask(is_open) if mask else is_open), -math.inf).softmax(-1)
        return change(weights @ x @ w_v.T, weights, is_open)

    return layer


WRONG = {
    "self_attention": [
        (zero_afterwards, "zero-after-softmax"),
        (zeroes_keys, "score-of-0"),
        (zeroes_keys_and_values, "keys-and-values-of-0"),
        (zeroes_x, "x-of-0"),
        (outputs_alone, "missing-output"),
        (detached_weights, "wrong-gradient"),
        (attention_with(score_root=lambda x, w_k: x.shape[1]), "root-of-d_model"),
        (attention_with(score_root=lambda x, w_k: x.shape[0]), "root-of-n"),
    ],
    "flipping_words": [
        (masks_the_word, "raises"),
        (masks_no_list, "raises"),
        (empties_words, "in-place"),
    ],
}

RIGHT = {
    "self_attention": [puts_back, minus_infinity, row_by_row],
    "flipping_words": [with_a_loop, with_enumerate, with_filter],
}
