"""Parses an English sentence of the toy language and gives its correct translations.

    >>> translations_of("the cat drank the water because it was cold")
    {"le chat a bu l' eau parce qu' elle était froide"}
    >>> translations_of("the water drank the cat")          # not a sentence of the toy language
    set()

The parser proposes syntax trees and keeps those that `realisation.py` realises as exactly these words, so a
translation is never wrong. It can't parse relative clauses, object pronouns or questions. An ambiguous
sentence has several translations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from course_lib.text.toy.lexicon import Adverb, Noun, grammar, lexicon
from course_lib.text.toy.realisation import BE, CONJUNCTIONS, DO, realise
from course_lib.text.toy.sense import adjectives_of, prepositions_after, qualities_of, verbs_with_subject
from course_lib.text.toy.tree import Clause, Phrase, PrepositionalPhrase, Pronoun

ENGLISH_PRONOUNS = frozenset({"he", "she", "it", "they"})


def translations_of(text: str) -> set[str]:
    """Every French translation of an English sentence; none if the sentence can't be parsed."""
    words = text.split()
    candidates = (
        realise(clauses, past=past) for past in (False, True) for clauses in _Parser(words, past).sentences(0)
    )
    return {pair.tgt_text for pair in candidates if list(pair.src) == words}


class _Parser:
    """Each method yields every constituent that starts at a position, with the position after it."""

    def __init__(self, words: list[str], past: bool) -> None:
        self.words, self.past, self.tense = words, past, "past" if past else "present"

    def matches(self, at: int, text: str) -> bool:
        """Whether the sentence continues with these words."""
        expected = text.split()
        return self.words[at : at + len(expected)] == expected

    def skip(self, at: int, word: str) -> tuple[bool, int]:
        """Whether the next word is this one, and the position after it."""
        return self.matches(at, word), at + self.matches(at, word)

    def sentences(self, at: int, joint: str = "") -> Iterator[list[Clause]]:
        for clause, end in self.clauses(at):
            reasons = [(None, end)]
            if self.matches(end, "because"):
                reasons = self.because_clauses(end + 1, clause)
            for reason, stop in reasons:
                first = replace(clause, joined_by=joint, because=reason)
                if stop == len(self.words):
                    yield [first]
                elif self.words[stop] in CONJUNCTIONS:
                    yield from ([first, *rest] for rest in self.sentences(stop + 1, self.words[stop]))

    def clauses(self, at: int) -> Iterator[tuple[Clause, int]]:
        for subject, end in self.noun_phrases(at):
            yield from self.copular_clauses(end, subject, subject.noun)
            yield from self.verb_clauses(end, subject)

    def because_clauses(self, at: int, clause: Clause) -> Iterator[tuple[Clause, int]]:
        """`it was cold`, where the pronoun refers to a noun phrase of the clause."""
        if any(self.matches(at, word) for word in ENGLISH_PRONOUNS):
            for referent in (clause.subject, clause.object, clause.location and clause.location.phrase):
                if referent:
                    yield from self.copular_clauses(at + 1, Pronoun.of(referent), referent.noun)

    def copular_clauses(self, at: int, subject: Phrase | Pronoun, noun: Noun) -> Iterator[tuple[Clause, int]]:
        """`is (not) (very) cold`"""
        if self.matches(at, BE[self.tense][subject.plural]):
            negated, at = self.skip(at + 1, "not")
            very, at = self.skip(at, "very")
            for quality in qualities_of(noun):
                if self.matches(at, quality.en):
                    yield Clause(subject, quality=quality, negated=negated, very=very), at + 1

    def verb_clauses(self, at: int, subject: Phrase) -> Iterator[tuple[Clause, int]]:
        """`(did not) (often) sees (the cat) (in the garden) (yesterday)`"""
        with_auxiliary, at = self.skip(at, DO[self.tense][subject.plural])
        negated, at = self.skip(at, "not")
        often, at = self.skip(at, "often")
        for verb, tags in verbs_with_subject(subject.noun):
            form = verb.en[0 if with_auxiliary else 2 if self.past else 1 - subject.plural]
            if self.matches(at, f"{form} {verb.particle}"):
                after = at + verb.n_words
                objects = [(None, after)]
                if verb.transitive:
                    objects = [
                        (phrase, end) for phrase, end in self.noun_phrases(after) if phrase.noun.tags & tags
                    ]
                for direct_object, end in objects:
                    for location, stop in [
                        (None, end),
                        *self.prepositional_phrases(end, prepositions_after(subject.noun, verb), 1),
                    ]:
                        for adverb, last in [(None, stop), *self.adverbs(stop)]:
                            clause = Clause(subject, verb, direct_object, negated=negated, often=often)
                            yield replace(clause, location=location, adverb=adverb), last

    def noun_phrases(self, at: int, depth: int = 2) -> Iterator[tuple[Phrase, int]]:
        """`the very old house (near the river)`"""
        for determiner, plural in product(grammar().determiners, (False, True)):
            article = grammar().determiners[determiner]["en"][plural]
            if article is None or not (self.matches(at, article) or self.matches(at, article + "n")):
                continue
            very, start = self.skip(at + bool(article), "very")
            for noun, n_adjectives in product(lexicon().nouns, range(3)):
                first = start + n_adjectives
                if (plural and not noun.countable) or not self.matches(first, noun.en[plural]):
                    continue
                for adjectives in self.adjectives(self.words[start:first], noun):
                    phrase, end = Phrase(noun, plural, determiner, *adjectives, very), first + noun.n_words
                    yield phrase, end
                    for modifier, stop in (
                        self.prepositional_phrases(end, prepositions_after(noun), depth - 1) if depth else ()
                    ):
                        yield replace(phrase, modifier=modifier), stop

    def adjectives(self, words: list[str], noun: Noun) -> Iterator[tuple]:
        """At most one that French puts before the noun, and at most one after it."""
        for qualities in product(
            *([adjective for adjective in adjectives_of(noun) if adjective.en == word] for word in words)
        ):
            placed = {quality.place: quality for quality in qualities}
            if len(placed) == len(qualities):
                yield placed.get("before"), placed.get("after")

    def prepositional_phrases(
        self, at: int, choices: Sequence, depth: int
    ) -> Iterator[tuple[PrepositionalPhrase, int]]:
        for preposition, grounds in choices:
            if self.matches(at, preposition.en):
                for phrase, stop in self.noun_phrases(at + preposition.n_words, depth):
                    if phrase.noun.tags & grounds:
                        yield PrepositionalPhrase(preposition, phrase), stop

    def adverbs(self, at: int) -> Iterator[tuple[Adverb, int]]:
        for adverb in grammar().adverbs:
            if self.matches(at, adverb.en):
                yield adverb, at + len(adverb.en.split())
