"""The memory tape of the LSTMN: every state is kept, and each word looks back at all of them.

    >>> layer = TapeCell(input_size=4, hidden=3, attn_dim=5)
    >>> states, rows, weights = layer.read(torch.zeros(1, 3, 4), with_weights=True)
    >>> rows["tape"].shape                      # hidden state and memory of each of the three words
    torch.Size([1, 3, 6])
    >>> weights[0, 0].tolist()                  # the first word finds the tape empty
    [0.0, 0.0, 0.0]

An LSTM squeezes the past into one hidden state h and one memory c. The LSTMN writes the h and c of every
word on a tape. At each word it mixes what is on the tape into one pair, h~ and c~, by attention; from there
on it is an LSTM cell, with h~ and c~ where the last state used to be:

    a_i = vᵀ tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1})        for every earlier word i < t
    s = softmax(a)
    h~_t = Σ s_i h_i,   c~_t = Σ s_i c_i
    h_t, c_t = LSTM cell(x_t, h~_t, c~_t)

    Cheng, Dong, Lapata 2016    Long Short-Term Memory-Networks for Machine Reading

`tape_cell` says this as it stands there. `TapeCell` owns the weights and wastes less: W_h h_i is the same for
every later word, so it is made once, when word i is written; and the LSTM cell is torch's fused one.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.attention import attend, masked_softmax, mix
from course_lib.layers.cells import LSTMCell, lstm_cell
from course_lib.layers.rows import Rows
from course_lib.layers.scores import AdditiveScore, additive
from course_lib.shapes import Float, Tensor


def tape_cell(
    inputs: Float[Tensor, "batch input"],
    summary: Float[Tensor, "batch hidden"],
    hiddens: Float[Tensor, "batch seen hidden"],
    cells: Float[Tensor, "batch seen hidden"],
    *,
    w_query: Float[Tensor, "attn_dim input+hidden"],
    w_key: Float[Tensor, "attn_dim hidden"],
    v: Float[Tensor, " attn_dim"],
    weight_ih: Float[Tensor, "4*hidden input"],
    weight_hh: Float[Tensor, "4*hidden hidden"],
    bias_ih: Float[Tensor, " 4*hidden"],
    bias_hh: Float[Tensor, " 4*hidden"],
) -> tuple[
    Float[Tensor, "batch hidden"],
    Float[Tensor, "batch hidden"],
    Float[Tensor, "batch hidden"],
    Float[Tensor, "batch seen"],
]:
    """One word, the last summary h~ and all that is on the tape: (hidden, cell, new summary, weights).

        >>> zero, nothing = torch.zeros(1, 1), torch.zeros(4, 1)          # no score, and gates half open
        >>> score = {"w_query": torch.zeros(1, 2), "w_key": zero, "v": zero[0]}
        >>> gates = {"weight_ih": nothing, "weight_hh": nothing}
        >>> gates |= {"bias_ih": nothing[:, 0], "bias_hh": nothing[:, 0]}
        >>> hiddens, cells = torch.tensor([[[1.0], [5.0]]]), torch.tensor([[[2.0], [6.0]]])
        >>> _, cell, summary, weights = tape_cell(zero, zero, hiddens, cells, **score, **gates)
        >>> weights, summary, cell                                        # c~ is 4, and half of it is kept
        (tensor([[0.5000, 0.5000]]), tensor([[3.]]), tensor([[2.]]))

    W_x and W_h~ lie side by side in `w_query`. From an empty tape both summaries are 0.
    """
    query = torch.cat([inputs, summary], dim=-1)[:, None]  # (batch, 1, input + hidden)
    weights = masked_softmax(additive(query, hiddens, w_query=w_query, w_key=w_key, v=v))
    summary, memory = mix(weights, hiddens)[:, 0], mix(weights, cells)[:, 0]
    gates = {"weight_ih": weight_ih, "weight_hh": weight_hh, "bias_ih": bias_ih, "bias_hh": bias_hh}
    hidden, cell = lstm_cell(inputs, summary, memory, **gates)
    return hidden, cell, summary, weights[:, 0]


class TapeCell(nn.Module):
    """`tape_cell` with its weights.

    Its rows: `tape` and `keys` grow by one entry a word, `summary` is the last h~.
    """

    def __init__(self, *, input_size: int, hidden: int, attn_dim: int):
        super().__init__()
        self.hidden = hidden
        self.score = AdditiveScore(query_dim=input_size + hidden, key_dim=hidden, attn_dim=attn_dim)
        self.cell = LSTMCell(input_size=input_size, hidden=hidden)

    def start(self, n_rows: int) -> Rows:
        """An empty tape."""
        v = self.score.v
        return {
            "tape": v.new_zeros(n_rows, 0, 2 * self.hidden),
            "keys": v.new_zeros(n_rows, 0, len(v)),
            "summary": v.new_zeros(n_rows, self.hidden),
        }

    def write(
        self, rows: Rows, hidden: Float[Tensor, "batch hidden"], cell: Float[Tensor, "batch hidden"]
    ) -> Rows:
        """The rows with one entry more on the tape: a hidden state and a memory, side by side."""
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
        brought: Float[Tensor, "batch hidden"] | None = None,
    ) -> tuple[Float[Tensor, "batch hidden"], Rows, Float[Tensor, "batch seen"]]:
        """Read one word: its hidden state, the rows with it, its weights over the entries before it.

        What is `brought`, if anything, is added to the new memory.
        """
        query = torch.cat([inputs, rows["summary"]], dim=-1)[:, None]  # (batch, 1, input + hidden)
        mixed, weights = attend(query, rows["keys"], rows["tape"], score=self.score.score_projected)
        summary, memory = mixed[:, 0].chunk(2, dim=-1)
        if brought is None:
            hidden, cell = self.cell(inputs, summary, memory)
        else:
            gates = dict(self.cell.named_parameters())
            hidden, cell = lstm_cell(inputs, summary, memory, **gates, brought=brought)
        return hidden, self.write(rows, hidden, cell) | {"summary": summary}, weights[:, 0]

    def read(
        self, inputs: Float[Tensor, "batch len input"], *, with_weights: bool = False
    ) -> tuple[Float[Tensor, "batch len hidden"], Rows, Float[Tensor, "batch len len"] | None]:
        """Read a whole sentence, word after word, from an empty tape: (hidden states, rows, weights).

        A word sees only those before it, so padding at the right changes nothing for real words. The tape is
        copied at every word: n²/2 entries for n words, as many as there are pairs to be scored anyway.
        """
        rows, hiddens, weights = self.start(len(inputs)), [], []
        for word in inputs.unbind(dim=1):
            hidden, rows, looked = self(word, rows)
            hiddens.append(hidden)
            weights.append(F.pad(looked, (0, inputs.shape[1] - looked.shape[1])))
        return torch.stack(hiddens, dim=1), rows, torch.stack(weights, dim=1) if with_weights else None
