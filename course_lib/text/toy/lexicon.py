"""The words of the toy language, read from `data/toy/lexicon.json`.

    >>> water = lexicon().noun("water")
    >>> water.fr, water.gender, sorted(water.tags)
    (('eau',), 'f', ['cool', 'drink', 'lapped'])

A tag is a small piece of knowledge about the world ("can be drunk", "has room inside"). Verbs, adjectives
and prepositions name the tags they go with, and so no cat ever buys a forest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.runtime import data_path

LAST = 9
Tags = frozenset[str]
Frames = tuple[tuple[Tags, Tags], ...]


@dataclass(eq=False)
class Noun:
    """`en` and `fr` hold the singular and, unless it cannot be counted, the plural."""

    en: tuple[str, ...]
    fr: tuple[str, ...]
    gender: str
    tags: Tags

    def __post_init__(self) -> None:
        # Worked out once: a sentence asks for them at every word.
        self.name = self.en[0]
        self.countable = len(self.en) == 2
        self.human = "person" in self.tags
        # For each number the English and the French words: `potato` is pomme, de, terre.
        self.words = [(tuple(en.split()), tuple(fr.split())) for en, fr in zip(self.en, self.fr, strict=True)]
        self.n_words = len(self.words[0][0])


@dataclass(eq=False)
class Quality:
    """What one can be: an adjective, or a feeling that French has (`thirsty`: avoir soif).

    `fr` holds m, f, m plural, f plural; a feeling has one form, and never stands beside a noun.
    """

    en: str
    fr: tuple[str, ...]
    place: str  # "before" or "after" the noun in French; "" for a feeling
    beside: Tags
    is_said_of: Tags
    before_vowel: str = ""
    colour: bool = False
    absolute: bool = False  # is or is not: never "very empty"

    def __post_init__(self) -> None:
        self.feeling = not self.place
        # Whether one can be it very much.
        self.graded = bool(self.is_said_of) and not (self.colour or self.absolute)


@dataclass(eq=False)
class Verb:
    """`en`: base, third person, past; `fr`: third person singular and plural. Frames: who does it to what."""

    en: tuple[str, str, str]
    fr: tuple[str, str]
    participle: tuple[str, ...]
    aux: str
    frames: Frames
    particle: str = ""
    where: tuple[str, ...] = ()
    needs_where: bool = False
    definite: bool = False  # its object is never a, some, two: nobody likes a lemonade in particular
    steady: bool = False  # lasts, so is not done often or every day
    bare: bool = False  # its object has nothing behind it: nobody wears the hat in the box
    step: int = LAST  # what is done to a thing in which order: looked for, found, took, washed and ate it

    def __post_init__(self) -> None:
        self.name = f"{self.en[0]} {self.particle}".strip()
        self.n_words = 2 if self.particle else 1
        self.transitive = bool(self.frames[0][1])


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
            if quality.en == name and quality.is_said_of & noun.tags:
                return quality
        raise KeyError(f"Nothing in the toy lexicon says that {noun.name!r} can be {name!r}.")


def _find(entries: Iterable, name: str, kind: str):
    for entry in entries:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in entries)
    raise KeyError(f"The toy lexicon has no {kind} {name!r}. It has: {known}.")


@cache
def lexicon() -> Lexicon:
    """The words of the course."""
    return read_lexicon(data_path("toy", "lexicon.json"))


def read_lexicon(path: Path) -> Lexicon:
    """Words from a file of that form; a slip in it is named with its entry."""
    table = read_table(path, ("nouns", "adjectives", "feelings", "verbs"))
    nouns = tuple(_noun(path, entry) for entry in table["nouns"])
    known = frozenset().union(*(noun.tags for noun in nouns))
    qualities = [_adjective(path, entry) for entry in table["adjectives"]]
    qualities += [_feeling(path, entry) for entry in table["feelings"]]
    verbs = tuple(_verb(path, entry) for entry in table["verbs"])
    for quality in qualities:
        _check_tags(path, quality.en, quality.beside | quality.is_said_of, known)
    for verb in verbs:
        for subject, thing in verb.frames:
            _check_tags(path, verb.name, subject | thing, known)
    _check_once(path, [noun.name for noun in nouns])
    _check_once(path, [verb.name for verb in verbs])
    return Lexicon(nouns, tuple(qualities), verbs)


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


def read_frames(pairs: list) -> Frames:
    """`[[["person"], ["food"]]]` as sets of tags."""
    return tuple((frozenset(left), frozenset(right)) for left, right in pairs)


def _noun(path: Path, entry: dict) -> Noun:
    en, fr, gender, tags = _take(path, entry, "en", "fr", "gender", "tags")
    if gender not in ("m", "f") or len(en) != len(fr) or len(en) not in (1, 2):
        raise ValueError(
            f"{path.name}: a noun needs gender m or f, and in both languages a singular, or a singular and "
            f"a plural. Look at {entry}."
        )
    return Noun(tuple(en), tuple(fr), gender, frozenset(tags))


def _adjective(path: Path, entry: dict) -> Quality:
    en, fr, place, beside, said = _take(path, entry, "en", "fr", "place", "with", "is")
    if len(fr) != 4 or place not in ("before", "after"):
        raise ValueError(
            f"{path.name}: an adjective needs its four French forms (m, f, m plural, f plural) and a place, "
            f"before or after. Look at {entry}."
        )
    return Quality(
        en,
        tuple(fr),
        place,
        frozenset(beside),
        frozenset(said),
        before_vowel=entry.get("before_vowel", ""),
        colour=entry.get("colour", False),
        absolute=entry.get("absolute", False),
    )


def _feeling(path: Path, entry: dict) -> Quality:
    en, fr, said = _take(path, entry, "en", "fr", "is")
    return Quality(en, (fr,), "", frozenset(), frozenset(said))


def _verb(path: Path, entry: dict) -> Verb:
    en, fr, participle, aux, frames = _take(path, entry, "en", "fr", "participle", "aux", "frames")
    agrees = aux == "être" or frames[0][1]
    if len(en) != 3 or len(fr) != 2 or len(participle) != (4 if agrees else 1):
        raise ValueError(
            f"{path.name}: a verb needs three English forms (see, sees, saw), two French ones (voit, "
            f"voient), and four participles where they can agree, else one. Look at {entry}."
        )
    return Verb(
        tuple(en),
        tuple(fr),
        tuple(participle),
        aux,
        read_frames(frames),
        particle=entry.get("particle", ""),
        where=tuple(entry.get("where", ())),
        needs_where=entry.get("needs_where", False),
        definite=entry.get("definite", False),
        steady=entry.get("steady", False),
        bare=entry.get("bare", False),
        step=entry.get("step", LAST),
    )


def _take(path: Path, entry: dict, *keys: str) -> list:
    missing = [key for key in keys if key not in entry]
    if missing:
        raise ValueError(f"{path.name}: {', '.join(missing)} missing in {entry}.")
    return [entry[key] for key in keys]


def _check_tags(path: Path, name: str, tags: Tags, known: Tags) -> None:
    if unknown := sorted(tags - known):
        raise ValueError(
            f"{path.name}: {name!r} goes with {', '.join(unknown)}, a tag that no noun has. "
            f"There are: {', '.join(sorted(known))}."
        )


def _check_once(path: Path, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path.name}: {', '.join(twice)} stands there twice. Keep one.")
