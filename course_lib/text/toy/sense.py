"""Who goes with whom, and what a pronoun could be mistaken for. All of it is looked up once and remembered.

    >>> [verb.name for verb, _ in done_to(lexicon().noun("milk"))]
    ['like', 'drink', 'drink', 'buy', 'sell']
    >>> apple, pear = (lexicon().noun(name) for name in ("apple", "pear"))
    >>> (pear, False) in rivals(apple, False, could_be("ripe"))     # "because it was ripe": which of the two?
    True

Sense is fine where words are chosen (a cat drinks milk, not tea) and coarse where a pronoun is understood: a
noun is a rival as soon as one of its kind would do, in English or in French.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from course_lib.text.toy.lexicon import Noun, Preposition, Quality, Tags, Verb, grammar, lexicon

With = tuple[tuple[Verb, Tags], ...]


class Counted(NamedTuple):
    """A noun, and whether it is plural."""

    noun: Noun
    plural: bool


@cache
def pool(tags: Tags) -> tuple[Noun, ...]:
    """The nouns that have any of the tags."""
    return tuple(noun for noun in lexicon().nouns if noun.tags & tags)


@cache
def beside(noun: Noun) -> tuple[Quality, ...]:
    """The adjectives that stand beside it."""
    return tuple(quality for quality in lexicon().qualities if quality.beside & noun.tags)


@cache
def said_of(noun: Noun) -> tuple[Quality, ...]:
    """What it can be."""
    return tuple(quality for quality in lexicon().qualities if quality.said_of & noun.tags)


@cache
def does(noun: Noun) -> With:
    """What it does, and to what."""
    return tuple((verb, right) for verb in lexicon().verbs for left, right in verb.frames if left & noun.tags)


@cache
def done_to(noun: Noun) -> With:
    """What is done to it, and by whom."""
    return tuple((verb, left) for verb in lexicon().verbs for left, right in verb.frames if right & noun.tags)


@cache
def frames(transitive: bool) -> tuple[tuple[Verb, tuple[Tags, Tags]], ...]:
    """Every verb with, or without, an object, once for each of its frames."""
    return tuple((v, frame) for v in lexicon().verbs if v.transitive == transitive for frame in v.frames)


@cache
def hangs_on(noun: Noun) -> tuple[tuple[Preposition, Tags], ...]:
    """The prepositions that say which one is meant, and what follows them."""
    return tuple(one for one in _places(noun) if not one[0].verb_only)


@cache
def where(verb: Verb, noun: Noun) -> tuple[tuple[Preposition, Tags], ...]:
    """The places a verb can happen at, for somebody like this noun."""
    return tuple(one for one in _places(noun) if one[0].name in verb.where)


def _places(noun: Noun) -> list[tuple[Preposition, Tags]]:
    return [(one, right) for one in grammar().prepositions for left, right in one.frames if left & noun.tags]


# ---- how a pronoun is understood


@cache
def could_be(quality: str) -> Tags:
    """The kinds of which the English word could be said, in whatever sense."""
    alike = [one for one in lexicon().qualities if one.en == quality]
    tags = frozenset().union(*(one.said_of | one.beside for one in alike))
    return frozenset(noun.kind for noun in pool(tags)).union(*(one.could for one in alike))


@cache
def could_be_done_to(verb: Verb) -> Tags:
    """The kinds to which this could be done; `porte` is wears and carries."""
    alike = [one for one in lexicon().verbs if one.fr == verb.fr]
    done = frozenset(noun.kind for one in alike for _, things in one.frames for noun in pool(things))
    return done.union(*(one.could for one in alike))


def pronoun_word(noun: Noun, plural: bool) -> str:
    return "they" if plural else "it" if noun.kind != "person" else "he" if noun.gender == "m" else "she"


@cache
def rivals(noun: Noun, plural: bool, kinds: Tags, either: bool = False) -> frozenset[Counted]:
    """What else of these kinds its pronoun could mean: by the English word, or a French gender that shows."""
    word = pronoun_word(noun, plural)
    return frozenset(
        Counted(other, plural)
        for other in lexicon().nouns
        if other is not noun and other.tags & kinds and (other.countable or not plural)
        if either or other.gender == noun.gender or pronoun_word(other, plural) == word
    )


@cache
def rivals_of_somebody(gender: str) -> frozenset[Counted]:
    """What him or her, said of nobody in the sentence, could mean; to many an animal is he or she."""
    return frozenset(
        Counted(noun, False) for noun in lexicon().nouns if noun.gender == gender or noun.kind == "animal"
    )
