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
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TypeVar

from course_lib.runtime import data_path

Tags = frozenset[str]
Frames = tuple[tuple[Tags, Tags], ...]
T = TypeVar("T")

KINDS = ("person", "animal", "food", "drink", "thing", "place")
LAST = 9
NOUN_NEEDS = f"""gender m or f, one of {", ".join(KINDS)} among its tags, and in both languages a singular, \
or a singular and a plural"""
ADJECTIVE_NEEDS = "four French forms (m, f, m plural, f plural) and a place, before or after"
VERB_NEEDS = """three English forms (see, sees, saw), two French ones (voit, voient), and an imperfect or \
its participles: four where they can agree, else one"""


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
        self.kind = next((kind for kind in KINDS if kind in self.tags), "")
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
        self.frames, self.could = read_frames(self.frames), frozenset(self.could)
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
        return _find(self.nouns, name, "noun")

    def verb(self, name: str) -> Verb:
        return _find(self.verbs, name, "verb")

    def quality(self, name: str, noun: Noun) -> Quality:
        """The word as it is said of this noun: a boy is cold (avoir froid), and so is water (être froide)."""
        for quality in self.qualities:
            if quality.en == name and quality.said_of & noun.tags:
                return quality
        raise KeyError(f"Nothing in the toy lexicon says that {noun.name!r} can be {name!r}.")


def _find(entries: Iterable, name: str, what: str):
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise KeyError(f"The toy lexicon has no {what} {name!r}. It has: {known}.")


@cache
def lexicon() -> Lexicon:
    """The words of the course."""
    return read_lexicon(data_path("toy", "lexicon.json"))


def read_lexicon(path: Path) -> Lexicon:
    """Words from a file of that form; a slip in it is named with its entry."""
    table = read_table(path, ("nouns", "adjectives", "feelings", "verbs"))
    nouns, adjectives, feelings, verbs = (
        [read_entry(path, entry, kind) for entry in table[name]]
        for name, kind in (("nouns", Noun), ("adjectives", Quality), ("feelings", Quality), ("verbs", Verb))
    )
    for noun in nouns:
        good = noun.gender in ("m", "f") and len(noun.en) == len(noun.fr) in (1, 2) and noun.kind
        _check(path, good, noun.en, NOUN_NEEDS)
    for quality in adjectives:
        good = len(quality.fr) == 4 and quality.place in ("before", "after")
        _check(path, good, quality.en, ADJECTIVE_NEEDS)
    for verb in verbs:
        n_participles = 0 if verb.lasts else 4 if verb.aux == "être" or verb.transitive else 1
        good = len(verb.en) == 3 and len(verb.fr) == 2 and len(verb.participle) == n_participles
        _check(path, good, verb.en, VERB_NEEDS)
    known = frozenset().union(*(noun.tags for noun in nouns))
    for quality in (*adjectives, *feelings):
        check_tags(path, quality.en, quality.beside | quality.said_of | quality.could, known)
    for verb in verbs:
        check_tags(path, verb.name, verb.could.union(*(left | right for left, right in verb.frames)), known)
    for names in ([noun.name for noun in nouns], [verb.name for verb in verbs]):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{path.name}: {', '.join(twice)} stands there twice. Keep one.")
    return Lexicon(tuple(nouns), (*adjectives, *feelings), tuple(verbs))


def read_table(path: Path, wanted: tuple[str, ...]) -> dict:
    """A JSON file with these tables, no more and no fewer."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name} is not JSON: {error}. Undo the last change to it.") from error
    if not isinstance(table, dict) or sorted(table) != sorted(wanted):
        came = ", ".join(table) if isinstance(table, dict) else type(table).__name__
        raise ValueError(f"{path.name} should hold the tables {', '.join(wanted)}; it holds {came}.")
    return table


def read_entry(path: Path, entry: dict, kind: type[T]) -> T:
    """An entry of the file as one of these, with its fields and no others."""
    known = fields(kind)
    missing = [one.name for one in known if one.default is MISSING and one.name not in entry]
    unknown = [name for name in entry if name not in {one.name for one in known}]
    if missing or unknown:
        what = f"{', '.join(missing)} missing" if missing else f"nobody reads {', '.join(unknown)}"
        has = ", ".join(one.name for one in known)
        raise ValueError(f"{path.name}: {what} in {entry}. A {kind.__name__} has: {has}.")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()})


def read_frames(pairs: Iterable) -> Frames:
    """`[[["person"], ["food"]]]` as sets of tags."""
    return tuple((frozenset(left), frozenset(right)) for left, right in pairs)


def check_tags(path: Path, name: str, tags: Tags, known: Tags) -> None:
    """Every tag is one that some noun has."""
    if unknown := sorted(tags - known):
        raise ValueError(
            f"{path.name}: {name!r} goes with {', '.join(unknown)}, a tag that no noun has. "
            f"There are: {', '.join(sorted(known))}."
        )


def _check(path: Path, good: object, name: object, needs: str) -> None:
    if not good:
        raise ValueError(f"{path.name}: {name!r} is not complete. It needs {needs}.")
