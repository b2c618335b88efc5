"""Words as tokens: every word of the training text that is frequent enough gets a number.

    >>> tokenizer = WordTokenizer.from_texts(["the cat sees the dog", "the cat sleeps"])
    >>> tokenizer.vocabulary
    ('<pad>', '<unk>', '<s>', '</s>', 'the', 'cat', 'dog', 'sees', 'sleeps')
    >>> tokenizer.encode("the dog sleeps")
    [4, 6, 8]
    >>> tokenizer.decode([4, 6, 8])
    'the dog sleeps'
    >>> tokenizer.decode(tokenizer.encode("the axolotl sleeps"))
    'the <unk> sleeps'

Words are what stands between spaces. Simple, and it has a price: a word never met is lost, and
"cat" and "cats" are strangers to each other. Subwords (`bpe.py`) pay less.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.runtime import write_atomically
from course_lib.text.special import SPECIAL, UNK, check_id, spoken
from course_lib.text.tokenizer import check_training, nfc, read_text

FORMAT, VERSION = "attention-course word vocabulary", 1


class WordTokenizer:
    """Splits at white space and looks each word up; what it does not know is UNK."""

    def __init__(self, words: Sequence[str]):
        """Take the words in this order, after the special tokens."""
        _check_words(words)
        self.vocabulary: tuple[str, ...] = (*SPECIAL, *words)
        # The special tokens are left out: "<pad>" in a text is a strange word, not padding.
        self._ids = {word: len(SPECIAL) + place for place, word in enumerate(words)}

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], *, min_frequency: int = 1, max_size: int | None = None
    ) -> WordTokenizer:
        """The words of the texts, the most frequent first, equally frequent ones in alphabetical order.

        Only words met at least `min_frequency` times, and at most `max_size` tokens, special ones included.
        """
        check_training(texts, min_frequency)
        if max_size is not None and max_size <= len(SPECIAL):
            raise ValueError(
                f"Expected a max_size above {len(SPECIAL)}, the number of special tokens, but got {max_size}."
            )
        counts = Counter(word for text in texts for word in _split(text))
        for special in SPECIAL:
            counts.pop(special, None)
        if not counts:
            raise ValueError("Expected texts with at least one word, but there is none. Is the file empty?")
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        kept = [word for word in ranked if counts[word] >= min_frequency]
        if not kept:
            raise ValueError(
                f"Expected words that are met at least {min_frequency} times, but the most frequent, "
                f"{ranked[0]!r}, is met {counts[ranked[0]]} times. Lower min_frequency."
            )
        return cls(kept if max_size is None else kept[: max_size - len(SPECIAL)])

    @property
    def vocab_size(self) -> int:
        return len(self.vocabulary)

    def normalise(self, text: str) -> str:
        """One space between words, none at the ends, Unicode in its composed form (NFC)."""
        return " ".join(_split(text))

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(word, UNK) for word in _split(text)]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.vocabulary[token_id] for token_id in spoken(ids, self.vocab_size))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        found = []
        for token_id in map(int, ids):
            check_id(token_id, self.vocab_size)
            found.append(self.vocabulary[token_id])
        return found

    def unknown(self, text: str) -> list[str]:
        return list(dict.fromkeys(word for word in _split(text) if word not in self._ids))

    def to_text(self) -> str:
        """Readable JSON: a header, then the words in the order of their numbers."""
        content = {"format": FORMAT, "version": VERSION, "words": self.vocabulary[len(SPECIAL) :]}
        return json.dumps(content, ensure_ascii=False, indent=0) + "\n"

    @classmethod
    def from_text(cls, text: str, *, path: Path | str = "The text") -> WordTokenizer:
        """The tokenizer that `to_text` wrote; `path` is named when it is not one."""
        try:
            content = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{path} is no word vocabulary: it cannot be read as JSON ({error}).") from error
        found = content.get("format") if isinstance(content, dict) else None
        if found != FORMAT:
            raise ValueError(
                f'Expected {path} to say "format": "{FORMAT}", but it says {found!r}. '
                "A BPE tokenizer is loaded with BpeTokenizer.load."
            )
        version = content.get("version")
        if not isinstance(version, int) or not 1 <= version <= VERSION:
            raise ValueError(
                f"{path} is of version {version!r}, and this course reads versions up to {VERSION}. "
                "Update the course (git pull), or make the vocabulary again."
            )
        words = content.get("words")
        if not isinstance(words, list):
            raise ValueError(
                f"Expected a list of words in {path}, but got {type(words).__name__}. Make it again."
            )
        try:
            return cls(words)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged. {error}") from error

    def save(self, path: Path) -> None:
        write_atomically(Path(path), self.to_text())

    @classmethod
    def load(cls, path: Path) -> WordTokenizer:
        return cls.from_text(read_text(path), path=path)


def _split(text: str) -> list[str]:
    return nfc(text).split()


def _check_words(words: Sequence[str]) -> None:
    """Each word is one word, as `encode` would meet it, and stands there once."""
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"Expected words, but got {word!r}, which is no string.")
        if _split(word) != [word]:
            raise ValueError(
                f"Expected words without white space, in Unicode's composed form (NFC), but got {word!r}. "
                "WordTokenizer.from_texts splits texts into words."
            )
        if word in SPECIAL:
            raise ValueError(f"{word} is a special token and in every vocabulary already: leave it out.")
    if len(set(words)) < len(words):
        (word, times), *_ = Counter(words).most_common(1)
        raise ValueError(f"Expected each word once, but {word!r} comes {times} times.")
