"""A Transformer, written from an empty file."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Words(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.output = nn.Linear(d_model, vocab_size)
        nn.init.normal_(self.output.weight, std=d_model**-0.5)
        nn.init.zeros_(self.output.bias)

    def forward(self, tokens):
        n, d_model = tokens.shape[1], self.output.in_features
        position = torch.arange(n, device=tokens.device)[:, None]
        even = torch.arange(0, d_model, 2, device=tokens.device)
        angles = position / 10_000 ** (even / d_model)
        positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        return F.embedding(tokens, self.output.weight) * math.sqrt(d_model) + positions


class MultiHead(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        for name in ("w_query", "w_key", "w_value", "w_output"):
            weight = nn.Parameter(torch.empty(d_model, d_model))
            nn.init.xavier_uniform_(weight)
            setattr(self, name, weight)

    def forward(self, x, source, mask=None):
        def split(x):  # (batch, n, d_model) -> (batch, heads, n, d_k)
            return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        query = split(x @ self.w_query.T)
        keys, values = split(source @ self.w_key.T), split(source @ self.w_value.T)
        scores = query @ keys.transpose(-1, -2) / math.sqrt(keys.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        context = scores.softmax(dim=-1) @ values
        return context.transpose(1, 2).flatten(-2) @ self.w_output.T


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.outer(self.inner(x).relu())


class Residual(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, layer):
        return x + self.dropout(layer(self.norm(x)))


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout, cross):
        super().__init__()
        self.attention, self.around_attention = MultiHead(d_model, n_heads), Residual(d_model, dropout)
        if cross:
            self.cross, self.around_cross = MultiHead(d_model, n_heads), Residual(d_model, dropout)
        self.feed_forward, self.around_feed_forward = FeedForward(d_model, d_ff), Residual(d_model, dropout)

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = self.around_attention(x, lambda x: self.attention(x, x, mask))
        if memory is not None:
            x = self.around_cross(x, lambda x: self.cross(x, memory, memory_mask))
        return self.around_feed_forward(x, self.feed_forward)


class Stack(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout, cross):
        super().__init__()
        self.blocks = nn.ModuleList(Block(d_model, n_heads, d_ff, dropout, cross) for _ in range(n_layers))
        self.last_norm = nn.LayerNorm(d_model)

    def forward(self, x, *inputs):
        for block in self.blocks:
            x = block(x, *inputs)
        return self.last_norm(x)


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.1):
        super().__init__()
        self.words, self.dropout = Words(vocab_size, d_model), nn.Dropout(dropout)
        self.encoder = Stack(n_layers, d_model, n_heads, d_ff, dropout, cross=False)
        self.decoder = Stack(n_layers, d_model, n_heads, d_ff, dropout, cross=True)

    def encode(self, source, mask):
        return self.encoder(self.dropout(self.words(source)), mask)

    def decode(self, target, memory, mask):
        n = target.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=target.device).tril()
        x = self.decoder(self.dropout(self.words(target)), causal, memory, mask)
        return self.words.output(x)

    def forward(self, source, target):
        mask = (source != 0)[:, None, None, :]
        return self.decode(target, self.encode(source, mask), mask)
