"""Answers to the exercises of lesson 16, as learners write them: wrong ones and right ones.

After each wrong one: the slip that must be named, or a part of the message; None if no slip may be named.
"""

import heapq
import math

import torch
import torch.nn.functional as F

from course_lib.layers.multi_head import join_heads
from lessons.l16_decoding.exercises import counts_of, lengths, matches, not_clipped, split_all

# ---- grow


def children(sums, sentences, states, step):
    """Every continuation: its sum, its words and the decoder's new state."""
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        made += [(total + log_prob, [*sentence, word], new) for word, log_prob in log_probs.items()]
    return made


def best(made, width, reverse=True):
    """Three lists: sums, sentences and states of the best."""
    made = sorted(made, key=lambda child: child[0], reverse=reverse)[:width]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_made_order(sums, sentences, states, step, width):
    made = children(sums, sentences, states, step)
    totals, kept, _ = best(made, width)
    return totals, kept, [state for _, _, state in made[:width]]


def grow_by_last_word(sums, sentences, states, step, width):
    read = {
        sentence[-1]: step(state, sentence[-1])[1] for sentence, state in zip(sentences, states, strict=True)
    }
    totals, kept, _ = best(children(sums, sentences, states, step), width)
    return totals, kept, [read[sentence[-2]] for sentence in kept]


def grow_parents_order(sums, sentences, states, step, width):
    read = [step(state, sentence[-1])[1] for state, sentence in zip(states, sentences, strict=True)]
    totals, kept, _ = best(children(sums, sentences, states, step), width)
    return totals, kept, read[:width]


def grow_old_states(sums, sentences, states, step, width):
    made = []
    for i in range(len(sums)):
        log_probs, _ = step(states[i], sentences[i][-1])
        for word, log_prob in log_probs.items():
            made.append((sums[i] + log_prob, [*sentences[i], word], states[i]))
    return best(made, width)


def grow_last_word_only(sums, sentences, states, step, width):
    return best(children([0] * len(sums), sentences, states, step), width)


def grow_ascending(sums, sentences, states, step, width):
    return best(children(sums, sentences, states, step), width, reverse=False)


