"""Networks with random weights, as before training: functions from words to outputs, both (batch, n, 32).

>>> words = torch.randn(2, 9, 32)
>>> [network(words).shape == words.shape for network in (random_stack([1, 3], 0), random_rnn(0))]
[True, True]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH = 3
CHANNELS = 32


def random_stack(dilations: Sequence[int], seed: int) -> Callable[[Tensor], Tensor]:
    """Causal convolutions of width 3, each followed by tanh; their weights preserve the variance."""
    generator = torch.Generator().manual_seed(seed)
    shape, scale = (CHANNELS, CHANNELS, WIDTH), (CHANNELS * WIDTH) ** -0.5
    kernels = [scale * torch.randn(shape, generator=generator) for _ in dilations]

    def network(words: Tensor) -> Tensor:
        for kernel, dilation in zip(kernels, dilations, strict=True):
            padded = F.pad(words.mT, ((WIDTH - 1) * dilation, 0))  # zeros before the sentence
            words = torch.tanh(F.conv1d(padded, kernel, dilation=dilation)).mT
        return words

    return network


def random_rnn(seed: int) -> Callable[[Tensor], Tensor]:
    """A plain recurrent layer with torch's initial weights."""
    torch.manual_seed(seed)
    layer = nn.RNN(CHANNELS, CHANNELS, batch_first=True)
    return lambda words: layer(words)[0]


def random_lstm(seed: int, forget_bias: float) -> Callable[[Tensor], Tensor]:
    """An LSTM with torch's initial weights, but with this bias in its forget gates."""
    torch.manual_seed(seed)
    layer = nn.LSTM(CHANNELS, CHANNELS, batch_first=True)
    with torch.no_grad():
        layer.bias_ih_l0[CHANNELS : 2 * CHANNELS] = forget_bias
        layer.bias_hh_l0[CHANNELS : 2 * CHANNELS] = 0.0
    return lambda words: layer(words)[0]
