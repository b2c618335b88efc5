"""What a sentence is made of before it is said in any language.

>>> cat = Phrase(lexicon().noun("cat"))
>>> cat.gender, cat.plural
('m', False)
"""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.text.toy.grammar import Adverb, Preposition
from course_lib.text.toy.lexicon import Noun, Quality, Verb


@dataclass(slots=True, eq=False)
class Phrase:
    """A noun with what belongs to it: `the very old house near the river`."""

    noun: Noun
    plural: bool = False
    determiner: str = "the"
    before: Quality | None = None
    after: Quality | None = None
    very: bool = False  # strengthens the first adjective
    place: Place | None = None
    relative: Relative | None = None
    at: int = -1  # where its noun stands in the English sentence, once it is said

    @property
    def gender(self) -> str:
        return self.noun.gender

    @property
    def human(self) -> bool:
        return self.noun.human

    @property
    def qualities(self) -> list[str]:
        """What has been said of it so far."""
        found = [quality.en for quality in (self.before, self.after) if quality]
        if self.relative and isinstance(self.relative.clause, State):
            found.append(self.relative.clause.quality.en)
        return found


@dataclass(slots=True, eq=False)
class Pronoun:
    """Stands for a phrase said before; or, with none, for somebody outside the sentence."""

    gender: str
    plural: bool = False
    human: bool = True
    stands_for: Phrase | None = None

    @property
    def key(self) -> str:
        """Its row in the grammar's table."""
        if self.plural:
            return f"they {self.gender}"
        if self.human:
            return "he" if self.gender == "m" else "she"
        return f"it {self.gender}"


def pronoun_for(phrase: Phrase) -> Pronoun:
    return Pronoun(phrase.gender, phrase.plural, phrase.human, phrase)


@dataclass(slots=True, eq=False)
class Place:
    preposition: Preposition
    phrase: Phrase


@dataclass(slots=True, eq=False)
class Relative:
    """`that drank the milk` (the head does it) or `that the boy saw` (it is done to the head)."""

    clause: Clause | State
    head_is_object: bool = False


@dataclass(slots=True, eq=False)
class Clause:
    """Who does what to whom. `silent`: the subject is known and not said again."""

    subject: Phrase | Pronoun
    verb: Verb
    object: Phrase | Pronoun | None = None
    past: bool = False
    negated: bool = False
    often: bool = False
    place: Place | None = None
    adverb: Adverb | None = None
    silent: bool = False


@dataclass(slots=True, eq=False)
class State:
    """Who is how: `the water was very cold`."""

    subject: Phrase | Pronoun
    quality: Quality
    past: bool = False
    negated: bool = False
    very: bool = False
    silent: bool = False


@dataclass(slots=True, eq=False)
class Part:
    """One clause of a sentence, what joins it to the one before, and the reason given for it."""

    clause: Clause | State
    joined_by: str = ""
    because: State | None = None
