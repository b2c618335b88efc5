"""Structured self-attentive sentence embedding: several weighted sums of a sentence's states (2017).

    Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio 2017    A Structured Self-attentive Sentence Embedding

    embedding, weights = encoder.encode(tokens, lengths)    # (batch, hops, 2 · hidden), (batch, hops, len)
    logits = encoder.classify(embedding)                    # or both at once: encoder(tokens, lengths)
    loss = F.cross_entropy(logits, labels) + 0.03 * redundancy(weights).mean()

New: attention without a second sentence or a decoder. The queries are parameters: W_s2 has one for each hop,
and each hop is a weighted sum of all states of the sentence. A penalty keeps hops from being redundant.

    A = softmax(W_s2 tanh(W_s1 Hᵀ))      M = A H      P = ‖A Aᵀ − I‖²_F

Where this differs from the paper:
- The classifier's hidden layer is as wide as one hop of the embedding (2 · hidden), and is not pruned.
- Word embeddings are learnt from scratch. There is no next word to predict, so `tied` has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from course_lib.layers.attention import masked_softmax, weighted_sum
from course_lib.layers.masks import padding_mask
from course_lib.layers.recurrent import Recurrent
from course_lib.models.config import Config
from course_lib.models.inputs import check_sentences
from course_lib.shapes import Float, Int, Tensor


@dataclass(frozen=True, kw_only=True)
class SelfAttentiveConfig(Config):
    """`hidden` is the width of the LSTM in each direction, `attn_dim` that of the score's hidden layer."""

    embed: int
    hidden: int
    attn_dim: int
    n_hops: int
    n_classes: int


def redundancy(weights: Float[Tensor, "... hops len"]) -> Float[Tensor, "..."]:
    """‖A Aᵀ − I‖²_F: 0 if each hop attends to a single word, and no two hops to the same one.

        >>> redundancy(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))       # two different words
        tensor(0.)
        >>> redundancy(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))       # the same word twice
        tensor(2.)
        >>> redundancy(torch.tensor([[0.5, 0.5], [0.5, 0.5]]))       # uniform: four entries of ±1/2
        tensor(1.)

    One number per sentence. Off-diagonal entries of A Aᵀ are the overlap of two hops, which should be 0;
    diagonal entries measure the sharpness of one hop, which should be 1.
    """
    n_hops = weights.shape[-2]
    identity = torch.eye(n_hops, dtype=weights.dtype, device=weights.device)
    return (weights @ weights.mT - identity).square().sum(dim=(-2, -1))


class SelfAttentive(nn.Module):
    """A bidirectional LSTM, attention hops over its states, and a classifier."""

    def __init__(self, config: SelfAttentiveConfig):
        super().__init__()
        self.config = config
        state_width = 2 * config.hidden
        self.words = nn.Embedding(config.vocab_size, config.embed)
        self.lstm = Recurrent(kind="lstm", input_size=config.embed, hidden=config.hidden, bidirectional=True)
        self.score = nn.Sequential(
            nn.Linear(state_width, config.attn_dim, bias=False),  # W_s1
            nn.Tanh(),
            nn.Linear(config.attn_dim, config.n_hops, bias=False),  # W_s2
        )
        self.classifier = nn.Sequential(
            nn.Linear(config.n_hops * state_width, state_width),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(state_width, config.n_classes),
        )
        self.dropout = nn.Dropout(config.dropout)

    def encode(
        self, tokens: Int[Tensor, "batch len"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch hops value_dim"], Float[Tensor, "batch hops len"]]:
        """The embedding, with one row per hop, and the attention weights of each hop."""
        check_sentences(tokens, lengths, self.config)
        states, _ = self.lstm(self.dropout(self.words(tokens)), lengths=lengths)
        weights = masked_softmax(self.score(states).mT, padding_mask(lengths, tokens.shape[1]))
        return weighted_sum(weights, states), weights

    def classify(self, embedding: Float[Tensor, "batch hops value_dim"]) -> Float[Tensor, "batch classes"]:
        """Logits, from the concatenation of all hops."""
        return self.classifier(embedding.flatten(start_dim=1))

    def forward(
        self, tokens: Int[Tensor, "batch len"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch classes"]:
        return self.classify(self.encode(tokens, lengths)[0])
