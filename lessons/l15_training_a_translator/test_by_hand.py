"""The training step in plain functions equals the library's, torch's and the paper's."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from course_lib.teaching.exercises import find_exercise
from course_lib.teaching.exercises.judging import judge
from course_lib.text.batching import Epochs
from course_lib.training.recipe import learning_rate
from course_lib.training.step import BETAS, EPSILON, Adam
from lessons.l15_training_a_translator.by_hand import paper_rate, smoothed_loss, training_step
from lessons.l15_training_a_translator.short_sentences import short_data
from lessons.l15_training_a_translator.training_settings import TrainingSettings
from lessons.l15_training_a_translator.translator_run import TranslatorRun


@pytest.mark.parametrize(("d_model", "warm_up"), [(512, 4000), (64, 200), (256, 1)])
def test_inverse_square_root_is_the_papers_formula(d_model, warm_up):
    for step in (1, 2, 17, 199, 200, 201, 3999, 4000, 4001, 100_000):
        rate = learning_rate(
            step, peak=(d_model * warm_up) ** -0.5, warm_up=warm_up, decay="inverse_square_root"
        )
        assert rate == pytest.approx(paper_rate(step, d_model, warm_up), rel=1e-12)


def test_a_step_in_plain_functions_is_the_librarys():
    torch.manual_seed(0)
    weights = {"a": torch.randn(3, 2), "b": torch.randn(2)}
    theirs = {name: w.clone().requires_grad_() for name, w in weights.items()}
    adam, state = Adam(theirs), {}
    for step in range(1, 6):
        x = torch.randn(4, 3)

        def loss_of(table, x=x):
            return (x @ table["a"] + table["b"]).square().mean()

        loss, weights, state = training_step(weights, loss_of, state, step, 0.01)
        own = loss_of(theirs)
        assert loss == pytest.approx(own.item(), rel=1e-5)
        own.backward()
        nn.utils.clip_grad_norm_(theirs.values(), 1.0)
        adam.step(0.01)
        for name, w in theirs.items():
            w.grad = None
            assert torch.allclose(w, weights[name], atol=1e-6)


def test_a_loss_in_plain_functions_is_torchs():
    logits, targets = torch.randn(3, 5, 9), torch.randint(0, 9, (3, 5))
    theirs = F.cross_entropy(logits.mT, targets, ignore_index=0, label_smoothing=0.1)
    assert torch.isclose(smoothed_loss(logits, targets, 0.1), theirs)


def test_a_step_whose_parameter_has_its_former_name_is_still_accepted():
    """Learners' saved functions may call Adam's state `memory`: it is passed by position."""

    def earlier(weights, loss_of, memory, step, rate):
        return training_step(weights, loss_of, memory, step, rate)

    assert judge(find_exercise("training_step"), earlier).status == "passed"
    data, settings = short_data(n_train=100), TrainingSettings(n_steps=3)
    runs = [TranslatorRun(data, settings, step=step).train() for step in (earlier, training_step)]
    one, other = (run.model.state_dict() for run in runs)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_torchs_adam_and_schedule_take_the_same_steps():
    """The lesson's script, in 64 bits to keep rounding errors negligible."""
    data = short_data(n_train=100)
    model = TranslatorRun(data).model.double()
    batches = Epochs(data.train, tokens_per_batch=256, seed=0)
    weights, state = {name: w.detach().clone() for name, w in model.named_parameters()}, {}
    peak, warm_up = 0.005, 3
    optimizer = torch.optim.Adam(model.parameters(), lr=peak, betas=(0.9, 0.98), eps=1e-9)

    def factor(t):
        return paper_rate(t + 1, 64, warm_up) / paper_rate(warm_up, 64, warm_up)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for step in range(1, 6):
        batch = next(batches)
        inputs = batch.src, batch.src_lengths, batch.tgt_in

        def loss_of(weights, inputs=inputs, targets=batch.tgt_out):
            logits = functional_call(model, weights, inputs)
            return F.cross_entropy(logits.mT, targets, ignore_index=0, label_smoothing=0.1)

        loss = loss_of(dict(model.named_parameters()))
        _, weights, state = training_step(weights, loss_of, state, step, peak * factor(step - 1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    for name, weight in model.named_parameters():
        assert torch.allclose(weight, weights[name], atol=1e-6), name


def test_the_defaults_of_torchs_adam():
    """The lesson names them as those of Kingma and Ba."""
    defaults = torch.optim.Adam([nn.Parameter(torch.zeros(1))]).defaults
    assert (defaults["betas"], defaults["eps"]) == ((0.9, 0.999), 1e-8)
    assert (BETAS, EPSILON) == ((0.9, 0.98), 1e-9)
