"""Byte-pair encoding in plain Python, one merge at a time: what `bpe.py` has a library do fast.

    >>> counts = count_pairs({("▁", "l", "o", "w"): 2, ("▁", "l", "o", "w", "e", "r"): 1})
    >>> counts["l", "o"]
    3
    >>> merge(("▁", "l", "o", "w"), ("l", "o"))
    ('▁', 'lo', 'w')
    >>> apply_merges("▁lowest", [("l", "o"), ("▁", "lo"), ("▁lo", "w")])
    ['▁low', 'e', 's', 't']

Start with letters. Count the neighbours, glue the most frequent pair together everywhere, and again: lesson
15 learns its merges so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

Neighbours = tuple[str, str]
Split = tuple[str, ...]


def count_pairs(words: dict[Split, int]) -> dict[Neighbours, int]:
    """How often each two tokens stand side by side within a word.

    >>> count_pairs({("l", "o", "w"): 2, ("l", "o"): 1})
    {('l', 'o'): 3, ('o', 'w'): 2}
    """
    counts: Counter[Neighbours] = Counter()
    for word, times in words.items():
        for pair in pairwise(word):
            counts[pair] += times
    return dict(counts)


def merge(word: Split, pair: Neighbours) -> Split:
    """Glue the pair together wherever it stands, from left to right.

    >>> merge(("a", "a", "a", "b"), ("a", "a"))
    ('aa', 'a', 'b')
    """
    merged: list[str] = []
    place = 0
    while place < len(word):
        if word[place : place + 2] == pair:
            merged.append("".join(pair))
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return tuple(merged)


def apply_merges(piece: str, merges: Iterable[Neighbours]) -> list[str]:
    """Cut a word, met or not, with merges learned before: the same merges in the same order.

    >>> apply_merges("▁low", [("l", "o"), ("▁", "lo")])
    ['▁lo', 'w']
    """
    word: Split = tuple(piece)
    for pair in merges:
        word = merge(word, pair)
    return list(word)
