"""The small words and rules of the toy language, read from `data/toy/grammar.json`.

    >>> grammar().elision["que"]
    "qu'"
    >>> starts_with_vowel("homme"), starts_with_vowel("haricot")     # l' homme, but le haricot
    (True, False)

Every rule has a name and can be switched off; then no sentence is made that would need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.runtime import data_path
from course_lib.text.toy.lexicon import Frames, read_frames, read_table

TABLES = (
    *("determiners", "pronouns", "auxiliaries", "elision", "before_vowel", "h_aspire", "contractions"),
    *("prepositions", "adverbs", "reasons", "opposites", "rules"),
)
VOWELS = frozenset("aàâeéèêëiîïoôœuùûü")


@dataclass(frozen=True, eq=False)
class Preposition:
    """Frames: what may stand there, and where. `in front of` is three English words and one French."""

    name: str
    en: tuple[str, ...]
    fr: tuple[str, ...]
    frames: Frames
    definite: bool = False  # followed by the, this: never "of some kings"
    not_some: bool = False  # "près de des" is no French
    verb_only: bool = False  # says where something happens, never which noun is meant
    head_the: bool = False  # hangs on a noun with the: never "a hat of the king"


@dataclass(frozen=True, eq=False)
class Adverb:
    en: tuple[str, ...]
    fr: tuple[str, ...]
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


@dataclass(frozen=True, eq=False)
class Grammar:
    determiners: dict[str, dict]
    pronouns: dict[str, dict]
    auxiliaries: dict[str, dict]
    elision: dict[str, str]
    before_vowel: dict[str, str]
    h_aspire: frozenset[str]
    contractions: dict[str, str]
    prepositions: tuple[Preposition, ...]
    adverbs: tuple[Adverb, ...]
    reasons: tuple[Reason, ...]
    opposites: frozenset[tuple[str, str]]  # both ways round; and whatever else is not said of one thing twice
    rules: dict[str, str]

    def may_meet(self, one: str, other: str) -> bool:
        """Whether two qualities can be said of the same thing: never "the cold water was hot"."""
        return one != other and (one, other) not in self.opposites


@cache
def grammar() -> Grammar:
    """The rules of the course."""
    return read_grammar(data_path("toy", "grammar.json"))


def read_grammar(path: Path) -> Grammar:
    """Rules from a file of that form."""
    table = read_table(path, TABLES)
    prepositions = tuple(
        Preposition(
            entry["name"],
            tuple(entry["en"]),
            tuple(entry["fr"]),
            read_frames(entry["frames"]),
            definite=entry.get("definite", False),
            not_some=entry.get("not_some", False),
            verb_only=entry.get("verb_only", False),
            head_the=entry.get("head_the", False),
        )
        for entry in table["prepositions"]
    )
    adverbs = tuple(
        Adverb(tuple(entry["en"]), tuple(entry["fr"]), tuple(map(tuple, entry["links"])), entry["tense"])
        for entry in table["adverbs"]
    )
    reasons = tuple(
        Reason(
            entry["verb"],
            tuple(entry["subject"]),
            tuple(entry["object"]),
            entry.get("where", ""),
            entry.get("object_tag", ""),
        )
        for entry in table["reasons"]
    )
    same = ("determiners", "pronouns", "auxiliaries", "elision", "before_vowel", "contractions", "rules")
    return Grammar(
        **{name: table[name] for name in same},
        h_aspire=frozenset(table["h_aspire"]),
        prepositions=prepositions,
        adverbs=adverbs,
        reasons=reasons,
        opposites=frozenset((a, b) for one, two in table["opposites"] for a, b in ((one, two), (two, one))),
    )


@cache
def starts_with_vowel(word: str) -> bool:
    """Whether a French word starts with the sound of a vowel: an h is silent unless it is aspirated."""
    return word[0] in VOWELS or (word[0] == "h" and word not in grammar().h_aspire)


RULES = frozenset(grammar().rules)


def check_rules(rules: frozenset[str]) -> frozenset[str]:
    """The same rules, or an error that names the ones there are."""
    if unknown := sorted(set(rules) - RULES):
        raise ValueError(
            f"The toy language has no rule {', '.join(unknown)}. It has: {', '.join(grammar().rules)}."
        )
    return frozenset(rules)
