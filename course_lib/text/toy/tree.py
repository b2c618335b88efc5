"""What a sentence is made of before it is said in any language.

    >>> cat, water = (Phrase(lexicon().noun(name)) for name in ("cat", "water"))
    >>> drank = Clause(cat, lexicon().verb("drink"), water)
    >>> cold = State(Pronoun.of(water), lexicon().quality("cold", water.noun))
    >>> running = Sentence([Part(drank, because=cold)], past=True)

`say.py` says it: "the cat drank the water because it was cold". Whatever is said before is not said again:
the cat who drinks is in a relative clause the very phrase on which that clause hangs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from course_lib.text.toy.grammar import Adverb, Preposition
from course_lib.text.toy.lexicon import Noun, Quality, Verb


@dataclass(slots=True, eq=False)
class Phrase:
    """A noun with what belongs to it: `the very old house near the river`."""

    noun: Noun
    plural: bool = False
    determiner: str = "the"
    before: Quality | None = None  # its adjectives, by their place in French
    after: Quality | None = None
    very: bool = False  # strengthens the first adjective
    behind: Place | Relative | None = None
    # For whoever draws it:
    depth: int = 0  # behind how many nouns it stands, one in the other
    closed: bool = False  # nothing may stand behind it
    role: Clause | State | None = None  # the clause whose subject or object it is
    sorts: frozenset[str] = frozenset()  # of what is said of it: its colour, its age

    @property
    def gender(self) -> str:
        return self.noun.gender

    @property
    def end(self) -> Phrase:
        """The last noun but for relative clauses: of the key on the table, the table."""
        return self.behind.phrase.end if isinstance(self.behind, Place) else self


@dataclass(slots=True, eq=False)
class Pronoun:
    """Stands for a phrase said before; or, with none, for somebody outside the sentence."""

    gender: str
    plural: bool = False
    human: bool = True
    stands_for: Phrase | None = None

    @classmethod
    def of(cls, phrase: Phrase) -> Pronoun:
        return cls(phrase.gender, phrase.plural, phrase.noun.kind == "person", phrase)

    @property
    def key(self) -> str:
        """Its row in the grammar's table."""
        if self.plural:
            return f"they {self.gender}"
        if self.human:
            return "he" if self.gender == "m" else "she"
        return f"it {self.gender}"


@dataclass(slots=True, eq=False)
class Place:
    preposition: Preposition
    phrase: Phrase

    def __post_init__(self) -> None:
        self.phrase.sorts |= {self.preposition.name, *self.preposition.bars}


@dataclass(slots=True, eq=False)
class Clause:
    """Who does what to whom."""

    subject: Phrase | Pronoun
    verb: Verb
    object: Phrase | Pronoun | None = None
    negated: bool = False
    often: bool = False
    place: Place | None = None
    adverb: Adverb | None = None
    depth: int = 0
    firm: bool = False  # never to be denied

    @property
    def last(self) -> Phrase | Pronoun | None:
        return self.place.phrase if self.place else self.object


@dataclass(slots=True, eq=False)
class State:
    """Who is how: `the water was very cold`."""

    subject: Phrase | Pronoun
    quality: Quality
    negated: bool = False
    very: bool = False
    depth: int = 0
    firm: bool = False
    object = None  # nothing is done


@dataclass(slots=True, eq=False)
class Relative:
    """`that drank the milk` or `that the boy saw`: the head is the subject or the object of the clause."""

    clause: Clause | State


@dataclass(slots=True, eq=False)
class Part:
    """One clause of a sentence, what joins it to the one before, and the reason given for it."""

    clause: Clause | State
    joined_by: str = ""
    because: State | None = None


@dataclass(slots=True, eq=False)
class Sentence:
    parts: list[Part] = field(default_factory=list)
    past: bool = False
    question: bool = False
