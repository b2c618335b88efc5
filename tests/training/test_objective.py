"""Objectives: losses equal torch's, PAD never counts, and the halves of a batch add up."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.text.batch import make_batch
from course_lib.text.encoded import encode_ids
from course_lib.text.special import PAD
from course_lib.training.fused_loss import can_fuse, fused_sum_loss, triton
from course_lib.training.objective import mean_loss, objective_for, sum_loss, symmetric_kl, translation
from course_lib.training.processes import Processes

needs_gpu = pytest.mark.skipif(
    triton is None or not torch.cuda.is_available(), reason="needs an NVIDIA GPU with Triton"
)
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2e-2}


def random_logits(rows=3, length=5, vocab=11):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(rows, length, vocab, generator=generator)
    targets = torch.randint(1, vocab, (rows, length), generator=generator)
    targets[0, 3:], targets[2] = PAD, PAD
    return logits, targets


# ---- next-word prediction


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_the_loss_equals_the_definition_of_label_smoothing_and_ignores_pad(smoothing):
    """Cross-entropy with 1 - ε on the target and ε spread over the vocabulary; also for bfloat16 logits."""
    logits, targets = random_logits()
    logits.requires_grad_()
    smoothed = (1 - smoothing) * F.one_hot(targets, logits.shape[-1]) + smoothing / logits.shape[-1]
    expected = -(smoothed * logits.log_softmax(-1)).sum(-1)[targets != PAD].sum()
    total = sum_loss(logits, targets, smoothing=smoothing)
    torch.testing.assert_close(total, expected)
    total.backward()
    assert (logits.grad[targets == PAD] == 0).all() and (logits.grad[targets != PAD] != 0).any(dim=-1).all()
    half = logits.detach().bfloat16()
    assert sum_loss(half, targets).dtype == torch.float32
    torch.testing.assert_close(sum_loss(half, targets), sum_loss(half.float(), targets))
    assert sum_loss(half, torch.full_like(targets, PAD), smoothing=smoothing) == 0
    assert not can_fuse(half)


@needs_gpu
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("n_rows", "vocab"), [(1, 7), (65, 680), (300, 1024), (128, 8000)])
def test_the_fused_loss_equals_torchs(dtype, smoothing, n_rows, vocab):
    generator = torch.Generator("cuda").manual_seed(0)
    logits = (4 * torch.randn(n_rows, vocab, device="cuda", generator=generator)).to(dtype)
    targets = torch.randint(0, vocab, (n_rows,), device="cuda", generator=generator)
    targets[::3] = PAD
    fused_logits, plain_logits = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    fused = fused_sum_loss(fused_logits, targets, smoothing=smoothing)
    plain = F.cross_entropy(
        plain_logits.float(), targets, ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    torch.testing.assert_close(fused, plain, rtol=1e-4, atol=1e-3)
    (0.5 * fused).backward()
    (0.5 * plain).backward()
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype] / 10}
    torch.testing.assert_close(fused_logits.grad, plain_logits.grad, **tolerance)
    assert (fused_logits.grad[targets == PAD] == 0).all()


@needs_gpu
def test_the_fused_loss_takes_extreme_logits_and_views():
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], device="cuda", requires_grad=True)
    loss = fused_sum_loss(logits, torch.tensor([1, 2], device="cuda"), smoothing=0.1)
    loss.backward()
    assert loss.isfinite() and logits.grad.isfinite().all()
    view, targets = torch.randn(9, 4, 50, device="cuda").transpose(0, 1), torch.randint(0, 50, (4, 9)).cuda()
    fused, plain = sum_loss(view, targets, smoothing=0.1), sum_loss(view.cpu(), targets.cpu(), smoothing=0.1)
    torch.testing.assert_close(fused.cpu(), plain, rtol=1e-4, atol=1e-3)


def test_symmetric_kl_is_the_mean_of_both_divergences_except_at_pad():
    logits, targets = random_logits()
    other = logits.roll(1, dims=-1)
    logs = [logits.log_softmax(-1), other.log_softmax(-1)]
    forward, backward = (
        F.kl_div(q, p, reduction="none", log_target=True).sum(-1) for p, q in (logs, logs[::-1])
    )
    expected = (forward + backward)[targets != PAD].sum() / 2
    torch.testing.assert_close(symmetric_kl(logits, other, targets), expected)
    assert symmetric_kl(logits, logits, targets) == 0
    assert symmetric_kl(logits.bfloat16(), other.bfloat16(), targets).dtype == torch.float32


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_r_drop_runs_the_model_twice_and_adds_the_divergence(make, name):
    batch, model = make_batch([[5, 6], [7]], [[4], [5, 6, 7, 8]]), make(name, dropout=0.3).train()
    torch.manual_seed(1)
    doubled = batch.map(lambda tensor: torch.cat([tensor, tensor]))
    inputs = [doubled.tgt_in] if name == "gru_lm" else [doubled.src, doubled.src_lengths, doubled.tgt_in]
    logits = model(*inputs)
    halves = [sum_loss(half, batch.tgt_out, smoothing=0.1) for half in logits.chunk(2)]
    expected = sum(halves) / 2 + 1.5 * symmetric_kl(*logits.chunk(2), batch.tgt_out)
    torch.manual_seed(1)
    loss, n_counted = objective_for(model, 0.1, 3.0)(model, batch)
    torch.testing.assert_close(loss, expected)
    assert n_counted == batch.n_tokens and halves[0] != halves[1]


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_two_halves_of_a_batch_add_up_and_in_evaluation_mode_the_loss_is_plain(make, name):
    model = make(name, dropout=0.0)
    sources, targets = [[5, 6], [7], [8, 9, 10], [4]], [[4], [5, 6, 7, 8], [9], [10, 11]]
    objective, whole = objective_for(model, smoothing=0.1), make_batch(sources, targets)
    loss, n = objective(model, whole)
    halves = [objective(model, make_batch(sources[half], targets[half])) for half in (slice(2), slice(2, 4))]
    torch.testing.assert_close(loss, halves[0][0] + halves[1][0])
    assert n == halves[0][1] + halves[1][1] == 12
    if name == "gru_lm":  # a language model does not read the source
        assert loss == objective(model, make_batch([[9]] * 4, targets))[0]
    plain = objective_for(model, smoothing=0.0)(model, whole)[0]
    if name == "gru_lm":
        with pytest.raises(ValueError, match="translators"):
            objective_for(model, 0.1, 3.0, 0.5)
    regularised = objective_for(model, 0.1, 3.0, 0.0 if name == "gru_lm" else 0.5)
    torch.testing.assert_close(regularised(model.eval(), whole)[0], plain)
    assert abs(plain - loss) > 1e-3


def test_scheduled_sampling_replaces_some_inputs_by_predictions(monkeypatch):
    """A probability of 0 changes nothing; otherwise words after BOS, but never PAD, can be replaced.

    The replacement is the prediction from the word before it: here 12 after BOS (2), 19 after 9.
    """
    batch = make_batch([[5, 6], [7]], [[8, 9, 10], [11]])
    inputs: list[torch.Tensor] = []

    class PredictsTenMore(nn.Module):
        def forward(self, src, src_lengths, tgt_in):
            inputs.append(tgt_in)
            return F.one_hot(tgt_in + 10, 50).float()

    assert translation(0.0)(PredictsTenMore(), batch)[1] == batch.n_tokens and len(inputs) == 1
    monkeypatch.setattr(torch, "rand", lambda shape, device: torch.tensor([[0.1, 0.9, 0.1], [0.1, 0.1, 0.1]]))
    translation(0.0, scheduled_sampling=0.5)(PredictsTenMore(), batch)
    assert torch.equal(inputs[1], batch.tgt_in)
    assert inputs[2].tolist() == [[2, 12, 9, 19], [2, 12, 0, 0]]


# ---- the mean loss of a corpus

SOURCES, TARGETS = [[5, 6], [7], [8, 9, 10, 11], [4]], [[4], [5, 6, 7, 8], [9], [10, 11]]


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_mean_loss_is_the_mean_over_all_tokens(make, name):
    model = make(name).eval()
    losses = []
    for src, tgt in zip(SOURCES, TARGETS, strict=True):  # one by one, without any padding
        batch = make_batch([src], [tgt])
        inputs = (batch.tgt_in,) if name == "gru_lm" else (batch.src, batch.src_lengths, batch.tgt_in)
        losses += F.cross_entropy(model(*inputs)[0], batch.tgt_out[0], reduction="none").tolist()
    corpus = encode_ids(SOURCES, TARGETS)
    for tokens_per_batch in (1, 6, 10, 1000):  # 1 is too small for any sentence
        loss = mean_loss(model, corpus, objective_for(model, 0.0), tokens_per_batch=tokens_per_batch)
        assert loss == pytest.approx(sum(losses) / len(losses), rel=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_mean_loss_uses_no_dropout_and_restores_the_mode(make, training):
    model = make(dropout=0.5).train(training)
    corpus, objective = encode_ids(SOURCES, TARGETS), objective_for(model, 0.0)
    state = torch.get_rng_state()
    first = mean_loss(model, corpus, objective, tokens_per_batch=10)
    assert first == mean_loss(model, corpus, objective, tokens_per_batch=10)
    assert model.training is training and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("n", [2, 3])
def test_processes_divide_the_sentences(make, n):
    """Each sentence belongs to one process; the mean alone couldn't show that."""

    class Unconnected(Processes):
        def sum_across(self, tensor):
            return tensor

    model, batches, corpus = make(), [], encode_ids(SOURCES, TARGETS)
    objective = objective_for(model, 0.0)

    def recording(model, batch):
        batches.append((rank, batch.pairs.tolist()))
        return objective(model, batch)

    for rank in range(n):
        mean_loss(
            model, corpus, recording, tokens_per_batch=5, processes=Unconnected(world_size=n, rank=rank)
        )
    assert {rank for rank, _ in batches} == set(range(n))
    assert sorted(pair for _, pairs in batches for pair in pairs) == [*range(len(SOURCES))]
