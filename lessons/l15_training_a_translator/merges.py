"""Byte-pair encoding in plain Python, one merge at a time: what `bpe.py` has a library do fast.

    >>> counts = count_pairs({("▁", "l", "o", "w"): 2, ("▁", "l", "o", "w", "e", "r"): 1})
    >>> counts["l", "o"]
    3
    >>> merge(("▁", "l", "o", "w"), ("l", "o"))
    ('▁', 'lo', 'w')
    >>> apply_merges("▁lowest", [("l", "o"), ("▁", "lo"), ("▁lo", "w")])
    ['▁low', 'e', 's', 't']

Lesson 15 learns its merges this way: it starts with letters, counts the pairs of neighbours, merges the most
frequent pair everywhere, and repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

Neighbours = tuple[str, str]
Split = tuple[str, ...]


def count_pairs(words: dict[Split, int]) -> dict[Neighbours, int]:
    """How often each pair of neighbouring tokens occurs within words.

    >>> count_pairs({("l", "o", "w"): 2, ("l", "o"): 1})
    {('l', 'o'): 3, ('o', 'w'): 2}
    """
    counts: Counter[Neighbours] = Counter()
    for word, times in words.items():
        for pair in pairwise(word):
            counts[pair] += times
    return dict(counts)


def merge(word: Split, pair: Neighbours) -> Split:
    """Merge the pair wherever it occurs, from left to right.

    >>> merge(("a", "a", "a", "b"), ("a", "a"))
    ('aa', 'a', 'b')
    """
    merged: list[str] = []
    index = 0
    while index < len(word):
        if word[index : index + 2] == pair:
            merged.append("".join(pair))
            index += 2
        else:
            merged.append(word[index])
            index += 1
    return tuple(merged)


def apply_merges(piece: str, merges: Iterable[Neighbours]) -> list[str]:
    """Split a word, seen in training or not, by the merges in the order in which they were learned.

    >>> apply_merges("▁low", [("l", "o"), ("▁", "lo")])
    ['▁lo', 'w']
    """
    word: Split = tuple(piece)
    for pair in merges:
        word = merge(word, pair)
    return list(word)
