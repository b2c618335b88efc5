"""Answers to the exercises of lesson 16, as learners write them: wrong ones and right ones.

After each wrong one: the slip that must be named; None if no slip may be named.
"""

import heapq
import math
import random

import numpy as np
import torch
import torch.nn.functional as F

from course_lib.layers.multi_head import join_heads, split_heads
from course_lib.translation.corpus_bleu import clipped_matches

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


def grow_appends_in_place(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            sentence.append(word)
            made.append((total + log_prob, sentence, new))
    return best(made, width)


def grow_sorts_states(sums, sentences, states, step, width):
    made = [(total, state, words) for total, words, state in children(sums, sentences, states, step)]
    kept = sorted(made, reverse=True)[:width]
    return [a for a, _, _ in kept], [c for _, _, c in kept], [b for _, b, _ in kept]


def grow_by_mean(sums, sentences, states, step, width):
    made = children(sums, sentences, states, step)
    made = sorted(made, key=lambda child: -child[0] / len(child[1]))[:width]
    return [a for a, _, _ in made], [b for _, b, _ in made], [c for _, _, c in made]


def grow_counts_on_enough(sums, sentences, states, step, width):
    made = sorted(children(sums, sentences, states, step), key=lambda child: -child[0])
    made = [made[i] for i in range(width)]
    return [a for a, _, _ in made], [b for _, b, _ in made], [c for _, _, c in made]


def grow_reversed(sums, sentences, states, step, width):
    made = sorted(children(sums, sentences, states, step), key=lambda child: child[:2])[::-1][:width]
    return [a for a, _, _ in made], [b for _, b, _ in made], [c for _, _, c in made]


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


def precisions(translations, references, count=clipped_matches):
    """Matches and n-grams of the whole corpus, for n = 1 to 4."""
    pairs = list(zip(translations, references, strict=True))
    return [
        tuple(map(sum, zip(*(count(output, right, n) for output, right in pairs), strict=True)))
        for n in range(1, 5)
    ]


def lengths(translations, references):
    return sum(map(len, translations)), sum(map(len, references))


def bleu_of(hits, c, r):
    if min(hit for hit, _ in hits) == 0:
        return 0.0
    mean = sum(math.log(hit / total) for hit, total in hits) / 4
    return 100 * math.exp(mean + min(0, 1 - r / c))


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


# ---- paired_bootstrap


def boot_with(rows_of=None, ends=None, difference=None):
    """The paired bootstrap with other samples, another interval or another difference."""
    rows_of = rows_of or (lambda n, generator: torch.randint(n, (n,), generator=generator))
    difference = difference or (lambda one, other, rows, score: score(one[rows]) - score(other[rows]))
    ends = ends or (lambda found: (found[int(0.025 * len(found))], found[int(0.975 * len(found))]))

    def paired(one, other, score=torch.mean, n_samples=1000, seed=0):
        generator = torch.Generator().manual_seed(seed)
        found = [float(difference(one, other, rows_of(len(one), generator), score)) for _ in range(n_samples)]
        return ends(sorted(found))

    return paired


def boot_one_sample(one, other, score=torch.mean, n_samples=1000, seed=0):
    torch.manual_seed(seed)
    rows = torch.randint(len(one), (len(one),))
    differences = torch.stack([score(one[rows]) - score(other[rows]) for _ in range(n_samples)])
    return differences.quantile(0.025).item(), differences.quantile(0.975).item()


def boot_seed_in_loop(one, other, score=torch.mean, n_samples=1000, seed=0):
    differences = []
    for _ in range(n_samples):
        generator = torch.Generator().manual_seed(seed)
        rows = torch.randint(len(one), (len(one),), generator=generator)
        differences.append(score(one[rows]) - score(other[rows]))
    return tuple(torch.stack(differences).quantile(torch.tensor([0.025, 0.975])).tolist())


def boot_same_seed(one, other, score=torch.mean, n_samples=1000, seed=0):
    return boot_right(one, other, score, n_samples, 0)


def boot_any_seed(one, other, score=torch.mean, n_samples=1000, seed=0):
    rows = [torch.randint(len(one), (len(one),)) for _ in range(n_samples)]
    differences = torch.stack([score(one[r]) - score(other[r]) for r in rows])
    return differences.quantile(0.025).item(), differences.quantile(0.975).item()


def boot_difference_only(one, other, score=torch.mean, n_samples=1000, seed=0):
    return (score(one) - score(other)).item()


def boot_excess(one, other, score=torch.mean, n_samples=1000, seed=0):
    low, high = boot_right(one, other, score, n_samples, seed)
    difference = float(score(one) - score(other))
    return low - difference, high - difference


def boot_half(one, other, score=torch.mean, n_samples=1000, seed=0):
    return boot_with(lambda n, generator: torch.randint(n, (max(1, n // 2),), generator=generator))(
        one, other, score, n_samples, seed
    )


def boot_fixed_rounds(one, other, score=torch.mean, n_samples=1000, seed=0):
    return boot_right(one, other, score, 1000, seed)


def boot_cut(one, other, score=torch.mean, n_samples=1000, seed=0):
    """Sorted and cut, as the lesson describes it."""
    generator, n, found = torch.Generator().manual_seed(seed), len(one), []
    while len(found) < n_samples:
        rows = torch.randint(n, (n,), generator=generator)
        found.append(float(score(one[rows])) - float(score(other[rows])))
    found.sort()
    cut = int(0.025 * n_samples)
    found = found[cut : len(found) - cut]
    return found[0], found[-1]


def boot_right(one, other, score=torch.mean, n_samples=1000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    differences = []
    for _ in range(n_samples):
        rows = torch.randint(len(one), (len(one),), generator=generator)
        differences.append(score(one[rows]) - score(other[rows]))
    low, high = torch.stack(differences).quantile(torch.tensor([0.025, 0.975]))
    return low.item(), high.item()


def boot_numpy(one, other, score=torch.mean, n_samples=1000, seed=0):
    draw = np.random.default_rng(seed)
    differences = []
    for _ in range(n_samples):
        rows = torch.as_tensor(draw.choice(len(one), size=len(one), replace=True))
        differences.append(float(score(one[rows])) - float(score(other[rows])))
    return np.percentile(differences, 2.5), np.percentile(differences, 97.5)


def boot_at_once(one, other, score=torch.mean, n_samples=1000, seed=0):
    torch.manual_seed(seed)
    differences = torch.tensor(
        [score(one[rows]) - score(other[rows]) for rows in torch.randint(len(one), (n_samples, len(one)))]
    )
    return differences.quantile(torch.tensor([0.025, 0.975]))


def boot_python(one, other, score=torch.mean, n_samples=1000, seed=0):
    draw = random.Random(seed)
    differences = []
    for _ in range(n_samples):
        rows = draw.choices(range(len(one)), k=len(one))
        differences.append(score(one[rows]).item() - score(other[rows]).item())
    differences.sort()
    cut = round(0.025 * n_samples)
    return [differences[cut], differences[-cut - 1]]


# ---- cached_attention


def attend(q, k, v):
    return (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v


def appended(past, key, value, dim=2):
    return torch.cat([past[0], key], dim), torch.cat([past[1], value], dim)


def split_all(x, n_heads, *matrices):
    """The projections of x by each matrix (out, in), split into heads."""
    return [split_heads(x @ matrix.mT, n_heads=n_heads) for matrix in matrices]


def cached_query_as_key(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, v = split_all(x, n_heads, w_q, w_v)
    keys, values = appended(past, q, v)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_wrong_axis(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v, dim=1)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_right(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v, dim=-2)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_fused(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = (torch.cat(pair, 2) for pair in zip(past, (k, v), strict=True))
    context = F.scaled_dot_product_attention(q, keys, values)
    return F.linear(join_heads(context), w_o), (keys, values)


def cached_by_loop(x, past, w_q, w_k, w_v, w_o, n_heads):
    size = x.shape[-1] // n_heads
    outs, keys, values = [], [], []
    for head in range(n_heads):
        own = slice(head * size, (head + 1) * size)
        k = torch.cat([past[0][:, head], x @ w_k[own].T], dim=1)
        v = torch.cat([past[1][:, head], x @ w_v[own].T], dim=1)
        outs.append(attend(x @ w_q[own].T, k, v))
        keys.append(k)
        values.append(v)
    return torch.cat(outs, -1) @ w_o.T, (torch.stack(keys, 1), torch.stack(values, 1))


def cached_with(
    attention=attend,
    project=lambda x, n_heads, w_q, w_k, w_v: split_all(x, n_heads, w_q, w_k, w_v),
    seen=lambda past, new, both: both,
    kept=lambda past, new, both: both,
):
    """The cached layer with another attention, other projections, other keys and values, or another cache."""

    def cached(x, past, w_q, w_k, w_v, w_o, n_heads):
        q, *new = project(x, n_heads, w_q, w_k, w_v)
        both = appended(past, *new)
        return join_heads(attention(q, *seen(past, new, both))) @ w_o.T, kept(past, new, both)

    return cached


def attend_by_d_model(q, k, v):
    return (q @ k.mT / (k.shape[1] * k.shape[-1]) ** 0.5).softmax(-1) @ v


def cached_window(x, past, *rest):
    output, both = cached_right(x, tuple(part[:, :, -15:] for part in past), *rest)
    return output, both


def cached_no_grad(*inputs):
    with torch.no_grad():
        return cached_right(*inputs)


def cached_in_place(x, past, *rest):
    output, both = cached_right(x, past, *rest)
    for old, new in zip(past, both, strict=True):
        old.data = new
    return output, past


WRONG = {
    "grow": [
        (grow_made_order, "unrepaired"),
        (grow_by_mean, None),
        (grow_appends_in_place, "in-place"),
        (grow_sorts_states, "raises"),
        (grow_counts_on_enough, "raises"),
    ],
    "bleu_score": [
        (bleu_log_of_zero, "raises"),
    ],
    "paired_bootstrap": [
        (boot_one_sample, "has no width"),
        (boot_seed_in_loop, "has no width"),
        (boot_same_seed, "Different seeds"),
        (boot_any_seed, "random"),
        (boot_difference_only, "wrong-type"),
        (boot_fixed_rounds, "as wide as with"),
        (boot_excess, None),
        (boot_half, None),
    ],
    "cached_attention": [
        (cached_query_as_key, "queries-kept"),
        (cached_with(attend_by_d_model), "root-of-d-model"),
        (cached_in_place, "in-place"),
        (cached_wrong_axis, "raises"),
        (cached_window, None),
    ],
}

RIGHT = {
    "grow": [grow_with_indices, grow_with_heap, grow_by_dicts, grow_reversed],
    "bleu_score": [bleu_right, bleu_with_root, bleu_one_pass],
    "paired_bootstrap": [boot_right, boot_numpy, boot_at_once, boot_python, boot_cut],
    "cached_attention": [cached_right, cached_fused, cached_by_loop, cached_no_grad],
}
