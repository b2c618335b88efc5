"""A Transformer, written from an empty file."""

import math

import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_query = nn.Parameter(torch.empty(d_model, d_model))
        self.w_key = nn.Parameter(torch.empty(d_model, d_model))
        self.w_value = nn.Parameter(torch.empty(d_model, d_model))
        self.w_output = nn.Parameter(torch.empty(d_model, d_model))
        for matrix in self.parameters():
            nn.init.xavier_uniform_(matrix)

    def split(self, x):  # (batch, n, d_model) -> (batch, heads, n, d_k)
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x, source, mask=None):
        queries = self.split(x @ self.w_query.T)
        keys = self.split(source @ self.w_key.T)
        values = self.split(source @ self.w_value.T)
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(keys.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        context = scores.softmax(dim=-1) @ values
        return context.transpose(1, 2).flatten(-2) @ self.w_output.T


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


class Residual(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, layer):
        return x + self.dropout(layer(self.norm(x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attention = MultiHead(d_model, n_heads)
        self.around_attention = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.around_feed_forward = Residual(d_model, dropout)

    def forward(self, x, mask=None):
        x = self.around_attention(x, lambda x: self.attention(x, x, mask))
        return self.around_feed_forward(x, self.feed_forward)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attention = MultiHead(d_model, n_heads)
        self.around_attention = Residual(d_model, dropout)
        self.cross = MultiHead(d_model, n_heads)
        self.around_cross = Residual(d_model, dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.around_feed_forward = Residual(d_model, dropout)

    def forward(self, x, memory, mask=None):
        m = x.shape[1]
        causal = torch.ones(m, m, dtype=torch.bool, device=x.device).tril()
        x = self.around_attention(x, lambda x: self.attention(x, x, causal))
        x = self.around_cross(x, lambda x: self.cross(x, memory, mask))
        return self.around_feed_forward(x, self.feed_forward)


class Words(nn.Module):  # the embedding matrix: tokens in, logits out
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.output = nn.Linear(d_model, vocab_size)
        nn.init.normal_(self.output.weight, std=d_model**-0.5)
        nn.init.zeros_(self.output.bias)

    def forward(self, tokens):
        rows = self.output.weight[tokens]
        n, d_model = rows.shape[1:]
        position = torch.arange(n, device=tokens.device)[:, None]
        even = torch.arange(0, d_model, 2, device=tokens.device)
        angles = position / 10_000 ** (even / d_model)
        positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
        return rows * math.sqrt(d_model) + positions


class Encoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.blocks = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))
        self.last_norm = nn.LayerNorm(d_model)

    def forward(self, x, mask):
        for block in self.blocks:
            x = block(x, mask)
        return self.last_norm(x)


class Decoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.blocks = nn.ModuleList(DecoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))
        self.last_norm = nn.LayerNorm(d_model)

    def forward(self, x, memory, mask):
        for block in self.blocks:
            x = block(x, memory, mask)
        return self.last_norm(x)


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.1):
        super().__init__()
        self.words = Words(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout)

    def encode(self, source, mask):
        x = self.dropout(self.words(source))
        return self.encoder(x, mask)

    def decode(self, target, memory, mask):
        x = self.dropout(self.words(target))
        x = self.decoder(x, memory, mask)
        return self.words.output(x)

    def forward(self, source, target):
        mask = (source != 0)[:, None, None]
        memory = self.encode(source, mask)
        return self.decode(target, memory, mask)
