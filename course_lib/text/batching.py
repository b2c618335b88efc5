"""Batches of sentences of similar length, with a fixed number of tokens each, in an order set by a seed.

    >>> from course_lib.text.encoded import encode_ids
    >>> corpus = encode_ids(sources=[[7], [7, 8], [7, 8, 9], [9]], targets=[[4], [4, 5], [4, 5, 6], [6]])
    >>> epochs = Epochs(corpus, tokens_per_batch=8, seed=1)
    >>> for planned in epochs.plan(epoch=0):
    ...     print(planned)
    PlannedBatch(shape=Shape(rows=2, src_len=2, tgt_len=2), pairs=(3, 0))
    PlannedBatch(shape=Shape(rows=2, src_len=4, tgt_len=4), pairs=(2, 1))

A batch is as long as its longest pair, so sentences of similar length share one. Tokens per batch count the
positions of one side, padding included: rows times length, as in the Transformer paper's 25,000 source and
25,000 target tokens.

Every epoch has its own order, the same on every machine, and two numbers say how far training has got:

    >>> batch, position = next(epochs), epochs.position
    >>> position
    (0, 1)
    >>> resumed = Epochs(corpus, tokens_per_batch=8, seed=1)
    >>> resumed.seek(*position)                             # continues as if never interrupted
    >>> torch.equal(next(resumed).src, next(epochs).src)
    True

**Fixed shapes** (`lengths=FIXED_LENGTHS`): each batch has one of a few lengths, on both sides, and
`tokens_per_batch // length` rows, so that a CUDA graph can be recorded once for each shape and replayed. The
last batch of an epoch is filled up with blank rows (see `Batch`), so no pair is lost or repeated.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import torch

from course_lib.formatting import counted
from course_lib.text.batch import Batch
from course_lib.text.encoded import EncodedCorpus

# Closely spaced where Multi30k has most sentences: up to 8192 tokens per batch, 12 to 15% are padding.
FIXED_LENGTHS = (12, 14, 16, 18, 20, 24, 28, 36, 64)


class Shape(NamedTuple):
    rows: int
    src_len: int
    tgt_len: int


class PlannedBatch(NamedTuple):
    """The shape of a batch, and the pairs in it. Rows without a pair will be blank."""

    shape: Shape
    pairs: tuple[int, ...]


class Epochs:
    """An endless iterator over the batches of a corpus, epoch after epoch."""

    def __init__(
        self,
        corpus: EncodedCorpus,
        *,
        tokens_per_batch: int = 4096,
        seed: int,
        lengths: Sequence[int] | None = None,
        over_long: Literal["refuse", "leave out"] = "refuse",
    ):
        """`over_long`: what happens to pairs that fit no batch. Fixed `lengths` must be ascending."""
        self.corpus, self.tokens_per_batch, self.seed = corpus, tokens_per_batch, seed
        self.lengths = lengths
        longest = lengths[-1] if lengths else tokens_per_batch
        if longest > tokens_per_batch:
            raise ValueError(
                f"Expected tokens_per_batch of at least {longest}, enough for one sentence of the greatest "
                f"length, but got {tokens_per_batch}. Increase it, or remove the greatest length."
            )
        self.pairs = tuple(pair for pair, sizes in enumerate(corpus.lengths) if max(sizes) <= longest)
        self.n_left_out = len(corpus) - len(self.pairs)
        if not self.pairs or (self.n_left_out and over_long != "leave out"):
            raise ValueError(
                f"A sentence may have at most {counted(longest, 'token')}, including EOS, but "
                f"{self.n_left_out:,} of {len(corpus):,} pairs have a longer one; the longest has "
                f"{counted(corpus.longest, 'token')}. Increase tokens_per_batch."
            )
        self._planned: tuple[int, list[PlannedBatch], tuple[torch.Tensor, ...]] | None = None
        self.n_batches = len(self.plan(0))  # the same in every epoch, since it depends on lengths alone
        self.position = (0, 0)  # the epoch and the step of the next batch: enough to resume

    def seek(self, epoch: int, step: int) -> None:
        """Make this step of this epoch the next batch."""
        if epoch < 0 or not 0 <= step < self.n_batches:
            raise ValueError(
                f"Expected an epoch of 0 or more and a step from 0 to {self.n_batches - 1}, but got {epoch} "
                f"and {step}. Was it saved with a different corpus, tokens_per_batch or lengths?"
            )
        self.position = epoch, step

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        epoch, step = self.position
        batch = self._make(epoch, step)
        self.position = (epoch, step + 1) if step + 1 < self.n_batches else (epoch + 1, 0)
        return batch

    def batches(self, epoch: int) -> Iterator[Batch]:
        """The batches of one epoch, without moving the position."""
        return (self._make(epoch, step) for step in range(self.n_batches))

    def plan(self, epoch: int) -> list[PlannedBatch]:
        return self._prepare(epoch)[0]

    def draw_plan(self, epoch: int) -> list[PlannedBatch]:
        """Shuffle, sort by length, cut from the longest down, shuffle the batches.

        Because it cuts from the longest down, a batch that runs out of pairs of its length continues with the
        next shorter ones, so only the last one cut can have blank rows. Lesson 15 overrides this method with
        the learner's own batcher.
        """
        # Python guarantees the same numbers from `random()` in all versions, but not the same `shuffle`.
        draw, sizes = random.Random(f"{self.seed} {epoch}").random, self.corpus.lengths

        def sort_key(pair: int) -> tuple[int, int, float]:
            src, tgt = sizes[pair]
            longest = max(src, tgt)
            if self.lengths:  # all pairs of one shape mix freely
                return -self.lengths[bisect_left(self.lengths, longest)], 0, draw()
            return -longest, -src, draw()

        ranked = sorted((*sort_key(pair), pair) for pair in self.pairs)
        batches, first = [], 0
        while first < len(ranked):
            length = -ranked[first][0]
            rows = self.tokens_per_batch // length
            pairs = tuple(pair for *_, pair in ranked[first : first + rows])
            first += len(pairs)
            shape = Shape(rows, length, length)
            if not self.lengths:
                shape = Shape(len(pairs), *map(max, zip(*(sizes[pair] for pair in pairs), strict=True)))
            batches.append((draw(), PlannedBatch(shape, pairs)))
        return [planned for _, planned in sorted(batches)]

    def _make(self, epoch: int, step: int) -> Batch:
        plan, pairs = self._prepare(epoch)
        _, src_len, tgt_len = plan[step].shape
        return self.corpus.batch(pairs[step], src_len=src_len, tgt_len=tgt_len)

    def _prepare(self, epoch: int) -> tuple[list[PlannedBatch], tuple[torch.Tensor, ...]]:
        """An epoch's plan, and the pairs of each batch on the device; the most recent epoch is cached."""
        if self._planned is None or self._planned[0] != epoch:
            plan = self.draw_plan(epoch)
            rows = [[*pairs, *[-1] * (shape.rows - len(pairs))] for shape, pairs in plan]
            # One transfer per epoch, so that a GPU never waits for the indices of the next batch.
            order = torch.tensor([pair for row in rows for pair in row]).to(self.corpus.device)
            self._planned = epoch, plan, order.split([len(row) for row in rows])
        return self._planned[1:]
