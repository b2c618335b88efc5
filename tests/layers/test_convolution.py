"""Convolutions compared with torch and with loops, and the convolutional sentence model."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.convolution import GatedConvolution, gated_linear_unit, last_words, slide
from course_lib.layers.sentence_convolution import SentenceConvolution, convolve_columns, kernel_widths

BATCH, LEN, CHANNELS, OUT, MAX_LEN = 2, 9, 3, 5, 13


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- convolution


def test_the_gated_linear_unit_equals_torch_and_an_open_gate_passes_the_gradient():
    inputs = draw(BATCH, LEN, 2 * CHANNELS)
    torch.testing.assert_close(gated_linear_unit(inputs), F.glu(inputs, dim=-1))
    values = draw(4).requires_grad_()
    outputs = gated_linear_unit(torch.cat([values, torch.full((4,), 50.0, dtype=torch.float64)]))
    outputs.sum().backward()
    torch.testing.assert_close((outputs, values.grad), (values, torch.ones_like(values)))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_the_layer_equals_torch(width, causal):
    torch.manual_seed(0)
    layer = GatedConvolution(channels=CHANNELS, width=width, causal=causal).double()
    nn.init.normal_(layer.convolution.bias)  # it starts at 0, where a mistake would not show
    inputs, span = draw(BATCH, LEN, CHANNELS), width - 1
    before = span if causal else span // 2
    padded = F.pad(inputs, (0, 0, before, span - before))
    convolved = F.conv1d(padded.mT, layer.convolution.weight, layer.convolution.bias).mT
    torch.testing.assert_close(layer(inputs), gated_linear_unit(convolved))
    inputs[0, 4:] = float("nan")  # padding may contain anything
    assert layer(inputs, lengths=torch.tensor([4, LEN])).isfinite().all()


def test_the_initialisation_keeps_the_standard_deviation():
    """For small inputs, as at the start of training, the gates are near 1/2."""
    torch.manual_seed(0)
    inputs = 0.1 * torch.randn(8, 50, 128)
    for dropout in (0.0, 0.4):
        layer = GatedConvolution(channels=128, width=3, causal=True, dropout=dropout)
        assert 0.09 < layer(inputs).std() < 0.11


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_sliding_a_window_equals_all_windows_at_once(n):
    tokens = torch.arange(4, 16).view(2, 6)
    windows, window = last_words(tokens, n, fill=1), torch.ones(2, n, dtype=torch.int64)
    for position in range(6):
        window = slide(window, tokens[:, position])
        assert torch.equal(windows[:, position], window)
    assert slide(torch.zeros(2, 0, dtype=torch.int64), tokens[:, 0]).shape == (2, 0)


# ---- the convolutional sentence model


@pytest.fixture
def layer() -> SentenceConvolution:
    torch.manual_seed(0)
    return SentenceConvolution(embed=OUT, max_len=MAX_LEN).double()


def reduce_by_hand(layer: SentenceConvolution, columns):
    """One sentence (len, embed) without padding or batch, column by column, as the paper describes it."""
    kernels = list(layer.kernels.split(layer.widths, dim=1))
    while len(columns) > 1:
        kernel = kernels.pop(0)[:, : len(columns)]  # a kernel that is too wide is truncated
        width = kernel.shape[1]
        starts = range(len(columns) - width + 1)
        columns = torch.stack([(columns[i : i + width] * kernel.mT).sum(dim=0).tanh() for i in starts])
    return columns[0]


def test_kernels_of_width_2_to_m_shorten_a_sentence_by_m_times_m_minus_1_over_2():
    assert kernel_widths(1) == []
    for length in range(2, 300):
        m = kernel_widths(length)[-1]
        assert kernel_widths(length) == list(range(2, m + 1))
        assert (m - 1) * (m - 2) // 2 < length - 1 <= m * (m - 1) // 2  # enough, and not one too many


@pytest.mark.parametrize("width", [2, 3, 6, 8])
def test_a_layer_of_the_sentence_model_is_a_depthwise_convolution(width):
    columns, kernel = draw(2, 6, OUT), draw(OUT, width, seed=1)
    reduced, lengths = convolve_columns(columns, torch.tensor([6, 1]), kernel)
    windows = columns[0].unfold(0, min(width, 6), 1)  # (windows, embed, width)
    torch.testing.assert_close(reduced[0], torch.tanh((windows * kernel[:, :6]).sum(dim=-1)))
    assert lengths.tolist() == [max(1, 6 - width + 1), 1]
    assert torch.equal(reduced[1, 0], columns[1, 0])  # a sentence of one column is unchanged


def test_a_batch_equals_single_sentences_whatever_the_padding_contains(layer):
    lengths = torch.arange(1, MAX_LEN + 1)
    columns, gradients = draw(MAX_LEN, MAX_LEN, OUT), []
    expected = torch.stack([reduce_by_hand(layer, columns[i, : i + 1]) for i in range(MAX_LEN)])
    padding = torch.arange(MAX_LEN) >= lengths[:, None]
    for junk in (float("nan"), 0.0):
        x = columns.masked_fill(padding[..., None], junk).requires_grad_()
        torch.testing.assert_close(layer(x, lengths), expected)
        gradients.append(torch.autograd.grad(layer(x, lengths).square().sum(), [x, layer.kernels]))
        assert gradients[-1][0][padding].eq(0).all()
    torch.testing.assert_close(*gradients)
    for width in (5, 6, 9):
        torch.testing.assert_close(layer(columns[:5, :width], lengths[:5]), expected[:5])


@pytest.mark.parametrize("length", [2, 4, 7, MAX_LEN])
def test_only_the_kernels_that_a_sentence_needs_get_a_gradient(layer, length):
    layer(draw(1, MAX_LEN, OUT), torch.tensor([length])).square().sum().backward()
    has_gradient = [grad.any().item() for grad in layer.kernels.grad.split(layer.widths, dim=1)]
    n_used = len(kernel_widths(length))
    assert has_gradient == [True] * n_used + [False] * (len(layer.widths) - n_used)


@pytest.mark.parametrize("length", [10, 60])
def test_a_new_sentence_model_keeps_the_size_of_its_inputs_through_all_layers(length):
    """Of numbers with a standard deviation of 1, tanh leaves about 0.5, after 4 layers as after 11."""
    torch.manual_seed(0)
    layer = SentenceConvolution(embed=32, max_len=length)
    vectors = layer(torch.randn(64, length, 32), torch.full((64,), length))
    assert 0.4 < vectors.std() < 0.7


def test_the_ends_of_a_long_sentence_have_little_influence():
    torch.manual_seed(0)
    columns = torch.randn(8, 40, 64, requires_grad=True)
    SentenceConvolution(embed=64, max_len=40)(columns, torch.full((8,), 40)).sum().backward()
    influence = columns.grad.norm(dim=-1).mean(dim=0)
    assert influence[20] > 20 * influence[0] and influence[20] > 20 * influence[-1]
