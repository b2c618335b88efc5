"""Answers to the exercises of lesson 16, as learners write them: wrong ones and right ones.

After each wrong one: the slip that must be named; None if no slip may be named.
"""

import heapq
import math
import random
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F

from course_lib.layers.multi_head import join_heads, split_heads
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


def grow_with(change=lambda total, sentence, state: (total, sentence, state), reverse=True, keep=None):
    """A step of a beam in which each continuation is changed, or that keeps another number of them."""

    def grow(sums, sentences, states, step, width):
        made = [change(*child) for child in children(sums, sentences, states, step)]
        return best(made, keep(sums, width) if keep else width, reverse)

    return grow


def grow_best_last(sums, sentences, states, step, width):
    made = sorted(children(sums, sentences, states, step), key=lambda child: child[0])[-width:]
    return tuple(list(part) for part in zip(*made, strict=True))


def grow_in_probabilities(sums, sentences, states, step, width):
    totals, kept, states = grow_with_heap(sums, sentences, states, step, width)
    return [math.e**total for total in totals], kept, states


def grow_some_of_each(sums, sentences, states, step, width):
    made = []
    for one in zip(sums, sentences, states, strict=True):
        made += sorted(children(*([part] for part in one), step), key=lambda child: -child[0])[:width]
    return best(made, None)


def grow_by_next_word(sums, sentences, states, step, width):
    best_of = {}
    for child in children(sums, sentences, states, step):
        word = child[1][-1]
        if word not in best_of or child[0] > best_of[word][0]:
            best_of[word] = child
    return best(list(best_of.values()), width)


def grow_reads_ahead(sums, sentences, states, step, width):
    totals, kept, states = grow_with_heap(sums, sentences, states, step, width)
    ahead = [step(state, sentence[-1])[1] for state, sentence in zip(states, kept, strict=True)]
    return totals, kept, ahead


def grow_subtracts(sums, sentences, states, step, width):
    made = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new = step(state, sentence[-1])
        made += [(total - log_prob, [*sentence, word], new) for word, log_prob in log_probs.items()]
    return best(made, width)


def grow_sorts_states(sums, sentences, states, step, width):
    made = [(total, state, words) for total, words, state in children(sums, sentences, states, step)]
    kept = sorted(made, reverse=True)[:width]
    return [a for a, _, _ in kept], [c for _, _, c in kept], [b for _, b, _ in kept]


def grow_candidates(sums, sentences, states, step, width):
    return sorted(children(sums, sentences, states, step), key=lambda child: -child[0])[:width]


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


def bleu_logs_of_some(translations, references):
    logs = []
    for hit, total in precisions(translations, references):
        if total > 0:
            logs.append(math.log(hit / total))
    c, r = lengths(translations, references)
    return 100 * math.exp(sum(logs) / 4) * (min(1, math.exp(1 - r / c)) if c else 0)


def bleu_with(orders=(1, 2, 3, 4), mean=None, penalty=None, count=matches):
    """BLEU with other n-grams, another mean or another penalty."""

    def bleu(translations, references):
        hits = [counts_of(translations, references, n, count) for n in orders]
        if any(hit == 0 for hit, _ in hits):
            return 0.0
        c, r = lengths(translations, references)
        found = [hit / total for hit, total in hits]
        average = mean(found) if mean else math.exp(sum(map(math.log, found)) / len(found))
        return 100 * average * (penalty(c, r) if penalty else min(1, math.exp(1 - r / c)))

    return bleu


def bleu_penalty_each(translations, references):
    pairs = zip(translations, references, strict=True)
    each = [min(1, math.exp(1 - len(b) / len(a))) if a else 0.0 for a, b in pairs]
    return bleu_no_penalty(translations, references) * sum(each) / len(each)


def bleu_of_mean_precisions(translations, references):
    product = 1.0
    for n in range(1, 5):
        pairs = zip(translations, references, strict=True)
        found = [matches_joined(output, right, n) for output, right in pairs]
        product *= sum(hit / total if total else 0.0 for hit, total in found) / len(found)
    c, r = lengths(translations, references)
    return 100 * product**0.25 * min(1, math.exp(1 - r / c)) if product else 0.0


