"""The solutions of lesson 16: its notebook shows them, and the checks compare answers with them."""

import math

import torch

from course_lib.translation.corpus_bleu import clipped_matches
from lessons.l08_query_key_value.solutions import scaled_attention
from lessons.l12_many_heads.solutions import join_heads, split_heads


def bleu_score(translations, references):
    """translations, references: lists of lists of words  ->  a number from 0 to 100"""
    # solution
    pairs, logs = list(zip(translations, references, strict=True)), []
    for n in (1, 2, 3, 4):
        counts = [clipped_matches(output, reference, n) for output, reference in pairs]
        matches, total = sum(m for m, _ in counts), sum(t for _, t in counts)
        if matches == 0:
            return 0.0
        logs.append(math.log(matches / total))
    c, r = sum(map(len, translations)), sum(map(len, references))
    return 100 * math.exp(sum(logs) / 4 + min(0.0, 1 - r / c))
    # end solution


def paired_bootstrap(one, other, score=torch.mean, n_samples=1000, seed=0):
    """one, other: (sentences, ...); score: a tensor of rows -> a number

    ->  low, high: the central 95% of the differences score(one) - score(other)
    """
    # solution
    generator = torch.Generator().manual_seed(seed)
    n, differences = len(one), []
    for _ in range(n_samples):
        rows = torch.randint(n, (n,), generator=generator)
        differences.append(float(score(one[rows]) - score(other[rows])))
    differences = torch.tensor(differences)
    return differences.quantile(0.025).item(), differences.quantile(0.975).item()
    # end solution


def cached_attention(x, past, w_q, w_k, w_v, w_o, n_heads):
    """x (batch, 1, d_model); past: keys, values, each (batch, n_heads, t, d_k);
    w_q, w_k, w_v, w_o (d_model, d_model)

    ->  output (batch, 1, d_model), (keys, values), each (batch, n_heads, t + 1, d_k)
    """
    # solution
    query, key, value = (split_heads(x @ w.T, n_heads) for w in (w_q, w_k, w_v))
    keys = torch.cat([past[0], key], dim=2)
    values = torch.cat([past[1], value], dim=2)
    context, _ = scaled_attention(query, keys, values)
    return join_heads(context) @ w_o.T, (keys, values)
    # end solution


def grow(sums, sentences, states, step, width):
    """sums, sentences (lists of words), states: one of each for a hypothesis.

    step(state, word)  ->  {next word: log-probability}, new state
    ->  three lists: sums, sentences, states of the best `width`, best first
    """
    # solution
    candidates = []
    for total, sentence, state in zip(sums, sentences, states, strict=True):
        log_probs, new_state = step(state, sentence[-1])
        for word, log_prob in log_probs.items():
            candidates.append((total + log_prob, [*sentence, word], new_state))
    candidates.sort(key=lambda candidate: candidate[0], reverse=True)
    best = candidates[:width]
    return tuple([candidate[i] for candidate in best] for i in range(3))
    # end solution
