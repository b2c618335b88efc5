"""LSTMN as a language model: a recurrent network that stores the state of every word (2016).

    Cheng, Dong, Lapata 2016    Long Short-Term Memory-Networks for Machine Reading

New: each word attends to the stored states of all earlier words (`layers/tape.py`). This is attention within
one sequence, a year before the Transformer, but training still proceeds word by word.

Where this differs from the paper:
- There is one layer. The paper also stacks three, with gated skip connections between them.
- The gates have biases, as in torch's LSTM; the paper leaves them out of the formula.
- The hidden state is projected to the width of the embeddings, so that the output layer can share their
  matrix (`tied`).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn import functional as F

from course_lib.layers.rows import Rows
from course_lib.layers.tape import TapeCell
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped, Target, Tokens
from course_lib.shapes import Tensor


@dataclass(frozen=True, kw_only=True)
class LSTMNLMConfig(Config):
    """`hidden` is the width of a state on the tape, `attn_dim` that of the score's hidden layer."""

    embed: int
    hidden: int
    attn_dim: int


class LSTMNLM(LanguageModel):
    """An LSTM with a memory tape, and an output layer."""

    attends = True

    def __init__(self, config: LSTMNLMConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.reader = TapeCell(input_size=config.embed, hidden=config.hidden, attn_dim=config.attn_dim)
        self.output = nn.Linear(config.hidden, config.embed)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, n_rows: int) -> Rows:
        return self.reader.start(n_rows)

    def say(self, tokens: Target, *, with_weights: bool) -> Decoded:
        """Row t of the attention weights covers the words before t, so row 0 and the diagonal are 0."""
        states, _, weights = self.reader.encode(self.words.target(tokens), with_weights=with_weights)
        return self._logits(states), None if weights is None else weights[:, None, None]

    def advance(self, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        hidden, state, weights = self.reader(self.words.target(tokens[:, None])[:, 0], state)
        # The attention weights include the newest word, which doesn't attend to itself.
        return self._logits(hidden), state, F.pad(weights, (0, 1))[:, None, None] if with_weights else None

    def _logits(self, states: Tensor) -> Tensor:
        return self.words.logits(self.output(self.dropout(states)))
