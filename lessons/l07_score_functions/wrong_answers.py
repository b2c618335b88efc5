"""Answers to the exercises of lesson 07, as learners write them: wrong, with what must be said, and right."""

import math

import torch
from torch.nn import functional as F

# ---- general


def general_by_einsum(queries, keys, w):
    return torch.einsum("mq,qk,nk->mn", queries, w, keys)


def general_keys_first(queries, keys, w):
    return queries @ (keys @ w.T).T


def general_by_loop(queries, keys, w):
    return torch.stack([torch.stack([q @ w @ k for k in keys]) for q in queries])


def general_as_weights(queries, keys, w):
    return torch.softmax(queries @ w @ keys.T, dim=1)


def general_scaled(queries, keys, w):
    return queries @ w @ keys.T / keys.shape[1] ** 0.5


def general_lying_down(queries, keys, w):
    return keys @ (queries @ w).T


def general_without_w(queries, keys, w):
    return queries @ keys.T


def general_w_turned(queries, keys, w):
    return queries @ w.T @ keys.T


def general_first_only(queries, keys, w):
    return (keys @ (w.T @ queries[0])).repeat(len(queries), 1)


def general_as_columns_of_weights(queries, keys, w):
    return torch.softmax(queries @ w @ keys.T, dim=0)


def general_scaled_by_queries(queries, keys, w):
    return queries @ w @ keys.T / math.sqrt(queries.shape[1])


def general_by_means(queries, keys, w):
    return torch.einsum("ma,ab,nb->mnab", queries, w, keys).mean(dim=(-1, -2))


def general_added(queries, keys, w):
    return torch.stack([(query + keys).sum(dim=1) for query in queries @ w])


def general_as_cosine(queries, keys, w):
    return F.normalize(queries @ w, dim=-1) @ F.normalize(keys, dim=-1).T


def general_reshaped(queries, keys, w):
    return queries @ w @ keys.reshape(keys.shape[1], keys.shape[0])


def general_first_key_only(queries, keys, w):
    return (queries @ w @ keys[0])[:, None].repeat(1, len(keys))


def general_diagonal(queries, keys, w):
    scores = torch.zeros(len(queries), len(keys))
    for i, (query, key) in enumerate(zip(queries, keys, strict=False)):
        scores[i, i] = query @ w @ key
    return scores


def general_with(ranges):
    """A double loop over other ranges than all queries and all keys."""

    def general(queries, keys, w):
        scores = torch.zeros(len(queries), len(keys))
        m, n = ranges(len(queries), len(keys))
        for i in range(m):
            for j in range(n):
                scores[i, j] = queries[i] @ w @ keys[j]
        return scores

    return general


def general_paired(queries, keys, w):
    n = min(len(queries), len(keys))
    return ((queries @ w)[:n] * keys[:n]).sum(dim=1)


def general_absolute(queries, keys, w):
    return (queries @ w @ keys.T).abs()


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


def count_by_one_hot(pairs, predict, positions):
    right = total = 0
    for pair in pairs:
        at = positions(pair)

        def change(step, weights, at=at):
            place = at.get(step)
            return weights if place is None else F.one_hot(torch.tensor(place), len(weights)).float()

        words = predict(pair, change)
        for step, (got, wanted) in enumerate(zip(words, pair.tgt, strict=True)):
            if step in at:
                total += 1
                right += got == wanted
    return [right, total]


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


def count_only_calls(pairs, predict, positions):
    n_right = n_all = 0
    for pair in pairs:
        words = predict(pair, lambda step, weights: weights)
        for step in positions(pair):
            n_right += words[step] == pair.tgt[step]
            n_all += 1
    return n_right, n_all


def count_too_late(pairs, predict, positions):
    changes = []
    for pair in pairs:
        at = positions(pair)

        def change(step, weights):
            return one_hot(weights, min(at[step], len(weights) - 1)) if step in at else weights  # noqa: B023

        changes.append(change)
    hits = []
    for pair, change in zip(pairs, changes, strict=True):
        words = predict(pair, change)
        hits += [words[step] == pair.tgt[step] for step in positions(pair)]
    return sum(hits), len(hits)


def count_resets(pairs, predict, positions):
    n_right = n_all = 0
    for pair in pairs:
        n_right, n_all = counting()([pair], predict, positions)
    return n_right, n_all


def count_assigns(pairs, predict, positions):
    n_right = n_all = 0
    for pair in pairs:
        right, n_all = counting()([pair], predict, positions)
        n_right += right
    return n_right, n_all


def count_breaks(pairs, predict, positions):
    results = [(0, 0)]
    for pair in pairs:
        if not positions(pair):
            break
        results.append(counting()([pair], predict, positions))
    return sum(right for right, _ in results), sum(n for _, n in results)


def count_returns_early(pairs, predict, positions):
    for pair in pairs:
        return counting()([pair], predict, positions)
    return 0, 0


def count_first_of_each(pairs, predict, positions):
    def first(pair):
        for step, place in positions(pair).items():
            return {step: place}
        return {}

    return counting()(pairs, predict, first)


