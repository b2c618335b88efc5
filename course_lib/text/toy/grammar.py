"""The small words and rules of the toy language, read from `data/toy/grammar.json`.

>>> grammar().elision["que"]
"qu'"
>>> starts_with_vowel("homme"), starts_with_vowel("haricot")  # l' homme, but le haricot
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from course_lib.runtime import data_path
from course_lib.text.toy.lexicon import Frames, Tags, check_tags, lexicon, read_entry, read_frames, read_table

VOWELS = frozenset("aàâeéèêëiîïoôœuùûü")


@dataclass(eq=False)
class Preposition:
    """Frames: what may stand there, and where. `in front of` is three English words and one French."""

    name: str
    en: str
    fr: str
    frames: Frames
    determiners: tuple[str, ...] = ("the", "this", "a")  # those that may follow: never "près de des"
    verb_only: bool = False  # says where something happens, never which noun is meant
    one: bool = False  # one bird is on one bridge; who runs in the garden is not the king behind the house
    head_the: bool = False  # hangs on a noun with the: never "a hat of the king"
    bars: tuple[str, ...] = ()  # what is not said of the place: who is in it, it is not empty

    def __post_init__(self) -> None:
        self.frames = read_frames(self.frames)
        self.n_words = len(self.en.split())


@dataclass(frozen=True, eq=False)
class Adverb:
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
        return next(one for one in self.prepositions if one.name == name)


@cache
def grammar() -> Grammar:
    """The rules of the course."""
    return read_grammar(data_path("toy", "grammar.json"))


def read_grammar(path: Path) -> Grammar:
    """Rules from a file of that form."""
    table = read_table(path, tuple(field.name for field in fields(Grammar)))
    for name, kind in (("prepositions", Preposition), ("adverbs", Adverb), ("reasons", Reason)):
        table[name] = tuple(read_entry(path, entry, kind) for entry in table[name])
    known: Tags = frozenset().union(*(noun.tags for noun in lexicon().nouns))
    for one in table["prepositions"]:
        check_tags(path, one.name, frozenset().union(*(head | ground for head, ground in one.frames)), known)
    return Grammar(**table)


@cache
def starts_with_vowel(word: str) -> bool:
    """Whether a French word starts with the sound of a vowel: an h is silent unless it is aspirated."""
    return word[0] in VOWELS or (word[0] == "h" and word not in grammar().h_aspire)


def check_rule(rule: str) -> str:
    """The same rule, or an error that names the ones there are."""
    if rule not in grammar().rules:
        raise ValueError(f"The toy language has no rule {rule}. It has: {', '.join(grammar().rules)}.")
    return rule
