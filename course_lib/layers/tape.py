"""The memory tape of the LSTMN: all states are stored, and each word attends to all earlier ones.

    >>> layer = TapeCell(input_size=4, hidden=3, attn_dim=5)
    >>> states, rows, weights = layer.encode(torch.zeros(1, 3, 4), with_weights=True)
    >>> rows["tape"].shape                      # hidden and cell state of each of the three words
    torch.Size([1, 3, 6])
    >>> weights[0, 0].tolist()                  # the tape is empty at the first word
    [0.0, 0.0, 0.0]

An LSTM compresses the past into one hidden state h and one cell state c. The LSTMN stores both for every word
on what the paper calls a tape. At each word it attends to the tape to get a weighted sum of each, h~ and c~.
An LSTM cell then uses h~ and c~ instead of the previous state:

    a_i = vᵀ tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1})        for every earlier word i < t
    s = softmax(a)
    h~_t = Σ s_i h_i,   c~_t = Σ s_i c_i
    h_t, c_t = LSTM cell(x_t, h~_t, c~_t)

    Cheng, Dong, Lapata 2016    Long Short-Term Memory-Networks for Machine Reading

W_h h_i is the same for every later word, so it is computed once, when word i is written.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.cells import LSTMCell, lstm_cell
from course_lib.layers.rows import Rows
from course_lib.layers.scores import AdditiveScore
from course_lib.shapes import Float, Tensor


class TapeCell(nn.Module):
    """An LSTM cell with a memory tape.

    Its state has the rows `tape` and `keys`, which grow by one entry per word, and `summary`, the last h~.
    """

    def __init__(self, *, input_size: int, hidden: int, attn_dim: int):
        super().__init__()
        self.hidden = hidden
        self.score = AdditiveScore(query_dim=input_size + hidden, key_dim=hidden, attn_dim=attn_dim)
        self.cell = LSTMCell(input_size=input_size, hidden=hidden)

    def start(self, n_rows: int) -> Rows:
        """The initial state, with an empty tape."""
        v = self.score.v
        return {
            "tape": v.new_zeros(n_rows, 0, 2 * self.hidden),
            "keys": v.new_zeros(n_rows, 0, len(v)),
            "summary": v.new_zeros(n_rows, self.hidden),
        }

    def write(
        self, rows: Rows, hidden: Float[Tensor, "batch hidden"], cell: Float[Tensor, "batch hidden"]
    ) -> Rows:
        """Append an entry to the tape: the concatenation of a hidden and a cell state."""
        entry = torch.cat([hidden, cell], dim=-1)[:, None]  # (batch, 1, 2 · hidden)
        key = self.score.project_keys(hidden[:, None])
        return rows | {
            "tape": torch.cat([rows["tape"], entry], dim=1),
            "keys": torch.cat([rows["keys"], key], dim=1),
        }

    def forward(
        self,
        inputs: Float[Tensor, "batch input"],
        rows: Rows,
        *,
        added: Float[Tensor, "batch hidden"] | None = None,
    ) -> tuple[Float[Tensor, "batch hidden"], Rows, Float[Tensor, "batch seen"]]:
        """Process one word: its hidden state, the new rows, its attention weights over the earlier entries.

        `added`, if given, is added to the new cell state.
        """
        query = torch.cat([inputs, rows["summary"]], dim=-1)[:, None]  # (batch, 1, input + hidden)
        context, weights = attend(query, rows["keys"], rows["tape"], score=self.score.score_projected)
        summary, memory = context[:, 0].chunk(2, dim=-1)
        if added is None:
            hidden, cell = self.cell(inputs, summary, memory)
        else:
            gates = dict(self.cell.named_parameters())
            hidden, cell = lstm_cell(inputs, summary, memory, **gates, added=added)
        return hidden, self.write(rows, hidden, cell) | {"summary": summary}, weights[:, 0]

    def encode(
        self, inputs: Float[Tensor, "batch len input"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "batch len hidden"], Rows, Float[Tensor, "batch len len"] | None]:
        """Process a sentence word by word from an empty tape: (hidden states, rows, attention weights).

        A word attends only to earlier words, so padding on the right doesn't affect real words. The tape is
        copied at every word: n²/2 entries for n words, as many as there are pairs to score anyway.
        """
        rows, hiddens, weights = self.start(len(inputs)), [], []
        for word in inputs.unbind(dim=1):
            hidden, rows, word_weights = self(word, rows)
            hiddens.append(hidden)
            weights.append(F.pad(word_weights, (0, inputs.shape[1] - word_weights.shape[1])))
        return torch.stack(hiddens, dim=1), rows, torch.stack(weights, dim=1) if with_weights else None
