"""A recurrent layer: the same cell at every word, the state handed on from one to the next.

    >>> adder = lambda word, state: {"hidden": state["hidden"] + word}          # a cell that only sums
    >>> words = torch.tensor([[[1.0], [2.0], [4.0]], [[5.0], [9.0], [9.0]]])
    >>> outputs, final = unroll(adder, words, {"hidden": torch.zeros(2, 1)}, lengths=torch.tensor([3, 1]))
    >>> outputs[..., 0]                                # the second sentence has one word; the rest is padding
    tensor([[1., 3., 7.],
            [5., 0., 0.]])
    >>> final["hidden"]
    tensor([[7.],
            [5.]])

`unroll` is the loop that lessons show. `Recurrent` hands the loop to torch's fused layers (cuDNN on a GPU)
and repairs what they do to padding; a test shows both equal. Torch would leave padding out of packed
sentences, but packing needs the lengths on the CPU: a GPU waits, and no CUDA graph can record it. All of it
keeps to the precision of the weights (`layers/cells.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.cells import in_own_precision, remember_at_first
from course_lib.layers.rows import Rows
from course_lib.shapes import Float, Int, Tensor

# For cuDNN torch lays a layer's weights side by side, but not in bfloat16: there it complains at each call.
warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk of memory")

Cell = Callable[[Tensor, Rows], Rows]
"""One step: a word (batch, input) and the old state in, the new state out."""

_KINDS = {  # torch's layer and its fused cell
    "rnn": (nn.RNN, torch.rnn_tanh_cell),
    "lstm": (nn.LSTM, torch.lstm_cell),
    "gru": (nn.GRU, torch.gru_cell),
}


def reverse_within(x: Tensor, lengths: Int[Tensor, " batch"] | None) -> Tensor:
    """The first `lengths[i]` positions (axis 1) of row i turned round; padding stays. None: all of them.

        >>> reverse_within(torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]]), torch.tensor([3, 2]))
        tensor([[7, 6, 5, 0],
                [9, 8, 0, 0]])

    A network that reads backwards (Schuster and Paliwal 1997) must meet the last word first. Turning the
    whole row round would let it meet the padding first, and the padding would stay in its memory.
    For words (batch, len) as for vectors (batch, len, width). Done twice, it is undone.
    """
    if lengths is None:
        return x.flip(1)
    positions = torch.arange(x.shape[1], device=x.device)
    ends = lengths[:, None]
    source = torch.where(positions < ends, ends - 1 - positions, positions)  # (batch, len)
    return torch.take_along_dim(x, source.view(*source.shape, *[1] * (x.ndim - 2)), dim=1)


def unroll(
    cell: Cell,
    inputs: Float[Tensor, "batch len input"],
    state: Rows,
    *,
    lengths: Int[Tensor, " batch"] | None = None,
) -> tuple[Float[Tensor, "batch len hidden"], Rows]:
    """The cell at every word in turn: (each hidden state, the last state of each sentence).

    Past a sentence's end its state stands still, and its outputs are 0.
    """
    outputs = []
    for time, word in enumerate(inputs.unbind(dim=1)):
        new = cell(word, state)
        if lengths is None:
            state, output = new, new["hidden"]
        else:
            going_on = (time < lengths)[:, None]
            state = {name: torch.where(going_on, new[name], state[name]) for name in new}
            output = torch.where(going_on, new["hidden"], 0.0)
        outputs.append(output)
    return torch.stack(outputs, dim=1), state


def last_cell(
    inputs: Float[Tensor, "batch len input"],
    outputs: Float[Tensor, "batch len hidden"],
    hidden: Float[Tensor, "batch hidden"],
    cell: Float[Tensor, "batch hidden"],
    *,
    lengths: Int[Tensor, " batch"],
    weight_ih: Float[Tensor, "4*hidden input"],
    weight_hh: Float[Tensor, "4*hidden hidden"],
    bias_ih: Float[Tensor, " 4*hidden"],
    bias_hh: Float[Tensor, " 4*hidden"],
) -> Float[Tensor, "batch hidden"]:
    """An LSTM's cell at each sentence's own end, from the hidden states alone, all words at once.

        >>> half = {"weight_ih": torch.zeros(4, 1), "weight_hh": torch.zeros(4, 1)}     # gates half open
        >>> half |= {"bias_ih": torch.zeros(4), "bias_hh": torch.zeros(4)}
        >>> seen, eight = torch.zeros(2, 3, 1), torch.full((2, 1), 8.0)
        >>> last_cell(seen, seen, eight, eight, lengths=torch.tensor([3, 1]), **half)
        tensor([[1.],
                [4.]])

    Torch's fused LSTM gives every hidden state, but the cell only after the last column, where a short
    sentence has long been read into its padding. Yet the cell is only a sum: what each word wrote, times
    every forget gate since. The gates follow from the hidden states, so no loop is needed.
    """
    before = torch.cat([hidden[:, None], outputs[:, :-1]], dim=1)  # the state each word met
    gates = F.linear(inputs, weight_ih, bias_ih) + F.linear(before, weight_hh, bias_hh)
    # Long products in half precision would lose the early words.
    write, forget, new, _ = gates.to(torch.promote_types(gates.dtype, torch.float32)).chunk(4, dim=-1)
    real = (torch.arange(inputs.shape[1], device=inputs.device) < lengths[:, None])[..., None]
    written = torch.where(real, torch.sigmoid(write) * torch.tanh(new), 0.0)
    # A product of gates as a sum of logarithms: all of one sign, so nothing cancels, and 0 is no trouble.
    log_forget = torch.where(real, F.logsigmoid(forget), 0.0)
    since = log_forget.flip(1).cumsum(dim=1).flip(1)  # this word's forget gate and all later ones
    later = torch.cat([since[:, 1:], torch.zeros_like(since[:, :1])], dim=1)
    return ((written * later.exp()).sum(dim=1) + since[:, 0].exp() * cell).to(outputs.dtype)


class Recurrent(nn.Module):
    """A stack of recurrent layers, read forwards or both ways, over sentences of any lengths.

        >>> encoder = Recurrent(kind="gru", input_size=3, hidden=4, bidirectional=True)
        >>> outputs, final = encoder(torch.zeros(2, 5, 3), lengths=torch.tensor([5, 2]))
        >>> outputs.shape, final["hidden"].shape
        (torch.Size([2, 5, 8]), torch.Size([2, 2, 4]))

    A state is rows: "hidden" (batch, layers · directions, hidden), and for an LSTM "cell" of the same shape,
    ordered as torch has them: both directions of the first layer, then of the next. It is the state after a
    sentence's own last word; for the backward direction, after its first. None starts from zeros.
    `lengths` are at least 1; without them every sentence fills its row. Outputs at padding are 0.
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
        # One of torch's layers for each layer and direction: its own stack would not show what the lower
        # layers' states were at the end of a short sentence, and on a GPU would drop out by another dice.
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
                    remember_at_first(layer.bias_ih_l0, layer.bias_hh_l0)

    def forward(
        self,
        inputs: Float[Tensor, "batch len input"],
        state: Rows | None = None,
        *,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[Float[Tensor, "batch len output"], Rows]:
        """Every word's output, and the state at each sentence's end."""
        return self._through(inputs, state, lengths, self._fused)

    def step(
        self, inputs: Float[Tensor, "batch input"], state: Rows
    ) -> tuple[Float[Tensor, "batch hidden"], Rows]:
        """One more word: (output, new state). The same as a sentence of one word, for less."""
        if self.n_directions == 2:
            raise ValueError(
                "Expected a layer that reads forwards to take a step, but this one reads both ways: "
                "its backward half starts from the end. Call it on the whole sentence."
            )
        outputs, state = self._through(inputs[:, None], state, None, self._one_step)
        return outputs[:, 0], state

    def zeros(self, n_rows: int) -> Rows:
        """The state before anything was read, for so many sentences, of the weights' device and dtype."""
        like = self.layers[0][0].weight_hh_l0
        return {name: like.new_zeros(n_rows, *self.state_shape) for name in self.state_names}

    def _through(
        self, x: Tensor, state: Rows | None, lengths: Tensor | None, run: Callable
    ) -> tuple[Tensor, Rows]:
        """The whole stack, each layer in each direction by `run`."""
        dtype, new = self.layers[0][0].weight_hh_l0.dtype, []
        state = self.zeros(len(x)) if state is None else state
        self._check(len(x), state, lengths)
        state = {name: state[name].to(dtype) for name in self.state_names}  # in this order
        with in_own_precision(x.device):
            x = x.to(dtype)
            for depth, directions in enumerate(self.layers):
                if depth > 0:
                    x = self.dropout(x)
                outputs = []
                for backward, layer in enumerate(directions):
                    first = {name: part[:, len(new)] for name, part in state.items()}
                    words = reverse_within(x, lengths) if backward else x
                    output, last = run(layer, words, first, lengths)
                    outputs.append(reverse_within(output, lengths) if backward else output)
                    new.append(last)
                x = torch.cat(outputs, dim=-1)  # (batch, len, hidden · directions)
        return x, {name: torch.stack([part[name] for part in new], dim=1) for name in state}

    def _check(self, n_rows: int, state: Rows, lengths: Tensor | None) -> None:
        """Rows for every sentence, and no others: torch would stretch one over all, or leave some out."""
        if lengths is not None and (lengths.shape != (n_rows,) or lengths.is_floating_point()):
            raise ValueError(
                f"Expected lengths to be one whole number a sentence, so of shape ({n_rows},), "
                f"but got {lengths.dtype} {tuple(lengths.shape)}."
            )
        expected = (n_rows, *self.state_shape)
        came = {name: tuple(part.shape) for name, part in state.items()}
        if came != dict.fromkeys(self.state_names, expected):
            raise ValueError(
                f"Expected a state with {' and '.join(self.state_names)} of shape {expected}, which is "
                f"(batch, layers · directions, hidden), but got {came}. Pass None to start from zeros."
            )

    def _fused(
        self, layer: nn.RNNBase, x: Tensor, first: Rows, lengths: Tensor | None
    ) -> tuple[Tensor, Rows]:
        """One layer over all words in one call of torch's."""
        given = tuple(part[None].contiguous() for part in first.values())
        outputs, last = layer(x, given if self.kind == "lstm" else given[0])
        if lengths is None:
            return outputs, dict(zip(first, (part[0] for part in _as_tuple(last)), strict=True))
        final = {"hidden": torch.take_along_dim(outputs, (lengths - 1)[:, None, None], dim=1)[:, 0]}
        if self.kind == "lstm":
            final["cell"] = last_cell(x, outputs, *first.values(), lengths=lengths, **_weights(layer))
        real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        return torch.where(real[..., None], outputs, 0.0), final

    def _one_step(self, layer: nn.RNNBase, x: Tensor, first: Rows, lengths: None) -> tuple[Tensor, Rows]:
        """One layer over a single word, by torch's fused cell."""
        _, cell = _KINDS[self.kind]
        given = tuple(first.values())
        new = cell(x[:, 0], given if self.kind == "lstm" else given[0], *_weights(layer).values())
        state = dict(zip(first, _as_tuple(new), strict=True))
        return state["hidden"][:, None], state


def _weights(layer: nn.RNNBase) -> dict[str, Tensor]:
    return {name: getattr(layer, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}


def _as_tuple(state: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return state if isinstance(state, tuple) else (state,)
