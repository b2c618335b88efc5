"""A complete training run by name: data, system, recipe, folder.

    trained = run_job(Job(system="bahdanau", folder="runs/bahdanau"))
    trained.result.history.best.loss, trained.saved

`course_lib train` and the recorded results use this. The same job in the same folder resumes where it
stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import torch
from torch import nn

from course_lib.formatting import counted
from course_lib.models.config import Config
from course_lib.models.own_file import own_transformer
from course_lib.models.registry import build, make_config, n_parameters, system
from course_lib.runtime import device as usual_device
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.training.checkpoint import About
from course_lib.training.data import TrainingData, toy_data
from course_lib.training.loop import AfterValidation, train
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
from course_lib.training.run_folder import RunFolder, RunState, describe


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, and how.

    `quick` trains on a quarter of the tokens, for a CPU (`recipe.py`). `n_steps` makes the whole run
    shorter or longer. With a `model_file`, the class Transformer of that Python file is trained.
    """

    system: str
    scale: str = "toy"
    seed: int = 0
    folder: str | None = None
    device: str | None = None
    model_file: str | None = None
    n_steps: int | None = None
    quick: bool = False
    restart: bool = False  # start again instead of resuming the run in the folder
    config: Mapping[str, object] = field(default_factory=dict)  # overrides of the scale's configuration
    recipe: Mapping[str, object] = field(default_factory=dict)  # overrides of the usual recipe

    def changes(self) -> tuple[dict[str, object], dict[str, object]]:
        """The overrides of the configuration and of the recipe, including those of `quick`."""
        if not self.quick:
            return dict(self.config), dict(self.recipe)
        names = {field.name for field in fields(system(self.system).config)}
        config = {name: value for name, value in QUICK_CONFIG.items() if name in names}
        config |= QUICK_SIZES.get((self.system, self.scale), {})
        return config | dict(self.config), QUICK | dict(self.recipe)


@dataclass(frozen=True)
class TrainedSystem:
    """A trained system with its data, its run and its checkpoint."""

    model: nn.Module
    data: TrainingData
    result: RunState
    about: About
    saved: Path | None


def run_job(
    job: Job,
    *,
    data: TrainingData | None = None,
    trainer: Callable[..., RunState] | None = None,
    log: Callable[[str], None] = lambda line: None,
    after_validation: AfterValidation | None = None,
    command: str = "",
) -> TrainedSystem:
    """Train on the toy language, or on other `data`.

    `trainer` replaces `train`, for a system that needs another objective or no steps
    (`tools/train_system.py`). `log` is called with each message. `command` is the command line to save in the
    checkpoint.
    """
    processes = join(torch.device(job.device) if job.device else usual_device())
    data = (data or toy_data()).to(processes.device)
    torch.manual_seed(job.seed)
    config, recipe = config_for(job, data), make_recipe(job, data)
    about = describe(job.system, config, recipe, data, command=command or repr(job))
    if job.model_file:
        model = own_transformer(job.model_file, config).to(processes.device)
        own = {"own_file": Path(job.model_file).name}
        about |= own | {"objective": own}  # so that a run of the library's model isn't resumed with it
    else:
        model = build(job.system, config).to(processes.device)
    folder = RunFolder(job.folder, about, restart=job.restart) if job.folder else None
    processes.check_same("the run", about | {"machine": "", "command": ""})
    if processes.is_main:
        n_pairs, device_type = f"{len(data.train):,} sentence pairs from {data.name}", processes.device.type
        log(f"{job.system}: {n_parameters(model):,} parameters, {n_pairs}, on {device_type}")
        counts = system(job.system).counts
        hyperparameters = f"{recipe}, dropout {getattr(config, 'dropout', 0.0):g}"
        log(
            "This system counts the training sentences once, so there are no training steps."
            if counts
            else hyperparameters
        )
        if processes.world_size > 1:
            # Printed now, because torchrun may end the other processes before they can print anything.
            log(
                f"Training in {processes.world_size} processes. If one dies, torchrun stops the others, and "
                "the same command then resumes the run from the last checkpoint."
            )
        if folder and (step := folder.resumed_at()):
            n_left = 0 if counts else recipe.n_steps - step
            remaining = f"{counted(n_left, 'step')} to go" if n_left > 0 else "nothing left to do"
            log(f"Resumed the run in {job.folder} at step {step:,}: {remaining}.")
    options = {"folder": folder, "processes": processes, "after_validation": after_validation}
    if trainer:
        result = trainer(model, data, recipe, **options)
    else:
        result = train(model, data.train, recipe, validation=data.validation, **options)
    return TrainedSystem(model, data, result, about, folder.best if folder else None)


def config_for(job: Job, data: TrainingData) -> Config:
    """The configuration that fits the data: vocabulary size and maximum length; with the job's overrides."""
    config = make_config(job.system, scale=job.scale, vocab_size=data.tokenizer.vocab_size)
    longest = max(data.train.longest, data.validation.longest)
    if data.train.device.type == "cuda":  # where sentences are padded to one of these lengths
        longest = next((length for length in FIXED_LENGTHS if length >= longest), longest)
    return replace(config, **{"max_len": max(config.max_len, longest)} | job.changes()[0])


def make_recipe(job: Job, data: TrainingData) -> Recipe:
    """The usual recipe with the job's overrides."""
    on_gpu, changes, n_batches = data.train.device.type == "cuda", job.changes()[1], None
    if job.scale in IN_EPOCHS:
        tokens = changes.get("tokens_per_batch", TOKENS_PER_BATCH[job.scale])
        lengths = FIXED_LENGTHS if on_gpu else None
        epochs = Epochs(data.train, tokens_per_batch=tokens, seed=0, lengths=lengths, over_long="leave out")
        n_batches = epochs.n_batches
    recipe = usual_recipe(job.system, scale=job.scale, n_batches=n_batches, seed=job.seed, on_gpu=on_gpu)
    own = {"precision": "float32"} if job.model_file else {}  # a learner's code needn't know of any other
    recipe = replace(recipe, **own | changes)
    return recipe if job.n_steps is None else recipe.in_steps(job.n_steps)
