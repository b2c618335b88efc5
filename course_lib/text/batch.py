"""A batch: sentences of different lengths in one rectangle, with their lengths.

    >>> batch = make_batch(sources=[[7, 8], [9]], targets=[[5], [6, 4, 5]])
    >>> batch.src                                           # words, EOS (3), then PAD (0)
    tensor([[7, 8, 3],
            [9, 3, 0]])
    >>> batch.tgt_in                                        # what the decoder reads: BOS (2), then words
    tensor([[2, 5, 0, 0],
            [2, 6, 4, 5]])
    >>> batch.tgt_out                                       # what it shall say next: words, then EOS
    tensor([[5, 3, 0, 0],
            [6, 4, 5, 3]])
    >>> batch.src_lengths, batch.tgt_lengths, batch.n_tokens
    (tensor([3, 2]), tensor([2, 4]), tensor(6))

`tgt_out` is `tgt_in` one step on: at each position the model is asked for the word that comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import torch

from course_lib.shapes import Bool, Int, Tensor
from course_lib.text.special import BOS, EOS, PAD, check_words


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentence pairs ready for a model. Lengths count EOS in the source and BOS in the target.

    `pairs` says which pair of the corpus a row is; -1 is a blank row, which only fills a fixed shape up:
    an empty source (EOS alone) and a target of PAD alone, so no loss counts it, and yet nothing in it has
    length 0 (a recurrent layer has no last word then, and a softmax over nothing is 0/0).
    """

    src: Int[Tensor, "batch src"]
    src_lengths: Int[Tensor, " batch"]
    tgt_in: Int[Tensor, "batch tgt"]
    tgt_out: Int[Tensor, "batch tgt"]
    tgt_lengths: Int[Tensor, " batch"]
    pairs: Int[Tensor, " batch"]

    @property
    def counts(self) -> Bool[Tensor, "batch tgt"]:
        """Which target positions a loss counts: words and EOS, not padding."""
        return self.tgt_out != PAD

    @property
    def n_tokens(self) -> Int[Tensor, ""]:
        """How many target tokens count. A tensor, so that a GPU need not wait for it; `int(...)` to print."""
        return self.counts.sum()

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return self.map(lambda tensor: tensor.to(device))

    def map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """A batch of all its tensors, each changed in the same way: `batch.map(lambda rows: rows[:2])`."""
        return Batch(**{field.name: change(getattr(self, field.name)) for field in fields(self)})

    def overwrite(self, other: Batch) -> None:
        """Put another batch of the same shape in its place, in the same memory."""
        for field in fields(self):
            getattr(self, field.name).copy_(getattr(other, field.name))


def make_batch(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    src_len: int | None = None,
    tgt_len: int | None = None,
    n_rows: int | None = None,
    pairs: Sequence[int] | None = None,
) -> Batch:
    """Pairs of sentences, as ids without BOS and EOS, padded to the longest, or to a fixed shape.

        >>> make_batch([[7]], [[8]], src_len=4, tgt_len=3, n_rows=2).src
        tensor([[7, 3, 0, 0],
                [3, 0, 0, 0]])

    The second row above is blank: see `Batch`.
    """
    check_pairs(sources, targets)
    src_len = _room("src_len", src_len, max(map(len, sources)) + 1)
    tgt_len = _room("tgt_len", tgt_len, max(map(len, targets)) + 1)
    blank = _room("n_rows", n_rows, len(sources)) - len(sources)
    pairs = range(len(sources)) if pairs is None else pairs
    nothing: list[list[int]] = [[]] * blank
    return Batch(
        src=_rectangle([[*words, EOS] for words in [*sources, *nothing]], src_len),
        src_lengths=torch.tensor([len(words) + 1 for words in [*sources, *nothing]]),
        tgt_in=_rectangle([[BOS, *words] for words in [*targets, *nothing]], tgt_len),
        tgt_out=_rectangle([*([*words, EOS] for words in targets), *nothing], tgt_len),
        tgt_lengths=torch.tensor([len(words) + 1 for words in [*targets, *nothing]]),
        pairs=torch.tensor([*pairs, *[-1] * blank]),
    )


def check_pairs(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> None:
    """A source for each target, made of words of the vocabulary (or UNK): the batch adds BOS, EOS and PAD."""
    if not sources or len(sources) != len(targets):
        raise ValueError(
            "Expected at least one pair, and as many targets as sources, "
            f"but got {len(sources)} sources and {len(targets)} targets."
        )
    check_words(chain(*sources, *targets))


def _room(name: str, wanted: int | None, needed: int) -> int:
    if wanted is not None and wanted < needed:
        raise ValueError(
            f"Expected {name} of at least {needed}, so that every pair and its special token fit, "
            f"but got {wanted}. Take a larger shape, or leave such pairs out."
        )
    return wanted or needed


def _rectangle(rows: list[list[int]], width: int) -> Int[Tensor, "batch width"]:
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
