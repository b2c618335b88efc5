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
from course_lib.text.toy.clauses import Sentences
from course_lib.text.toy.drawing import DeadEnd, NoWayOut
from course_lib.text.toy.grammar import RULES, check_rules
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.say import say
from course_lib.text.toy.tree import Clause, Part, Phrase, State, pronoun_for

ALL = RULES
SHORTEST, LONGEST = 3, 40
USUAL = (3, 20)
PATIENCE = 60  # new beginnings before a length is given up


class Drawn(NamedTuple):
    """A pair, and which words were brought together in it: (adjective, noun) and (verb, object)."""

    pair: Pair
    combinations: tuple[tuple[str, str], ...]


def generate(
    n: int,
    *,
    seed: int,
    rules: frozenset[str] = ALL,
    length: tuple[int, int] | None = None,
) -> list[Pair]:
    """`n` pairs whose English side has `length[0]` to `length[1]` words, every length alike often.

    From 3 to 40 words can be had, and 3 to 20 come where nothing is said. With a few rules only, not every
    length is possible: then those come that are. The same sentence may come twice, above all a short one.
    """
    stream = draw(random.Random(seed), rules=rules, length=length)
    return [next(stream).pair for _ in range(n)]


def draw(
    rng: random.Random, *, rules: frozenset[str] = ALL, length: tuple[int, int] | None = None
) -> Iterator[Drawn]:
    """Pairs without end."""
    shortest, longest = _check_length(length)
    drawer = Sentences(check_rules(rules), rng)
    sizes = list(range(shortest, longest + 1))
    while sizes:
        size = sizes[int(rng.random() * len(sizes))]
        for _ in range(PATIENCE):
            try:
                parts, question = drawer.sentence(size)
            except (DeadEnd, NoWayOut):
                continue
            yield Drawn(say(parts, question), tuple(drawer.combinations))
            break
        else:
            sizes.remove(size)  # these rules make no such sentence
    raise ValueError(
        f"No sentence of {shortest} to {longest} words could be made with the rules "
        f"{', '.join(sorted(rules)) or '(none)'}. Allow prepositions, relatives or coordination for longer "
        "ones, or ask for shorter ones."
    )


def _check_length(length: tuple[int, int] | None) -> tuple[int, int]:
    shortest, longest = length or USUAL
    if not SHORTEST <= shortest <= longest <= LONGEST:
        raise ValueError(
            f"A sentence of the toy language has {SHORTEST} to {LONGEST} words, and length gives the "
            f"shortest and the longest wanted, such as (5, 12). It was {length}."
        )
    return shortest, longest


def running_pair() -> tuple[Pair, Pair]:
    """The two sentences that go through the whole course: who was thirsty, and what was cold?"""
    words = lexicon()
    cat, water = Phrase(words.noun("cat")), Phrase(words.noun("water"))
    drank = Clause(cat, words.verb("drink"), water, past=True)
    thirsty, cold = words.quality("thirsty", cat.noun), words.quality("cold", water.noun)
    return (
        say([Part(drank, because=State(pronoun_for(cat), thirsty, past=True))]),
        say([Part(drank, because=State(pronoun_for(water), cold, past=True))]),
    )


def minimal_pairs(rng: random.Random, *, length: tuple[int, int]) -> Iterator[tuple[Drawn, Drawn]]:
    """Pairs of pairs without end that differ in one English word, and in French flip il and elle."""
    shortest, longest = _check_length(length)
    drawer = Sentences(ALL, rng)
    while True:
        size = shortest + int(rng.random() * (longest - shortest + 1))
        try:
            two = drawer.contrast(size)
        except (DeadEnd, NoWayOut):
            continue
        combinations = tuple(drawer.combinations)
        first, second = (Drawn(say([part]), combinations) for part in two)
        yield first, second
