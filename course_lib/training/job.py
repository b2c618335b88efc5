"""A whole training run by name: data, system, recipe, folder.

    outcome = run_job(Job(system="bahdanau", folder="runs/bahdanau"))
    outcome.result.history.best.loss, outcome.saved

What `course_lib train` does, and what the lessons and the results are made with. The same job in the same
folder goes on where it stopped.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import torch
from torch import nn

from course_lib.models.registry import build, n_parameters, system
from course_lib.runtime import device as usual_device
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.training.corpora import TrainingData, multi30k_data, own_data, toy_data
from course_lib.training.history import Record
from course_lib.training.kinds import config_for, train_by_kind
from course_lib.training.processes import join
from course_lib.training.recipe import Recipe
from course_lib.training.recipes import (
    IN_EPOCHS,
    QUICK,
    QUICK_CONFIG,
    QUICK_SIZES,
    TOKENS_PER_BATCH,
    usual_recipe,
)
from course_lib.training.run_folder import RunFolder
from course_lib.training.saved_system import describe
from course_lib.training.train import Result

COUNTED_IN_STEPS = ("n_steps", "warm_up", "validate_every")


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, on what. `scale` None: the one made for the data. None elsewhere: the recipe's own.

    `quick` takes a quarter of the tokens, for those who wait before a CPU (`recipes.py`).
    """

    system: str
    data: str = "toy"  # or multi30k, or a path: a file with tabs, a folder
    src: str = "de"
    tgt: str = "en"
    scale: str | None = None
    seed: int = 0
    folder: str | None = None
    multi30k: str | None = None
    device: str | None = None
    n_steps: int | None = None
    tokens_per_batch: int | None = None
    learning_rate: float | None = None
    r_drop: float | None = None
    quick: bool = False
    restart: bool = False  # what the folder holds of this run is deleted
    config: Mapping[str, object] = field(default_factory=dict)  # sizes and options otherwise than the scale's
    recipe: Mapping[str, object] = field(default_factory=dict)  # otherwise than the usual recipe

    @property
    def chosen_scale(self) -> str:
        """Its size: a corpus of your own gets that of the toy language, which a CPU can train."""
        return self.scale or (self.data if self.data in ("toy", "multi30k") else "toy")

    def command(self) -> str:
        """The command line that asks for the same."""
        parts = ["python3 -m course_lib train", self.system, "--data", shlex.quote(self.data)]
        if self.data != "toy" and not Path(self.data).is_file():
            parts += ["--from", self.src, "--to", self.tgt]
        for flag, value in (
            ("--scale", self.scale),
            ("--seed", self.seed or None),
            ("--steps", self.n_steps),
            ("--tokens-per-batch", self.tokens_per_batch),
            ("--learning-rate", self.learning_rate),
            ("--r-drop", self.r_drop),
        ):
            parts += [] if value is None else [flag, str(value)]
        return " ".join([*parts, "--quick"] if self.quick else parts)

    def changes(self) -> tuple[dict[str, object], dict[str, object]]:
        """What configuration and recipe have otherwise than usual."""
        if not self.quick:
            return dict(self.config), dict(self.recipe)
        known = {one.name for one in fields(system(self.system).config)}
        config = {name: value for name, value in QUICK_CONFIG.items() if name in known}
        config |= QUICK_SIZES.get((self.system, self.chosen_scale), {})
        return config | dict(self.config), QUICK | dict(self.recipe)


@dataclass(frozen=True)
class Outcome:
    """A trained system, and how it came about."""

    model: nn.Module
    data: TrainingData
    recipe: Recipe
    result: Result
    about: dict
    saved: Path | None


