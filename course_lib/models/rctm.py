"""RCTM: a sentence folded into one vector by convolutions, unfolded by a recurrent network (2013).

    Nal Kalchbrenner, Phil Blunsom 2013    Recurrent Continuous Translation Models   (its model I)

What was new: the first of the modern translation models that are one neural network, with large
vocabularies and real corpora (small ones were tried in 1997). There is no phrase table and no alignment:
the source becomes a vector, and a recurrent language model says the target with that vector at hand at
every word.

    s = S · folded(source)                              layers/folding.py
    h_t = tanh(I · word_t + R · h_{t-1} + s)            read the word just said
    next word = softmax(O · h_t)

What was still missing: whatever the length of the sentence, one vector of fixed size has to hold it all;
the recurrent network is the plain one, which forgets; and nothing tells which source word a target word
comes from. Nor are all words heard alike: the last one reaches the trained vector about a third as strongly
as the loudest (lesson 05). The authors used it to rescore the lists of a phrase-based system, not to
translate alone.

Where this differs from the paper:
- The output scores all words at once. The paper first chose a class of words, then a word of the class,
  since a softmax over a large vocabulary was too slow in 2013.
- Hidden states are mapped to the width of the embeddings before the output, so that the output can
  share its table (`tied`); and the widths of words and of states may differ, which are equal in the paper.
- tanh stands wherever the paper writes a general σ: it is the one of torch's fused recurrent network.
- The recurrent network has a bias, and there is dropout on words and hidden states, as in all systems here.
- The last kernel of a fold, when wider than what is left, is cut to its first columns; and the end-of-
  sentence mark is folded in with the words.
- Model II, which folds the source only half and unfolds it by convolutions again, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.folding import Folding
from course_lib.layers.recurrent import Recurrent
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Decoded, Stepped, Translator
from course_lib.shapes import Int, Tensor


@dataclass(frozen=True, kw_only=True)
class RCTMConfig(Config):
    """`max_len` also says how many kernels there are: about √(2 · max_len)."""

    embed: int
    hidden: int


class RCTM(Translator):
    """A convolutional encoder and a recurrent decoder, with one vector between them."""

    attends = False

    def __init__(self, config: RCTMConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed)
        self.folding = Folding(embed=config.embed, max_len=config.max_len)
        # Its input is [word; sentence]: one matrix that holds the paper's I and S side by side.
        self.decoder = Recurrent(kind="rnn", input_size=2 * config.embed, hidden=config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.to_embed = nn.Linear(config.hidden, config.embed)

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        return {"sentence": self.folding(self.words.source(src), src_lengths)}

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        states, _ = self.decoder(self._inputs(memory, tgt_in), self.start(memory))
        return self._logits(states), None

    def start(self, memory: Rows) -> Rows:
        return self.decoder.zeros(len(memory["sentence"]))

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        hidden, state = self.decoder.step(self._inputs(memory, tokens[:, None])[:, 0], state)
        return self._logits(hidden), state, None

    def _inputs(self, memory: Rows, tokens: Tensor) -> Tensor:
        """Every word with the sentence beside it: (batch, tgt, 2 · embed)."""
        words = self.words.target(tokens)
        return torch.cat([words, memory["sentence"].unsqueeze(1).expand_as(words)], dim=-1)

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(self.to_embed(self.dropout(hidden)))
