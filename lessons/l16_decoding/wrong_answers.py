"""Answers to the exercises of lesson 16, as learners write them: wrong, with what must be said, and right.

After each come the slip that must be named, or a part of the text; None where no slip may be named.
"""

import heapq
import math
from collections import Counter

import torch
import torch.nn.functional as F


def split(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def join(x):
    return x.transpose(1, 2).flatten(2)


def attend(q, k, v):
    return (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v


# ---- grow


def grow_made_order(sums, sentences, states, step, width):
    made, read = [], []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        made += [(total + log_prob, [*sentence, word]) for word, log_prob in log_probs.items()]
        read += [new] * len(log_probs)
    best = sorted(made, key=lambda one: -one[0])[:width]
    return [one[0] for one in best], [one[1] for one in best], read[:width]


def grow_by_last_word(sums, sentences, states, step, width):
    made, read = [], {}
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, read[sentence[-1]] = step(state, sentence[-1])
        made += [(total + log_prob, [*sentence, word]) for word, log_prob in log_probs.items()]
    best = sorted(made, key=lambda one: -one[0])[:width]
    return [one[0] for one in best], [one[1] for one in best], [read[one[1][-2]] for one in best]


def grow_parents_order(sums, sentences, states, step, width):
    read = [step(state, sentence[-1]) for state, sentence in zip(states, sentences, strict=True)]
    made = [
        (total + log_prob, [*sentence, word])
        for total, sentence, (log_probs, _) in zip(sums, sentences, read, strict=True)
        for word, log_prob in log_probs.items()
    ]
    made.sort(key=lambda one: -one[0])
    best = made[:width]
    return [one[0] for one in best], [one[1] for one in best], [state for _, state in read][:width]


def grow_old_states(sums, sentences, states, step, width):
    made = []
    for i in range(len(sums)):
        log_probs, _ = step(states[i], sentences[i][-1])
        for word, log_prob in log_probs.items():
            made.append((sums[i] + log_prob, [*sentences[i], word], states[i]))
    made = sorted(made, key=lambda one: one[0], reverse=True)[:width]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_last_word_only(sums, sentences, states, step, width):
    made = []
    for sentence, state in zip(sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        made += [(log_prob, [*sentence, word], new) for word, log_prob in log_probs.items()]
    made = sorted(made, key=lambda one: one[0], reverse=True)[:width]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_ascending(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        made += [(total + log_prob, [*sentence, word], new) for word, log_prob in log_probs.items()]
    made = sorted(made, key=lambda one: one[0])[:width]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_best_child_each(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        word = max(log_probs, key=log_probs.get)
        made.append((total + log_probs[word], [*sentence, word], new))
    made = sorted(made, key=lambda one: one[0], reverse=True)[:width]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_appends_in_place(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            sentence.append(word)
            made.append((total + log_prob, sentence, new))
    made = sorted(made, key=lambda one: one[0], reverse=True)[:width]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_multiplies(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        made += [(total * log_prob, [*sentence, word], new) for word, log_prob in log_probs.items()]
    made = sorted(made, key=lambda one: one[0], reverse=True)[:width]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_with_places(sums, sentences, states, step, width):
    made, new_states = [], []
    for place, sentence in enumerate(sentences):
        log_probs, new = step(states[place], sentence[-1])
        new_states.append(new)
        made += [(sums[place] + log_prob, place, word) for word, log_prob in log_probs.items()]
    best = sorted(made, key=lambda one: one[0], reverse=True)[:width]
    return (
        [total for total, _, _ in best],
        [[*sentences[place], word] for _, place, word in best],
        [new_states[place] for _, place, _ in best],
    )


def grow_with_heap(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        for word in log_probs:
            made.append((total + log_probs[word], [*sentence, word], new))
    best = heapq.nlargest(width, made, key=lambda one: one[0])
    return [a for a, _, _ in best], [b for _, b, _ in best], [c for _, _, c in best]


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


# ---- the groups that are shared


def matches_all(said, reference, n):
    ours = [said[i : i + n] for i in range(len(said) - n + 1)]
    theirs = [reference[i : i + n] for i in range(len(reference) - n + 1)]
    return sum(1 for group in ours if group in theirs), len(ours)


def matches_counter(said, reference, n):
    ours = Counter(zip(*(said[i:] for i in range(n)), strict=False))
    theirs = Counter(zip(*(reference[i:] for i in range(n)), strict=False))
    return sum(min(count, theirs[group]) for group, count in ours.items()), ours.total()


def matches_crossing_out(said, reference, n):
    left = [reference[i : i + n] for i in range(len(reference) - n + 1)]
    hits = total = 0
    for i in range(len(said) - n + 1):
        total += 1
        if said[i : i + n] in left:
            left.remove(said[i : i + n])
            hits += 1
    return hits, total


def matches_joined(said, reference, n):
    def groups(words):
        return [" ".join(words[i : i + n]) for i in range(max(len(words) - n + 1, 0))]

    ours, theirs = groups(said), groups(reference)
    return sum(min(ours.count(g), theirs.count(g)) for g in dict.fromkeys(ours)), len(ours)


# ---- bleu_score


def precisions(translations, references, count=matches_counter):
    found = []
    for n in range(1, 5):
        pairs = [count(a, b, n) for a, b in zip(translations, references, strict=True)]
        found.append((sum(p[0] for p in pairs), sum(p[1] for p in pairs)))
    return found


def lengths(translations, references):
    return sum(map(len, translations)), sum(map(len, references))


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


def bleu_share(translations, references):
    return bleu_of(precisions(translations, references), *lengths(translations, references)) / 100


def bleu_unclipped(translations, references):
    hits = precisions(translations, references, matches_all)
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
    for said, right in zip(translations, references, strict=True):
        c, r = c + len(said), r + len(right)
        for n in range(4):
            hit, total = matches_joined(said, right, n + 1)
            hits[n] += hit
            totals[n] += total
    if 0 in hits:
        return 0.0
    logs = [math.log(hit) - math.log(total) for hit, total in zip(hits, totals, strict=True)]
    return math.exp(sum(logs) / 4) * (math.exp(1 - r / c) if c < r else 1) * 100


# ---- cached_attention


def cached_alone(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return join(attend(q, k, v)) @ w_o, (torch.cat([past[0], k], 2), torch.cat([past[1], v], 2))


def cached_same_past(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    return join(attend(q, keys, values)) @ w_o, past


def cached_new_first(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = torch.cat([k, past[0]], 2), torch.cat([v, past[1]], 2)
    return join(attend(q, keys, values)) @ w_o, (keys, values)


def cached_query_as_key(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, v = split(x @ w_q, n_heads), split(x @ w_v, n_heads)
    keys, values = torch.cat([past[0], q], 2), torch.cat([past[1], v], 2)
    return join(attend(q, keys, values)) @ w_o, (keys, values)


def cached_no_output(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    return join(attend(q, keys, values)), (keys, values)


def cached_wrong_axis(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
    return join(attend(q, keys, values)) @ w_o, (keys, values)


def cached_three(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    return join(attend(q, keys, values)) @ w_o, keys, values


def cached_unscaled(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    return join((q @ keys.mT).softmax(-1) @ values) @ w_o, (keys, values)


def cached_right(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    return join(attend(q, keys, values)) @ w_o, (keys, values)


def cached_fused(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    keys, values = (torch.cat(pair, 2) for pair in zip(past, (k, v), strict=True))
    context = F.scaled_dot_product_attention(q, keys, values)
    return F.linear(join(context), w_o.T), (keys, values)


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


WRONG = {
    "grow": [
        (grow_made_order, "what the first version did"),
        (grow_parents_order, None),
        (grow_by_last_word, None),
        (grow_old_states, "state-before-reading"),
        (grow_last_word_only, "only-the-last-word"),
        (grow_ascending, "worst-first"),
        (grow_best_child_each, "one-from-each"),
        (grow_appends_in_place, "in-place"),
        (grow_multiplies, None),
    ],
    "bleu_score": [
        (bleu_per_sentence, "mean-of-sentences"),
        (bleu_no_penalty, "no-brevity"),
        (bleu_bonus, "rewards-length"),
        (bleu_ratio, "plain-ratio"),
        (bleu_share, "as-a-share"),
        (bleu_unclipped, "not-clipped"),
        (bleu_no_root, None),
        (bleu_log_of_zero, "raises"),
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
    ],
}

RIGHT = {
    "grow": [grow_with_places, grow_with_heap, grow_by_dicts],
    "bleu_score": [bleu_right, bleu_with_root, bleu_one_pass],
    "cached_attention": [cached_right, cached_fused, cached_by_loop],
}
