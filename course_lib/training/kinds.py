"""What training means for each kind of system: most learn by steps, one counts, one is asked for a class.

config = config_for("self_attentive", scale="toy", data=data)
result = train_by_kind(build("self_attentive", config), data, recipe)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import nn

from course_lib.models.config import Config
from course_lib.models.ngram import NGramLM
from course_lib.models.registry import make_config
from course_lib.models.self_attentive import SelfAttentive, SelfAttentiveConfig
from course_lib.training.corpora import TrainingData
from course_lib.training.counting import count
from course_lib.training.history import Record
from course_lib.training.labels import CLASSES, pronoun_labels
from course_lib.training.objective import classification
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder
from course_lib.training.train import Result, train

PENALTY = 0.03  # on hops that look at the same words


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
    keeper: RunFolder | None = None,
    processes: Processes = ALONE,
    after_look: Callable[[Record], None] | None = None,
) -> Result:
    """Train a system of the registry in the way of its kind."""
    if isinstance(model, NGramLM):
        return count(
            model,
            data.train,
            validation=data.validation,
            keeper=keeper,
            processes=processes,
            after_look=after_look,
        )
    objective = validation_objective = None
    if isinstance(model, SelfAttentive):
        if recipe.r_drop:
            raise ValueError(
                f"Expected r_drop 0 for a system that names a class, but got {recipe.r_drop}. "
                "Two readings can be compared word by word, in translators and language models."
            )
        objective, validation_objective = (
            classification(pronoun_labels(corpus, data.tokenizer), smoothing=smoothing, penalty=penalty)
            for corpus, smoothing, penalty in (
                (data.train, recipe.smoothing, PENALTY),
                (data.validation, 0.0, 0.0),
            )
        )
    return train(
        model,
        data.train,
        recipe,
        validation=data.validation,
        objective=objective,
        validation_objective=validation_objective,
        keeper=keeper,
        processes=processes,
        after_look=after_look,
    )
