"""The data, the parameters and the training loop of lesson 10's small language model.

The lesson itself defines what the model computes; here it is only trained.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.text import BOS, EOS, PAD, splits
from course_lib.text.tokenizer import Tokenizer

Parameters = dict[str, Tensor]


def toy_rows(tokenizer: Tokenizer, n: int) -> tuple[Tensor, Tensor]:
    """French training and test sentences as token ids with BOS and EOS, padded to n + 1 tokens.

    Longer sentences are left out.
    """

    def rows(pairs: list) -> Tensor:
        ids = [[BOS, *tokenizer.encode(pair.tgt_text), EOS] for pair in pairs]
        short = [row for row in ids if len(row) <= n + 1]
        return torch.tensor([row + [PAD] * (n + 1 - len(row)) for row in short])

    toy = splits(seed=0, sizes={"train": 3000, "test": 300})
    return rows(toy.train), rows(toy.test)


def initial_parameters(vocabulary: int, n: int, *, width: int, generator: torch.Generator) -> Parameters:
    shapes = {"embedding": (vocabulary, width), "positions": (n, width)}
    shapes |= dict.fromkeys(("w_q", "w_k", "w_v"), (width, width))
    return {
        name: (torch.randn(shape, generator=generator) * 0.2).requires_grad_()
        for name, shape in shapes.items()
    }


def train(
    loss_of: Callable[[Parameters, Tensor, Tensor], Tensor],
    rows: Tensor,
    mask: Callable[[int], Tensor],
    *,
    vocabulary: int = 680,
    width: int = 32,
    steps: int = 160,
    seed: int = 0,
) -> Parameters:
    """The parameters of a model trained with this loss on these sentences, with the mask `mask(n)`."""
    n = rows.shape[1] - 1
    generator = torch.Generator().manual_seed(seed)
    model = initial_parameters(vocabulary, n, width=width, generator=generator)
    optimizer = torch.optim.Adam(model.values(), lr=0.02)
    for _ in range(steps):
        chosen = torch.randint(len(rows), (48,), generator=generator)
        loss = loss_of(model, rows[chosen], mask(n))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
