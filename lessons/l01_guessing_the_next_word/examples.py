"""Training examples from sentences: contexts and the tokens that follow them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

START, END = "<s>", "</s>"
Sentences = Sequence[Sequence[str]]


def ngrams(sentences: Sentences, n: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each context of n - 1 tokens and the word or end token after it, in the order of the text.

    >>> list(ngrams([["le", "chat"]], 3))
    [(('<s>', '<s>'), 'le'), (('<s>', 'le'), 'chat'), (('le', 'chat'), '</s>')]
    """
    for words in sentences:
        row = [START] * (n - 1) + [*words, END]
        for i in range(n - 1, len(row)):
            yield tuple(row[i - n + 1 : i]), row[i]


def windows(sentences: Sentences, token_ids: Mapping[str, int], size: int = 4) -> tuple[Tensor, Tensor]:
    """Contexts (examples, size) and targets (examples,) as token ids, for a network.

    >>> windows([["le", "chat"]], {"<s>": 0, "</s>": 1, "le": 2, "chat": 3}, size=2)
    (tensor([[0, 0],
            [0, 2],
            [2, 3]]), tensor([2, 3, 1]))
    """
    examples = list(ngrams(sentences, size + 1))
    contexts = [[token_ids[token] for token in context] for context, _ in examples]
    return torch.tensor(contexts), torch.tensor([token_ids[token] for _, token in examples])
