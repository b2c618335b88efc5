"""An n-gram model with interpolated modified Kneser-Ney smoothing, a strong and widely used baseline.

    Reinhard Kneser, Hermann Ney 1995       Improved Backing-off for M-gram Language Modeling
    Stanley Chen, Joshua Goodman 1999       An Empirical Study of Smoothing Techniques for Language Modeling

    p(w | past) = (count(past, w) - discount) / count(past) + freed · p(w | shorter past)

A discount between 0 and 3 is subtracted from every count, and the probability that this frees goes to the
next shorter past. There, a word isn't counted each time it occurs, but once for every different word before
it: "Francisco" may be frequent, but it follows hardly any word except "San".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from course_lib.models.ngram import Past, count_ngrams
from course_lib.text.special import BOS, EOS


class KneserNey:
    """Sentences are lists of token ids without BOS and EOS; a past has its nearest word first."""

    def __init__(self, sentences: Iterable[Sequence[int]], *, order: int, vocab_size: int):
        self.order, self.vocab_size = order, vocab_size
        raw = count_ngrams(sentences, order=order)
        self.counts: dict[Past, Counter[int]] = {}
        for past, after in raw.items():
            if len(past) == order - 1 or past[-1:] == (BOS,):  # nothing precedes the start of a sentence
                self.counts[past] = after
            if past and past[-2:-1] != (BOS,):
                self.counts.setdefault(past[:-1], Counter()).update(after.keys())
        self.discounts = [discounts_of(self.counts, length) for length in range(order)]
        self.totals = {past: after.total() for past, after in self.counts.items()}
        self.freed = {
            past: sum(self.discounts[len(past)][min(count, 3)] for count in after.values())
            for past, after in self.counts.items()
        }

    def probability(self, past: Past, word: int) -> float:
        shorter = self.probability(past[:-1], word) if past else 1 / self.vocab_size
        if past not in self.counts:
            return shorter
        count = self.counts[past][word]
        kept = count - self.discounts[len(past)][min(count, 3)]
        return (kept + self.freed[past] * shorter) / self.totals[past]

    def losses(self, sentence: Sequence[int]) -> list[float]:
        """The loss of every word of a sentence and of its end."""
        tokens = [BOS, *sentence, EOS]
        pasts = (tuple(tokens[max(0, i - self.order + 1) : i][::-1]) for i in range(1, len(tokens)))
        return [-math.log(self.probability(past, word)) for past, word in zip(pasts, tokens[1:], strict=True)]

    def perplexity(self, sentences: Iterable[Sequence[int]]) -> float:
        return math.exp(fmean(loss for sentence in sentences for loss in self.losses(sentence)))


def discounts_of(counts: dict[Past, Counter[int]], length: int) -> tuple[float, float, float, float]:
    """What is subtracted from counts of 0, 1, 2, and 3 or more after pasts of this length."""
    sizes = Counter(
        count for past, after in counts.items() if len(past) == length for count in after.values()
    )
    if not all(sizes[size] for size in (1, 2, 3, 4)):  # a small text
        return 0.0, 0.5, 0.5, 0.5
    ratio = sizes[1] / (sizes[1] + 2 * sizes[2])
    estimates = (size - (size + 1) * ratio * sizes[size + 1] / sizes[size] for size in (1, 2, 3))
    return 0.0, *(max(0.0, estimate) for estimate in estimates)
