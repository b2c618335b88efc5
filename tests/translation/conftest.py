"""A translator whose probabilities are known exactly: the next word depends only on the last two words."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.models.config import Config
from course_lib.models.translator import Translator
from course_lib.text.special import BOS, EOS, PAD

N_WORDS = 3
VOCAB = 4 + N_WORDS


class Markov(Translator):
    """Its logits are a table: [first source word, word before last, last word, next word].

    Dropout of 0.999 in training mode makes a search that forgets `eval()` fail. It counts its steps.
    """

    def __init__(self, n_sources: int = 6, *, seed: int = 0, spread: float = 2.0, max_len: int = 24):
        super().__init__(Config(vocab_size=VOCAB + n_sources, max_len=max_len))
        generator = torch.Generator().manual_seed(seed)
        table = spread * torch.randn(n_sources, VOCAB, VOCAB, VOCAB, generator=generator)
        self.table = nn.Parameter(table)
        self.dropout = nn.Dropout(0.999)
        self.n_sources, self.n_steps, self.n_rows_read = n_sources, 0, 0

    def read(self, src, src_lengths):
        return {"source": src[:, 0] - VOCAB, "lengths": src_lengths, "width": src}

    def start(self, memory):
        return {"before": torch.full_like(memory["source"], BOS)}

    def advance(self, memory, state, tokens, *, with_weights):
        self.n_steps += 1
        self.n_rows_read += len(tokens)
        logits = self._logits(memory["source"], state["before"], tokens)
        weights = self._weights(memory, tokens[:, None])[..., 0, :] if with_weights else None
        return logits, {"before": tokens}, weights

    def say(self, memory, tgt_in, *, with_weights):
        before = torch.cat([torch.full_like(tgt_in[:, :1], BOS), tgt_in[:, :-1]], dim=1)
        logits = self._logits(memory["source"][:, None].expand_as(tgt_in), before, tgt_in)
        return logits, self._weights(memory, tgt_in) if with_weights else None

    def _logits(self, source, before, tokens):
        before, tokens = before.clamp(max=VOCAB - 1), tokens.clamp(max=VOCAB - 1)
        logits = self.dropout(self.table[source, before, tokens])
        never = logits.new_full((*logits.shape[:-1], self.n_sources), -torch.inf)  # for source words
        return torch.cat([logits, never], dim=-1)

    def _weights(self, memory, tokens):
        """Two heads: one attends to the position (input token) mod (source length), one uniformly."""
        positions = torch.arange(memory["width"].shape[1])
        inside = (positions < memory["lengths"][:, None]).float()[:, None]
        one_hot = (positions == (tokens % memory["lengths"][:, None])[..., None]).float()
        uniform = (inside / memory["lengths"][:, None, None]).expand_as(one_hot)
        return torch.stack([one_hot, uniform], dim=1)[:, None]


@pytest.fixture
def markov():
    return Markov


@pytest.fixture
def sources():
    """Source sentences for a Markov translator, each with its own table: (src, src_lengths)."""

    def make(n: int):
        lengths = torch.tensor([2 + row % 3 for row in range(n)])
        src = torch.full((n, 4), PAD)
        for row in range(n):
            src[row, 0] = VOCAB + row
            src[row, 1 : lengths[row] - 1] = 4
            src[row, lengths[row] - 1] = EOS
        return src, lengths

    return make
