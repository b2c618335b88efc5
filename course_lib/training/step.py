"""One training step: forward, loss, backward, clip, update.

    step = PlainStep(model, objective, recipe)
    loss_and_count = step(batch, learning_rate)             # the summed loss and the number of tokens

The result stays on the device, because reading it would wait for the GPU. `graph_step.py` does the same work
faster on a GPU; both save their state under the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from course_lib.models.inference import device_of
from course_lib.text.batch import Batch
from course_lib.training.objective import Objective
from course_lib.training.processes import SINGLE, Processes
from course_lib.training.recipe import Recipe

BETAS, EPSILON = (0.9, 0.98), 1e-9  # the 2017 paper's


class Adam:
    """Updates weights by their `.grad`; a weight without one doesn't change.

        >>> weight = torch.zeros(2)
        >>> adam = Adam({"weight": weight})
        >>> weight.grad = torch.tensor([0.5, -20.0])
        >>> adam.step(0.1)
        >>> weight                              # the first step has the size of the rate for any gradient
        tensor([-0.1000,  0.1000])

    For each weight it keeps running means of the gradients and of their squares, and the step is the first
    divided by the root of the second (Kingma, Ba 2015). `state` holds these tensors by name, not copies.

    It calls the function inside `torch.optim.AdamW`. The class itself loads torch's compiler at first use,
    which delays a learner's first training cell, and creates its state at the first step, too late for a
    CUDA graph.
    """

    def __init__(self, weights: Mapping[str, Tensor]):
        self.weights, self.state = dict(weights), {}
        for name, weight in self.weights.items():
            self.state[f"adam.step.{name}"] = torch.zeros((), device=weight.device)
            self.state[f"adam.exp_avg.{name}"] = torch.zeros_like(weight, requires_grad=False)
            self.state[f"adam.exp_avg_sq.{name}"] = torch.zeros_like(weight, requires_grad=False)

    @torch.no_grad()
    def step(self, rate: float | Tensor) -> None:
        """Update all weights in one kernel. A rate that is a tensor may change between replays of a graph."""
        moved = {name: weight for name, weight in self.weights.items() if weight.grad is not None}
        adamw(
            list(moved.values()),
            [weight.grad for weight in moved.values()],
            [self.state[f"adam.exp_avg.{name}"] for name in moved],
            [self.state[f"adam.exp_avg_sq.{name}"] for name in moved],
            max_exp_avg_sqs=[],
            state_steps=[self.state[f"adam.step.{name}"] for name in moved],
            fused=True,
            capturable=isinstance(rate, Tensor),
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=rate,
            weight_decay=0.0,
            eps=EPSILON,
            maximize=False,
        )

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Continue from another Adam's state. In place: CUDA graphs hold the addresses of these tensors."""
        for name, tensor in self.state.items():
            tensor.copy_(state[name])


class Step:
    """What both kinds of step share. `weights` are those that Adam updates, by name."""

    def __init__(self, model: nn.Module, objective: Objective, recipe: Recipe, weights: Mapping[str, Tensor]):
        self.model, self.objective, self.recipe = model, objective, recipe
        self.device = device_of(model)
        self.adam = Adam(weights)

    def weights(self) -> dict[str, Tensor]:
        """All weights in float32, and all buffers; not copies."""
        return self.model.state_dict() | {name: w.detach() for name, w in self.adam.weights.items()}

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint needs to resume: the weights and Adam's state."""
        return {f"weights.{name}": tensor for name, tensor in self.weights().items()} | self.adam.state

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a state."""
        self.set_weights(parts_of(state, "weights"))
        self.adam.load(state)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        self.model.load_state_dict(dict(weights))

    def finish(self, weights: Mapping[str, Tensor]) -> None:
        """Set the model's final weights; the step isn't used afterwards."""
        self.set_weights(weights)

    @contextmanager
    def holding(self, weights: Mapping[str, Tensor]) -> Iterator[nn.Module]:
        """A context manager: the model with other weights inside, and its own ones afterwards."""
        own = {name: tensor.clone() for name, tensor in self.weights().items()}
        self.set_weights(weights)
        try:
            yield self.model
        finally:
            self.set_weights(own)


class PlainStep(Step):
    """Adam on the model's own weights, with torch's autocast if the recipe's precision is bfloat16."""

    def __init__(self, model: nn.Module, objective: Objective, recipe: Recipe, processes: Processes = SINGLE):
        super().__init__(model, objective, recipe, learned(model))
        self.processes, self.shared_model = processes, processes.wrap(model)

    def __call__(self, batch: Batch, rate: float) -> Tensor:
        """Train on one batch; returns the summed loss and the number of tokens."""
        batch, bfloat16 = self.processes.shard(batch), self.recipe.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=bfloat16, cache_enabled=True):
            loss, n_counted = self.objective(self.shared_model, batch)
        totals = self.processes.sum_across(torch.stack([loss.detach(), n_counted.to(loss.dtype)]))
        # Processes average their gradients; times their number, that is the sum over all tokens.
        (loss * self.processes.world_size / totals[1].clamp(min=1)).backward()
        nn.utils.clip_grad_norm_(self.adam.weights.values(), self.recipe.clip)
        self.adam.step(rate)
        self.model.zero_grad()
        return totals


def learned(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weights of a model that training changes, by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def parts_of(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weights of one part of a model, by their names within that part.

    >>> parts_of({"a.b": 1, "ab": 2}, "a")
    {'b': 1}
    """
    start = f"{prefix}."
    return {name.removeprefix(start): w for name, w in weights.items() if name.startswith(start)}
