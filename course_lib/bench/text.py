"""What it costs to make and to read text: `python3 -m course_lib bench text`.

    >>> print(table([measure_toy(1000, (3, 20))]))
                                       seconds
    toy, 1,000 pairs of 3 to 20 words     0.09   288 + 368 different words, 11.4 + 12.5 in a sentence

The toy language needs nothing but the course. Multi30k is measured where it is at hand; where it is not, the
bench says so and goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

from course_lib.bench.frame import Verdict, conclude, machine
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.corpus import CorpusError, Sentences
from course_lib.text.encoded import encode_corpus
from course_lib.text.multi30k import load_multi30k
from course_lib.text.toy.generate import LONGEST, SHORTEST, USUAL, generate

TOY_SECONDS, WASTE = 3, 0.15
N_PAIRS, LENGTHS = 20_000, (USUAL, (SHORTEST, LONGEST))
VOCAB_SIZE = 8000
SEED = 0

ABOUT = f"""\
toy       sentences of the toy language with their gold alignment, English + French; seed {SEED}.
Multi30k  the training captions, German + English. read: unpacked, checksums compared, every line checked.
lengths   of the batches of one epoch, planned; a place that holds no token is padding; seed {SEED}.
seconds   one run, by the clock on the wall."""

T = TypeVar("T")


class Row(NamedTuple):
    """What was done, how long it took, what came of it."""

    what: str
    seconds: float
    found: str


def run(folder: str | None = None) -> int:
    """Measure, print the table and the verdicts; 0 when every target that was measured is met."""
    print(machine("torch", "tokenizers"), "", ABOUT, "", sep="\n")
    toy = [measure_toy(N_PAIRS, length) for length in LENGTHS]
    try:
        corpus, seconds = _timed(lambda: load_multi30k("de", "en", "train", folder))
    except (FileNotFoundError, CorpusError) as error:
        print(table(toy), f"\nMulti30k: not measured. {error}", sep="\n")
        return conclude(judge(toy))
    read = Row("Multi30k, read", seconds, f"{len(corpus):,} pairs")
    rows, waste = measure_multi30k(corpus, VOCAB_SIZE)
    print(table([*toy, read, *rows]))
    return conclude(judge(toy, waste))


def measure_toy(n_pairs: int, length: tuple[int, int]) -> Row:
    """Make so many pairs, and count the words of each side."""
    pairs, seconds = _timed(lambda: generate(n_pairs, seed=SEED, length=length))
    src, tgt = [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    different = [len({word for words in side for word in words}) for side in (src, tgt)]
    return Row(
        f"toy, {n_pairs:,} pairs of {length[0]} to {length[1]} words",
        seconds,
        f"{different[0]} + {different[1]} different words, "
        f"{fmean(map(len, src)):.1f} + {fmean(map(len, tgt)):.1f} in a sentence",
    )


def measure_multi30k(corpus: Sentences, vocab_size: int) -> tuple[list[Row], float]:
    """Learn BPE, tokenise, batch with free and with fixed lengths; the padding that fixed ones cost."""
    texts = [*corpus.src, *corpus.tgt]
    tokenizer, seconds = _timed(lambda: BpeTokenizer.from_texts(texts, vocab_size=vocab_size))
    rows = [Row("Multi30k, BPE learned", seconds, f"{tokenizer.vocab_size:,} tokens for both languages")]
    encoded, seconds = _timed(lambda: encode_corpus(corpus.src, corpus.tgt, tokenizer))
    src_len, tgt_len = (fmean(lengths) - 1 for lengths in zip(*encoded.lengths, strict=True))  # without EOS
    found = f"{len(encoded):,} pairs, {src_len:.1f} + {tgt_len:.1f} tokens in a sentence"
    rows.append(Row("Multi30k, tokenised", seconds, found))
    for name, lengths in (("free", None), ("fixed", FIXED_LENGTHS)):
        epochs, seconds = _timed(lambda lengths=lengths: Epochs(encoded, seed=SEED, lengths=lengths))
        report = epochs.report()
        rows.append(
            Row(
                f"Multi30k, {name} lengths",
                seconds,
                f"tokens_per_batch {epochs.tokens_per_batch:,}: {report}",
            )
        )
    return rows, report.waste


def table(rows: Sequence[Row]) -> str:
    width = max(len(row.what) for row in rows)
    lines = [f"{row.what:{width}}{row.seconds:9.2f}   {row.found}" for row in rows]
    return "\n".join([f"{'':{width}}{'seconds':>9}", *lines])


def judge(toy: Sequence[Row], waste: float | None = None) -> list[Verdict]:
    """Each target that was measured; no `waste` where there is no Multi30k."""
    verdicts = [
        Verdict(row.seconds < TOY_SECONDS, f"{row.what} in less than {TOY_SECONDS} s: {row.seconds:.2f} s")
        for row in toy
    ]
    if waste is not None:
        text = f"at most {WASTE:.0%} of Multi30k's batches with fixed lengths is padding: {waste:.1%}"
        verdicts.append(Verdict(waste <= WASTE, text))
    return verdicts


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start
