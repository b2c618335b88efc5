"""Sentences of the toy language with their translations, as many as wanted, the same for the same seed.

>>> for pair in generate(2, seed=0, length=(5, 7)):
...     print(pair.src_text, "→", pair.tgt_text)
>>> first, second = running_pair()
>>> second.tgt_text
"le chat a bu l' eau parce qu' elle était froide"
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from course_lib.text.pair import Pair
from course_lib.text.toy.cores import compose, contrast, with_reason
from course_lib.text.toy.draft import DeadEnd, Draft
from course_lib.text.toy.grow import grow
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.say import say
from course_lib.text.toy.tree import Clause, Part, Phrase, Pronoun, Sentence, State

SHORTEST, LONGEST = 3, 40
USUAL = (3, 20)
PATIENCE = 3000  # new beginnings before a length is given up
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
    shortest, longest = _check_length(length)
    while True:
        size = shortest + int(rng.random() * (longest - shortest + 1))
        for _ in range(PATIENCE):
            draft = Draft(rng, size, depth=nesting[1])
            try:
                compose(draft)
                grow(draft, least_depth=nesting[0])
            except DeadEnd:
                continue
            yield Drawn(say(draft.sentence), tuple(draft.combinations), draft.depth)
            break
        else:
            raise ValueError(
                f"No sentence of {size} words could be made that nests {nesting[0]} to {nesting[1]} deep. "
                "Ask for longer ones, such as length=(14, 20), or for less depth."
            )


def minimal_pairs(rng: random.Random, *, length: tuple[int, int]) -> Iterator[tuple[Drawn, Drawn]]:
    """Pairs of pairs without end that differ in one English word, and in French flip il and elle."""
    shortest, longest = _check_length(length)
    while True:
        draft = Draft(rng, shortest + int(rng.random() * (longest - shortest + 1)))
        try:
            states = contrast(draft)
            grow(draft)
        except DeadEnd:
            continue
        said = [say(with_reason(draft.sentence, state)) for state in states]
        first, second = (Drawn(pair, tuple(draft.combinations), draft.depth) for pair in said)
        yield first, second


def running_pair() -> tuple[Pair, Pair]:
    """The two sentences that go through the whole course: who was thirsty, and what was cold?"""
    words = lexicon()
    cat, water = Phrase(words.noun("cat")), Phrase(words.noun("water"))
    drank = Clause(cat, words.verb("drink"), water)
    thirsty, cold = words.quality("thirsty", cat.noun), words.quality("cold", water.noun)
    first, second = (
        say(Sentence([Part(drank, because=State(Pronoun.of(meant), quality))], past=True))
        for meant, quality in ((cat, thirsty), (water, cold))
    )
    return first, second


def _check_length(length: tuple[int, int] | None) -> tuple[int, int]:
    shortest, longest = length or USUAL
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise ValueError(
            f"A sentence of the toy language has {SHORTEST} to {LONGEST} words, and length gives the "
            f"shortest and the longest wanted, such as (5, 12). It was {length}."
        )
    return shortest, longest
