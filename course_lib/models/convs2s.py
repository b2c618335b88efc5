"""ConvS2S: a convolutional encoder and decoder, with attention in every decoder layer (2017).

    Gehring, Auli, Grangier, Yarats, Dauphin 2017    Convolutional Sequence to Sequence Learning

New: no recurrence, so all positions are computed in parallel. Every decoder layer attends to the source,
using what the layers below it found ("multi-step attention"). Distant words interact only after many layers.

    e, g = embedding + position, of the source and of the target
    z    = the encoder's output for e
    h    = gated(convolution of the layer below)        causal: only over earlier target words
    d    = W h + b + g                                  the query: the state and the current target word
    c    = Σ softmax(d · z) (z + e)                     keys z; values z + e, which include the embedding
    out  = h + U c + the layer below

Where this differs from the paper:
- There is no weight normalisation and no gradient scaling for the encoder, which stabilised SGD with
  momentum; Adam with the paper's initialisation works without them.
- The query and the values, which are sums of two terms, are multiplied by √½ like the residual sums, as in
  the authors' code.
- Embeddings come from the shared matrix of `Embeddings`, scaled to the paper's standard deviation of 0.1.
  With a standard deviation of 1 the first softmax would be saturated.
- All layers have the same width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.convolution import GatedConvolution
from course_lib.layers.masks import padding_mask
from course_lib.layers.rows import Rows
from course_lib.layers.scores import dot
from course_lib.models.config import Config
from course_lib.models.embeddings import Embeddings
from course_lib.models.inputs import can_inspect
from course_lib.models.translator import Decoded, Lengths, Source, Stepped, Target, Tokens, Translator
from course_lib.shapes import Float, Tensor

ROOT_HALF = math.sqrt(0.5)
"""Keeps the variance of a sum of two terms with equal variance."""

EMBEDDING_STD = 0.1
"""Initial standard deviation of word and position embeddings."""


@dataclass(frozen=True, kw_only=True)
class ConvS2SConfig(Config):
    """`n_layers` blocks in the encoder and as many in the decoder, with kernels of `width` words."""

    embed: int
    hidden: int
    n_layers: int
    width: int = 3


class SourceAttention(nn.Module):
    """The attention of one decoder layer over the source."""

    def __init__(self, *, embed: int, hidden: int):
        super().__init__()
        self.to_query = _linear(hidden, embed)
        self.to_hidden = _linear(embed, hidden)

    def forward(
        self,
        states: Float[Tensor, "batch tgt hidden"],
        embedded: Float[Tensor, "batch tgt embed"],
        memory: Rows,
        *,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch tgt hidden"], Float[Tensor, "batch heads tgt src"] | None]:
        """Return the states plus their contexts, and the attention weights if requested."""
        query = (self.to_query(states) + embedded) * ROOT_HALF
        query, keys, values = (tensor.unsqueeze(1) for tensor in (query, memory["keys"], memory["values"]))
        mask = padding_mask(memory["lengths"], keys.shape[2]).unsqueeze(1)
        if with_weights:
            context, weights = attend(query, keys, values, mask=mask, score=dot)
        else:
            context, weights = F.scaled_dot_product_attention(query, keys, values, mask, scale=1.0), None
        context = context.squeeze(1)  # (batch, 1, tgt, embed) -> (batch, tgt, embed)
        # The mean of m independent vectors has 1/√m of their standard deviation.
        context = context * memory["lengths"].to(context.dtype).sqrt()[:, None, None]
        return (states + self.to_hidden(context)) * ROOT_HALF, weights


class ConvS2S(Translator):
    """A convolutional encoder, a causal convolutional decoder, and attention in each of its layers."""

    def __init__(self, config: ConvS2SConfig):
        super().__init__(config)
        embed, hidden, layers = config.embed, config.hidden, range(config.n_layers)

        def convolution(*, causal: bool) -> GatedConvolution:
            return GatedConvolution(
                channels=hidden, width=config.width, causal=causal, dropout=config.dropout
            )

        self.words = Embeddings(config, embed=embed, dropout=0.0)
        self.source_positions = nn.Embedding(config.max_len, embed)
        self.target_positions = nn.Embedding(config.max_len, embed)
        for positions in (self.source_positions, self.target_positions):
            nn.init.normal_(positions.weight, std=EMBEDDING_STD)
        self.dropout = nn.Dropout(config.dropout)

        self.source_to_hidden = _linear(embed, hidden, dropout=config.dropout)
        self.encoder = nn.ModuleList([convolution(causal=False) for _ in layers])
        self.source_to_embed = _linear(hidden, embed)

        self.target_to_hidden = _linear(embed, hidden, dropout=config.dropout)
        self.decoder = nn.ModuleList([convolution(causal=True) for _ in layers])
        self.attention = nn.ModuleList([SourceAttention(embed=embed, hidden=hidden) for _ in layers])
        self.target_to_embed = _linear(hidden, embed)

    def read(self, src: Source, src_lengths: Lengths) -> Rows:
        positions = torch.arange(src.shape[1], device=src.device)
        embedded = self.dropout(self.words.source(src) * EMBEDDING_STD + self.source_positions(positions))
        states = self.source_to_hidden(embedded)
        for convolution in self.encoder:
            states = (convolution(states, lengths=src_lengths) + states) * ROOT_HALF
        keys = self.source_to_embed(states)
        return {"keys": keys, "values": (keys + embedded) * ROOT_HALF, "lengths": src_lengths}

    def say(self, memory: Rows, tgt_in: Target, *, with_weights: bool) -> Decoded:
        logits, _, weights = self._decode(memory, self.start(memory), tgt_in, with_weights=with_weights)
        return logits, weights

    def start(self, memory: Rows) -> Rows:
        keys, config = memory["keys"], self.config
        # Before the first word, every window contains the zeros of the causal padding.
        windows = keys.new_zeros(len(keys), config.n_layers, config.width - 1, config.hidden)
        return {"windows": windows, "position": torch.zeros_like(memory["lengths"])}

    def advance(self, memory: Rows, state: Rows, tokens: Tokens, *, with_weights: bool) -> Stepped:
        position, max_len = state["position"], self.config.max_len
        if can_inspect(position) and bool((position >= max_len).any()):
            raise ValueError(
                f"Expected at most {max_len} steps, the number of positions of this system (max_len), "
                "but got one more. Stop earlier, or build the system with a larger max_len."
            )
        logits, state, weights = self._decode(memory, state, tokens[:, None], with_weights=with_weights)
        return logits[:, 0], state, weights[..., 0, :] if with_weights else None

    def _decode(
        self, memory: Rows, state: Rows, tokens: Tensor, *, with_weights: bool
    ) -> tuple[Tensor, Rows, Tensor | None]:
        """Process one or more tokens that follow a state: logits, the new state, attention weights."""
        positions = state["position"][:, None] + torch.arange(tokens.shape[1], device=tokens.device)
        embedded = self.dropout(self.words.target(tokens) * EMBEDDING_STD + self.target_positions(positions))
        states, windows, weights = self.target_to_hidden(embedded), [], []
        layers = zip(self.decoder, self.attention, state["windows"].unbind(dim=1), strict=True)
        for convolution, attention, window in layers:
            gated, window = convolution.extend(states, window)
            attended, layer_weights = attention(gated, embedded, memory, with_weights=with_weights)
            states = (attended + states) * ROOT_HALF
            windows.append(window)
            weights.append(layer_weights)
        logits = self.words.logits(self.dropout(self.target_to_embed(states)))
        state = {"windows": torch.stack(windows, dim=1), "position": state["position"] + tokens.shape[1]}
        return logits, state, torch.stack(weights, dim=1) if with_weights else None


def _linear(inputs: int, outputs: int, *, dropout: float = 0.0) -> nn.Linear:
    """A linear layer whose initialisation keeps the variance, and compensates for dropout before it."""
    linear = nn.Linear(inputs, outputs)
    nn.init.normal_(linear.weight, std=math.sqrt((1 - dropout) / inputs))
    nn.init.zeros_(linear.bias)
    return linear
