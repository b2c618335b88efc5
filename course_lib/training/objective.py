"""What a system is asked for, and how wrong its answer is: one function for each kind of system.

    loss, n_counted = objective(model, batch)               # a sum, and over how many it is

Sums, not means: two halves of a batch then add up to the whole, whatever their padding, and that is
what training on several processes needs.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.models.language_model import LanguageModel
from course_lib.models.self_attentive import redundancy
from course_lib.models.translator import Translator
from course_lib.text.batch import Batch
from course_lib.text.special import PAD
from course_lib.training.loss import sum_loss, symmetric_kl

Objective = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]


def translation(smoothing: float, r_drop: float = 0.0, scheduled_sampling: float = 0.0) -> Objective:
    """The next target word, given the source and the target words before it.

    With `scheduled_sampling`, so large a share of the words before it are not the right ones but those that
    the system itself would have said there (Bengio et al. 2015; all at once, as Mihaylova and Martins 2019).
    """

    def read(model: nn.Module, batch: Batch) -> Tensor:
        tgt_in = batch.tgt_in
        if scheduled_sampling:
            with torch.no_grad():
                said = model(batch.src, batch.src_lengths, tgt_in).argmax(dim=-1)
            own = torch.rand(tgt_in[:, 1:].shape, device=tgt_in.device) < scheduled_sampling
            own = own & (tgt_in[:, 1:] != PAD)
            tgt_in = torch.cat([tgt_in[:, :1], torch.where(own, said[:, :-1], tgt_in[:, 1:])], dim=1)
        return model(batch.src, batch.src_lengths, tgt_in)

    return _next_word(read, smoothing, r_drop)


def language_modelling(smoothing: float, r_drop: float = 0.0) -> Objective:
    """The next word, given the words before it; the source is not read."""
    return _next_word(lambda model, batch: model(batch.tgt_in), smoothing, r_drop)


def _next_word(read: Callable[[nn.Module, Batch], Tensor], smoothing: float, r_drop: float) -> Objective:
    """The loss of a system that says words; `read` gives its logits.

    With `r_drop`, each sentence is read twice, by two draws of dropout. Both readings must be right, and
    say the same (R-Drop: Liang et al. 2021, whose α this is): on few sentences, worth a step twice as large.
    """

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        if not r_drop:
            return sum_loss(read(model, batch), batch.tgt_out, smoothing=smoothing), batch.n_tokens
        twice = batch.map(lambda tensor: torch.cat([tensor, tensor]))
        logits = read(model, twice)
        wrong = sum_loss(logits, twice.tgt_out, smoothing=smoothing) / 2
        return wrong + r_drop / 2 * symmetric_kl(*logits.chunk(2), batch.tgt_out), batch.n_tokens

    return objective


def objective_for(
    model: nn.Module, smoothing: float, r_drop: float = 0.0, scheduled_sampling: float = 0.0
) -> Objective:
    """The usual objective of a system's kind."""
    if isinstance(model, Translator):
        return translation(smoothing, r_drop, scheduled_sampling)
    if isinstance(model, LanguageModel):
        return language_modelling(smoothing, r_drop)
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
