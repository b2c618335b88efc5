"""Words as tokens: every word of the training text gets an id.

    >>> tokenizer = WordTokenizer.from_texts(["the cat sees the dog", "the cat sleeps"])
    >>> tokenizer.vocabulary
    ('<pad>', '<unk>', '<s>', '</s>', 'the', 'cat', 'dog', 'sees', 'sleeps')
    >>> tokenizer.encode("the dog sleeps")
    [4, 6, 8]
    >>> tokenizer.decode([4, 6, 8])
    'the dog sleeps'
    >>> tokenizer.decode(tokenizer.encode("the axolotl sleeps"))
    'the <unk> sleeps'

Text is split at spaces. This has two costs: a word that is not in the training text is lost, and "cat" and
"cats" are unrelated tokens. Subwords (`bpe.py`) reduce both.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer as Library
from tokenizers import models, normalizers, pre_tokenizers

from course_lib.text.special import SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer, check_texts, readable

FORMAT, VERSION = "attention-course word vocabulary", 1


class WordTokenizer(Tokenizer):
    """Splits at white space and looks up each word; unknown words become UNK."""

    def __init__(self, words: Sequence[str]):
        """The ids follow the order of `words`, after the special tokens."""
        for word, count in Counter(words).items():
            if _split(word) != [word] or word in SPECIAL or count > 1:
                raise ValueError(
                    "Expected unique words without white space, in Unicode's composed form (NFC), and no "
                    f"special tokens, but got {word!r} ({count} ×). Use from_texts to split texts into words."
                )
        ids = {token: token_id for token_id, token in enumerate((*SPECIAL, *words))}
        library = Library(models.WordLevel(ids, unk_token=SPECIAL[UNK]))
        library.normalizer, library.pre_tokenizer = normalizers.NFC(), pre_tokenizers.WhitespaceSplit()
        super().__init__(library)

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> WordTokenizer:
        """The words of the texts, the most frequent first, equally frequent ones in alphabetical order."""
        check_texts(texts)
        counts = Counter(word for text in texts for word in _split(text) if word not in SPECIAL)
        if not counts:
            raise ValueError("Expected texts with at least one word, but found none. Is the file empty?")
        return cls(sorted(counts, key=lambda word: (-counts[word], word)))

    def to_text(self) -> str:
        """Readable JSON: a header, then the words in the order of their ids."""
        content = {"format": FORMAT, "version": VERSION, "words": self.vocabulary[len(SPECIAL) :]}
        return json.dumps(content, ensure_ascii=False, indent=0) + "\n"

    @classmethod
    def _parse(cls, text: str) -> WordTokenizer:
        content = json.loads(text)
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise ValueError(f"its header says {content['format']!r}, version {content['version']!r}")
        return cls(content["words"])


def _split(text: str) -> list[str]:
    return unicodedata.normalize("NFC", readable(text)).split()
