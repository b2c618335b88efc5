"""The part of the lexicon that a set of rules leaves, and who goes with whom in it.

>>> words = words_for(RULES)
>>> [verb.name for verb, _ in words.done_to[lexicon().noun("milk")]]
['like', 'drink', 'drink', 'buy', 'sell']
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from course_lib.text.toy.grammar import Preposition, grammar, starts_with_vowel
from course_lib.text.toy.lexicon import LAST, Noun, Quality, Tags, Verb, lexicon

FEW, MANY = 9, 40
ENOUGH = 5  # words for which it no longer matters how many there are


class Words:
    """The part of the lexicon that a set of rules leaves, and who goes with whom in it."""

    def __init__(self, rules: frozenset[str]) -> None:
        elision, fertility = "elision" in rules, "fertility" in rules

        def allowed(english: str, french: str) -> bool:
            even = len(english.split()) == len(french.split()) == 1
            return (fertility or even) and (elision or not starts_with_vowel(french))

        self.nouns = tuple(
            noun
            for noun in lexicon().nouns
            if allowed(noun.en[0], noun.fr[0]) and ("gender" in rules or noun.gender == "m")
        )
        self.verbs = tuple(verb for verb in lexicon().verbs if allowed(verb.name, verb.fr[0]))
        self.transitive = tuple(verb for verb in self.verbs if verb.transitive)
        self.with_object = tuple((verb, frame) for verb in self.transitive for frame in verb.frames)
        self.without_object = tuple((v, frame) for v in self.verbs if not v.transitive for frame in v.frames)
        self.prepositions = tuple(
            preposition
            for preposition in grammar().prepositions
            if (fertility or len(preposition.en) == len(preposition.fr))
            and ("contractions" in rules or preposition.fr[-1] not in ("de", "à"))
        )
        self.verb_named = {verb.name: verb for verb in self.verbs}
        self.preposition_named = {preposition.name: preposition for preposition in self.prepositions}
        self.adverbs = tuple(
            adverb for adverb in grammar().adverbs if fertility or len(adverb.en) == len(adverb.fr)
        )
        self.n_adjective_words: dict[Noun, tuple[int, ...]] = {}
        self.beside: dict[Noun, dict[str, tuple[Quality, ...]]] = {}
        self.hangs_on: dict[Noun, tuple[tuple[Preposition, Tags], ...]] = {}
        self.said_of: dict[Noun, tuple[Quality, ...]] = {}
        self.does: dict[Noun, tuple[tuple[Verb, Tags], ...]] = {}
        self.most_words: dict[Noun, int] = {}  # about as many as can be said of it
        self.does_alone: dict[Noun, tuple[tuple[Verb, Tags], ...]] = {}
        self.done_to: dict[Noun, tuple[tuple[Verb, Tags], ...]] = {}
        for noun in self.nouns:
            self._know(noun, rules)
        self.pool = cache(self._pool)
        self.before_noun = cache(self._before_noun)
        self.where = cache(self._where)
        self.does_at_length = {
            noun: tuple(one for one in does if self.pool(one[1], MANY)) for noun, does in self.does.items()
        }
        self.at_length = tuple(one for one in self.with_object if self.pool(one[1][1], MANY))
        self.done_to_people = tuple(
            (verb, subjects)
            for verb in self.transitive
            if (subjects := tuple(subject for subject, thing in verb.frames if "person" in thing))
        )
        self.first_steps = tuple(verb for verb in self.transitive if verb.step < LAST)

    def _know(self, noun: Noun, rules: frozenset[str]) -> None:
        qualities = lexicon().qualities
        fitting = [quality for quality in qualities if quality.beside & noun.tags]
        before = tuple(q for q in fitting if q.place == "before" and "adjectives_before" in rules)
        after = tuple(q for q in fitting if q.place == "after" and "adjectives_after" in rules)
        self.beside[noun] = {
            "before": before,
            "after": after,
            "any": before + after,
            "colour": tuple(q for q in after if q.colour),
            "graded": tuple(q for q in before + after if q.graded),
            "graded before": tuple(q for q in before if q.graded),
        }
        self.n_adjective_words[noun] = tuple(_adjective_words(self.beside[noun], "adverbs" in rules))
        self.hangs_on[noun] = tuple(
            (preposition, ground)
            for preposition in self.prepositions
            for head, ground in preposition.frames
            if head & noun.tags and not preposition.verb_only
        )
        self.said_of[noun] = tuple(q for q in qualities if q.is_said_of & noun.tags)
        self.does[noun] = tuple(
            (verb, thing) for verb in self.verbs for subject, thing in verb.frames if subject & noun.tags
        )
        acts = any(verb.transitive for verb, _ in self.does[noun])
        self.most_words[noun] = MANY if acts or "relatives" not in rules else FEW
        self.does_alone[noun] = tuple(
            (verb, thing) for verb, thing in self.does[noun] if not (verb.transitive or verb.needs_where)
        )
        self.done_to[noun] = tuple(
            (verb, subject) for verb in self.verbs for subject, thing in verb.frames if thing & noun.tags
        )

    def _before_noun(self, noun: Noun, rest: int, simple: bool) -> tuple[int, ...]:
        """How many of the `rest` words of a phrase can be adjectives: all, or all but two or more.

        One word alone cannot stand behind a noun; behind a simple phrase's noun stands nothing.
        """
        able = self.n_adjective_words[noun]
        return tuple(n for n in able if n == rest or (n < rest - 1 and not simple))

    def _where(self, verb: Verb, noun: Noun) -> tuple[tuple[Preposition, Tags], ...]:
        """The places a verb can happen at, for somebody like this noun."""
        return tuple(
            (preposition, ground)
            for preposition in self.prepositions
            if preposition.name in verb.where
            for head, ground in preposition.frames
            if head & noun.tags
        )

    def _pool(self, tags: Tags, room_for: int = 0) -> tuple[Noun, ...]:
        """The nouns that have any of the tags, and of which so many words can be said."""
        return tuple(n for n in self.nouns if n.tags & tags and self.most_words[n] >= room_for)


def _adjective_words(beside: dict[str, tuple[Quality, ...]], adverbs: bool) -> Iterator[int]:
    """How many words before the noun can be had: `old`; `old white` or `very old`; `very old white`."""
    yield 0
    if beside["any"]:
        yield 1
    if (beside["before"] and beside["colour"]) or (adverbs and beside["graded"]):
        yield 2
    if adverbs and beside["graded before"] and beside["colour"]:
        yield 3


@cache
def words_for(rules: frozenset[str]) -> Words:
    return Words(rules)
