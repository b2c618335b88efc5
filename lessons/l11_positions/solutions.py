"""The solutions of lesson 11: its notebook shows them, and the checks compare answers with them."""

import torch


def sinusoids(n, d_model):
    """n positions, d_model even  ->  (n, d_model): sin, cos, sin, cos, …"""
    # solution
    frequencies = 10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(n)[:, None] * frequencies
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (n, d_model / 2, 2)
    return pairs.flatten(1)
    # end solution


def rotate(features, angles):
    """features (..., n, width), angles (n, width / 2)  ->  (..., n, width)"""
    # solution
    x, y = features[..., 0::2], features[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    pairs = torch.stack([x * cos - y * sin, x * sin + y * cos], dim=-1)
    return pairs.flatten(-2)
    # end solution
