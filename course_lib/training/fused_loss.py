"""The loss of `objective.py` in one pass over the logits, for an NVIDIA GPU: two small Triton kernels.

8,192 words of a batch have 8,192 · 8,000 logits, 131 MB in bfloat16. Step by step, torch widens them to
float32, takes the log-softmax, averages it, and walks back through all three: some 2.6 GB go through
memory. Here each row is read once on the way forward, and read and written once on the way back.

    loss_i = (1 - ε) · (lse_i - logit of the target) + ε · (lse_i - mean of the row's logits)

with lse = log Σ exp. Its gradient is softmax - ε/vocab, less (1 - ε) at the target.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.text.special import PAD

try:  # Triton comes with torch for NVIDIA GPUs, and is missing elsewhere
    import triton
    from triton import language as tl

    jit = triton.jit
except ImportError:
    triton = tl = None

    def jit(kernel: Callable) -> Callable:
        """Leaves a kernel as it is: without Triton, nobody will call it."""
        return kernel


WARPS = 8


def can_fuse(logits: Tensor) -> bool:
    """Whether `fused_sum_loss` can take these; torch's own kernels do so everywhere."""
    return triton is not None and logits.is_cuda


def fused_sum_loss(logits: Tensor, targets: Tensor, *, smoothing: float) -> Tensor:
    """The losses of all rows whose target is not PAD, added up."""
    return _SumLoss.apply(logits, targets, smoothing)


class _SumLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        logits, (n_rows, n_words) = logits.contiguous(), logits.shape
        losses = torch.empty(n_rows, device=logits.device, dtype=torch.float32)
        lse = torch.empty_like(losses)
        block = triton.next_power_of_2(n_words)
        _losses[(n_rows,)](logits, targets, losses, lse, smoothing, n_words, PAD, block, num_warps=WARPS)
        ctx.save_for_backward(logits, targets, lse)
        ctx.smoothing = smoothing
        return losses.sum()

    @staticmethod
    def backward(ctx, upstream: Tensor) -> tuple[Tensor, None, None]:
        logits, targets, lse = ctx.saved_tensors
        n_rows, n_words = logits.shape
        gradients, upstream = torch.empty_like(logits), upstream.contiguous()
        numbers = ctx.smoothing, n_words, PAD, triton.next_power_of_2(n_words)
        _gradients[(n_rows,)](logits, targets, lse, upstream, gradients, *numbers, num_warps=WARPS)
        return gradients, None, None


@jit
def _losses(logits, targets, losses, lse, smoothing, n_words, pad: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    words = tl.arange(0, block)
    x = tl.load(logits + row * n_words + words, mask=words < n_words, other=-float("inf")).to(tl.float32)
    target = tl.load(targets + row)
    highest = tl.max(x, 0)
    log_sum = highest + tl.log(tl.sum(tl.exp(x - highest), 0))
    mean = tl.sum(tl.where(words < n_words, x, 0.0), 0) / n_words
    right = tl.load(logits + row * n_words + target).to(tl.float32)
    loss = (1 - smoothing) * (log_sum - right) + smoothing * (log_sum - mean)
    tl.store(losses + row, tl.where(target == pad, 0.0, loss))
    tl.store(lse + row, log_sum)


@jit
def _gradients(
    logits, targets, lse, upstream, gradients, smoothing, n_words, pad: tl.constexpr, block: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    words = tl.arange(0, block)
    inside = words < n_words
    x = tl.load(logits + row * n_words + words, mask=inside, other=0.0).to(tl.float32)
    target = tl.load(targets + row)
    wanted = smoothing / n_words + tl.where(words == target, 1 - smoothing, 0.0)
    factor = tl.where(target == pad, 0.0, tl.load(upstream))
    step = (tl.exp(x - tl.load(lse + row)) - wanted) * factor
    tl.store(gradients + row * n_words + words, step, mask=inside)
