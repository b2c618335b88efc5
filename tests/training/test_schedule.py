"""The learning rate: the paper's formula, a line and a cosine to 0, and what holds for all."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from course_lib.training.schedule import learning_rate, paper_peak
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(("d_model", "warm_up"), [(512, 4000), (64, 200), (256, 1)])
def test_inverse_square_root_is_the_papers_formula(d_model, warm_up):
    peak = paper_peak(d_model=d_model, warm_up=warm_up)
    for step in (1, 2, 17, 199, 200, 201, 3999, 4000, 4001, 100_000):
        formula = d_model**-0.5 * min(step**-0.5, step * warm_up**-1.5)
        ours = learning_rate(step, peak=peak, warm_up=warm_up, decay="inverse_square_root")
        assert ours == pytest.approx(formula, rel=1e-12)


@settings(deadline=None)
@given(
    n_steps=st.integers(1, 500),
    warm_up=st.integers(0, 600),
    decay=st.sampled_from(["linear", "cosine", "inverse_square_root"]),
)
def test_it_goes_up_then_down_and_never_above_the_peak(n_steps, warm_up, decay):
    rates = [
        learning_rate(step, peak=0.5, warm_up=warm_up, decay=decay, n_steps=n_steps)
        for step in range(1, n_steps + 1)
    ]
    top = rates.index(max(rates))
    assert all(0 <= rate <= 0.5 for rate in rates)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    if 1 < warm_up < n_steps:
        assert rates[warm_up - 1] == 0.5


@settings(deadline=None)
@given(n_steps=st.integers(2, 500), warm_up=st.integers(0, 400), decay=st.sampled_from(["linear", "cosine"]))
def test_linear_and_cosine_end_at_0_and_only_there(n_steps, warm_up, decay):
    def rate(step):
        return learning_rate(step, peak=1.0, warm_up=warm_up, decay=decay, n_steps=n_steps)

    assert rate(n_steps - 1) > 0
    assert rate(n_steps) == (0 if warm_up <= n_steps else n_steps / warm_up)
    assert rate(n_steps + 7) >= 0


def test_linear_falls_by_the_same_each_step():
    rates = [learning_rate(step, peak=1.0, warm_up=4, decay="linear", n_steps=12) for step in range(4, 13)]
    assert [a - b for a, b in pairwise(rates)] == pytest.approx([1 / 8] * 8)


def test_cosine_is_torchs():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.3)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    for step in range(5, 26):  # the warm-up ends at step 5
        ours = learning_rate(step, peak=0.3, warm_up=5, decay="cosine", n_steps=25)
        assert ours == pytest.approx(theirs.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        theirs.step()


@pytest.mark.parametrize("decay", ["linear", "cosine"])
def test_who_ends_has_to_know_where(decay):
    with pytest.raises(ValueError, match=f"Expected n_steps for {decay} decay"):
        learning_rate(9, peak=1.0, warm_up=4, decay=decay)


@pytest.mark.parametrize("step", [1, 9])
def test_an_unknown_decay_is_refused(step):
    with pytest.raises(ValueError, match=r"one of inverse_square_root, linear, cosine, but got 'Cosine'"):
        learning_rate(step, peak=1.0, warm_up=4, decay="Cosine", n_steps=9)


def test_the_first_step_is_step_1():
    with pytest.raises(ValueError, match=r"step of 1 or more.*got 0"):
        learning_rate(0, peak=1.0, warm_up=4, decay="linear", n_steps=9)
