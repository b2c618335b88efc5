"""Byte-pair encoding in plain Python, one merge at a time: what `bpe.py` has a library do fast.

    >>> pieces = spaced("low low lower new newer")
    >>> for step in learn_merges(pieces, n_merges=3):
    ...     print(step.pair, step.count, step.words)
    ('l', 'o') 3 {'▁ lo w': 2, '▁ lo w e r': 1, '▁ n e w': 1, '▁ n e w e r': 1}
    ('▁', 'lo') 3 {'▁lo w': 2, '▁lo w e r': 1, '▁ n e w': 1, '▁ n e w e r': 1}
    ('▁lo', 'w') 3 {'▁low': 2, '▁low e r': 1, '▁ n e w': 1, '▁ n e w e r': 1}
    >>> merges = [step.pair for step in learn_merges(pieces, n_merges=3)]
    >>> apply_merges("▁lowest", merges)
    ['▁low', 'e', 's', 't']

Start with letters. Count the neighbours, glue the most frequent pair together everywhere, and again.

Which of two equally frequent pairs? The one whose left token is older, then whose right token is older.
Letters are as old as their place in Unicode, and each merge makes the youngest token so far. Any rule
would do; this is the library's, so that both learn the same merges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

MARKER = "▁"  # stands for the space before a word, U+2581

Neighbours = tuple[str, str]
Split = tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """One merge: what was counted, what was chosen, and what the text looks like now."""

    pair: Neighbours
    count: int
    pair_counts: dict[Neighbours, int]  # before the merge, best pair first
    words: dict[str, int]  # after it, tokens with spaces between, and how often each word is met
    vocabulary: tuple[str, ...]  # after it, oldest first


def spaced(text: str) -> list[str]:
    """The words of a text, each with a sign for the space before it.

    >>> spaced("the cat")
    ['▁the', '▁cat']
    """
    return [MARKER + word for word in text.split()]


def learn_merges(pieces: Iterable[str], *, n_merges: int, min_frequency: int = 1) -> Iterator[Step]:
    """Merge the best pair, `n_merges` times or until no pair is met `min_frequency` times."""
    if isinstance(pieces, str):
        raise TypeError(
            f"Expected a list of words, but got one string. Cut it first: spaced({pieces[:20]!r})."
        )
    if n_merges < 0 or min_frequency < 1:
        raise ValueError(
            "Expected n_merges of 0 or more and a min_frequency of 1 or more, "
            f"but got {n_merges} and {min_frequency}."
        )
    words: dict[Split, int] = Counter(tuple(piece) for piece in pieces)
    letters = sorted({letter for word in words for letter in word})
    age = {letter: place for place, letter in enumerate(letters)}
    for _ in range(n_merges):
        pair_counts = rank(count_pairs(words), age)
        if not pair_counts:
            return  # every word is one token
        pair, count = next(iter(pair_counts.items()))
        if count < min_frequency:
            return
        words = Counter({merge(word, pair): times for word, times in words.items()})
        age.setdefault("".join(pair), len(age))
        spelled = {" ".join(word): times for word, times in words.items()}
        yield Step(pair, count, pair_counts, spelled, tuple(age))


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


def rank(counts: dict[Neighbours, int], age: dict[str, int]) -> dict[Neighbours, int]:
    """The most frequent pair first; among equals the one made of older tokens."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], age[item[0][0]], age[item[0][1]])))


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
