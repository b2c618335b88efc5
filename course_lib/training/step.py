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

from course_lib.text.batch import Batch
from course_lib.training.adam import Adam
from course_lib.training.objective import Objective
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe


class PlainStep:
    """Adam on a model's own weights; bfloat16, if the recipe asks for it, through torch's autocast."""

    def __init__(self, model: nn.Module, objective: Objective, recipe: Recipe, processes: Processes = ALONE):
        self.model, self.objective, self.recipe, self.processes = model, objective, recipe, processes
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.adam = Adam(self.parameters, weight_decay=recipe.weight_decay)
        self.device = next(model.parameters()).device
        self.shared_model = processes.wrap(model)

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
        nn.utils.clip_grad_norm_(self.parameters.values(), self.recipe.clip)
        self.adam.step(rate)
        self.model.zero_grad()
        return everywhere

    def weights(self) -> dict[str, Tensor]:
        """The weights as they are; not copies."""
        return dict(self.model.state_dict())

    def state(self) -> dict[str, Tensor]:
        """What has to be kept to go on: weights, and what Adam remembers of each."""
        return {f"weights.{name}": tensor for name, tensor in self.weights().items()} | self.adam.state()

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state."""
        self.model.load_state_dict(part(state, "weights."))
        self.adam.load(state)

    @contextmanager
    def holding(self, weights: Mapping[str, Tensor]) -> Iterator[nn.Module]:
        """The model with other weights in it for a while."""
        kept = {name: tensor.clone() for name, tensor in self.weights().items()}
        self.finish(weights)
        try:
            yield self.model
        finally:
            self.finish(kept)

    def finish(self, weights: Mapping[str, Tensor]) -> None:
        """Leave these weights in the model."""
        self.model.load_state_dict(dict(weights))


def part(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
