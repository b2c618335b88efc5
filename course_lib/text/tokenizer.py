"""What every tokenizer of the course can do, so that one can stand in for another.

>>> from course_lib.text.word_tokenizer import WordTokenizer
>>> tokenizer: Tokenizer = WordTokenizer.from_texts(["the cat sleeps", "the dog sleeps"])
>>> ids = tokenizer.encode("the cat purrs")
>>> tokenizer.tokens(ids)
['the', 'cat', '<unk>']
>>> tokenizer.unknown("the cat purrs")
['purrs']

All of it is done by Hugging Face's `tokenizers`; `word_tokenizer.py` and `bpe.py` say which of its models is
used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as Library

from course_lib.text.special import MARKER, SPECIAL, UNK, check_id, spoken

# Half a character (a lone surrogate), which no file can hold, and the sign that stands for a space in BPE.
UNREADABLE = re.compile(f"[\ud800-\udfff{MARKER}]")
REPLACEMENT = "\ufffd"  # Unicode's own sign for "a character was here"


class Tokenizer:
    """Text to numbers and back. `decode(encode(text))` is `normalise(text)` where nothing is unknown."""

    def __init__(self, library: Library):
        # "</s>" typed in a text is no end of the sentence. The library's file does not keep this.
        library.encode_special_tokens = True
        self._library = library

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, the four special ones among them."""
        return self._library.get_vocab_size()

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every token, in the order of their numbers."""
        return tuple(map(self._library.id_to_token, range(self.vocab_size)))

    def pieces(self, text: str) -> list[str]:
        """The parts that are looked up, or cut further: tokens never cross their borders."""
        text = self._library.normalizer.normalize_str(readable(text))
        return [piece for piece, _ in self._library.pre_tokenizer.pre_tokenize_str(text)]

    def normalise(self, text: str) -> str:
        """The text as this tokenizer reads it: what a round trip gives back."""
        decoder = self._library.decoder
        return decoder.decode(self.pieces(text)) if decoder else " ".join(self.pieces(text))

    def encode(self, text: str) -> list[int]:
        """The numbers of the text's tokens, without BOS and EOS. Never raises, whatever the text."""
        return _words(self._library.encode(readable(text)).ids)

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each of them, on all cores: for a whole corpus."""
        return [_words(found.ids) for found in self._library.encode_batch(list(map(readable, texts)))]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens up to EOS; PAD and BOS say nothing."""
        return self._library.decode(list(spoken(ids, self.vocab_size)), skip_special_tokens=False)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Each token as it is written in the vocabulary, special ones too: labels for a picture."""
        ids = [int(token_id) for token_id in ids]
        for token_id in ids:
            check_id(token_id, self.vocab_size)
        return [self._library.id_to_token(token_id) for token_id in ids]

    def unknown(self, text: str) -> list[str]:
        """What cannot be represented, as it was typed, each once; empty where a round trip keeps all."""
        return self.encode_with_unknown(text)[1]

    def encode_with_unknown(self, text: str) -> tuple[list[int], list[str]]:
        """`encode` and `unknown` of a text in one pass."""
        encoding = self._library.encode(readable(text))
        ids = _words(encoding.ids)
        spans = [span for token_id, span in zip(ids, encoding.offsets, strict=True) if token_id == UNK]
        return ids, list(dict.fromkeys(text[start:end] for start, end in spans))

    def to_text(self) -> str:
        """All of it as JSON, so that it can travel inside another file."""
        return self._library.to_str(pretty=True) + "\n"

    @classmethod
    def from_text(cls, text: str, *, path: Path | str = "The text") -> Self:
        """The tokenizer that `to_text` wrote; `path` is named when it is not one."""
        raise NotImplementedError


def readable(text: str) -> str:
    r"""The text with a `\N{REPLACEMENT CHARACTER}` for each sign that the library cannot take.

    >>> readable("caf\ud800") == "caf\N{REPLACEMENT CHARACTER}"
    True
    """
    return UNREADABLE.sub(REPLACEMENT, text)


def check_texts(texts: Iterable[str]) -> None:
    """Several texts: one string would be taken for a list of letters."""
    if isinstance(texts, str):
        raise TypeError(
            "Expected several texts, such as a list of sentences, but got one string. "
            "Wrap it: from_texts([text])."
        )


def _words(ids: list[int]) -> list[int]:
    """ "<pad>" typed in a text is a strange word, not padding."""
    return [token_id if token_id >= len(SPECIAL) else UNK for token_id in ids]