def count_own_number(pairs, predict, positions):
    return counting()(pairs, predict, lambda pair: {i: min(i, len(pair.src)) for i in positions(pair)})


def count_other_way_round(pairs, predict, positions):
    n_right = n_all = 0
    for pair in pairs:
        at = positions(pair)
        french_of = {place: step for step, place in at.items()}

        def change(i, weights, french_of=french_of):
            inside = i in french_of and french_of[i] < len(weights)
            return one_hot(weights, french_of[i]) if inside else weights

        words = predict(pair, change)
        n_right += sum(words[i] == pair.tgt[i] for i in at)
        n_all += len(at)
    return n_right, n_all


def count_whole_sentences(pairs, predict, positions):
    n_right = 0
    for pair in pairs:
        right, n = counting()([pair], predict, positions)
        n_right += right == n
    return n_right, len(pairs)


def count_per_sentence(pairs, predict, positions):
    return counting()(pairs, predict, positions)[0], len(pairs)


def weight_of_one(weights, position):
    weights[position] = 1
    return weights


def kept_alone(weights, position):
    kept = weights[position].clone()
    weights[:] = 0
    weights[position] = kept
    return weights


def hidden(weights, position):
    weights[position] = 0
    return weights


def nearly_all(weights, position):
    return 0.9 * one_hot(weights, position) + 0.1 / len(weights)


def compares_at_the_place(pair, words, step, at):
    return at[step] < len(words) and words[at[step]] == pair.tgt[at[step]]


def compares_with_the_place(pair, words, step, at):
    return words[step] == pair.tgt[at[step]]


def compares_from_the_place(pair, words, step, at):
    return at[step] < len(words) and words[at[step]] == pair.tgt[step]


def spelled_articles(pair, at):
    return [step for step, word in enumerate(pair.tgt) if word in ("le", "la", "l'", "les")]


def count_at_steps_from_1(pairs, predict, positions):
    hits = []
    for pair in pairs:
        at = positions(pair)
        words = predict(pair, lambda i, w, at=at: one_hot(w, at[i + 1]) if i + 1 in at else w)
        hits += [words[i] == pair.tgt[i] for i in at]
    return sum(hits), len(hits)


def count_one_step_late(pairs, predict, positions):
    hits = []
    for pair in pairs:
        at = positions(pair)
        words = predict(pair, lambda i, w, at=at: one_hot(w, at[i - 1]) if i - 1 in at else w)
        hits += [words[i] == pair.tgt[i] for i in at]
    return sum(hits), len(hits)


def count_all_or_nothing(pairs, predict, positions):
    results = [counting()([pair], predict, positions) for pair in pairs]
    return sum(right == n for right, n in results), sum(n for _, n in results)