def bleu_one_text(translations, references):
    texts = [[word for sentence in part for word in sentence] for part in (translations, references)]
    return bleu_right([texts[0]], [texts[1]])


def bleu_of_counters(translations, references):
    hits = []
    for n in range(1, 5):
        ours, theirs = Counter(), Counter()
        for counter, sentences in ((ours, translations), (theirs, references)):
            for words in sentences:
                counter.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
        hits.append(((ours & theirs).total(), ours.total()))
    return bleu_of(hits, *lengths(translations, references))


def bleu_of_long_ones(translations, references):
    long = [i for i, words in enumerate(translations) if len(words) > 3]
    return bleu_right([translations[i] for i in long], [references[i] for i in long])


def bleu_add_one(translations, references):
    (hit, total), *more = precisions(translations, references)
    hits = [(hit, total), *((hit + 1, total + 1) for hit, total in more)]
    return bleu_of(hits, *lengths(translations, references))


def bleu_skips_zeros(translations, references):
    logs = 0.0
    for hit, total in precisions(translations, references):
        if hit:
            logs += math.log(hit / total) / 4
    c, r = lengths(translations, references)
    return 100 * math.exp(logs + min(0, 1 - r / c))


def matches_of_sets(output, reference, n):
    ours, theirs = ({tuple(w[i : i + n]) for i in range(len(w) - n + 1)} for w in (output, reference))
    return len(ours & theirs), len(ours)


def bleu_divides_first(translations, references):
    logs = []
    for hit, total in precisions(translations, references):
        precision = hit / total
        if precision == 0:
            return 0.0
        logs.append(math.log(precision))
    c, r = lengths(translations, references)
    return 100 * min(1, math.exp(1 - r / c)) * math.exp(sum(logs) / 4)


def bleu_three_logs_over_four(translations, references):
    logs = []
    for n in range(1, 4):
        hits, total = counts_of(translations, references, n)
        if hits == 0:
            return 0.0
        logs.append(math.log(hits / total))
    c, r = lengths(translations, references)
    return 100 * math.exp(sum(logs) / 4) * min(1, math.exp(1 - r / c))


def bleu_overwritten(translations, references):
    logs = []
    for n in range(1, 5):
        for output, reference in zip(translations, references, strict=True):
            hits, total = matches(output, reference, n)
        if hits == 0:
            return 0.0
        logs.append(math.log(hits / total))
    c, r = lengths(translations, references)
    return 100 * math.exp(sum(logs) / 4) * min(1, math.exp(1 - r / c))


def bleu_zero_in_the_inner_loop(translations, references):
    logs = []
    for n in range(1, 5):
        hits = total = 0
        for output, reference in zip(translations, references, strict=True):
            found, of = matches(output, reference, n)
            if found == 0:
                return 0.0
            hits, total = hits + found, total + of
        logs.append(math.log(hits / total))
    c, r = lengths(translations, references)
    return 100 * math.exp(sum(logs) / 4) * min(1, math.exp(1 - r / c))


def bleu_with_log10(translations, references):
    counts = [counts_of(translations, references, n) for n in (1, 2, 3, 4)]
    if any(hits == 0 for hits, _ in counts):
        return 0.0
    c, r = lengths(translations, references)
    logs = [math.log10(hits / total) for hits, total in counts]
    return 100 * math.exp(sum(logs) / 4 + min(0, 1 - r / c))


def bleu_all_over_four(translations, references):
    counts = [counts_of(translations, references, n) for n in (1, 2, 3, 4)]
    if any(hits == 0 for hits, _ in counts):
        return 0.0
    c, r = lengths(translations, references)
    return 100 * math.exp((sum(math.log(hits / total) for hits, total in counts) + min(0, 1 - r / c)) / 4)


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


