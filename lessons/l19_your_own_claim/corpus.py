"""The small world: a corpus of a hundred frequent words, and its splits under a rule.

    >>> from lessons.l19_your_own_claim.rules import mirror
    >>> split_sizes(mirror)
    {'rule': 50, 'rest': 450, 'rule, long': 134, 'rest, long': 142}

Systems train on short sentences and are tested on short ones and on longer ones. A rule divides each test set
into the sentences that it changes and the rest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from course_lib.text.pair import Pair
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.data import TrainingData, encode_data
from lessons.l15_training_a_translator.short_sentences import with_frequent_words
from lessons.l19_your_own_claim.rules import Rule, apply_rule, concerns

SHORT, LONG = (3, 8), (9, 12)  # words of an English sentence
N_WORDS, N_TEST, N_VALIDATION = 100, 500, 150
TEST_SETS = ("test", "long")
ENOUGH = 30  # sentences of a split; with fewer, one sentence is worth more than three points
SPLITS = {  # the test set of a split, and whether the rule changes its sentences
    "rule": ("test", True),
    "rest": ("test", False),
    "rule, long": ("long", True),
    "rest, long": ("long", False),
}


@dataclass(frozen=True)
class World:
    """Short sentences for training, validation and test, and long ones for test."""

    train: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    test: tuple[Pair, ...]
    long: tuple[Pair, ...]


@cache
def small_world() -> World:
    """Always the same sentences, without repeats; every word of the other parts is in the training part."""
    short, longer = generate(12_000, seed=19, length=SHORT), generate(9_000, seed=20, length=LONG)
    chosen = with_frequent_words(short, N_WORDS, short + longer[:3000])
    train = chosen[N_TEST + N_VALIDATION :]
    vocabulary = {word for pair in train for word in (*pair.src, *pair.tgt)}

    def in_vocabulary(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        unique = {pair.src: pair for pair in pairs if vocabulary.issuperset((*pair.src, *pair.tgt))}
        return tuple(unique.values())

    validation, test = chosen[N_TEST : N_TEST + N_VALIDATION], chosen[:N_TEST]
    return World(tuple(train), in_vocabulary(validation), in_vocabulary(test), in_vocabulary(longer))


@cache
def new_sentences() -> dict[str, tuple[Pair, ...]]:
    """Sentences that occur nowhere in the small world, for testing a finding once more: "new" and "new, long"."""
    world = small_world()
    seen = {pair.src for part in vars(world).values() for pair in part}
    vocabulary = {word for pair in world.train for word in (*pair.src, *pair.tgt)}
    generated = {"new": generate(20_000, seed=21, length=SHORT), "new, long": generate(40_000, seed=22, length=LONG)}
    return {
        name: tuple(
            {
                pair.src: pair
                for pair in pairs
                if pair.src not in seen and vocabulary.issuperset((*pair.src, *pair.tgt))
            }.values()
        )
        for name, pairs in generated.items()
    }


def training_data(rule: Rule | None) -> TrainingData:
    """The small world under the rule, to train on."""
    world = small_world()

    def texts(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        return [pair.src_text for pair in pairs], [" ".join(apply_rule(rule, pair)) for pair in pairs]

    train = texts(world.train)
    tokenizer = WordTokenizer.from_texts([*train[0], *train[1]])
    return encode_data("small world", train, texts(world.validation), tokenizer)


def fingerprint(rule: Rule | None) -> str:
    """The same for two rules that agree on every sentence of the small world, however they are written."""
    translations = [apply_rule(rule, pair) for part in vars(small_world()).values() for pair in part]
    return hashlib.sha256(json.dumps(translations).encode()).hexdigest()[:16]


# ---- splits


def split_indices(rule: Rule) -> dict[str, tuple[str, list[int]]]:
    """For each split the name of its test set, and the indices of its sentences there."""
    world = small_world()
    changed = {name: [concerns(rule, pair) for pair in getattr(world, name)] for name in TEST_SETS}
    return {
        split: (name, [index for index, is_changed in enumerate(changed[name]) if is_changed == wanted])
        for split, (name, wanted) in SPLITS.items()
    }


def split_sizes(rule: Rule) -> dict[str, int]:
    """How many test sentences the rule changes and leaves alone, short and long."""
    return {split: len(indices) for split, (_, indices) in split_indices(rule).items()}
