"""The words of the toy language, read from `data/toy/lexicon.json`.

    >>> water = lexicon().noun("water")
    >>> water.fr, water.gender, water.kind, sorted(water.tags)
    (('eau',), 'f', 'drink', ['cool', 'drink', 'lapped'])

A tag is a small piece of knowledge about the world ("can be drunk", "has room inside"). Verbs, adjectives
and prepositions name the tags they go with, and so no cat ever buys a forest. One tag of each noun is its
kind: coarser knowledge, which says what a pronoun could be mistaken for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from course_lib.runtime import data_path

Tags = frozenset[str]
Frames = tuple[tuple[Tags, Tags], ...]

KINDS = ("person", "animal", "food", "drink", "thing", "place")
LAST = 9


@dataclass(eq=False)
class Noun:
    """`en` and `fr` hold the singular and, unless it cannot be counted, the plural."""

    en: tuple[str, ...]
    fr: tuple[str, ...]
    gender: str
    tags: Tags

    def __post_init__(self) -> None:
        # Worked out once: a sentence asks for them at every word.
        self.tags = frozenset(self.tags)
        self.name = self.en[0]
        self.countable = len(self.en) == 2
        self.kind = next(kind for kind in KINDS if kind in self.tags)
        self.n_words = len(self.name.split())


@dataclass(eq=False)
class Quality:
    """What one can be: an adjective, or a feeling that French has (`thirsty`: avoir soif).

    `fr` holds m, f, m plural, f plural; a feeling has one form, and never stands beside a noun. Of what
    shares a sort (hot and cold are both "heat") only one is said of a thing. `could`: kinds of which it is
    never said here, but of which a reader could understand it.
    """

    en: str
    fr: tuple[str, ...]
    said_of: Tags
    place: str = ""  # "before" or "after" the noun in French; "" for a feeling
    beside: Tags = frozenset()
    before_vowel: str = ""
    sorts: Tags = frozenset()
    could: Tags = frozenset()
    graded: bool = True  # can be very much so; nothing is "very empty"

    def __post_init__(self) -> None:
        self.said_of, self.beside, self.could = map(frozenset, (self.said_of, self.beside, self.could))
        self.colour = "colour" in self.sorts
        self.sorts = frozenset({self.en, *self.sorts})


@dataclass(eq=False)
class Verb:
    """`en`: base, third person, past; `fr`: third person singular and plural. Frames: who does it to what.

    What happens has a participle; what lasts has an imperfect (`liked`: aimait), and is not done often.
    `could`: kinds to which it is never done here, but of which a reader could understand it.
    """

    en: tuple[str, str, str]
    fr: tuple[str, str]
    frames: Frames
    participle: tuple[str, ...] = ()
    aux: str = ""
    imperfect: tuple[str, ...] = ()
    could: Tags = frozenset()
    particle: str = ""
    where: tuple[str, ...] = ()
    needs_where: bool = False
    definite: bool = False  # its object is never a, some, two: nobody likes a lemonade in particular
    bare: bool = False  # its object has nothing behind it: nobody wears the hat in the box
    same_number: bool = False  # two kings do not wear one hat
    uses_up: bool = False  # nobody buys the apple that somebody ate
    moves: bool = False  # nobody takes the key in the box: is it still there?
    once: bool = False  # nobody often buys an apple, two apples: bread, or the apples
    tells: bool = False  # who fell is one of many; who slept, in the past, could be anybody
    bars: tuple[Tags, Tags] = ((), ())  # what is not said of who does it, and of what it is done to
    step: int = LAST  # what is done to a thing in which order: looked for, found, took, washed and ate it
    after: int = 0  # the step that comes before it at least: nobody looks for the hen and sells it

    def __post_init__(self) -> None:
        self.frames, self.could = as_frames(self.frames), frozenset(self.could)
        self.bars = tuple(map(frozenset, self.bars))
        self.name = f"{self.en[0]} {self.particle}".strip()
        self.n_words = 2 if self.particle else 1
        self.transitive = bool(self.frames[0][1])
        self.lasts = bool(self.imperfect)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words of the course, each kind in the order of the file."""

    nouns: tuple[Noun, ...]
    qualities: tuple[Quality, ...]
    verbs: tuple[Verb, ...]

    def noun(self, name: str) -> Noun:
        """The noun of this name."""
        return {noun.name: noun for noun in self.nouns}[name]

    def verb(self, name: str) -> Verb:
        """The verb of this name, with its particle: `look for`."""
        return {verb.name: verb for verb in self.verbs}[name]

    def quality(self, name: str, noun: Noun) -> Quality:
        """The word as it is said of this noun: a boy is cold (avoir froid), and so is water (être froide)."""
        return next(one for one in self.qualities if one.en == name and one.said_of & noun.tags)


@cache
def lexicon() -> Lexicon:
    """The words of the course. An entry with a field that nobody knows, or without one, is a TypeError."""
    table = read_tables("lexicon.json", nouns=Noun, adjectives=Quality, feelings=Quality, verbs=Verb)
    return Lexicon(table["nouns"], table["adjectives"] + table["feelings"], table["verbs"])


def read_tables(name: str, **kinds: type) -> dict:
    """A file of `data/toy`; the entries of the tables named here become objects."""
    table = json.loads(data_path("toy", name).read_text(encoding="utf-8"))
    for one, kind in kinds.items():
        table[one] = tuple(
            kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
            for entry in table[one]
        )
    return table


def as_frames(pairs: Iterable) -> Frames:
    """`[[["person"], ["food"]]]` as sets of tags."""
    return tuple((frozenset(left), frozenset(right)) for left, right in pairs)
