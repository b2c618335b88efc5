"""A complete training run by name: data, system, recipe, folder.

    trained = run_job(Job(system="bahdanau", folder="runs/bahdanau"))
    trained.result.history.best.loss, trained.saved

`course_lib train`, the lessons and the recorded results all use this. The same job in the same folder resumes
where it stopped. Most systems train in steps; the sentence encoder has its own objective, and the n-gram
model only counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

import torch
from torch import nn

from course_lib.models.config import Config
from course_lib.models.ngram import NGramLM
from course_lib.models.registry import build, config_to_json, make_config, n_parameters, system
from course_lib.models.self_attentive import SelfAttentive, SelfAttentiveConfig
from course_lib.runtime import device as usual_device
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.encoded import encode_ids, target_ids
from course_lib.training.checkpoint import TOKENIZERS, About, machine, versions
from course_lib.training.corpora import MULTI30K, TrainingData, corpus_name, load_data
from course_lib.training.loop import AfterValidation, train
from course_lib.training.objective import Objective, language_modelling, mean_loss
from course_lib.training.processes import Processes, join
from course_lib.training.pronouns import CLASSES, classification, pronoun_labels
from course_lib.training.recipe import (
    IN_EPOCHS,
    QUICK,
    QUICK_CONFIG,
    QUICK_SIZES,
    TOKENS_PER_BATCH,
    Recipe,
    usual_recipe,
)
from course_lib.training.run_folder import History, Record, RunFolder, RunState

FLAGS = ("tokens_per_batch", "learning_rate", "r_drop")  # fields of a recipe that the command line can change
PENALTY = 0.03  # on hops of the sentence encoder that attend to the same words
NGRAM_TOKENS = 1024  # small, because counts are looked up for the whole vocabulary at once


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, and on which data. Without a `scale`, the data determine it.

    `quick` trains on a quarter of the tokens, for a CPU (`recipe.py`). `n_steps` makes the whole run
    shorter or longer.
    """

    system: str
    data: str = "toy"  # or multi30k, or the path of a tab-separated file or a folder
    src: str | None = None  # the languages of a folder, or of Multi30k (de and en)
    tgt: str | None = None
    scale: str | None = None
    seed: int = 0
    folder: str | None = None
    multi30k: str | None = None
    device: str | None = None
    n_steps: int | None = None
    quick: bool = False
    restart: bool = False  # delete this run's files in the folder first
    config: Mapping[str, object] = field(default_factory=dict)  # overrides of the scale's configuration
    recipe: Mapping[str, object] = field(default_factory=dict)  # overrides of the usual recipe

    @property
    def chosen_scale(self) -> str:
        """The scale; your own corpus gets that of the toy language, which a CPU can train."""
        return self.scale or ("multi30k" if MULTI30K.fullmatch(self.data) else "toy")

    @property
    def corpus(self) -> str:
        """The full name of the corpus."""
        return corpus_name(self.data, self.src, self.tgt)

    def changes(self) -> tuple[dict[str, object], dict[str, object]]:
        """The overrides of the configuration and of the recipe, including those of `quick`."""
        if not self.quick:
            return dict(self.config), dict(self.recipe)
        names = {field.name for field in fields(system(self.system).config)}
        config = {name: value for name, value in QUICK_CONFIG.items() if name in names}
        config |= QUICK_SIZES.get((self.system, self.chosen_scale), {})
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
    tell: Callable[[str], None] = lambda line: None,
    after_validation: AfterValidation | None = None,
    data: TrainingData | None = None,
    command: str = "",
) -> TrainedSystem:
    """Train. `data` avoids loading it again; `command` is the command line to save in the checkpoint."""
    processes = join(torch.device(job.device) if job.device else usual_device())
    data = (data or load_data(job.corpus, multi30k=job.multi30k)).to(processes.device)
    torch.manual_seed(job.seed)
    config = replace(config_for(job.system, scale=job.chosen_scale, data=data), **job.changes()[0])
    model = build(job.system, config).to(processes.device)
    recipe = make_recipe(job, data)
    about = describe(job.system, config, recipe, data, command=command or repr(job))
    folder = RunFolder(job.folder, about, restart=job.restart) if job.folder else None
    processes.check_same("the run", about | {"machine": "", "command": ""})
    if processes.leads:
        n_pairs, device_type = f"{len(data.train):,} pairs of {data.name}", processes.device.type
        tell(f"{job.system}: {n_parameters(model):,} parameters, {n_pairs}, on {device_type}")
        is_ngram = isinstance(model, NGramLM)
        hyperparameters = f"{recipe}, dropout {getattr(config, 'dropout', 0.0):g}"
        tell("It counts the training sentences once: there are no steps." if is_ngram else hyperparameters)
        if processes.n > 1:
            # Printed now, because torchrun may end the other processes before they can print anything.
            tell(
                f"{processes.n} processes. If one dies, torchrun ends the others, "
                "and the same command resumes from the last checkpoint."
            )
        if folder and (step := folder.resumed_at()):
            n_left = 0 if is_ngram else recipe.n_steps - step
            remaining = f"{n_left:,} to go" if n_left > 0 else "there is nothing left to do"
            tell(f"Resumed from {job.folder} at step {step:,}: {remaining}.")
    options = {"folder": folder, "processes": processes, "after_validation": after_validation}
    if isinstance(model, NGramLM):
        result = fit_ngrams(model, data, **options)
    else:
        objective = pronoun_objective(data, recipe) if isinstance(model, SelfAttentive) else None
        result = train(model, data.train, recipe, validation=data.validation, objective=objective, **options)
    return TrainedSystem(model, data, result, about, folder.best if folder else None)


