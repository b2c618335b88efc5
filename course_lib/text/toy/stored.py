"""The standard splits, stored in `data/toy/splits.jsonl.gz`: drawing them takes seconds in every kernel.

    >>> from course_lib.text.toy.splits import TEST_SIZES
    >>> read(TEST_SIZES)["coreference"][0].tgt_text
    "le chat a bu l' eau parce qu' il avait soif"

The grammar defines the sentences; the file only saves time. So nothing is read from a file that is missing or
damaged, or that was made from another lexicon or grammar: `splits` then draws the same sentences as ever, and
someone who edits the lexicon gets the sentences of the edited one. A test compares the file with what is
drawn, and `python3 -m tools.toy_splits` writes it anew.

The first line names the lexicon and grammar, by checksum. Each further line is a split, in the order of
`ORDER`: a list for each field, with that of every pair, which compresses better than pair by pair.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import starmap
from sys import intern

from course_lib.runtime import data_path
from course_lib.text.pair import Pair

FILE = "splits.jsonl.gz"
MADE_FROM = ("lexicon.json", "grammar.json")
ORDER = ("validation", "test", "long", "depth", "recombination", "coreference", "train")

Pairs = tuple[Pair, ...]


def read(sizes: Mapping[str, int]) -> dict[str, Pairs] | None:
    """The splits, with this many pairs of each; None if the file can't be used or has other sizes."""
    try:
        # Decompressed as a whole, because only then is the checksum at its end compared.
        heading, *lines = gzip.decompress(data_path("toy", FILE).read_bytes()).decode().splitlines()
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    if heading != checksum() or len(lines) != len(ORDER):
        return None
    *tests, train = lines
    pairs = dict(zip(ORDER, map(_pairs, tests), strict=False))
    pairs["train"] = _pairs(train, sizes["train"]) if sizes["train"] else ()  # parsed only if asked for
    return pairs if {name: len(split) for name, split in pairs.items()} == sizes else None


def packed(pairs: Mapping[str, Pairs]) -> bytes:
    """The file with these splits; the same bytes each time, from the same zlib."""
    lines = [json.dumps(list(zip(*map(_texts, pairs[name]), strict=True))) for name in ORDER]
    return gzip.compress("\n".join([checksum(), *lines]).encode(), mtime=0)


def checksum() -> str:
    """Of the lexicon and the grammar; the same on Windows, because reading text normalises line ends."""
    texts = [data_path("toy", name).read_text(encoding="utf-8") for name in MADE_FROM]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def _texts(pair: Pair) -> tuple[str, ...]:
    """Each field of a pair as text."""
    links, antecedents = map(_dashed, (sorted(pair.links), pair.antecedents))
    return tuple(map(" ".join, (pair.src, pair.tgt, links, sorted(pair.phenomena), antecedents)))


def _dashed(positions: Iterable[tuple[int, int]]) -> list[str]:
    return [f"{one}-{other}" for one, other in positions]


def _pairs(line: str, n: int | None = None) -> Pairs:
    return tuple(starmap(_pair, zip(*(field[:n] for field in json.loads(line)), strict=True)))


def _pair(src: str, tgt: str, links: str, phenomena: str, antecedents: str) -> Pair:
    """Words are interned, and equal alignments shared: the same few are in thousands of pairs."""
    return Pair(_words(src), _words(tgt), _links(links), _phenomena(phenomena), _positions(antecedents))


def _words(text: str) -> tuple[str, ...]:
    return tuple(map(intern, text.split()))


@cache
def _links(text: str) -> frozenset[tuple[int, int]]:
    return frozenset(_positions(text))


@cache
def _phenomena(text: str) -> frozenset[str]:
    return frozenset(_words(text))


def _positions(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(map(_position, text.split()))


@cache
def _position(text: str) -> tuple[int, int]:
    one, _, other = text.partition("-")
    return int(one), int(other)
