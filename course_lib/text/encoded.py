"""A whole corpus as one tensor of ids, so that it can stay on the device and batches are made there.

    >>> corpus = encode_ids([[7, 8], [9]], [[5], [6, 4, 5]])
    >>> corpus.ids                                          # EOS, then each sentence and its EOS
    tensor([3, 7, 8, 3, 9, 3, 5, 3, 6, 4, 5, 3], dtype=torch.int32)
    >>> corpus.batch(torch.tensor([1]), src_len=3, tgt_len=4).src
    tensor([[9, 3, 0]])
    >>> corpus.batch(torch.tensor([1]), src_len=3, tgt_len=4).tgt_in
    tensor([[2, 6, 4, 5]])

29,000 pairs take about 4 MB. A batch is a few look-ups on the device, so no step waits for a transfer. It
equals what `make_batch` makes of the same pairs, and can have blank rows (see `Batch`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch

from course_lib.shapes import Int, Tensor
from course_lib.text.batch import Batch, check_pairs
from course_lib.text.special import BOS, EOS, PAD
from course_lib.text.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """All ids concatenated, with the start and the length (EOS included) of each sentence.

    The last entry of the starts and lengths is the blank pair, which index -1 selects: see `Batch`.
    """

    ids: Int[Tensor, " ids"]
    src_start: Int[Tensor, " pairs"]
    src_len: Int[Tensor, " pairs"]
    tgt_start: Int[Tensor, " pairs"]
    tgt_len: Int[Tensor, " pairs"]
    lengths: tuple[tuple[int, int], ...]  # (src, tgt) of each pair, on the CPU, for planning batches

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def longest(self) -> int:
        """The length of the longest sentence in either language, EOS included."""
        return max(map(max, self.lengths))

    @property
    def device(self) -> torch.device:
        return self.ids.device

    def to(self, device: torch.device | str) -> EncodedCorpus:
        tensors = {name: value.to(device) for name, value in vars(self).items() if name != "lengths"}
        return replace(self, **tensors)

    def batch(self, pairs: Int[Tensor, " batch"], *, src_len: int, tgt_len: int) -> Batch:
        """These pairs (-1: a blank row) as a batch of this shape, into which every sentence must fit.

        Nothing is checked here, because the check would make a GPU wait: `Epochs` plans batches that fit.
        """
        src_lengths, n_counted = self.src_len[pairs], self.tgt_len[pairs]
        tgt_lengths = n_counted.clamp(min=1)  # a blank row has no counted token, but a BOS
        src = self._rows(self.src_start[pairs], src_lengths, src_len)
        tgt_out = self._rows(self.tgt_start[pairs], n_counted, tgt_len)
        tgt_in = self._rows(self.tgt_start[pairs] - 1, tgt_lengths, tgt_len)
        tgt_in[:, 0] = BOS  # replaces the id before the sentence, which is the EOS of another one
        return Batch(src, src_lengths, tgt_in, tgt_out, tgt_lengths, pairs)

    def _rows(self, starts: Tensor, lengths: Tensor, width: int) -> Int[Tensor, "batch width"]:
        steps = torch.arange(width, device=self.device)
        inside = steps < lengths[:, None]
        indices = torch.where(inside, starts[:, None] + steps, 0)
        return torch.where(inside, self.ids[indices].long(), PAD)


def encode_corpus(sources: Iterable[str], targets: Iterable[str], tokenizer: Tokenizer) -> EncodedCorpus:
    """Tokenise the sentences of a corpus; both languages share the tokenizer.

    >>> from course_lib.text.word_tokenizer import WordTokenizer
    >>> encode_corpus(["the cat"], ["le chat"], WordTokenizer(["the", "cat", "le", "chat"])).lengths
    ((3, 3),)
    """
    return encode_ids(tokenizer.encode_all(sources), tokenizer.encode_all(targets))


def encode_ids(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> EncodedCorpus:
    """A corpus of sentences that are already ids, without BOS and EOS."""
    check_pairs(sources, targets)
    # The EOS in front ensures that an id exists before every sentence; blank rows use it as their source.
    flat = chain([EOS], *([*words, EOS] for words in chain(sources, targets)))
    lengths = torch.tensor([len(words) + 1 for words in chain(sources, targets)])
    (src_start, tgt_start), (src_len, tgt_len) = (lengths.cumsum(0) - lengths + 1).chunk(2), lengths.chunk(2)
    zero = torch.zeros(1, dtype=torch.int64)
    return EncodedCorpus(
        ids=torch.tensor(list(flat), dtype=torch.int32),
        src_start=torch.cat([src_start, zero]),
        src_len=torch.cat([src_len, zero + 1]),
        tgt_start=torch.cat([tgt_start, zero + 1]),
        tgt_len=torch.cat([tgt_len, zero]),
        lengths=tuple(zip(src_len.tolist(), tgt_len.tolist(), strict=True)),
    )


def target_ids(corpus: EncodedCorpus) -> list[list[int]]:
    """The target sentences of a corpus, as ids without EOS.

    >>> target_ids(encode_ids([[7, 8], [9]], [[5], [6, 4, 5]]))
    [[5], [6, 4, 5]]
    """
    ids, starts = corpus.ids.tolist(), corpus.tgt_start[: len(corpus)].tolist()
    spans = zip(starts, corpus.lengths, strict=True)
    return [ids[start : start + length - 1] for start, (_, length) in spans]
