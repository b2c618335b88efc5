"""Parses an English sentence of the toy language and gives its correct translations.

    >>> translations_of("the cat drank the water because it was cold")
    {"le chat a bu l' eau parce qu' elle était froide"}
    >>> translations_of("the water drank the cat")          # not a sentence of the toy language
    set()

The parser proposes syntax trees and keeps those that `realisation.py` realises as exactly these words, so a
translation is never wrong. An ambiguous sentence has several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product

from course_lib.text.toy.lexicon import Adverb, Noun, Preposition, grammar, lexicon
from course_lib.text.toy.realisation import BE, CONJUNCTIONS, DO, realise
from course_lib.text.toy.sense import adjectives_of, prepositions_after, qualities_of, verbs_with_subject
from course_lib.text.toy.tree import Clause, Phrase, PrepositionalPhrase, Pronoun

PEOPLE = {"him": "m", "her": "f"}
ITS_OBJECT = Pronoun("m")  # until the antecedent is known
ENGLISH_PRONOUNS = frozenset({"he", "she", "it", "they"})
DETERMINERS = tuple(name for name in grammar().determiners if name != "none")  # it is for `of tea`


def translations_of(text: str) -> set[str]:
    """Every French translation of an English sentence; none if the sentence can't be parsed."""
    words, candidates = text.split(), []
    for past in (False, True):
        if words[-1:] == ["?"]:
            clauses = _Parser(words[:-1], past).questions()
            candidates += [realise([clause], past=past, question=True) for clause in clauses]
        else:
            candidates += [realise(clauses, past=past) for clauses in _Parser(words, past).sentences(0)]
    return {pair.tgt_text for pair in candidates if list(pair.src) == words}


