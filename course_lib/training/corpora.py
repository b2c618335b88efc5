"""What there is to train on: the toy language, Multi30k, or a corpus of your own; tokenised and split.

    data = toy_data()                                       # or own_data("my/pairs.tsv")
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
from course_lib.text.corpus import Sentences, read_split, read_tsv
from course_lib.text.encoded import EncodedCorpus, encode_corpus
from course_lib.text.multi30k import load_multi30k
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.splits import splits
from course_lib.text.word_tokenizer import WordTokenizer

PIECES = 8000
VALIDATION_SHARE = 0.05  # of a corpus that has no validation sentences of its own
VALIDATION_NAMES = ("validation", "valid", "val", "dev")


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


def toy_data() -> TrainingData:
    """The toy language's train and validation splits, word by word."""
    toy = splits(seed=0)
    train, validation = (
        ([pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs])
        for pairs in (toy.train, toy.validation)
    )
    return encode_data("toy", train, validation, WordTokenizer.from_texts([*train[0], *train[1]]))


def multi30k_data(src: str, tgt: str, *, folder: str | Path | None = None) -> TrainingData:
    """Multi30k in two of its languages, in BPE pieces learned from both sides of its train split."""
    train, validation = (load_multi30k(src, tgt, split, folder) for split in ("train", "validation"))
    return _in_pieces(f"multi30k-{src}-{tgt}", train, validation, lowercase=True)


def own_data(path: str | Path, src: str | None = None, tgt: str | None = None) -> TrainingData:
    """A corpus of your own, in BPE pieces: a file with tabs, or a folder with train.en, train.fr and so on.

    Where it has no validation sentences, one pair in twenty is kept for that, spread over all of it.
    """
    train = read_own(path, "train", src, tgt)
    name = f"{path} {src}-{tgt}" if Path(path).is_dir() else str(path)
    for split in VALIDATION_NAMES:
        if list(Path(path).glob(f"{split}.{src}*")):  # in a folder; a file has nothing below it
            return _in_pieces(name, train, read_own(path, split, src, tgt))
    every = round(1 / VALIDATION_SHARE)
    if len(train) < every:
        raise ValueError(f"Expected {every} sentence pairs or more, but {path} has {len(train)}.")
    both = list(train)
    held = Sentences(*zip(*both[every - 1 :: every], strict=True))
    del both[every - 1 :: every]
    return _in_pieces(name, Sentences(*zip(*both, strict=True)), held)


def read_own(path: str | Path, split: str, src: str | None = None, tgt: str | None = None) -> Sentences:
    """The sentences of a file with tabs, or those of one split of a folder.

    `path` may also be what `TrainingData.name` says of a folder: "my/folder en-fr".
    """
    folder, _, languages = str(path).rpartition(" ")
    if not Path(path).exists() and Path(folder).is_dir() and languages.count("-") == 1:
        path, (first, second) = folder, languages.split("-")
        src, tgt = src or first, tgt or second
    if not Path(path).exists():
        raise FileNotFoundError(
            f"There is no corpus {path}: it is neither toy nor multi30k, nor a file or folder."
        )
    if not Path(path).is_dir():
        return read_tsv(path)
    if not (src and tgt):
        raise ValueError(f"{path} is a folder: say which of its languages, such as --from en --to fr.")
    return read_split(path, split, src, tgt)


def _in_pieces(
    name: str, train: Sentences, validation: Sentences, *, lowercase: bool = False
) -> TrainingData:
    tokenizer = BpeTokenizer.from_texts([*train.src, *train.tgt], vocab_size=PIECES, lowercase=lowercase)
    return encode_data(name, (train.src, train.tgt), (validation.src, validation.tgt), tokenizer)


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
