"""Structured self-attentive sentence embedding: a sentence as several weighted views of itself (2017).

    Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio 2017    A Structured Self-attentive Sentence Embedding

    embedding, weights = encoder.encode(tokens, lengths)    # (batch, hops, 2 · hidden), (batch, hops, len)
    logits = encoder.classify(embedding)                    # or both at once: encoder(tokens, lengths)
    loss = F.cross_entropy(logits, labels) + 0.03 * redundancy(weights).mean()

New: attention with no other sentence and no decoder to ask. The query is learnt: W_s2 holds one for each hop,
and each hop is a weighted sum of all states of the sentence. Several hops side by side see several things, as
the heads of the Transformer will; a penalty keeps them from all seeing the same.

    A = softmax(W_s2 tanh(W_s1 Hᵀ))      M = A H      P = ‖A Aᵀ − I‖²_F

Still missing: the words themselves do not look at each other, the queries are the same for every sentence,
and the bidirectional LSTM below still reads word by word.

Where this differs from the paper:
- the classifier's hidden layer is as wide as one hop of the embedding (2 · hidden); the paper's are thousands
  wide, and it also has a way to prune them, left out here.
- the words have a table of their own, learnt from nothing: there is no next word to score, so nothing to tie
  (`tied` has no effect), and no word2vec or GloVe to start from.
- the penalty is a function beside the model; its factor belongs to the training.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.attention import masked_softmax, mix
from course_lib.layers.masks import padding_mask
from course_lib.layers.recurrent import Recurrent
from course_lib.models.config import Config
from course_lib.models.inputs import check_sentences
from course_lib.shapes import Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class SelfAttentiveConfig(Config):
    """Width of a word and of the LSTM in each direction; hops, the width of their score, and the classes."""

    embed: int
    hidden: int
    attn_dim: int
    n_hops: int
    n_classes: int


def redundancy(weights: Float[Tensor, "... hops len"]) -> Float[Tensor, "..."]:
    """‖A Aᵀ − I‖²_F: how far the hops are from each looking at one word, and each at another.

        >>> redundancy(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))       # each hop on a word of its own
        tensor(0.)
        >>> redundancy(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))       # both on the same word
        tensor(2.)
        >>> redundancy(torch.tensor([[0.5, 0.5], [0.5, 0.5]]))       # both on all: four entries of ±1/2
        tensor(1.)

    One number a sentence. Off the diagonal it is the overlap of two hops, which should be 0; on it the
    sharpness of one, which should be 1.
    """
    n_hops = weights.shape[-2]
    apart = torch.eye(n_hops, dtype=weights.dtype, device=weights.device)
    return (weights @ weights.mT - apart).square().sum(dim=(-2, -1))


class SelfAttentive(nn.Module):
    """A bidirectional LSTM, hops over its states, and a classifier: neither translator nor language model."""

    def __init__(self, config: SelfAttentiveConfig):
        super().__init__()
        self.config = config
        wide = 2 * config.hidden
        self.words = nn.Embedding(config.vocab_size, config.embed)
        self.lstm = Recurrent(kind="lstm", input_size=config.embed, hidden=config.hidden, bidirectional=True)
        self.score = nn.Sequential(
            nn.Linear(wide, config.attn_dim, bias=False),  # W_s1
            nn.Tanh(),
            nn.Linear(config.attn_dim, config.n_hops, bias=False),  # W_s2
        )
        self.classifier = nn.Sequential(
            nn.Linear(config.n_hops * wide, wide),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(wide, config.n_classes),
        )
        self.dropout = nn.Dropout(config.dropout)

    def encode(
        self, tokens: Int[Tensor, "batch len"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch hops value_dim"], Float[Tensor, "batch hops len"]]:
        """The embedding, one row a hop, and where each hop looked."""
        check_sentences(tokens, lengths, self.config)
        states, _ = self.lstm(self.dropout(self.words(tokens)), lengths=lengths)
        weights = masked_softmax(self.score(states).mT, padding_mask(lengths, tokens.shape[1]))
        return mix(weights, states), weights

    def classify(self, embedding: Float[Tensor, "batch hops value_dim"]) -> Float[Tensor, "batch classes"]:
        """A score for each class, from all hops laid end to end."""
        return self.classifier(embedding.flatten(start_dim=1))

    def forward(
        self, tokens: Int[Tensor, "batch len"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch classes"]:
        """Encode, then classify."""
        return self.classify(self.encode(tokens, lengths)[0])
