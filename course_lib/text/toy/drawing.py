"""One sentence in the making: draws lots, and remembers what has been said so far.

    >>> drawing = Drawing(RULES, random.Random(0))
    >>> drawing.noun(frozenset({"fruit"})).name      # such as 'apple', unless there is an apple already

Every choice is one number from one generator, so the same seed says the same on every machine. Where nothing
is left to choose, a `DeadEnd` says so, and whoever asked tries something else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from course_lib.text.toy.choices import FEW, MANY, words_for
from course_lib.text.toy.grammar import Preposition
from course_lib.text.toy.lexicon import Noun, Tags, Verb

T = TypeVar("T")
TRIES = 8


class DeadEnd(Exception):
    """These words cannot be spent here: try others."""


class NoWayOut(Exception):
    """So much was tried in vain that the sentence is best begun again."""


class Drawing:
    """Remembers of one sentence which nouns are taken, and which would make a riddle."""

    def __init__(self, rules: frozenset[str], rng: random.Random) -> None:
        self.rules, self.words, self.random = rules, words_for(rules), rng.random
        self.bare = not rules & {"prepositions", "relatives"}  # nothing can stand behind a noun
        self.begin()

    def begin(self) -> None:
        """A new sentence."""
        self.past = "past" in self.rules and self.chance(0.55)
        self.taken: list[Noun] = []
        self.banned: frozenset[Noun] = frozenset()  # what a pronoun could be mistaken for
        self.said: list[Verb] = []
        self.last: Preposition | None = None
        self.combinations: list[tuple[str, str]] = []  # (adjective, noun) and (verb, object)
        self.effort = 0  # phrases begun, in vain or not

    def pick(self, choices: Sequence[T]) -> T:
        if choices:
            return choices[int(self.random() * len(choices))]
        raise DeadEnd

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def verb(self, choices: Sequence[tuple[Verb, Tags]]) -> tuple[Verb, Tags]:
        """One of these, a new one if that can be had quickly."""
        verb, tags = self.pick(choices)
        for _ in range(3):
            if verb not in self.said:
                break
            verb, tags = self.pick(choices)
        self.said.append(verb)
        return verb, tags

    def noun(self, tags: Tags, size: int = 0) -> Noun:
        """One that is not taken and would not be mistaken for what a pronoun stands for."""
        pool = self.words.pool(tags, MANY if size > FEW + 2 else 0)
        if pool:
            for _ in range(TRIES):
                noun = pool[int(self.random() * len(pool))]
                if noun not in self.taken and noun not in self.banned:
                    return noun
        raise DeadEnd
