"""The small words and rules of the toy language, read from `data/toy/grammar.json`.

>>> grammar().elision["que"]
"qu'"
>>> starts_with_vowel("homme"), starts_with_vowel("haricot")  # l' homme, but le haricot
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from course_lib.text.toy.lexicon import Frames, as_frames, read_tables

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
    """Whether a French word starts with the sound of a vowel: an h is silent unless it is aspirated."""
    return word[0] in VOWELS or (word[0] == "h" and word not in grammar().h_aspire)


def check_rule(rule: str) -> None:
    """An error that names the rules there are, unless this is one."""
    if rule not in grammar().rules:
        raise ValueError(f"The toy language has no rule {rule}. It has: {', '.join(grammar().rules)}.")
