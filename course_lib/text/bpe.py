"""Subwords as tokens: frequent words stay whole, rare ones fall into pieces, hardly anything is lost.

    >>> texts = ["slow slower slowest small smaller smallest old older oldest"]
    >>> tokenizer = BpeTokenizer.from_texts(texts, vocab_size=112)
    >>> ids = tokenizer.encode("a bold slowest")
    >>> tokenizer.tokens(ids)                               # ▁ is the space before a word
    ['▁', 'a', '▁', 'b', 'old', '▁slow', 'est']
    >>> tokenizer.decode(ids)
    'a bold slowest'
    >>> tokenizer.unknown("a slow ☃")                       # a snowman was never met
    ['☃']

Byte-pair encoding (Sennrich et al. 2016) by Hugging Face's `tokenizers`; `merges.py` shows what it does
inside. One vocabulary for both languages, so that names and shared words are written alike in both.

What a round trip keeps: every character of the training texts, printable ASCII besides, and every space,
double ones and those at the ends too. What it changes: Unicode is composed (NFC), and lower-cased if asked.
Any other character (a tab, too, if never met) is UNK; so is "▁" itself, which stands for the space here.

Characters, not bytes: a byte-level vocabulary knows every character, but writes é as `Ã©`, and a token
that is half a letter is no label for a picture.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from course_lib.runtime import write_atomically
from course_lib.text.merges import MARKER
from course_lib.text.special import SPECIAL, UNK, check_id, spoken
from course_lib.text.tokenizer import LONE_SURROGATE, REPLACEMENT, check_training, nfc, read_text

ASCII = "".join(map(chr, range(0x21, 0x7F)))

# Merges never cross these borders: a word with the space before it, a number, a run of other signs.
PIECE = rf"{MARKER}?[\p{{L}}\p{{M}}]+|{MARKER}?\p{{N}}+|{MARKER}?[^\p{{L}}\p{{M}}\p{{N}}{MARKER}]+|{MARKER}"


class BpeTokenizer:
    """Byte-pair encoding with one vocabulary for all texts it was made from."""

    def __init__(self, library: Library):
        """Wrap one of the library's tokenizers; `from_texts` and `load` make it."""
        # "</s>" typed in a text is five characters, not the end of the sentence. The file does not keep this.
        library.encode_special_tokens = True
        self._library = library
        # One letter, one entry: UNK is what has none. Longer entries are all made of these.
        self.alphabet = frozenset(token for token in library.get_vocab() if len(token) == 1)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        vocab_size: int = 8000,
        lowercase: bool = False,
        min_frequency: int = 2,
        alphabet: str = ASCII,
    ) -> BpeTokenizer:
        """Learn merges until there are `vocab_size` tokens or no pair is met `min_frequency` times.

        Every character of the texts becomes a token, and those of `alphabet` too, met or not.
        The same texts in any order give the same tokenizer.
        """
        check_training(texts, min_frequency)
        prepared = [_prepare(text) for text in texts]
        if not any(prepared):
            raise ValueError(
                "Expected texts with at least one character, but there is none. Is the file empty?"
            )
        library = _untrained(lowercase)
        extra = library.normalizer.normalize_str(alphabet) if alphabet else ""
        trainer = trainers.BpeTrainer(
            vocab_size=max(vocab_size, 0),
            min_frequency=min_frequency,
            special_tokens=list(SPECIAL),
            initial_alphabet=sorted({MARKER, *extra}),
            show_progress=False,
        )
        library.train_from_iterator(prepared, trainer)
        if library.get_vocab_size() > vocab_size:  # the letters alone are more
            raise ValueError(
                f"Expected a vocab_size of at least {library.get_vocab_size()}, for special tokens and "
                f"every character there is, but got {vocab_size}. Give more room, lower-case the texts, "
                'or pass alphabet="".'
            )
        return cls(library)

    @property
    def vocab_size(self) -> int:
        return self._library.get_vocab_size()

    @property
    def merges(self) -> list[tuple[str, str]]:
        """The pairs that were merged, in the order they were learned."""
        return [tuple(pair) for pair in json.loads(self._library.to_str())["model"]["merges"]]

    def normalise(self, text: str) -> str:
        """Composed (NFC), lower-cased if this tokenizer does so; "▁" and half characters become `�`."""
        return self._library.normalizer.normalize_str(_prepare(text))[1:].replace(MARKER, " ")

    def pieces(self, text: str) -> list[str]:
        """The parts merges happen in: words with the space before them, numbers, runs of signs.

        >>> tokenizer = BpeTokenizer.from_texts(["a"], vocab_size=200)
        >>> tokenizer.pieces("Two cats, it's 2017.")
        ['▁Two', '▁cats', ',', '▁it', "'", 's', '▁2017', '.']
        """
        marked = self._library.normalizer.normalize_str(_prepare(text))
        return [piece for piece, _ in self._library.pre_tokenizer.pre_tokenize_str(marked)]

    def encode(self, text: str) -> list[int]:
        return self._library.encode(_prepare(text), add_special_tokens=False).ids

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        prepared = [_prepare(text) for text in texts]
        return [found.ids for found in self._library.encode_batch(prepared, add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        return self._library.decode(list(spoken(ids, self.vocab_size)), skip_special_tokens=False)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        found = []
        for token_id in map(int, ids):
            check_id(token_id, self.vocab_size)
            found.append(self._library.id_to_token(token_id))
        return found

    def unknown(self, text: str) -> list[str]:
        lost = (MARKER, *LONE_SURROGATE.findall(text))
        kept = "".join(sign for sign in text if sign not in lost)
        missing = [sign for sign in self.normalise(kept) if sign != " " and sign not in self.alphabet]
        return list(dict.fromkeys([*missing, *(sign for sign in text if sign in lost)]))

    def to_text(self) -> str:
        """The library's own JSON, which `tokenizers.Tokenizer.from_str` reads too."""
        return self._library.to_str(pretty=True) + "\n"

    @classmethod
    def from_text(cls, text: str, *, path: Path | str = "The text") -> BpeTokenizer:
        """The tokenizer that `to_text` wrote; `path` is named when it is not one."""
        try:
            library = Library.from_str(text)
        except Exception as error:  # the library raises bare Exceptions
            raise ValueError(
                f"{path} is no tokenizer that this version of `tokenizers` can read ({error}). "
                "A word vocabulary is loaded with WordTokenizer.load; a newer file needs a newer course."
            ) from error
        ours = [_frame(_untrained(lowercase, special=True)) for lowercase in (False, True)]
        found = [library.id_to_token(token_id) for token_id in range(library.get_vocab_size())]
        if tuple(found[:4]) != SPECIAL or None in found or _frame(library) not in ours:
            raise ValueError(
                f"{path} holds a tokenizer, but none of this course: it splits, decodes or numbers tokens "
                f"in another way (the first four are {found[:4]}, expected {list(SPECIAL)}). "
                "Make one with BpeTokenizer.from_texts."
            )
        return cls(library)

    def save(self, path: Path) -> None:
        write_atomically(Path(path), self.to_text())

    @classmethod
    def load(cls, path: Path) -> BpeTokenizer:
        return cls.from_text(read_text(path), path=path)


def _prepare(text: str) -> str:
    """What the library can take: no half characters, and no sign that would be read as a space."""
    return nfc(text).replace(MARKER, REPLACEMENT)


def _untrained(lowercase: bool, *, special: bool = False) -> Library:
    """Everything but the vocabulary: how text is cleaned, cut, and put together again."""
    library = Library(models.BPE(unk_token=SPECIAL[UNK]))
    case = [normalizers.Lowercase()] if lowercase else []
    spaces = [normalizers.Prepend(MARKER), normalizers.Replace(" ", MARKER)]
    library.normalizer = normalizers.Sequence([*case, normalizers.NFC(), *spaces])
    library.pre_tokenizer = pre_tokenizers.Split(Regex(PIECE), behavior="isolated")
    library.decoder = decoders.Sequence(
        [decoders.Replace(MARKER, " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    if special:
        library.add_special_tokens(list(SPECIAL))
    return library


def _frame(library: Library) -> dict:
    """A tokenizer's settings, without what it has learned."""
    content = json.loads(library.to_str())
    content["model"] = {
        key: value for key, value in content["model"].items() if key not in ("vocab", "merges")
    }
    return content
