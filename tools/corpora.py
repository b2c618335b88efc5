"""The corpora to train and evaluate on: the toy language, Multi30k, or your own files.

    load_data("multi30k-de-en")                  # or "toy", "my/pairs.tsv", "my/folder en-fr": TrainingData
    read_corpus("my/test.tsv", "test")           # the sentences themselves

Both languages share one vocabulary: words for the toy language, BPE pieces for real text.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from course_lib.text.bpe import BpeTokenizer
from course_lib.text.corpus import read_split, read_tsv
from course_lib.text.multi30k import load_multi30k
from course_lib.text.toy import splits as toy
from course_lib.training.data import Pairs, TrainingData, encode_data, sides, toy_data

MULTI30K = re.compile(r"multi30k(?:-(\w+)-(\w+))?")
BPE_VOCAB_SIZE = 8000
HELD_OUT_EVERY = 20  # of a corpus without a validation split, one pair in so many is for validation
VALIDATION_NAMES = ("validation", "valid", "val", "dev")


# ---- from the name of a corpus to its sentences


def corpus_name(data: str, src: str | None = None, tgt: str | None = None) -> str:
    """The full name, as saved in checkpoints. `src` and `tgt` override the languages in `data`.

        >>> corpus_name("toy"), corpus_name("my/pairs.tsv"), corpus_name("multi30k", "fr")
        ('toy', 'my/pairs.tsv', 'multi30k-fr-en')

    For an existing folder the languages are appended: "my/folder", "en", "fr" gives 'my/folder en-fr'.
    """
    if match := MULTI30K.fullmatch(data):
        src, tgt = src or match[1] or "de", tgt or match[2] or "en"
        if src == tgt:
            raise ValueError(
                f"Expected two languages, but source and target are both {src!r}. Use --from and --to."
            )
        return f"multi30k-{src}-{tgt}"
    folder, first, second = _folder_and_languages(data)
    if data == "toy" or folder is None:
        if (src or tgt) and (data == "toy" or Path(data).exists()):
            raise ValueError(f"--from and --to can't be used with {data}, only with Multi30k or a folder.")
        return data
    if not (src or first) or not (tgt or second):
        raise ValueError(f"{folder} is a folder: choose two of its languages, such as --from en --to fr.")
    return f"{folder} {src or first}-{tgt or second}"


def default_scale(name: str) -> str:
    """The scale for a corpus; your own gets that of the toy language, which a CPU can train."""
    return "multi30k" if MULTI30K.fullmatch(name) else "toy"


def read_corpus(name: str, split: str, *, multi30k: str | Path | None = None) -> Pairs:
    """One split of a corpus: pairs of the toy language, with their gold links, or sentences from files.

    A tab-separated file has no splits and is read completely. `multi30k` is the folder of Multi30k.
    """
    name = corpus_name(name)
    if name == "toy":
        if split == "train":
            return toy.splits(seed=0, sizes=toy.SIZES).train
        return getattr(_toy_tests(tuple(toy.TEST_SIZES.items())), split)
    if match := MULTI30K.fullmatch(name):
        return load_multi30k(match[1], match[2], split, multi30k)
    folder, src, tgt = _folder_and_languages(name)
    if folder:
        validation_name = _validation_name(folder, src) if split == "validation" else None
        return read_split(folder, validation_name or split, src, tgt)
    if not Path(name).exists():
        raise FileNotFoundError(
            f"Unknown corpus {name}: expected toy, multi30k, or an existing file or folder."
        )
    if not Path(name).is_file():  # reading a pipe may wait forever, and /dev/zero never ends
        raise ValueError(f"{name} is a pipe or a device. Expected a file; save the sentences in one first.")
    return read_tsv(name)


@cache  # generating takes seconds, and several systems may be evaluated on the same pairs
def _toy_tests(sizes: tuple[tuple[str, int], ...]) -> toy.Splits:
    return toy.splits(seed=0, sizes=dict(sizes))


def _folder_and_languages(name: str) -> tuple[str | None, str | None, str | None]:
    """The folder and the two languages in "my/folder en-fr" or "my/folder"; None for what is missing."""
    if Path(name).exists():
        return (name if Path(name).is_dir() else None), None, None
    match = re.fullmatch(r"(.+) (\S+-\S+)", name)
    if not match or not Path(match[1]).is_dir():
        return None, None, None
    folder, languages = match.groups()
    files = [file.name.removesuffix(".gz") for file in Path(folder).iterdir()]
    # In "en-pt-br" the files show which hyphen separates the two languages.
    pairs = [(languages[:i], languages[i + 1 :]) for i, char in enumerate(languages) if char == "-"]

    def have_files(pair: tuple[str, str]) -> bool:
        return all(any(file.endswith(f".{language}") for file in files) for language in pair)

    return folder, *next(filter(have_files, pairs), pairs[0])


def _validation_name(folder: str, src: str) -> str | None:
    """The name of a folder's validation split; None if it has none."""
    return next((name for name in VALIDATION_NAMES if list(Path(folder).glob(f"{name}.{src}*"))), None)


# ---- training data


def load_data(name: str, *, multi30k: str | Path | None = None) -> TrainingData:
    """The training and validation sentences of a corpus.

    The vocabulary is learned from both sides: words for the toy language, BPE pieces otherwise. If your own
    corpus has no validation split, every twentieth pair is held out for validation.
    """
    name = corpus_name(name)
    if name == "toy":
        return toy_data()
    is_multi30k = MULTI30K.fullmatch(name) is not None
    if is_multi30k:
        splits = [read_corpus(name, split, multi30k=multi30k) for split in ("train", "validation")]
    else:
        splits = _train_and_validation(name)
    train, validation = map(sides, splits)
    texts = [*train[0], *train[1]]
    tokenizer = BpeTokenizer.from_texts(texts, vocab_size=BPE_VOCAB_SIZE, lowercase=is_multi30k)
    return encode_data(name, train, validation, tokenizer)


def _train_and_validation(name: str) -> tuple[Pairs, Pairs]:
    """The two splits of a corpus of the user's own."""
    train = read_corpus(name, "train")
    folder, src, _ = _folder_and_languages(name)
    if folder and _validation_name(folder, src):
        return train, read_corpus(name, "validation")
    if len(train) < HELD_OUT_EVERY:
        raise ValueError(f"Expected at least {HELD_OUT_EVERY} sentence pairs, but {name} has {len(train)}.")
    remaining = list(train)
    held_out = remaining[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY]
    del remaining[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY]
    return remaining, held_out
