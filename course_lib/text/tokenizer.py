"""What every tokenizer of the course can do, so that one can stand in for another.

>>> from course_lib.text.words import WordTokenizer
>>> tokenizer: Tokenizer = WordTokenizer.from_texts(["the cat sleeps", "the dog sleeps"])
>>> ids = tokenizer.encode("the cat purrs")
>>> tokenizer.tokens(ids)
['the', 'cat', '<unk>']
>>> tokenizer.unknown("the cat purrs")
['purrs']
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character: Python keeps it, UTF-8 cannot
REPLACEMENT = "\ufffd"  # Unicode's own sign for "a character was here"


@runtime_checkable
class Tokenizer(Protocol):
    """Text to numbers and back. `decode(encode(text))` is `normalise(text)` where nothing is unknown."""

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, the four special ones among them."""
        ...

    def normalise(self, text: str) -> str:
        """The text as this tokenizer reads it: what a round trip gives back."""
        ...

    def encode(self, text: str) -> list[int]:
        """The numbers of the text's tokens, without BOS and EOS. Never raises, whatever the text."""
        ...

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each of them, on all cores where that helps: for a whole corpus."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens up to EOS; PAD and BOS say nothing."""
        ...

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Each token as it is written in the vocabulary, special ones too: labels for a picture."""
        ...

    def unknown(self, text: str) -> list[str]:
        """What cannot be represented, each once; empty where a round trip keeps everything."""
        ...

    def to_text(self) -> str:
        """All of it as JSON, so that it can travel inside another file."""
        ...

    @classmethod
    def from_text(cls, text: str, *, path: Path | str = "The text") -> Self: ...

    def save(self, path: Path) -> None: ...

    @classmethod
    def load(cls, path: Path) -> Self: ...


def nfc(text: str) -> str:
    """One way to write each character: é as one sign, even if it came as e and an accent.

    >>> len("e\N{COMBINING ACUTE ACCENT}"), len(nfc("e\N{COMBINING ACUTE ACCENT}"))
    (2, 1)

    Half a character (a lone surrogate) becomes `\N{REPLACEMENT CHARACTER}`, for no file can hold it.
    """
    return unicodedata.normalize("NFC", LONE_SURROGATE.sub(REPLACEMENT, text))


def check_training(texts: Iterable[str], min_frequency: int) -> None:
    """What every `from_texts` insists on before it counts anything."""
    if isinstance(texts, str):
        raise TypeError(
            "Expected several texts, such as a list of sentences, but got one string. "
            "Wrap it: from_texts([text])."
        )
    if min_frequency < 1:
        raise ValueError(f"Expected a min_frequency of 1 or more, but got {min_frequency}. 1 keeps all.")


def read_text(path: Path) -> str:
    """The text of a file that shall hold a tokenizer."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no tokenizer: it cannot be read as text ({error}).") from error
