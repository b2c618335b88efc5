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

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from course_lib.text.special import MARKER, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer, check_texts, readable

ASCII = "".join(map(chr, range(0x21, 0x7F)))
MIN_FREQUENCY = 2  # a pair met once is not merged

# Merges never cross these borders: a word with the space before it, a number, a run of other signs.
PIECE = rf"{MARKER}?[\p{{L}}\p{{M}}]+|{MARKER}?\p{{N}}+|{MARKER}?[^\p{{L}}\p{{M}}\p{{N}}{MARKER}]+|{MARKER}"


class BpeTokenizer(Tokenizer):
    """Byte-pair encoding with one vocabulary for all texts it was made from.

    The parts that merges happen in are words with the space before them, numbers, runs of signs:

        >>> BpeTokenizer.from_texts(["a"], vocab_size=200).pieces("Two cats, it's 2017.")
        ['▁Two', '▁cats', ',', '▁it', "'", 's', '▁2017', '.']
    """

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], *, vocab_size: int = 8000, lowercase: bool = False
    ) -> BpeTokenizer:
        """Learn merges until there are `vocab_size` tokens or no pair is met twice.

        Every character of the texts becomes a token, and those of printable ASCII too, met or not.
        The same texts in any order give the same tokenizer.
        """
        check_texts(texts)
        prepared = [readable(text) for text in texts]
        if not any(prepared):
            raise ValueError("Expected texts with at least one letter, but there is none. Is the file empty?")
        library = _untrained(lowercase)
        letters = library.normalizer.normalize_str(ASCII)
        trainer = trainers.BpeTrainer(
            vocab_size=max(vocab_size, 0),
            min_frequency=MIN_FREQUENCY,
            special_tokens=list(SPECIAL),
            initial_alphabet=sorted({MARKER, *letters}),
            show_progress=False,
        )
        library.train_from_iterator(prepared, trainer)
        if library.get_vocab_size() > vocab_size:  # the letters alone are more
            raise ValueError(
                f"Expected a vocab_size of at least {library.get_vocab_size()}, for special tokens and "
                f"every character there is, but got {vocab_size}. Give more room, or lower-case the texts."
            )
        return cls(library)

    @classmethod
    def from_text(cls, text: str, *, path: Path | str = "The text") -> BpeTokenizer:
        """The tokenizer that `to_text` wrote, in the library's JSON; `path` is named when it is not one."""
        try:
            tokenizer = cls(Library.from_str(text))
            if tokenizer.vocabulary[:4] != SPECIAL:
                raise ValueError(f"its first tokens are {tokenizer.vocabulary[:4]}, not {SPECIAL}")
            return tokenizer
        except Exception as error:  # the library raises bare Exceptions
            raise ValueError(
                f"{path} is no BPE tokenizer that this course can read ({error}). "
                "A word vocabulary is read with WordTokenizer.from_text; a newer file needs a newer course."
            ) from error


def _untrained(lowercase: bool) -> Library:
    """Everything but the vocabulary: how text is cleaned, cut, and put together again."""
    library = Library(models.BPE(unk_token=SPECIAL[UNK]))
    case = [normalizers.Lowercase()] if lowercase else []
    spaces = [normalizers.Prepend(MARKER), normalizers.Replace(" ", MARKER)]
    library.normalizer = normalizers.Sequence([*case, normalizers.NFC(), *spaces])
    library.pre_tokenizer = pre_tokenizers.Split(Regex(PIECE), behavior="isolated")
    library.decoder = decoders.Sequence(
        [decoders.Replace(MARKER, " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return library
