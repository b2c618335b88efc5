"""What there is to train on: the toy language, or Multi30k; tokenised, split, and with a fingerprint.

    data = toy_data()
    data.train, data.validation                             # two EncodedCorpus
    data.tokenizer.vocab_size

One vocabulary serves both languages: words for the toy language, BPE pieces for real text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from course_lib.text.bpe import BpeTokenizer
from course_lib.text.encoded import EncodedCorpus, encode_corpus
from course_lib.text.multi30k import load_multi30k
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.splits import splits
from course_lib.text.words import WordTokenizer

TOY = "toy"
PIECES = 8000


@dataclass(frozen=True)
class TrainingData:
    """Sentences to learn from and to validate on.

    `name` and `fingerprint` go into every checkpoint: a run is only resumed on what it began with.
    """

    name: str
    train: EncodedCorpus
    validation: EncodedCorpus
    tokenizer: Tokenizer
    fingerprint: str

    def to(self, device: torch.device | str) -> TrainingData:
        """The same on another device."""
        return replace(self, train=self.train.to(device), validation=self.validation.to(device))


def toy_data(*, seed: int = 0) -> TrainingData:
    """The toy language's train and validation splits, word by word."""
    toy = splits(seed=seed)
    train, validation = _texts(toy.train), _texts(toy.validation)
    tokenizer = WordTokenizer.from_texts([*train[0], *train[1]])
    return encode_data(TOY if seed == 0 else f"{TOY}-{seed}", train, validation, tokenizer)


def multi30k_data(
    src: str, tgt: str, *, pieces: int = PIECES, lowercase: bool = True, folder: str | Path | None = None
) -> TrainingData:
    """Multi30k in two of its languages, in BPE pieces learned from both sides of its train split."""
    train = load_multi30k(src, tgt, "train", folder)
    validation = load_multi30k(src, tgt, "validation", folder)
    tokenizer = BpeTokenizer.from_texts([*train.src, *train.tgt], vocab_size=pieces, lowercase=lowercase)
    return encode_data(
        f"multi30k-{src}-{tgt}", (train.src, train.tgt), (validation.src, validation.tgt), tokenizer
    )


def encode_data(
    name: str,
    train: tuple[Sequence[str], Sequence[str]],
    validation: tuple[Sequence[str], Sequence[str]],
    tokenizer: Tokenizer,
) -> TrainingData:
    """Any sentences, (sources, targets) each, as training data."""
    seen = hashlib.sha256(tokenizer.to_text().encode())
    for side in (*train, *validation):
        seen.update("\n".join(side).encode() + b"\0")  # where one side ends counts too
    return TrainingData(
        name,
        encode_corpus(*train, tokenizer),
        encode_corpus(*validation, tokenizer),
        tokenizer,
        seen.hexdigest(),
    )


def _texts(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
