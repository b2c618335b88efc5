"""Sequence to sequence: a deep LSTM reads the source backwards, another starts from where it ended (2014).

    Ilya Sutskever, Oriol Vinyals, Quoc V. Le 2014    Sequence to Sequence Learning with Neural Networks

What was new: nothing but LSTMs, large and deep, and for the first time neural networks alone translated
better than a phrase-based system: five of them together, 34.8 BLEU against 33.3. The source goes over only
as the first state of the decoder, all layers of it. And a trick: the source is read in reverse, so that its
first words, which the target's first words mostly translate, are the freshest in memory. The mean distance
between partners stays as it was, but a few of them are now close, and training gets hold of those first.

    source    A B C EOS  is read as  C B A EOS
    target    BOS W X Y  is read as it is, from the state after EOS

EOS stays at the end. It says "over, now speak" wherever the sentence was read from; turned round with the
words it would come first and say nothing.

What was still missing: one state of fixed size holds the whole source, and only the start of the decoder
sees it. A word needed late must survive every step until then.

Where this differs from the paper:
- The decoder opens with BOS. In the paper EOS does both jobs: after it, the same step says the first word.
- Top states are mapped to the width of the embeddings before the output, so that the output can share its
  table (`tied`); the paper has 1000 for both, and a table of its own for each job.
- Forget biases start at 1 (`layers/cells.py`); the paper draws all weights from ±0.08.
- Widths are the config's (the paper: 4 layers of 1000), there is dropout, and no ensemble.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from course_lib.layers.recurrent import Recurrent, reverse_within
from course_lib.layers.rows import Rows
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.translator import Decoded, Stepped, Translator
from course_lib.shapes import Int, Tensor


@dataclass(frozen=True, kw_only=True)
class SutskeverConfig(Config):
    """`reverse`: read the source from its last word to its first."""

    embed: int
    hidden: int
    n_layers: int = 2
    reverse: bool = True


class Sutskever(Translator):
    """Two stacks of LSTMs; the last state of the one is the first state of the other."""

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

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        if self.config.reverse:
            src = reverse_within(src, src_lengths - 1)  # the words; EOS, which is counted, stays
        _, last = self.encoder(self.words.source(src), lengths=src_lengths)
        return last

    def start(self, memory: Rows) -> Rows:
        return memory

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        hidden, _ = self.decoder(self.words.target(tgt_in), self.start(memory))
        return self._logits(hidden), None

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        hidden, state = self.decoder.step(self.words.target(tokens), state)
        return self._logits(hidden), state, None

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.words.logits(self.to_embed(self.dropout(hidden)))
