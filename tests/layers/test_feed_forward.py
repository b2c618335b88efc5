"""The feed-forward layer: against torch's layers, word by word, and where its dropout falls."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.feed_forward import FeedForward, SwiGLU, feed_forward, make_feed_forward, swiglu

D_MODEL, D_FF = 5, 9


def made(dropout: float = 0.0) -> FeedForward:
    torch.manual_seed(0)
    module = FeedForward(d_model=D_MODEL, d_ff=D_FF, dropout=dropout)
    for layer in (module.inner, module.outer):
        nn.init.normal_(layer.bias)
    return module


def words() -> torch.Tensor:
    return torch.randn(2, 3, D_MODEL, generator=torch.Generator().manual_seed(0))


def test_module_function_and_torchs_layers_agree():
    module = made()
    by_name = {
        "w_in": module.inner.weight,
        "b_in": module.inner.bias,
        "w_out": module.outer.weight,
        "b_out": module.outer.bias,
    }
    expected = nn.Sequential(module.inner, nn.ReLU(), module.outer)(words())
    torch.testing.assert_close(module(words()), expected)
    torch.testing.assert_close(feed_forward(words(), **by_name), expected)


def test_every_word_for_itself():
    module, x = made(), words()
    torch.testing.assert_close(module(x[1, 2]), module(x)[1, 2])


def test_dropout_acts_inside_and_only_in_training():
    module = made(dropout=0.5)
    assert not torch.allclose(module(words()), made()(words()))
    torch.testing.assert_close(module.eval()(words()), made()(words()))


def test_parameters_are_as_many_as_it_says():
    assert sum(p.numel() for p in made().parameters()) == 2 * D_MODEL * D_FF + D_FF + D_MODEL


# ---- with a gate


def gated(dropout: float = 0.0) -> SwiGLU:
    torch.manual_seed(0)
    return SwiGLU(d_model=D_MODEL, d_ff=D_FF, dropout=dropout)


def test_swiglu_is_torchs_glu_with_another_gate():
    """F.glu multiplies one half by the sigmoid of the other, and silu(z) is z · sigmoid(z)."""
    module = gated()
    by_name = {"w_gate": module.gate.weight, "w_in": module.inner.weight, "w_out": module.outer.weight}
    z = module.gate(words())
    expected = module.outer(F.glu(torch.cat([z * module.inner(words()), z], dim=-1)))
    torch.testing.assert_close(module(words()), expected)
    torch.testing.assert_close(swiglu(words(), **by_name), expected)
    assert not torch.allclose(gated(dropout=0.5)(words()), expected)


def test_two_thirds_of_the_width_have_as_many_parameters():
    sizes = {"d_model": 60, "d_ff": 240}
    plain, gate = make_feed_forward("relu", **sizes), make_feed_forward("swiglu", d_model=60, d_ff=160)
    n_plain, n_gate = (sum(p.numel() for p in module.parameters()) for module in (plain, gate))
    assert n_gate == 3 * 60 * 160 == n_plain - 240 - 60


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="relu, swiglu or none, but got 'gelu'"):
        make_feed_forward("gelu", d_model=4, d_ff=8)
