"""A whole training run by name: data, system, recipe, folder.

    trained = run_job(Job(system="bahdanau", folder="runs/bahdanau"))
    trained.result.history.best.loss, trained.saved

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
from course_lib.training.by_kind import config_for, train_by_kind
from course_lib.training.checkpoint import describe
from course_lib.training.corpora import TrainingData, multi30k_data, own_data, toy_data
from course_lib.training.processes import join
from course_lib.training.recipe import (
    IN_EPOCHS,
    QUICK,
    QUICK_CONFIG,
    QUICK_SIZES,
    TOKENS_PER_BATCH,
    Recipe,
    usual_recipe,
)
from course_lib.training.run_folder import RunFolder
from course_lib.training.train import AfterValidation, Result

FLAGS = ("tokens_per_batch", "learning_rate", "r_drop")  # what the command line can change of a recipe


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, on what. `scale` None: the one made for the data.

    `quick` takes a quarter of the tokens, for those who wait before a CPU (`recipe.py`). With `n_steps` the
    whole run is made shorter or longer.
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
    quick: bool = False
    restart: bool = False  # what the folder holds of this run is deleted
    config: Mapping[str, object] = field(default_factory=dict)  # sizes and options otherwise than the scale's
    recipe: Mapping[str, object] = field(default_factory=dict)  # numbers otherwise than the usual recipe's

    @property
    def chosen_scale(self) -> str:
        """Its size: a corpus of your own gets that of the toy language, which a CPU can train."""
        return self.scale or (self.data if self.data in ("toy", "multi30k") else "toy")

    def command(self) -> str:
        """The command line that asks for the same."""
        parts = ["python3 -m course_lib train", self.system, "--data", shlex.quote(self.data)]
        if self.data != "toy" and not Path(self.data).is_file():
            parts += ["--from", self.src, "--to", self.tgt]
        given = {"scale": self.scale, "seed": self.seed or None, "steps": self.n_steps}
        for name, value in (given | {name: self.recipe.get(name) for name in FLAGS}).items():
            parts += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
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
class TrainedSystem:
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
    after_validation: AfterValidation | None = None,
    data: TrainingData | None = None,
) -> TrainedSystem:
    """Train. `data` saves the making of it, where somebody has it already."""
    processes = join(torch.device(job.device) if job.device else usual_device())
    data = (data or load_data(job)).to(processes.device)
    torch.manual_seed(job.seed)
    config = replace(config_for(job.system, scale=job.chosen_scale, data=data), **job.changes()[0])
    model = build(job.system, config).to(processes.device)
    recipe = make_recipe(job, data)
    about = describe(job.system, config, recipe, data, command=job.command())
    folder = RunFolder(job.folder, about) if job.folder else None
    if job.restart and folder and processes.leads:
        folder.clear()
    processes.check_same("the run", about | {"machine": ""})  # and nobody reads what is being deleted
    if processes.leads:
        n_pairs, where = f"{len(data.train):,} pairs of {data.name}", processes.device.type
        tell(f"{job.system}: {n_parameters(model):,} parameters, {n_pairs}, on {where}")
        tell(f"{recipe}, dropout {getattr(config, 'dropout', 0.0):g}")
        if processes.n > 1:
            # Said now: when one is lost, torchrun may end the others before they can say anything.
            tell(
                f"{processes.n} processes. Should one be lost, torchrun ends the others, "
                "and the same command goes on from the last checkpoint."
            )
        if folder and (step := folder.resumed_at()):
            left = recipe.n_steps - step
            how = f"{left:,} to go" if left > 0 else "there is nothing left to do"
            tell(f"Resumed from {job.folder} at step {step:,}: {how}.")
    result = train_by_kind(
        model, data, recipe, folder=folder, processes=processes, after_validation=after_validation
    )
    return TrainedSystem(model, data, recipe, result, about, folder.best if folder else None)


def load_data(job: Job) -> TrainingData:
    """The corpus a job names."""
    if job.data == "toy":
        return toy_data()
    if job.data == "multi30k":
        return multi30k_data(job.src, job.tgt, folder=job.multi30k)
    return own_data(job.data, job.src, job.tgt)


def make_recipe(job: Job, data: TrainingData) -> Recipe:
    """The usual recipe, with what the job wants otherwise."""
    on_gpu, scale, changes = data.train.device.type == "cuda", job.chosen_scale, job.changes()[1]
    n_batches = None
    if scale in IN_EPOCHS:
        tokens = changes.get("tokens_per_batch", TOKENS_PER_BATCH[scale])
        lengths = FIXED_LENGTHS if on_gpu else None
        plan = Epochs(data.train, tokens_per_batch=tokens, seed=0, lengths=lengths, over_long="leave out")
        n_batches = plan.n_batches
    recipe = usual_recipe(job.system, scale=scale, n_batches=n_batches, seed=job.seed, on_gpu=on_gpu)
    recipe = replace(recipe, **changes)
    return recipe if job.n_steps is None else recipe.in_steps(job.n_steps)
