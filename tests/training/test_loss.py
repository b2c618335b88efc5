"""The loss by hand is torch's; PAD never counts; what each kind of system is asked for."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from course_lib.training.loss import smoothed_cross_entropy, sum_loss, symmetric_kl
from torch import nn
from torch.nn import functional as F

from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.training.objective import classification, objective_for, translation


def drawn(rows=3, length=5, vocab=11):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(rows, length, vocab, generator=generator)
    targets = torch.randint(1, vocab, (rows, length), generator=generator)
    targets[0, 3:], targets[2] = PAD, PAD
    return logits, targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_by_hand_is_torchs_and_the_sum_is_over_what_counts(smoothing):
    logits, targets = drawn()
    by_hand = smoothed_cross_entropy(logits, targets, smoothing=smoothing)
    torchs = F.cross_entropy(logits.mT, targets, reduction="none", label_smoothing=smoothing)
    torch.testing.assert_close(by_hand, torchs)
    total = sum_loss(logits, targets, smoothing=smoothing)
    torch.testing.assert_close(total, by_hand[targets != PAD].sum())


def test_smoothing_by_its_definition():
    """Cross-entropy with 1 - ε on the right word, and ε spread over all."""
    logits, targets = drawn()
    wanted = 0.7 * F.one_hot(targets, logits.shape[-1]) + 0.3 / logits.shape[-1]
    expected = -(wanted * logits.log_softmax(-1)).sum(-1)
    torch.testing.assert_close(smoothed_cross_entropy(logits, targets, smoothing=0.3), expected)


def test_pad_has_no_loss_and_no_gradient():
    logits, targets = drawn()
    logits.requires_grad_()
    sum_loss(logits, targets, smoothing=0.1).backward()
    assert (logits.grad[targets == PAD] == 0).all()
    assert (logits.grad[targets != PAD] != 0).any(dim=-1).all()
    changed = torch.where((targets == PAD)[..., None], 100.0, logits.detach())
    assert torch.equal(sum_loss(changed, targets), sum_loss(logits.detach(), targets))


def test_nothing_but_pad_is_a_loss_of_0():
    assert sum_loss(torch.randn(2, 3, 5), torch.zeros(2, 3, dtype=torch.int64), smoothing=0.1) == 0


def test_half_precision_is_widened_first():
    logits, targets = drawn()
    half = logits.bfloat16()
    loss = sum_loss(half, targets, smoothing=0.1)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, sum_loss(half.float(), targets, smoothing=0.1))


def test_symmetric_kl_is_the_mean_of_both_divergences_where_words_count():
    one, targets = drawn()
    other = one.roll(1, dims=-1)
    logs = [logits.log_softmax(-1) for logits in (one, other)]
    both = [F.kl_div(q, p, reduction="none", log_target=True).sum(-1) for p, q in (logs, logs[::-1])]
    expected = (both[0] + both[1])[targets != PAD].sum() / 2
    torch.testing.assert_close(symmetric_kl(one, other, targets), expected)
    assert symmetric_kl(one, one, targets) == 0
    assert symmetric_kl(one.bfloat16(), other.bfloat16(), targets).dtype == torch.float32


# ---- objectives


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_r_drop_asks_twice_and_weighs_the_difference(make, name):
    batch = make_batch([[5, 6], [7]], [[4], [5, 6, 7, 8]])
    sure = make(name).eval()
    once, n = objective_for(sure, 0.1)(sure, batch)
    torch.testing.assert_close(
        objective_for(sure, 0.1, 3.0)(sure, batch), (once, n)
    )  # they agree: no dropout

    model = make(name, dropout=0.3).train()
    torch.manual_seed(1)
    doubled = batch.map(lambda tensor: torch.cat([tensor, tensor]))
    read = [doubled.tgt_in] if name == "gru_lm" else [doubled.src, doubled.src_lengths, doubled.tgt_in]
    logits = model(*read)
    halves = [sum_loss(half, batch.tgt_out, smoothing=0.1) for half in logits.chunk(2)]
    expected = sum(halves) / 2 + 1.5 * symmetric_kl(*logits.chunk(2), batch.tgt_out)
    torch.manual_seed(1)
    loss, n_counted = objective_for(model, 0.1, 3.0)(model, batch)
    torch.testing.assert_close(loss, expected)
    assert n_counted == batch.n_tokens and halves[0] != halves[1]


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_two_halves_of_a_batch_add_up_to_the_whole(make, name):
    model = make(name).eval()
    sources, targets = [[5, 6], [7], [8, 9, 10], [4]], [[4], [5, 6, 7, 8], [9], [10, 11]]
    objective = objective_for(model, smoothing=0.1)
    whole = objective(model, make_batch(sources, targets))
    halves = [objective(model, make_batch(sources[half], targets[half])) for half in (slice(2), slice(2, 4))]
    torch.testing.assert_close(whole[0], halves[0][0] + halves[1][0])
    assert whole[1] == halves[0][1] + halves[1][1] == 12


def test_a_language_model_does_not_read_the_source(make):
    model = make("gru_lm").eval()
    objective = objective_for(model, smoothing=0.0)
    first = objective(model, make_batch([[5, 6, 7]], [[4, 5]]))
    assert first[0] == objective(model, make_batch([[9]], [[4, 5]]))[0]


def test_an_unknown_kind_is_refused_with_advice():
    with pytest.raises(TypeError, match=r"translator or a language model.*Linear.*objective of your own"):
        objective_for(nn.Linear(1, 1), smoothing=0.0)


def test_classification_counts_sentences_and_no_blank_rows(make):
    model = make("self_attentive").eval()
    labels = torch.tensor([0, 1, 1])
    batch = make_batch([[5, 6], [7]], [[4], [4]], n_rows=4, pairs=[2, 0])
    loss, n_counted = classification(labels)(model, batch)
    logits = model(batch.src, batch.src_lengths)[:2]
    torch.testing.assert_close(loss, F.cross_entropy(logits, torch.tensor([1, 0]), reduction="sum"))
    assert n_counted == 2
    smooth = classification(labels, smoothing=0.2)(model, batch)[0]
    assert smooth != loss
    with_penalty = classification(labels, penalty=0.5)(model, batch)[0]
    assert with_penalty > loss


@pytest.mark.parametrize(("smoothing", "penalty"), [(0.2, 0.0), (0.0, 0.5), (0.2, 0.5)])
def test_classification_by_hand(make, smoothing, penalty):
    """Of the wanted probability, 1 - s goes to the right class and s to all alike; then ‖A Aᵀ − I‖²."""
    model, labels = make("self_attentive").eval(), [1, 0]
    batch = make_batch([[5, 6, 8], [7]], [[4], [4]])
    embedding, weights = model.encode(batch.src, batch.src_lengths)
    expected = 0.0
    for logits, hops, label in zip(model.classify(embedding).tolist(), weights.tolist(), labels, strict=True):
        total = math.log(sum(map(math.exp, logits)))
        for place, logit in enumerate(logits):
            wanted = (1 - smoothing) * (place == label) + smoothing / len(logits)
            expected += wanted * (total - logit)
        for i, j in itertools.product(range(len(hops)), repeat=2):
            overlap = sum(one * other for one, other in zip(hops[i], hops[j], strict=True))
            expected += penalty * (overlap - (i == j)) ** 2
    loss, n = classification(torch.tensor(labels), smoothing=smoothing, penalty=penalty)(model, batch)
    assert loss.item() == pytest.approx(expected, rel=1e-5) and n == 2


def test_classification_calls_a_wrapped_model(make):
    """Several processes wrap a model, and add gradients up only if the wrapper itself is called."""

    class Wrapper(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module, self.n_calls = module, 0

        def forward(self, *args):
            self.n_calls += 1
            return self.module(*args)

    model, labels = make("self_attentive").eval(), torch.tensor([1, 0])
    wrapper, batch = Wrapper(model), make_batch([[5, 6], [7]], [[4], [4]])
    objective = classification(labels, penalty=0.5)
    torch.testing.assert_close(objective(wrapper, batch), objective(model, batch))
    assert wrapper.n_calls == 1


def test_scheduled_sampling_puts_the_systems_own_words_in_place_of_some(monkeypatch):
    """A share of 0 changes nothing; else words after BOS, never PAD, become what it would have said."""
    batch = make_batch([[5, 6], [7]], [[8, 9, 10], [11]])
    read: list[torch.Tensor] = []

    class Says12(nn.Module):
        def forward(self, src, src_lengths, tgt_in):
            read.append(tgt_in)
            return F.one_hot(torch.full_like(tgt_in, 12), 20).float()

    assert translation(0.0)(Says12(), batch)[1] == batch.n_tokens and len(read) == 1
    monkeypatch.setattr(torch, "rand", lambda shape, device: torch.tensor([[0.1, 0.9, 0.1], [0.1, 0.1, 0.1]]))
    read.clear()
    translation(0.0, scheduled_sampling=0.5)(Says12(), batch)
    assert torch.equal(read[0], batch.tgt_in)
    assert read[1].tolist() == [[2, 12, 9, 12], [2, 12, 0, 0]]
