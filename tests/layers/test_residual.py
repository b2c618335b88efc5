"""The residual path in both orders, and where its dropout falls."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.layers.residual import Residual, post_norm, pre_norm

D_MODEL = 6


def words(seed: int = 0) -> torch.Tensor:
    return torch.randn(2, 5, D_MODEL, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("before", [True, False])
def test_the_module_is_the_function_of_its_order(before):
    torch.manual_seed(0)
    path, layer = Residual(d_model=D_MODEL, pre_norm=before), nn.Linear(D_MODEL, D_MODEL)
    nn.init.normal_(path.norm.weight)
    order = pre_norm if before else post_norm
    torch.testing.assert_close(path(words(), layer), order(words(), layer, norm=path.norm))
    other = post_norm if before else pre_norm
    assert not torch.allclose(path(words(), layer), other(words(), layer, norm=path.norm))


def test_before_and_after_are_the_two_halves():
    path = Residual(d_model=D_MODEL, pre_norm=True)
    assert torch.equal(path.after(words(), torch.tanh(path.before(words()))), path(words(), torch.tanh))


def test_a_silent_layer_leaves_a_pre_norm_path_untouched_at_any_depth():
    x = words()
    for _ in range(50):
        x = Residual(d_model=D_MODEL, pre_norm=True)(x, torch.zeros_like)
    assert torch.equal(x, words())


def test_dropout_falls_on_what_the_layer_says_and_only_in_training():
    torch.manual_seed(0)
    path = Residual(d_model=D_MODEL, pre_norm=True, dropout=0.5)
    change = path(words(), torch.ones_like) - words()
    assert sorted(set(change.flatten().round(decimals=4).tolist())) == [0.0, 2.0]
    torch.testing.assert_close(path.eval()(words(), torch.ones_like), words() + 1)
