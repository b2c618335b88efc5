"""The lines of a text file, plain or gzip: the first step of every corpus reader.

    >>> read_lines("train.fr.gz")[:2]
    ['Le chat dort.', 'La fille lit un livre.']

A line ends at a line feed and nowhere else. `str.splitlines` also ends one at U+2028, U+0085 and six other
characters; a single one of them inside a sentence would pair every later line with the wrong translation.
"""

from __future__ import annotations

import gzip
import unicodedata
import zlib
from pathlib import Path

GZIP = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
# What a file may begin with that is no text we can read, and how to make it one.
OTHER_FORMATS = {
    b"\xff\xfe": ("is UTF-16", "Save it as UTF-8."),
    b"\xfe\xff": ("is UTF-16", "Save it as UTF-8."),
    b"PK\x03\x04": ("is a zip archive", "Unpack it, and name the text file inside."),
    b"BZh": ("is packed with bzip2", "Unpack it first: bunzip2."),
    b"\xfd7zXZ": ("is packed with xz", "Unpack it first: unxz."),
    b"\x28\xb5\x2f\xfd": ("is packed with zstd", "Unpack it first: unzstd."),
}


class CorpusError(ValueError):
    """A corpus that cannot be read as it is: says which file, where, and what to do."""


def read_lines(path: str | Path) -> list[str | None]:
    r"""Every line of a UTF-8 file, in Unicode's composed form (NFC); None for a line that is not UTF-8.

        b"un caf\xc3\xa9\r\n"   → "un café"      a line ends with \n or \r\n
        b"un cafe\xcc\x81\n"    → "un café"      e + accent becomes one character
        b"un caf\xe9\n"         → None           Latin-1: the caller drops or refuses it, in its place

    Gzip is known by its first bytes, not by the name. A byte order mark at the start is left out. A line
    that holds a NUL is None too: that is no text, whatever it decodes to.
    """
    content = _content(Path(path)).removeprefix(UTF8_MARK)
    try:
        whole = content.decode("utf-8")
    except UnicodeDecodeError:
        lines = [_decoded(line) for line in content.split(b"\n")]
    else:
        lines = unicodedata.normalize("NFC", whole).split("\n")
        if "\0" in whole:
            lines = [None if "\0" in line else line for line in lines]
    if lines[-1] == "":  # the last line feed ends a line; it does not begin one
        lines.pop()
    if b"\r" in content:
        lines = [line if line is None else line.removesuffix("\r") for line in lines]
    return lines


def _decoded(line: bytes) -> str | None:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else unicodedata.normalize("NFC", text)


def _content(path: Path) -> bytes:
    """The bytes of a file, unpacked where they are gzip."""
    if path.is_dir():
        raise CorpusError(f"Expected a text file, but {path} is a folder. Name the file inside it.")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"Expected a text file at {path}, but there is none. Check the path."
        ) from None
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror or error}.") from error
    if content.startswith(GZIP):
        try:
            content = gzip.decompress(content)
        except EOFError:
            raise CorpusError(f"{path} is cut off: its gzip stream has no end. Get the file again.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise CorpusError(f"{path} is a damaged gzip file ({error}). Get the file again.") from error
    for start, (what, todo) in OTHER_FORMATS.items():
        if content.startswith(start):
            raise CorpusError(f"Expected UTF-8 text, plain or gzip, but {path} {what}. {todo}")
    return content
