"""The skeleton of `my_transformer.py`, for learners who prefer not to start from nothing."""

SKELETON = """\
import math

import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, d_model, n_heads):
        raise NotImplementedError

    def forward(self, x, source, mask=None):
        raise NotImplementedError


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


class Residual(nn.Module):
    def __init__(self, d_model, dropout):
        raise NotImplementedError

    def forward(self, x, layer):
        raise NotImplementedError


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        raise NotImplementedError

    def forward(self, x, mask=None):
        raise NotImplementedError


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        raise NotImplementedError

    def forward(self, x, memory, mask=None):
        raise NotImplementedError


class Words(nn.Module):  # the embedding matrix: tokens in, logits out
    def __init__(self, vocab_size, d_model):
        raise NotImplementedError

    def forward(self, tokens):
        raise NotImplementedError


class Encoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout):
        raise NotImplementedError

    def forward(self, x, mask):
        raise NotImplementedError


class Decoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout):
        raise NotImplementedError

    def forward(self, x, memory, mask):
        raise NotImplementedError


class Transformer(nn.Module):
    def __init__(self, vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.1):
        raise NotImplementedError

    def encode(self, source, mask):
        raise NotImplementedError

    def decode(self, target, memory, mask):
        raise NotImplementedError

    def forward(self, source, target):
        raise NotImplementedError
"""
