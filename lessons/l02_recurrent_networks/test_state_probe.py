"""The probe finds what is in a state and nothing else; recorded numbers are those of the shipped models."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from course_lib.results import runs
from course_lib.translation.shipped import shared
from lessons.l02_recurrent_networks.state_probe import (
    accuracy_with_the_same_middle,
    elle_against_il,
    held_out_accuracy,
    last_states,
    make_beginnings,
    measure_pronouns,
    summarise,
)


def test_nothing_after_the_subject_reveals_its_gender():
    beginnings = make_beginnings()
    assert len({beginning.text for beginning in beginnings}) == len(beginnings)
    assert all(
        beginning.text.endswith(f"{beginning.subject} {beginning.middle} parce qu'")
        for beginning in beginnings
    )
    genders = Counter((beginning.middle, beginning.feminine) for beginning in beginnings)
    middles = {middle for middle, _ in genders}
    both = [middle for middle in middles if genders[middle, True] and genders[middle, False]]
    assert len(middles) - len(both) == 4  # what only wolves and foxes eat: one row or two each
    assert sum(genders[middle, False] for middle in middles - set(both)) < 10


def synthetic(signal: float, n: int = 400) -> tuple[torch.Tensor, torch.Tensor, list[str]]:
    """States of noise, with the label added to one of their directions."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(n) % 2 == 0
    states = torch.randn(n, 20, generator=generator)
    states[:, 3] += signal * (2.0 * labels - 1)
    return states, labels, [str(index // 10) for index in range(n)]


def test_a_probe_finds_a_label_that_is_there_and_none_that_is_not():
    assert held_out_accuracy(*synthetic(10.0)).mean() == 1
    assert held_out_accuracy(*synthetic(0.0)).mean() == pytest.approx(0.5, abs=0.1)


def test_a_probe_never_sees_the_group_on_which_it_is_tested():
    groups = [str(index) for index in range(10) for _ in range(4)]
    labels = torch.tensor([index % 2 == 0 for index in range(10) for _ in range(4)])
    states = torch.eye(10).repeat_interleave(4, dim=0)  # a state reveals its group and nothing else
    assert held_out_accuracy(states, labels, groups).mean() < 0.7


def test_the_interval_is_that_of_the_groups():
    values = torch.tensor([1.0, 1.0, 0.0, 0.0])
    assert summarise(values, ["a", "a", "b", "b"]) == {"mean": 0.5, "low": 0.0, "high": 1.0}
    assert summarise(torch.tensor([1.0, torch.nan, 1.0]), ["a", "a", "b"])["mean"] == 1


def test_padding_does_not_change_a_state_or_a_prediction():
    shipped = shared("rnn_lm")
    texts = ["la souris dort parce qu'", "la souris a souvent dormi hier parce qu'"]
    for function in (last_states, elle_against_il):
        together = function(shipped.model.eval(), shipped.tokenizer, texts)
        alone = [function(shipped.model, shipped.tokenizer, [text])[0] for text in texts]
        torch.testing.assert_close(together, torch.stack(alone))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["rnn_lm", "lstm_lm"])
def test_the_recorded_numbers_are_those_of_the_shipped_model(name):
    shipped = shared(name)
    recorded = next(run for run in runs("pronoun_probe") if (run["variant"], run["seed"]) == (name, 0))
    measured, recorded = (
        measure_pronouns(shipped.model.eval(), shipped.tokenizer, n_labellings=1),
        recorded["pronouns"],
    )
    for key in ("right", "probability"):
        assert measured[key]["mean"] == pytest.approx(recorded[key]["mean"], abs=0.02), key
    for key in ("one middle", "new middles"):
        row = measured["probe"][key]
        assert row["mean"] == pytest.approx(recorded["probe"][key]["mean"], abs=0.03), key


def test_each_middle_has_a_probe_of_its_own():
    beginnings = [beginning for beginning in make_beginnings() if beginning.middle.startswith("a bu")]
    feminine = torch.tensor([beginning.feminine for beginning in beginnings])
    drinks = sorted({beginning.middle for beginning in beginnings})
    signs = torch.tensor([1.0 - 2 * (drinks.index(b.middle) % 2) for b in beginnings])
    states = (2.0 * feminine - 1)[:, None] * signs[:, None]  # the direction depends on the drink
    right = accuracy_with_the_same_middle(states, feminine, beginnings)
    assert right[~right.isnan()].mean() == 1
    together = held_out_accuracy(states, feminine, [beginning.middle for beginning in beginnings])
    assert together.mean() < 0.9
