"""One sentence in the making: how many words are left, and what has been said so far.

    >>> sentence = Sentence(random.Random(0), 9)
    >>> apple = sentence.phrase(sentence.noun(frozenset({"fruit"})))  # such as "the apple": 2 of 9 words
    >>> sentence.room
    7

Every choice is one number from one generator, so the same seed says the same on every machine. Where nothing
is left to choose, a `DeadEnd` says so, and whoever asked tries something else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import Noun, Tags, Verb
from course_lib.text.toy.say import say
from course_lib.text.toy.sense import Counted, pool
from course_lib.text.toy.tree import Clause, Phrase

T = TypeVar("T")
WORD_TRIES = 8
ONE = ("the", "the", "the", "the", "the", "a", "a", "this")
SEVERAL = ("the", "the", "the", "the", "some", "some", "this", "two", "three")
DEFINITE = ("the", "the", "the", "the", "the", "the", "this")
PLURAL = 0.35


class DeadEnd(Exception):
    """These words cannot be spent here: try others."""


def avoid(riddle: object) -> None:
    """A dead end, where this is so."""
    if riddle:
        raise DeadEnd


class Sentence:
    """A sentence with room for so many more words."""

    def __init__(self, rng: random.Random, size: int, *, depth: int = 2) -> None:
        self.random = rng.random
        self.room, self.most_depth, self.depth = size, depth, 0
        self.past, self.question = self.chance(0.55), False
        self.parts: list[Clause] = []  # the clauses that it says, one after the other
        self.taken: list[Noun | tuple[str, str]] = []  # nouns, and the French of verbs: each comes once
        self.banned: frozenset[Counted] = frozenset()  # what a pronoun could be mistaken for
        self.combinations: list[tuple[str, str]] = []  # (adjective, noun) and (verb, object)
        self.phrases: list[Phrase] = []  # what can still grow: `grow.py`
        self.clauses: list[Clause] = []

    def said(self) -> Pair:
        """The sentence in both languages."""
        return say(self.parts, past=self.past, question=self.question)

    def chance(self, probability: float) -> bool:
        """True as often as that."""
        return self.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of these, all alike likely."""
        avoid(not choices)
        return choices[int(self.random() * len(choices))]

    def spend(self, n_words: int) -> None:
        """So many words fewer are left."""
        avoid(n_words > self.room)
        self.room -= n_words

    def verb(self, choices: Sequence[tuple[Verb, T]]) -> tuple[Verb, T]:
        """One of these that the sentence does not have."""
        for _ in range(WORD_TRIES):
            verb, tags = self.pick(choices)
            if verb.fr not in self.taken:
                self.spend(verb.n_words)
                self.taken.append(verb.fr)
                return verb, tags
        raise DeadEnd

    def noun(self, tags: Tags, plural: bool | None = None) -> Counted:
        """One that is not taken and would not be mistaken for what a pronoun stands for."""
        choices = pool(tags)
        for _ in range(WORD_TRIES):
            noun = self.pick(choices)
            number = (self.chance(PLURAL) if plural is None else plural) and noun.countable
            if noun not in self.taken and (noun, number) not in self.banned:
                return Counted(noun, number)
        raise DeadEnd

    def phrase(
        self, counted: Counted, *, depth: int = 0, definite: bool = False, closed: bool = False
    ) -> Phrase:
        """A determiner and this noun."""
        noun, plural = counted
        if definite or not noun.countable:
            determiner = self.pick(DEFINITE)
        else:
            determiner = self.pick(SEVERAL if plural else ONE)
            if determiner == "some" and self.question:
                determiner = "the"  # a question would say any
        return self.add(Phrase(noun, plural, determiner, depth=depth, closed=closed))

    def add(self, phrase: Phrase) -> Phrase:
        """Remember a phrase; it can grow from now on."""
        self.spend(phrase.noun.n_words + (phrase.determiner != "none"))
        self.taken.append(phrase.noun)
        self.phrases.append(phrase)
        return phrase

    def add_clause(self, clause: Clause) -> Clause:
        """Remember a clause, and whose clause it is; it can grow from now on."""
        self.clauses.append(clause)
        for at, one in enumerate((clause.subject, clause.object)):
            if isinstance(one, Phrase):
                one.role = one.role or clause
                self.describe(one, clause.verb.bars[at] if clause.verb else frozenset())
        if isinstance(clause.object, Phrase):
            self.combinations.append((clause.verb.name, clause.object.noun.name))
        return clause

    def describe(self, phrase: Phrase, sorts: Tags) -> None:
        """Say it of the phrase. Never "the cold water was cold", nor "was hot"; never two colours."""
        avoid(sorts & phrase.sorts)
        phrase.sorts |= sorts

    def mark(self) -> tuple[int, int, int, int]:
        """Where the sentence stands, for `undo`."""
        return self.room, len(self.taken), len(self.phrases), len(self.clauses)

    def undo(self, mark: tuple[int, int, int, int]) -> None:
        """Forget what was begun since, and never attached."""
        self.room, n_taken, n_phrases, n_clauses = mark
        del self.taken[n_taken:], self.phrases[n_phrases:], self.clauses[n_clauses:]
