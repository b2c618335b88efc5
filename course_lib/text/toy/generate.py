"""Any number of toy sentences with their translations; the same seed gives the same ones.

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
from course_lib.text.toy.cores import build_contrast, compose
from course_lib.text.toy.grow import grow
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.realisation import realise
from course_lib.text.toy.sentence import DeadEnd, Sentence
from course_lib.text.toy.tree import Clause, Phrase, Pronoun

SHORTEST, LONGEST = 3, 40
USUAL = (3, 20)
MAX_TRIES = 3000  # sentences started before a length is given up
SHALLOW, DEEP = (0, 2), (3, 4)  # the least and the greatest depth of nesting


class Sample(NamedTuple):
    """A pair, and what decides which split it belongs to."""

    pair: Pair
    combinations: tuple[tuple[str, str], ...]  # (adjective, noun) and (verb, object)
    depth: int  # how deep places and relative clauses are nested


def generate(n: int, *, seed: int, length: tuple[int, int] | None = None) -> list[Pair]:
    """`n` pairs whose English side has `length[0]` to `length[1]` words (by default 3 to 20, at most 40).

    All lengths are equally frequent. The same sentence may occur twice, especially a short one. To get one
    phenomenon, filter the pairs: `"because" in pair.phenomena`.
    """
    stream = draw(random.Random(seed), length=length)
    return [next(stream).pair for _ in range(n)]


def draw(
    rng: random.Random, *, length: tuple[int, int] | None = None, nesting: tuple[int, int] = SHALLOW
) -> Iterator[Sample]:
    """An endless stream of pairs; `nesting` is the least and the greatest depth."""
    for size in _sizes(rng, length or USUAL):
        for _ in range(MAX_TRIES):
            sentence = Sentence(rng, size, max_depth=nesting[1])
            if sentence.attempt(compose) and grow(sentence, min_depth=nesting[0]):
                yield Sample(sentence.pair(), tuple(sentence.combinations), sentence.depth)
                break
        else:
            raise ValueError(
                f"Found no sentence of {size} words nested {nesting[0]} to {nesting[1]} levels deep. "
                "Allow longer sentences, such as length=(14, 20), or less nesting."
            )


def minimal_pairs(rng: random.Random, *, length: tuple[int, int]) -> Iterator[tuple[Sample, Sample]]:
    """An endless stream of two pairs that differ in one English word; in French, il and elle are swapped."""
    for size in _sizes(rng, length):
        sentence = Sentence(rng, size)
        try:
            clause, reasons = build_contrast(sentence)
        except DeadEnd:
            continue
        if grow(sentence):
            samples = []
            for reason in reasons:
                clause.because = reason
                samples.append(Sample(sentence.pair(), tuple(sentence.combinations), sentence.depth))
            yield tuple(samples)


def running_pair() -> tuple[Pair, Pair]:
    """The running example of the course: "because it was thirsty" and "because it was cold"."""
    words = lexicon()
    cat, water = Phrase(words.noun("cat")), Phrase(words.noun("water"))
    pairs = []
    for antecedent, name in ((cat, "thirsty"), (water, "cold")):
        reason = Clause(Pronoun.of(antecedent), quality=words.quality(name, antecedent.noun))
        pairs.append(realise([Clause(cat, words.verb("drink"), water, because=reason)], past=True))
    return tuple(pairs)


def _sizes(rng: random.Random, length: tuple[int, int]) -> Iterator[int]:
    shortest, longest = length
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise ValueError(
            f"A sentence of the toy language has {SHORTEST} to {LONGEST} words. Expected length to be the "
            f"minimum and maximum number of words, such as (5, 12), but got {length}."
        )
    while True:
        yield shortest + int(rng.random() * (longest - shortest + 1))
