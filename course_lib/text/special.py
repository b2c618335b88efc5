"""The four special tokens, the same in every vocabulary of the course.

    >>> dict(enumerate(SPECIAL))
    {0: '<pad>', 1: '<unk>', 2: '<s>', 3: '</s>'}

PAD fills up short sentences, UNK replaces tokens that are not in the vocabulary, BOS begins the target, EOS
ends a sentence. The ids of words start at 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PAD, UNK, BOS, EOS = range(4)
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
MARKER = "▁"  # U+2581; not a token of its own: in BPE tokens it marks the space before a word


def until_eos(ids: Iterable[int], vocab_size: int) -> Iterator[int]:
    """The ids up to the first EOS, without PAD and BOS.

    >>> list(until_eos([BOS, 7, 9, EOS, 8, PAD], vocab_size=10))
    [7, 9]
    """
    for token_id in map(int, ids):
        check_id(token_id, vocab_size)
        if token_id == EOS:
            return
        if token_id not in (PAD, BOS):
            yield token_id


def check_words(ids: Iterable[int]) -> None:
    """Raise an error for PAD, BOS and EOS: the caller adds them later. UNK counts as a word."""
    for token_id in ids:
        if token_id < 0 or token_id in (PAD, BOS, EOS):
            raise ValueError(
                f"Expected ids of words only ({UNK} for an unknown word, otherwise 4 and up), but got "
                f"{token_id}. PAD, BOS and EOS are added automatically, so leave them out."
            )


def check_id(token_id: int, vocab_size: int) -> None:
    if not 0 <= token_id < vocab_size:
        raise ValueError(
            f"Expected ids from 0 to {vocab_size - 1}, since this vocabulary has {vocab_size} tokens, "
            f"but got {token_id}. Were the ids made with a different vocabulary?"
        )
