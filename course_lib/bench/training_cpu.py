"""How fast a small system trains on a CPU, against the loop one would write first: `bench training` there.

    >>> print(table([Row("bahdanau", "naive", 3500, 240, 0.45), Row("bahdanau", "ours", 6000, 160, 0.03)]))
                        tokens/s  ms a step  padding
    bahdanau  naive        3,500        240      45%
              ours         6,000        160       3%  1.71 ×

Both train the same model on the same sentences, in turns of a few steps, so that a busy moment hits both.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.bench.frame import Verdict, conclude, machine
from course_lib.models.registry import build, make_config
from course_lib.models.translator import Translator
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus, encode_corpus
from course_lib.text.special import PAD
from course_lib.text.toy.generate import generate
from course_lib.text.words import WordTokenizer
from course_lib.training.objective import objective_for
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep

SYSTEMS = ("transformer", "bahdanau")
FASTER = 1.3  # at least so many times the naive loop, each system
N_PAIRS, SCALE = 4000, "toy"
ROWS, BUDGET = 64, 1024  # of a batch: sentences in the naive loop, places in ours; some 900 words in both
TURNS, STEPS = 12, 4
SEED = 0

ABOUT = f"""\
naive     {ROWS} sentences drawn at random, padded to the longest; Adam, one tensor after another.
ours      the course's step: sentences of like length, at most {BUDGET:,} places; Adam fused for all tensors.
tokens/s  target words that count, by the clock on the wall; the median of {TURNS} turns of {STEPS} steps.
padding   the part of all target places that holds no word."""


class Row(NamedTuple):
    """One loop on one system."""

    system: str
    loop: str
    speed: float
    milliseconds: float
    padding: float


class Step(NamedTuple):
    """What one step has learned from: words that count, and places they took."""

    n_tokens: int
    n_places: int


def run() -> int:
    """Measure, print the table and the verdicts; 0 when every target is met."""
    print(f"{machine('torch')}, {torch.get_num_threads()} threads", "", ABOUT, "", sep="\n", flush=True)
    rows = [row for name in SYSTEMS for row in measure(name)]
    print(table(rows))
    return conclude(judge(rows))


def measure(name: str) -> list[Row]:
    """Both loops on one system, turn by turn; the first turn does not count."""
    corpus, vocab_size = sentences()
    loops = {loop: steps(_new(name, vocab_size), corpus) for loop, steps in LOOPS.items()}
    seconds: dict[str, list[float]] = {loop: [] for loop in loops}
    done: dict[str, list[list[Step]]] = {loop: [] for loop in loops}
    for turn in range(TURNS + 1):
        for loop, steps in loops.items():
            start = time.perf_counter()
            taken = list(islice(steps, STEPS))
            if turn > 0:
                seconds[loop].append(time.perf_counter() - start)
                done[loop].append(taken)
    return [_row(name, loop, seconds[loop], done[loop]) for loop in loops]


def naive(model: Translator, corpus: EncodedCorpus) -> Iterator[Step]:
    """The loop one would write first."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    rng = random.Random(SEED)
    while True:
        order = rng.sample(range(len(corpus)), len(corpus))
        for first in range(0, len(order) - ROWS + 1, ROWS):
            pairs = order[first : first + ROWS]
            src_len, tgt_len = (
                max(sizes) for sizes in zip(*(corpus.lengths[pair] for pair in pairs), strict=True)
            )
            batch = corpus.batch(torch.tensor(pairs), src_len=src_len, tgt_len=tgt_len)
            optimiser.zero_grad()
            logits = model(batch.src, batch.src_lengths, batch.tgt_in)
            loss = F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
            optimiser.step()
            yield _counted(batch)


def ours(model: Translator, corpus: EncodedCorpus) -> Iterator[Step]:
    """The course's own step and batches, as `train` puts them together."""
    recipe = Recipe(n_steps=1, tokens_per_batch=BUDGET)
    step = PlainStep(model, objective_for(model, recipe.smoothing), recipe)
    for number, batch in enumerate(Epochs(corpus, tokens_per_batch=BUDGET, seed=SEED)):
        torch.manual_seed(number)
        step(batch, 1e-3)
        yield _counted(batch)


LOOPS = {"naive": naive, "ours": ours}


def sentences() -> tuple[EncodedCorpus, int]:
    """Toy sentences, and how many words there are."""
    pairs = generate(N_PAIRS, seed=SEED)
    src, tgt = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
    tokenizer = WordTokenizer.from_texts([*src, *tgt])
    return encode_corpus(src, tgt, tokenizer), tokenizer.vocab_size


def table(rows: Sequence[Row]) -> str:
    width = max(len(row.system) for row in rows)
    lines = [f"{'':{width}}  {'':5}{'tokens/s':>13}{'ms a step':>11}{'padding':>9}"]
    for place, row in enumerate(rows):
        name = row.system if place % len(LOOPS) == 0 else ""
        times = f"  {times_faster(rows, row.system):.2f} ×" if row.loop == "ours" else ""
        numbers = f"{row.speed:>13,.0f}{row.milliseconds:>11.0f}{row.padding:>9.0%}"
        lines.append(f"{name:{width}}  {row.loop:5}{numbers}{times}")
    return "\n".join(lines)


def times_faster(rows: Sequence[Row], system: str) -> float:
    """Our speed, in naive speeds."""
    speed = {row.loop: row.speed for row in rows if row.system == system}
    return speed["ours"] / speed["naive"]


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Whether each system trains fast enough."""
    verdicts = []
    for name in dict.fromkeys(row.system for row in rows):
        times = times_faster(rows, name)
        text = f"{name}: at least {FASTER} × the naive loop's tokens a second: {times:.2f} ×"
        verdicts.append(Verdict(times >= FASTER, text))
    return verdicts


def _new(name: str, vocab_size: int) -> nn.Module:
    torch.manual_seed(SEED)
    return build(name, make_config(name, scale=SCALE, vocab_size=vocab_size)).train()


def _counted(batch: Batch) -> Step:
    return Step(int(batch.n_tokens), batch.tgt_out.numel())


def _row(name: str, loop: str, seconds: Sequence[float], turns: Sequence[Sequence[Step]]) -> Row:
    speeds = [sum(step.n_tokens for step in turn) / one for turn, one in zip(turns, seconds, strict=True)]
    steps = [step for turn in turns for step in turn]
    padding = 1 - sum(step.n_tokens for step in steps) / sum(step.n_places for step in steps)
    return Row(name, loop, median(speeds), 1000 * median(seconds) / STEPS, padding)
