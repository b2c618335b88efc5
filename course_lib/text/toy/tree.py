"""What a sentence is made of before it is said in any language.

    >>> cat, water = (Phrase(lexicon().noun(name)) for name in ("cat", "water"))
    >>> drank = Clause(cat, lexicon().verb("drink"), water)
    >>> cold = State(Pronoun.of(water), lexicon().quality("cold", water.noun))
    >>> running = Sentence([Part(drank, because=cold)], past=True)

`say.py` says it: "the cat drank the water because it was cold". Whatever is said before is not said again:
the cat who drinks is in a relative clause the very phrase on which that clause hangs.
"""

from __future__ import annotations

from collections.abc import Iterator
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

    @property
    def gender(self) -> str:
        return self.noun.gender


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


@dataclass(slots=True, eq=False)
class State:
    """Who is how: `the water was very cold`."""

    subject: Phrase | Pronoun
    quality: Quality
    negated: bool = False
    very: bool = False


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


Node = Phrase | Clause | State


def nodes(sentence: Sentence) -> Iterator[tuple[Node, int]]:
    """Every phrase and clause of a sentence, and how deep it lies: behind how many nouns, one in the other.

    `the dog [of the man [who likes the cake]] sleeps`: the cake lies at depth 2.
    """
    waiting: list[tuple[Node, int]] = [(part.clause, 0) for part in sentence.parts]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        if isinstance(node, Phrase):
            if isinstance(node.behind, Place):
                waiting.append((node.behind.phrase, depth + 1))
            elif node.behind:
                waiting += [(inner, depth + 1) for inner in _inside(node.behind.clause, node)]
                yield node.behind.clause, depth + 1
        else:
            waiting += [(inner, depth) for inner in _inside(node)]


def _inside(clause: Clause | State, head: Phrase | None = None) -> Iterator[Phrase]:
    """The phrases that are said in a clause."""
    for one in (clause.subject, *((clause.object,) if isinstance(clause, Clause) else ())):
        if isinstance(one, Phrase) and one is not head:
            yield one
    if isinstance(clause, Clause) and clause.place:
        yield clause.place.phrase


def depth(sentence: Sentence) -> int:
    """How deep the deepest phrase or clause lies."""
    return max(deep for _, deep in nodes(sentence))


def combinations(sentence: Sentence) -> tuple[tuple[str, str], ...]:
    """Which words are brought together: (adjective, noun) and (verb, object)."""
    found = []
    for node, _ in nodes(sentence):
        if isinstance(node, Phrase):
            found += [(quality.en, node.noun.name) for quality in (node.before, node.after) if quality]
        elif isinstance(node, Clause) and node.object:
            thing = node.object if isinstance(node.object, Phrase) else node.object.stands_for
            if thing:
                found.append((node.verb.name, thing.noun.name))
    return tuple(found)