def contents_of(noun: Noun) -> list[tuple[Preposition, frozenset[str]]]:
    """`of`, with the tags of what it can contain: `a cup of tea`"""
    of = grammar().preposition("full of")
    return [(of, right) for left, right in of.frames if left & noun.tags]


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

    def sentences(self, at: int, joint: str = "", before: Clause | None = None) -> Iterator[list[Clause]]:
        for clause, end in self.main_clauses(at, before):
            reasons = [(None, end)]
            if self.matches(end, "because"):
                reasons = self.because_clauses(end + 1, clause)
            for reason, stop in reasons:
                first = replace(clause, joined_by=joint, because=reason)
                if stop == len(self.words):
                    yield [first]
                elif self.words[stop] in CONJUNCTIONS:
                    following = self.sentences(stop + 1, self.words[stop], first)
                    yield from ([first, *rest] for rest in following)

    def main_clauses(self, at: int, before: Clause | None) -> Iterator[tuple[Clause, int]]:
        """After another clause, also without a subject (`and ate it`)."""
        obj = before and before.object
        for clause, end in chain(self.clauses(at), self.predicates(at, before.subject) if before else ()):
            if clause.object is not ITS_OBJECT:
                yield clause, end
            elif isinstance(obj, Phrase):
                yield replace(clause, object=Pronoun.of(obj)), end

    def questions(self) -> Iterator[Clause]:
        """`did the cat see the water`, `is the soup hot`"""
        for subject, end in self.noun_phrases(1):
            clauses = []
            if self.matches(0, BE[self.tense][subject.plural]):
                clauses = self.qualities(end, subject, subject.noun)
            elif self.matches(0, DO[self.tense][subject.plural]):
                clauses = self.actions(end, subject, with_auxiliary=True)
            yield from (clause for clause, stop in clauses if stop == len(self.words))

    def clauses(self, at: int) -> Iterator[tuple[Clause, int]]:
        for subject, end in self.noun_phrases(at):
            yield from self.predicates(end, subject)

    def predicates(self, at: int, subject: Phrase, depth: int = 2) -> Iterator[tuple[Clause, int]]:
        yield from self.copular_clauses(at, subject, subject.noun)
        yield from self.verb_clauses(at, subject, depth=depth)

    def because_clauses(self, at: int, clause: Clause) -> Iterator[tuple[Clause, int]]:
        """`it was cold`, where the pronoun refers to a noun phrase of the clause."""
        if any(self.matches(at, word) for word in ENGLISH_PRONOUNS):
            for referent in (clause.subject, clause.object, clause.location and clause.location.phrase):
                if referent:
                    yield from self.copular_clauses(at + 1, Pronoun.of(referent), referent.noun)

    def copular_clauses(self, at: int, subject: Phrase | Pronoun, noun: Noun) -> Iterator[tuple[Clause, int]]:
        """`is (not) (very) cold`"""
        if self.matches(at, BE[self.tense][subject.plural]):
            yield from self.qualities(at + 1, subject, noun)

    def qualities(self, at: int, subject: Phrase | Pronoun, noun: Noun) -> Iterator[tuple[Clause, int]]:
        """`(not) (very) cold`"""
        negated, at = self.skip(at, "not")
        very, at = self.skip(at, "very")
        for quality in qualities_of(noun):
            if self.matches(at, quality.en):
                yield Clause(subject, quality=quality, negated=negated, very=very), at + 1

    def verb_clauses(
        self, at: int, subject: Phrase, head: Phrase | None = None, depth: int = 2
    ) -> Iterator[tuple[Clause, int]]:
        """`(did) not …`, or an action without an auxiliary"""
        with_auxiliary, at = self.skip(at, DO[self.tense][subject.plural])
        yield from self.actions(at, subject, with_auxiliary, head, depth)

    def actions(
        self, at: int, subject: Phrase, with_auxiliary: bool, head: Phrase | None = None, depth: int = 2
    ) -> Iterator[tuple[Clause, int]]:
        """`(not) (often) sees (the cat) (in the garden) (yesterday)`; in `that he saw`, of a `head`."""
        negated, at = self.skip(at, "not")
        often, at = self.skip(at, "often")
        for verb, tags in verbs_with_subject(subject.noun):
            form = verb.en[0 if with_auxiliary else 2 if self.past else 1 - subject.plural]
            if self.matches(at, f"{form} {verb.particle}"):
                after = at + verb.n_words
                objects = [] if head else [(None, after)]
                if verb.transitive:
                    phrases = [(head, after)] if head else self.noun_phrases(after, depth)
                    objects = [(phrase, end) for phrase, end in phrases if phrase.noun.tags & tags]
                    if not head:
                        objects += [(pronoun, after + 1) for pronoun in self.object_pronouns(after)]
                for direct_object, end in objects:
                    for location, stop in [
                        (None, end),
                        *self.prepositional_phrases(end, prepositions_after(subject.noun, verb), 1),
                    ]:
                        for adverb, last in [(None, stop), *self.adverbs(stop)]:
                            clause = Clause(subject, verb, direct_object, negated=negated, often=often)
                            yield replace(clause, location=location, adverb=adverb), last

    def object_pronouns(self, at: int) -> list[Pronoun]:
        """Of a person outside the sentence, or of the object of the clause before."""
        outside = [Pronoun(gender) for word, gender in PEOPLE.items() if self.matches(at, word)]
        return outside + [ITS_OBJECT for word in (*PEOPLE, "it", "them") if self.matches(at, word)]

    def noun_phrases(
        self, at: int, depth: int = 2, determiners: Sequence[str] = DETERMINERS
    ) -> Iterator[tuple[Phrase, int]]:
        """`the very old house (near the river)`"""
        for determiner, plural in product(determiners, (False, True)):
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
                    choices = (*prepositions_after(noun), *contents_of(noun)) if depth else ()
                    for modifier, stop in self.prepositional_phrases(end, choices, depth - 1):
                        yield replace(phrase, modifier=modifier), stop
                    if depth and (self.matches(end, "that") or self.matches(end, "who")):
                        yield from self.with_relatives(end + 1, phrase, depth - 1)

    def with_relatives(self, at: int, phrase: Phrase, depth: int) -> Iterator[tuple[Phrase, int]]:
        """`the man who is old`, `the cat that drinks the milk`, `the cat that the boy saw`"""
        for clause, stop in self.predicates(at, phrase, depth):
            head = replace(phrase)
            head.modifier = replace(clause, subject=head)
            yield head, stop
        for subject, end in self.noun_phrases(at, depth):
            for clause, stop in self.verb_clauses(end, subject, head=phrase):
                head = replace(phrase)
                head.modifier = replace(clause, object=head)
                yield head, stop

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
                start = at + preposition.n_words
                for phrase, stop in self.noun_phrases(start, depth, preposition.determiners):
                    if phrase.noun.tags & grounds:
                        yield PrepositionalPhrase(preposition, phrase), stop

    def adverbs(self, at: int) -> Iterator[tuple[Adverb, int]]:
        for adverb in grammar().adverbs:
            if self.matches(at, adverb.en):
                yield adverb, at + len(adverb.en.split())
