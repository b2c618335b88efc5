"""The loss of `objective.py` in one pass over the logits, for an NVIDIA GPU: two small Triton kernels.

A batch of 8,192 words has 8,192 · 8,000 logits, 131 MB in bfloat16. Torch converts them to float32, takes the
log-softmax and averages it, with a backward pass for each: about 2.6 GB of memory traffic. These kernels read
each row once in the forward pass, and read and write it once in the backward pass.

    loss_i = (1 - ε) · (lse_i - logit of the target) + ε · (lse_i - mean of the row's logits)

with lse = log Σ exp. The gradient is softmax - ε/vocab, minus (1 - ε) at the target.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.text.special import PAD

try:  # torch installs Triton only for NVIDIA GPUs
    import triton
    from triton import language as tl

    jit = triton.jit
except ImportError:
    triton = tl = None

    def jit(kernel: Callable) -> Callable:
        """Does nothing: without Triton, the kernel is never called."""
        return kernel


WARPS = 8


def can_fuse(logits: Tensor) -> bool:
    """Whether `fused_sum_loss` supports these logits: it needs Triton and an NVIDIA GPU."""
    return triton is not None and logits.is_cuda


def fused_sum_loss(logits: Tensor, targets: Tensor, *, smoothing: float) -> Tensor:
    """The summed loss of all rows whose target isn't PAD."""
    return _SumLoss.apply(logits, targets, smoothing)


class _SumLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        logits, (n_rows, n_vocab) = logits.contiguous(), logits.shape
        losses = torch.empty(n_rows, device=logits.device, dtype=torch.float32)
        lse = torch.empty_like(losses)
        block = triton.next_power_of_2(n_vocab)
        _losses[(n_rows,)](logits, targets, losses, lse, smoothing, n_vocab, PAD, block, num_warps=WARPS)
        ctx.save_for_backward(logits, targets, lse)
        ctx.smoothing = smoothing
        return losses.sum()

    @staticmethod
    def backward(ctx, upstream: Tensor) -> tuple[Tensor, None, None]:
        logits, targets, lse = ctx.saved_tensors
        n_rows, n_vocab = logits.shape
        gradients, upstream = torch.empty_like(logits), upstream.contiguous()
        constants = ctx.smoothing, n_vocab, PAD, triton.next_power_of_2(n_vocab)
        _gradients[(n_rows,)](logits, targets, lse, upstream, gradients, *constants, num_warps=WARPS)
        return gradients, None, None


@jit
def _losses(logits, targets, losses, lse, smoothing, n_vocab, pad: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, block)
    x = tl.load(logits + row * n_vocab + columns, mask=columns < n_vocab, other=-float("inf")).to(tl.float32)
    target = tl.load(targets + row)
    highest = tl.max(x, 0)
    log_sum = highest + tl.log(tl.sum(tl.exp(x - highest), 0))
    mean = tl.sum(tl.where(columns < n_vocab, x, 0.0), 0) / n_vocab
    target_logit = tl.load(logits + row * n_vocab + target).to(tl.float32)
    loss = (1 - smoothing) * (log_sum - target_logit) + smoothing * (log_sum - mean)
    tl.store(losses + row, tl.where(target == pad, 0.0, loss))
    tl.store(lse + row, log_sum)


@jit
def _gradients(
    logits, targets, lse, upstream, gradients, smoothing, n_vocab, pad: tl.constexpr, block: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, block)
    inside = columns < n_vocab
    x = tl.load(logits + row * n_vocab + columns, mask=inside, other=0.0).to(tl.float32)
    target = tl.load(targets + row)
    desired = smoothing / n_vocab + tl.where(columns == target, 1 - smoothing, 0.0)
    factor = tl.where(target == pad, 0.0, tl.load(upstream))
    gradient = (tl.exp(x - tl.load(lse + row)) - desired) * factor
    tl.store(gradients + row * n_vocab + columns, gradient, mask=inside)
