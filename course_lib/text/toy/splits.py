"""Sentences to learn from, and five ways to be tested.

    >>> toy = splits(seed=0, sizes={"train": 100, "test": 20})
    >>> len(toy.train), len(toy.test), len(toy.long)
    (100, 20, 0)

    train           3 to 20 words
    validation      the same kind, other sentences
    test            the same kind, other sentences
    long            21 to 40 words: longer than anything in train
    recombination   known words in combinations that train never shows: (adjective, noun), (verb, object)
    coreference     minimal pairs, one behind the other: one English word differs, and il and elle flip

No sentence stands twice, in one split or in two. The running pair of the course opens `coreference`, so no
model has ever trained on it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from course_lib.text.pair import Pair
from course_lib.text.toy.choices import words_for
from course_lib.text.toy.generate import ALL, LONGEST, USUAL, Drawn, draw, minimal_pairs, running_pair

SIZES = {
    "train": 20_000,
    "validation": 1_000,
    "test": 1_000,
    "long": 500,
    "recombination": 500,
    "coreference": 400,
}
# Tests are drawn before what must differ from them, so they are the same without it, and sooner there.
SIZES_OF_TESTS = SIZES | {"train": 0}
TESTS = ("test", "long", "recombination", "coreference")
TRAIN_LENGTH = USUAL
LONG_LENGTH = (USUAL[1] + 1, LONGEST)
COREFERENCE_LENGTH = (9, 16)
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
    recombination: tuple[Pair, ...]
    coreference: tuple[Pair, ...]
    held_out: tuple[Combination, ...]


def splits(*, seed: int = 0, sizes: Mapping[str, int] = SIZES) -> Splits:
    """All splits from one seed; a split that `sizes` leaves out is empty."""
    _check(sizes)
    rng = random.Random(seed)
    held_out = _hold_out(rng)
    new = _New()
    found: dict[str, list[Pair]] = {name: [] for name in SIZES}
    # First the tests, then what must differ from them.
    found["coreference"] = _coreference(rng, sizes.get("coreference", 0), held_out, new)
    _collect(draw(rng, length=LONG_LENGTH), {"long": sizes.get("long", 0)}, found, held_out, new)
    wanted = {name: sizes.get(name, 0) for name in ("recombination", "validation", "test", "train")}
    _collect(draw(rng, length=TRAIN_LENGTH), wanted, found, held_out, new)
    return Splits(**{name: tuple(pairs) for name, pairs in found.items()}, held_out=tuple(sorted(held_out)))


class _New:
    """Says of each sentence whether it is the first time: `new(pair)`."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, ...]] = set()

    def __call__(self, *pairs: Pair) -> bool:
        if any(pair.src in self.seen for pair in pairs):
            return False
        self.seen.update(pair.src for pair in pairs)
        return True


def _collect(
    stream: Iterable[Drawn],
    wanted: dict[str, int],
    found: dict[str, list[Pair]],
    held_out: frozenset[Combination],
    new: _New,
) -> None:
    """Fill these splits in turn; combinations that are held out go to their own split or nowhere."""
    known = [name for name in wanted if name != "recombination"]
    for drawn in stream:
        if held_out.isdisjoint(drawn.combinations):
            open_splits = [name for name in known if len(found[name]) < wanted[name]]
        else:
            open_splits = [name for name in ("recombination",) if len(found[name]) < wanted.get(name, 0)]
        if open_splits and new(drawn.pair):
            found[open_splits[0]].append(drawn.pair)
        if all(len(found[name]) >= wanted[name] for name in wanted):
            return


def _coreference(rng: random.Random, n: int, held_out: frozenset[Combination], new: _New) -> list[Pair]:
    running = running_pair()
    new(*running)  # kept out of every other split, whatever is asked for
    found = list(running)
    stream = minimal_pairs(rng, length=COREFERENCE_LENGTH)
    while len(found) < n:
        first, second = next(stream)
        if held_out.isdisjoint(first.combinations) and new(first.pair, second.pair):
            found += [first.pair, second.pair]
    return found[:n]


def _hold_out(rng: random.Random) -> frozenset[Combination]:
    """Some of the combinations, but never half of what a word can be combined with."""
    words = words_for(ALL)
    possible = [(q.en, noun.name) for noun in words.nouns for q in words.beside[noun]["any"]]
    possible += [(verb.name, noun.name) for noun in words.nouns for verb, _ in words.done_to[noun]]
    possible = [one for one in dict.fromkeys(possible) if one not in SPARED]
    uses = Counter(word for one in possible for word in one)
    lost: Counter[str] = Counter()
    chosen = []
    while len(chosen) < HELD_OUT * len(possible):
        one = possible[int(rng.random() * len(possible))]
        if one not in chosen and all(2 * (lost[word] + 1) < uses[word] for word in one):
            chosen.append(one)
            lost.update(one)
    return frozenset(chosen)


def _check(sizes: Mapping[str, int]) -> None:
    names = [field.name for field in fields(Splits) if field.name != "held_out"]
    if unknown := [name for name in sizes if name not in names]:
        raise ValueError(f"There is no split {', '.join(unknown)}. There are: {', '.join(names)}.")
    if wrong := {name: size for name, size in sizes.items() if size < 0}:
        raise ValueError(f"A split has 0 sentences or more; sizes asks for {wrong}.")
    if sizes.get("coreference", 0) % 2:
        raise ValueError(
            f"Coreference sentences come in pairs, so their number is even; it was {sizes['coreference']}."
        )
