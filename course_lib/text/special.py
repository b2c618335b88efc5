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


def check_id(token_id: int, vocab_size: int) -> None:
    """An id names a token of this vocabulary."""
    if not 0 <= token_id < vocab_size:
        raise ValueError(
            f"Expected ids from 0 to {vocab_size - 1}, for this vocabulary has {vocab_size} tokens, "
            f"but got {token_id}. Were the ids made with another vocabulary?"
        )
