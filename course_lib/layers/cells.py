"""Recurrent cells: one step of an RNN, an LSTM, a GRU. The old state and a word in, the new state out.

    >>> one, zero = torch.ones(1, 1), torch.zeros(1)
    >>> weights = {"weight_ih": one, "weight_hh": one, "bias_ih": zero, "bias_hh": zero}
    >>> rnn_cell(torch.tensor([[0.5]]), torch.tensor([[-0.5]]), **weights)     # tanh(0.5 - 0.5)
    tensor([[0.]])

| cell | state | weight matrices | from |
|---|---|---|---|
| `rnn_cell` | hidden | 1 | Elman 1990 |
| `lstm_cell` | hidden, cell | 4: input, forget, new content, output | Hochreiter 1997, Gers 2000 |
| `gru_cell` | hidden | 3: reset, update, new content | Cho 2014 |

    Elman 1990                      Finding Structure in Time
    Hochreiter, Schmidhuber 1997    Long Short-Term Memory
    Gers, Schmidhuber, Cummins 2000 Learning to Forget (the forget gate)
    Cho et al. 2014                 Learning Phrase Representations using RNN Encoder-Decoder

A cell's matrices lie stacked in one, in torch's order, so weights go to and fro by copying. There are two
biases where one would do: torch has two, because cuDNN has. The modules are torch's fused cells; a test
shows them equal to the functions here.

A state is passed on from word to word, and every rounding with it. So the modules keep to the precision of
their weights, even where autocast asks for less around them (`in_own_precision`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.checks import check_decimal
from course_lib.shapes import Float, Tensor


def rnn_cell(
    inputs: Float[Tensor, "... input"],
    hidden: Float[Tensor, "... hidden"],
    *,
    weight_ih: Float[Tensor, "hidden input"],
    weight_hh: Float[Tensor, "hidden hidden"],
    bias_ih: Float[Tensor, " hidden"],
    bias_hh: Float[Tensor, " hidden"],
) -> Float[Tensor, "... hidden"]:
    """tanh(W x + U h): everything the network knows goes through one matrix and one tanh, at every step.

    >>> double, zero = torch.full((1, 1), 2.0), torch.zeros(1)
    >>> weights = {"weight_ih": double, "weight_hh": double, "bias_ih": zero, "bias_hh": zero}
    >>> rnn_cell(torch.tensor([[1.0]]), torch.tensor([[-1.0]]), **weights)
    tensor([[0.]])
    """
    check_states(inputs, hidden, weight_ih=weight_ih, n_gates=1)
    return torch.tanh(F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh))


def lstm_cell(
    inputs: Float[Tensor, "... input"],
    hidden: Float[Tensor, "... hidden"],
    cell: Float[Tensor, "... hidden"],
    *,
    weight_ih: Float[Tensor, "4*hidden input"],
    weight_hh: Float[Tensor, "4*hidden hidden"],
    bias_ih: Float[Tensor, " 4*hidden"],
    bias_hh: Float[Tensor, " 4*hidden"],
    brought: Float[Tensor, "... hidden"] | None = None,
) -> tuple[Float[Tensor, "... hidden"], Float[Tensor, "... hidden"]]:
    """The new (hidden, cell). The cell only ever fades and is added to: that is the road a gradient survives.

        >>> nothing, zeros = torch.zeros(4, 1), torch.zeros(4)     # all four gates half open, nothing new
        >>> weights = {"weight_ih": nothing, "weight_hh": nothing, "bias_ih": zeros, "bias_hh": zeros}
        >>> lstm_cell(torch.zeros(1, 1), torch.zeros(1, 1), torch.tensor([[8.0]]), **weights)[1]
        tensor([[4.]])

    cell' = forget · cell + write · new, and hidden' = show · tanh(cell'), each gate between 0 and 1.
    What is `brought` from elsewhere, a memory of the source say, joins the cell before it is shown.
    """
    check_states(inputs, hidden, cell, weight_ih=weight_ih, n_gates=4)
    gates = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    write, forget, new, show = gates.chunk(4, dim=-1)  # (..., hidden) each
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(write) * torch.tanh(new)
    if brought is not None:
        cell = cell + brought
    return torch.sigmoid(show) * torch.tanh(cell), cell


def gru_cell(
    inputs: Float[Tensor, "... input"],
    hidden: Float[Tensor, "... hidden"],
    *,
    weight_ih: Float[Tensor, "3*hidden input"],
    weight_hh: Float[Tensor, "3*hidden hidden"],
    bias_ih: Float[Tensor, " 3*hidden"],
    bias_hh: Float[Tensor, " 3*hidden"],
) -> Float[Tensor, "... hidden"]:
    """A blend of the old state and new content: hidden' = keep · hidden + (1 - keep) · new.

        >>> nothing, zeros = torch.zeros(3, 1), torch.zeros(3)     # both gates half open, nothing new
        >>> weights = {"weight_ih": nothing, "weight_hh": nothing, "bias_ih": zeros, "bias_hh": zeros}
        >>> gru_cell(torch.zeros(1, 1), torch.tensor([[8.0]]), **weights)
        tensor([[4.]])

    new = tanh(W x + reset · (U h)): the reset gate acts after the product with U, as in torch and cuDNN.
    Cho et al. let it act before, U (reset · h); then U's product has to wait for the gate, which is slower.
    The two are different networks (the same only if U is diagonal), and in practice equally good.
    """
    check_states(inputs, hidden, weight_ih=weight_ih, n_gates=3)
    reset_x, keep_x, new_x = F.linear(inputs, weight_ih, bias_ih).chunk(3, dim=-1)  # (..., hidden) each
    reset_h, keep_h, new_h = F.linear(hidden, weight_hh, bias_hh).chunk(3, dim=-1)
    keep = torch.sigmoid(keep_x + keep_h)
    new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
    return keep * hidden + (1 - keep) * new


def check_states(inputs: Tensor, *states: Tensor, weight_ih: Tensor, n_gates: int) -> None:
    """One state for each word, as wide as the weights say; torch would stretch one state over all words."""
    expected = (*inputs.shape[:-1], len(weight_ih) // n_gates)
    if any(state.shape != expected for state in states):
        raise ValueError(
            f"Expected a state of shape {expected}, one for each word, but got "
            f"{' and '.join(str(tuple(state.shape)) for state in states)}. The {len(weight_ih)} rows of "
            f"weight_ih are shared out evenly among {n_gates} matrices."
        )


def remember_at_first(bias_ih: Float[Tensor, " gates"], bias_hh: Float[Tensor, " gates"]) -> None:
    """Starts an LSTM with forget biases of 1, in place: it remembers until it has learnt what to forget.

        >>> bias_ih, bias_hh = torch.zeros(4), torch.zeros(4)
        >>> remember_at_first(bias_ih, bias_hh)
        >>> bias_ih, bias_hh
        (tensor([0., 1., 0., 0.]), tensor([0., 0., 0., 0.]))

    With a bias of 0 the forget gate opens near 1/2: after ten words 1/1000 of the cell is left, and of its
    gradient. With 1 it opens near 0.73, and 1/23 is left (Gers 2000; measured by Józefowicz 2015).
    """
    forget = slice(len(bias_ih) // 4, len(bias_ih) // 2)
    with torch.no_grad():
        bias_ih[forget] = 1.0
        bias_hh[forget] = 0.0


def in_own_precision(device: torch.device) -> AbstractContextManager:
    """Autocast switched off, for all that is computed inside: the state keeps the precision of the weights.

    Left on, it would hand cuDNN's recurrent layers float16 even when bfloat16 was asked for, and small
    gradients would vanish there without a word.
    """
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


class LSTMCell(nn.LSTMCell):
    """`lstm_cell` with its weights; it starts by remembering (`remember_at_first`)."""

    def __init__(self, *, input_size: int, hidden: int):
        super().__init__(input_size, hidden)
        remember_at_first(self.bias_ih, self.bias_hh)

    def forward(
        self,
        inputs: Float[Tensor, "batch input"],
        hidden: Float[Tensor, "batch hidden"],
        cell: Float[Tensor, "batch hidden"],
    ) -> tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]:
        check_decimal("inputs", inputs)
        dtype = self.weight_ih.dtype
        with in_own_precision(inputs.device):
            return super().forward(inputs.to(dtype), (hidden.to(dtype), cell.to(dtype)))


class GRUCell(nn.GRUCell):
    """`gru_cell` with its weights."""

    def __init__(self, *, input_size: int, hidden: int):
        super().__init__(input_size, hidden)

    def forward(
        self, inputs: Float[Tensor, "batch input"], hidden: Float[Tensor, "batch hidden"]
    ) -> Float[Tensor, "batch hidden"]:
        check_decimal("inputs", inputs)
        dtype = self.weight_ih.dtype
        with in_own_precision(inputs.device):
            return super().forward(inputs.to(dtype), hidden.to(dtype))