def grow_best_child_each(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        word = max(log_probs, key=log_probs.get)
        made.append((total + log_probs[word], [*sentence, word], new))
    return best(made, width)


def grow_appends_in_place(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            sentence.append(word)
            made.append((total + log_prob, sentence, new))
    return best(made, width)


def grow_multiplies(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        made += [(total * log_prob, [*sentence, word], new) for word, log_prob in log_probs.items()]
    return best(made, width)


def grow_with_indices(sums, sentences, states, step, width):
    made, new_states = [], []
    for i, sentence in enumerate(sentences):
        log_probs, new = step(states[i], sentence[-1])
        new_states.append(new)
        made += [(sums[i] + log_prob, i, word) for word, log_prob in log_probs.items()]
    totals, parents, words = best(made, width)
    kept = [[*sentences[i], word] for i, word in zip(parents, words, strict=True)]
    return totals, kept, [new_states[i] for i in parents]


def grow_with_heap(sums, sentences, states, step, width):
    made = children(sums, sentences, states, step)
    kept = heapq.nlargest(width, made, key=lambda child: child[0])
    return [a for a, _, _ in kept], [b for _, b, _ in kept], [c for _, _, c in kept]


def grow_by_dicts(sums, sentences, states, step, width):
    children = [
        {"sum": total + log_prob, "words": list(sentence) + [word], "state": read[1]}  # noqa: RUF005
        for total, sentence, read in (
            (t, s, step(state, s[-1])) for t, s, state in zip(sums, sentences, states, strict=True)
        )
        for word, log_prob in read[0].items()
    ]
    children.sort(key=lambda child: -child["sum"])
    return tuple([child[name] for child in children[:width]] for name in ("sum", "words", "state"))


# ---- bleu_score


def matches_crossing_out(output, reference, n):
    left = [reference[i : i + n] for i in range(len(reference) - n + 1)]
    hits = total = 0
    for i in range(len(output) - n + 1):
        total += 1
        if output[i : i + n] in left:
            left.remove(output[i : i + n])
            hits += 1
    return hits, total


def matches_joined(output, reference, n):
    def groups(words):
        return [" ".join(words[i : i + n]) for i in range(max(len(words) - n + 1, 0))]

    ours, theirs = groups(output), groups(reference)
    return sum(min(ours.count(g), theirs.count(g)) for g in dict.fromkeys(ours)), len(ours)


def precisions(translations, references, count=matches):
    return [counts_of(translations, references, n, count) for n in range(1, 5)]


def bleu_of(hits, c, r):
    if min(hit for hit, _ in hits) == 0:
        return 0.0
    mean = sum(math.log(hit / total) for hit, total in hits) / 4
    return 100 * math.exp(mean + min(0, 1 - r / c))


def bleu_per_sentence(translations, references):
    scores = [
        bleu_of(precisions([a], [b]), len(a), len(b)) for a, b in zip(translations, references, strict=True)
    ]
    return sum(scores) / len(scores)


def bleu_no_penalty(translations, references):
    return bleu_of(precisions(translations, references), 1, 1)


def bleu_bonus(translations, references):
    hits = precisions(translations, references)
    if min(hit for hit, _ in hits) == 0:
        return 0.0
    c, r = lengths(translations, references)
    return 100 * math.prod(hit / total for hit, total in hits) ** 0.25 * math.exp(1 - r / c)


def bleu_ratio(translations, references):
    c, r = lengths(translations, references)
    return bleu_of(precisions(translations, references), 1, 1) * min(1, c / r)


def bleu_fraction(translations, references):
    return bleu_of(precisions(translations, references), *lengths(translations, references)) / 100


def bleu_unclipped(translations, references):
    hits = precisions(translations, references, not_clipped)
    return bleu_of(hits, *lengths(translations, references))


def bleu_no_root(translations, references):
    c, r = lengths(translations, references)
    hits = precisions(translations, references)
    if min(hit for hit, _ in hits) == 0:
        return 0.0
    return 100 * math.prod(hit / total for hit, total in hits) * math.exp(min(0, 1 - r / c))


def bleu_log_of_zero(translations, references):
    c, r = lengths(translations, references)
    mean = sum(math.log(hit / total) for hit, total in precisions(translations, references)) / 4
    return 100 * math.exp(mean + min(0, 1 - r / c))


def bleu_right(translations, references):
    return bleu_of(precisions(translations, references), *lengths(translations, references))


def bleu_with_root(translations, references):
    product = 1.0
    for hit, total in precisions(translations, references, matches_crossing_out):
        product *= hit / total if total else 0.0
    c, r = lengths(translations, references)
    brevity = 1.0 if c >= r else (math.exp(1 - r / c) if c else 0.0)
    return 100 * brevity * product**0.25


def bleu_one_pass(translations, references):
    hits, totals, c, r = [0] * 4, [0] * 4, 0, 0
    for output, right in zip(translations, references, strict=True):
        c, r = c + len(output), r + len(right)
        for n in range(4):
            hit, total = matches_joined(output, right, n + 1)
            hits[n] += hit
            totals[n] += total
    if 0 in hits:
        return 0.0
    logs = [math.log(hit) - math.log(total) for hit, total in zip(hits, totals, strict=True)]
    return math.exp(sum(logs) / 4) * (math.exp(1 - r / c) if c < r else 1) * 100


# ---- cached_attention


def attend(q, k, v):
    return (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v


def appended(past, key, value, dim=2):
    return torch.cat([past[0], key], dim), torch.cat([past[1], value], dim)


def cached_alone(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    return join_heads(attend(q, k, v)) @ w_o, appended(past, k, v)


def cached_same_past(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)) @ w_o, past


def cached_new_first(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended((k, v), *past)
    return join_heads(attend(q, keys, values)) @ w_o, (keys, values)


def cached_query_as_key(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, v = split_all(x, n_heads, w_q, w_v)
    keys, values = appended(past, q, v)
    return join_heads(attend(q, keys, values)) @ w_o, (keys, values)


def cached_no_output(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)), (keys, values)


def cached_wrong_axis(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v, dim=1)
    return join_heads(attend(q, keys, values)) @ w_o, (keys, values)


def cached_three(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)) @ w_o, keys, values


def cached_unscaled(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads((q @ keys.mT).softmax(-1) @ values) @ w_o, (keys, values)


def cached_right(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v, dim=-2)
    return join_heads(attend(q, keys, values)) @ w_o, (keys, values)


def cached_fused(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = (torch.cat(pair, 2) for pair in zip(past, (k, v), strict=True))
    context = F.scaled_dot_product_attention(q, keys, values)
    return F.linear(join_heads(context), w_o.T), (keys, values)


def cached_by_loop(x, past, w_q, w_k, w_v, w_o, n_heads):
    size = x.shape[-1] // n_heads
    outs, keys, values = [], [], []
    for head in range(n_heads):
        own = slice(head * size, (head + 1) * size)
        k = torch.cat([past[0][:, head], x @ w_k[:, own]], dim=1)
        v = torch.cat([past[1][:, head], x @ w_v[:, own]], dim=1)
        outs.append(attend(x @ w_q[:, own], k, v))
        keys.append(k)
        values.append(v)
    return torch.cat(outs, -1) @ w_o, (torch.stack(keys, 1), torch.stack(values, 1))


# ---- a slip each, without the helpers of the exercises


def bleu_plain_mean(translations, references):
    shares = [hit / total if total else 0.0 for hit, total in precisions(translations, references)]
    c, r = lengths(translations, references)
    return 25 * sum(shares) * math.exp(min(0, 1 - r / c)) if c else 0.0


def bleu_up_to_two(translations, references):
    (one, n), (two, m), *_ = precisions(translations, references)
    c, r = lengths(translations, references)
    return 100 * math.sqrt(one / n * two / m) * math.exp(min(0, 1 - r / c)) if one and two else 0.0


def cached_with(seen=None, new_root=False, of_values=lambda w_k, w_v: w_v, forgets_values=False):
    """The cached layer with other keys and values to look at, √d_model, or other values."""

    def cached(x, past, w_q, w_k, w_v, w_o, n_heads):
        q, k, v = split_all(x, n_heads, w_q, w_k, of_values(w_k, w_v))
        keys, values = appended((past[0], 0 * past[1]) if forgets_values else past, k, v)
        looked_at = seen(past, (keys, values)) if seen else (keys, values)
        scaled = q / n_heads**0.5 if new_root else q
        return join_heads(attend(scaled, *looked_at)) @ w_o, (keys, values)

    return cached


def the_past_alone(past, new):
    return past if past[0].numel() else new


WRONG = {
    "grow": [
        (grow_made_order, "unrepaired"),
        (grow_parents_order, None),
        (grow_by_last_word, None),
        (grow_old_states, "state-before-reading"),
        (grow_last_word_only, "only-the-last-word"),
        (grow_ascending, "worst-first"),
        (grow_best_child_each, "one-from-each"),
        (grow_appends_in_place, "in-place"),
        (grow_multiplies, None),
        (
            lambda sums, sentences, states, step, width: best(children(sums, sentences, states, step), None),
            "keeps-all",
        ),
    ],
    "bleu_score": [
        (bleu_per_sentence, "mean-of-sentences"),
        (bleu_no_penalty, "no-brevity"),
        (bleu_bonus, "rewards-length"),
        (bleu_ratio, "plain-ratio"),
        (bleu_fraction, "as-a-share"),
        (bleu_unclipped, "not-clipped"),
        (bleu_no_root, None),
        (bleu_log_of_zero, "raises"),
        (bleu_plain_mean, "arithmetic"),
        (bleu_up_to_two, "only-pairs"),
    ],
    "cached_attention": [
        (cached_alone, "forgets-the-past"),
        (cached_same_past, "does-not-keep"),
        (cached_new_first, "at-the-front"),
        (cached_query_as_key, "queries-kept"),
        (cached_no_output, "no-output-projection"),
        (cached_wrong_axis, "raises"),
        (cached_three, None),
        (cached_unscaled, None),
        (cached_with(the_past_alone), "does-not-see-itself"),
        (cached_with(new_root=True), "root-of-d-model"),
        (cached_with(forgets_values=True), "keys-only"),
        (cached_with(of_values=lambda w_k, w_v: w_k), "values-are-keys"),
    ],
}

RIGHT = {
    "grow": [grow_with_indices, grow_with_heap, grow_by_dicts],
    "bleu_score": [bleu_right, bleu_with_root, bleu_one_pass],
    "cached_attention": [cached_right, cached_fused, cached_by_loop],
}
