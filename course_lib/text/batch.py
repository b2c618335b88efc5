"""A batch: sentences of different lengths, padded into tensors.

    >>> batch = make_batch(sources=[[7, 8], [9]], targets=[[5], [6, 4, 5]])
    >>> batch.src                                           # words, EOS (3), then PAD (0)
    tensor([[7, 8, 3],
            [9, 3, 0]])
    >>> batch.tgt_in                                        # what the decoder reads: BOS (2), then words
    tensor([[2, 5, 0, 0],
            [2, 6, 4, 5]])
    >>> batch.tgt_out                                       # what it should output: words, then EOS
    tensor([[5, 3, 0, 0],
            [6, 4, 5, 3]])
    >>> batch.src_lengths, batch.tgt_lengths, batch.n_tokens
    (tensor([3, 2]), tensor([2, 4]), tensor(6))

`tgt_out` is `tgt_in` shifted by one step: at each position the model predicts the next token.
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
    """Sentence pairs ready for a model. Lengths include EOS in the source and BOS in the target.

    `pairs` holds each row's index in the corpus. -1 marks a blank row, which only fills up a fixed shape: its
    source is EOS alone and its `tgt_out` is all PAD, so it doesn't count in the loss. Its lengths
    are still 1, because length 0 breaks a recurrent layer (no last word) and a softmax (0/0).
    """

    src: Int[Tensor, "batch src"]
    src_lengths: Int[Tensor, " batch"]
    tgt_in: Int[Tensor, "batch tgt"]
    tgt_out: Int[Tensor, "batch tgt"]
    tgt_lengths: Int[Tensor, " batch"]
    pairs: Int[Tensor, " batch"]

    @property
    def loss_mask(self) -> Bool[Tensor, "batch tgt"]:
        """True where a target position counts in the loss: words and EOS, not padding."""
        return self.tgt_out != PAD

    @property
    def n_tokens(self) -> Int[Tensor, ""]:
        """How many target tokens count; a tensor, so that the CPU needn't wait for the GPU."""
        return self.loss_mask.sum()

    def to(self, device: torch.device | str) -> Batch:
        return self.map(lambda tensor: tensor.to(device))

    def map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Apply a function to each tensor: `batch.map(lambda rows: rows[:2])`."""
        return Batch(**{field.name: change(getattr(self, field.name)) for field in fields(self)})

    def overwrite(self, other: Batch) -> None:
        """Copy another batch of the same shape into the memory of this one."""
        for field in fields(self):
            getattr(self, field.name).copy_(getattr(other, field.name))


def make_batch(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    src_len: int | None = None,
    tgt_len: int | None = None,
) -> Batch:
    """Sentence pairs, as ids without BOS and EOS, padded to the longest or to a fixed length.

    >>> make_batch([[7]], [[8]], src_len=4).src
    tensor([[7, 3, 0, 0]])
    """
    check_pairs(sources, targets)
    src, tgt_out = ([[*words, EOS] for words in side] for side in (sources, targets))
    return Batch(
        src=_pad(src, "src_len", src_len),
        src_lengths=torch.tensor([len(words) for words in src]),
        tgt_in=_pad([[BOS, *words] for words in targets], "tgt_len", tgt_len),
        tgt_out=_pad(tgt_out, "tgt_len", tgt_len),
        tgt_lengths=torch.tensor([len(words) for words in tgt_out]),
        pairs=torch.arange(len(sources)),
    )


def check_pairs(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> None:
    """Raise an error unless there is a source for each target, both made of word ids only."""
    if not sources or len(sources) != len(targets):
        raise ValueError(
            "Expected at least one pair, and the same number of sources and targets, "
            f"but got {len(sources)} sources and {len(targets)} targets."
        )
    check_words(chain(*sources, *targets))


def _pad(rows: list[list[int]], name: str, width: int | None) -> Int[Tensor, "batch width"]:
    longest = max(map(len, rows))
    width = longest if width is None else width
    if width < longest:
        raise ValueError(
            f"Expected {name} of at least {longest}, so that every pair and its special token fit, "
            f"but got {width}. Use a larger {name}, or leave out the longest pairs."
        )
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
