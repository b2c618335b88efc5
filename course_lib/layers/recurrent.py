"""Recurrent layers: the same cell is applied at every word, and passes its state on to the next word.

    >>> adder = lambda word, state: {"hidden": state["hidden"] + word}          # a cell that adds its inputs
    >>> words = torch.tensor([[[1.0], [2.0], [4.0]], [[5.0], [9.0], [9.0]]])
    >>> outputs, final = unroll(adder, words, {"hidden": torch.zeros(2, 1)}, lengths=torch.tensor([3, 1]))
    >>> outputs[..., 0]                                # the second sentence has one word, then padding
    tensor([[1., 3., 7.],
            [5., 0., 0.]])
    >>> final["hidden"]
    tensor([[7.],
            [5.]])

`unroll` is the loop that lessons show. `Recurrent` uses torch's fused layers (cuDNN on a GPU) and corrects
their outputs and states for padding. Packed sequences would skip the padding, but packing needs the lengths
on the CPU, which synchronises the GPU and rules out CUDA graphs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.cells import init_forget_bias, without_autocast
from course_lib.layers.rows import Rows
from course_lib.shapes import Float, Int, Tensor

# Torch stores a layer's weights contiguously for cuDNN, but not in bfloat16, where it warns at each call.
warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk of memory")

Words = Float[Tensor, "batch len input"]
Lengths = Int[Tensor, " batch"]

Cell = Callable[[Tensor, Rows], Rows]
"""One step: maps a word (batch, input) and the old state to the new state."""

_KINDS = {  # torch's layer and its fused cell
    "rnn": (nn.RNN, torch.rnn_tanh_cell),
    "lstm": (nn.LSTM, torch.lstm_cell),
    "gru": (nn.GRU, torch.gru_cell),
}


def reverse_within(x: Tensor, lengths: Lengths | None) -> Tensor:
    """Reverse the first `lengths[i]` positions (axis 1) of row i, or all of them if there are no lengths.

        >>> reverse_within(torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]]), torch.tensor([3, 2]))
        tensor([[7, 6, 5, 0],
                [9, 8, 0, 0]])

    The backward direction of a bidirectional network (Schuster and Paliwal 1997) starts at the last word, not
    at the padding. Works for tokens (batch, len) and vectors (batch, len, width), and is its own inverse.
    """
    if lengths is None:
        return x.flip(1)
    positions = torch.arange(x.shape[1], device=x.device)
    ends = lengths[:, None]
    source = torch.where(positions < ends, ends - 1 - positions, positions)  # (batch, len)
    return torch.take_along_dim(x, source.view(*source.shape, *[1] * (x.ndim - 2)), dim=1)


def unroll(
    cell: Cell, inputs: Words, state: Rows, *, lengths: Lengths | None = None
) -> tuple[Float[Tensor, "batch len hidden"], Rows]:
    """Apply the cell to each word in order: (all hidden states, the final state of each sentence).

    After the end of a sentence its state no longer changes, and its outputs are 0.
    """
    outputs = []
    for position, word in enumerate(inputs.unbind(dim=1)):
        new = cell(word, state)
        if lengths is None:
            state, output = new, new["hidden"]
        else:
            is_word = (position < lengths)[:, None]
            state = {name: torch.where(is_word, new[name], state[name]) for name in new}
            output = torch.where(is_word, new["hidden"], 0.0)
        outputs.append(output)
    return torch.stack(outputs, dim=1), state


def last_cell(
    inputs: Words,
    outputs: Float[Tensor, "batch len hidden"],
    hidden: Float[Tensor, "batch hidden"],
    cell: Float[Tensor, "batch hidden"],
    *,
    lengths: Lengths,
    weight_ih: Float[Tensor, "4*hidden input"],
    weight_hh: Float[Tensor, "4*hidden hidden"],
    bias_ih: Float[Tensor, " 4*hidden"],
    bias_hh: Float[Tensor, " 4*hidden"],
) -> Float[Tensor, "batch hidden"]:
    """An LSTM's cell state at the end of each sentence, computed from all hidden states in parallel.

        >>> weights = {"weight_ih": torch.zeros(4, 1), "weight_hh": torch.zeros(4, 1)}     # gates of 1/2
        >>> weights |= {"bias_ih": torch.zeros(4), "bias_hh": torch.zeros(4)}
        >>> zeros, eight = torch.zeros(2, 3, 1), torch.full((2, 1), 8.0)
        >>> last_cell(zeros, zeros, eight, eight, lengths=torch.tensor([3, 1]), **weights)
        tensor([[1.],
                [4.]])

    Torch's fused LSTM returns every hidden state, but the cell only after the padding. The cell is a sum of
    what each word added, times all later forget gates; the gates follow from the hidden states.
    """
    previous = torch.cat([hidden[:, None], outputs[:, :-1]], dim=1)  # the hidden state before each word
    gates = F.linear(inputs, weight_ih, bias_ih) + F.linear(previous, weight_hh, bias_hh)
    # In half precision, long products would lose the early words.
    gates = gates.to(torch.promote_types(gates.dtype, torch.float32))
    input_gate, forget_gate, new, _ = gates.chunk(4, dim=-1)
    is_word = (torch.arange(inputs.shape[1], device=inputs.device) < lengths[:, None])[..., None]
    added = torch.where(is_word, torch.sigmoid(input_gate) * torch.tanh(new), 0.0)
    # A product of gates as a sum of logarithms: all have the same sign, so nothing cancels.
    log_forget = torch.where(is_word, F.logsigmoid(forget_gate), 0.0)
    log_kept = log_forget.flip(1).cumsum(dim=1).flip(1)  # this word's forget gate and all later ones
    log_kept_later = torch.cat([log_kept[:, 1:], torch.zeros_like(log_kept[:, :1])], dim=1)
    return ((added * log_kept_later.exp()).sum(dim=1) + log_kept[:, 0].exp() * cell).to(outputs.dtype)


class Recurrent(nn.Module):
    """A stack of unidirectional or bidirectional recurrent layers, for sentences of different lengths.

        >>> encoder = Recurrent(kind="gru", input_size=3, hidden=4, bidirectional=True)
        >>> outputs, final = encoder(torch.zeros(2, 5, 3), lengths=torch.tensor([5, 2]))
        >>> outputs.shape, final["hidden"].shape
        (torch.Size([2, 5, 8]), torch.Size([2, 2, 4]))

    A state consists of the rows "hidden", (batch, layers · directions, hidden), and for an LSTM "cell" of the
    same shape, in torch's order: both directions of the first layer, then of the next. The final state is the
    state after a sentence's own last word, or for the backward direction after its first word. A state of
    None means zeros. `lengths` are at least 1; without them there is no padding. Outputs at padding are 0.
    """

    def __init__(
        self,
        *,
        kind: str,
        input_size: int,
        hidden: int,
        n_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        if kind not in _KINDS:
            raise ValueError(f"Expected kind to be one of {', '.join(_KINDS)}, but got {kind!r}.")
        self.kind = kind
        self.n_directions = 2 if bidirectional else 1
        self.state_names = ("hidden", "cell") if kind == "lstm" else ("hidden",)
        self.state_shape = (n_layers * self.n_directions, hidden)
        self.dropout = nn.Dropout(dropout)
        fused, _ = _KINDS[kind]
        # One torch layer for each layer and direction: torch's own stack doesn't return the lower layers'
        # states at the end of a short sentence, and its dropout on a GPU uses another random generator.
        self.layers = nn.ModuleList(
            nn.ModuleList(
                fused(input_size if depth == 0 else hidden * self.n_directions, hidden, batch_first=True)
                for _ in range(self.n_directions)
            )
            for depth in range(n_layers)
        )
        if kind == "lstm":
            for directions in self.layers:
                for layer in directions:
                    init_forget_bias(layer.bias_ih_l0, layer.bias_hh_l0)

    def forward(
        self, inputs: Words, state: Rows | None = None, *, lengths: Lengths | None = None
    ) -> tuple[Float[Tensor, "batch len output"], Rows]:
        """Return the output at every word, and the state at the end of each sentence."""
        return self._run_stack(inputs, state, lengths, self._run_fused)

    def step(
        self, inputs: Float[Tensor, "batch input"], state: Rows
    ) -> tuple[Float[Tensor, "batch hidden"], Rows]:
        """Process one word: (output, new state). The same as a sentence of one word, but faster."""
        if self.n_directions == 2:
            raise ValueError(
                "Expected a unidirectional layer for a step, but this one is bidirectional: "
                "its backward direction starts from the end. Call it on the whole sentence."
            )
        outputs, state = self._run_stack(inputs[:, None], state, None, self._run_cell)
        return outputs[:, 0], state

    def zeros(self, n_rows: int) -> Rows:
        """The initial state of `n_rows` sentences, with the weights' device and dtype."""
        weight = self.layers[0][0].weight_hh_l0
        return {name: weight.new_zeros(n_rows, *self.state_shape) for name in self.state_names}

    def _run_stack(
        self, x: Tensor, state: Rows | None, lengths: Tensor | None, run_layer: Callable
    ) -> tuple[Tensor, Rows]:
        dtype, final_states = self.layers[0][0].weight_hh_l0.dtype, []
        state = self.zeros(len(x)) if state is None else state
        self._check(len(x), state, lengths)
        state = {name: state[name].to(dtype) for name in self.state_names}  # in this order
        with without_autocast(x.device):
            x = x.to(dtype)
            for depth, directions in enumerate(self.layers):
                if depth > 0:
                    x = self.dropout(x)
                outputs = []
                for backward, layer in enumerate(directions):
                    initial = {name: tensor[:, len(final_states)] for name, tensor in state.items()}
                    words = reverse_within(x, lengths) if backward else x
                    output, final = run_layer(layer, words, initial, lengths)
                    outputs.append(reverse_within(output, lengths) if backward else output)
                    final_states.append(final)
                x = torch.cat(outputs, dim=-1)  # (batch, len, hidden · directions)
        return x, {name: torch.stack([final[name] for final in final_states], dim=1) for name in state}

    def _check(self, n_rows: int, state: Rows, lengths: Tensor | None) -> None:
        """One row per sentence: torch would broadcast a single row, or ignore additional ones."""
        if lengths is not None and (lengths.shape != (n_rows,) or lengths.is_floating_point()):
            raise ValueError(
                f"Expected lengths to be one integer per sentence, so of shape ({n_rows},), "
                f"but got {lengths.dtype} {tuple(lengths.shape)}."
            )
        expected = (n_rows, *self.state_shape)
        shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
        if shapes != dict.fromkeys(self.state_names, expected):
            raise ValueError(
                f"Expected a state with {' and '.join(self.state_names)} of shape {expected}, which is "
                f"(batch, layers · directions, hidden), but got {shapes}. Pass None to start from zeros."
            )

    def _run_fused(
        self, layer: nn.RNNBase, x: Tensor, initial: Rows, lengths: Tensor | None
    ) -> tuple[Tensor, Rows]:
        """One layer over all words, in a single call of torch's fused layer."""
        states = tuple(tensor[None].contiguous() for tensor in initial.values())
        outputs, last = layer(x, states if self.kind == "lstm" else states[0])
        if lengths is None:
            return outputs, dict(zip(initial, (tensor[0] for tensor in _as_tuple(last)), strict=True))
        final = {"hidden": torch.take_along_dim(outputs, (lengths - 1)[:, None, None], dim=1)[:, 0]}
        if self.kind == "lstm":
            final["cell"] = last_cell(x, outputs, *initial.values(), lengths=lengths, **_weights(layer))
        is_word = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        return torch.where(is_word[..., None], outputs, 0.0), final

    def _run_cell(self, layer: nn.RNNBase, x: Tensor, initial: Rows, lengths: None) -> tuple[Tensor, Rows]:
        """One layer over a single word, with torch's fused cell."""
        _, cell = _KINDS[self.kind]
        states = tuple(initial.values())
        new = cell(x[:, 0], states if self.kind == "lstm" else states[0], *_weights(layer).values())
        state = dict(zip(initial, _as_tuple(new), strict=True))
        return state["hidden"][:, None], state


def _weights(layer: nn.RNNBase) -> dict[str, Tensor]:
    return {name: getattr(layer, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}


def _as_tuple(state: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return state if isinstance(state, tuple) else (state,)
