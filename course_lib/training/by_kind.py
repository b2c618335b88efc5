"""What training means for each kind of system: most learn by steps, one counts, one is asked for a class.

config = config_for("self_attentive", scale="toy", data=data)
result = train_by_kind(build("self_attentive", config), data, recipe)
"""

from __future__ import annotations

import time
from dataclasses import replace

from torch import nn

from course_lib.models.config import Config
from course_lib.models.ngram import NGramLM
from course_lib.models.registry import make_config
from course_lib.models.self_attentive import SelfAttentive, SelfAttentiveConfig
from course_lib.text.encoded import encode_ids
from course_lib.training.corpora import TrainingData
from course_lib.training.objective import (
    CLASSES,
    classification,
    language_modelling,
    pronoun_labels,
    target_ids,
)
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder, RunState
from course_lib.training.train import AfterValidation, Result, train
from course_lib.training.validation import History, Record, mean_loss

PENALTY = 0.03  # on hops that look at the same words
COUNTING_TOKENS = 1024  # a batch: counts are looked up for all words of the vocabulary at once


def config_for(name: str, *, scale: str, data: TrainingData) -> Config:
    """A system's configuration for this data: its vocabulary, room for its sentences, and classes."""
    config = make_config(name, scale=scale, vocab_size=data.tokenizer.vocab_size)
    config = replace(config, max_len=max(config.max_len, data.train.longest, data.validation.longest))
    return replace(config, n_classes=len(CLASSES)) if isinstance(config, SelfAttentiveConfig) else config


def train_by_kind(
    model: nn.Module,
    data: TrainingData,
    recipe: Recipe,
    *,
    folder: RunFolder | None = None,
    processes: Processes = ALONE,
    after_validation: AfterValidation | None = None,
) -> Result:
    """Train a system of the registry in the way of its kind."""
    given = {"folder": folder, "processes": processes, "after_validation": after_validation}
    if isinstance(model, NGramLM):
        return count(model, data, **given)
    objective = validation_objective = None
    if isinstance(model, SelfAttentive):
        if recipe.r_drop:
            raise ValueError(
                f"Expected r_drop 0 for a system that names a class, but got {recipe.r_drop}. "
                "Two readings can be compared word by word, in translators and language models."
            )
        labels, unseen = (pronoun_labels(part, data.tokenizer) for part in (data.train, data.validation))
        objective = classification(labels, smoothing=recipe.smoothing, penalty=PENALTY)
        validation_objective = classification(unseen)
    return train(
        model,
        data.train,
        recipe,
        validation=data.validation,
        objective=objective,
        validation_objective=validation_objective,
        **given,
    )


def count(
    model: NGramLM,
    data: TrainingData,
    *,
    folder: RunFolder | None = None,
    processes: Processes = ALONE,
    after_validation: AfterValidation | None = None,
) -> Result:
    """Training without steps: the n-gram model counts the target sentences, once.

    It gives what `train` gives, and keeps the same folder, so nobody else has to know the difference: one
    step, one record. Called again in its folder, it finds its counts there.
    """
    saved = folder.load() if folder else None
    if saved:
        model.load_state_dict(saved.best)
        state = saved.state
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
        state = RunState(step=1, position=(1, 0), seconds=record.seconds, history=History([record]))
        if after_validation and processes.leads:
            after_validation(record)
    model.eval()
    if folder and processes.leads:
        weights = model.state_dict()
        folder.save(state, {f"weights.{name}": tensor for name, tensor in weights.items()})
        folder.save_best(weights, state.history)
    return Result(state.history, "finished", state.step, state.seconds)
