"""The four tokens that are no words, the same in every vocabulary of the course.

    >>> dict(enumerate(SPECIAL))
    {0: '<pad>', 1: '<unk>', 2: '<s>', 3: '</s>'}

PAD fills short sentences up, UNK stands for what a vocabulary does not know, BOS opens the target
("now speak"), EOS closes a sentence ("done"). Words have the numbers from 4 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PAD, UNK, BOS, EOS = range(4)
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
MARKER = "▁"  # no token: in BPE's tokens it stands for the space before a word, U+2581


def spoken(ids: Iterable[int], vocab_size: int) -> Iterator[int]:
    """The ids that say something: up to the first EOS, without PAD and BOS.

    >>> list(spoken([BOS, 7, 9, EOS, 8, PAD], vocab_size=10))
    [7, 9]
    """
    for token_id in map(int, ids):
        check_id(token_id, vocab_size)
        if token_id == EOS:
            return
        if token_id not in (PAD, BOS):
            yield token_id


def check_words(ids: Iterable[int]) -> None:
    """Ids of words (UNK among them) alone: the other special tokens are put in by whoever takes the words."""
    for token_id in ids:
        if token_id < 0 or token_id in (PAD, BOS, EOS):
            raise ValueError(
                f"Expected the ids of words alone ({UNK} for an unknown one, else 4 and up), but got "
                f"{token_id}. PAD, BOS and EOS are added where they are needed: leave them out."
            )


def check_id(token_id: int, vocab_size: int) -> None:
    """An id names a token of this vocabulary."""
    if not 0 <= token_id < vocab_size:
        raise ValueError(
            f"Expected ids from 0 to {vocab_size - 1}, for this vocabulary has {vocab_size} tokens, "
            f"but got {token_id}. Were the ids made with another vocabulary?"
        )
