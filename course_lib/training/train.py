"""The one training loop, for every system of the road.

    result = train(system, corpus, recipe, validation=validation_corpus)
    result.history.best.loss

It draws batches, lets a step learn from each, validates now and then, keeps the best weights, and can be
stopped and resumed at any step. What varies comes in from outside: the system, the objective, the kind of
step, and `after_validation`, which is called with each new record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Translator
from course_lib.runtime import for_sums
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.console import Stopping, steps_bar
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import Objective, objective_for
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder, RunState
from course_lib.training.step import PlainStep, learned
from course_lib.training.validation import History, Record, mean_loss

Ended = Literal["finished", "no better for long", "stopped", "diverged"]
AfterValidation = Callable[[Record], None]
SAVE_EVERY = 60.0  # seconds: a run that is killed, or looked into, loses no more, however rarely it validates
BAR_EVERY = 20  # steps between two readings of the loss on a GPU, which has to be waited for


@dataclass(frozen=True)
class Result:
    """What a run has come to. The model holds the best weights now."""

    history: History
    ended: Ended
    step: int
    seconds: float
    n_left_out: int = 0  # pairs too long for a batch, or for the largest fixed shape


def train(
    model: nn.Module,
    corpus: EncodedCorpus,
    recipe: Recipe,
    *,
    validation: EncodedCorpus,
    objective: Objective | None = None,
    validation_objective: Objective | None = None,
    folder: RunFolder | None = None,
    processes: Processes = ALONE,
    after_validation: AfterValidation | None = None,
) -> Result:
    """Train a model in place; with a folder, go on from the state in it, and save as it goes.

    Whoever interrupts (Ctrl-C, the stop button) gets the result so far, and a folder to go on from.
    Validation asks what training asks: an objective of your own as it is, the usual ones unsmoothed and once.
    """
    if not learned(model):
        raise TypeError(
            f"Expected a system with weights to train, but {type(model).__name__} has none. "
            "One that counts is made with `training/by_kind.py`."
        )
    _check_fits(model, validation.lengths)
    measured = validation_objective or objective or objective_for(model, smoothing=0.0)
    with folder.locked() if folder and processes.leads else nullcontext():
        loop = _Loop(model, corpus, recipe, objective, processes, folder)
        try:
            ended = _run(loop, validation, measured, after_validation)
        finally:  # after a second Ctrl-C, too, or somebody's own fault: the model can be used all the same
            loop.use_best()
        loop.save_whole_history()
    state, n_left_out = loop.state, len(corpus) - len(loop.epochs.kept)
    return Result(state.history, ended, state.step, loop.seconds, n_left_out=n_left_out)


def _run(
    loop: _Loop, validation: EncodedCorpus, measured: Objective, after_validation: AfterValidation | None
) -> Ended:
    """Step by step to the end, or until somebody stops it."""
    recipe, processes, stopped = loop.recipe, loop.processes, False
    bar_every = BAR_EVERY if loop.epochs.corpus.device.type != "cpu" else 1
    with (
        Stopping(echo=1.0 if processes.n > 1 else 0.0, says=processes.leads) as stopping,
        steps_bar(total=recipe.n_steps, start=loop.state.step, shown=processes.leads) as bar,
    ):
        while not (stopped or loop.over):
            loop.learn()
            step, record = loop.state.step, None
            if step % recipe.validate_every == 0 or step == recipe.n_steps:
                record = loop.validate(validation, measured)
            stopped = processes.agree(stopping.asked) and not loop.over
            if record or stopped or time.perf_counter() - loop.saved_at > SAVE_EVERY:
                loop.save()
            if record and after_validation is not None and processes.leads:
                after_validation(record)
            bar.update(1)
            if not bar.disable and step % bar_every == 0:
                bar.set_postfix(loss=f"{loop.training_loss()[0]:.3f}", refresh=False)
    return "stopped" if stopped else loop.over


class _Loop:
    """A run in the making: the step, the batches, and the state of both."""

    def __init__(
        self,
        model: nn.Module,
        corpus: EncodedCorpus,
        recipe: Recipe,
        objective: Objective | None,
        processes: Processes,
        folder: RunFolder | None,
    ):
        self.model, self.recipe, self.processes = model, recipe, processes
        self.folder = folder if processes.leads else None  # one writes; all read
        self.epochs = Epochs(
            corpus,
            tokens_per_batch=recipe.tokens_per_batch,
            seed=recipe.seed,
            lengths=FIXED_LENGTHS if recipe.fixed_shapes else None,
            over_long="leave out",
        )
        _check_fits(model, [(shape.src_len, shape.tgt_len) for shape, _ in self.epochs.plan(epoch=0)])
        saved = folder.load() if folder else None  # before anything is changed: it may be refused
        self.step = make_step(
            model,
            objective or objective_for(model, recipe.smoothing, recipe.r_drop, recipe.scheduled_sampling),
            recipe,
            processes,
        )
        self.state, self.best_weights = RunState(), {}
        if saved:
            try:
                self.step.load(saved.tensors)
            except (RuntimeError, KeyError) as error:
                raise CheckpointError(f"{folder.last} does not fit this system: {error}") from error
            self.state, self.best_weights = saved.state, saved.best
            if self.folder and self._best_is_new():  # it may have been killed before it could save them
                self.folder.save_best(self.best_weights, self.state.history)
        processes.check_same("the step to go on from", (self.state.step, self.state.position))
        self.epochs.seek(*self.state.position)
        device = corpus.device
        self.since = torch.tensor(self.state.since, dtype=for_sums(device), device=device)
        self.started = time.perf_counter() - self.state.seconds
        self.saved_at = time.perf_counter()
        if device.type != "cpu":  # once, not at each step: a GPU's randomness is not the same twice anyway
            torch.manual_seed(seed_of(recipe.seed, self.state.step, processes.rank))
        model.train()

    @property
    def over(self) -> Ended | None:
        """Why there is nothing more to do; None if there is."""
        if self.state.history.diverged:
            return "diverged"
        if self.state.step >= self.recipe.n_steps:
            return "finished"
        patience = self.recipe.patience
        return "no better for long" if 0 < patience <= self.state.history.validations_since_best else None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def learn(self) -> None:
        """One step. Its randomness comes from the seed and its number, so it is the same after a resume."""
        number = self.state.step + 1
        if self.epochs.corpus.device.type == "cpu":
            # Not torch.manual_seed, which on a machine without a GPU takes as long as a small layer.
            torch.default_generator.manual_seed(seed_of(self.recipe.seed, number, self.processes.rank))
        self.since += self.step(next(self.epochs), self.recipe.rate(number))
        self.state.step, self.state.position = number, tuple(self.epochs.position)
        if self.recipe.averages(number):
            self.state.average.add(self.step.weights())

    def training_loss(self) -> tuple[float, int]:
        """The mean loss since the last record, and the number of tokens it is of."""
        total, n_tokens = self.since.tolist()
        return total / max(n_tokens, 1), int(n_tokens)

    def validate(self, validation: EncodedCorpus, objective: Objective) -> Record:
        """Measure how well the weights, or their average once there is one, do on the validation set."""
        averaged = self.state.average.n > 0
        weights = self.state.average.weights if averaged else self.step.weights()
        with self.step.holding(weights) as model:
            loss = mean_loss(
                model,
                validation,
                objective,
                tokens_per_batch=self.recipe.tokens_per_batch,
                bfloat16=self.recipe.precision == "bfloat16",
                processes=self.processes,
            )
        train_loss, n_tokens = self.training_loss()
        record = Record(
            step=self.state.step,
            epoch=self.state.position[0],
            rate=self.recipe.rate(self.state.step),
            train_loss=train_loss,
            loss=loss,
            seconds=self.seconds,
            n_tokens=n_tokens,
            averaged=averaged,
        )
        self.since.zero_()
        self.state.history.add(record)
        if self._best_is_new():
            self.best_weights = {name: tensor.detach().clone() for name, tensor in weights.items()}
        return record

    def _best_is_new(self) -> bool:
        best = self.state.history.best
        return best is not None and best.step == self.state.step

    def save(self) -> None:
        """Save the state of the run, and the best weights if they are new; before any record, the newest."""
        self.state.seconds, self.state.since = self.seconds, tuple(self.since.tolist())
        self.saved_at = time.perf_counter()
        if self.folder:
            self.folder.save(self.state, self.step.state())
            if not self.state.history.records:
                self.folder.save_best(self.step.weights(), self.state.history)
            elif self._best_is_new():
                self.folder.save_best(self.best_weights, self.state.history)

    def use_best(self) -> None:
        """Leave the best weights in the model, on its device, ready to be used."""
        self.step.finish(self.best_weights or self.step.weights())
        self.model.eval()

    def save_whole_history(self) -> None:
        """The best weights once more, with what came after them."""
        if self.folder and self.best_weights and not self._best_is_new():
            self.folder.save_best(self.best_weights, self.state.history)


def _check_fits(model: nn.Module, lengths: Iterable[tuple[int, int]]) -> None:
    """Said now, and not by the model in the middle of a run."""
    if not isinstance(model, Translator | LanguageModel):
        return
    longest = max(max(pair) if isinstance(model, Translator) else pair[1] for pair in lengths)
    if longest > model.config.max_len:
        raise ValueError(
            f"Expected sentences of at most {model.config.max_len} tokens (EOS, padding included), for which "
            f"this system is built, but there is one of {longest}. Build it with a larger max_len."
        )


def make_step(
    model: nn.Module, objective: Objective, recipe: Recipe, processes: Processes = ALONE
) -> PlainStep | GraphStep:
    """The fast step where it can work: one GPU, shapes that repeat, nothing to keep but what is learned."""
    on_gpu = next(model.parameters()).device.type == "cuda"
    all_learned = model.state_dict().keys() == learned(model).keys()
    if on_gpu and recipe.fixed_shapes and processes.n == 1 and all_learned:
        return GraphStep(model, objective, recipe)
    return PlainStep(model, objective, recipe, processes)


def seed_of(*numbers: int) -> int:
    """One seed made of several numbers, the same on every machine.

    >>> seed_of(0, 1), seed_of(1, 0)
    (1, 1000003)
    """
    mixed = 0
    for number in numbers:
        mixed = (mixed * 1_000_003 + number) % 2**63
    return mixed
