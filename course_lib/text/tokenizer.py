"""The interface that all tokenizers of the course share.

>>> from course_lib.text.word_tokenizer import WordTokenizer
>>> tokenizer: Tokenizer = WordTokenizer.from_texts(["the cat sleeps", "the dog sleeps"])
>>> ids = tokenizer.encode("the cat purrs")
>>> tokenizer.tokens(ids)
['the', 'cat', '<unk>']
>>> tokenizer.unknown("the cat purrs")
['purrs']

The work is done by Hugging Face's `tokenizers`; `word_tokenizer.py` and `bpe.py` choose the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from tokenizers import Tokenizer as Library

from course_lib.text.special import MARKER, SPECIAL, UNK, check_id, until_eos

# Lone surrogates (half a character), which UTF-8 can't encode, and the character that BPE uses for a space.
UNREADABLE = re.compile(f"[\ud800-\udfff{MARKER}]")


class Tokenizer:
    """Text to ids and back. `decode(encode(text))` equals `normalise(text)` if nothing is unknown."""

    def __init__(self, library: Library):
        # "</s>" in a text does not end the sentence. The library doesn't store this setting in its file.
        library.encode_special_tokens = True
        self._library = library

    @property
    def vocab_size(self) -> int:
        """The number of tokens, including the four special ones."""
        return self._library.get_vocab_size()

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """All tokens, in the order of their ids."""
        return tuple(map(self._library.id_to_token, range(self.vocab_size)))

    def pieces(self, text: str) -> list[str]:
        """The parts the text is split into first: a token never crosses their boundaries."""
        text = self._library.normalizer.normalize_str(readable(text))
        return [piece for piece, _ in self._library.pre_tokenizer.pre_tokenize_str(text)]

    def normalise(self, text: str) -> str:
        """The text as a round trip returns it, if nothing is unknown."""
        decoder = self._library.decoder
        return decoder.decode(self.pieces(text)) if decoder else " ".join(self.pieces(text))

    def encode(self, text: str) -> list[int]:
        """The ids of the text's tokens, without BOS and EOS. Works for any string."""
        return self.encode_with_unknown(text)[0]

    def unknown(self, text: str) -> list[str]:
        """The parts of the text that become UNK, each once, as they were typed."""
        return self.encode_with_unknown(text)[1]

    def encode_with_unknown(self, text: str) -> tuple[list[int], list[str]]:
        """`encode` and `unknown` of a text in one pass."""
        encoding = self._library.encode(readable(text))
        ids = _words(encoding.ids)
        spans = [span for token_id, span in zip(ids, encoding.offsets, strict=True) if token_id == UNK]
        return ids, list(dict.fromkeys(text[start:end] for start, end in spans))

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` each text, on all cores: for a whole corpus."""
        return [_words(encoding.ids) for encoding in self._library.encode_batch(list(map(readable, texts)))]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens up to EOS, without PAD and BOS."""
        return self._library.decode(list(until_eos(ids, self.vocab_size)), skip_special_tokens=False)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Each token as it is written in the vocabulary, including special ones: labels for a figure."""
        ids = [int(token_id) for token_id in ids]
        for token_id in ids:
            check_id(token_id, self.vocab_size)
        return [self._library.id_to_token(token_id) for token_id in ids]

    def to_text(self) -> str:
        """The whole tokenizer as JSON, which a checkpoint can contain."""
        return self._library.to_str(pretty=True) + "\n"

    @classmethod
    def from_text(cls, text: str, *, path: Path | str = "The text") -> Self:
        """The tokenizer that `to_text` wrote; an error message names `path`."""
        try:
            return cls._parse(text)
        except Exception as error:  # the library raises bare Exceptions
            raise ValueError(
                f"{path} can't be read by {cls.__name__} ({error}). "
                "Was it saved by another kind of tokenizer, or by a newer version of the course?"
            ) from error

    @classmethod
    def _parse(cls, text: str) -> Self:
        """`from_text`; any exception means that the text can't be read."""
        raise NotImplementedError


def readable(text: str) -> str:
    r"""The text with a `\N{REPLACEMENT CHARACTER}` for each character that the library can't process.

    >>> readable("caf\ud800") == "caf\N{REPLACEMENT CHARACTER}"
    True
    """
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def check_texts(texts: Iterable[str]) -> None:
    """Raise an error for a single string, which would be read as a list of letters."""
    if isinstance(texts, str):
        raise TypeError(
            "Expected several texts, such as a list of sentences, but got one string. "
            "Wrap it: from_texts([text])."
        )


def _words(ids: list[int]) -> list[int]:
    """ "<pad>" in a text is an unknown word, not padding."""
    return [token_id if token_id >= len(SPECIAL) else UNK for token_id in ids]
