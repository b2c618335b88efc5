"""Which words go together, and which nouns compete as antecedents of a pronoun. Every answer is cached.

    >>> [verb.name for verb, _ in verbs_with_object(lexicon().noun("milk"))]
    ['like', 'drink', 'drink', 'buy', 'sell']
    >>> apple, pear = (lexicon().noun(name) for name in ("apple", "pear"))
    >>> (pear, False) in rivals(apple, False, kinds_described_by("ripe"))  # "because it was ripe": which?
    True

The generator chooses words by their tags (a cat drinks milk, not tea), but judges pronouns by the coarser
kinds: a noun is a rival as soon as any noun of its kind would fit, in English or in French.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from course_lib.text.pair import Pair
from course_lib.text.toy.lexicon import Noun, Preposition, Quality, Tags, Verb, grammar, lexicon

VerbsWithTags = tuple[tuple[Verb, Tags], ...]
PrepositionsWithTags = tuple[tuple[Preposition, Tags], ...]


class NounForm(NamedTuple):
    noun: Noun
    plural: bool


@cache
def nouns_with(tags: Tags) -> tuple[Noun, ...]:
    """The nouns that have at least one of the tags."""
    return tuple(noun for noun in lexicon().nouns if noun.tags & tags)


@cache
def adjectives_of(noun: Noun) -> tuple[Quality, ...]:
    """The adjectives that can modify it: `the cold water`."""
    return tuple(quality for quality in lexicon().qualities if quality.beside & noun.tags)


@cache
def qualities_of(noun: Noun) -> tuple[Quality, ...]:
    """The qualities it can have: `the water is cold`."""
    return tuple(quality for quality in lexicon().qualities if quality.said_of & noun.tags)


@cache
def verbs_with_subject(noun: Noun) -> VerbsWithTags:
    """The verbs it can be the subject of, with the tags of their objects."""
    return tuple((verb, right) for verb in lexicon().verbs for left, right in verb.frames if left & noun.tags)


@cache
def verbs_with_object(noun: Noun) -> VerbsWithTags:
    """The verbs it can be the object of, with the tags of their subjects."""
    return tuple((verb, left) for verb in lexicon().verbs for left, right in verb.frames if right & noun.tags)


@cache
def verb_frames(transitive: bool) -> tuple[tuple[Verb, tuple[Tags, Tags]], ...]:
    """All transitive or all intransitive verbs, once for each of their frames."""
    verbs = [verb for verb in lexicon().verbs if verb.transitive == transitive]
    return tuple((verb, frame) for verb in verbs for frame in verb.frames)


@cache
def prepositions_after(noun: Noun, verb: Verb | None = None) -> PrepositionsWithTags:
    """The prepositions that can follow a noun, or a verb with this subject, each with its object's tags."""
    return tuple(
        (preposition, right)
        for preposition in grammar().prepositions
        if (preposition.name in verb.where if verb else not preposition.verb_only)
        for left, right in preposition.frames
        if left & noun.tags
    )


# ---- how a pronoun is resolved


@cache
def kinds_described_by(quality: str) -> Tags:
    """The kinds of noun that the English word could describe, in any of its senses."""
    senses = [entry for entry in lexicon().qualities if entry.en == quality]
    tags = frozenset().union(*(entry.said_of | entry.beside for entry in senses))
    return frozenset(noun.kind for noun in nouns_with(tags)).union(*(entry.could for entry in senses))


@cache
def kinds_of_object(verb: Verb) -> Tags:
    """The kinds of noun that could be its object; `porte` means both wears and carries."""
    senses = [entry for entry in lexicon().verbs if entry.fr == verb.fr]
    kinds = frozenset(noun.kind for entry in senses for _, tags in entry.frames for noun in nouns_with(tags))
    return kinds.union(*(entry.could for entry in senses))


def pronoun_word(noun: Noun, plural: bool) -> str:
    return "they" if plural else "it" if noun.kind != "person" else "he" if noun.gender == "m" else "she"


@cache
def rivals(noun: Noun, plural: bool, kinds: Tags, either: bool = False) -> frozenset[NounForm]:
    """Other nouns of these kinds with the same English pronoun, or the same gender (`either`: any gender)."""
    word = pronoun_word(noun, plural)
    return frozenset(
        NounForm(other, plural)
        for other in lexicon().nouns
        if other is not noun and other.tags & kinds and (other.countable or not plural)
        if either or other.gender == noun.gender or pronoun_word(other, plural) == word
    )


@cache
def rivals_of_person(gender: str) -> frozenset[NounForm]:
    """What him or her could be mistaken for; animals too, since many people call them he or she."""
    return frozenset(
        NounForm(noun, False) for noun in lexicon().nouns if noun.gender == gender or noun.kind == "animal"
    )


def could_mean_the_weather(pair: Pair) -> bool:
    """Whether the pair gives a reason like "because it is hot", which English readers may misread.

    In "the hen drinks the milk because it is hot", they may take *it* for the weather, or for the hen. By the
    convention of the toy language, *it* always refers to a noun, and animals are never hot, so it is the
    milk: il est chaud. "Because it is cold" isn't counted: cold weather is no reason to drink water or milk.

    >>> words = "the hen drinks the milk because it is very hot".split()
    >>> could_mean_the_weather(Pair(tuple(words), (), antecedents=((6, 4),)))
    True
    """
    for pronoun, _ in pair.antecedents:
        if pair.src[pronoun - 1 : pronoun + 1] == ("because", "it"):
            reason = [word for word in pair.src[pronoun + 2 :] if word not in ("not", "very")]
            if reason[:1] == ["hot"]:
                return True
    return False
