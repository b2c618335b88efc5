"""The numbers that lesson 06 quotes and no experiment records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from torch import Tensor

from course_lib.text.pair import Pair
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import Translation, translate
from course_lib.translation.shipped import shared
from lessons.l06_bahdanau_attention.attention_stepper import compute
from lessons.l06_bahdanau_attention.exercises import ALIGNED_WORDS, links_one_late

IL = 8  # the step that generates it
N_SENTENCES = 60


def measure() -> dict[str, dict[str, float]]:
    pairs = splits(seed=0, sizes=TEST_SIZES).test
    step = compute(sentence="thirsty", step=IL)
    weights = {word: float(weight) for word, weight in zip(step["source"], step["weights"], strict=True)}
    return {
        "weights at il": {"thirsty": weights["thirsty"], "end": weights["</s>"], "cat": weights["cat"]},
        "links on the diagonal": {
            "all": diagonal_fraction(pairs),
            "up to five words": diagonal_fraction(pair for pair in pairs if pair.length <= 5),
        },
        "alignment error of 60 sentences": {
            "right": alignment_error(pairs[:N_SENTENCES], ALIGNED_WORDS.reference),
            "one row late": alignment_error(pairs[:N_SENTENCES], links_one_late),
        },
    }


def diagonal_fraction(pairs: Iterable[Pair]) -> float:
    """The fraction of links that join equal positions."""
    links = [link for pair in pairs for link in pair.links]
    return sum(english == french for english, french in links) / len(links)


@cache
def translations(pairs: tuple[Pair, ...]) -> list[Translation]:
    system = shared("bahdanau")
    return translate([pair.src_text for pair in pairs], system.model, system.tokenizer, with_weights=True)


def alignment_error(pairs: tuple[Pair, ...], read_off: Callable[[Tensor], Tensor]) -> float:
    """The error of the links that are read off the weights, over the sentences translated correctly."""
    n_right = n_found = n_true = 0
    for pair, translation in zip(pairs, translations(pairs), strict=True):
        if translation.target == pair.tgt_text:
            positions = read_off(translation.weights[0, 0]).tolist()
            links = {(english, french) for french, english in enumerate(positions)}
            n_right += len(links & pair.links)
            n_found, n_true = n_found + len(links), n_true + len(pair.links)
    return 1 - 2 * n_right / (n_found + n_true)
