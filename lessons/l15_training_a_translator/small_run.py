"""A small translator, trained in seconds: lesson 15 passes the learner's own functions.

    run = SmallRun(short_data(), forward=mine, step=my_training_step)
    run.train()
    run.history[-1].scores["exact"]

The library's training loop trains a Transformer of one block on each side. Its settings can have faults
(`training_settings.py`); the lesson compares such runs with a healthy one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.shapes import Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.special import PAD
from course_lib.training.data import TrainingData
from course_lib.training.job import describe
from course_lib.training.loop import AfterValidation, Score, train
from course_lib.training.recipe import learning_rate
from course_lib.training.run_folder import History, RunFolder, RunState
from course_lib.translation.pipeline import translate
from course_lib.translation.search import greedy
from lessons.l15_training_a_translator.by_hand import smoothed_loss, training_step
from lessons.l15_training_a_translator.function_transformer import (
    WIDTH,
    Forward,
    FunctionTransformer,
    forward,
    small_config,
)
from lessons.l15_training_a_translator.own_parts import Batcher, BatcherEpochs, FunctionStep, TrainingStep
from lessons.l15_training_a_translator.training_settings import (
    HEALTHY,
    N_STEPS,
    TOKENS_PER_BATCH,
    Loss,
    TrainingSettings,
)


class SmallRun:
    """A model, the functions that train it, and what the training recorded."""

    def __init__(
        self,
        data: TrainingData,
        settings: TrainingSettings = HEALTHY,
        *,
        n_steps: int = N_STEPS,
        seed: int = 0,
        forward: Forward = forward,
        loss: Loss = smoothed_loss,
        step: TrainingStep = training_step,
        batcher: Batcher | None = None,
        schedule: Callable[[int, int, int], float] | None = None,
    ):
        """Without a batcher the batches are the library's; without a schedule the rate falls to 0 at the end.

        A schedule is called as `paper_rate` is, and scaled so that its peak is the rate of the settings.
        """
        self.data, self.settings, self.seed = data, settings, seed
        self.recipe = settings.recipe(n_steps=n_steps, seed=seed)
        self._forward, self._loss, self._step = forward, loss, step
        self._batcher, self._schedule = batcher, schedule
        self.model, self.state = self._untrained(), RunState()
        room = max(map(max, data.validation.lengths)) * len(data.validation)
        self.validation_batch: Batch = next(Epochs(data.validation, tokens_per_batch=room, seed=0))

    def _untrained(self) -> FunctionTransformer:
        torch.manual_seed(self.seed)
        return FunctionTransformer(small_config(self.data.tokenizer.vocab_size), self._forward)

    @property
    def history(self) -> History:
        """A record for each validation, with the score "exact"."""
        return self.state.history

    @property
    def finished(self) -> bool:
        return self.state.ended == "finished"

    def rate(self, step: int) -> float:
        """Up during warm-up, then down: in a straight line to 0, or by the schedule."""
        peak, warm_up = self.settings.peak(step), self.settings.warm_up
        if self._schedule:
            top = max(warm_up, 1)
            return peak * self._schedule(step, WIDTH, top) / self._schedule(top, WIDTH, top)
        return learning_rate(step, peak=peak, warm_up=warm_up, decay="linear", n_steps=self.recipe.n_steps)

    # -- training

    def folder(self, path: Path, *, restart: bool = False) -> RunFolder:
        """Where checkpoints of this run are kept."""
        about = describe("transformer", self.model.config, self.recipe, self.data)
        return RunFolder(path, about | {"objective": self.settings.objective}, restart=restart)

    def train(
        self,
        *,
        folder: RunFolder | None = None,
        until: int | None = None,
        score: Score | None = None,
        after_validation: AfterValidation | None = None,
    ) -> SmallRun:
        """Train from the first step, or from the checkpoint in the folder, to the end or to step `until`.

        Afterwards the model has the weights with the lowest validation loss. `score` replaces exact match.
        """
        self.model = model = self._untrained()
        settings, loss, batches = self.settings, self._loss, None
        if self._batcher:
            sizes = {"tokens_per_batch": TOKENS_PER_BATCH, "seed": self.seed}
            batches = BatcherEpochs(self.data.train, self._batcher, **sizes)
        step = FunctionStep(
            model,
            self.objective,
            self.recipe,
            lambda batch: settings.loss_of(model, batch, loss, smoothing=settings.smoothing),
            self._step,
        )
        self.state = train(
            model,
            self.data.train,
            self.recipe,
            validation=self.data.validation,
            objective=self.objective,
            folder=folder,
            step=step,
            batches=batches,
            schedule=self.rate,
            score=score or self.exact_match,
            until=until,
            after_validation=after_validation,
        )
        return self

    def objective(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """The summed loss of a batch, without smoothing at validation, and its number of tokens."""
        smoothing = self.settings.smoothing if model.training else 0.0
        loss_of = self.settings.loss_of(model, batch, self._loss, smoothing=smoothing)
        return loss_of(dict(model.named_parameters())) * batch.n_tokens, batch.n_tokens

    # -- translations

    def exact_match(self, model: FunctionTransformer | None = None) -> dict[str, float]:
        """The proportion of validation sentences whose greedy translation is right, word for word."""
        targets = self.validation_batch.tgt_out
        outputs = self.outputs(targets.shape[1], model)
        outputs = F.pad(outputs, (0, targets.shape[1] - outputs.shape[1]), value=PAD)
        return {"exact": float((outputs == targets).all(dim=1).float().mean())}

    def outputs(self, max_len: int, model: FunctionTransformer | None = None) -> Int[Tensor, "batch tgt"]:
        """The first tokens of the greedy translation of every validation sentence; PAD after EOS."""
        model, batch = model or self.model, self.validation_batch
        return greedy(model, model.encode(batch.src, batch.src_lengths), max_len=max_len).ids

    def translate(self, english: str) -> str:
        """The greedy translation of a sentence."""
        [translation] = translate([english], self.model, self.data.tokenizer)
        return translation.target
