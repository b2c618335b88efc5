"""LSTMN as a language model: the recurrent network that remembers every word it read (2016).

    Cheng, Dong, Lapata 2016    Long Short-Term Memory-Networks for Machine Reading

New: the one memory of an LSTM becomes a tape with a place for every word, and each word decides by attention
which earlier words it builds on. It is attention inside one sequence ("intra-attention"), a year before
self-attention stood alone. Perplexity fell, and the weights can be looked at: who builds on whom.

Still missing: the weights depend on the last summary, which depends on the last weights, so training walks
word by word like any recurrent network; and the cost of a word now grows with the number of words before it.

Where this differs from the paper:
- one layer; the paper also stacks three, with gated skip connections between them. One shows the idea.
- the gates have biases, as torch's LSTM has them; the paper leaves them out of the formula.
- the word table may also score the next word (`tied`), so the hidden state is first projected to its width.
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
from course_lib.models.translator import Decoded, Stepped
from course_lib.shapes import Int, Tensor


@dataclass(frozen=True, kw_only=True)
class LSTMNLMConfig(Config):
    """Width of a word, of a state on the tape, and of the hidden layer inside the score."""

    embed: int
    hidden: int
    attn_dim: int


class LSTMNLM(LanguageModel):
    """An LSTM with a tape in place of its memory, and a vocabulary on top."""

    attends = True

    def __init__(self, config: LSTMNLMConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.reader = TapeCell(input_size=config.embed, hidden=config.hidden, attn_dim=config.attn_dim)
        self.output = nn.Linear(config.hidden, config.embed)
        self.dropout = nn.Dropout(config.dropout)

    def start(self, n_rows: int) -> Rows:
        return self.reader.start(n_rows)

    def say(self, tokens: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        """Weights in row t are over the words before t: row 0 is all 0, and so is the diagonal."""
        states, _, weights = self.reader.encode(self.words.target(tokens), with_weights=with_weights)
        return self._logits(states), None if weights is None else weights[:, None, None]

    def advance(self, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool) -> Stepped:
        hidden, state, weights = self.reader(self.words.target(tokens[:, None])[:, 0], state)
        # The newest word is one of the seen, but does not look at itself.
        return self._logits(hidden), state, F.pad(weights, (0, 1))[:, None, None] if with_weights else None

    def _logits(self, states: Tensor) -> Tensor:
        return self.words.logits(self.output(self.dropout(states)))
