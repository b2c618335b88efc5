"""What a system is asked for, and how wrong its answer is: one objective for each kind of system.

    loss, n_counted = objective(model, batch)               # a sum, and over how many it is
    loss, n_counted = objective(model.eval(), batch)        # the same for validation: the plain loss

Sums, not means: two halves of a batch then add up to the whole, whatever their padding, and that is
what training on several processes needs. What makes training harder on purpose (label smoothing, R-Drop,
a penalty) is like dropout: a model at rest is asked without it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.models.in_use import eval_mode
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Translator
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.batching import Epochs
from course_lib.text.encoded import EncodedCorpus
from course_lib.text.special import PAD
from course_lib.training.fused_loss import can_fuse, fused_sum_loss
from course_lib.training.processes import ALONE, Processes

Objective = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]


def sum_loss(
    logits: Float[Tensor, "batch tgt vocab"], targets: Int[Tensor, "batch tgt"], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The losses of all words that count, added up: PAD does not count. On a GPU in one pass.

    Label smoothing asks for (1 - ε) on the right word and spreads ε evenly over the whole vocabulary, the
    right word included. A model that is sure of itself pays for it; it learns to be a little less sure, and
    translates better for it, though its perplexity gets worse (Vaswani et al. 2017, section 5.4).
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
    one: Float[Tensor, "batch tgt vocab"],
    other: Float[Tensor, "batch tgt vocab"],
    targets: Int[Tensor, "batch tgt"],
) -> Float[Tensor, ""]:
    """How far two answers are apart: the mean of both Kullback-Leibler divergences, added up; not at PAD.

    >>> sure, unsure = torch.tensor([[[2.0, 0.0]]]), torch.tensor([[[0.0, 0.0]]])
    >>> symmetric_kl(sure, unsure, torch.tensor([[4]]))         # (0.881 - 0.5) · (log 0.881 - log 0.119) / 2
    tensor(0.3808)
    """
    first, second = (logits.float().log_softmax(dim=-1) for logits in (one, other))
    apart = ((first.exp() - second.exp()) * (first - second)).sum(dim=-1)  # (batch, tgt)
    return torch.where(targets != PAD, apart, 0.0).sum() / 2


def translation(smoothing: float, r_drop: float = 0.0, scheduled_sampling: float = 0.0) -> Objective:
    """The next target word, given the source and the target words before it.

    With `scheduled_sampling`, so large a share of the words before it are not the right ones but those that
    the system itself would have said there (Bengio et al. 2015; all at once, as Mihaylova and Martins 2019).
    """

    def read(model: nn.Module, batch: Batch) -> Tensor:
        tgt_in = batch.tgt_in
        if scheduled_sampling and model.training:
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
        if not (r_drop and model.training):
            spread = smoothing if model.training else 0.0
            return sum_loss(read(model, batch), batch.tgt_out, smoothing=spread), batch.n_tokens
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
        if scheduled_sampling:
            raise ValueError("Scheduled sampling is there for translators: leave it at 0.")
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
    processes: Processes = ALONE,
) -> float:
    """The mean loss over all that counts in the corpus, without dropout; no sentence is too long for it.

    Several processes share the batches, and all get the same number: they must agree on when to stop.
    """
    device = corpus.device
    tokens_per_batch = max(tokens_per_batch, *map(max, corpus.lengths))
    total = torch.zeros(2, dtype=for_sums(device), device=device)
    precision = torch.autocast(device.type, torch.bfloat16, enabled=bfloat16)
    with eval_mode(model), torch.inference_mode(), precision:
        batches = Epochs(corpus, tokens_per_batch=tokens_per_batch, seed=0).one(epoch=0)
        for batch in islice(batches, processes.rank, None, processes.n):
            loss, n_counted = objective(model, batch)
            total += torch.stack([loss.to(total.dtype), n_counted.to(total.dtype)])
    total = processes.add_up(total)
    return float(total[0] / total[1])


def for_sums(device: torch.device) -> torch.dtype:
    """The type to add many numbers up in: float64, or float32 on Apple's GPU, which has nothing wider.

    >>> for_sums(torch.device("cpu"))
    torch.float64
    """
    return torch.float32 if device.type == "mps" else torch.float64
