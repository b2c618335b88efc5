"""Sequence to sequence: a deep LSTM encodes the reversed source, another decodes from its last state (2014).

    Ilya Sutskever, Oriol Vinyals, Quoc V. Le 2014    Sequence to Sequence Learning with Neural Networks

New: deep LSTMs alone translated better than a phrase-based system. The decoder knows the source only through
its initial state, in all layers. The source is reversed, so that its first words, which mostly correspond to
the target's first words, come last and are close to them.

    source    A B C EOS  is encoded as  C B A EOS
    target    BOS W X Y  is decoded in its own order, from the state after EOS

Where this differs from the paper:
- The decoder's first input is BOS. In the paper it is EOS, which also ends the source.
- Top states are projected to the width of the embeddings, so that the output layer can share their matrix
  (`tied`).
- Forget biases start at 1 (`layers/cells.py`); the paper draws all weights from a uniform ±0.08.
- It is smaller (the paper has 4 layers of 1000), with dropout, and without the ensemble of five.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from course_lib.layers.recurrent import Recurrent, reverse_within
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Decoded, Lengths, Source, Stepped, Target, Tokens, Translator
from course_lib.shapes import Tensor


@dataclass(frozen=True, kw_only=True)
class SutskeverConfig(Config):
    """`reverse`: encode the source from its last word to its first."""

    embed: int
    hidden: int
    n_layers: int = 2
    reverse: bool = True


class Sutskever(Translator):
    """Two stacks of LSTMs; the encoder's last state is the decoder's initial state."""

    attends = False

    def __init__(self, config: SutskeverConfig):
        super().__init__(config)
        self.words = Embeddings(config, embed=config.embed)
        self.encoder, self.decoder = (
            Recurrent(
                kind="lstm",
                input_size=config.embed,
                hidden=config.hidden,
                n_layers=config.n_layers,
                dropout=config.dropout,
            )
            for _ in range(2)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.to_embed = nn.Linear(config.hidden, config.embed)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        if self.config.reverse:
            src = reverse_within(src, src_lengths - 1)  # the length includes EOS, which stays last
        _, last = self.encoder(self.words.source(src), lengths=src_lengths)
        return last

    def start(self, memory: Rows) -> Rows:
        return memory

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        hidden, _ = self.decoder(self.words.target(tgt_in), self.start(memory))
        return self._logits(hidden), None

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        hidden, state = self.decoder.step(self.words.target(tokens), state)
        return self._logits(hidden), state, None

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(self.to_embed(self.dropout(hidden)))
