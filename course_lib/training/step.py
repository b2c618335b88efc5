"""One training step, in plain sight: forward, loss, backward, clip, update.

    step = PlainStep(model, objective, recipe)
    loss_and_count = step(batch, learning_rate)             # a tensor of two numbers: read it seldom

The numbers stay on the device: reading one makes a GPU wait, so the loop reads them now and then.
`graph_step.py` does the same work faster on a GPU; both keep their state under the same names.
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
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe

BETAS, EPSILON = (0.9, 0.98), 1e-9  # the 2017 paper's


class Adam:
    """Moves weights by their `.grad`, as torch computes it. One that has none stays where it is.

        >>> weight = torch.zeros(2)
        >>> adam = Adam({"weight": weight})
        >>> weight.grad = torch.tensor([0.5, -20.0])
        >>> adam.step(0.1)
        >>> weight                              # the first step is one rate long, however large the gradient
        tensor([-0.1000,  0.1000])

    For each weight it keeps a mean of its gradients and one of their squares, and steps by the first over the
    root of the second (Kingma, Ba 2015). `state` has them all, not copied, each under a name of its own.

    `torch.optim.AdamW` is the same function in a class. The class loads torch's compiler when the first one
    is made, which a learner's first training cell would have to wait for, and makes its state late, where a
    step that is recorded needs it in one place from the start.
    """

    def __init__(self, weights: Mapping[str, Tensor]):
        self.weights, self.state = dict(weights), {}
        for name, weight in self.weights.items():
            self.state[f"adam.step.{name}"] = torch.zeros((), device=weight.device)
            self.state[f"adam.exp_avg.{name}"] = torch.zeros_like(weight, requires_grad=False)
            self.state[f"adam.exp_avg_sq.{name}"] = torch.zeros_like(weight, requires_grad=False)

    @torch.no_grad()
    def step(self, rate: float | Tensor) -> None:
        """One step of all weights, in one kernel. A rate that is a tensor may change in a recording."""
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
        """Go on from another Adam's state. In place: recordings know these tensors by their address."""
        for name, tensor in self.state.items():
            tensor.copy_(state[name])


class Step:
    """What both kinds of step share: `weights` are those that Adam moves, by name."""

    def __init__(self, model: nn.Module, objective: Objective, recipe: Recipe, weights: Mapping[str, Tensor]):
        self.model, self.objective, self.recipe = model, objective, recipe
        self.device = device_of(model)
        self.adam = Adam(weights)

    def weights(self) -> dict[str, Tensor]:
        """All weights in float32, and buffers, as they are; not copies."""
        return self.model.state_dict() | {name: w.detach() for name, w in self.adam.weights.items()}

    def state(self) -> dict[str, Tensor]:
        """What has to be saved to go on: the weights, and Adam's state of each."""
        return {f"weights.{name}": tensor for name, tensor in self.weights().items()} | self.adam.state

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state."""
        self.put(parts_of(state, "weights"))
        self.adam.load(state)

    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Leave these weights in the model."""
        self.model.load_state_dict(dict(weights))

    def finish(self, weights: Mapping[str, Tensor]) -> None:
        """Leave these weights in the model, which is used without a step from now on."""
        self.put(weights)

    @contextmanager
    def holding(self, weights: Mapping[str, Tensor]) -> Iterator[nn.Module]:
        """The model with other weights in it for a while."""
        own = {name: tensor.clone() for name, tensor in self.weights().items()}
        self.put(weights)
        try:
            yield self.model
        finally:
            self.put(own)


class PlainStep(Step):
    """Adam on a model's own weights; bfloat16, if the recipe asks for it, through torch's autocast."""

    def __init__(self, model: nn.Module, objective: Objective, recipe: Recipe, processes: Processes = ALONE):
        super().__init__(model, objective, recipe, learned(model))
        self.processes, self.shared_model = processes, processes.wrap(model)

    def __call__(self, batch: Batch, rate: float) -> Tensor:
        """Learn from one batch; gives the summed loss and the number of tokens it is of."""
        batch = self.processes.share(batch)
        with torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bfloat16", cache_enabled=True
        ):
            loss, n_counted = self.objective(self.shared_model, batch)
        everywhere = self.processes.add_up(torch.stack([loss.detach(), n_counted.to(loss.dtype)]))
        # Processes average their gradients; times their number that is the sum, over all tokens of all.
        (loss * self.processes.n / everywhere[1].clamp(min=1)).backward()
        nn.utils.clip_grad_norm_(self.adam.weights.values(), self.recipe.clip)
        self.adam.step(rate)
        self.model.zero_grad()
        return everywhere


def learned(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weights of a model that training moves, by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def parts_of(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weights of one part, under the names that they have within it.

    >>> parts_of({"a.b": 1, "ab": 2}, "a")
    {'b': 1}
    """
    start = f"{prefix}."
    return {name.removeprefix(start): w for name, w in weights.items() if name.startswith(start)}
