"""Sentence pairs from files: two aligned files, one file with tabs, or a folder in Multi30k's layout.

    >>> pairs = read_aligned("train.fr.gz", "train.en.gz")
    >>> pairs.src[0], pairs.tgt[0]
    ('Le chat dort.', 'The cat sleeps.')
    >>> print(pairs.report)
    29,000 pairs read, 28,998 kept, 2 dropped: 1 empty (train.fr.gz:17), 1 over-long (train.en.gz:403)

Both sides of a pair go or stay together. Nothing is guessed: files with different numbers of lines are
refused, for nobody can tell where the missing line is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from course_lib.text.lines import CorpusError, read_lines

BadLines = Literal["drop", "refuse"]
MAX_LEN = 1000  # characters; the longest caption of Multi30k has 254
PLACES_SHOWN = 3

WHY = {
    "empty": "it is empty",
    "over-long": "it is over-long",
    "undecodable": "it is not UTF-8 text",
    "misaligned": "it has another number of columns than the rest of the file",
}


@dataclass(frozen=True)
class Drop:
    """One pair that was left out, and the line that is to blame: `train.de.gz:17`, counted from 1."""

    file: Path
    line: int
    reason: str

    @property
    def place(self) -> str:
        return f"{self.file.name}:{self.line}"


@dataclass(frozen=True)
class Report:
    """What became of the pairs of a corpus."""

    read: int = 0
    drops: tuple[Drop, ...] = ()
    identical: int = 0  # kept, though both sides are the same: a name, or a line nobody translated

    @property
    def kept(self) -> int:
        return self.read - len(self.drops)

    @property
    def dropped(self) -> dict[str, int]:
        """How many for each reason: {"empty": 1, "over-long": 1}."""
        return dict(Counter(drop.reason for drop in self.drops))

    def __str__(self) -> str:
        text = f"{self.read:,} pairs read, {self.kept:,} kept, {len(self.drops):,} dropped"
        if self.drops:
            text += ": " + ", ".join(self._told(reason, n) for reason, n in self.dropped.items())
        return text + (f"; {self.identical:,} identical on both sides" if self.identical else "")

    def _told(self, reason: str, n: int) -> str:
        places = [drop.place for drop in self.drops if drop.reason == reason][:PLACES_SHOWN]
        more = ["..."] if n > PLACES_SHOWN else []
        return f"{n:,} {reason} ({', '.join(places + more)})"


@dataclass(frozen=True)
class Sentences:
    """Sentences and their translations: `src[i]` means what `tgt[i]` means."""

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        if len(self.src) != len(self.tgt):
            raise ValueError(
                f"Expected a translation for each sentence, but got {len(self.src)} sentences "
                f"and {len(self.tgt)} translations."
            )

    def __len__(self) -> int:
        return len(self.src)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.src, self.tgt, strict=True)


def read_aligned(
    src_path: str | Path,
    tgt_path: str | Path,
    *,
    bad_lines: BadLines = "drop",
    max_len: int | None = MAX_LEN,
) -> Sentences:
    """Two files, plain or gzip: line 17 of one is the translation of line 17 of the other.

        train.de    Zwei Hunde.           train.en    Two dogs.
                    Die Katze schläft.                The cat sleeps.

    A line is bad when it is empty, longer than `max_len` characters (None: no limit), or not UTF-8. With
    `bad_lines="drop"` its pair is left out and counted in the report, with `"refuse"` it is an error that
    names file and line. Text comes in NFC, without line ends and without space around the sentence.
    """
    src_path, tgt_path = Path(src_path), Path(tgt_path)
    src, tgt = read_lines(src_path), read_lines(tgt_path)
    if len(src) != len(tgt):
        raise CorpusError(
            f"Expected as many lines in one file as in the other, but {src_path} has {len(src):,} and "
            f"{tgt_path} has {len(tgt):,}. From some line on every pair would be wrong, and nobody can tell "
            "from which. Get both files again, from the same place."
        )
    return _sifted((src_path, tgt_path), src, tgt, bad_lines, max_len)


def read_tsv(
    path: str | Path,
    *,
    columns: tuple[int, int] | None = None,
    bad_lines: BadLines = "drop",
    max_len: int | None = MAX_LEN,
) -> Sentences:
    r"""One file, a pair a line, with tabs between the columns, in either of Tatoeba's two forms:

        Run!\tCours !\tCC-BY 2.0 (France) ...       manythings.org: (0, 1), the attribution is left out
        1276\tLet's try.\t3091\tEssayons.           tatoeba.org, "sentence pairs": (1, 3), beside the ids

    The form is recognised. `columns` says (source, target) otherwise, counted from 0: (1, 0) turns the
    first form round. Quotation marks are text, as Tatoeba means them. A line with another number of
    columns than most of the file is bad, as are the lines that `read_aligned` calls so.
    """
    path = Path(path)
    rows = [line.split("\t") if line and line.strip() else line for line in read_lines(path)]
    whole = [row for row in rows if isinstance(row, list)]
    n_columns = Counter(map(len, whole)).most_common(1)[0][0] if whole else 0
    whole = [row for row in whole if len(row) == n_columns]
    if columns is None:
        with_ids = n_columns == 4 and sum(row[0].isdecimal() for row in whole) > len(whole) / 2
        columns = (1, 3) if with_ids else (0, 1)
    if whole and not all(0 <= column < n_columns for column in columns):
        raise CorpusError(
            f"Expected a tab between the columns, and at least {max(columns) + 1} columns, but most lines of "
            f"{path} have {n_columns}. Is it a file with tabs (TSV), and are the columns {columns} right?"
        )
    src, tgt, misaligned = [], [], set()
    for number, row in enumerate(rows, start=1):
        if isinstance(row, list) and len(row) != n_columns:
            misaligned.add(number)
            row = None
        src.append(row[columns[0]] if isinstance(row, list) else row)
        tgt.append(row[columns[1]] if isinstance(row, list) else row)
    return _sifted((path, path), src, tgt, bad_lines, max_len, misaligned)


def read_split(
    folder: str | Path,
    split: str,
    src: str,
    tgt: str,
    *,
    bad_lines: BadLines = "drop",
    max_len: int | None = MAX_LEN,
) -> Sentences:
    """One split of a folder in Multi30k's layout, `split.language.gz` or `split.language`.

        my_corpus/train.de  my_corpus/train.fr.gz      read_split("my_corpus", "train", "de", "fr")

    Where a file is there in both forms the packed one is read.
    """
    if src == tgt:
        raise ValueError(f"Expected two languages, but source and target are both {src!r}.")
    paths = [split_file(folder, split, language) for language in (src, tgt)]
    return read_aligned(*paths, bad_lines=bad_lines, max_len=max_len)


def split_file(folder: str | Path, split: str, language: str) -> Path:
    """The file of one split in one language: packed, or plain."""
    plain = Path(folder) / f"{split}.{language}"
    for path in (Path(f"{plain}.gz"), plain):
        if path.is_file():
            return path
    there = sorted(path.name for path in Path(folder).glob(f"{split}.*"))
    raise FileNotFoundError(
        f"Expected {plain.name}.gz or {plain.name} in {folder}, but neither is there"
        + (f" (there: {', '.join(there)})." if there else ".")
    )


def _sifted(
    paths: tuple[Path, Path],
    src: list[str | None],
    tgt: list[str | None],
    bad_lines: BadLines,
    max_len: int | None,
    misaligned: Collection[int] = (),
) -> Sentences:
    """The good pairs, and a report about the others."""
    if bad_lines not in ("drop", "refuse"):
        raise ValueError(f'Expected bad_lines to be "drop" or "refuse", but got {bad_lines!r}.')
    good: list[tuple[str, str]] = []
    drops: list[Drop] = []
    for number, pair in enumerate(zip(src, tgt, strict=True), start=1):
        texts = tuple(text if text is None else text.strip() for text in pair)
        faults = [_fault(text, max_len) for text in texts]
        if not any(faults):
            good.append(texts)
            continue
        side = 0 if faults[0] else 1
        reason = "misaligned" if number in misaligned else faults[side]
        drops.append(Drop(paths[side], number, reason))
        if bad_lines == "refuse":
            raise CorpusError(_refusal(drops[-1], max_len))
    report = Report(len(src), tuple(drops), identical=sum(first == second for first, second in good))
    if not good:
        names = " and ".join(dict.fromkeys(map(str, paths)))
        raise CorpusError(f"There is no sentence pair in {names}: {report}.")
    return Sentences(*zip(*good, strict=True), report)


def _fault(text: str | None, max_len: int | None) -> str:
    if text is None:
        return "undecodable"
    if not text:
        return "empty"
    return "over-long" if max_len is not None and len(text) > max_len else ""


def _refusal(drop: Drop, max_len: int | None) -> str:
    limit = f" (the limit is {max_len:,} characters)" if drop.reason == "over-long" else ""
    return (
        f"{drop.file}, line {drop.line}: {WHY[drop.reason]}{limit}. "
        'Put the line right in both languages, or read with bad_lines="drop" to leave such pairs out.'
    )