WRONG = {
    "general_scores": [
        (general_as_weights, "softmax-already"),
        (general_scaled, "scaled-already"),
        (general_first_only, "first-query-for-all"),
        (general_absolute, "abs-of-scores"),
        (general_lying_down, "transposed-scores"),
        (general_without_w, "no-w"),
        (general_w_turned, "input-transposed"),
        (general_detached, "no-gradient"),
        (lambda queries, keys, w: general_by_einsum(queries, keys, w) / keys.shape[1], "mean-for-sum"),
        (lambda queries, keys, w: (queries @ w).tanh() @ keys.mT, "tanh-of-queries"),
        (lambda queries, keys, w: general_by_loop(queries, keys, w).tanh(), "tanh-of-scores"),
        (general_as_columns_of_weights, "softmax-over-queries"),
        (general_scaled_by_queries, "scaled-by-query-width"),
        (general_by_means, "mean-over-both"),
        (general_added, "added"),
        (lambda queries, keys, w: torch.tanh((queries @ w).unsqueeze(1) + keys).sum(dim=-1), "added-tanh"),
        (lambda queries, keys, w: F.relu(queries @ w) @ keys.mT, "relu-of-queries"),
        (lambda queries, keys, w: (queries @ w @ keys.T).clamp(min=0), "relu-of-scores"),
        (lambda queries, keys, w: F.sigmoid(queries @ w @ keys.T), "sigmoid-of-scores"),
        (lambda queries, keys, w: math.e ** (queries @ w @ keys.T), "exp-of-scores"),
        (general_as_cosine, "cosine"),
        (general_reshaped, "keys-reshaped"),
        (general_first_key_only, "first-key-for-all"),
        (general_diagonal, "diagonal-only"),
        (lambda q, k, w: torch.einsum("iq,qk,ik->i", q, w, k), "same-index"),
        (lambda queries, keys, w: queries @ w @ (keys / keys.norm(dim=1, keepdim=True)).T, "unit-keys"),
        (lambda queries, keys, w: queries @ w @ keys.T / keys.size(0), "mean-over-keys"),
        (general_paired, "diagonal"),
        (lambda queries, keys, w: keys @ (queries[0] @ w), "first-query-only"),
        (lambda queries, keys, w: torch.einsum("mk,nk->mnk", queries @ w, keys), "not-summed"),
        (lambda queries, keys, w: torch.stack([q @ w @ k for q in queries for k in keys]), "flat"),
        (lambda queries, keys, w: queries @ w @ keys, "keys-reshaped"),
        (general_with(lambda m, n: (m, n - 1)), "last-key"),
        (general_with(lambda m, n: (m - 1, n)), "last-query"),
        (lambda queries, keys, w: (queries @ w @ keys.T).squeeze(), "wrong-shape"),
        (lambda queries, keys, w: (queries @ w @ keys.T).round(), None),
    ],
    "count_articles": [
        (count_forgets_to_return, "raises"),
        (count_only_calls, "not-forced"),
        (counting(is_forced=lambda step, at: True), "forces-every-step"),
        (counting(is_forced=lambda step, at: step not in at), "forces-the-others"),
        (counting(weight_of_one), "not-zeroed"),
        (counting(lambda weights, place: weights + one_hot(weights, place)), "one-added"),
        (counting(kept_alone), "others-zeroed"),
        (counting(lambda weights, place: 0 * weights), "all-zero"),
        (counting(hidden), "this-one-zeroed"),
        (counting(lambda weights, place: torch.ones(len(weights)) / len(weights)), "uniform"),
        (counting(lambda weights, place: 0.5 * weights + 0.5 * one_hot(weights, place)), "not-zeroed"),
        (counting(lambda weights, place: torch.softmax(one_hot(weights, place), dim=0)), "softmax"),
        (counting(is_right=lambda pair, words, i, at: words[i - 1] == pair.tgt[i]), "previous-word"),
        (counting(nearly_all), None),
        (counting(lambda weights, place: one_hot(weights, 0)), "always-position-0"),
        (counting(lambda weights, place: one_hot(weights, min(place + 1, len(weights) - 1))), "one-too-far"),
        (counting(lambda weights, place: one_hot(weights, max(place - 1, 0))), "one-too-early"),
        (count_own_number, "step-for-position"),
        (count_other_way_round, "swapped-positions"),
        (
            counting(steps=lambda p, at: range(len(p.tgt)), n_articles=lambda p, at: len(p.tgt)),
            "all-words",
        ),
        (counting(steps=lambda pair, at: range(len(pair.tgt))), "right-words"),
        (
            counting(
                steps=lambda p, at: [i for i in range(len(p.tgt)) if i not in at],
                n_articles=lambda p, at: len(p.tgt) - len(at),
            ),
            "other-words",
        ),
        (counting(n_articles=lambda pair, at: len(pair.tgt)), "of-all-words"),
        (counting(is_right=compares_at_the_place), "compares-at-positions-11"),
        (counting(is_right=compares_with_the_place), "compares-at-positions-01"),
        (counting(is_right=compares_from_the_place), "compares-at-positions-01"),
        (
            counting(steps=spelled_articles, n_articles=lambda pair, at: len(spelled_articles(pair, at))),
            "spelled-articles",
        ),
        (count_at_steps_from_1, "step-early"),
        (count_one_step_late, "step-late"),
        (counting(is_forced=lambda step, at: bool(at.get(step))), "ignores-position-0"),
        (count_all_or_nothing, "all-or-nothing"),
        (counting(answer=lambda n_right, n_all: (n_right / n_all, n_all)), "fraction-and-count"),
        (count_whole_sentences, "sentences"),
        (
            counting(is_right=lambda pair, words, step, at: words[step] in {"le", "la", "l'", "les"}),
            "any-article",
        ),
        (
            counting(is_right=lambda pair, words, step, at: words[step] != pair.tgt[step]),
            "counts-mistakes",
        ),
        (counting(n_articles=lambda pair, at: 1 if at else 0), "sentences-with-articles"),
        (
            counting(is_right=lambda pair, words, i, at: words[i] == [*pair.src, None][at[i]]),
            "compares-with-source",
        ),
        (counting(is_forced=lambda step, at: step == min([*at, 99])), "forced-once"),
        (count_too_late, "last-dictionary"),
        (counting(answer=lambda n_right, n_all: n_right * 100 / (n_all or 1)), "percent"),
        (count_resets, "last-sentence"),
        (counting(is_right=lambda pair, words, i, at: pair.tgt[i] in words), "anywhere"),
        (count_assigns, "last-length"),
        (count_breaks, "stops-early"),
        (count_returns_early, "first-sentence"),
        (count_first_of_each, "first-article"),
        (count_per_sentence, "n-sentences"),
        (counting(answer=lambda n_right, n_all: (n_all, n_right)), "swapped-answer"),
        (counting(answer=lambda n_right, n_all: n_right), "only-right"),
        (counting(answer=lambda n_right, n_all: n_right / n_all if n_all else 0.0), "fraction"),
        (counting(answer=lambda n_right, n_all: (n_right, n_all - n_right)), "right-and-wrong"),
    ],
}

RIGHT = {
    "general_scores": [general_by_einsum, general_keys_first, general_by_loop],
    "count_articles": [count_with_a_lambda, count_in_place, counting()],
}
