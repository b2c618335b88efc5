"""LayerNorm and BatchNorm against torch's own; what each may and may not depend on."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.layers.norms import (
    BatchNorm,
    LayerNorm,
    RMSNorm,
    batch_norm,
    batch_statistics,
    layer_norm,
    make_norm,
    rms_norm,
)

BATCH, LEN, D_MODEL = 3, 5, 7
LENGTHS = torch.tensor([5, 1, 3])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * 3 + 2


def shaken(module: nn.Module) -> nn.Module:
    """Scale and shift away from 1 and 0, where slips in them would not show."""
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters(), start=5):
            parameter.copy_(draw(*parameter.shape, seed=seed))
    return module.double()


def words_only(x: torch.Tensor) -> torch.Tensor:
    """The real words of all sentences, one after another."""
    return torch.cat([x[i, :length] for i, length in enumerate(LENGTHS.tolist())])


# ---- LayerNorm


def test_layer_norm_equals_torch_with_gradients():
    ours, theirs = shaken(LayerNorm(d_model=D_MODEL)), nn.LayerNorm(D_MODEL, dtype=torch.float64)
    theirs.load_state_dict(ours.state_dict())
    outcomes = []
    for norm in (
        ours,
        theirs,
        lambda x: layer_norm(x, weight=theirs.weight.detach(), bias=theirs.bias.detach()),
    ):
        x = draw(BATCH, LEN, D_MODEL).requires_grad_()
        y = norm(x)
        y.backward(draw(*y.shape, seed=1))
        outcomes.append((y, x.grad))
    torch.testing.assert_close(outcomes[0], outcomes[1])
    torch.testing.assert_close(outcomes[2], outcomes[1])
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)
    torch.testing.assert_close(ours.bias.grad, theirs.bias.grad)


def test_layer_norm_gives_each_word_mean_0_and_variance_1():
    y = LayerNorm(d_model=D_MODEL).double()(draw(BATCH, LEN, D_MODEL))
    torch.testing.assert_close(y.mean(dim=-1), torch.zeros(BATCH, LEN, dtype=torch.float64))
    torch.testing.assert_close(y.var(dim=-1, correction=0), torch.ones_like(y[..., 0]), atol=1e-3, rtol=0)


def test_layer_norm_of_a_word_does_not_see_other_words():
    norm, x = shaken(LayerNorm(d_model=D_MODEL)), draw(BATCH, LEN, D_MODEL)
    changed = x.clone()
    changed[1:], changed[0, 1:] = 99.0, -99.0
    assert torch.equal(norm(changed)[0, 0], norm(x)[0, 0])


def test_a_constant_word_is_not_divided_by_zero():
    assert layer_norm(torch.full((4,), 3.0), weight=torch.ones(4), bias=torch.ones(4)).tolist() == [1.0] * 4


# ---- RMSNorm


def test_rms_norm_equals_torch_with_gradients():
    ours, theirs = shaken(RMSNorm(d_model=D_MODEL)), nn.RMSNorm(D_MODEL, eps=1e-5, dtype=torch.float64)
    theirs.load_state_dict(ours.state_dict())
    outcomes = []
    for norm in (ours, theirs, lambda x: rms_norm(x, weight=theirs.weight.detach())):
        x = draw(BATCH, LEN, D_MODEL).requires_grad_()
        y = norm(x)
        y.backward(draw(*y.shape, seed=1))
        outcomes.append((y, x.grad))
    torch.testing.assert_close(outcomes[0], outcomes[1])
    torch.testing.assert_close(outcomes[2], outcomes[1])


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="layer, rms, batch or none, but got 'group'"):
        make_norm("group", d_model=4)


# ---- BatchNorm


def test_batch_norm_equals_torch_on_the_words_without_padding():
    ours, theirs = shaken(BatchNorm(d_model=D_MODEL)), nn.BatchNorm1d(D_MODEL, dtype=torch.float64)
    with torch.no_grad():
        theirs.weight.copy_(ours.weight)
        theirs.bias.copy_(ours.bias)
    for seed in range(3):  # the running means move on
        x = draw(BATCH, LEN, D_MODEL, seed=seed).requires_grad_()
        packed = words_only(x).detach().requires_grad_()
        y, expected = words_only(ours(x, LENGTHS)), theirs(packed)
        torch.testing.assert_close(y, expected)
        upstream = draw(*y.shape, seed=9)
        y.backward(upstream)
        expected.backward(upstream)
        torch.testing.assert_close(words_only(x.grad), packed.grad)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_variance, theirs.running_var)
    torch.testing.assert_close(
        words_only(ours.eval()(x, LENGTHS)), theirs.eval()(packed), msg="in use, by running means"
    )


def test_the_module_in_training_is_the_function():
    norm, x = shaken(BatchNorm(d_model=D_MODEL)), draw(BATCH, LEN, D_MODEL)
    assert torch.equal(norm(x, LENGTHS), batch_norm(x, LENGTHS, weight=norm.weight, bias=norm.bias))


@pytest.mark.parametrize("junk", [0.0, 1e6, -5.0])
def test_padding_is_not_counted(junk):
    """Neither what it holds nor how much of it there is."""
    x = draw(BATCH, LEN, D_MODEL)
    outcomes = []
    for filler, extra in ((0.0, 0), (junk, 4)):
        wide = torch.cat([x, x.new_zeros(BATCH, extra, D_MODEL)], dim=1)
        for i, length in enumerate(LENGTHS.tolist()):
            wide[i, length:] = filler
        leaf, norm = wide.requires_grad_(), BatchNorm(d_model=D_MODEL).double()
        y = words_only(norm(leaf, LENGTHS))
        y.backward(draw(*y.shape, seed=1))
        outcomes.append((y, words_only(leaf.grad), norm.running_mean, norm.running_variance))
    torch.testing.assert_close(*outcomes)


def test_batch_norm_of_a_word_does_see_the_rest_of_the_batch():
    """Why the Transformer does without it: the same word comes out differently in other company."""
    norm, x = shaken(BatchNorm(d_model=D_MODEL)), draw(BATCH, LEN, D_MODEL)
    assert not torch.allclose(norm(x[:1], LENGTHS[:1])[0, 0], norm(x, LENGTHS)[0, 0])


def test_a_batch_of_one_word_gives_the_shift_and_no_nan():
    norm = shaken(BatchNorm(d_model=D_MODEL))
    y = norm(draw(1, 1, D_MODEL), torch.tensor([1]))
    torch.testing.assert_close(y[0, 0], norm.bias)
    assert norm.running_variance.isfinite().all()


def test_statistics_count_the_words():
    mean, variance, n_words = batch_statistics(draw(BATCH, LEN, D_MODEL), LENGTHS)
    expected = words_only(draw(BATCH, LEN, D_MODEL))
    assert n_words == 9
    torch.testing.assert_close((mean, variance), (expected.mean(dim=0), expected.var(dim=0, correction=0)))


def test_bfloat16_stays_bfloat16():
    x = draw(BATCH, LEN, D_MODEL).bfloat16()
    assert LayerNorm(d_model=D_MODEL).bfloat16()(x).dtype == torch.bfloat16
    assert BatchNorm(d_model=D_MODEL).bfloat16()(x, LENGTHS).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_large_numbers_of_16_bits_are_normalised_as_torch_does(dtype):
    """300² is more than float16 can hold."""
    x = (draw(BATCH, LEN, D_MODEL) * 300).to(dtype)
    weight, bias = torch.ones(D_MODEL, dtype=dtype), torch.zeros(D_MODEL, dtype=dtype)
    full = torch.full((BATCH,), LEN)
    exact = x.double()
    for given, expected in (
        (layer_norm(x, weight=weight, bias=bias), nn.functional.layer_norm(exact, (D_MODEL,))),
        (rms_norm(x, weight=weight), nn.functional.rms_norm(exact, (D_MODEL,))),
        (
            batch_norm(x, full, weight=weight, bias=bias),
            (exact - exact.mean(dim=(0, 1))) / exact.std(dim=(0, 1), correction=0),
        ),
    ):
        assert given.dtype == dtype
        torch.testing.assert_close(given.double(), expected, atol=0.02, rtol=0.01)
