"""The training step in plain functions equals the library's, torch's and the paper's."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.training.step import Adam
from lessons.l15_training_a_translator.by_hand import paper_rate, smoothed_loss, training_step


@pytest.mark.parametrize(("d_model", "warm_up"), [(512, 4000), (64, 200), (256, 1)])
def test_inverse_square_root_is_the_papers_formula(d_model, warm_up):
    for step in (1, 2, 17, 199, 200, 201, 3999, 4000, 4001, 100_000):
        formula = d_model**-0.5 * min(step**-0.5, step * warm_up**-1.5)
        assert paper_rate(step, d_model, warm_up) == pytest.approx(formula, rel=1e-12)


def test_a_step_in_plain_functions_is_the_librarys():
    torch.manual_seed(0)
    weights = {"a": torch.randn(3, 2), "b": torch.randn(2)}
    theirs = {name: w.clone().requires_grad_() for name, w in weights.items()}
    adam, memory = Adam(theirs), {}
    for step in range(1, 6):
        x = torch.randn(4, 3)

        def loss_of(table, x=x):
            return (x @ table["a"] + table["b"]).square().mean()

        loss, weights, memory = training_step(weights, loss_of, memory, step, 0.01)
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
