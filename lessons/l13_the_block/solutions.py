"""The solutions of lesson 13: its notebook shows them, and the checks compare answers with them."""

import torch
from torch import nn

from lessons.l12_many_heads.solutions import many_heads


def layer_norm(x, weight, bias, eps=1e-5):
    """x (..., d_model), weight (d_model,), bias (d_model,)  ->  (..., d_model)"""
    # solution
    deviations = x - x.mean(dim=-1, keepdim=True)
    variance = deviations.square().mean(dim=-1, keepdim=True)
    return deviations / torch.sqrt(variance + eps) * weight + bias
    # end solution


def feed_forward(x, w_in, b_in, w_out, b_out):
    """x (..., d_model), w_in (d_ff, d_model), w_out (d_model, d_ff)  ->  like x"""
    # solution
    hidden = torch.relu(x @ w_in.T + b_in)
    return hidden @ w_out.T + b_out
    # end solution


def encoder_block(x, parts, n_heads, mask=None):
    """x (batch, n, d_model), mask (batch, 1, 1, n) or None  ->  like x"""
    kinds = ("query", "key", "value", "output")
    four = [parts[f"attention.w_{kind}"] for kind in kinds]
    inner = [parts["feed_forward.inner.weight"], parts["feed_forward.inner.bias"]]
    outer = [parts["feed_forward.outer.weight"], parts["feed_forward.outer.bias"]]

    def norm(x, name):  # name: around_attention or around_feed_forward
        return layer_norm(x, parts[f"{name}.norm.weight"], parts[f"{name}.norm.bias"])

    # solution
    normed = norm(x, "around_attention")
    x = x + many_heads(normed, normed, *four, n_heads, mask)[0]
    normed = norm(x, "around_feed_forward")
    return x + feed_forward(normed, *inner, *outer)
    # end solution


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        # solution
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        # end solution

    def forward(self, x):
        # solution
        return self.outer(torch.relu(self.inner(x)))
        # end solution
