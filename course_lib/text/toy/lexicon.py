"""The words and rules of the toy language, read from `data/toy/lexicon.json` and `data/toy/grammar.json`.

    >>> water = lexicon().noun("water")
    >>> water.fr, water.gender, water.kind, sorted(water.tags)
    (('eau',), 'f', 'drink', ['cool', 'drink', 'lapped'])
    >>> grammar().elision["que"]
    "qu'"

A tag is a small fact about the world ("can be drunk", "has room inside"). Verbs, adjectives and prepositions
list the tags they go with, so no cat ever buys a forest. One tag of each noun is its kind, a coarser category
that decides what a pronoun could be mistaken for. The flags of verbs and prepositions are about grammar,
sense (what is grammatical but odd: two kings who wear one hat) and order (what is done first: "found it and
ate it").
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
LAST = 9  # the step of a verb after which nothing else is done to the object
VOWELS = frozenset("aàâeéèêëiîïoôœuùûü")


@dataclass(eq=False)
class Noun:
    """`en` and `fr` hold the singular and, for a countable noun, the plural."""

    en: tuple[str, ...]
    fr: tuple[str, ...]
    gender: str
    tags: Tags

    def __post_init__(self) -> None:
        # Computed once, because the generator reads them for every word.
        self.tags = frozenset(self.tags)
        self.name = self.en[0]
        self.countable = len(self.en) == 2
        self.kind = next(kind for kind in KINDS if kind in self.tags)
        self.n_words = len(self.name.split())


@dataclass(eq=False)
class Quality:
    """An adjective, or a feeling, which French expresses with avoir (`thirsty`: avoir soif).

    `fr` holds m, f, m plural, f plural; a feeling has one form and never modifies a noun. Of the qualities
    that share a sort (hot and cold are both "heat"), a noun gets only one. `could`: kinds that it never
    describes here, although a reader could understand it that way.
    """

    en: str
    fr: tuple[str, ...]
    said_of: Tags
    place: str = ""  # "before" or "after" the noun in French; "" for a feeling
    beside: Tags = frozenset()
    before_vowel: str = ""
    sorts: Tags = frozenset()
    could: Tags = frozenset()
    graded: bool = True  # takes "very"; nothing is "very empty"

    def __post_init__(self) -> None:
        self.said_of, self.beside, self.could = map(frozenset, (self.said_of, self.beside, self.could))
        self.colour = "colour" in self.sorts
        self.sorts = frozenset({self.en, *self.sorts})


@dataclass(eq=False)
class Verb:
    """`en`: base, third person, past; `fr`: third person, singular and plural; `frames`: tags of both nouns.

    An event has a participle; a lasting state has an imperfect (`liked`: aimait) and is not done often.
    `could`: kinds that are never its object here, although a reader could understand it that way.
    """

    en: tuple[str, str, str]
    fr: tuple[str, str]
    frames: Frames
    participle: tuple[str, ...] = ()
    aux: str = ""
    imperfect: tuple[str, ...] = ()
    particle: str = ""  # look for, look at
    # Grammar:
    where: tuple[str, ...] = ()  # the prepositions that can follow it
    needs_where: bool = False  # "goes" needs a location
    definite: bool = False  # its object never takes a, some, two: not "likes a lemonade"
    bare: bool = False  # its object has no modifier after it: not "wears the hat in the box"
    # Sense:
    could: Tags = frozenset()
    same_number: bool = False  # subject and object agree in number: two kings do not wear one hat
    uses_up: bool = False  # the object is gone: not "buys the apple that the boy ate"
    moves: bool = False  # the object moves: in "takes the key in the box", where is it now?
    once: bool = False  # not "often buys an apple", but "often buys bread" or "the apples"
    tells: bool = False  # identifies its subject in the past: "the boy who fell", not "who slept"
    bars: tuple[Tags, Tags] = ((), ())  # sorts that its subject, and its object, may not have
    # Order:
    step: int = LAST  # the order of actions on an object: look for, find, take, wash, eat
    after: int = 0  # the earliest step it can follow: not "looks for the hen and sells it"

    def __post_init__(self) -> None:
        self.frames, self.could = as_frames(self.frames), frozenset(self.could)
        self.bars = tuple(map(frozenset, self.bars))
        self.name = f"{self.en[0]} {self.particle}".strip()
        self.n_words = 2 if self.particle else 1
        self.transitive = bool(self.frames[0][1])
        self.lasts = bool(self.imperfect)


@dataclass(frozen=True, eq=False)
class Lexicon:
    nouns: tuple[Noun, ...]
    qualities: tuple[Quality, ...]
    verbs: tuple[Verb, ...]

    def noun(self, name: str) -> Noun:
        return {noun.name: noun for noun in self.nouns}[name]

    def verb(self, name: str) -> Verb:
        """The verb with this English base form, including its particle: `look for`."""
        return {verb.name: verb for verb in self.verbs}[name]

    def quality(self, name: str, noun: Noun) -> Quality | None:
        """The sense that fits the noun: a boy is cold (avoir froid), and so is water (être froide)."""
        senses = (quality for quality in self.qualities if quality.en == name)
        return next((quality for quality in senses if quality.said_of & noun.tags), None)


@cache
def lexicon() -> Lexicon:
    """The words from `lexicon.json`. A missing or unknown field in an entry is a TypeError."""
    tables = read_tables("lexicon.json", nouns=Noun, adjectives=Quality, feelings=Quality, verbs=Verb)
    return Lexicon(tables["nouns"], tables["adjectives"] + tables["feelings"], tables["verbs"])


# ---- function words and rules


@dataclass(eq=False)
class Preposition:
    """`frames`: the tags of the noun before it and of the noun after it. `en` may have several words."""

    name: str
    en: str
    fr: str
    frames: Frames
    # Grammar:
    determiners: tuple[str, ...] = ("the", "this", "a")  # those that may follow it: not "près de des"
    verb_only: bool = False  # follows verbs, never nouns
    head_the: bool = False  # the noun before it takes the: not "a hat of the king"
    # Sense:
    one: bool = False  # a single location: one bird is on one bridge; a bird that runs isn't behind the house
    bars: tuple[str, ...] = ()  # sorts its object may not have: a house with a king in it isn't empty

    def __post_init__(self) -> None:
        self.frames = as_frames(self.frames)
        self.n_words = len(self.en.split())


@dataclass(frozen=True, eq=False)
class Adverb:
    """An adverbial of time, with its alignment: `every day`, tous les jours."""

    en: str
    fr: str
    links: tuple[tuple[int, int], ...]
    tense: str


@dataclass(eq=False)
class Reason:
    """Reasons for an action: names of qualities of its subject (hungry) and of its object (ripe)."""

    verb: str
    subject: tuple[str, ...]
    object: tuple[str, ...]
    where: str = ""  # for an intransitive verb: the preposition of the location that the reason can be about
    object_tag: str = ""  # only for objects with this tag

    def __post_init__(self) -> None:
        self.names = self.subject, self.object


@dataclass(frozen=True, eq=False)
class Grammar:
    """The tables of the file. `rules` describes each phenomenon that `Pair.phenomena` can list."""

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
        """The preposition with this name; `in` and `part of` are both "in" in English."""
        return next(preposition for preposition in self.prepositions if preposition.name == name)


@cache
def grammar() -> Grammar:
    return Grammar(**read_tables("grammar.json", prepositions=Preposition, adverbs=Adverb, reasons=Reason))


@cache
def starts_with_vowel(word: str) -> bool:
    """Whether a French word starts with a vowel sound; an h counts as silent unless it is aspirated.

    >>> starts_with_vowel("homme"), starts_with_vowel("haricot")  # l' homme, but le haricot
    (True, False)
    """
    return word[0] in VOWELS or (word[0] == "h" and word not in grammar().h_aspire)


def check_rule(rule: str) -> None:
    """Raise an error that lists the rules, unless this is one of them."""
    if rule not in grammar().rules:
        raise ValueError(f"The toy language has no rule {rule}. Its rules are: {', '.join(grammar().rules)}.")


# ---- the files


def read_tables(name: str, **classes: type) -> dict:
    """Read a file of `data/toy`; entries of the tables in `classes` become objects."""
    tables = json.loads(data_path("toy", name).read_text(encoding="utf-8"))
    for table, cls in classes.items():
        tables[table] = tuple(
            cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
            for entry in tables[table]
        )
    return tables


def as_frames(pairs: Iterable) -> Frames:
    """`[[["person"], ["food"]]]` as sets of tags."""
    return tuple((frozenset(left), frozenset(right)) for left, right in pairs)