def run_job(
    job: Job,
    *,
    tell: Callable[[str], None] = lambda line: None,
    after_look: Callable[[Record], None] | None = None,
    data: TrainingData | None = None,
) -> Outcome:
    """Train. `data` saves the making of it, where somebody has it already."""
    device = torch.device(job.device) if job.device else usual_device()
    with join(device) as processes:
        device = processes.device
        data = (data or load_data(job)).to(device)
        torch.manual_seed(job.seed)
        config = replace(config_for(job.system, scale=job.chosen_scale, data=data), **job.changes()[0])
        model = build(job.system, config).to(device)
        recipe = make_recipe(job, data)
        about = describe(job.system, config, recipe, data, command=job.command())
        processes.check_same("the run", about | {"machine": ""})
        keeper = RunFolder(job.folder, about) if job.folder else None
        if job.restart and keeper and processes.leads:
            keeper.clear()
        processes.check_same("where to begin", job.restart)  # nobody reads what is being deleted
        if processes.leads:
            n = n_parameters(model)
            tell(
                f"{job.system}: {n:,} parameters, {len(data.train):,} pairs of {data.name}, on {device.type}"
            )
            tell(recipe_in_words(recipe, getattr(config, "dropout", 0.0)))
            if processes.n > 1:
                # Said now: when one is lost, torchrun may end the others before they can say anything.
                tell(
                    f"{processes.n} processes. Should one be lost, torchrun ends the others, "
                    "and the same command goes on from the last checkpoint."
                )
            if keeper and (step := keeper.stands_at()):
                how = (
                    f"{recipe.n_steps - step:,} to go"
                    if step < recipe.n_steps
                    else "there is nothing left to do"
                )
                tell(f"Resumed from {job.folder} at step {step:,}: {how}.")
        result = train_by_kind(model, data, recipe, keeper=keeper, processes=processes, after_look=after_look)
    return Outcome(model, data, recipe, result, about, keeper.best if keeper else None)


def load_data(job: Job) -> TrainingData:
    """The corpus a job names."""
    if job.data == "toy":
        return toy_data()
    if job.data == "multi30k":
        return multi30k_data(job.src, job.tgt, folder=job.multi30k)
    return own_data(job.data, job.src, job.tgt)


def recipe_in_words(recipe: Recipe, dropout: float) -> str:
    """The numbers of a run that people ask for first.

    >>> recipe_in_words(Recipe(n_steps=4000, learning_rate=3e-3), dropout=0.1)
    '4,000 steps of 4,096 tokens, learning rate 0.003 (warm-up 400 steps), label smoothing 0.1, dropout 0.1'
    """
    parts = [
        f"{recipe.n_steps:,} steps of {recipe.tokens_per_batch:,} tokens",
        f"learning rate {recipe.learning_rate:g} (warm-up {recipe.warm_up:,} steps)",
        f"label smoothing {recipe.smoothing:g}",
        f"dropout {dropout:g}",
    ]
    return ", ".join([*parts, f"R-Drop {recipe.r_drop:g}"] if recipe.r_drop else parts)


def make_recipe(job: Job, data: TrainingData) -> Recipe:
    """The usual recipe, with what the job wants otherwise."""
    on_gpu = data.train.device.type == "cuda"
    changes = job.changes()[1]
    tokens_per_batch = job.tokens_per_batch or changes.pop("tokens_per_batch", None)
    tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[job.chosen_scale]
    n_batches = None
    if job.chosen_scale in IN_EPOCHS:
        lengths = FIXED_LENGTHS if on_gpu else None
        plan = Epochs(
            data.train, tokens_per_batch=tokens_per_batch, seed=0, lengths=lengths, over_long="leave out"
        )
        n_batches = plan.n_batches
    recipe = usual_recipe(
        job.system, scale=job.chosen_scale, n_batches=n_batches, seed=job.seed, on_gpu=on_gpu
    )
    recipe = replace(recipe, tokens_per_batch=tokens_per_batch)
    if job.n_steps is not None:
        looks = max(recipe.n_steps // recipe.validate_every, 1)
        recipe = replace(
            recipe,
            n_steps=job.n_steps,
            warm_up=min(recipe.warm_up, max(job.n_steps // 10, 1)),
            validate_every=max(job.n_steps // looks, 1),
            average_every=min(recipe.average_every, max(job.n_steps // 100, 1)),
        )
    chosen = {name: getattr(job, name) for name in ("learning_rate", "r_drop")}
    chosen = changes | {name: value for name, value in chosen.items() if value is not None}
    if job.n_steps is not None:  # a short run is short, whatever the changes say
        chosen = {name: value for name, value in chosen.items() if name not in COUNTED_IN_STEPS}
    return replace(recipe, **chosen)
