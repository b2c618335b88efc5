"""Written from an empty file, with what lessons 00 to 13 teach."""

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
        for w in self.parameters():
            nn.init.xavier_uniform_(w)

    def split(self, x):
        batch, n, d_model = x.shape
        return x.view(batch, n, self.n_heads, d_model // self.n_heads).transpose(1, 2)

    def forward(self, x, source, mask=None):
        q = self.split(x @ self.w_query.T)
        k = self.split(source @ self.w_key.T)
        v = self.split(source @ self.w_value.T)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        context = torch.softmax(scores, dim=-1) @ v
        return context.transpose(1, 2).flatten(2) @ self.w_output.T


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            layer.bias.data.zero_()

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

    def forward(self, x, mask):
        x = self.around_attention(x, lambda y: self.attention(y, y, mask))
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

    def forward(self, x, memory, causal, mask):
        x = self.around_attention(x, lambda y: self.attention(y, y, causal))
        x = self.around_cross(x, lambda y: self.cross(y, memory, mask))
        return self.around_feed_forward(x, self.feed_forward)


class Encoder(nn.Module):
    def __init__(self, n_layers, *sizes):
        super().__init__()
        self.blocks = nn.ModuleList(EncoderBlock(*sizes) for _ in range(n_layers))
        self.last_norm = nn.LayerNorm(sizes[0])

    def forward(self, x, mask):
        for block in self.blocks:
            x = block(x, mask)
        return self.last_norm(x)


class Decoder(nn.Module):
    def __init__(self, n_layers, *sizes):
        super().__init__()
        self.blocks = nn.ModuleList(DecoderBlock(*sizes) for _ in range(n_layers))
        self.last_norm = nn.LayerNorm(sizes[0])

    def forward(self, x, memory, mask):
        n = x.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        for block in self.blocks:
            x = block(x, memory, causal, mask)
        return self.last_norm(x)


class Words(nn.Module):
    def __init__(self, vocab_size, d_model, dropout):
        super().__init__()
        self.output = nn.Linear(d_model, vocab_size)
        nn.init.normal_(self.output.weight, std=d_model**-0.5)
        nn.init.zeros_(self.output.bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens):
        rows = self.output.weight[tokens]
        n, d_model = rows.shape[1:]
        position = torch.arange(n, device=tokens.device)[:, None]
        i = torch.arange(0, d_model, 2, device=tokens.device)
        angle = position / 10000 ** (i / d_model)
        encoding = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
        return self.dropout(rows * math.sqrt(d_model) + encoding)


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.1):
        super().__init__()
        self.words = Words(vocab_size, d_model, dropout)
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout)

    def encode(self, source, mask):
        return self.encoder(self.words(source), mask)

    def decode(self, target, memory, mask):
        return self.words.output(self.decoder(self.words(target), memory, mask))

    def forward(self, source, target):
        mask = (source != 0)[:, None, None]
        return self.decode(target, self.encode(source, mask), mask)
