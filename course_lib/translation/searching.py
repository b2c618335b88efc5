"""What greedy and beam search share: which words are never said, how long it may go on, who is done.

    >>> words, ending = next_words(torch.tensor([[9.0, 9.0, 9.0, 0.0, 0.0]]))   # PAD, UNK, BOS, EOS, a word
    >>> words.round(decimals=1)
    tensor([[    -inf,     -inf,     -inf,     -inf, -10.1000]])
    >>> ending.round(decimals=1)
    tensor([-10.1000])

PAD and BOS are no words. UNK is one only to a vocabulary: to a reader it says nothing, so the best known
word is taken instead. The others keep the probabilities the system gave them: nothing is shared out anew,
so the score of a sentence is what the system itself thinks of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from course_lib.layers.rows import Rows, take
from course_lib.models.config import Config
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import BOS, EOS, PAD, UNK

NEVER_SAID = (PAD, UNK, BOS)

# Asking a GPU whether all are done makes the program wait for it, so it is asked only now and then.
ASK_EVERY = {"cpu": 1}
ASK_SELDOM = 8
KEEP_WHILE = 0.75  # the share of sentences that must be open; below it the finished ones are set aside


def next_words(
    logits: Float[Tensor, "rows vocab"],
) -> tuple[Float[Tensor, "rows vocab"], Float[Tensor, " rows"]]:
    """Log-probabilities, in full precision, of the words that may be said next, and of ending here.

    Both searches prefer a word where it is exactly as likely as the end.
    """
    words = logits.float().log_softmax(dim=-1)
    ending = words[:, EOS].clone()
    for token_id in (*NEVER_SAID, EOS):  # narrow fills; an index from a list would be made on the CPU
        words[:, token_id] = -torch.inf
    return words, ending


def n_rows(rows: Rows) -> int:
    """How many sentences there are.

    >>> n_rows({"hidden": torch.zeros(3, 5)})
    3
    """
    return len(next(iter(rows.values())))


def limits(
    max_len: int | Int[Tensor, " batch"], memory: Rows, config: Config
) -> tuple[Int[Tensor, " batch"], int]:
    """For each sentence how many tokens it may have (EOS counts), and the largest of these numbers.

    >>> limits(5, {"hidden": torch.zeros(2, 1)}, Config(vocab_size=9))
    (tensor([5, 5]), 5)
    """
    device = next(iter(memory.values())).device
    if isinstance(max_len, Tensor):
        low, high = int(max_len.min()), int(max_len.max())
        limit = max_len.to(device)
    else:
        low = high = max_len
        limit = torch.full((n_rows(memory),), max_len, device=device)
    if low < 1 or high > config.max_len:
        raise ValueError(
            f"Expected max_len from 1 to {config.max_len}, for which this system was built, "
            f"but got {low if low < 1 else high}."
        )
    if limit.shape != (n_rows(memory),):
        raise ValueError(
            f"Expected one max_len for all, or one for each of the {n_rows(memory)} sentences, "
            f"but got a tensor of shape {tuple(limit.shape)}."
        )
    return limit, high


@contextmanager
def resting(system: nn.Module) -> Iterator[None]:
    """Without dropout while it lasts; afterwards every part trains, or rests, as it did before.

    >>> part = nn.Dropout().train()
    >>> with resting(part):
    ...     print(part.training)
    False
    >>> part.training
    True
    """
    before = [(module, module.training) for module in system.modules()]
    system.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def asks(step: int, device: torch.device) -> bool:
    """Whether it is time to look who is done."""
    return (step + 1) % ASK_EVERY.get(device.type, ASK_SELDOM) == 0


def split_done(search: Rows) -> tuple[Int[Tensor, " going"], Int[Tensor, " done"]] | None:
    """Which rows go on and which are done; None while so many go on that it is not worth a copy.

    >>> split_done({"done": torch.tensor([True, False, True])})
    (tensor([1]), tensor([0, 2]))
    """
    going = (~search["done"]).nonzero().flatten()
    if len(going) > KEEP_WHILE * len(search["done"]):
        return None
    return going, search["done"].nonzero().flatten()


def ordinary(tensor: Tensor | None) -> Tensor | None:
    """A copy that may be used with gradients: call it outside inference mode, whose tensors may not.

    >>> with torch.inference_mode():
    ...     found = torch.zeros(2)
    >>> found.is_inference(), ordinary(found).is_inference()
    (True, False)
    """
    return None if tensor is None else tensor.clone()


def in_order(parts: list[Rows]) -> Rows:
    """Rows that were set aside at different times, back in the order of the batch.

    >>> parts = [{"row": torch.tensor([1]), "x": torch.tensor([10])},
    ...          {"row": torch.tensor([0, 2]), "x": torch.tensor([5, 20])}]
    >>> in_order(parts)["x"]
    tensor([ 5, 10, 20])
    """
    joined = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return take(joined, joined["row"].argsort())
