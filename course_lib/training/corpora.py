"""What there is to train on and to measure by: the toy language, Multi30k, or a corpus of your own.

    data = load_data("toy")                      # or "multi30k-de-en", "my/pairs.tsv", "my/folder en-fr"
    data.train, data.validation                  # two EncodedCorpus
    data.tokenizer.vocab_size
    read_corpus("my/test.tsv", "test")           # the sentences themselves

One vocabulary serves both languages: words for the toy language, BPE pieces for real text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch

from course_lib.text.bpe import BpeTokenizer
from course_lib.text.corpus import Sentences, read_split, read_tsv
from course_lib.text.encoded import EncodedCorpus, encode_corpus
from course_lib.text.multi30k import load_multi30k
from course_lib.text.pair import Pair
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy import splits as toy
from course_lib.text.word_tokenizer import WordTokenizer

Pairs = Sequence[Pair] | Sentences | list[tuple[str, str]]
MULTI30K = re.compile(r"multi30k(?:-(\w+)-(\w+))?")
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


# ---- from the name of a corpus to its sentences


def corpus_name(data: str, src: str | None = None, tgt: str | None = None) -> str:
    """The name in full, as a checkpoint has it. Languages that are asked for count more than its own.

        >>> corpus_name("toy"), corpus_name("my/pairs.tsv"), corpus_name("multi30k", "fr")
        ('toy', 'my/pairs.tsv', 'multi30k-fr-en')

    A folder on this machine gets its languages: "my/folder", "en", "fr" is 'my/folder en-fr'.
    """
    if found := MULTI30K.fullmatch(data):
        return f"multi30k-{src or found[1] or 'de'}-{tgt or found[2] or 'en'}"
    folder, first, second = _in_folder(data)
    if data == "toy" or folder is None:
        if (src or tgt) and (data == "toy" or Path(data).exists()):
            raise ValueError(f"{data} has its own direction: --from and --to are for Multi30k or a folder.")
        return data
    if not (src or first) or not (tgt or second):
        raise ValueError(f"{folder} is a folder: say which of its languages, such as --from en --to fr.")
    return f"{folder} {src or first}-{tgt or second}"


def read_corpus(name: str, split: str, *, multi30k: str | Path | None = None) -> Pairs:
    """One split of a corpus: pairs of the toy language, with their gold links, or sentences from files.

    A file with tabs has no splits: it is read whole. `multi30k` is the folder where Multi30k is.
    """
    name = corpus_name(name)
    if name == "toy":
        if split == "train":
            return toy.splits(seed=0, sizes=toy.SIZES).train
        return getattr(_toy_tests(tuple(toy.SIZES_OF_TESTS.items())), split)
    if found := MULTI30K.fullmatch(name):
        return load_multi30k(found[1], found[2], split, multi30k)
    folder, src, tgt = _in_folder(name)
    if folder:
        there = _validation_in(folder, src) if split == "validation" else None
        return read_split(folder, there or split, src, tgt)
    if not Path(name).exists():
        raise FileNotFoundError(
            f"There is no corpus {name}: it is neither toy nor multi30k, nor a file or folder."
        )
    return read_tsv(name)


@cache  # drawing takes seconds, and several systems may be measured on the same
def _toy_tests(sizes: tuple[tuple[str, int], ...]) -> toy.Splits:
    return toy.splits(seed=0, sizes=dict(sizes))


def _in_folder(name: str) -> tuple[str | None, str | None, str | None]:
    """A folder and its two languages, of "my/folder en-fr" or "my/folder"; None for what is not there."""
    if Path(name).exists():
        return (name if Path(name).is_dir() else None), None, None
    found = re.fullmatch(r"(.+) (\S+-\S+)", name)
    if not found or not Path(found[1]).is_dir():
        return None, None, None
    folder, languages = found.groups()
    files = [file.name.removesuffix(".gz") for file in Path(folder).iterdir()]
    cuts = [(languages[:at], languages[at + 1 :]) for at, sign in enumerate(languages) if sign == "-"]

    def there(both: tuple[str, str]) -> bool:  # en-pt-br: which hyphen parts the two is seen in the files
        return all(any(file.endswith(f".{language}") for file in files) for language in both)

    return folder, *next(filter(there, cuts), cuts[0])


def _validation_in(folder: str, src: str) -> str | None:
    """How a folder's files of validation sentences are called; None where it has none."""
    return next((name for name in VALIDATION_NAMES if list(Path(folder).glob(f"{name}.{src}*"))), None)


def sides(pairs: Pairs) -> tuple[list[str], list[str]]:
    """All sources, and all targets."""
    both = [(pair.src_text, pair.tgt_text) if isinstance(pair, Pair) else pair for pair in pairs]
    return [src for src, _ in both], [tgt for _, tgt in both]


# ---- to learn from


def load_data(name: str, *, multi30k: str | Path | None = None) -> TrainingData:
    """The training and validation sentences of a corpus.

    The vocabulary is learned from both sides: words of the toy language, else BPE pieces. Where a corpus of
    your own has no validation sentences, one pair in twenty is kept for that, spread over all of it.
    """
    name = corpus_name(name)
    if name == "toy":
        drawn = toy.splits(seed=0, sizes=toy.SIZES)  # both at once: drawing takes seconds
        train, validation = sides(drawn.train), sides(drawn.validation)
        return encode_data(name, train, validation, WordTokenizer.from_texts([*train[0], *train[1]]))
    is_multi30k = MULTI30K.fullmatch(name) is not None
    if is_multi30k:
        both = [read_corpus(name, split, multi30k=multi30k) for split in ("train", "validation")]
    else:
        both = _with_validation(name)
    train, validation = map(sides, both)
    tokenizer = BpeTokenizer.from_texts([*train[0], *train[1]], vocab_size=PIECES, lowercase=is_multi30k)
    return encode_data(name, train, validation, tokenizer)


def _with_validation(name: str) -> tuple[Pairs, Pairs]:
    """Training and validation sentences of one's own."""
    train = read_corpus(name, "train")
    folder, src, _ = _in_folder(name)
    if folder and _validation_in(folder, src):
        return train, read_corpus(name, "validation")
    every = round(1 / VALIDATION_SHARE)
    if len(train) < every:
        raise ValueError(f"Expected {every} sentence pairs or more, but {name} has {len(train)}.")
    both = list(train)
    held = both[every - 1 :: every]
    del both[every - 1 :: every]
    return both, held


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
