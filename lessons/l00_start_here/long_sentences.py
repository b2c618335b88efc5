"""Long sentences: the one that the lesson opens with, and all test sentences of 16 to 20 words.

>>> LONG_SENTENCE in [pair.src_text for pair in long_pairs()]
True
"""

from __future__ import annotations

from functools import cache

from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped

LONG_SENTENCE = "the woman looks for the bread and the queen eats it and the sad girls do not drink the milk"
LENGTHS = range(16, 21)


@cache
def long_pairs() -> tuple[Pair, ...]:
    """The test sentences of these lengths, with their translations. No system has seen them in training."""
    return tuple(pair for pair in splits(seed=0, sizes=TEST_SIZES).test if len(pair.src) in LENGTHS)


def percent_correct(system: Shipped) -> float:
    """How many of these sentences the system translates without a mistake, in percent."""
    pairs = long_pairs()
    translations = translate([pair.src_text for pair in pairs], system.model, system.tokenizer)
    correct = [t.target == pair.tgt_text for t, pair in zip(translations, pairs, strict=True)]
    return 100 * sum(correct) / len(correct)
