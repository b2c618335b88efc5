"""The one training loop, for every system of the road.

    result = train(system, corpus, recipe, validation=validation_corpus)
    result.history.best.loss

It draws batches, lets a step learn from each, looks at the validation set now and then, keeps the best
weights, and can be stopped and resumed at any step. What varies comes in from outside: the system, the
objective, the kind of step, and `after_look`, which is called with each new record.
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
from course_lib.training.bar import steps_bar
from course_lib.training.checkpoint import check_names, check_shapes
from course_lib.training.graph_step import GraphStep
from course_lib.training.history import History, Record
from course_lib.training.objective import Objective, objective_for
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder, Standing
from course_lib.training.step import PlainStep
from course_lib.training.stopping import Stopping
from course_lib.training.validation import mean_loss

Ended = Literal["finished", "no better for long", "stopped", "diverged"]
KEEP_EVERY = 60.0  # seconds: a run that is killed, or looked into, loses no more, however rarely it validates
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
    keeper: RunFolder | None = None,
    processes: Processes = ALONE,
    after_look: Callable[[Record], None] | None = None,
) -> Result:
    """Train a model in place; with a keeper, go on where its folder stands, and save as it goes.

    Whoever interrupts (Ctrl-C, the stop button) gets the result so far, and a folder to go on from.
    Validation asks what training asks: an objective of your own as it is, the usual ones unsmoothed and once.
    """
    _check_trainable(model)
    _check_fits(model, validation.lengths)
    measured = validation_objective or objective or objective_for(model, smoothing=0.0)
    with keeper.held() if keeper and processes.leads else nullcontext():
        loop = _Loop(model, corpus, recipe, objective, processes, keeper)
        try:
            ended = _run(loop, validation, measured, after_look)
        except BaseException:  # a second Ctrl-C, or somebody's own fault: the model can be used all the same
            loop.use_best()
            raise
        loop.use_best()
        loop.close()
    standing, n_left_out = loop.standing, len(corpus) - len(loop.epochs.kept)
    return Result(standing.history, ended, standing.step, loop.seconds, n_left_out=n_left_out)


def _run(
    loop: _Loop,
    validation: EncodedCorpus,
    measured: Objective,
    after_look: Callable[[Record], None] | None,
) -> Ended:
    """Step by step to the end, or until somebody stops it."""
    recipe, processes, stopped = loop.recipe, loop.processes, False
    bar_every = BAR_EVERY if loop.epochs.corpus.device.type != "cpu" else 1
    with (
        Stopping(echo=1.0 if processes.n > 1 else 0.0, says=processes.leads) as stopping,
        steps_bar(total=recipe.n_steps, start=loop.standing.step, shown=processes.leads) as bar,
    ):
        while not (stopped or loop.over):
            loop.learn()
            step, record = loop.standing.step, None
            if step % recipe.validate_every == 0 or step == recipe.n_steps:
                record = loop.look(validation, measured)
            stopped = processes.agree(stopping.asked) and not loop.over
            if record or stopped or loop.unsaved_seconds > KEEP_EVERY:
                loop.keep(record)
            if record and after_look is not None and processes.leads:
                after_look(record)
            bar.update(1)
            if not bar.disable and step % bar_every == 0:
                bar.set_postfix(loop.figures(), refresh=False)
    return "stopped" if stopped else loop.over


class _Loop:
    """A run in the making: the step, the batches and where both stand."""

    def __init__(
        self,
        model: nn.Module,
        corpus: EncodedCorpus,
        recipe: Recipe,
        objective: Objective | None,
        processes: Processes,
        keeper: RunFolder | None,
    ):
        self.model, self.recipe, self.processes = model, recipe, processes
        self.keeper = keeper if processes.leads else None  # one writes; all read
        lengths = FIXED_LENGTHS if recipe.fixed_shapes else None
        self.epochs = Epochs(
            corpus,
            tokens_per_batch=recipe.tokens_per_batch,
            seed=recipe.seed,
            lengths=lengths,
            over_long="leave out",
        )
        _check_fits(model, [(shape.src_len, shape.tgt_len) for shape, _ in self.epochs.plan(epoch=0)])
        found = keeper.find() if keeper else None  # before anything is changed: it may be refused
        self.step = make_step(
            model,
            objective or objective_for(model, recipe.smoothing, recipe.r_drop, recipe.scheduled_sampling),
            recipe,
            processes=processes,
        )
        self.standing, self.best_weights = Standing(), {}
        if found:
            for own, kept in ((self.step.state(), found.state), (self.step.weights(), found.best)):
                if kept:  # before the first look there are no best weights
                    check_names(own, kept, path=keeper.last)
                    check_shapes(own, kept, path=keeper.last)
            self.standing, self.best_weights = found.standing, found.best
            self.step.load(found.state)
            if self.keeper and not found.best_is_kept:
                self.keeper.keep_best(self.best_weights, self.standing.history)
        if self.keeper:
            self.keeper.tidy()
        processes.check_same("the step to go on from", (self.standing.step, self.standing.position))
        self.epochs.seek(*self.standing.position)
        device = corpus.device
        self.since = torch.tensor(self.standing.since, dtype=for_sums(device), device=device)
        self.started = time.perf_counter() - self.standing.seconds
        self.counted_from = time.perf_counter(), self.standing.since[1]
        self.kept_at = time.perf_counter()
        if device.type != "cpu":  # once, not at each step: a GPU's randomness is not the same twice anyway
            torch.manual_seed(seed_of(recipe.seed, self.standing.step, processes.rank))
        model.train()

    @property
    def over(self) -> Ended | None:
        """Why there is nothing more to do; None if there is."""
        if self.standing.history.diverged:
            return "diverged"
        if self.standing.step >= self.recipe.n_steps:
            return "finished"
        patience = self.recipe.patience
        return "no better for long" if 0 < patience <= self.standing.history.looks_since_best else None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def unsaved_seconds(self) -> float:
        return time.perf_counter() - self.kept_at if self.keeper else 0.0

    def learn(self) -> None:
        """One step. Its randomness comes from the seed and its number, so it is the same after a resume."""
        number = self.standing.step + 1
        if self.epochs.corpus.device.type == "cpu":
            # Not torch.manual_seed, which on a machine without a GPU takes as long as a small layer.
            torch.default_generator.manual_seed(seed_of(self.recipe.seed, number, self.processes.rank))
        self.since += self.step(next(self.epochs), self.recipe.rate(number))
        self.standing.step, self.standing.position = number, tuple(self.epochs.position)
        if self.recipe.averages(number):
            self.standing.average.add(self.step.weights())

    def look(self, validation: EncodedCorpus, objective: Objective) -> Record:
        """See how well the weights, or their average once there is one, do on the validation set."""
        averaged = self.standing.average.n > 0
        weights = self.standing.average.weights if averaged else self.step.weights()
        with self.step.holding(weights) as model:
            loss = mean_loss(
                model,
                validation,
                objective,
                tokens_per_batch=self.recipe.tokens_per_batch,
                bfloat16=self.recipe.precision == "bfloat16",
                processes=self.processes,
            )
        total, n_tokens = self.since.tolist()
        record = Record(
            step=self.standing.step,
            epoch=self.standing.position[0],
            rate=self.recipe.rate(self.standing.step),
            train_loss=total / max(n_tokens, 1),
            loss=loss,
            seconds=self.seconds,
            n_tokens=int(n_tokens),
            averaged=averaged,
        )
        self.since.zero_()
        self.counted_from = time.perf_counter(), 0.0
        self.standing.history.add(record)
        if self.standing.history.best is record:
            self.best_weights = {name: tensor.detach().clone() for name, tensor in weights.items()}
        return record

    def keep(self, record: Record | None) -> None:
        """Save where the run stands, and the best weights if this record has them; before any, the newest."""
        self.standing.seconds, self.standing.since = self.seconds, tuple(self.since.tolist())
        self.kept_at = time.perf_counter()
        if self.keeper:
            self.keeper.keep(self.standing, self.step.state())
            if not self.standing.history.records:
                self.keeper.keep_best(self.step.weights(), self.standing.history)
            elif record is not None and record is self.standing.history.best:
                self.keeper.keep_best(self.best_weights, self.standing.history)

    def figures(self) -> dict[str, str]:
        """For the bar: the loss since the last record, and how fast tokens are learned from."""
        total, n_tokens = self.since.tolist()
        clock, before = self.counted_from
        speed = (n_tokens - before) / (time.perf_counter() - clock)
        return {"loss": f"{total / max(n_tokens, 1):.3f}", "tokens/s": f"{speed:,.0f}"}

    def use_best(self) -> None:
        """Leave the best weights in the model, on its device, ready to be used."""
        self.step.finish(self.best_weights or self.step.weights())
        self.model.eval()

    def close(self) -> None:
        """The best weights once more, with all of the history; before any look, the weights as they are."""
        history = self.standing.history
        if history.diverged and not self.best_weights:
            return  # there is nothing to be used
        if self.keeper and (not history.records or history.records[-1] is not history.best):
            self.keeper.keep_best(self.best_weights or self.step.weights(), self.standing.history)


def _check_trainable(model: nn.Module) -> None:
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise TypeError(
            f"Expected a system with weights to train, but {type(model).__name__} has none. "
            "One that counts is made with `training/counting.py`."
        )


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
    all_learned = model.state_dict().keys() == {n for n, p in model.named_parameters() if p.requires_grad}
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
