"""What a sentence is made of before it is said in any language.

    >>> cat, water = (Phrase(lexicon().noun(name)) for name in ("cat", "water"))
    >>> cold = Clause(Pronoun.of(water), quality=lexicon().quality("cold", water.noun))
    >>> drank = Clause(cat, lexicon().verb("drink"), water, because=cold)

`say.py` says it: "the cat drank the water because it was cold". Whatever is said before is not said again:
the cat who drinks is in a relative clause the very phrase on which that clause hangs.
"""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.text.toy.lexicon import Adverb, Noun, Preposition, Quality, Verb


@dataclass(slots=True, eq=False)
class Phrase:
    """A noun with what belongs to it: `the very old house near the river`."""

    noun: Noun
    plural: bool = False
    determiner: str = "the"
    before: Quality | None = None  # its adjectives, by their place in French
    after: Quality | None = None
    very: bool = False  # strengthens the first adjective
    behind: Place | Clause | None = None  # `near the river`, or a relative clause: `that the boy saw`
    # For whoever draws it:
    depth: int = 0  # behind how many nouns it stands, one in the other
    closed: bool = False  # nothing may stand behind it
    role: Clause | None = None  # the clause whose subject or object it is
    sorts: frozenset[str] = frozenset()  # of what is said of it: its colour, its age

    @property
    def gender(self) -> str:
        """That of its noun."""
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
        """The pronoun for this phrase."""
        return cls(phrase.gender, phrase.plural, phrase.noun.kind == "person", phrase)

    @property
    def key(self) -> str:
        """Its row in the grammar's table."""
        if self.plural or not self.human:
            return f"{'they' if self.plural else 'it'} {self.gender}"
        return "he" if self.gender == "m" else "she"


@dataclass(slots=True, eq=False)
class Place:
    """A preposition and what follows it: `near the river`."""

    preposition: Preposition
    phrase: Phrase

    def __post_init__(self) -> None:
        self.phrase.sorts |= {self.preposition.name, *self.preposition.bars}


@dataclass(slots=True, eq=False)
class Clause:
    """Who does what to whom (`verb`, `object`), or who is how (`quality`): `the water was very cold`."""

    subject: Phrase | Pronoun
    verb: Verb | None = None
    object: Phrase | Pronoun | None = None
    quality: Quality | None = None
    negated: bool = False
    often: bool = False
    very: bool = False
    place: Place | None = None
    adverb: Adverb | None = None
    joined_by: str = ""  # and, but: what joins it to the clause before
    because: Clause | None = None  # the reason given for it
    # For whoever draws it:
    depth: int = 0
    firm: bool = False  # never to be denied

    @property
    def last(self) -> Phrase | Pronoun | None:
        """What stands at its end."""
        return self.place.phrase if self.place else self.object
