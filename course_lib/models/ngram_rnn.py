"""N-gram RNN: no attention at all, the last few outputs simply stand side by side (2017).

    Daniluk, Rocktäschel, Welbl, Riedel 2017   Frustratingly Short Attention Spans in Neural Language Modeling

New: if attention looks back only a few words, does it have to choose at all? The LSTM's output is cut into
N - 1 parts. The first part is used at once, the second one word later, the third two words later:

    h*_t = tanh(W [h_t¹; h_{t-1}²; …; h_{t-N+2}^{N-1}])

so each word leaves something for each of the next few predictions. With three parts (N = 4) it was about as
good as key-value-predict attention, and cheaper: a baseline that claims for attention have to pass.

Still missing: the distance is fixed by the wiring. What was said six words ago reaches the prediction only
through the state, and the weights are the same whatever the words are.

Where this differs from the paper:
- h*_t has the width of the word table (`embed`), so that a tied table can score the next word.
- before the start of a text stand zeros; the paper reads a corpus as one long text.
- `hidden` is the LSTM's whole width, shared by the parts.
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
from course_lib.models.translator import Decoded, Stepped
from course_lib.shapes import Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class NGramRNNConfig(Config):
    """Width of a word and of the LSTM; `order` is the paper's N: a prediction joins N - 1 outputs."""

    embed: int
    hidden: int
    order: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order < 2:
            raise ValueError(
                f"Expected an order of at least 2, but got {self.order}. "
                "Order 2 uses the newest output alone; order 4 joins three."
            )
        if self.hidden % (self.order - 1):
            raise ValueError(
                f"Expected hidden to be a multiple of {self.order - 1}, but got {self.hidden}. "
                f"Order {self.order} cuts the LSTM's output into so many equal parts."
            )


def staircase(
    outputs: Float[Tensor, "batch tgt hidden"], *, n_parts: int
) -> Float[Tensor, "batch tgt hidden"]:
    """Each output cut in parts, the first as it is, the second one step late, the third two steps late.

        >>> staircase(torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]]), n_parts=2)
        tensor([[[ 1.,  0.],
                 [ 2., 10.],
                 [ 3., 20.]]])

    Before the start stand zeros.
    """
    n = outputs.shape[1]
    parts = outputs.chunk(n_parts, dim=-1)
    return torch.cat([F.pad(part, (0, 0, late, 0))[:, :n] for late, part in enumerate(parts)], dim=-1)


class NGramRNN(LanguageModel):
    """An LSTM whose outputs are used up over the next few words."""

    def __init__(self, config: NGramRNNConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.lstm = Recurrent(kind="lstm", input_size=config.embed, hidden=config.hidden)
        self.join = nn.Linear(config.hidden, config.embed, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, n_rows: int) -> Rows:
        earlier = self.join.weight.new_zeros(n_rows, self.config.order - 2, self.config.hidden)
        return self.lstm.zeros(n_rows) | {"earlier": earlier}

    def say(self, tokens: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        outputs, _ = self.lstm(self.words.target(tokens))
        return self._logits(outputs), None

    def advance(self, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool) -> Stepped:
        """The state keeps the outputs that are not used up yet."""
        last = {"hidden": state["hidden"], "cell": state["cell"]}
        output, last = self.lstm.step(self.words.target(tokens[:, None])[:, 0], last)
        outputs = torch.cat([state["earlier"], output[:, None]], dim=1)  # (batch, order - 1, hidden)
        return self._logits(outputs)[:, -1], last | {"earlier": outputs[:, 1:]}, None

    def _logits(self, outputs: Tensor) -> Tensor:
        features = torch.tanh(self.join(staircase(outputs, n_parts=self.config.order - 1)))
        return self.words.logits(self.dropout(features))
