"""ConvS2S: convolutions read and convolutions write, and every layer that writes attends (2017).

    Gehring, Auli, Grangier, Yarats, Dauphin 2017    Convolutional Sequence to Sequence Learning

What was new: no recurrence, yet better and many times faster than the recurrent systems. All positions
are worked out at once, in training also those of the target; learned positions tell where a word is;
gated convolutions with residual paths stack deep; and attention is no longer a single step: each layer
of the decoder looks at the source, knowing what the layers below it saw ("multi-step attention").

    e, g = word + position, of the source and of the target
    z    = what the encoder makes of e
    h    = gated(convolution of the layer below)        only over words already said
    d    = W h + b + g                                  the query: the state and the word it has just read
    c    = Σ softmax(d · z) (z + e)                     keys z; values z + e, so the plain word is in them too
    out  = h + U c + the layer below

What was still missing: words of one sentence still meet only through windows, so distance costs layers,
where self-attention needs one; and attention has a single head.

Where this differs from the paper:
- No weight normalisation and no scaled-down gradient for the encoder: they steadied plain gradient
  descent with momentum; Adam and the paper's own starting weights do without.
- The query and the values, each a sum of two, are multiplied by √½ like the residual sums: the paper
  does not say so of them, its authors' code does.
- Embeddings come from the shared table of `Embeddings`, made as small as the paper's (a size of 0.1) when
  read: with numbers of size 1 the first softmax would already have made up its mind.
- All layers are equally wide. The paper's largest systems grow wider towards the top.
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
from course_lib.models.inputs import can_be_read
from course_lib.models.translator import Decoded, Stepped, Translator
from course_lib.shapes import Float, Int, Tensor

ROOT_HALF = math.sqrt(0.5)
"""A sum of two parts of equal size is √2 as large; times this, a stack of sums stays where it began."""

START = 0.1
"""Standard deviation of word and position embeddings at the start."""


@dataclass(frozen=True, kw_only=True)
class ConvS2SConfig(Config):
    """`n_layers` blocks in the encoder and as many in the decoder, each looking at `width` words."""

    embed: int
    hidden: int
    n_layers: int
    width: int = 3


class SourceAttention(nn.Module):
    """One step of attention: a decoder layer's states look at the source and take in what they find."""

    def __init__(self, *, embed: int, hidden: int):
        super().__init__()
        self.to_query = _linear(hidden, embed)
        self.to_hidden = _linear(embed, hidden)

    def forward(
        self,
        states: Float[Tensor, "batch tgt hidden"],
        said: Float[Tensor, "batch tgt embed"],
        memory: Rows,
        *,
        with_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch tgt hidden"], Float[Tensor, "batch heads tgt src"] | None]:
        """The states with what they found added, and the weights of the one head if asked for."""
        query = (self.to_query(states) + said) * ROOT_HALF
        query, keys, values = (part.unsqueeze(1) for part in (query, memory["keys"], memory["values"]))
        may_look = padding_mask(memory["lengths"], keys.shape[2]).unsqueeze(1)
        if with_weights:
            context, weights = attend(query, keys, values, may_look=may_look, score=dot)
        else:
            context, weights = F.scaled_dot_product_attention(query, keys, values, may_look, scale=1.0), None
        context = context.squeeze(1)  # (batch, 1, tgt, embed) -> (batch, tgt, embed)
        # A mean of m vectors is 1/√m as large as each of them.
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
            nn.init.normal_(positions.weight, std=START)
        self.dropout = nn.Dropout(config.dropout)

        self.source_to_hidden = _linear(embed, hidden, dropout=config.dropout)
        self.encoder = nn.ModuleList([convolution(causal=False) for _ in layers])
        self.source_to_embed = _linear(hidden, embed)

        self.target_to_hidden = _linear(embed, hidden, dropout=config.dropout)
        self.decoder = nn.ModuleList([convolution(causal=True) for _ in layers])
        self.attention = nn.ModuleList([SourceAttention(embed=embed, hidden=hidden) for _ in layers])
        self.target_to_embed = _linear(hidden, embed)

    def read(self, src: Int[Tensor, "batch src"], src_lengths: Int[Tensor, " batch"]) -> Rows:
        places = torch.arange(src.shape[1], device=src.device)
        embedded = self.dropout(self.words.source(src) * START + self.source_positions(places))
        states = self.source_to_hidden(embedded)
        for convolution in self.encoder:
            states = (convolution(states, lengths=src_lengths) + states) * ROOT_HALF
        keys = self.source_to_embed(states)
        return {"keys": keys, "values": (keys + embedded) * ROOT_HALF, "lengths": src_lengths}

    def say(self, memory: Rows, tgt_in: Int[Tensor, "batch tgt"], *, with_weights: bool) -> Decoded:
        logits, _, weights = self._go_on(memory, self.start(memory), tgt_in, with_weights=with_weights)
        return logits, weights

    def start(self, memory: Rows) -> Rows:
        keys, config = memory["keys"], self.config
        # Before the first word, each layer has seen nothing but zeros: the causal padding.
        windows = keys.new_zeros(len(keys), config.n_layers, config.width - 1, config.hidden)
        return {"windows": windows, "position": torch.zeros_like(memory["lengths"])}

    def advance(
        self, memory: Rows, state: Rows, tokens: Int[Tensor, " batch"], *, with_weights: bool
    ) -> Stepped:
        position, max_len = state["position"], self.config.max_len
        if can_be_read(position) and bool((position >= max_len).any()):
            raise ValueError(
                f"Expected at most {max_len} steps, for which there are positions (max_len), "
                "but got one more. Stop earlier, or build the system with a larger max_len."
            )
        logits, state, weights = self._go_on(memory, state, tokens[:, None], with_weights=with_weights)
        return logits[:, 0], state, weights[..., 0, :] if with_weights else None

    def _go_on(
        self, memory: Rows, state: Rows, tokens: Tensor, *, with_weights: bool
    ) -> tuple[Tensor, Rows, Tensor | None]:
        """Read the words that follow a state, be it one or all of them: logits, the new state, weights."""
        places = state["position"][:, None] + torch.arange(tokens.shape[1], device=tokens.device)
        said = self.dropout(self.words.target(tokens) * START + self.target_positions(places))
        states, windows, weights = self.target_to_hidden(said), [], []
        layers = zip(self.decoder, self.attention, state["windows"].unbind(dim=1), strict=True)
        for convolution, attention, window in layers:
            gated, window = convolution.extend(states, window)
            attended, looked = attention(gated, said, memory, with_weights=with_weights)
            states = (attended + states) * ROOT_HALF
            windows.append(window)
            weights.append(looked)
        logits = self.words.logits(self.dropout(self.target_to_embed(states)))
        state = {
            "windows": torch.stack(windows, dim=1),
            "position": state["position"] + tokens.shape[1],
        }
        return logits, state, torch.stack(weights, dim=1) if with_weights else None


def _linear(inputs: int, outputs: int, *, dropout: float = 0.0) -> nn.Linear:
    """A map that keeps the size of the numbers, also when dropout before it has made them larger."""
    linear = nn.Linear(inputs, outputs)
    nn.init.normal_(linear.weight, std=math.sqrt((1 - dropout) / inputs))
    nn.init.zeros_(linear.bias)
    return linear
