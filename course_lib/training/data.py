"""Training data: the sentences of both languages as ids, with the tokenizer that they share.

data = toy_data()
data.train, data.validation                             # two EncodedCorpus
data.tokenizer.vocab_size

`tools/corpora.py` loads Multi30k and your own files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from course_lib.text.corpus import Sentences
from course_lib.text.encoded import EncodedCorpus, encode_corpus
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy import splits as toy
from course_lib.text.word_tokenizer import WordTokenizer

Pairs = Sequence[Pair] | Sentences | list[tuple[str, str]]
Texts = tuple[Sequence[str], Sequence[str]]  # sources and targets


@dataclass(frozen=True)
class TrainingData:
    """Sentences to train and validate on.

    `name` and `fingerprint` are saved in every checkpoint, so that a run is resumed only on the same data.
    """

    name: str
    train: EncodedCorpus
    validation: EncodedCorpus
    tokenizer: Tokenizer
    fingerprint: str

    def to(self, device: torch.device | str) -> TrainingData:
        """Copy both corpora to a device."""
        return replace(self, train=self.train.to(device), validation=self.validation.to(device))


def toy_data() -> TrainingData:
    """The toy language, with one vocabulary for both sides."""
    splits = toy.splits(seed=0, sizes=toy.SIZES)
    train, validation = sides(splits.train), sides(splits.validation)
    return encode_data("toy", train, validation, WordTokenizer.from_texts([*train[0], *train[1]]))


def sides(pairs: Pairs) -> tuple[list[str], list[str]]:
    """All sources, and all targets."""
    texts = [(pair.src_text, pair.tgt_text) if isinstance(pair, Pair) else pair for pair in pairs]
    return [src for src, _ in texts], [tgt for _, tgt in texts]


def encode_data(name: str, train: Texts, validation: Texts, tokenizer: Tokenizer) -> TrainingData:
    """Encode the sources and targets of both splits."""
    digest = hashlib.sha256(tokenizer.to_text().encode())
    for side in (*train, *validation):
        digest.update("\n".join(side).encode() + b"\0")  # the separator makes the end of a side count
    corpora = (encode_corpus(*texts, tokenizer) for texts in (train, validation))
    return TrainingData(name, *corpora, tokenizer, digest.hexdigest())
