"""Convolution by hand against torch's, its gate, and how far a stack of them sees."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.convolution import GatedConvolution, convolve, gated_linear_unit, receptive_field

BATCH, LEN, CHANNELS, OUT = 2, 9, 3, 5


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer(**sizes) -> GatedConvolution:
    torch.manual_seed(0)
    made = GatedConvolution(channels=CHANNELS, **sizes).double()
    nn.init.normal_(made.convolution.bias)  # it starts at 0, where a slip would not show
    return made.eval()


def slowly(inputs, weight, bias, dilation):
    """Every number by itself: batch, window, output channel, place in the window, input channel."""
    out_channels, channels, width = weight.shape
    n_windows = inputs.shape[1] - (width - 1) * dilation
    outputs = torch.zeros(len(inputs), n_windows, out_channels, dtype=inputs.dtype)
    for row in range(len(inputs)):
        for window in range(n_windows):
            for out in range(out_channels):
                outputs[row, window, out] = bias[out] + sum(
                    weight[out, channel, place] * inputs[row, window + place * dilation, channel]
                    for place in range(width)
                    for channel in range(channels)
                )
    return outputs


# ---- convolve


@pytest.mark.parametrize(("width", "dilation"), [(1, 1), (2, 1), (3, 1), (4, 2), (3, 4), (9, 1)])
def test_equals_torch_and_the_slow_loop(width, dilation):
    inputs, weight, bias = draw(BATCH, LEN, CHANNELS), draw(OUT, CHANNELS, width), draw(OUT)
    outputs = convolve(inputs, weight, bias, dilation=dilation)
    torch.testing.assert_close(outputs, F.conv1d(inputs.mT, weight, bias, dilation=dilation).mT)
    torch.testing.assert_close(outputs, slowly(inputs, weight, bias, dilation))


def test_without_bias():
    inputs, weight = draw(BATCH, LEN, CHANNELS), draw(OUT, CHANNELS, 3)
    torch.testing.assert_close(convolve(inputs, weight), F.conv1d(inputs.mT, weight).mT)


def test_a_window_of_one_word_is_a_linear_layer():
    inputs, weight, bias = draw(BATCH, LEN, CHANNELS), draw(OUT, CHANNELS, 1), draw(OUT)
    torch.testing.assert_close(convolve(inputs, weight, bias), F.linear(inputs, weight[:, :, 0], bias))


def test_a_shifted_sentence_gives_shifted_outputs():
    inputs, weight = draw(BATCH, LEN, CHANNELS), draw(OUT, CHANNELS, 3)
    torch.testing.assert_close(convolve(inputs[:, 2:], weight), convolve(inputs, weight)[:, 2:])


def test_a_sentence_shorter_than_a_window():
    with pytest.raises(ValueError, match=r"at least 5 words, the span of one window, but got 4\. Pad"):
        convolve(draw(1, 4, CHANNELS), draw(OUT, CHANNELS, 3), dilation=2)


def test_a_weight_for_other_channels():
    with pytest.raises(ValueError, match=r"weight of shape \(out_channels, channels, width\) = \(5, 3, 2\)"):
        convolve(draw(1, 4, 3), draw(5, 4, 2))


# ---- the gate


def test_the_gate_equals_torch():
    inputs = draw(BATCH, LEN, 2 * CHANNELS)
    torch.testing.assert_close(gated_linear_unit(inputs), F.glu(inputs, dim=-1))


def test_an_open_gate_hands_on_value_and_gradient():
    values = draw(4).requires_grad_()
    passed = gated_linear_unit(torch.cat([values, torch.full((4,), 50.0, dtype=torch.float64)]))
    passed.sum().backward()
    torch.testing.assert_close(passed, values)
    torch.testing.assert_close(values.grad, torch.ones_like(values))


def test_half_of_an_odd_number():
    with pytest.raises(ValueError, match="even number of channels, half of them gates, but got 5"):
        gated_linear_unit(torch.zeros(2, 5))


# ---- the layer


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_the_layer_equals_the_functions(width, causal, dilation):
    made, inputs = layer(width=width, causal=causal, dilation=dilation), draw(BATCH, LEN, CHANNELS)
    span = (width - 1) * dilation
    before = span if causal else span // 2
    zeros = torch.zeros(BATCH, span, CHANNELS, dtype=inputs.dtype)
    padded = torch.cat([zeros[:, :before], inputs, zeros[:, before:]], dim=1)
    by_hand = convolve(padded, made.convolution.weight, made.convolution.bias, dilation=dilation)
    torch.testing.assert_close(made(inputs), gated_linear_unit(by_hand))
    assert made(inputs).shape == inputs.shape


def test_the_words_in_a_window():
    """Width 3: causal, word 4 sees words 2, 3, 4; otherwise 3, 4, 5."""
    for causal, seen in ((True, {2, 3, 4}), (False, {3, 4, 5})):
        made, inputs = layer(width=3, causal=causal), draw(1, LEN, CHANNELS).requires_grad_()
        made(inputs)[0, 4].sum().backward()
        assert set(inputs.grad[0].any(dim=-1).nonzero().flatten().tolist()) == seen


@pytest.mark.parametrize("causal", [False, True])
def test_padding_may_hold_anything(causal):
    made, lengths = layer(width=3, causal=causal), torch.tensor([4, 7])
    inputs = draw(BATCH, LEN, CHANNELS)
    inputs[0, 4:], inputs[1, 7:] = float("nan"), float("inf")
    outputs = made(inputs, lengths=lengths)
    assert outputs.isfinite().all()
    for row, length in enumerate(lengths.tolist()):
        alone = made(inputs[row : row + 1, :length])
        torch.testing.assert_close(outputs[row, :length], alone[0])


@pytest.mark.parametrize(("width", "dilation"), [(1, 1), (2, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("piece", [1, 2, LEN])
def test_reading_in_pieces_equals_reading_at_once(width, dilation, piece):
    made, inputs = layer(width=width, causal=True, dilation=dilation), draw(BATCH, LEN, CHANNELS)
    window, outputs = torch.zeros(BATCH, made.span, CHANNELS, dtype=inputs.dtype), []
    for words in inputs.split(piece, dim=1):
        output, window = made.extend(words, window)
        outputs.append(output)
    torch.testing.assert_close(torch.cat(outputs, dim=1), made(inputs))
    assert window.shape == (BATCH, made.span, CHANNELS)
    assert torch.equal(window, inputs[:, LEN - made.span :])


def test_a_layer_keeps_the_size_of_the_numbers_at_the_start():
    """Small numbers, as at the start of training: the gates stand half open."""
    torch.manual_seed(0)
    inputs = 0.1 * torch.randn(8, 50, 128)
    for dropout in (0.0, 0.4):
        made = GatedConvolution(channels=128, width=3, causal=True, dropout=dropout)
        assert 0.09 < made(inputs).std() < 0.11


def test_dropout_acts_in_training_alone():
    made = GatedConvolution(channels=CHANNELS, width=3, causal=True, dropout=0.5)
    inputs = draw(BATCH, LEN, CHANNELS).float()
    assert not torch.equal(made(inputs), made(inputs))
    assert torch.equal(made.eval()(inputs), made(inputs))


def test_a_layer_that_looks_ahead_cannot_go_on():
    with pytest.raises(ValueError, match=r"causal convolution, but this one also looks ahead.*causal=True"):
        layer(width=3, causal=False).extend(draw(1, 1, CHANNELS), draw(1, 2, CHANNELS))


def test_a_window_of_the_wrong_size():
    with pytest.raises(ValueError, match=r"the last 2 words, so of shape \(2, 2, 3\), but got \(2, 3, 3\)"):
        layer(width=3, causal=True).extend(draw(2, 1, CHANNELS), draw(2, 3, CHANNELS))


# ---- how far it sees


@pytest.mark.parametrize(
    ("widths", "dilations", "field"),
    [([], None, 1), ([3], None, 3), ([3] * 6, None, 13), ([2, 3, 4], None, 7), ([3, 3, 3], [1, 2, 4], 15)],
)
def test_the_receptive_field_is_what_gradients_reach(widths, dilations, field):
    assert receptive_field(widths, dilations) == field
    outputs = inputs = draw(1, 20, 1).requires_grad_()
    for width, dilation in zip(widths, dilations or [1] * len(widths), strict=True):
        outputs = convolve(outputs, torch.ones(1, 1, width, dtype=outputs.dtype), dilation=dilation)
    outputs[0, 0].sum().backward()
    assert inputs.grad.ne(0).sum() == field


def test_a_dilation_for_each_layer():
    with pytest.raises(ValueError, match="one dilation for each of the 3 layers, but got 2"):
        receptive_field([3, 3, 3], [1, 2])
