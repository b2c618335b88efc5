"""A whole training run by name: data, system, recipe, folder.

    trained = run_job(Job(system="bahdanau", folder="runs/bahdanau"))
    trained.result.history.best.loss, trained.saved

What `course_lib train` does, and what the lessons and the results are made with. The same job in the same
folder goes on where it stopped. Most systems learn by steps; one is asked for a class, and one only counts.
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

FLAGS = ("tokens_per_batch", "learning_rate", "r_drop")  # what the command line can change of a recipe
PENALTY = 0.03  # on hops of the sentence encoder that look at the same words
COUNTING_TOKENS = 1024  # a batch: counts are looked up for all words of the vocabulary at once


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, on what. `scale` None: the one made for the data.

    `quick` takes a quarter of the tokens, for those who wait before a CPU (`recipe.py`). With `n_steps` the
    whole run is made shorter or longer.
    """

    system: str
    data: str = "toy"  # or multi30k, or a path: a file with tabs, a folder
    src: str | None = None  # the languages of a folder, or of Multi30k (de and en)
    tgt: str | None = None
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
        return self.scale or ("multi30k" if MULTI30K.fullmatch(self.data) else "toy")

    @property
    def corpus(self) -> str:
        """The name of its corpus in full."""
        return corpus_name(self.data, self.src, self.tgt)

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
    """Train. `data` saves the making of it, where somebody has it already; `command` is what was typed."""
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
        n_pairs, where = f"{len(data.train):,} pairs of {data.name}", processes.device.type
        tell(f"{job.system}: {n_parameters(model):,} parameters, {n_pairs}, on {where}")
        counts = isinstance(model, NGramLM)
        steps = f"{recipe}, dropout {getattr(config, 'dropout', 0.0):g}"
        tell("It counts the training sentences, once: there are no steps." if counts else steps)
        if processes.n > 1:
            # Said now: when one is lost, torchrun may end the others before they can say anything.
            tell(
                f"{processes.n} processes. Should one be lost, torchrun ends the others, "
                "and the same command goes on from the last checkpoint."
            )
        if folder and (step := folder.resumed_at()):
            left = 0 if counts else recipe.n_steps - step
            how = f"{left:,} to go" if left > 0 else "there is nothing left to do"
            tell(f"Resumed from {job.folder} at step {step:,}: {how}.")
    given = {"folder": folder, "processes": processes, "after_validation": after_validation}
    if isinstance(model, NGramLM):
        result = count(model, data, **given)
    else:
        objective = pronoun_objective(data, recipe) if isinstance(model, SelfAttentive) else None
        result = train(model, data.train, recipe, validation=data.validation, objective=objective, **given)
    return TrainedSystem(model, data, result, about, folder.best if folder else None)


def config_for(name: str, *, scale: str, data: TrainingData) -> Config:
    """A system's configuration for this data: its vocabulary, room for its sentences, and classes."""
    config = make_config(name, scale=scale, vocab_size=data.tokenizer.vocab_size)
    longest = max(data.train.longest, data.validation.longest)
    if data.train.device.type == "cuda":  # where shorter ones are padded to one of these
        longest = next((length for length in FIXED_LENGTHS if length >= longest), longest)
    config = replace(config, max_len=max(config.max_len, longest))
    return replace(config, n_classes=len(CLASSES)) if isinstance(config, SelfAttentiveConfig) else config


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


def describe(name: str, config: Config, recipe: Recipe, data: TrainingData, *, command: str = "") -> About:
    """What a checkpoint says of itself, but for its history."""
    (kind,) = (kind for kind, one in TOKENIZERS.items() if isinstance(data.tokenizer, one))
    return {
        "config": config_to_json(name, config),
        "recipe": asdict(recipe),
        "tokenizer": {"kind": kind, "text": data.tokenizer.to_text()},
        "data": {"name": data.name, "fingerprint": data.fingerprint},
        "versions": versions(),
        "machine": machine(data.train.device),
        "command": command,
    }


# ---- the two that are trained in a way of their own


def pronoun_objective(data: TrainingData, recipe: Recipe) -> Objective:
    """What the sentence encoder is asked for: the French pronoun that a sentence needs."""
    if recipe.r_drop or recipe.scheduled_sampling:
        raise ValueError(
            "R-Drop and scheduled sampling go word by word: a system that names a class has none."
        )
    labels, unseen = (pronoun_labels(part, data.tokenizer) for part in (data.train, data.validation))
    return classification(labels, unseen, smoothing=recipe.smoothing, penalty=PENALTY)


def count(
    model: NGramLM,
    data: TrainingData,
    *,
    folder: RunFolder | None,
    processes: Processes,
    after_validation: AfterValidation | None,
) -> RunState:
    """Training without steps: the n-gram model counts the target sentences, once.

    It gives what `train` gives, and keeps the same folder, so nobody else has to know the difference: one
    step, one record. Called again in its folder, it finds its counts there.
    """
    saved = folder.load() if folder else None
    if saved:
        state, tensors = saved
        model.load_state_dict(state.best)
    else:
        started = time.perf_counter()
        sentences = target_ids(data.train)
        model.fit(sentences)
        # Of what was counted as many as there are to validate on: reading is slower than counting.
        some = sentences[: len(data.validation)]
        train_loss, loss = (
            mean_loss(model, corpus, language_modelling(smoothing=0.0), tokens_per_batch=COUNTING_TOKENS)
            for corpus in (encode_ids(some, some).to(data.train.device), data.validation)
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
