"""The numbers that lesson 04 quotes and no experiment records."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import mean

import torch

from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.text.pair import Pair
from course_lib.text.special import PAD
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared

SYSTEMS = ("seq2seq", "rnn_encoder_decoder")
SHORTEST, LONGEST = (1, 5), (16, 20)  # words of the English sentences


def measure() -> dict[str, dict[str, float]]:
    return {
        "thousand parameters": {name: parameters("toy_ladder", name) / 1e3 for name in SYSTEMS},
        "numbers in the context vector": {name: context_size(name) for name in SYSTEMS},
        "hidden size 512": {
            "million parameters": parameters("state_size", "512") / 1e6,
            "times the parameters": parameters("state_size", "512") / parameters("toy_ladder", "seq2seq"),
        },
        "16–20 words": margins() | mistakes(),
    }


def parameters(experiment: str, variant: str) -> float:
    return mean(run["parameters"] for run in runs(experiment) if run["variant"] == variant)


def context_size(name: str) -> int:
    """How many numbers a decoder gets from its encoder."""
    batch = make_batch([[5, 6]], [[]])
    with torch.no_grad():
        memory = shared(name).model.encode(batch.src, batch.src_lengths)
    return sum(tensor.numel() for tensor in memory.values())


def pairs_of(lengths: tuple[int, int]) -> list[Pair]:
    """The test pairs with a number of English words in this range."""
    low, high = lengths
    return [pair for pair in splits(seed=0, sizes=TEST_SIZES).test if low <= pair.length <= high]


def exact_match(lengths: tuple[int, int]) -> float:
    """Of seq2seq, as the mean over the seeds."""
    group = "–".join(map(str, lengths))
    seq2seq = [run["scores"]["test"] for run in runs("toy_ladder") if run["variant"] == "seq2seq"]
    return mean(scores["by_length"][group]["exact"] for scores in seq2seq)


def margins() -> dict[str, float]:
    """How exact the exact match of the longest sentences is, and what it would be with equally hard words.

    The margin of error is half the width of the 95% confidence interval over sentences.
    """
    share, n = exact_match(LONGEST), len(pairs_of(LONGEST))
    n_tokens = {
        lengths: mean(len(pair.tgt) + 1 for pair in pairs_of(lengths)) for lengths in (SHORTEST, LONGEST)
    }
    return {
        "margin of error": 1.96 * sqrt(share * (1 - share) / n),
        "exact match if words were equally hard": exact_match(SHORTEST)
        ** (n_tokens[LONGEST] / n_tokens[SHORTEST]),
    }


def mistakes() -> dict[str, float]:
    """What seq2seq gets wrong in the longest test sentences, with teacher forcing and autoregressively.

    All but the counts of sentences are fractions of the target positions, EOS included.
    """
    pairs = pairs_of(LONGEST)
    system = shared("seq2seq")
    encode = system.tokenizer.encode
    batch = make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])
    with torch.no_grad():
        memory = system.model.encode(batch.src, batch.src_lengths)
        forced = system.model.decode(memory, batch.tgt_in)[0].argmax(dim=-1)
    is_right, is_token = forced == batch.tgt_out, batch.tgt_out != PAD
    flawless_forced = (is_right | ~is_token).all(dim=1).tolist()

    translations = translate([pair.src_text for pair in pairs], system.model, system.tokenizer)
    texts = [translation.target for translation in translations]
    n_positions = sum(len(pair.tgt) + 1 for pair in pairs)
    n_right = sum(
        n_agreeing([*pair.tgt, "</s>"], [*text.split(), "</s>"])
        for pair, text in zip(pairs, texts, strict=True)
    )
    n_edits = sum(edit_distance(pair.tgt, text.split()) for pair, text in zip(pairs, texts, strict=True))
    flawless_free = [text == pair.tgt_text for pair, text in zip(pairs, texts, strict=True)]
    return {
        "sentences": len(pairs),
        "wrong when forced": 1 - float(is_right[is_token].double().mean()),
        "wrong when free": 1 - n_right / n_positions,
        "edits when free": n_edits / n_positions,
        "sentences without a mistake, forced": sum(flawless_forced),
        "sentences without a mistake, free": sum(flawless_free),
        "sentences in which the two differ": sum(
            forced != free for forced, free in zip(flawless_forced, flawless_free, strict=True)
        ),
    }


def n_agreeing(expected: Sequence[str], words: Sequence[str]) -> int:
    """The number of positions with the same word."""
    return sum(one == other for one, other in zip(expected, words, strict=False))


def edit_distance(source: Sequence[str], target: Sequence[str]) -> int:
    """The fewest words to insert, delete or replace.

    >>> edit_distance("le chat dort".split(), "le petit chat a dormi".split())
    3
    """
    row = list(range(len(target) + 1))
    for i, source_word in enumerate(source, start=1):
        diagonal, row[0] = row[0], i
        for j, target_word in enumerate(target, start=1):
            substituted = diagonal + (source_word != target_word)
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, substituted)
    return row[-1]
