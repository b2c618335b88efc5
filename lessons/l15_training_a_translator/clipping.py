"""Clipping several gradients together, as lesson 15's training step does.

>>> clipped([torch.tensor([3.0]), torch.tensor([4.0])], 1.0)
[tensor([0.6000]), tensor([0.8000])]
"""

from __future__ import annotations

import torch
from torch import Tensor


def clipped(gradients: list[Tensor], limit: float) -> list[Tensor]:
    """The gradients, scaled by one factor so that their joint norm is at most `limit`."""
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    return [gradient * (limit / norm.clamp(min=limit)) for gradient in gradients]
