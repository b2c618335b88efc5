"""Recurrent cells: one step of an RNN, an LSTM or a GRU maps an input and the old state to the new state.

| cell | state | weight matrices | paper |
|---|---|---|---|
| `rnn_cell` | hidden | 1 | Elman 1990, Finding Structure in Time |
| `lstm_cell` | hidden, cell | 4: input, forget, new, output | Hochreiter 1997, Long Short-Term Memory |
| | | | Gers 2000, Learning to Forget (the forget gate) |
| `gru_cell` | hidden | 3: reset, update, new | Cho 2014, … using RNN Encoder-Decoder |

A cell's matrices are stacked in torch's order. One bias would be enough; torch has two because cuDNN does.
The modules are torch's fused cells. Rounding errors accumulate in a state from step to step, so they compute
in the precision of their weights, even inside an autocast region (`without_autocast`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.checks import check_floating_point
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
    """tanh(W x + U h): at every step the whole state passes through one matrix and one tanh.

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
    added: Float[Tensor, "... hidden"] | None = None,
) -> tuple[Float[Tensor, "... hidden"], Float[Tensor, "... hidden"]]:
    """Return the new (hidden, cell). The cell is only scaled and added to, so gradients survive many steps.

        >>> matrix, bias = torch.zeros(4, 1), torch.zeros(4)       # all gates 1/2, no new content
        >>> weights = {"weight_ih": matrix, "weight_hh": matrix, "bias_ih": bias, "bias_hh": bias}
        >>> lstm_cell(torch.zeros(1, 1), torch.zeros(1, 1), torch.tensor([[8.0]]), **weights)[1]
        tensor([[4.]])

    cell' = forget · cell + input · new, and hidden' = output · tanh(cell'), with gates between 0 and 1.
    `added` is added to the new cell before the output gate; the LSTMN passes the source's gated cell state.
    """
    check_states(inputs, hidden, cell, weight_ih=weight_ih, n_gates=4)
    gates = F.linear(inputs, weight_ih, bias_ih) + F.linear(hidden, weight_hh, bias_hh)
    input_gate, forget_gate, new, output_gate = gates.chunk(4, dim=-1)  # (..., hidden) each
    cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(new)
    if added is not None:
        cell = cell + added
    return torch.sigmoid(output_gate) * torch.tanh(cell), cell


def gru_cell(
    inputs: Float[Tensor, "... input"],
    hidden: Float[Tensor, "... hidden"],
    *,
    weight_ih: Float[Tensor, "3*hidden input"],
    weight_hh: Float[Tensor, "3*hidden hidden"],
    bias_ih: Float[Tensor, " 3*hidden"],
    bias_hh: Float[Tensor, " 3*hidden"],
) -> Float[Tensor, "... hidden"]:
    """Interpolate between the old state and new content: hidden' = update · hidden + (1 - update) · new.

        >>> matrix, bias = torch.zeros(3, 1), torch.zeros(3)       # both gates 1/2, no new content
        >>> weights = {"weight_ih": matrix, "weight_hh": matrix, "bias_ih": bias, "bias_hh": bias}
        >>> gru_cell(torch.zeros(1, 1), torch.tensor([[8.0]]), **weights)
        tensor([[4.]])

    new = tanh(W x + reset · (U h)): the reset gate is applied after the product with U, as in torch and
    cuDNN. Cho et al. apply it before, U (reset · h), which is slower because the product waits for the gate.
    """
    check_states(inputs, hidden, weight_ih=weight_ih, n_gates=3)
    reset_x, update_x, new_x = F.linear(inputs, weight_ih, bias_ih).chunk(3, dim=-1)  # (..., hidden) each
    reset_h, update_h, new_h = F.linear(hidden, weight_hh, bias_hh).chunk(3, dim=-1)
    update = torch.sigmoid(update_x + update_h)
    new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
    return update * hidden + (1 - update) * new


def check_states(inputs: Tensor, *states: Tensor, weight_ih: Tensor, n_gates: int) -> None:
    """One state per input, as wide as the weights require. Torch would broadcast a single state."""
    expected = (*inputs.shape[:-1], len(weight_ih) // n_gates)
    if any(state.shape != expected for state in states):
        raise ValueError(
            f"Expected a state of shape {expected}, one for each word, but got "
            f"{' and '.join(str(tuple(state.shape)) for state in states)}. The {len(weight_ih)} rows of "
            f"weight_ih are divided evenly among {n_gates} matrices."
        )


def init_forget_bias(bias_ih: Float[Tensor, " gates"], bias_hh: Float[Tensor, " gates"]) -> None:
    """Set the forget gate's bias to 1, in place, so that a new LSTM keeps most of its cell.

        >>> bias_ih, bias_hh = torch.zeros(4), torch.zeros(4)
        >>> init_forget_bias(bias_ih, bias_hh)
        >>> bias_ih, bias_hh
        (tensor([0., 1., 0., 0.]), tensor([0., 0., 0., 0.]))

    With a bias of 0 the forget gate is near 1/2, so after ten words 1/1000 of the cell and of its gradient is
    left. With a bias of 1 the gate is near 0.73, and 1/23 is left (Gers 2000; measured by Józefowicz 2015).
    """
    forget = slice(len(bias_ih) // 4, len(bias_ih) // 2)
    with torch.no_grad():
        bias_ih[forget] = 1.0
        bias_hh[forget] = 0.0


def without_autocast(device: torch.device) -> AbstractContextManager:
    """Disable autocast, which gives cuDNN float16 even when bfloat16 was requested: gradients underflow."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


class LSTMCell(nn.LSTMCell):
    """`lstm_cell` with its parameters; the forget bias starts at 1 (`init_forget_bias`)."""

    def __init__(self, *, input_size: int, hidden: int):
        super().__init__(input_size, hidden)
        init_forget_bias(self.bias_ih, self.bias_hh)

    def forward(
        self,
        inputs: Float[Tensor, "batch input"],
        hidden: Float[Tensor, "batch hidden"],
        cell: Float[Tensor, "batch hidden"],
    ) -> tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]:
        check_floating_point("inputs", inputs)
        dtype = self.weight_ih.dtype
        with without_autocast(inputs.device):
            return super().forward(inputs.to(dtype), (hidden.to(dtype), cell.to(dtype)))


class GRUCell(nn.GRUCell):
    """`gru_cell` with its parameters."""

    def __init__(self, *, input_size: int, hidden: int):
        super().__init__(input_size, hidden)

    def forward(
        self, inputs: Float[Tensor, "batch input"], hidden: Float[Tensor, "batch hidden"]
    ) -> Float[Tensor, "batch hidden"]:
        check_floating_point("inputs", inputs)
        dtype = self.weight_ih.dtype
        with without_autocast(inputs.device):
            return super().forward(inputs.to(dtype), hidden.to(dtype))
