"""How wrong the logits are: cross-entropy, with the labels softened if asked for.

    >>> logits = torch.tensor([[2.0, 0.0, 0.0]])
    >>> smoothed_cross_entropy(logits, torch.tensor([0]), smoothing=0.0)    # -log of 0.787
    tensor([0.2395])
    >>> smoothed_cross_entropy(logits, torch.tensor([0]), smoothing=0.3)    # the truth counts 0.8 now
    tensor([0.6395])

Label smoothing asks for (1 - ε) on the right word and spreads ε evenly over the whole vocabulary, the
right word included. A model that is sure of itself pays for it; it learns to be a little less sure, and
translates better for it, though its perplexity gets worse (Vaswani et al. 2017, section 5.4).
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from course_lib.shapes import Float, Int, Tensor
from course_lib.text.special import PAD
from course_lib.training.fused_loss import can_fuse, fused_sum_loss


def smoothed_cross_entropy(
    logits: Float[Tensor, "... vocab"], targets: Int[Tensor, "..."], *, smoothing: float
) -> Float[Tensor, "..."]:
    """The loss of each prediction, step by step: what the library's version below computes at once."""
    log_probs = logits.float().log_softmax(dim=-1)
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    return -(1 - smoothing) * right - smoothing * log_probs.mean(dim=-1)


def sum_loss(
    logits: Float[Tensor, "batch tgt vocab"], targets: Int[Tensor, "batch tgt"], *, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The losses of all words that count, added up: PAD does not count. On a GPU in one pass."""
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
