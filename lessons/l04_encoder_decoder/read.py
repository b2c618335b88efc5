"""Reads a sentence that somebody typed, and gives its true translations: the toy language backwards.

    >>> translations_of("the cat drank the water because it was cold")
    {"le chat a bu l' eau parce qu' elle était froide"}
    >>> translations_of("the water drank the cat")          # nothing in the toy language does that
    set()

It guesses trees from the words and keeps those that `say.py` says in exactly these words: so a translation
is never wrong, but sentences with relative clauses, object pronouns or questions are not understood. Where a
sentence can be meant in two ways, both are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from course_lib.text.toy.lexicon import Adverb, Noun, grammar, lexicon
from course_lib.text.toy.say import BE, DO, JOINTS, say
from course_lib.text.toy.sense import beside, does, hangs_on, said_of, where
from course_lib.text.toy.tree import Clause, Phrase, Place, Pronoun

ENGLISH_PRONOUNS = frozenset({"he", "she", "it", "they"})


def translations_of(text: str) -> set[str]:
    """Every French sentence that this English one can become; none where it is not understood."""
    words = text.split()
    found = (
        say(clauses, past=past) for past in (False, True) for clauses in _Reader(words, past).sentences(0)
    )
    return {pair.tgt_text for pair in found if list(pair.src) == words}


class _Reader:
    """Each method gives whatever can be read from a place on, and the place behind it."""

    def __init__(self, words: list[str], past: bool) -> None:
        self.words, self.past, self.tense = words, past, "past" if past else "present"

    def here(self, at: int, text: str) -> bool:
        """Whether these words stand here."""
        said = text.split()
        return self.words[at : at + len(said)] == said

    def skip(self, at: int, word: str) -> tuple[bool, int]:
        """Whether this word stands here, and the place behind it."""
        return self.here(at, word), at + self.here(at, word)

    def sentences(self, at: int, joint: str = "") -> Iterator[list[Clause]]:
        for clause, end in self.clauses(at):
            reasons = self.reasons(end + 1, clause) if self.here(end, "because") else [(None, end)]
            for reason, stop in reasons:
                first = replace(clause, joined_by=joint, because=reason)
                if stop == len(self.words):
                    yield [first]
                elif self.words[stop] in JOINTS:
                    yield from ([first, *rest] for rest in self.sentences(stop + 1, self.words[stop]))

    def clauses(self, at: int) -> Iterator[tuple[Clause, int]]:
        for subject, end in self.phrases(at):
            yield from self.states(end, subject, subject.noun)
            yield from self.deeds(end, subject)

    def reasons(self, at: int, clause: Clause) -> Iterator[tuple[Clause, int]]:
        """`it was cold`, said of whatever the clause named."""
        if any(self.here(at, word) for word in ENGLISH_PRONOUNS):
            for meant in (clause.subject, clause.object, clause.place and clause.place.phrase):
                if meant:
                    yield from self.states(at + 1, Pronoun.of(meant), meant.noun)

    def states(self, at: int, subject: Phrase | Pronoun, noun: Noun) -> Iterator[tuple[Clause, int]]:
        """`is (not) (very) cold`"""
        if self.here(at, BE[self.tense][subject.plural]):
            negated, at = self.skip(at + 1, "not")
            very, at = self.skip(at, "very")
            for quality in said_of(noun):
                if self.here(at, quality.en):
                    yield Clause(subject, quality=quality, negated=negated, very=very), at + 1

    def deeds(self, at: int, subject: Phrase) -> Iterator[tuple[Clause, int]]:
        """`(did not) (often) sees (the cat) (in the garden) (yesterday)`"""
        helped, at = self.skip(at, DO[self.tense][subject.plural])
        negated, at = self.skip(at, "not")
        often, at = self.skip(at, "often")
        for verb, tags in does(subject.noun):
            form = verb.en[0 if helped else 2 if self.past else 1 - subject.plural]
            if self.here(at, f"{form} {verb.particle}"):
                after = at + verb.n_words
                things = [one for one in self.phrases(after) if one[0].noun.tags & tags]
                for thing, end in things if verb.transitive else [(None, after)]:
                    for place, stop in [(None, end), *self.places(end, where(verb, subject.noun), 1)]:
                        for adverb, last in [(None, stop), *self.adverbs(stop)]:
                            clause = Clause(subject, verb, thing, negated=negated, often=often)
                            yield replace(clause, place=place, adverb=adverb), last

    def phrases(self, at: int, depth: int = 2) -> Iterator[tuple[Phrase, int]]:
        """`the very old house (near the river)`"""
        for determiner, plural in product(grammar().determiners, (False, True)):
            article = grammar().determiners[determiner]["en"][plural]
            if article is None or not (self.here(at, article) or self.here(at, article + "n")):
                continue
            very, start = self.skip(at + bool(article), "very")
            for noun, n_adjectives in product(lexicon().nouns, range(3)):
                first = start + n_adjectives
                if (plural and not noun.countable) or not self.here(first, noun.en[plural]):
                    continue
                for adjectives in self.adjectives(self.words[start:first], noun):
                    phrase, end = Phrase(noun, plural, determiner, *adjectives, very), first + noun.n_words
                    yield phrase, end
                    for place, stop in self.places(end, hangs_on(noun), depth - 1) if depth else ():
                        yield replace(phrase, behind=place), stop

    def adjectives(self, words: list[str], noun: Noun) -> Iterator[tuple]:
        """One that French puts before the noun, and one that it puts after it."""
        for qualities in product(*([one for one in beside(noun) if one.en == word] for word in words)):
            placed = {quality.place: quality for quality in qualities}
            if len(placed) == len(qualities):
                yield placed.get("before"), placed.get("after")

    def places(self, at: int, choices: Sequence, depth: int) -> Iterator[tuple[Place, int]]:
        for preposition, grounds in choices:
            if self.here(at, preposition.en):
                for phrase, stop in self.phrases(at + preposition.n_words, depth):
                    if phrase.noun.tags & grounds:
                        yield Place(preposition, phrase), stop

    def adverbs(self, at: int) -> Iterator[tuple[Adverb, int]]:
        for adverb in grammar().adverbs:
            if self.here(at, adverb.en):
                yield adverb, at + len(adverb.en.split())
