"""The first neural language model: the last few words side by side, through one hidden layer (2003).

    Yoshua Bengio, Réjean Ducharme, Pascal Vincent, Christian Jauvin 2003    A Neural Probabilistic
                                                                             Language Model

    x = [word_{t-n+1}; ...; word_t]                      n embeddings, each at its own place
    next word = softmax(U tanh(d + H x) + b)

What was new: words as vectors that are learnt along with the task. A table of n-grams knows nothing about
a row it has not counted; here "the cat drank" helps "the dog drank", because cat and dog come to lie close.
And the number of weights grows with n, not with vocabulary to the power of n.

What was still missing: the window. What lies before it might as well not have been said, each place in it
has weights of its own, and a wider window costs more of them.

Where this differs from the paper:
- The direct connection from x to the output, which the paper calls optional, is left out.
- The hidden layer is mapped to the width of the embeddings before the output, so that the output can
  share its table (`tied`); the paper's output matrix U goes straight to the vocabulary.
- Before the first word the window holds PAD, which has an embedding like any word.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.convolution import last_words, slide
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.language_model import LanguageModel
from course_lib.models.translator import Decoded, Stepped
from course_lib.shapes import Int, Tensor
from course_lib.text.special import PAD


@dataclass(frozen=True, kw_only=True)
class WindowMLPConfig(Config):
    """`window` is how many words it sees, the newest among them: an n-gram model of order window + 1."""

    embed: int
    hidden: int
    window: int = 4


class WindowMLP(LanguageModel):
    """One hidden layer over a window of embedded words."""

    def __init__(self, config: WindowMLPConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed, reads_source=False)
        self.to_hidden = nn.Linear(config.window * config.embed, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.to_embed = nn.Linear(config.hidden, config.embed)

    def start(self, n_rows: int) -> Rows:
        device = self.to_hidden.weight.device
        return {"window": torch.full((n_rows, self.config.window), PAD, device=device)}

    def say(self, tokens: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        return self._logits(last_words(tokens, self.config.window, fill=PAD)), None

    def advance(self, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool) -> Stepped:
        window = slide(state["window"], tokens)
        return self._logits(window), {"window": window}, None

    def _logits(self, window: Tensor) -> Tensor:
        side_by_side = self.words.target(window).flatten(-2)  # (..., window · embed)
        return self.words.logits(self.to_embed(self.dropout(torch.tanh(self.to_hidden(side_by_side)))))
