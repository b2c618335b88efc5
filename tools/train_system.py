"""Train a system of any kind: `run_job`, for the sentence encoder and the n-gram model too.

    trained = train_system(Job(system="ngram_lm", folder="runs/ngram"), data=load_data("toy"))

Most systems train in steps. The sentence encoder has its own objective, and the n-gram model only counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from torch import nn

from course_lib.models.ngram import NGramLM
from course_lib.models.registry import system
from course_lib.models.self_attentive import SelfAttentive
from course_lib.text.encoded import encode_ids, target_ids
from course_lib.training.checkpoint import CheckpointError
from course_lib.training.data import TrainingData
from course_lib.training.job import Job, TrainedSystem, run_job
from course_lib.training.loop import AfterValidation, train
from course_lib.training.objective import language_modelling, mean_loss
from course_lib.training.processes import Processes
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RESTART, History, Record, RunFolder, RunState
from tools.pronouns import CLASSES, pronoun_objective

NGRAM_TOKENS = 1024  # small, because counts are looked up for the whole vocabulary at once


def train_system(
    job: Job,
    *,
    data: TrainingData,
    log: Callable[[str], None] = lambda line: None,
    after_validation: AfterValidation | None = None,
    command: str = "",
    alter: Callable[[nn.Module], object] | None = None,
) -> TrainedSystem:
    """`run_job` with what this kind of system needs; `alter` changes the model before its first step."""
    job, options = with_classes(job), {"after_validation": after_validation, "command": command}
    return run_job(job, data=data, trainer=partial(_train, alter=alter), log=log, **options)


def with_classes(job: Job) -> Job:
    """The job; for the sentence encoder with one class for each pronoun."""
    if system(job.system).kind != "sentence encoder":
        return job
    return replace(job, config={"n_classes": len(CLASSES)} | dict(job.config))


def _train(
    model: nn.Module, data: TrainingData, recipe: Recipe, *, alter: Callable | None, **options
) -> RunState:
    if alter:
        alter(model)
    if isinstance(model, NGramLM):
        return fit_ngrams(model, data, **options)
    objective = pronoun_objective(data, recipe) if isinstance(model, SelfAttentive) else None
    return train(model, data.train, recipe, validation=data.validation, objective=objective, **options)


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
        try:
            model.load_state_dict(state.best)
        except RuntimeError as error:
            raise CheckpointError(f"{folder.last} doesn't fit this system: {error}. {RESTART}") from error
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
    model.eval()
    if folder and processes.is_main and not (saved and folder.has_best(state.history.best)):
        folder.save(state, tensors)
    if after_validation and processes.is_main and not saved:
        after_validation(record)
    return replace(state, ended="finished")
