"""The yardstick: a translator of torch's own `nn.Transformer`, wrapped as tutorials wrap it.

    >>> from course_lib.models.registry import make_config
    >>> model = TorchTransformer(make_config("transformer", scale="tiny", vocab_size=50))
    >>> model(torch.tensor([[7, 8, 3]]), torch.tensor([3]), torch.tensor([[2, 5]])).shape
    torch.Size([1, 2, 50])

Same sizes as the course's Transformer, one table for words at both ends, sinusoidal positions. Norms stand
behind each layer, torch's default and the 2017 paper's order: it makes no difference to the speed.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.positions import sinusoids
from course_lib.models.transformer import TransformerConfig
from course_lib.shapes import Float, Int, Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import PAD


class TorchTransformer(nn.Module):
    """Takes what our translators take, gives what they give."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.table.weight, std=config.d_model**-0.5)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.register_buffer("positions", sinusoids(config.max_len, config.d_model), persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            d_model=config.d_model,
            nhead=config.n_heads,
            num_encoder_layers=config.n_layers,
            num_decoder_layers=config.n_layers,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            batch_first=True,
        )

    def forward(
        self,
        src: Int[Tensor, "batch src"],
        src_lengths: Int[Tensor, " batch"],
        tgt_in: Int[Tensor, "batch tgt"],
    ) -> Float[Tensor, "batch tgt vocab"]:
        # For torch's modules True means "may NOT be looked at", the opposite of the course's may_look.
        padding = torch.arange(src.shape[1], device=src.device) >= src_lengths[:, None]
        future = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool, device=src.device).triu(1)
        features = self.transformer(
            self.embed(src),
            self.embed(tgt_in),
            tgt_mask=future,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return F.linear(features, self.table.weight, self.bias)

    def embed(self, tokens: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n model"]:
        """Words with their positions."""
        words = self.table(tokens) * math.sqrt(self.table.embedding_dim)
        return self.dropout(words + self.positions[: tokens.shape[1]])


def usual_objective(smoothing: float):
    """The loss as everybody writes it: torch's cross-entropy, in float32, labels softened."""

    def objective(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        logits = model(batch.src, batch.src_lengths, batch.tgt_in)
        loss = F.cross_entropy(
            logits.flatten(0, 1).float(),
            batch.tgt_out.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=smoothing,
        )
        return loss, batch.n_tokens

    return objective
