"""Sentences of the toy language with their translations, as many as wanted, the same for the same seed.

>>> for pair in generate(2, seed=0, length=(5, 7)):
...     print(pair.src_text, "→", pair.tgt_text)
some queens find the very good bean → des reines trouvent le très bon haricot
the very happy father looks at her → le père très heureux la regarde
>>> first, second = running_pair()
>>> second.tgt_text
"le chat a bu l' eau parce qu' elle était froide"
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from course_lib.text.pair import Pair
from course_lib.text.toy.cores import compose, contrast
from course_lib.text.toy.grow import grow
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.say import say
from course_lib.text.toy.sentence import DeadEnd, Sentence
from course_lib.text.toy.tree import Clause, Phrase, Pronoun

SHORTEST, LONGEST = 3, 40
USUAL = (3, 20)
BEGINNINGS = 3000  # before a length is given up
SHALLOW, DEEP = (0, 2), (3, 4)  # how deep a sentence nests, at least and at most


class Drawn(NamedTuple):
    """A pair, and what is known about it."""

    pair: Pair
    combinations: tuple[tuple[str, str], ...]  # words brought together: (adjective, noun), (verb, object)
    depth: int  # how many places and relative clauses lie one in the other


def generate(n: int, *, seed: int, length: tuple[int, int] | None = None) -> list[Pair]:
    """`n` pairs whose English side has `length[0]` to `length[1]` words, every length alike often.

    From 3 to 40 words can be had, and 3 to 20 come where nothing is said. The same sentence may come twice,
    above all a short one. For one phenomenon, keep the pairs that have it: `"because" in pair.phenomena`.
    """
    stream = draw(random.Random(seed), length=length)
    return [next(stream).pair for _ in range(n)]


def draw(
    rng: random.Random, *, length: tuple[int, int] | None = None, nesting: tuple[int, int] = SHALLOW
) -> Iterator[Drawn]:
    """Pairs without end, nested at least and at most so deep."""
    for size in _sizes(rng, length or USUAL):
        for _ in range(BEGINNINGS):  # a new one after each dead end
            sentence = Sentence(rng, size, depth=nesting[1])
            try:
                compose(sentence)
                grow(sentence, least_depth=nesting[0])
            except DeadEnd:
                continue
            yield Drawn(sentence.said(), tuple(sentence.combinations), sentence.depth)
            break
        else:
            raise ValueError(
                f"No sentence of {size} words could be made that nests {nesting[0]} to {nesting[1]} deep. "
                "Ask for longer ones, such as length=(14, 20), or for less depth."
            )


def minimal_pairs(rng: random.Random, *, length: tuple[int, int]) -> Iterator[tuple[Drawn, Drawn]]:
    """Pairs of pairs without end that differ in one English word, and in French flip il and elle."""
    for size in _sizes(rng, length):
        sentence = Sentence(rng, size)
        try:
            clause, reasons = contrast(sentence)
            grow(sentence)
        except DeadEnd:
            continue
        both = []
        for reason in reasons:
            clause.because = reason
            both.append(Drawn(sentence.said(), tuple(sentence.combinations), sentence.depth))
        yield tuple(both)


def running_pair() -> tuple[Pair, Pair]:
    """The two sentences that go through the whole course: who was thirsty, and what was cold?"""
    words = lexicon()
    cat, water = Phrase(words.noun("cat")), Phrase(words.noun("water"))
    reasons = [
        Clause(Pronoun.of(meant), quality=words.quality(name, meant.noun))
        for meant, name in ((cat, "thirsty"), (water, "cold"))
    ]
    first, second = (
        say([Clause(cat, words.verb("drink"), water, because=reason)], past=True) for reason in reasons
    )
    return first, second


def _sizes(rng: random.Random, length: tuple[int, int]) -> Iterator[int]:
    """How many words the next sentence has, without end."""
    shortest, longest = length
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise ValueError(
            f"A sentence of the toy language has {SHORTEST} to {LONGEST} words, and length gives the "
            f"shortest and the longest wanted, such as (5, 12). It was {length}."
        )
    while True:
        yield shortest + int(rng.random() * (longest - shortest + 1))
