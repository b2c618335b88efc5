"""Answers to the exercises of lesson 07, as learners write them: wrong, with what must be said, and right."""

import torch

# ---- general


def general_by_einsum(queries, keys, w):
    return torch.einsum("mq,qk,nk->mn", queries, w, keys)


def general_keys_first(queries, keys, w):
    return queries @ (keys @ w.T).T


def general_by_loop(queries, keys, w):
    return torch.stack([torch.stack([q @ w @ k for k in keys]) for q in queries])


def general_w_turned(queries, keys, w):
    return queries @ w.T @ keys.T


def general_detached(queries, keys, w):
    return queries @ w.detach() @ keys.T


# ---- counting with forced attention


def one_hot(weights, position):
    new = torch.zeros_like(weights)
    new[position] = 1.0
    return new


def counting(
    new_weights=one_hot,
    is_forced=lambda step, at: step in at,
    is_right=lambda pair, words, step, at: words[step] == pair.tgt[step],
    steps=lambda pair, at: list(at),
    n_articles=lambda pair, at: len(at),
    answer=lambda n_right, n_all: (n_right, n_all),
):
    """Most answers are this one with one part replaced."""

    def count_articles(pairs, predict, positions):
        n_right, n_all = 0, 0
        for pair in pairs:
            at = positions(pair)

            def change(step, weights, at=at):
                if is_forced(step, at):
                    return new_weights(weights, at.get(step, 0))
                return weights

            words = predict(pair, change)
            for step in steps(pair, at):
                n_right += int(is_right(pair, words, step, at))
            n_all += n_articles(pair, at)
        return answer(n_right, n_all)

    return count_articles


def count_with_a_lambda(pairs, predict, positions):
    hits = []
    for pair in pairs:
        at = positions(pair)
        words = predict(pair, lambda i, w, at=at: torch.eye(len(w))[at[i]] if i in at else w)
        hits += [words[i] == pair.tgt[i] for i in at]
    return sum(hits), len(hits)


def count_in_place(pairs, predict, positions):
    def forced(at):
        def change(step, weights):
            if step in at:
                weights[:] = 0
                weights[at[step]] = 1
            return weights

        return change

    results = [(pair, positions(pair), predict(pair, forced(positions(pair)))) for pair in pairs]
    n_right = sum(words[step] == pair.tgt[step] for pair, at, words in results for step in at)
    return n_right, sum(len(at) for _, at, _ in results)


def count_forgets_to_return(pairs, predict, positions):
    n_right = n_all = 0
    for pair in pairs:
        at = positions(pair)

        def change(step, weights, at=at):
            if step in at:
                weights = one_hot(weights, at[step])

        words = predict(pair, change)
        n_right += sum(words[i] == pair.tgt[i] for i in at)
        n_all += len(at)
    return n_right, n_all


def nearly_all(weights, position):
    return 0.9 * one_hot(weights, position) + 0.1 / len(weights)


WRONG = {
    "general_scores": [
        (general_w_turned, "input-transposed"),
        (general_detached, "no-gradient"),
        (lambda queries, keys, w: (queries @ w @ keys.T).squeeze(), "wrong-shape"),
        (lambda queries, keys, w: (queries @ w @ keys.T).round(), None),
    ],
    "count_articles": [
        (count_forgets_to_return, "raises"),
        (counting(nearly_all), None),
    ],
}

RIGHT = {
    "general_scores": [general_by_einsum, general_keys_first, general_by_loop],
    "count_articles": [count_with_a_lambda, count_in_place, counting()],
}
