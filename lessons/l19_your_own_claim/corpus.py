"""The small world: a corpus of a hundred frequent words, and its splits under a rule.

    >>> from lessons.l19_your_own_claim.rules import mirror
    >>> split_sizes(mirror)
    {'rule': 50, 'rest': 450, 'rule, long': 134, 'rest, long': 142}

Systems train on short sentences and are tested on short ones and on longer ones. A rule divides each test set
into the sentences that it changes and the rest. New sentences, which are kept for the verdict on a claim, are
divided in the same way.
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
TEST_SETS, NEW_SETS = ("test", "long"), ("new", "new, long")  # of short sentences and of long ones
ENOUGH = 30  # sentences of a split; with fewer, one sentence is worth more than three points
SPLITS = {  # short sentences (0) or long ones (1), and whether the rule changes them
    "rule": (0, True),
    "rest": (0, False),
    "rule, long": (1, True),
    "rest, long": (1, False),
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
    """Sentences that occur nowhere in the small world, for the verdict on a claim: "new" and "new, long".

    They are longer on average than the test sentences.
    """
    world = small_world()
    seen = {pair.src for part in vars(world).values() for pair in part}
    vocabulary = {word for pair in world.train for word in (*pair.src, *pair.tgt)}
    generated = dict(
        zip(
            NEW_SETS,
            (generate(20_000, seed=21, length=SHORT), generate(40_000, seed=22, length=LONG)),
            strict=True,
        )
    )
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


def fingerprint(rule: Rule | None, *, new: bool = False) -> str:
    """The same for two rules that agree on every sentence of the small world, however they are written.

    With `new`, they also have to agree on the new sentences.
    """
    parts = [*vars(small_world()).values(), *(new_sentences().values() if new else ())]
    translations = [apply_rule(rule, pair) for part in parts for pair in part]
    return hashlib.sha256(json.dumps(translations).encode()).hexdigest()[:16]


# ---- test sets and splits


def sentences_of(test_set: str) -> tuple[Pair, ...]:
    """The sentences of a test set, by its name in `TEST_SETS` or `NEW_SETS`."""
    return new_sentences()[test_set] if test_set in NEW_SETS else getattr(small_world(), test_set)


def split_indices(rule: Rule, *, new: bool = False) -> dict[str, tuple[str, list[int]]]:
    """For each split the name of its test set, and the indices of its sentences there."""
    names = NEW_SETS if new else TEST_SETS
    changed = [[concerns(rule, pair) for pair in sentences_of(name)] for name in names]
    return {
        split: (names[is_long], [i for i, is_changed in enumerate(changed[is_long]) if is_changed == wanted])
        for split, (is_long, wanted) in SPLITS.items()
    }


def split_sizes(rule: Rule, *, new: bool = False) -> dict[str, int]:
    """How many test sentences the rule changes and leaves unchanged, short and long."""
    return {split: len(indices) for split, (_, indices) in split_indices(rule, new=new).items()}
