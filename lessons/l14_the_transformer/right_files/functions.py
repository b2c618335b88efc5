"""Modules that only hold the weights; the computation is in functions, and heads are handled by einsum."""

import math

import torch
from torch import nn


def attention(part, queries, source, mask, n_heads):
    def heads(x, weight):
        return torch.einsum("bnd,hkd->bhnk", x, weight.view(n_heads, -1, weight.shape[1]))

    q, k, v = heads(queries, part.w_query), heads(source, part.w_key), heads(source, part.w_value)
    scores = torch.einsum("bhmk,bhnk->bhmn", q, k) * q.shape[-1] ** -0.5
    scores = torch.where(mask, scores, scores.new_full((), -1e9))
    mixed = torch.einsum("bhmn,bhnk->bmhk", scores.softmax(-1), v)
    return mixed.reshape(queries.shape) @ part.w_output.t()


def residual(part, x, function, rate, training):
    return x + nn.functional.dropout(function(part.norm(x)), rate, training)


class Weights(nn.Module):
    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


def matrix(width):
    return nn.Parameter(nn.init.xavier_normal_(torch.empty(width, width)))


def linear(n_in, n_out, spread):
    layer = nn.Linear(n_in, n_out)
    nn.init.normal_(layer.weight, 0, spread)
    nn.init.constant_(layer.bias, 0)
    return layer


def four(width):
    return Weights(**{f"w_{name}": matrix(width) for name in ("query", "key", "value", "output")})


def block(width, d_ff, names):
    parts = {name: four(width) for name in names}
    parts |= {f"around_{name}": Weights(norm=nn.LayerNorm(width)) for name in (*names, "feed_forward")}
    spread = (2 / (width + d_ff)) ** 0.5
    feed_forward = Weights(inner=linear(width, d_ff, spread), outer=linear(d_ff, width, spread))
    return Weights(**parts, feed_forward=feed_forward)


def stack(n_layers, *sizes):
    blocks = nn.ModuleList(block(*sizes) for _ in range(n_layers))
    return Weights(blocks=blocks, last_norm=nn.LayerNorm(sizes[0]))


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.1):
        super().__init__()
        self.width, self.n_heads, self.rate = d_model, n_heads, dropout
        self.words = Weights(output=linear(d_model, vocab_size, d_model**-0.5))
        self.encoder = stack(n_layers, d_model, d_ff, ["attention"])
        self.decoder = stack(n_layers, d_model, d_ff, ["attention", "cross"])

    def embed(self, tokens):
        numbers = torch.arange(tokens.shape[1], device=tokens.device)[:, None]
        columns = torch.arange(self.width, device=tokens.device)
        angles = numbers * torch.exp(-math.log(10_000) * (columns // 2 * 2) / self.width)
        positions = torch.where(columns % 2 == 0, angles.sin(), angles.cos())
        x = self.words.output.weight[tokens] * self.width**0.5 + positions
        return nn.functional.dropout(x, self.rate, self.training)

    def run(self, block, x, own_mask, memory=None, mask=None):
        def own(x):
            return attention(block.attention, x, x, own_mask, self.n_heads)

        def across(x):
            return attention(block.cross, x, memory, mask, self.n_heads)

        def think(x):
            return block.feed_forward.outer(block.feed_forward.inner(x).clamp(min=0))

        x = residual(block.around_attention, x, own, self.rate, self.training)
        if memory is not None:
            x = residual(block.around_cross, x, across, self.rate, self.training)
        return residual(block.around_feed_forward, x, think, self.rate, self.training)

    def encode(self, source, mask):
        x = self.embed(source)
        for part in self.encoder.blocks:
            x = self.run(part, x, mask)
        return self.encoder.last_norm(x)

    def decode(self, target, memory, mask):
        n = torch.arange(target.shape[1], device=target.device)
        x = self.embed(target)
        for part in self.decoder.blocks:
            x = self.run(part, x, n[:, None] >= n, memory, mask)
        return self.words.output(self.decoder.last_norm(x))

    def forward(self, source, target):
        mask = (source > 0)[:, None, None, :]
        return self.decode(target, self.encode(source, mask), mask)
