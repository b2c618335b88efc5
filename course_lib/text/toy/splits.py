"""Sentences to learn from, and six ways to be tested.

    >>> toy = splits(seed=0, sizes={"train": 100, "test": 20})
    >>> len(toy.train), len(toy.test), len(toy.long)
    (100, 20, 0)

    train           3 to 20 words, places and relative clauses at most 2 deep, one in the other
    validation      the same kind, other sentences
    test            the same kind, other sentences
    long            21 to 40 words: longer than anything in train, and no deeper
    depth           3 or 4 deep: deeper than anything in train, and no longer
    recombination   known words in combinations that train never shows: (adjective, noun), (verb, object)
    coreference     minimal pairs, one behind the other: one English word differs, and il and elle flip

No sentence stands twice, in one split or in two. The running pair of the course opens `coreference`, so no
model has ever trained on it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course_lib.text.pair import Pair
from course_lib.text.toy.generate import DEEP, LONGEST, USUAL, Drawn, draw, minimal_pairs, running_pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.sense import beside, done_to

SIZES = {
    "train": 20_000,
    "validation": 1_000,
    "test": 1_000,
    "long": 500,
    "depth": 500,
    "recombination": 500,
    "coreference": 400,
}
# Tests are drawn before what must differ from them, so they are the same without it, and sooner there.
SIZES_OF_TESTS = SIZES | {"train": 0}
TESTS = ("test", "long", "depth", "recombination", "coreference")
HELD_OUT = 0.04  # of all combinations
SPARED = frozenset({("drink", "water")})  # the running pair must not need a new combination

Combination = tuple[str, str]


@dataclass(frozen=True)
class Splits:
    """`held_out` are the combinations that only `recombination` shows, one or more in each sentence of it."""

    train: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    test: tuple[Pair, ...]
    long: tuple[Pair, ...]
    depth: tuple[Pair, ...]
    recombination: tuple[Pair, ...]
    coreference: tuple[Pair, ...]
    held_out: tuple[Combination, ...]


def splits(*, seed: int = 0, sizes: Mapping[str, int] = SIZES) -> Splits:
    """All splits from one seed; a split that `sizes` leaves out is empty. Coreference comes in pairs."""
    if unknown := sizes.keys() - SIZES.keys():
        raise ValueError(f"There is no split {', '.join(unknown)}. There are: {', '.join(SIZES)}.")
    rng = random.Random(seed)
    held_out = _hold_out(rng)
    found: dict[str, list[Pair]] = {name: [] for name in SIZES} | {"coreference": [*running_pair()]}
    seen = {pair.src for pair in running_pair()}  # kept out of every other split, whatever is asked for

    def collect(names: tuple[str, ...], stream: Iterable[tuple[Drawn, ...]]) -> None:
        """Fill these splits in turn; combinations that are held out go to their own split or nowhere."""
        while missing := [name for name in names if len(found[name]) < sizes.get(name, 0)]:
            drawn = next(stream)
            fresh = any(not held_out.isdisjoint(one.combinations) for one in drawn)
            name = next((name for name in missing if (name == "recombination") == fresh), None)
            texts = {one.pair.src for one in drawn}
            if name and seen.isdisjoint(texts):
                seen.update(texts)
                found[name] += [one.pair for one in drawn]

    # First the tests, then what must differ from them.
    collect(("coreference",), minimal_pairs(rng, length=(9, 16)))
    del found["coreference"][sizes.get("coreference", 0) :]
    collect(("long",), zip(draw(rng, length=(USUAL[1] + 1, LONGEST))))
    collect(("depth",), zip(draw(rng, length=(14, USUAL[1]), nesting=DEEP)))  # fewer words hardly go 3 deep
    collect(("recombination", "validation", "test", "train"), zip(draw(rng, length=USUAL)))
    return Splits(**{name: tuple(pairs) for name, pairs in found.items()}, held_out=tuple(sorted(held_out)))


def _hold_out(rng: random.Random) -> frozenset[Combination]:
    """Some of the combinations, but never half of what a word can be combined with."""
    nouns = lexicon().nouns
    possible = [(quality.en, noun.name) for noun in nouns for quality in beside(noun)]
    possible += [(verb.name, noun.name) for noun in nouns for verb, _ in done_to(noun)]
    possible = [one for one in dict.fromkeys(possible) if one not in SPARED]
    uses = Counter(word for one in possible for word in one)
    lost: Counter[str] = Counter()
    chosen: list[Combination] = []
    while len(chosen) < HELD_OUT * len(possible):
        one = possible[int(rng.random() * len(possible))]
        if one not in chosen and all(2 * (lost[word] + 1) < uses[word] for word in one):
            chosen.append(one)
            lost.update(one)
    return frozenset(chosen)
