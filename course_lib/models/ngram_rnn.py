"""N-gram RNN: no attention, the last few outputs are simply concatenated (2017).

    Daniluk, Rocktäschel, Welbl, Riedel 2017   Frustratingly Short Attention Spans in Neural Language Modeling

A baseline for attention over a few words, about as good as key-value-predict attention, and cheaper. The
LSTM's output is split into N - 1 parts. The first part is used at once, the second one word later, the third
two words later:

    h*_t = tanh(W [h_t¹; h_{t-1}²; …; h_{t-N+2}^{N-1}])

Where this differs from the paper:
- h*_t has the width of the embeddings (`embed`), so that the output layer can share their matrix.
- There are zeros before the start of a text; the paper treats a corpus as one long text.
- `hidden` is the LSTM's whole width, divided among the parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped, Target, Tokens
from course_lib.shapes import Float, Tensor


@dataclass(frozen=True, kw_only=True)
class NGramRNNConfig(Config):
    """`hidden` is the width of the LSTM; `order` is the paper's N: a prediction uses N - 1 outputs."""

    embed: int
    hidden: int
    order: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order < 2:
            raise ValueError(f"Expected an order of at least 2, but got {self.order}.")
        if self.hidden % (self.order - 1):
            raise ValueError(
                f"Expected hidden to be a multiple of {self.order - 1}, but got {self.hidden}. "
                f"Order {self.order} splits the LSTM's output into that many equal parts."
            )


def delay_parts(
    outputs: Float[Tensor, "batch tgt hidden"], *, n_parts: int
) -> Float[Tensor, "batch tgt hidden"]:
    """Split each output into parts and delay the second by one step, the third by two, and so on.

    >>> delay_parts(torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]]), n_parts=2)
    tensor([[[ 1.,  0.],
             [ 2., 10.],
             [ 3., 20.]]])
    """
    n = outputs.shape[1]
    parts = outputs.chunk(n_parts, dim=-1)
    return torch.cat([F.pad(part, (0, 0, delay, 0))[:, :n] for delay, part in enumerate(parts)], dim=-1)


class NGramRNN(LanguageModel):
    """An LSTM whose outputs are used for the next few predictions."""

    def __init__(self, config: NGramRNNConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.lstm = Recurrent(kind="lstm", input_size=config.embed, hidden=config.hidden)
        self.join = nn.Linear(config.hidden, config.embed, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, n_rows: int) -> Rows:
        earlier = self.join.weight.new_zeros(n_rows, self.config.order - 2, self.config.hidden)
        return self.lstm.zeros(n_rows) | {"earlier": earlier}

    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        outputs, _ = self.lstm(self.words.target(tokens))
        return self._logits(outputs), None

    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        """The state contains the outputs that later predictions still need."""
        lstm_state = {"hidden": state["hidden"], "cell": state["cell"]}
        output, lstm_state = self.lstm.step(self.words.target(tokens[:, None])[:, 0], lstm_state)
        outputs = torch.cat([state["earlier"], output[:, None]], dim=1)  # (batch, order - 1, hidden)
        return self._logits(outputs)[:, -1], lstm_state | {"earlier": outputs[:, 1:]}, None

    def _logits(self, outputs: Tensor) -> Tensor:
        features = torch.tanh(self.join(delay_parts(outputs, n_parts=self.config.order - 1)))
        return self.words.logits(self.dropout(features))
