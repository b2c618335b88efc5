"""A model in use: without dropout for a while, and where it lives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Without dropout while it lasts; afterwards every part is in training mode, or not, as it was before.

    >>> part = nn.Dropout().train()
    >>> with eval_mode(part):
    ...     print(part.training)
    False
    >>> part.training
    True
    """
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def device_of(model: nn.Module) -> torch.device:
    """Where a model lives.

    >>> device_of(nn.Linear(1, 1))
    device(type='cpu')
    """
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")
