"""Our few GPU kernels give what torch gives."""

from __future__ import annotations

import pytest
import torch
from course_lib.training.loss import sum_loss
from torch.nn import functional as F

from course_lib.text.special import PAD
from course_lib.training.fused_loss import can_fuse, fused_sum_loss, triton

needs_gpu = pytest.mark.skipif(
    triton is None or not torch.cuda.is_available(), reason="needs an NVIDIA GPU with Triton"
)
NEAR = {torch.float32: 1e-4, torch.bfloat16: 2e-2}


@needs_gpu
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("n_rows", "vocab"), [(1, 7), (65, 680), (300, 1024), (128, 8000)])
def test_the_fused_loss_is_torchs(dtype, smoothing, n_rows, vocab):
    generator = torch.Generator("cuda").manual_seed(0)
    logits = (4 * torch.randn(n_rows, vocab, device="cuda", generator=generator)).to(dtype)
    targets = torch.randint(0, vocab, (n_rows,), device="cuda", generator=generator)
    targets[::3] = PAD
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    fused = fused_sum_loss(ours, targets, smoothing=smoothing)
    plain = F.cross_entropy(
        theirs.float(), targets, ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    torch.testing.assert_close(fused, plain, rtol=1e-4, atol=1e-3)
    (0.5 * fused).backward()
    (0.5 * plain).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=NEAR[dtype], atol=NEAR[dtype] / 10)
    assert (ours.grad[targets == PAD] == 0).all()


@needs_gpu
def test_extreme_logits_stay_finite():
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], device="cuda", requires_grad=True)
    loss = fused_sum_loss(logits, torch.tensor([1, 2], device="cuda"), smoothing=0.1)
    loss.backward()
    assert loss.isfinite() and logits.grad.isfinite().all()


@needs_gpu
def test_sum_loss_takes_the_fused_one_also_from_a_view():
    logits = torch.randn(9, 4, 50, device="cuda").transpose(0, 1)
    targets = torch.randint(0, 50, (4, 9), device="cuda")
    torch.testing.assert_close(
        sum_loss(logits, targets, smoothing=0.1).cpu(),
        sum_loss(logits.cpu(), targets.cpu(), smoothing=0.1),
        rtol=1e-4,
        atol=1e-3,
    )


def test_on_a_cpu_nothing_is_fused():
    assert not can_fuse(torch.ones(2, 64))
    torch.testing.assert_close(
        sum_loss(torch.zeros(1, 2, 4), torch.tensor([[1, 0]])), torch.tensor(4.0).log(), rtol=1e-6, atol=1e-6
    )
