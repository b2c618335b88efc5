"""The words and rules of the toy language, read from `data/toy/lexicon.json` and `data/toy/grammar.json`.

    >>> water = lexicon().noun("water")
    >>> water.fr, water.gender, water.kind, sorted(water.tags)
    (('eau',), 'f', 'drink', ['cool', 'drink', 'lapped'])
    >>> grammar().elision["que"]
    "qu'"

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
VOWELS = frozenset("aàâeéèêëiîïoôœuùûü")


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
    particle: str = ""  # look for, look at
    # Grammar:
    where: tuple[str, ...] = ()  # the prepositions of the places where it happens
    needs_where: bool = False  # nobody just goes
    definite: bool = False  # its object is never a, some, two: nobody likes a lemonade in particular
    bare: bool = False  # its object has nothing behind it: nobody wears the hat in the box
    # Sense:
    could: Tags = frozenset()
    same_number: bool = False  # two kings do not wear one hat
    uses_up: bool = False  # nobody buys the apple that somebody ate
    moves: bool = False  # nobody takes the key in the box: is it still there?
    once: bool = False  # nobody often buys an apple, two apples: bread, or the apples
    tells: bool = False  # who fell is one of many; who slept, in the past, could be anybody
    bars: tuple[Tags, Tags] = ((), ())  # what is not said of who does it, and of what it is done to
    # Order:
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


# ---- small words and rules


@dataclass(eq=False)
class Preposition:
    """Frames: what may stand there, and where. `in front of` is three English words and one French."""

    name: str
    en: str
    fr: str
    frames: Frames
    # Grammar:
    determiners: tuple[str, ...] = ("the", "this", "a")  # those that may follow: never "près de des"
    verb_only: bool = False  # says where something happens, never which noun is meant
    head_the: bool = False  # hangs on a noun with the: never "a hat of the king"
    # Sense:
    one: bool = False  # one bird is on one bridge; who runs in the garden is not the king behind the house
    bars: tuple[str, ...] = ()  # what is not said of the place: who is in it, it is not empty

    def __post_init__(self) -> None:
        self.frames = as_frames(self.frames)
        self.n_words = len(self.en.split())


@dataclass(frozen=True, eq=False)
class Adverb:
    """Words for when: `every day`, tous les jours, with the links between them."""

    en: str
    fr: str
    links: tuple[tuple[int, int], ...]
    tense: str


@dataclass(frozen=True, eq=False)
class Reason:
    """Why one does it: what is said of who does it (hungry), and of what it is done to (ripe)."""

    verb: str
    subject: tuple[str, ...]
    object: tuple[str, ...]
    where: str = ""  # for a verb without an object: the preposition before what the reason may be said of
    object_tag: str = ""  # only for objects with this tag

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What is said of the subject, and of the object."""
        return self.subject, self.object


@dataclass(frozen=True, eq=False)
class Grammar:
    """The tables of the file. `rules` name what a sentence can show: `Pair.phenomena`."""

    determiners: dict[str, dict]
    pronouns: dict[str, dict]
    auxiliaries: dict[str, dict]
    elision: dict[str, str]
    before_vowel: dict[str, str]
    h_aspire: tuple[str, ...]
    contractions: dict[str, str]
    prepositions: tuple[Preposition, ...]
    adverbs: tuple[Adverb, ...]
    reasons: tuple[Reason, ...]
    rules: dict[str, str]

    def preposition(self, name: str) -> Preposition:
        """The preposition of this name; two are `in` in English: `in` and `part of`."""
        return next(one for one in self.prepositions if one.name == name)


@cache
def grammar() -> Grammar:
    """The rules of the course."""
    return Grammar(**read_tables("grammar.json", prepositions=Preposition, adverbs=Adverb, reasons=Reason))


@cache
def starts_with_vowel(word: str) -> bool:
    """Whether a French word starts with the sound of a vowel: an h is silent unless it is aspirated.

    >>> starts_with_vowel("homme"), starts_with_vowel("haricot")  # l' homme, but le haricot
    (True, False)
    """
    return word[0] in VOWELS or (word[0] == "h" and word not in grammar().h_aspire)


def check_rule(rule: str) -> None:
    """An error that names the rules there are, unless this is one."""
    if rule not in grammar().rules:
        raise ValueError(f"The toy language has no rule {rule}. It has: {', '.join(grammar().rules)}.")


# ---- the files


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
