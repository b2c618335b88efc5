"""The training loop for every system.

    result = train(system, corpus, recipe, validation=validation_corpus)
    result.history.best.loss

It trains on batches, validates at intervals, keeps the best weights, and can be stopped and resumed at any
step. Lesson 15 passes a step, batches and a schedule of the learner's own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import nn

from course_lib.models.inference import device_of, eval_mode
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.console import StopRequest, steps_bar
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import Objective, for_sums, mean_loss, objective_for
from course_lib.training.processes import SINGLE, Processes
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RESTART, Ended, Record, RunFolder, RunState
from course_lib.training.step import PlainStep, Step, learned

AfterValidation = Callable[[Record], None]
Schedule = Callable[[int], float]  # from a step, counted from 1, to its learning rate
Score = Callable[[nn.Module], dict[str, float | list[str]]]
SAVE_EVERY = 60.0  # seconds: the most that a killed run loses, however rarely it validates
BAR_EVERY = 20  # steps between two readings of the loss on a GPU, because each waits for the GPU


def train(
    model: nn.Module,
    corpus: EncodedCorpus,
    recipe: Recipe,
    *,
    validation: EncodedCorpus,
    objective: Objective | None = None,
    folder: RunFolder | None = None,
    processes: Processes = SINGLE,
    after_validation: AfterValidation | None = None,
    step: Step | None = None,
    batches: Epochs | None = None,
    schedule: Schedule | None = None,
    score: Score | None = None,
    until: int | None = None,
) -> RunState:
    """Train a model in place, and leave the best weights in it; with a folder, save the run or resume it.

    After an interruption (Ctrl-C, the stop button) it returns the result so far.
    `objective` replaces the default for this kind of model; it is also called at validation, where
    `model.training` is False.
    `step`, `batches` and `schedule` replace the training step, the batches of the corpus and the learning
    rate of the recipe.
    `score` returns what to record besides the loss. `until` stops the run after that step.
    """
    with folder.locked() if folder and processes.is_main else nullcontext():
        loop = _Loop(model, corpus, recipe, objective, processes, folder, step, batches, schedule)
        state, first_step = loop.state, loop.state.step
        try:
            state.ended = loop.run(validation, after_validation, score, until)
        finally:  # the model can be used even after a second Ctrl-C or an error
            loop.step.finish(state.best or loop.step.weights())
            model.eval()
        if loop.folder and state.best and state.step > first_step and not state.best_is_new:
            loop.folder.save_best(state.best, state.history)  # again, with the complete history
    state.seconds, state.n_left_out = loop.seconds, loop.epochs.n_left_out
    state.best, state.average = {}, {}  # the model has the weights, so the result needs no copies
    return state


class _Loop:
    """A run: the step, the batches, and the state of both."""

    def __init__(
        self,
        model: nn.Module,
        corpus: EncodedCorpus,
        recipe: Recipe,
        objective: Objective | None,
        processes: Processes,
        folder: RunFolder | None,
        step: Step | None,
        batches: Epochs | None,
        schedule: Schedule | None,
    ):
        self.model, self.recipe, self.processes = model, recipe, processes
        self.rate = schedule or recipe.rate
        self.folder = folder if processes.is_main else None  # only the main process writes
        self.objective = objective or objective_for(
            model, recipe.smoothing, recipe.r_drop, recipe.scheduled_sampling
        )
        self.epochs = batches or Epochs(
            corpus,
            tokens_per_batch=recipe.tokens_per_batch,
            seed=recipe.seed,
            lengths=FIXED_LENGTHS if recipe.fixed_shapes else None,
            over_long="leave out",
        )
        saved = folder.load() if folder else None  # first, because it may raise an error
        self.step = step or make_step(model, self.objective, recipe, processes)
        self.state = RunState()
        if saved:
            self.state, tensors = saved
            try:
                self.step.load(tensors)
            except (RuntimeError, KeyError) as error:
                raise CheckpointError(f"{folder.last} doesn't fit this system: {error}. {RESTART}") from error
            record = self.state.history.best
            if self.folder and self.state.best_is_new and not self.folder.has_best(record):
                self.folder.save_best(self.state.best, self.state.history)  # it was killed before it could
        processes.check_same("the step to resume from", (self.state.step, self.state.position))
        self.epochs.seek(*self.state.position)
        self.device = corpus.device
        self.since = torch.tensor(self.state.since, dtype=for_sums(self.device), device=self.device)
        self.saved_at = time.perf_counter()
        self.started = self.saved_at - self.state.seconds
        if self.device.type != "cpu":  # once: results on a GPU aren't reproducible anyway
            torch.manual_seed(seed_of(recipe.seed, self.state.step, processes.rank))
        model.train()

    def run(
        self,
        validation: EncodedCorpus,
        after_validation: AfterValidation | None,
        score: Score | None,
        until: int | None,
    ) -> Ended:
        """Train to the last step, or until the run is stopped."""
        processes, state = self.processes, self.state
        last = math.inf if until is None else until
        stopped = state.step >= last and not self.over
        bar_every = 1 if self.device.type == "cpu" else BAR_EVERY
        ignore_seconds = 1.0 if processes.world_size > 1 else 0.0
        with (
            StopRequest(ignore_seconds=ignore_seconds, verbose=processes.is_main) as stop,
            steps_bar(total=self.recipe.n_steps, start=state.step, shown=processes.is_main) as bar,
        ):
            while not (stopped or self.over):
                self.take_step()
                record = None
                if state.step % self.recipe.validate_every == 0 or self.over:
                    record = self.validate(validation, score)
                stopped = processes.any_across(stop.received or state.step >= last) and not self.over
                if record or stopped or time.perf_counter() - self.saved_at > SAVE_EVERY:
                    self.save()
                if record and after_validation and processes.is_main:
                    after_validation(record)
                bar.update(1)
                if not bar.disable and state.step % bar_every == 0:
                    bar.set_postfix(self.readings(), refresh=False)
        return "stopped" if stopped else self.over

    @property
    def over(self) -> Ended | None:
        """Why the run is over; None if it isn't."""
        if self.state.history.diverged:
            return "diverged"
        impatient = 0 < self.recipe.patience <= self.state.history.since_best
        return "finished" if impatient or self.state.step >= self.recipe.n_steps else None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def take_step(self) -> None:
        """One step. On a CPU its random seed depends only on the recipe's seed and its number, so a resumed
        run takes the same step.
        """
        number = self.state.step + 1
        if self.device.type == "cpu":
            # torch.manual_seed would take as long as a small layer on a machine without a GPU.
            torch.default_generator.manual_seed(seed_of(self.recipe.seed, number, self.processes.rank))
        self.since += self.step(next(self.epochs), self.rate(number))
        self.state.step, self.state.position = number, tuple(self.epochs.position)
        if self.recipe.averages(number):
            self.state.add_to_average(self.step.weights())

    def training_loss(self) -> tuple[float, int]:
        """The mean loss since the last record, and its number of tokens."""
        total, n_tokens = self.since.tolist()
        return total / max(n_tokens, 1), int(n_tokens)

    def readings(self) -> dict[str, str]:
        """What the bar shows beside the time that is left."""
        (loss, n_tokens), history = self.training_loss(), self.state.history
        seconds = self.seconds - (history[-1].seconds if history else 0.0)
        rate, speed = self.rate(self.state.step), n_tokens / max(seconds, 1e-9)
        return {"loss": f"{loss:.3f}", "rate": f"{rate:.2g}", "tokens/s": f"{speed:,.0f}"}

    def validate(self, validation: EncodedCorpus, score: Score | None = None) -> Record:
        """Validate the weights, or their average once there is one."""
        averaged = self.state.n_averaged > 0
        weights = self.state.average if averaged else self.step.weights()
        with self.step.holding(weights) as model, torch.no_grad(), eval_mode(model):
            loss = mean_loss(
                model,
                validation,
                self.objective,
                tokens_per_batch=self.recipe.tokens_per_batch,
                bfloat16=self.recipe.precision == "bfloat16",
                processes=self.processes,
            )
            scores = score(model) if score else {}
        train_loss, n_tokens = self.training_loss()
        record = Record(
            step=self.state.step,
            epoch=self.state.position[0],
            rate=self.rate(self.state.step),
            train_loss=train_loss,
            loss=loss,
            seconds=self.seconds,
            n_tokens=n_tokens,
            averaged=averaged,
            scores=scores,
        )
        self.since.zero_()
        self.state.history.append(record)
        if self.state.best_is_new:
            self.state.best = {name: tensor.detach().clone() for name, tensor in weights.items()}
        return record

    def save(self) -> None:
        """Save the run, if it has a folder."""
        self.state.seconds, self.state.since = self.seconds, tuple(self.since.tolist())
        self.saved_at = time.perf_counter()
        if self.folder:
            self.folder.save(self.state, self.step.state())


def make_step(model: nn.Module, objective: Objective, recipe: Recipe, processes: Processes = SINGLE) -> Step:
    """The fast step where it works: one GPU, fixed shapes, and a state that consists of learned weights."""
    if not learned(model):
        raise TypeError(f"{type(model).__name__} has no parameters to train.")
    on_gpu = device_of(model).type == "cuda"
    all_learned = model.state_dict().keys() == learned(model).keys()
    if on_gpu and recipe.fixed_shapes and processes.world_size == 1 and all_learned:
        return GraphStep(model, objective, recipe)
    return PlainStep(model, objective, recipe, processes)


def seed_of(*numbers: int) -> int:
    """A seed computed from several numbers, the same on every machine.

    >>> seed_of(0, 1), seed_of(1, 0)
    (1, 1000003)
    """
    seed = 0
    for number in numbers:
        seed = (seed * 1_000_003 + number) % 2**63
    return seed
