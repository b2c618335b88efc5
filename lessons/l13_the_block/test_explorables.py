"""The facts that the explorables of lesson 13 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lessons.l13_the_block import path_past, which_mean

NONE, PLAIN, PRE, POST = path_past.NONE, path_past.PLAIN, path_past.PRE, path_past.POST


LAYER, TRAINING, IN_USE = which_mean.LAYER, which_mean.TRAINING, which_mean.IN_USE


AS_IT_IS, LOUDER, PADDING = which_mean.AS_IT_IS, which_mean.LOUDER, which_mean.PADDING


def past(path: str, gain: float = 0.5, depth: int = 12) -> dict:
    return path_past.compute(depth=depth, gain=gain, path=path)


def norm(norm: str, other: str = AS_IT_IS, word: int = 1) -> dict:
    return which_mean.compute(norm=norm, other=other, word=word)


def test_layer_norm_and_batch_norm_are_those_of_library_and_torch():
    assert norm(LAYER)["after"][0] == pytest.approx([-1.3416, -0.4472, 0.4472, 1.3416], abs=1e-4)
    louder = which_mean.batch(LOUDER)
    for layer in (nn.LayerNorm(4).train(), nn.LayerNorm(4).eval()):
        told = layer(torch.from_numpy(louder).float()).detach().numpy()
        assert told == pytest.approx(which_mean.normalised(louder, LAYER), abs=1e-5)
    torchs = nn.BatchNorm1d(4)(torch.from_numpy(which_mean.words()).float()).detach().numpy()
    assert torchs == pytest.approx(which_mean.normalised(which_mean.words(), TRAINING), abs=1e-5)
    for other in (LOUDER, PADDING):
        assert norm(LAYER, other)["moved"] == norm(IN_USE, other)["moved"] == 0 < 0.5
        assert norm(TRAINING, other)["moved"] > 0.5
    assert np.argwhere(norm(LAYER, word=3)["counted"])[:, 0].tolist() == [2] * 4
    assert norm(TRAINING, word=3)["counted"][:, 0].all()


def test_a_path_keeps_the_gradient_and_slows_the_words_growing_alike():
    whole = np.linalg.multi_dot([np.eye(64) + 1e-9 * layer for layer in path_past.rotations()[:12]])
    assert whole == pytest.approx(np.eye(64), abs=1e-6) and past(PLAIN)["back"][0] > 1
    x, back = np.random.default_rng(0).standard_normal((2, 64))
    given = torch.tensor(x, requires_grad=True)
    F.layer_norm(given, (64,)).backward(torch.tensor(back))
    assert path_past.norm_back(back, x) == pytest.approx(given.grad.numpy(), abs=1e-9)
    without, pre = path_past.likeness(1.0, NONE), path_past.likeness(1.0, PRE)
    assert without[2] > 0.97 and without[4] == pytest.approx(1, abs=0.005)
    assert 0.15 < pre[2] < 0.35 and 0.75 < pre[12] < 0.9 and path_past.likeness(1.0, POST)[12] > 0.99


# Where a number is estimated from random draws, the tolerance is about four standard errors.
NUMBERS = [
    *((lambda g=g: past(NONE, g)["back"][0], g**12, 1e-6 * g**12) for g in path_past.GAINS),
    (lambda: past(NONE)["back"][0], 2.44e-4, 5e-7),
    *((lambda p=p: past(p, depth=6)["back"][-1], 1, 0) for p in (NONE, PLAIN, PRE, POST)),
    (lambda: past(PLAIN)["ways"], 4096, 0),
    (lambda: norm(which_mean.UNBIASED)["variance"], 0.75, 1e-4),
    (lambda: norm(which_mean.UNBIASED)["after"][0, 3], 1.1619, 1e-4),
]  # fmt: skip


@pytest.mark.parametrize(("number", "expected", "tolerance"), NUMBERS)
def test_numbers_quoted_in_the_lesson(number, expected, tolerance):
    assert number() == pytest.approx(expected, abs=tolerance, rel=0)
