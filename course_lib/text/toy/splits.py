"""Training, validation and test sets of the toy language.

    >>> toy = splits(seed=0, sizes={"train": 100, "test": 20})
    >>> len(toy.train), len(toy.test), len(toy.long)
    (100, 20, 0)

    train           3 to 20 words, with places and relative clauses nested at most 2 deep
    validation      the same distribution, different sentences
    test            the same distribution, different sentences
    long            21 to 40 words: longer than anything in train, but no deeper
    depth           nested 3 or 4 deep: deeper than anything in train, but no longer
    recombination   known words in combinations that never occur in train: (adjective, noun), (verb, object)
    coreference     minimal pairs, one after the other: one English word differs, and il and elle are swapped

No sentence occurs twice, within a split or across splits. `coreference` starts with the running pair of the
course, so no model has been trained on it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from course_lib.text.pair import Pair
from course_lib.text.toy import stored
from course_lib.text.toy.generate import DEEP, LONGEST, USUAL, Sample, draw, minimal_pairs, running_pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.sense import adjectives_of, verbs_with_object

SIZES = {
    "train": 20_000,
    "validation": 1_000,
    "test": 1_000,
    "long": 500,
    "depth": 500,
    "recombination": 500,
    "coreference": 400,
}
# The tests are drawn first and train last, so without train they are the same, and ready sooner.
TEST_SIZES = SIZES | {"train": 0}
TESTS = ("test", "long", "depth", "recombination", "coreference")
HELD_OUT = 0.04  # the fraction of all combinations
NEVER_HELD_OUT = frozenset({("drink", "water")})  # the running pair must not need a new combination

Combination = tuple[str, str]
Pairs = tuple[Pair, ...]


@dataclass(frozen=True)
class Splits:
    """`held_out`: combinations that occur only in `recombination`, at least one in each of its sentences."""

    train: Pairs
    validation: Pairs
    test: Pairs
    long: Pairs
    depth: Pairs
    recombination: Pairs
    coreference: Pairs
    held_out: tuple[Combination, ...]


def splits(*, seed: int = 0, sizes: Mapping[str, int] = SIZES) -> Splits:
    """All splits from one seed; a split that `sizes` omits is empty."""
    if unknown := sizes.keys() - SIZES.keys():
        raise ValueError(f"Expected the names of splits ({', '.join(SIZES)}), but got {', '.join(unknown)}.")
    return _find_splits(seed, tuple((name, sizes.get(name, 0)) for name in SIZES))


@lru_cache(maxsize=8)  # drawing takes seconds; the same splits are often asked for again, and cannot change
def _find_splits(seed: int, all_sizes: tuple[tuple[str, int], ...]) -> Splits:
    """Read if they are the standard ones, or the same with fewer of train, which is drawn last."""
    sizes = dict(all_sizes)
    pairs = stored.read(sizes) if seed == 0 and sizes | {"train": 0} == TEST_SIZES else None
    if pairs is None:
        return draw_splits(seed, sizes)
    return Splits(**pairs, held_out=tuple(sorted(_hold_out(random.Random(seed)))))


def draw_splits(seed: int, sizes: Mapping[str, int]) -> Splits:
    """The same as `splits`, but always drawn, even if they are stored."""
    rng = random.Random(seed)
    held_out = _hold_out(rng)
    pairs: dict[str, list[Pair]] = {name: [] for name in SIZES} | {"coreference": [*running_pair()]}
    seen = {pair.src for pair in running_pair()}  # never in another split, even if `coreference` is empty

    def collect(names: tuple[str, ...], stream: Iterable[tuple[Sample, ...]]) -> None:
        """Fill these splits in turn; held-out combinations go to `recombination` or nowhere."""
        while unfilled := [name for name in names if len(pairs[name]) < sizes.get(name, 0)]:
            group = next(stream)
            is_new = any(not held_out.isdisjoint(sample.combinations) for sample in group)
            name = next((name for name in unfilled if (name == "recombination") == is_new), None)
            sources = {sample.pair.src for sample in group}
            if name and seen.isdisjoint(sources):
                seen.update(sources)
                pairs[name] += [sample.pair for sample in group]

    # The tests first, then the splits that must differ from them.
    collect(("coreference",), minimal_pairs(rng, length=(9, 16)))
    del pairs["coreference"][sizes.get("coreference", 0) :]
    collect(("long",), zip(draw(rng, length=(USUAL[1] + 1, LONGEST))))
    # Shorter sentences are hardly ever 3 deep.
    collect(("depth",), zip(draw(rng, length=(14, USUAL[1]), nesting=DEEP)))
    collect(("recombination", "validation", "test", "train"), zip(draw(rng, length=USUAL)))
    return Splits(**{name: tuple(pairs[name]) for name in SIZES}, held_out=tuple(sorted(held_out)))


def _hold_out(rng: random.Random) -> frozenset[Combination]:
    """A random sample of the combinations, but always less than half of those of any word."""
    nouns = lexicon().nouns
    possible = [(quality.en, noun.name) for noun in nouns for quality in adjectives_of(noun)]
    possible += [(verb.name, noun.name) for noun in nouns for verb, _ in verbs_with_object(noun)]
    possible = [combination for combination in dict.fromkeys(possible) if combination not in NEVER_HELD_OUT]
    n_possible = Counter(word for combination in possible for word in combination)
    n_held_out: Counter[str] = Counter()
    held_out: list[Combination] = []
    while len(held_out) < HELD_OUT * len(possible):
        new = possible[int(rng.random() * len(possible))]
        if new not in held_out and all(2 * (n_held_out[word] + 1) < n_possible[word] for word in new):
            held_out.append(new)
            n_held_out.update(new)
    return frozenset(held_out)
