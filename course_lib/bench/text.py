"""What it costs to make and to read text: `python3 -m course_lib bench text`.

The toy language needs nothing but the course. Multi30k is measured where it is at hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import fmean
from typing import TypeVar

from course_lib.bench.frame import columns, machine
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.encoded import encode_corpus
from course_lib.text.multi30k import load_multi30k
from course_lib.text.toy.generate import LONGEST, SHORTEST, USUAL, generate

N_PAIRS, LENGTHS = 20_000, (USUAL, (SHORTEST, LONGEST))
VOCAB_SIZE, SEED = 8000, 0

ABOUT = f"""\
toy       sentences of the toy language with their gold alignment; seed {SEED}.
Multi30k  the training captions, German and English; the batches of one epoch, free and of fixed lengths.
seconds   one run, by the clock on the wall."""

T = TypeVar("T")


def run(folder: str | None = None) -> int:
    """Measure and print the table; without Multi30k, the toy language alone."""
    print(machine("torch", "tokenizers"), "", ABOUT, "", sep="\n", flush=True)
    rows: list[list[str]] = []

    def timed(what: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        found = work()
        rows.append([what, f"{time.perf_counter() - start:.2f}"])
        return found

    for low, high in LENGTHS:
        title = f"toy, {N_PAIRS:,} pairs of {low} to {high} words"
        timed(title, lambda length=(low, high): generate(N_PAIRS, seed=SEED, length=length))
    notes = []
    try:
        corpus = timed("Multi30k, read", lambda: load_multi30k("de", "en", "train", folder))
    except (FileNotFoundError, ValueError) as error:  # missing, or not what it should be
        notes.append(f"Multi30k: not measured. {error}")
    else:
        texts = [*corpus.src, *corpus.tgt]
        bpe = timed("Multi30k, BPE learned", lambda: BpeTokenizer.from_texts(texts, vocab_size=VOCAB_SIZE))
        encoded = timed("Multi30k, tokenised", lambda: encode_corpus(corpus.src, corpus.tgt, bpe))
        means = " + ".join(f"{fmean(lengths) - 1:.1f}" for lengths in zip(*encoded.lengths, strict=True))
        notes.append(f"{bpe.vocab_size:,} tokens for both languages, {means} in a sentence")
        for name, lengths in (("free", None), ("fixed", FIXED_LENGTHS)):
            title = f"Multi30k, {name} lengths"
            epochs = timed(title, lambda lengths=lengths: Epochs(encoded, seed=SEED, lengths=lengths))
            notes.append(
                f"{name} lengths, {epochs.tokens_per_batch:,} tokens a batch: {epochs.padding:.1%} padding"
            )
    print(columns(["", "seconds"], rows), "", *notes, sep="\n")
    return 0
