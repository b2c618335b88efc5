"""What a system is asked for, and how wrong its answer is: one function for each kind of system.

    loss, n_counted = objective(model, batch)               # a sum, and over how many it is

Sums, not means: two halves of a batch then add up to the whole, whatever their padding, and that is
what training on several processes needs.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.models.language_model import LanguageModel
from course_lib.models.self_attentive import redundancy
from course_lib.models.translator import Translator
from course_lib.text.batch import Batch
from course_lib.training.loss import sum_loss

Objective = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]


def translation(smoothing: float) -> Objective:
    """The next target word, given the source and the target words before it."""

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        logits = model(batch.src, batch.src_lengths, batch.tgt_in)
        return sum_loss(logits, batch.tgt_out, smoothing=smoothing), batch.n_tokens

    return objective


def language_modelling(smoothing: float) -> Objective:
    """The next word, given the words before it; the source is not read."""

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        return sum_loss(model(batch.tgt_in), batch.tgt_out, smoothing=smoothing), batch.n_tokens

    return objective


def objective_for(model: nn.Module, smoothing: float) -> Objective:
    """The usual objective of a system's kind."""
    if isinstance(model, Translator):
        return translation(smoothing)
    if isinstance(model, LanguageModel):
        return language_modelling(smoothing)
    raise TypeError(
        f"Expected a translator or a language model, but got {type(model).__name__}. "
        "Pass an objective of your own: a function of the model and a batch."
    )


def classification(labels: Tensor, *, smoothing: float = 0.0, penalty: float = 0.0) -> Objective:
    """The class of each source sentence; `labels` has one for each pair of the corpus.

    The penalty keeps the hops of a self-attentive encoder apart; 0: the loss alone.
    """

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        encoder = getattr(model, "module", model)  # several processes wrap it, and want to be called
        embedding, weights = encoder.encode(batch.src, batch.src_lengths)
        alone = encoder is model
        logits = encoder.classify(embedding) if alone else model(batch.src, batch.src_lengths)
        wanted = labels[batch.pairs.clamp(min=0)]
        losses = F.cross_entropy(logits.float(), wanted, reduction="none", label_smoothing=smoothing)
        losses = losses + penalty * redundancy(weights.float())
        real = batch.pairs >= 0  # a blank row has no class
        return (losses * real).sum(), real.sum()

    return objective
