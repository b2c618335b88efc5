"""Inference: a model in eval mode for a while, and the device it is on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """A context manager: eval mode inside, and afterwards each module's previous mode.

    >>> dropout = nn.Dropout().train()
    >>> with eval_mode(dropout):
    ...     print(dropout.training)
    False
    >>> dropout.training
    True
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def device_of(model: nn.Module) -> torch.device:
    """The device of a model's parameters, or the CPU if it has none.

    >>> device_of(nn.Linear(1, 1))
    device(type='cpu')
    """
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")
