"""The numbers that lesson 04 quotes and no experiment records."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

import torch

from course_lib.results import runs
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared
from lessons.l04_encoder_decoder.one_vector_suitcase import recall

SYSTEMS = ("seq2seq", "rnn_encoder_decoder")
LONGEST = 16  # words and more, up to the 20 of the test sentences
SUITCASES = ((5, 64), (10, 128), (40, 512))  # words and numbers


def measure() -> dict[str, dict[str, float]]:
    return {
        "thousand parameters": {name: parameters("toy_ladder", name) / 1e3 for name in SYSTEMS},
        "numbers in the summary": {name: summary_size(name) for name in SYSTEMS},
        "512 numbers in a state": {
            "million parameters": parameters("state_size", "512") / 1e6,
            "times the parameters": parameters("state_size", "512") / parameters("toy_ladder", "seq2seq"),
        },
        "standard deviation over seeds": {order: deviation(order) for order in ("reversed", "in order")},
        "recalled from one vector": {f"{n} words in {d}": recall(d)[n] for n, d in SUITCASES},
        "16–20 words": mistakes(),
    }


def parameters(experiment: str, variant: str) -> float:
    return mean(run["parameters"] for run in runs(experiment) if run["variant"] == variant)


def summary_size(name: str) -> int:
    """How many numbers a decoder gets from its encoder."""
    batch = make_batch([[5, 6]], [[]])
    with torch.no_grad():
        memory = shared(name).model.encode(batch.src, batch.src_lengths)
    return sum(tensor.numel() for tensor in memory.values())


def deviation(order: str) -> float:
    """The standard deviation of the exact match over the seeds."""
    return stdev(run["scores"]["test"]["exact"] for run in runs("source_order") if run["variant"] == order)


def mistakes() -> dict[str, float]:
    """What seq2seq gets wrong in the longest test sentences, with teacher forcing and running free.

    All but the counts of sentences are fractions of the target positions, EOS included.
    """
    pairs = [pair for pair in splits(seed=0, sizes=TEST_SIZES).test if pair.length >= LONGEST]
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