def config_for(name: str, *, scale: str, data: TrainingData) -> Config:
    """The configuration that fits the data: vocabulary size, maximum length, number of classes."""
    config = make_config(name, scale=scale, vocab_size=data.tokenizer.vocab_size)
    longest = max(data.train.longest, data.validation.longest)
    if data.train.device.type == "cuda":  # where sentences are padded to one of these lengths
        longest = next((length for length in FIXED_LENGTHS if length >= longest), longest)
    config = replace(config, max_len=max(config.max_len, longest))
    return replace(config, n_classes=len(CLASSES)) if isinstance(config, SelfAttentiveConfig) else config


def make_recipe(job: Job, data: TrainingData) -> Recipe:
    """The usual recipe with the job's overrides."""
    on_gpu, scale, changes = data.train.device.type == "cuda", job.chosen_scale, job.changes()[1]
    n_batches = None
    if scale in IN_EPOCHS:
        tokens = changes.get("tokens_per_batch", TOKENS_PER_BATCH[scale])
        lengths = FIXED_LENGTHS if on_gpu else None
        epochs = Epochs(data.train, tokens_per_batch=tokens, seed=0, lengths=lengths, over_long="leave out")
        n_batches = epochs.n_batches
    recipe = usual_recipe(job.system, scale=scale, n_batches=n_batches, seed=job.seed, on_gpu=on_gpu)
    recipe = replace(recipe, **changes)
    return recipe if job.n_steps is None else recipe.in_steps(job.n_steps)


def describe(name: str, config: Config, recipe: Recipe, data: TrainingData, *, command: str = "") -> About:
    """The metadata of a checkpoint, without the history."""
    (kind,) = (kind for kind, cls in TOKENIZERS.items() if isinstance(data.tokenizer, cls))
    return {
        "config": config_to_json(name, config),
        "recipe": asdict(recipe),
        "tokenizer": {"kind": kind, "text": data.tokenizer.to_text()},
        "data": {"name": data.name, "fingerprint": data.fingerprint},
        "versions": versions(),
        "machine": machine(data.train.device),
        "command": command,
    }


# ---- the sentence encoder and the n-gram model


def pronoun_objective(data: TrainingData, recipe: Recipe) -> Objective:
    """The objective of the sentence encoder: classify the French pronoun that a sentence needs."""
    if recipe.r_drop or recipe.scheduled_sampling:
        raise ValueError(
            "R-Drop and scheduled sampling apply to words, but this system predicts one class per sentence."
        )
    labels, unseen = (pronoun_labels(part, data.tokenizer) for part in (data.train, data.validation))
    return classification(labels, unseen, smoothing=recipe.smoothing, penalty=PENALTY)


def fit_ngrams(
    model: NGramLM,
    data: TrainingData,
    *,
    folder: RunFolder | None,
    processes: Processes,
    after_validation: AfterValidation | None,
) -> RunState:
    """Count the n-grams of the target sentences.

    The result and the folder have the same form as those of `train`, with one step and one record, so callers
    needn't distinguish them. Called again with the same folder, it loads the counts.
    """
    saved = folder.load() if folder else None
    if saved:
        state, tensors = saved
        model.load_state_dict(state.best)
    else:
        started = time.perf_counter()
        sentences = target_ids(data.train)
        model.fit(sentences)
        # The training loss uses only as many sentences as validation, because it is slower than counting.
        sample = sentences[: len(data.validation)]
        train_loss, loss = (
            mean_loss(model, corpus, language_modelling(smoothing=0.0), tokens_per_batch=NGRAM_TOKENS)
            for corpus in (encode_ids(sample, sample).to(data.train.device), data.validation)
        )
        record = Record(
            step=1,
            epoch=1,
            rate=0.0,
            train_loss=train_loss,
            loss=loss,
            seconds=time.perf_counter() - started,
            n_tokens=sum(length for _, length in data.train.lengths),
        )
        state = RunState(1, (1, 0), record.seconds, history=History([record]), best=model.state_dict())
        tensors = {f"weights.{name}": tensor for name, tensor in state.best.items()}
        if after_validation and processes.leads:
            after_validation(record)
    model.eval()
    if folder and processes.leads and not (saved and folder.has_best(state.history.best)):
        folder.save(state, tensors)
    return replace(state, ended="finished")
