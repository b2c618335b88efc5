"""Subwords as tokens: frequent words stay whole, rare ones are split, and hardly anything is unknown.

    >>> texts = ["slow slower slowest small smaller smallest old older oldest"]
    >>> tokenizer = BpeTokenizer.from_texts(texts, vocab_size=112)
    >>> ids = tokenizer.encode("a bold slowest")
    >>> tokenizer.tokens(ids)                               # ▁ is the space before a word
    ['▁', 'a', '▁', 'b', 'old', '▁slow', 'est']
    >>> tokenizer.decode(ids)
    'a bold slowest'
    >>> tokenizer.unknown("a slow ☃")                       # not in the training texts
    ['☃']

Byte-pair encoding (Sennrich et al. 2016) by Hugging Face's `tokenizers`; `merges.py` of lesson 15 shows how
it works. Both languages share one vocabulary, so that names and shared words have the same tokens in both.

A round trip preserves every character of the training texts, printable ASCII, and every space. It composes
Unicode (NFC) and lower-cases the text if asked to. Any other character becomes UNK. The vocabulary consists
of characters, not bytes: a byte-level one would cover every character, but é would be `Ã©` in figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from course_lib.text.special import MARKER, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer, check_texts, readable

ASCII = "".join(map(chr, range(0x21, 0x7F)))
MIN_FREQUENCY = 2  # a pair that occurs once is not merged

# Merges stay within one of these: a word with the space before it, a number, a run of other characters.
PIECE = rf"{MARKER}?[\p{{L}}\p{{M}}]+|{MARKER}?\p{{N}}+|{MARKER}?[^\p{{L}}\p{{M}}\p{{N}}{MARKER}]+|{MARKER}"


class BpeTokenizer(Tokenizer):
    """Merges happen within words (with the space before them), numbers, and runs of other characters.

    >>> BpeTokenizer.from_texts(["a"], vocab_size=200).pieces("Two cats, it's 2017.")
    ['▁Two', '▁cats', ',', '▁it', "'", 's', '▁2017', '.']
    """

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], *, vocab_size: int = 8000, lowercase: bool = False
    ) -> BpeTokenizer:
        """Learn merges until there are `vocab_size` tokens or no pair occurs twice.

        Every character of the texts and of printable ASCII becomes a token. The order of the texts is
        irrelevant.
        """
        check_texts(texts)
        prepared = [readable(text) for text in texts]
        if not any(prepared):
            raise ValueError("Expected texts with at least one letter, but found none. Is the file empty?")
        library = _untrained(lowercase)
        trainer = trainers.BpeTrainer(
            vocab_size=max(vocab_size, 0),
            min_frequency=MIN_FREQUENCY,
            special_tokens=list(SPECIAL),
            initial_alphabet=sorted({MARKER, *library.normalizer.normalize_str(ASCII)}),
            show_progress=False,
        )
        library.train_from_iterator(prepared, trainer)
        if library.get_vocab_size() > vocab_size:  # the characters alone exceed it
            raise ValueError(
                f"Expected a vocab_size of at least {library.get_vocab_size()}, enough for the special "
                f"tokens and all characters, but got {vocab_size}. Increase it, or lower-case the texts."
            )
        return cls(library)

    @classmethod
    def _parse(cls, text: str) -> BpeTokenizer:
        """Only the vocabulary and the merges are taken from the text, and all else must be as it is here.

        A stranger's normaliser could multiply every text, and a pattern could take for ever.
        """
        stored = json.loads(text)
        vocab, merges = stored["model"]["vocab"], stored["model"]["merges"]
        if list(vocab)[: len(SPECIAL)] != list(SPECIAL) or list(vocab.values()) != list(range(len(vocab))):
            raise ValueError(f"its tokens aren't numbered from 0, beginning with {', '.join(SPECIAL)}")
        library = _untrained(lowercase={"type": "Lowercase"} in stored["normalizer"]["normalizers"])
        library.model = models.BPE(vocab, list(map(tuple, merges)), unk_token=SPECIAL[UNK])
        library.add_special_tokens(list(SPECIAL))
        own = json.loads(library.to_str())
        for part in own | stored:
            if part != "model" and own.get(part) != stored.get(part):
                raise ValueError(f"its {part} isn't the course's")
        return cls(library)


def _untrained(lowercase: bool) -> Library:
    """Everything but the vocabulary: how text is normalised, split and joined again."""
    library = Library(models.BPE(unk_token=SPECIAL[UNK]))
    case = [normalizers.Lowercase()] if lowercase else []
    spaces = [normalizers.Prepend(MARKER), normalizers.Replace(" ", MARKER)]
    library.normalizer = normalizers.Sequence([*case, normalizers.NFC(), *spaces])
    library.pre_tokenizer = pre_tokenizers.Split(Regex(PIECE), behavior="isolated")
    library.decoder = decoders.Sequence(
        [decoders.Replace(MARKER, " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return library
