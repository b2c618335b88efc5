"""The facts that the explorables of lesson 13 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lessons.l13_the_block import PathPast, WhichMean, path_past, which_mean
from lessons.l13_the_block.path_past import NONE, PLAIN, POST, PRE
from lessons.l13_the_block.which_mean import AS_IT_IS, IN_USE, LAYER, LOUDER, PADDING, TRAINING, UNBIASED
from tests.explore.settings import open_question

# ---- PathPast


def path_facts(path: str, gain: float = 0.5, depth: int = 12) -> dict:
    return path_past.compute(depth=depth, gain=gain, path=path)


@pytest.mark.parametrize("gain", path_past.GAINS)
def test_without_a_path_the_gradient_is_a_power_of_the_gain(gain):
    assert path_facts(NONE, gain)["back"][0] == pytest.approx(gain**12, rel=1e-6)


def test_a_path_keeps_the_gradient():
    product = np.linalg.multi_dot([np.eye(64) + 1e-9 * layer for layer in path_past.rotations()[:12]])
    assert product == pytest.approx(np.eye(64), abs=1e-6)
    assert path_facts(PLAIN)["back"][0] > 1 and path_facts(PLAIN)["ways"] == 2**12
    assert path_facts(PLAIN, gain=1.0)["back"][0] > 10, "at full strength it grows"
    assert all(path_facts(path, depth=6)["back"][-1] == 1 for path in (NONE, PLAIN, PRE, POST))


def test_the_gradient_of_the_norm_is_that_of_torch():
    x, back = np.random.default_rng(0).standard_normal((2, 64))
    tensor = torch.tensor(x, requires_grad=True)
    F.layer_norm(tensor, (64,)).backward(torch.tensor(back))
    assert path_past.norm_back(back, x) == pytest.approx(tensor.grad.numpy(), abs=1e-9)


def test_a_path_slows_down_the_growing_similarity():
    without, pre = path_past.similarity(1.0, NONE), path_past.similarity(1.0, PRE)
    assert without[2] > 0.97 and without[4] == pytest.approx(1, abs=0.005)
    assert 0.15 < pre[2] < 0.35 and 0.75 < pre[12] < 0.9 and path_past.similarity(1.0, POST)[12] > 0.99


def test_the_prediction_of_the_gradient_through_twelve_layers():
    asked, text, _, after = open_question("13", "block-twelve-layers", PathPast)
    assert (after["depth"], after["gain"], after["path"]) == (12, 0.5, NONE)
    assert asked.right == [2] and float(text.split()[-1]) == pytest.approx(after["back"][0], rel=0.25)


# ---- WhichMean


def norm_facts(norm: str, other: str = AS_IT_IS, word: int = 1) -> dict:
    return which_mean.compute(norm=norm, other=other, word=word)


def test_layer_norm_and_batch_norm_are_those_of_torch():
    assert norm_facts(LAYER)["after"][0] == pytest.approx([-1.3416, -0.4472, 0.4472, 1.3416], abs=1e-4)
    louder = which_mean.batch(LOUDER)
    for layer in (nn.LayerNorm(4).train(), nn.LayerNorm(4).eval()):
        expected = layer(torch.from_numpy(louder).float()).detach().numpy()
        assert expected == pytest.approx(which_mean.normalised(louder, LAYER), abs=1e-5)
    expected = nn.BatchNorm1d(4)(torch.from_numpy(which_mean.words()).float()).detach().numpy()
    assert expected == pytest.approx(which_mean.normalised(which_mean.words(), TRAINING), abs=1e-5)


def test_the_unbiased_variance():
    assert norm_facts(UNBIASED)["variance"] == pytest.approx(0.75, abs=1e-4)
    assert norm_facts(UNBIASED)["after"][0, 3] == pytest.approx(1.5 / np.sqrt(5 / 3), abs=1e-4)


@pytest.mark.parametrize("other", [LOUDER, PADDING])
def test_only_batch_norm_in_training_depends_on_other_words(other):
    assert norm_facts(LAYER, other)["change"] == norm_facts(IN_USE, other)["change"] == 0
    assert norm_facts(TRAINING, other)["change"] > 0.5


def test_which_numbers_are_averaged():
    assert np.argwhere(norm_facts(LAYER, word=3)["averaged"])[:, 0].tolist() == [2] * 4
    assert norm_facts(TRAINING, word=3)["averaged"][:, 0].all()


def test_the_prediction_that_only_batch_norm_depends_on_another_sentence():
    asked, _, before, after = open_question("13", "block-other-sentence", WhichMean)
    assert (before["norm"], after["norm"], after["other"], after["word"]) == (LAYER, TRAINING, LOUDER, 1)
    louder = which_mean.batch(LOUDER)[3:5]
    assert np.array_equal(louder, 4 * which_mean.words()[3:5]), "the question says four times"
    assert norm_facts(LAYER, LOUDER)["change"] == 0 < 0.1 < after["change"] and asked.right == [2]


def test_both_layer_norms_average_the_same_numbers():
    assert np.array_equal(norm_facts(UNBIASED, word=3)["averaged"], norm_facts(LAYER, word=3)["averaged"])
    assert not norm_facts(IN_USE, word=3)["averaged"].any(), "of none of this batch"
