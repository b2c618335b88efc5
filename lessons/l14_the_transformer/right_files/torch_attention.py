"""torch's own attention and embedding functions, and positions in a buffer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoids(n, d_model):
    table = torch.zeros(n, d_model)
    frequencies = torch.exp(-torch.arange(0, d_model, 2) / d_model * torch.log(torch.tensor(10000.0)))
    table[:, 0::2] = torch.sin(torch.arange(n)[:, None] * frequencies)
    table[:, 1::2] = torch.cos(torch.arange(n)[:, None] * frequencies)
    return table


class Embeddings(nn.Module):
    def __init__(self, vocab_size, d_model, longest=512):
        super().__init__()
        self.output = nn.Linear(d_model, vocab_size)
        self.output.weight.data.normal_().mul_(d_model**-0.5)
        self.register_buffer("positions", sinusoids(longest, d_model), persistent=False)

    def forward(self, ids):
        scale = self.output.weight.size(1) ** 0.5
        return scale * F.embedding(ids, self.output.weight) + self.positions[: ids.size(1)]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in "query", "key", "value", "output":
            self.register_parameter(f"w_{name}", nn.Parameter(torch.randn(width, width) * width**-0.5))

    def forward(self, x, memory, mask=None, causal=False):
        b, m, d = x.shape
        q = F.linear(x, self.w_query).view(b, m, self.heads, -1).transpose(1, 2)
        k = F.linear(memory, self.w_key).view(b, -1, self.heads, d // self.heads).transpose(1, 2)
        v = F.linear(memory, self.w_value).view(b, -1, self.heads, d // self.heads).transpose(1, 2)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return F.linear(out.transpose(1, 2).reshape(b, m, d), self.w_output)


class Sublayer(nn.Module):
    def __init__(self, width, rate):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(rate)


class MLP(nn.Sequential):
    def __init__(self, width, inner):
        super().__init__()
        self.add_module("inner", nn.Linear(width, inner))
        self.add_module("relu", nn.ReLU())
        self.add_module("outer", nn.Linear(inner, width))


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, inner, rate):
        super().__init__()
        self.attention, self.around_attention = Attention(width, heads), Sublayer(width, rate)
        self.feed_forward, self.around_feed_forward = MLP(width, inner), Sublayer(width, rate)

    def forward(self, x, mask):
        part = self.around_attention
        y = part.norm(x)
        x = x + part.drop(self.attention(y, y, mask))
        part = self.around_feed_forward
        return x + part.drop(self.feed_forward(part.norm(x)))


class DecoderLayer(EncoderLayer):
    def __init__(self, width, heads, inner, rate):
        super().__init__(width, heads, inner, rate)
        self.cross, self.around_cross = Attention(width, heads), Sublayer(width, rate)

    def forward(self, memory, x, mask):
        part = self.around_attention
        y = part.norm(x)
        x = x + part.drop(self.attention(y, y, causal=True))
        part = self.around_cross
        x = x + part.drop(self.cross(part.norm(x), memory, mask))
        part = self.around_feed_forward
        return x + part.drop(self.feed_forward(part.norm(x)))


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.1):
        super().__init__()
        sizes = d_model, n_heads, d_ff, dropout
        self.words = Embeddings(vocab_size, d_model)
        self.drop = nn.Dropout(dropout)
        self.encoder, self.decoder = nn.Module(), nn.Module()
        self.encoder.blocks = nn.ModuleList([EncoderLayer(*sizes) for _ in range(n_layers)])
        self.decoder.blocks = nn.ModuleList([DecoderLayer(*sizes) for _ in range(n_layers)])
        self.encoder.last_norm, self.decoder.last_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif "feed_forward" in name and parameter.dim() == 2:
                nn.init.xavier_normal_(parameter)

    def encode(self, source, mask):
        x = self.drop(self.words(source))
        for block in self.encoder.blocks:
            x = block(x, mask)
        return self.encoder.last_norm(x)

    def decode(self, target, memory, mask):
        x = self.drop(self.words(target))
        for block in self.decoder.blocks:
            x = block(memory, x, mask)
        return self.words.output(self.decoder.last_norm(x))

    def forward(self, source, target):
        mask = source.ne(0).unsqueeze(1).unsqueeze(1)
        return self.decode(target, self.encode(source, mask), mask)
