"""The syntax tree of a sentence, from which both languages are generated (`realisation.py`).

    >>> cat, water = (Phrase(lexicon().noun(name)) for name in ("cat", "water"))
    >>> cold = Clause(Pronoun.of(water), quality=lexicon().quality("cold", water.noun))
    >>> drank = Clause(cat, lexicon().verb("drink"), water, because=cold)

This is "the cat drank the water because it was cold". A phrase can occur twice in a tree and is written once:
in "the cat that drinks", the subject of the relative clause is the phrase that the clause modifies.
"""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.text.toy.lexicon import Adverb, Noun, Preposition, Quality, Verb


@dataclass(slots=True, eq=False)
class Phrase:
    """A noun phrase: `the very old house near the river`."""

    noun: Noun
    plural: bool = False
    determiner: str = "the"
    before: Quality | None = None  # the adjectives, by their position in French
    after: Quality | None = None
    very: bool = False  # modifies the first adjective
    modifier: PrepositionalPhrase | Clause | None = None  # `near the river`; a relative clause: `that he saw`
    # For the generator:
    depth: int = 0  # how many modifiers it is nested in
    closed: bool = False  # nothing may follow it
    role: Clause | None = None  # the clause whose subject or object it is
    sorts: frozenset[str] = frozenset()  # the properties it already has: a colour, an age

    @property
    def gender(self) -> str:
        return self.noun.gender

    @property
    def end(self) -> Phrase:
        """The last noun outside relative clauses: the table, in "the key on the table"."""
        return self.modifier.phrase.end if isinstance(self.modifier, PrepositionalPhrase) else self


@dataclass(slots=True, eq=False)
class Pronoun:
    """Refers to an earlier phrase or, without an antecedent, to a person outside the sentence."""

    gender: str
    plural: bool = False
    human: bool = True
    antecedent: Phrase | None = None

    @classmethod
    def of(cls, phrase: Phrase) -> Pronoun:
        return cls(phrase.gender, phrase.plural, phrase.noun.kind == "person", phrase)

    @property
    def key(self) -> str:
        """Its key in `Grammar.pronouns`."""
        if self.plural or not self.human:
            return f"{'they' if self.plural else 'it'} {self.gender}"
        return "he" if self.gender == "m" else "she"


@dataclass(slots=True, eq=False)
class PrepositionalPhrase:
    """`near the river`."""

    preposition: Preposition
    phrase: Phrase

    def __post_init__(self) -> None:
        self.phrase.sorts |= {self.preposition.name, *self.preposition.bars}


@dataclass(slots=True, eq=False)
class Clause:
    """An action (`verb`, `object`) or a state (`quality`): `the water was very cold`."""

    subject: Phrase | Pronoun
    verb: Verb | None = None
    object: Phrase | Pronoun | None = None
    quality: Quality | None = None
    negated: bool = False
    often: bool = False
    very: bool = False
    location: PrepositionalPhrase | None = None
    adverb: Adverb | None = None
    joined_by: str = ""  # and, but: the conjunction before it
    because: Clause | None = None  # the reason given for it
    # For the generator:
    depth: int = 0
    firm: bool = False  # never negated

    @property
    def last(self) -> Phrase | Pronoun | None:
        """The phrase or pronoun at its end."""
        return self.location.phrase if self.location else self.object
