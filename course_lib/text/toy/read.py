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
from itertools import product

from course_lib.text.toy.grammar import grammar
from course_lib.text.toy.lexicon import Noun, lexicon
from course_lib.text.toy.say import BE, DO, JOINTS, say
from course_lib.text.toy.sense import beside, done_to, hangs_on, said_of, where
from course_lib.text.toy.tree import Clause, Part, Phrase, Place, Pronoun, Sentence, State

Words = Sequence[str]
PRONOUNS = frozenset({"he", "she", "it", "they"})


def translations_of(text: str) -> set[str]:
    """Every French sentence that this English one can become; none where it is not understood."""
    words = text.split()
    found = (
        say(Sentence(parts, past=past)) for past in (False, True) for parts in _parts(words, 0, "", past)
    )
    return {pair.tgt_text for pair in found if list(pair.src) == words}


def _parts(words: Words, at: int, joint: str, past: bool) -> Iterator[list[Part]]:
    for clause, end in _clauses(words, at, past):
        reasons = [(None, end)]
        if words[end : end + 1] == ["because"]:
            reasons = list(_reasons(words, end + 1, clause))
        for reason, stop in reasons:
            part = Part(clause, joint, reason)
            if stop == len(words):
                yield [part]
            elif words[stop] in JOINTS:
                yield from ([part, *rest] for rest in _parts(words, stop + 1, words[stop], past))


def _clauses(words: Words, at: int, past: bool) -> Iterator[tuple[Clause | State, int]]:
    for subject, end in _phrases(words, at):
        yield from _states(words, end, subject, subject.noun)
        yield from _deeds(words, end, subject, past)


def _states(words: Words, at: int, subject: Phrase | Pronoun, noun: Noun) -> Iterator[tuple[State, int]]:
    """`is (not) (very) cold`"""
    if not any(words[at : at + 1] == [BE[tense][subject.plural]] for tense in ("present", "past")):
        return
    negated, at = _skip(words, at + 1, "not")
    very, at = _skip(words, at, "very")
    for quality in said_of(noun):
        if words[at : at + 1] == [quality.en]:
            yield State(subject, quality, negated, very), at + 1


def _deeds(words: Words, at: int, subject: Phrase, past: bool) -> Iterator[tuple[Clause, int]]:
    """`(did not) (often) sees (the cat) (in the garden) (yesterday)`"""
    helped, at = _skip(words, at, DO["past" if past else "present"][subject.plural])
    negated, at = _skip(words, at, "not")
    often, at = _skip(words, at, "often")
    for verb in lexicon().verbs:
        said = [verb.en[0 if helped else 2 if past else 1 - subject.plural], *verb.particle.split()]
        after = at + len(said)
        if list(words[at:after]) != said or not any(left & subject.noun.tags for left, _ in verb.frames):
            continue
        things: list[tuple[Phrase | None, int]] = [(None, after)]
        if verb.transitive:
            things = [one for one in _phrases(words, after) if _fits(verb, subject, one[0])]
        for thing, end in things:
            for place, stop in [(None, end), *_places(words, end, where(verb, subject.noun), 1)]:
                for adverb, last in [(None, stop), *_adverbs(words, stop)]:
                    yield Clause(subject, verb, thing, negated, often, place, adverb), last


def _fits(verb: object, subject: Phrase, thing: Phrase) -> bool:
    return any(one is verb and left & subject.noun.tags for one, left in done_to(thing.noun))


def _reasons(words: Words, at: int, clause: Clause | State) -> Iterator[tuple[State, int]]:
    """`it was cold`, said of whatever the clause named."""
    places = [clause.place.phrase] if isinstance(clause, Clause) and clause.place else []
    if words[at : at + 1] and words[at] in PRONOUNS:
        for meant in (clause.subject, clause.object, *places):
            if isinstance(meant, Phrase):
                yield from _states(words, at + 1, Pronoun.of(meant), meant.noun)


def _phrases(words: Words, at: int, depth: int = 2) -> Iterator[tuple[Phrase, int]]:
    """`the very old house (near the river)`"""
    for determiner, plural in product(grammar().determiners, (False, True)):
        article = grammar().determiners[determiner]["en"][plural]
        if article is None or (article and words[at : at + 1] not in ([article], [article + "n"])):
            continue
        very, start = _skip(words, at + bool(article), "very")
        for noun in lexicon().nouns:
            if plural and not noun.countable:
                continue
            name = noun.en[plural].split()
            for n_adjectives in range(3):
                first = start + n_adjectives
                end = first + len(name)
                if list(words[first:end]) == name:
                    for phrase in _described(words[start:first], noun, plural, determiner, very):
                        yield phrase, end
                        for place, stop in _places(words, end, hangs_on(noun), depth - 1) if depth else ():
                            yield _with(phrase, place), stop


def _described(adjectives: Words, noun: Noun, plural: bool, determiner: str, very: bool) -> Iterator[Phrase]:
    """The noun with these adjectives: one that French puts before it, one that it puts after it."""
    chosen = [[one for one in beside(noun) if one.en == name] for name in adjectives]
    for qualities in product(*chosen):
        placed = {quality.place: quality for quality in qualities}
        if len(placed) == len(qualities):
            yield Phrase(noun, plural, determiner, placed.get("before"), placed.get("after"), very)


def _with(phrase: Phrase, place: Place) -> Phrase:
    parts = phrase.before, phrase.after, phrase.very
    return Phrase(phrase.noun, phrase.plural, phrase.determiner, *parts, behind=place)


def _places(words: Words, at: int, choices: Sequence, depth: int = 0) -> Iterator[tuple[Place, int]]:
    for preposition, grounds in choices:
        end = at + preposition.n_words
        if words[at:end] == preposition.en.split():
            for phrase, stop in _phrases(words, end, depth):
                if phrase.noun.tags & grounds:
                    yield Place(preposition, phrase), stop


def _adverbs(words: Words, at: int) -> Iterator[tuple[object, int]]:
    for adverb in grammar().adverbs:
        end = at + len(adverb.en.split())
        if list(words[at:end]) == adverb.en.split():
            yield adverb, end


def _skip(words: Words, at: int, word: str) -> tuple[bool, int]:
    """Whether this word stands here, and the place behind it."""
    here = words[at : at + 1] == [word]
    return here, at + here
