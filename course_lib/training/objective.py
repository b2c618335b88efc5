"""The training objective of each kind of system.

    loss, n_counted = objective(model, batch)               # the summed loss and the number of its terms
    loss, n_counted = objective(model.eval(), batch)        # for validation: the plain loss

Losses are sums, not means, so that the two halves of a batch add up to the whole whatever their padding, as
distributed training needs. Regularisers (label smoothing, R-Drop, a penalty) work like dropout: they
apply only in training mode.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.inference import eval_mode
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.text.special import PAD
from course_lib.training.fused_loss import can_fuse, fused_sum_loss
from course_lib.training.processes import SINGLE, Processes

Objective = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]


def sum_loss(
    logits: Float[Tensor, "batch tgt vocab"], targets: Int[Tensor, "batch tgt"], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The summed cross-entropy of all targets except PAD; in one pass on an NVIDIA GPU.

    Label smoothing gives the target probability (1 - ε) and spreads ε uniformly over the whole vocabulary,
    including the target. It penalises overconfident predictions: perplexity gets worse, but
    translations improve (Vaswani et al. 2017, section 5.4).
    """
    if can_fuse(logits):
        return fused_sum_loss(logits.flatten(0, 1), targets.flatten(), smoothing=smoothing)
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        targets.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def symmetric_kl(
    logits: Float[Tensor, "batch tgt vocab"],
    other_logits: Float[Tensor, "batch tgt vocab"],
    targets: Int[Tensor, "batch tgt"],
) -> Float[Tensor, ""]:
    """The mean of both Kullback-Leibler divergences between two predictions, summed over all targets but PAD.

    >>> sure, unsure = torch.tensor([[[2.0, 0.0]]]), torch.tensor([[[0.0, 0.0]]])
    >>> symmetric_kl(sure, unsure, torch.tensor([[4]]))         # (0.881 - 0.5) · (log 0.881 - log 0.119) / 2
    tensor(0.3808)
    """
    log_p, log_q = logits.float().log_softmax(dim=-1), other_logits.float().log_softmax(dim=-1)
    divergences = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=-1)  # (batch, tgt)
    return torch.where(targets != PAD, divergences, 0.0).sum() / 2


def translation(smoothing: float, r_drop: float = 0.0, scheduled_sampling: float = 0.0) -> Objective:
    """Predict the next target word, given the source and the target words before it.

    `scheduled_sampling` is the probability that an input word is replaced by the system's own prediction
    (Bengio et al. 2015; in one parallel pass, as in Mihaylova and Martins 2019).
    """

    def logits_of(model: nn.Module, batch: Batch) -> Tensor:
        tgt_in = batch.tgt_in
        if scheduled_sampling and model.training:
            with torch.no_grad():
                predicted = model(batch.src, batch.src_lengths, tgt_in).argmax(dim=-1)
            replaced = torch.rand(tgt_in[:, 1:].shape, device=tgt_in.device) < scheduled_sampling
            replaced = replaced & (tgt_in[:, 1:] != PAD)
            inputs = torch.where(replaced, predicted[:, :-1], tgt_in[:, 1:])
            tgt_in = torch.cat([tgt_in[:, :1], inputs], dim=1)
        return model(batch.src, batch.src_lengths, tgt_in)

    return _next_word(logits_of, smoothing, r_drop)


def language_modelling(smoothing: float, r_drop: float = 0.0) -> Objective:
    """Predict the next word, given the words before it; the source isn't used."""
    return _next_word(lambda model, batch: model(batch.tgt_in), smoothing, r_drop)


def _next_word(logits_of: Callable[[nn.Module, Batch], Tensor], smoothing: float, r_drop: float) -> Objective:
    """Next-word prediction, with the logits that `logits_of` returns.

    With `r_drop`, each sentence passes through the model twice, with two dropout masks, and the loss includes
    the divergence between the two predictions (R-Drop: Liang et al. 2021, whose α this is). On small corpora
    this is worth doubling the cost of a step.
    """

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        if not (r_drop and model.training):
            epsilon = smoothing if model.training else 0.0
            return sum_loss(logits_of(model, batch), batch.tgt_out, smoothing=epsilon), batch.n_tokens
        twice = batch.map(lambda tensor: torch.cat([tensor, tensor]))
        logits = logits_of(model, twice)
        cross_entropy = sum_loss(logits, twice.tgt_out, smoothing=smoothing) / 2
        return cross_entropy + r_drop / 2 * symmetric_kl(*logits.chunk(2), batch.tgt_out), batch.n_tokens

    return objective


def objective_for(
    model: nn.Module, smoothing: float, r_drop: float = 0.0, scheduled_sampling: float = 0.0
) -> Objective:
    """The default objective for this kind of system."""
    if isinstance(model, Translator):
        return translation(smoothing, r_drop, scheduled_sampling)
    if isinstance(model, LanguageModel):
        if scheduled_sampling:
            raise ValueError("Scheduled sampling only works for translators: leave scheduled_sampling at 0.")
        return language_modelling(smoothing, r_drop)
    raise TypeError(
        f"{type(model).__name__} is neither a translator nor a language model: pass an objective."
    )


def mean_loss(
    model: nn.Module,
    corpus: EncodedCorpus,
    objective: Objective,
    *,
    tokens_per_batch: int,
    bfloat16: bool = False,
    processes: Processes = SINGLE,
) -> float:
    """The mean loss over a corpus in evaluation mode; sentences of any length are included.

    Processes divide the batches among them, and all get the same result, so they make the same decisions.
    """
    device = corpus.device
    tokens_per_batch = max(tokens_per_batch, *map(max, corpus.lengths))
    total = torch.zeros(2, dtype=for_sums(device), device=device)
    precision = torch.autocast(device.type, torch.bfloat16, enabled=bfloat16)
    with eval_mode(model), torch.inference_mode(), precision:
        batches = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0).batches(epoch=0)
        for batch in islice(batches, processes.rank, None, processes.world_size):
            loss, n_counted = objective(model, batch)
            total += torch.stack([loss.to(total.dtype), n_counted.to(total.dtype)])
    total = processes.sum_across(total)
    return float(total[0] / total[1])


def for_sums(device: torch.device) -> torch.dtype:
    """The dtype for sums of many numbers: float64, or float32 on Apple's GPU, which has no float64.

    >>> for_sums(torch.device("cpu"))
    torch.float64
    """
    return torch.float32 if device.type == "mps" else torch.float64