def boot_separately(one, other, score=torch.mean, n_samples=1000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    differences = []
    for _ in range(n_samples):
        a = one[torch.randint(len(one), (len(one),), generator=generator)]
        b = other[torch.randint(len(other), (len(other),), generator=generator)]
        differences.append(score(a) - score(b))
    return tuple(torch.tensor(differences).quantile(torch.tensor([0.025, 0.975])).tolist())


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


def boot_size(one, other, score=torch.mean, n_samples=1000, seed=0):
    torch.manual_seed(seed)
    rows = [torch.randint(len(one), (n_samples,)) for _ in range(len(one))]
    differences = torch.stack([score(one[r]) - score(other[r]) for r in rows])
    return differences.quantile(0.025).item(), differences.quantile(0.975).item()


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


def boot_quantiles_apart(one, other, score=torch.mean, n_samples=1000, seed=0):
    torch.manual_seed(seed)
    rows = [torch.randint(len(one), (len(one),)) for _ in range(n_samples)]
    both = [torch.stack([score(system[r]) for r in rows]) for system in (one, other)]
    low, high = (both[0].quantile(q) - both[1].quantile(q) for q in (0.025, 0.975))
    return low.item(), high.item()


def boot_difference_only(one, other, score=torch.mean, n_samples=1000, seed=0):
    return (score(one) - score(other)).item()


def boot_excess(one, other, score=torch.mean, n_samples=1000, seed=0):
    low, high = boot_right(one, other, score, n_samples, seed)
    difference = float(score(one) - score(other))
    return low - difference, high - difference


def boot_not_last(one, other, score=torch.mean, n_samples=1000, seed=0):
    return boot_with(lambda n, generator: torch.randint(n - 1, (n,), generator=generator))(
        one, other, score, n_samples, seed
    )


def boot_half(one, other, score=torch.mean, n_samples=1000, seed=0):
    return boot_with(lambda n, generator: torch.randint(n, (max(1, n // 2),), generator=generator))(
        one, other, score, n_samples, seed
    )


def boot_score_of_differences(one, other, score=torch.mean, n_samples=1000, seed=0):
    generator, n, found = torch.Generator().manual_seed(seed), len(one), []
    for _ in range(n_samples):
        rows = torch.randint(n, (n,), generator=generator)
        found.append(float(score(one[rows] - other[rows])))
    found = torch.tensor(found)
    return found.quantile(0.025).item(), found.quantile(0.975).item()


def boot_fixed_rounds(one, other, score=torch.mean, n_samples=1000, seed=0):
    return boot_right(one, other, score, 1000, seed)


def boot_not_sorted(one, other, score=torch.mean, n_samples=1000, seed=0):
    generator, n, found = torch.Generator().manual_seed(seed), len(one), []
    for _ in range(n_samples):
        rows = torch.randint(n, (n,), generator=generator)
        found.append(float(score(one[rows]) - score(other[rows])))
    return found[int(0.025 * n_samples)], found[int(0.975 * n_samples)]


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


def cached_alone(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    return join_heads(attend(q, k, v)) @ w_o.T, appended(past, k, v)


def cached_same_past(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)) @ w_o.T, past


def cached_new_first(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended((k, v), *past)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_query_as_key(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, v = split_all(x, n_heads, w_q, w_v)
    keys, values = appended(past, q, v)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_no_output(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)), (keys, values)


def cached_wrong_axis(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v, dim=1)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_three(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)) @ w_o.T, keys, values


def cached_unscaled(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads((q @ keys.mT).softmax(-1) @ values) @ w_o.T, (keys, values)


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


# ---- a slip each, without the helpers of the exercises


def bleu_plain_mean(translations, references):
    shares = [hit / total if total else 0.0 for hit, total in precisions(translations, references)]
    c, r = lengths(translations, references)
    return 25 * sum(shares) * math.exp(min(0, 1 - r / c)) if c else 0.0


def bleu_up_to_two(translations, references):
    (one, n), (two, m), *_ = precisions(translations, references)
    c, r = lengths(translations, references)
    return 100 * math.sqrt(one / n * two / m) * math.exp(min(0, 1 - r / c)) if one and two else 0.0


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


def project_without_key(x, n_heads, w_q, w_k, w_v):
    q, v = split_all(x, n_heads, w_q, w_v)
    return q, split_heads(x, n_heads=n_heads), v


def project_without_query(x, n_heads, w_q, w_k, w_v):
    return [split_heads(x, n_heads=n_heads), *split_all(x, n_heads, w_k, w_v)]


def project_without_value(x, n_heads, w_q, w_k, w_v):
    return [*split_all(x, n_heads, w_q, w_k), split_heads(x, n_heads=n_heads)]


def cached_value_after_keys(x, past, w_q, w_k, w_v, w_o, n_heads):
    query, key, value = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = torch.cat([past[0], key], dim=2), torch.cat([past[0], value], dim=2)
    return join_heads(attend(query, keys, values)) @ w_o.T, (keys, values)


def project_nothing(x, n_heads, w_q, w_k, w_v):
    return [split_heads(x, n_heads=n_heads)] * 3


def attend_by_heads(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=1) @ v


def attend_by_d_model(q, k, v):
    return (q @ k.mT / (k.shape[1] * k.shape[-1]) ** 0.5).softmax(-1) @ v


def attend_with_tril(q, k, v):
    scores = q @ k.mT / k.shape[-1] ** 0.5
    mask = torch.ones(scores.shape[-2:]).tril() == 0
    return scores.masked_fill(mask, -math.inf).softmax(-1) @ v


def cached_of_keys(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys = torch.cat([past[0], k], 2)
    values = torch.cat([torch.zeros_like(past[1]), v], 2)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_by_linear(x, past, w_q, w_k, w_v, w_o, n_heads):
    return cached_right(x, past, w_q.mT, w_k.mT, w_v.mT, w_o.mT, n_heads)


def cached_and_weights(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    weights = torch.softmax(q @ keys.mT / keys.shape[-1] ** 0.5, dim=-1)
    return join_heads(weights @ values) @ w_o.T, weights, (keys, values)


def cached_projected_again(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    old_keys, old_values = (join_heads(part) for part in past)
    old_keys, old_values = (split_all(old_keys, n_heads, w_k)[0], split_all(old_values, n_heads, w_v)[0])
    keys, values = appended((old_keys, old_values), k, v)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_output_as_it_is(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)) @ w_o, (keys, values)


def cached_inputs_as_they_are(x, past, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ matrix, n_heads=n_heads) for matrix in (w_q, w_k, w_v))
    keys, values = appended(past, k, v)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


def cached_past_swapped(x, past, w_q, w_k, w_v, w_o, n_heads):
    values, keys = past
    q, k, v = split_all(x, n_heads, w_q, w_k, w_v)
    keys, values = appended((keys, values), k, v)
    return join_heads(attend(q, keys, values)) @ w_o.T, (keys, values)


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
        (grow_last_word_only, "only-the-last-word"),
        (grow_multiplies, "multiplied"),
        (grow_subtracts, "subtracted"),
        (grow_in_probabilities, "as-probabilities"),
        (grow_ascending, "worst-first"),
        (grow_best_last, "best-last"),
        (grow_best_child_each, "one-from-each"),
        (grow_some_of_each, "best-of-each"),
        (grow_with(keep=lambda sums, width: None), "keeps-all"),
        (grow_with(keep=lambda sums, width: len(sums)), "as-many-as-before"),
        (grow_by_next_word, "one-for-each-word"),
        (grow_with(lambda total, words, state: (total, words[:-1], state)), "word-not-appended"),
        (grow_with(lambda total, words, state: (total, words[-1:], state)), "only-the-new-word"),
        (grow_with(lambda total, words, state: (total, [words[-1], *words[:-1]], state)), "prepended"),
        (grow_candidates, "as-candidates"),
        (grow_by_mean, None),
        (grow_old_states, "state-before-reading"),
        (grow_reads_ahead, "state-ahead"),
        (grow_parents_order, "states-of-parents"),
        (grow_by_last_word, "states-by-last-word"),
        (grow_appends_in_place, "in-place"),
        (grow_sorts_states, "raises"),
        (grow_counts_on_enough, "raises"),
    ],
    "bleu_score": [
        (bleu_per_sentence, "mean-of-sentences"),
        (bleu_of_mean_precisions, "precisions-of-sentences"),
        (bleu_no_penalty, "no-brevity"),
        (bleu_with(mean=lambda found: sum(found) / 4), "arithmetic"),
        (bleu_plain_mean, "arithmetic-without-zero"),
        (bleu_no_root, "no-root"),
        (bleu_bonus, "rewards-length"),
        (bleu_with(penalty=lambda c, r: 1 if c <= r else math.exp(1 - r / c)), "penalty-on-the-wrong-side"),
        (bleu_with(penalty=lambda c, r: min(1, math.exp(1 - c / r))), "penalty-inverted"),
        (bleu_ratio, "plain-ratio"),
        (bleu_penalty_each, "penalty-of-sentences"),
        (bleu_up_to_two, "only-pairs"),
        (bleu_with(range(1, 4)), "up-to-three"),
        (bleu_with(count=lambda output, reference, n: matches(reference, output, n)), "recall"),
        (bleu_one_text, "over-sentence-ends"),
        (bleu_of_counters, "matched-anywhere"),
        (bleu_of_long_ones, "short-ones-left-out"),
        (bleu_add_one, "smoothed"),
        (bleu_skips_zeros, "zeros-left-out"),
        (bleu_fraction, "as-a-fraction"),
        (bleu_unclipped, "not-clipped"),
        (bleu_with(count=matches_of_sets), "unique"),
        (bleu_log_of_zero, "raises"),
        (bleu_logs_of_some, "log-of-zero"),
        (bleu_divides_first, "divides-by-zero"),
        (bleu_with(orders=range(1, 6)), "up-to-five"),
        (bleu_with(penalty=lambda c, r: min(1, 1 - r / c)), "penalty-without-exp"),
        (bleu_with(orders=range(4)), "from-zero"),
        (bleu_three_logs_over_four, "up-to-three-of-four"),
        (bleu_overwritten, "last-sentence-only"),
        (bleu_zero_in_the_inner_loop, "zero-for-one-sentence"),
        (bleu_with_log10, "decimal-logarithms"),
        (bleu_all_over_four, "penalty-under-the-root"),
        (lambda *inputs: round(bleu_right(*inputs), 1), "rounded"),
    ],
    "paired_bootstrap": [
        (boot_separately, "drawn-separately"),
        (boot_with(lambda n, generator: torch.randperm(n, generator=generator)), "no-replacement"),
        (boot_size, "wrong-size"),
        (boot_with(ends=lambda found: (found[len(found) // 20], found[-len(found) // 20])), "ninety-percent"),
        (
            boot_with(ends=lambda found: (found[len(found) // 200], found[-len(found) // 200])),
            "ninety-nine-percent",
        ),
        (boot_with(ends=lambda found: (found[len(found) // 4], found[-len(found) // 4])), "quartiles"),
        (boot_with(ends=lambda found: (found[len(found) // 40], found[-len(found) // 20])), "uneven"),
        (boot_with(ends=lambda found: (np.mean(found), np.std(found))), "mean-and-deviation"),
        (boot_with(ends=lambda found: (found[len(found) // 20], found[-1])), "one-sided"),
        (boot_with(ends=lambda found: (found[0], found[-len(found) // 20])), "upper-end-only"),
        (boot_with(ends=lambda found: (found[0], found[-1])), "whole-range"),
        (boot_with(difference=lambda one, other, rows, score: score(one[rows])), "one-system"),
        (
            boot_with(difference=lambda one, other, rows, score: score(other[rows]) - score(one[rows])),
            "other-minus-one",
        ),
        (lambda one, other, score, n, seed: boot_right(one, other, score, n, seed)[::-1], "ends-swapped"),
        (
            boot_with(difference=lambda one, other, rows, score: (one[rows] - other[rows]).mean()),
            "score-ignored",
        ),
        (boot_quantiles_apart, "quantiles-first"),
        (
            boot_with(
                ends=lambda found: (np.mean(found) - 2 * np.std(found), np.mean(found) + 2 * np.std(found))
            ),
            "normal",
        ),
        (
            boot_with(ends=lambda found: tuple(np.mean(found) + s * np.std(found) / 50 for s in (-1.6, 1.6))),
            "standard-error",
        ),
        (boot_one_sample, "has no width"),
        (boot_seed_in_loop, "has no width"),
        (boot_same_seed, "Different seeds"),
        (boot_any_seed, "random"),
        (boot_difference_only, "wrong-type"),
        (
            boot_with(difference=lambda one, other, rows, score: abs(score(one[rows]) - score(other[rows]))),
            "absolute",
        ),
        (boot_score_of_differences, "score-of-differences"),
        (boot_fixed_rounds, "as wide as with"),
        (boot_not_sorted, "not-sorted"),
        (boot_excess, None),
        (boot_half, None),
        (boot_not_last, "never-the-last"),
    ],
    "cached_attention": [
        (cached_alone, "forgets-the-past"),
        (cached_with(seen=lambda past, new, both: past), "does-not-see-itself"),
        (cached_same_past, "does-not-keep"),
        (cached_with(kept=lambda past, new, both: (new[0], new[1])), "keeps-only-the-new"),
        (cached_new_first, "at-the-front"),
        (cached_with(kept=lambda past, new, both: (both[1], both[0])), "pair-swapped"),
        (cached_with(lambda q, k, v: attend(q, v, k)), "keys-values-swapped"),
        (cached_past_swapped, "past-swapped"),
        (cached_of_keys, "keys-only"),
        (cached_query_as_key, "queries-kept"),
        (cached_with(project=lambda x, h, w_q, w_k, w_v: split_all(x, h, w_q, w_k, w_k)), "values-are-keys"),
        (cached_with(project=project_without_key), "keys-not-projected"),
        (cached_with(project=project_nothing), "nothing-projected"),
        (cached_with(project=project_without_query), "query-not-projected"),
        (cached_with(project=project_without_value), "value-not-projected"),
        (cached_value_after_keys, "value-after-keys"),
        (cached_by_linear, "all-transposed"),
        (cached_no_output, "no-output-projection"),
        (cached_with(attend_with_tril), "causal-mask"),
        (cached_with(attend_by_heads), "over-the-heads"),
        (cached_unscaled, "not-scaled"),
        (cached_with(lambda q, k, v: attend(q / k.shape[-1] ** 0.5, k, v)), "scaled-twice"),
        (cached_with(attend_by_d_model), "root-of-d-model"),
        (cached_in_place, "in-place"),
        (cached_wrong_axis, "raises"),
        (cached_window, None),
        (cached_three, "three-outputs"),
        (lambda *inputs: cached_right(*inputs)[0], "output-only"),
        (cached_and_weights, "weights-too"),
        (lambda x, *rest: (cached_right(x, *rest)[0] + x, cached_right(x, *rest)[1]), "residual"),
        (cached_projected_again, "projects-again"),
        (cached_output_as_it_is, "output-not-transposed"),
        (cached_inputs_as_they_are, "inputs-not-transposed"),
        (cached_with(kept=lambda past, new, both: (both[0], past[1])), "one-new-tensor"),
    ],
}

RIGHT = {
    "grow": [grow_with_indices, grow_with_heap, grow_by_dicts, grow_reversed],
    "bleu_score": [bleu_right, bleu_with_root, bleu_one_pass],
    "paired_bootstrap": [boot_right, boot_numpy, boot_at_once, boot_python, boot_cut],
    "cached_attention": [cached_right, cached_fused, cached_by_loop, cached_no_grad],
}
