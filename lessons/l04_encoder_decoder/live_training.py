"""What lesson 04 needs to train a small seq2seq model in half a minute: short sentences and a model.

    model = small_seq2seq(seed=0)
    for batch in short_batches(n_steps=500):
        ...                                                 # the lesson's own training step

The sentences have three to five words. The vocabulary is that of the shipped models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import torch

from course_lib.models.sutskever import Sutskever, SutskeverConfig
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import encode_corpus
from course_lib.text.pair import Pair
from course_lib.text.toy.generate import generate
from course_lib.training.console import steps_bar
from course_lib.training.data import sides
from course_lib.translation.shipped import shared

LENGTHS = (3, 5)  # words of the English sentences
N_GENERATED, N_HELD_OUT, SEED = 9000, 300, 4
EMBED, HIDDEN, TOKENS_PER_BATCH = 64, 100, 512


@cache
def _pairs() -> tuple[Pair, ...]:
    """Short sentence pairs, each English sentence once."""
    return tuple({pair.src: pair for pair in generate(N_GENERATED, seed=SEED, length=LENGTHS)}.values())


def held_out_pairs() -> tuple[Pair, ...]:
    """Pairs that the batches don't contain."""
    return _pairs()[:N_HELD_OUT]


def training_pairs(without: Sequence[str] = ()) -> list[Pair]:
    return [pair for pair in _pairs()[N_HELD_OUT:] if pair.src_text not in without]


def short_batches(*, n_steps: int, without: Sequence[str] = ()) -> Iterator[Batch]:
    """Batches to train on, with a progress bar; the sentences in `without` are left out."""
    corpus = encode_corpus(*sides(training_pairs(without)), shared("seq2seq").tokenizer)
    batches = Epochs(corpus, tokens_per_batch=TOKENS_PER_BATCH, seed=SEED)
    with steps_bar(total=n_steps) as bar:
        for _ in range(n_steps):
            yield next(batches)
            bar.update(1)


def small_seq2seq(*, seed: int) -> Sutskever:
    """An untrained seq2seq model with one layer."""
    torch.manual_seed(seed)
    vocab_size = shared("seq2seq").tokenizer.vocab_size
    return Sutskever(SutskeverConfig(vocab_size=vocab_size, embed=EMBED, hidden=HIDDEN, n_layers=1))
