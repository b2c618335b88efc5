"""A whole corpus as one tensor of ids, so that it can live on the device and batches be cut there.

    >>> corpus = encode_ids([[7, 8], [9]], [[5], [6, 4, 5]])
    >>> corpus.ids                                          # EOS, then each sentence and its EOS
    tensor([3, 7, 8, 3, 9, 3, 5, 3, 6, 4, 5, 3], dtype=torch.int32)
    >>> corpus.batch(torch.tensor([1]), src_len=3, tgt_len=4).src
    tensor([[9, 3, 0]])
    >>> corpus.batch(torch.tensor([1]), src_len=3, tgt_len=4).tgt_in
    tensor([[2, 6, 4, 5]])

29,000 pairs are some 4 MB. A batch is a few look-ups at computed places, on whatever device the ids are,
and equals what `make_batch` makes of the same pairs; no step waits for the disk or the bus.
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
    """All ids in a row, and where each sentence starts in it and how long it is (its EOS included).

    The last place of the four tables is the blank pair, which index -1 finds: see `Batch`.
    """

    ids: Int[Tensor, " ids"]
    src_start: Int[Tensor, " places"]
    src_len: Int[Tensor, " places"]
    tgt_start: Int[Tensor, " places"]
    tgt_len: Int[Tensor, " places"]
    lengths: tuple[tuple[int, int], ...]  # (src, tgt) of each pair, for those who plan batches

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def longest(self) -> int:
        """The length of the longest sentence of either side, its EOS included."""
        return max(max(pair) for pair in self.lengths)

    @property
    def device(self) -> torch.device:
        return self.ids.device

    def to(self, device: torch.device | str) -> EncodedCorpus:
        """The same corpus on another device."""
        names = ("ids", "src_start", "src_len", "tgt_start", "tgt_len")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})

    def batch(self, pairs: Int[Tensor, " batch"], *, src_len: int, tgt_len: int) -> Batch:
        """These pairs (-1: a blank row) as a batch of this shape. Longer sentences must not be among them.

        Nothing is checked here, for that would make a GPU wait: `Epochs` plans batches that fit.
        """
        starts, lengths = self.src_start[pairs], self.src_len[pairs]
        src = self._rows(starts, lengths, src_len)
        tgt_starts, n_counted = self.tgt_start[pairs], self.tgt_len[pairs]
        tgt_out = self._rows(tgt_starts, n_counted, tgt_len)
        tgt_lengths = n_counted.clamp(min=1)  # of a blank row nothing counts, yet BOS stands there
        tgt_in = self._rows(tgt_starts - 1, tgt_lengths, tgt_len)
        tgt_in[:, 0] = BOS  # over the id before the sentence, which is its neighbour's EOS
        return Batch(src, lengths, tgt_in, tgt_out, tgt_lengths, pairs)

    def _rows(self, starts: Tensor, lengths: Tensor, width: int) -> Int[Tensor, "batch width"]:
        steps = torch.arange(width, device=self.device)
        inside = steps < lengths[:, None]
        places = torch.where(inside, starts[:, None] + steps, 0)
        return torch.where(inside, self.ids[places].long(), PAD)


def encode_corpus(sources: Iterable[str], targets: Iterable[str], tokenizer: Tokenizer) -> EncodedCorpus:
    """Tokenise the sentences of a corpus; both languages share the tokenizer.

    >>> from course_lib.text.word_tokenizer import WordTokenizer
    >>> encode_corpus(["the cat"], ["le chat"], WordTokenizer(["the", "cat", "le", "chat"])).lengths
    ((3, 3),)
    """
    return encode_ids(tokenizer.encode_all(sources), tokenizer.encode_all(targets))


def encode_ids(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> EncodedCorpus:
    """Sentences that are ids already, without BOS and EOS."""
    check_pairs(sources, targets)
    # The EOS in front makes every start at least 1, so the id before a sentence exists; blank rows read it.
    flat = chain([EOS], *([*words, EOS] for words in chain(sources, targets)))
    n_pairs = len(sources)
    length = torch.tensor([len(words) + 1 for words in chain(sources, targets)])
    start = length.cumsum(0) - length + 1
    none = torch.zeros(1, dtype=torch.int64)
    return EncodedCorpus(
        ids=torch.tensor(list(flat), dtype=torch.int32),
        src_start=torch.cat([start[:n_pairs], none]),
        src_len=torch.cat([length[:n_pairs], none + 1]),
        tgt_start=torch.cat([start[n_pairs:], none + 1]),
        tgt_len=torch.cat([length[n_pairs:], none]),
        lengths=tuple((len(src) + 1, len(tgt) + 1) for src, tgt in zip(sources, targets, strict=True)),
    )


def target_ids(corpus: EncodedCorpus) -> list[list[int]]:
    """The target sentences of a corpus, as ids without EOS.

    >>> target_ids(encode_ids([[7, 8], [9]], [[5], [6, 4, 5]]))
    [[5], [6, 4, 5]]
    """
    ids, starts = corpus.ids.tolist(), corpus.tgt_start.tolist()
    return [
        ids[start : start + length - 1]
        for start, (_, length) in zip(starts[: len(corpus)], corpus.lengths, strict=True)
    ]
