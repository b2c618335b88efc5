"""The one training loop, for every system of the road.

    result = train(system, corpus, recipe, validation=validation_corpus)
    result.history.best.loss

It draws batches, lets a step learn from each, validates now and then, keeps the best weights, and can be
stopped and resumed at any step. What varies comes in from outside: the system, the objective, the kind of
step, and `after_validation`, which is called with each new record. Lesson 15 passes a step, batches and a
schedule of the learner's own.
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
from course_lib.training.console import Stopping, steps_bar
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import Objective, for_sums, mean_loss, objective_for
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import Ended, Record, RunFolder, RunState
from course_lib.training.step import PlainStep, Step, learned

AfterValidation = Callable[[Record], None]
Schedule = Callable[[int], float]  # the number of a step, the first being 1: its learning rate
Score = Callable[[nn.Module], dict[str, float]]
SAVE_EVERY = 60.0  # seconds: a run that is killed, or looked into, loses no more, however rarely it validates
BAR_EVERY = 20  # steps between two readings of the loss on a GPU, which has to be waited for


def train(
    model: nn.Module,
    corpus: EncodedCorpus,
    recipe: Recipe,
    *,
    validation: EncodedCorpus,
    objective: Objective | None = None,
    folder: RunFolder | None = None,
    processes: Processes = ALONE,
    after_validation: AfterValidation | None = None,
    step: Step | None = None,
    batches: Epochs | None = None,
    schedule: Schedule | None = None,
    score: Score | None = None,
    until: int | None = None,
) -> RunState:
    """Train a model in place; with a folder, go on from the state in it, and save as it goes.

    The model has the best weights then. Whoever interrupts (Ctrl-C, the stop button) gets the result so far,
    and a folder to go on from.
    `objective` None: the usual one of the model's kind. One of your own is asked at validation, too: there
    `model.training` is False.
    `step`, `batches` and `schedule` replace the step of this model, the batches of the corpus and the
    learning rate that the recipe asks for.
    `score` gives numbers that each record keeps besides the loss; `until` ends the run after that step, as
    an interruption would.
    """
    with folder.locked() if folder and processes.leads else nullcontext():
        loop = _Loop(model, corpus, recipe, objective, processes, folder, step, batches, schedule)
        state, began = loop.state, loop.state.step
        try:
            state.ended = loop.run(validation, after_validation, score, until)
        finally:  # after a second Ctrl-C, too, or somebody's own fault: the model can be used all the same
            loop.step.finish(state.best or loop.step.weights())
            model.eval()
        if loop.folder and state.best and state.step > began and not state.best_is_new:
            loop.folder.save_best(state.best, state.history)  # once more, with what came after them
    state.seconds, state.n_left_out = loop.seconds, loop.epochs.n_left_out
    state.best, state.average = {}, {}  # the model has them: whoever keeps the result needs no copies
    return state


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
        step: Step | None,
        batches: Epochs | None,
        schedule: Schedule | None,
    ):
        self.model, self.recipe, self.processes = model, recipe, processes
        self.rate = schedule or recipe.rate
        self.folder = folder if processes.leads else None  # one writes; all read
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
        saved = folder.load() if folder else None  # before anything is changed: it may be refused
        self.step = step or make_step(model, self.objective, recipe, processes)
        self.state = RunState()
        if saved:
            self.state, tensors = saved
            try:
                self.step.load(tensors)
            except (RuntimeError, KeyError) as error:
                raise CheckpointError(f"{folder.last} does not fit this system: {error}") from error
            record = self.state.history.best
            if self.folder and self.state.best_is_new and not self.folder.has_best(record):
                self.folder.save_best(self.state.best, self.state.history)  # it was killed before it could
        processes.check_same("the step to go on from", (self.state.step, self.state.position))
        self.epochs.seek(*self.state.position)
        self.device = corpus.device
        self.since = torch.tensor(self.state.since, dtype=for_sums(self.device), device=self.device)
        self.saved_at = time.perf_counter()
        self.started = self.saved_at - self.state.seconds
        if self.device.type != "cpu":  # once, for a GPU's randomness is not the same twice anyway
            torch.manual_seed(seed_of(recipe.seed, self.state.step, processes.rank))
        model.train()

    def run(
        self,
        validation: EncodedCorpus,
        after_validation: AfterValidation | None,
        score: Score | None,
        until: int | None,
    ) -> Ended:
        """Step by step to the end, or until somebody stops it."""
        processes, state = self.processes, self.state
        last = math.inf if until is None else until
        stopped = state.step >= last and not self.over
        bar_every = 1 if self.device.type == "cpu" else BAR_EVERY
        with (
            Stopping(echo=1.0 if processes.n > 1 else 0.0, says=processes.leads) as stopping,
            steps_bar(total=self.recipe.n_steps, start=state.step, shown=processes.leads) as bar,
        ):
            while not (stopped or self.over):
                self.learn()
                record = None
                if state.step % self.recipe.validate_every == 0 or self.over:
                    record = self.validate(validation, score)
                stopped = processes.agree(stopping.asked or state.step >= last) and not self.over
                if record or stopped or time.perf_counter() - self.saved_at > SAVE_EVERY:
                    self.save()
                if record and after_validation and processes.leads:
                    after_validation(record)
                bar.update(1)
                if not bar.disable and state.step % bar_every == 0:
                    bar.set_postfix(loss=f"{self.training_loss()[0]:.3f}", refresh=False)
        return "stopped" if stopped else self.over

    @property
    def over(self) -> Ended | None:
        """Why there is nothing more to do; None if there is."""
        if self.state.history.diverged:
            return "diverged"
        return "finished" if self.state.step >= self.recipe.n_steps else None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def learn(self) -> None:
        """One step. Its randomness comes from the seed and its number, so it is the same after a resume."""
        number = self.state.step + 1
        if self.device.type == "cpu":
            # Not torch.manual_seed, which on a machine without a GPU takes as long as a small layer.
            torch.default_generator.manual_seed(seed_of(self.recipe.seed, number, self.processes.rank))
        self.since += self.step(next(self.epochs), self.rate(number))
        self.state.step, self.state.position = number, tuple(self.epochs.position)
        if self.recipe.averages(number):
            self.state.join_average(self.step.weights())

    def training_loss(self) -> tuple[float, int]:
        """The mean loss since the last record, and the number of tokens it is of."""
        total, n_tokens = self.since.tolist()
        return total / max(n_tokens, 1), int(n_tokens)

    def validate(self, validation: EncodedCorpus, score: Score | None = None) -> Record:
        """Measure how well the weights, or their average once there is one, do on the validation set."""
        averaged = self.state.n_averaged > 0
        weights = self.state.average if averaged else self.step.weights()
        with self.step.holding(weights) as model:
            loss = mean_loss(
                model,
                validation,
                self.objective,
                tokens_per_batch=self.recipe.tokens_per_batch,
                bfloat16=self.recipe.precision == "bfloat16",
                processes=self.processes,
            )
            scores = measured(model, score) if score else {}
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


@torch.no_grad()
def measured(model: nn.Module, score: Score) -> dict[str, float]:
    """What a score gives, without dropout."""
    with eval_mode(model):
        return score(model)


def make_step(
    model: nn.Module, objective: Objective, recipe: Recipe, processes: Processes = ALONE
) -> PlainStep | GraphStep:
    """The fast step where it can work: one GPU, shapes that repeat, nothing to keep but what is learned."""
    if not learned(model):
        raise TypeError(f"{type(model).__name__} has no weights that steps could move.")
    on_gpu = device_of(model).type == "cuda"
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
