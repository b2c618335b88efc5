"""A sentence under construction: how many words it may still spend, and which words it has used.

    >>> sentence = Sentence(random.Random(0), 9)
    >>> apple = sentence.phrase(sentence.noun(frozenset({"fruit"})))  # such as "the apple": 2 of 9 words
    >>> sentence.words_left
    7

Every choice takes one number from one generator, so the same seed gives the same sentence on every machine.
Where no word fits, `DeadEnd` is raised: several calls deep, it ends a whole step, such as a new relative
clause. `Sentence.attempt` is the one that catches it, and undoes the step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import Noun, Tags, Verb
from course_lib.text.toy.realisation import realise
from course_lib.text.toy.sense import NounForm, nouns_with
from course_lib.text.toy.tree import Clause, Phrase

T = TypeVar("T")
WORD_TRIES = 8  # words drawn before a choice is given up
P_PAST = 0.55  # of a sentence
P_PLURAL = 0.35  # of a noun
# Determiners are drawn uniformly: repeating one makes it more frequent.
SINGULAR_DETERMINERS = (*["the"] * 5, *["a"] * 2, "this")
PLURAL_DETERMINERS = (*["the"] * 4, *["some"] * 2, "this", "two", "three")
DEFINITE_DETERMINERS = (*["the"] * 6, "this")


class DeadEnd(Exception):
    """The words chosen so far can't be continued."""


def reject_if(condition: object) -> None:
    if condition:
        raise DeadEnd


class Sentence:
    """A sentence that may have `size` words and phrases nested up to `max_depth` deep."""

    def __init__(self, rng: random.Random, size: int, *, max_depth: int = 2) -> None:
        self.random = rng.random
        self.words_left, self.max_depth, self.depth = size, max_depth, 0
        self.past, self.question = self.with_probability(P_PAST), False
        self.main_clauses: list[Clause] = []  # in their order in the sentence
        self.used: list[Noun | tuple[str, str]] = []  # nouns, and the French of verbs: each occurs once
        self.banned: frozenset[NounForm] = frozenset()  # what a pronoun could be mistaken for
        self.combinations: list[tuple[str, str]] = []  # (adjective, noun) and (verb, object)
        self.phrases: list[Phrase] = []  # what `grow.py` can extend
        self.clauses: list[Clause] = []

    def pair(self) -> Pair:
        return realise(self.main_clauses, past=self.past, question=self.question)

    def with_probability(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices, drawn uniformly."""
        reject_if(not choices)
        return choices[int(self.random() * len(choices))]

    def spend(self, n_words: int) -> None:
        """Reserve words of the sentence."""
        reject_if(n_words > self.words_left)
        self.words_left -= n_words

    def verb(self, choices: Sequence[tuple[Verb, T]]) -> tuple[Verb, T]:
        """A verb that the sentence doesn't have yet, with the tags listed for it."""
        for _ in range(WORD_TRIES):
            verb, tags = self.pick(choices)
            if verb.fr not in self.used:
                self.spend(verb.n_words)
                self.used.append(verb.fr)
                return verb, tags
        raise DeadEnd

    def noun(self, tags: Tags, plural: bool | None = None) -> NounForm:
        """A noun with one of the tags that is not used yet and is no rival of a pronoun's antecedent."""
        choices = nouns_with(tags)
        for _ in range(WORD_TRIES):
            noun = self.pick(choices)
            number = (self.with_probability(P_PLURAL) if plural is None else plural) and noun.countable
            if noun not in self.used and (noun, number) not in self.banned:
                return NounForm(noun, number)
        raise DeadEnd

    def phrase(
        self, form: NounForm, depth: int = 0, definite: bool = False, closed: bool = False, bare: bool = False
    ) -> Phrase:
        """Add a phrase of this noun with a random determiner, or without one (`bare`)."""
        noun, plural = form
        determiners = PLURAL_DETERMINERS if plural else SINGULAR_DETERMINERS
        if definite or not noun.countable:
            determiners = DEFINITE_DETERMINERS
        determiner = "none" if bare else self.pick(determiners)
        if determiner == "some" and self.question:
            determiner = "the"  # a question would need "any"
        phrase = Phrase(noun, plural, determiner, depth=depth, closed=closed)
        self.spend(noun.n_words + (not bare))
        self.used.append(noun)
        self.phrases.append(phrase)
        return phrase

    def add_clause(self, clause: Clause) -> Clause:
        """Register a clause, so that it can be extended, as the role of its subject and object."""
        self.clauses.append(clause)
        for index, phrase in enumerate((clause.subject, clause.object)):
            if isinstance(phrase, Phrase):
                phrase.role = phrase.role or clause
                self.describe(phrase, clause.verb.bars[index] if clause.verb else frozenset())
        if isinstance(clause.object, Phrase):
            self.combinations.append((clause.verb.name, clause.object.noun.name))
        return clause

    def describe(self, phrase: Phrase, sorts: Tags) -> None:
        """Record properties of a phrase. Rejects "the cold water was cold", "was hot", and two colours."""
        reject_if(sorts & phrase.sorts)
        phrase.sorts |= sorts

    def attempt(self, step: Callable[..., object], *arguments: object) -> bool:
        """Run `step(self, *arguments)` and return whether it worked; at a dead end, undo it.

        A step attaches what it made to the tree last, so only these lists and the word count are restored.
        """
        words_left, lists = self.words_left, (self.used, self.phrases, self.clauses)
        sizes = [len(entries) for entries in lists]
        try:
            step(self, *arguments)
        except DeadEnd:
            self.words_left = words_left
            for entries, size in zip(lists, sizes, strict=True):
                del entries[size:]
            return False
        return True
