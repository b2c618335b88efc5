"""Sentence pairs from files: a folder in Multi30k's layout, or one file with tabs.

    >>> pairs = read_split("my_corpus", "train", "fr", "en")    # train.fr and train.en, plain or .gz
    >>> pairs.src[0], pairs.tgt[0]
    ('Le chat dort.', 'The cat sleeps.')

Files are UTF-8 text, plain or gzip. Sentences are stripped, and a pair with an empty side is left out.
"""

from __future__ import annotations

import gzip
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


class CorpusError(ValueError):
    """A corpus can't be read."""


@dataclass(frozen=True)
class Sentences:
    """`tgt[i]` is the translation of `src[i]`."""

    src: tuple[str, ...]
    tgt: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.src)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.src, self.tgt, strict=True)


def read_tsv(path: str | Path) -> Sentences:
    r"""Read a file with one pair per line, source and target separated by a tab; further columns are ignored.

        Run!\tCours !\tCC-BY 2.0 (France) ...       the format of manythings.org

    Every line must have as many columns as the first: a tab inside a sentence would shift the columns.
    """
    path = Path(path)
    rows = [line.split("\t") if line.strip() else [] for line in read_lines(path)]
    n_columns = next((len(row) for row in rows if row), 0)
    if rows and n_columns < 2:
        raise CorpusError(f"Expected at least 2 columns separated by tabs, but {path} has {n_columns}.")
    for line_number, row in enumerate(rows, start=1):
        if row and len(row) != n_columns:
            raise CorpusError(
                f"{path}, line {line_number}: expected {n_columns} columns, as in the lines above, "
                f"but found {len(row)}."
            )
    return _complete_pairs(path, (row[:2] for row in rows if row))


def read_split(folder: str | Path, split: str, src: str, tgt: str) -> Sentences:
    """Read one split of a folder: line 17 of train.de is the translation of line 17 of train.en.

    If both `train.de.gz` and `train.de` exist, the compressed one is read.
    """
    if src == tgt:
        raise ValueError(f"Expected two languages, but source and target are both {src!r}.")
    paths = [_split_file(Path(folder), f"{split}.{language}") for language in (src, tgt)]
    sides = [read_lines(path) for path in paths]
    if len(sides[0]) != len(sides[1]):
        raise CorpusError(
            f"Expected both files to have the same number of lines, but {paths[0]} has {len(sides[0]):,} and "
            f"{paths[1]} has {len(sides[1]):,}. Every pair after the missing line would be misaligned, and "
            "the files don't show which line is missing. Get both files again from the same source."
        )
    return _complete_pairs(paths[0], zip(*sides, strict=True))


def _split_file(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    similar = sorted(path.name for path in folder.glob(f"{name.split('.')[0]}.*"))
    raise FileNotFoundError(
        f"Expected {name}.gz or {name} in {folder}, but found neither"
        + (f" (the folder contains {', '.join(similar)})." if similar else ".")
    )


def read_lines(path: str | Path) -> list[str]:
    r"""All lines of a UTF-8 file, in Unicode's composed form (NFC): e and accent become one character.

    A line ends at a line feed (\n or \r\n) and nowhere else. `str.splitlines` also splits at U+2028, U+0085
    and six other characters; a single one of them would pair every later line with the wrong translation.
    Gzip is recognised by its first bytes, not by the file name.
    """
    content = Path(path).read_bytes()
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_number = content.count(b"\n", 0, error.start) + 1
        byte = hex(error.object[error.start])
        raise CorpusError(
            f"{path}, line {line_number}: expected UTF-8 text, but found the byte {byte}. "
            "Save the file in UTF-8."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"{path} is a damaged gzip file ({error}). Get the file again.") from error
    if not text:
        return []
    lines = unicodedata.normalize("NFC", text).removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines]


def _complete_pairs(path: Path, pairs: Iterable[Sequence[str]]) -> Sentences:
    stripped = [(src.strip(), tgt.strip()) for src, tgt in pairs]
    complete = [pair for pair in stripped if all(pair)]
    if not complete:
        raise CorpusError(f"{path} contains no sentence pairs.")
    return Sentences(*zip(*complete, strict=True))
