"""Sentence pairs from files: a folder in Multi30k's layout, or one file with tabs.

    >>> pairs = read_split("my_corpus", "train", "fr", "en")    # train.fr and train.en, plain or .gz
    >>> pairs.src[0], pairs.tgt[0]
    ('Le chat dort.', 'The cat sleeps.')

Files are UTF-8 text with line feeds, plain or gzip; any other encoding is an error. Sentences are stripped,
and a pair with an empty side is left out.
"""

from __future__ import annotations

import codecs
import gzip
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SAVE_AS = "Save it as UTF-8, with line feeds at the ends of lines."


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
        if problem := find_problem(content):
            raise CorpusError(f"{path}, {problem} {SAVE_AS}")
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_number = content.count(b"\n", 0, error.start) + 1
        byte = hex(error.object[error.start])
        raise CorpusError(
            f"{path}, line {line_number}: expected UTF-8 text, but found the byte {byte}. {SAVE_AS}"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"{path} is a damaged gzip file ({error}). Get the file again.") from error
    if not text:
        return []
    lines = unicodedata.normalize("NFC", text).removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines]


def find_problem(content: bytes, line_number: int = 1) -> str:
    r"""What shows that a text is not UTF-8 with line feeds, apart from invalid UTF-8; "" if nothing does.

    `line_number` is that of the first line in `content`.

    >>> find_problem("le chat\r\nle chien\r\n".encode())
    ''
    >>> find_problem("le chat".encode("utf-16-le"))
    'line 1: expected UTF-8 text, but found a zero byte, as in UTF-16 or in a file that is not text.'
    """
    if line_number == 1 and content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "line 1: expected UTF-8 text, but found the byte-order mark of UTF-16."
    if (zero := content.find(b"\0")) >= 0:
        line_number += content.count(b"\n", 0, zero)
        found = "a zero byte, as in UTF-16 or in a file that is not text"
        return f"line {line_number}: expected UTF-8 text, but found {found}."
    if line_number == 1 and b"\r" in content[:-1] and b"\n" not in content:
        return r"line 1: expected a line feed (\n) at its end, but found only carriage returns (\r)."
    return ""


def _complete_pairs(path: Path, pairs: Iterable[Sequence[str]]) -> Sentences:
    stripped = [(src.strip(), tgt.strip()) for src, tgt in pairs]
    complete = [pair for pair in stripped if all(pair)]
    if not complete:
        raise CorpusError(f"{path} contains no sentence pairs.")
    return Sentences(*zip(*complete, strict=True))
