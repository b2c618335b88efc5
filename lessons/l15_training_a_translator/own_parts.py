"""A learner's own functions as parts of the library's training loop: a training step, and a batcher.

step = FunctionStep(model, recipe, loss_of, training_step)
batches = BatcherEpochs(corpus, by_length, tokens_per_batch=256, seed=0)
train(model, corpus, recipe, validation=validation, step=step, batches=batches)
"""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs, PlannedBatch, Shape
from course_lib.text.encoded import EncodedCorpus
from course_lib.training.objective import Objective, for_sums
from course_lib.training.recipe import Recipe
from course_lib.training.step import Step, learned
from lessons.l15_training_a_translator.by_hand import AdamState, Weights

TrainingStep = Callable[..., tuple[float, Weights, AdamState]]  # called as `by_hand.training_step` is
Batcher = Callable[[list[int], int], list[list[int]]]  # lengths, room: batches of sentence numbers


class FunctionStep(Step):
    """A step that a plain function takes: it gets weights and Adam's means, and returns new ones.

    Both are kept where the library's own step keeps them, so either step can resume a run of the other.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        recipe: Recipe,
        loss_of: Callable[[Batch], Callable[[Weights], Tensor]],
        function: TrainingStep,
    ):
        super().__init__(model, objective, recipe, learned(model))
        self.loss_of, self.function = loss_of, function
        self.names = list(self.adam.weights)

    def __call__(self, batch: Batch, rate: float) -> Tensor:
        """Learn from one batch. Returns its mean loss, and 1: every batch counts as much as any other."""
        state, name = self.adam.state, self.names[0]
        number = int(state[f"adam.step.{name}"]) + 1
        weights = {name: weight.detach() for name, weight in self.adam.weights.items()}
        memory = {name: (state[f"adam.exp_avg.{name}"], state[f"adam.exp_avg_sq.{name}"]) for name in weights}
        loss, moved, means = self.function(
            weights, self.loss_of(batch), memory if number > 1 else {}, number, rate
        )
        with torch.no_grad():
            for name, weight in self.adam.weights.items():
                weight.copy_(moved[name])
                state[f"adam.exp_avg.{name}"].copy_(means[name][0])
                state[f"adam.exp_avg_sq.{name}"].copy_(means[name][1])
                state[f"adam.step.{name}"].fill_(number)
        return torch.tensor([float(loss), 1.0], dtype=for_sums(self.device), device=self.device)


class BatcherEpochs(Epochs):
    """The batches of a batcher. Each epoch has its own order of the sentences, and of the batches."""

    def __init__(self, corpus: EncodedCorpus, batcher: Batcher, *, tokens_per_batch: int, seed: int):
        self.batcher = batcher
        super().__init__(corpus, tokens_per_batch=tokens_per_batch, seed=seed)

    def draw_plan(self, epoch: int) -> list[PlannedBatch]:
        draw, sizes = random.Random(f"{self.seed} {epoch}").random, self.corpus.lengths
        order = sorted(range(len(sizes)), key=lambda _: draw())
        chosen = self.batcher([max(sizes[pair]) for pair in order], self.tokens_per_batch)
        batches = [[order[index] for index in batch] for batch in chosen]
        shapes = [map(max, zip(*(sizes[pair] for pair in batch), strict=True)) for batch in batches]
        planned = zip(shapes, batches, strict=True)
        plan = [PlannedBatch(Shape(len(batch), *shape), tuple(batch)) for shape, batch in planned]
        self.n_batches = len(plan)  # a batcher may make more batches in one epoch than in another
        return sorted(plan, key=lambda _: draw())

    def seek(self, epoch: int, step: int) -> None:
        """Go to any batch of any epoch."""
        self.plan(epoch)
        super().seek(epoch, step)
