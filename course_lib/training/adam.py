"""Adam as torch computes it, with what it remembers in plain sight.

    >>> weight = torch.zeros(2)
    >>> adam = Adam({"weight": weight})
    >>> weight.grad = torch.tensor([0.5, -20.0])
    >>> adam.step(0.1)
    >>> weight                                  # the first step is one rate long, however steep the slope
    tensor([-0.1000,  0.1000])

For each weight it keeps a mean of its slopes and one of their squares, and steps by the first over the root
of the second (Kingma, Ba 2015). Weight decay, if any, pulls at the weight itself, not at its slope
(Loshchilov, Hutter 2019).

`torch.optim.AdamW` is the same function in a class. The class loads torch's compiler when the first one is
made, which a learner's first training cell would have to wait for, and makes its memory late, where a step
that is recorded needs it in one place from the start.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.optim.adamw import adamw

BETAS, EPSILON = (0.9, 0.98), 1e-9  # the 2017 paper's
MEMORY = ("step", "exp_avg", "exp_avg_sq")  # torch's names


class Adam:
    """Moves weights by their `.grad`. One that has none stays where it is."""

    def __init__(self, weights: Mapping[str, Tensor], *, weight_decay: float = 0.0):
        self.weights, self.weight_decay = dict(weights), weight_decay
        self.memory = {
            name: {
                "step": torch.zeros((), device=weight.device),
                "exp_avg": torch.zeros_like(weight, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(weight, requires_grad=False),
            }
            for name, weight in self.weights.items()
        }

    @torch.no_grad()
    def step(self, rate: float | Tensor) -> None:
        """One step of all weights, in one kernel. A rate that is a tensor may change in a recording."""
        moved = [name for name, weight in self.weights.items() if weight.grad is not None]
        steps, means, squares = ([self.memory[name][what] for name in moved] for what in MEMORY)
        adamw(
            [self.weights[name] for name in moved],
            [self.weights[name].grad for name in moved],
            means,
            squares,
            max_exp_avg_sqs=[],
            state_steps=steps,
            fused=True,
            capturable=isinstance(rate, Tensor),
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=rate,
            weight_decay=self.weight_decay,
            eps=EPSILON,
            maximize=False,
        )

    def state(self) -> dict[str, Tensor]:
        """The memory, not copied, each tensor under a name of its own."""
        return {
            f"adam.{what}.{name}": tensor
            for name, kept in self.memory.items()
            for what, tensor in kept.items()
        }

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Remember what another Adam did. In place: recordings know these tensors by their address."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
