"""Parts of the fast step can be taken back for a while, and are what the step is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.bench.step_parts import PARTS, taken_back
from course_lib.bench.training import SEED, drawn_batch, without_parts
from course_lib.models.registry import make_config
from course_lib.training.recipe import Recipe


def chosen() -> list:
    return [getattr(module, name) for module, name, _ in PARTS.values()]


def test_what_is_taken_back_is_put_back():
    before = chosen()
    with taken_back("attention"):
        now = chosen()
        assert [one is other for one, other in zip(before, now, strict=True)] == [False, True]
    assert chosen() == before
    with pytest.raises(RuntimeError), taken_back("loss"):
        raise RuntimeError
    assert chosen() == before


def test_a_step_without_parts_does_the_same_work():
    """On a CPU nothing is recorded and nothing is fused: all of them do the same, bit by bit."""
    config = make_config("transformer", scale="tiny", vocab_size=50)
    batch = drawn_batch(3, 5, 50)
    steps = without_parts(replace(config, dropout=0.0), Recipe(n_steps=10), batch, torch.device("cpu"))
    assert list(steps) == ["torch's attention", "torch's loss", "torch's for both"]
    losses = []
    for step in steps.values():
        torch.manual_seed(SEED)
        losses.append(step(batch, 1e-3).tolist())
    assert losses.count(losses[0]) == 3
