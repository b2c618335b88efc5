"""Sentence pairs from files: a folder in Multi30k's layout, or one file with tabs.

    >>> pairs = read_split("my_corpus", "train", "fr", "en")    # train.fr and train.en, plain or .gz
    >>> pairs.src[0], pairs.tgt[0]
    ('Le chat dort.', 'The cat sleeps.')

Files are UTF-8 text, plain or gzip. Sentences come without space around them, and where one is empty its pair
is left out. Nothing is guessed: files with different numbers of lines are refused, for nobody can tell where
the missing line is.
"""

from __future__ import annotations

import gzip
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


class CorpusError(ValueError):
    """A corpus that cannot be read as it is: says which file, where, and what to do."""


@dataclass(frozen=True)
class Sentences:
    """Sentences and their translations: `src[i]` means what `tgt[i]` means."""

    src: tuple[str, ...]
    tgt: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.src)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.src, self.tgt, strict=True)


def read_tsv(path: str | Path) -> Sentences:
    r"""One file, a pair a line, with a tab between source and target; further columns are not read.

        Run!\tCours !\tCC-BY 2.0 (France) ...       as manythings.org has them

    Quotation marks are text. A line with another number of columns than the first is refused: a sentence that
    holds a tab would be read shifted.
    """
    path = Path(path)
    rows = [line.split("\t") if line.strip() else [] for line in read_lines(path)]
    wanted = next((len(row) for row in rows if row), 0)
    if rows and wanted < 2:
        raise CorpusError(f"Expected 2 columns with a tab between, but {path} has {wanted}.")
    for number, row in enumerate(rows, start=1):
        if row and len(row) != wanted:
            raise CorpusError(
                f"{path}, line {number}: expected {wanted} columns, as before, but it has {len(row)}."
            )
    return _whole_pairs(path, (row[:2] for row in rows if row))


def read_split(folder: str | Path, split: str, src: str, tgt: str) -> Sentences:
    """One split of a folder: line 17 of one file is the translation of line 17 of the other.

        train.de    Zwei Hunde.           train.en    Two dogs.
                    Die Katze schläft.                The cat sleeps.

    Where a file is there in both forms, `train.de.gz` and `train.de`, the packed one is read.
    """
    if src == tgt:
        raise ValueError(f"Expected two languages, but source and target are both {src!r}.")
    paths = [_split_file(Path(folder), f"{split}.{language}") for language in (src, tgt)]
    sides = [read_lines(path) for path in paths]
    if len(sides[0]) != len(sides[1]):
        raise CorpusError(
            f"Expected as many lines in one file as in the other, but {paths[0]} has {len(sides[0]):,} and "
            f"{paths[1]} has {len(sides[1]):,}. From some line on every pair would be wrong, and nobody can "
            "tell from which. Get both files again, from the same place."
        )
    return _whole_pairs(paths[0], zip(*sides, strict=True))


def _split_file(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    there = sorted(path.name for path in folder.glob(f"{name.split('.')[0]}.*"))
    raise FileNotFoundError(
        f"Expected {name}.gz or {name} in {folder}, but neither is there"
        + (f" (there: {', '.join(there)})." if there else ".")
    )


def read_lines(path: str | Path) -> list[str]:
    r"""Every line of a UTF-8 file, in Unicode's composed form (NFC): e and accent become one character.

    A line ends at a line feed (\n or \r\n) and nowhere else. `str.splitlines` also ends one at U+2028, U+0085
    and six other characters; a single one of them would pair every later line with the wrong translation.
    Gzip is known by its first bytes, not by the name. A byte order mark at the start is left out.
    """
    content = Path(path).read_bytes()
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{path}, line {number}: expected UTF-8 text, but this is none. {error}."
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"{path} is a damaged gzip file ({error}). Get the file again.") from error
    lines = unicodedata.normalize("NFC", text).split("\n")
    if lines[-1] == "":  # the last line feed ends a line; it does not begin one
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _whole_pairs(path: Path, pairs: Iterable[Sequence[str]]) -> Sentences:
    stripped = [(src.strip(), tgt.strip()) for src, tgt in pairs]
    good = [pair for pair in stripped if all(pair)]
    if not good:
        raise CorpusError(f"There is no sentence pair in {path}.")
    return Sentences(*zip(*good, strict=True))
