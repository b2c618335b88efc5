"""Positional encodings: they give attention, which has no notion of order, the position of each word.

    >>> sinusoids(3, 4)                                    # positions 0, 1, 2; two frequencies
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])

All encodings have the same interface: `add` is applied to the embedded words, `rotate` to the queries and
keys of every head. Each encoding uses at most one of the two; the other is the identity.

| encoding | add | rotate | parameters |
|---|---|---|---|
| `SinusoidalPositions` | + sin and cos of the position | – | 0 |
| `LearnedPositions` | + a vector for each position | – | max_len · d_model |
| `RotaryPositions` | – | rotate by an angle that grows with the position | 0 |
| `NoPositions` | – | – | 0 |

`first` is the position of the first word passed in. It is not 0 in incremental decoding.

    Vaswani et al. 2017    Attention Is All You Need (sinusoids; learned ones did as well)
    Gehring et al. 2017    Convolutional Sequence to Sequence Learning (learned)
    Su et al. 2021         RoFormer: Enhanced Transformer with Rotary Position Embedding
"""

from __future__ import annotations

import torch
from torch import nn

from course_lib.shapes import Float, Tensor

Words = Float[Tensor, "batch len model"]
Heads = Float[Tensor, "batch heads len head_dim"]

BASE = 10_000.0
"""The base of the frequencies. The longest wavelength is just under 2π · 10000 words."""


def angles(n: int, width: int) -> Float[Tensor, "n pairs"]:
    """position · frequency, in radians, for positions 0 to n - 1 and width/2 frequencies.

        >>> angles(3, 4)                                   # frequencies of 1 and 1/100 per word
        tensor([[0.0000, 0.0000],
                [1.0000, 0.0100],
                [2.0000, 0.0200]])

    Frequency i is 10000^(-2i/width). Sinusoidal and rotary encodings both use these angles.
    """
    if width % 2:
        raise ValueError(
            f"Expected an even width, since positions are encoded in pairs of numbers, but got {width}."
        )
    frequencies = BASE ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    return torch.arange(n, dtype=torch.float32)[:, None] * frequencies


def sinusoids(n: int, d_model: int) -> Float[Tensor, "n model"]:
    """The sinusoidal encoding: sin of the angles in the even columns, cos in the odd ones.

        >>> table = sinusoids(50, 8)
        >>> table[3] @ table[5], table[43] @ table[45]     # both pairs are two words apart
        (tensor(2.5637), tensor(2.5637))

    The dot product of two positions depends only on their distance, and every vector has norm √(d_model/2).
    """
    theta = angles(n, d_model)
    return torch.stack([theta.sin(), theta.cos()], dim=-1).flatten(-2)


def rotate(
    features: Float[Tensor, "... len head_dim"], theta: Float[Tensor, "len pairs"]
) -> Float[Tensor, "... len head_dim"]:
    """Rotate each pair of numbers, (0, 1), (2, 3) and so on, by its own angle.

        >>> rotate(torch.tensor([[2.0, 0.0]]), torch.tensor([[torch.pi / 3]]))          # by 60 degrees
        tensor([[1.0000, 1.7321]])

    After the rotation of a query at position m and a key at position n, their dot product depends on
    the positions only through m - n. Norms don't change.
    """
    if theta.shape != (features.shape[-2], features.shape[-1] // 2) or features.shape[-1] % 2:
        raise ValueError(
            "Expected one angle for each position and each pair of numbers, (len, head_dim / 2), but got "
            f"{tuple(theta.shape)} for features {tuple(features.shape)}. Make them with "
            "`angles(len, head_dim)`."
        )
    return _rotate(features, *_cos_and_sin(theta))


def _cos_and_sin(theta: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of both numbers of each pair: (x, y) becomes (x cos - y sin, y cos + x sin)."""
    cos, sin = theta.cos(), theta.sin()
    return torch.stack([cos, cos], dim=-1).flatten(-2), torch.stack([-sin, sin], dim=-1).flatten(-2)


def _rotate(features: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    swapped = features.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)  # y, x of each pair
    # Under autocast the tables have a higher precision than the features; the result has the features' dtype.
    return torch.addcmul(features * cos, swapped, sin).to(features.dtype)


class NoPositions(nn.Module):
    """No positional encoding: only a causal mask then reveals anything about the order of words."""

    def add(self, embedded: Words, *, first: int = 0) -> Words:
        return embedded

    def rotate(self, features: Heads, *, first: int = 0) -> Heads:
        return features


class _AddedPositions(NoPositions):
    """Encodings that add a row of a table to each word and leave queries and keys unchanged."""

    def add(self, embedded: Words, *, first: int = 0) -> Words:
        if embedded.shape[-1] != self.table.shape[-1]:  # torch would broadcast a width of 1
            raise ValueError(
                f"Expected word vectors of width {self.table.shape[-1]}, the width this encoding has "
                f"(d_model), but got {tuple(embedded.shape)}."
            )
        return embedded + _slice_table(self.table, first, embedded.shape[-2])


class SinusoidalPositions(_AddedPositions):
    """Adds `sinusoids` to the embedded words."""

    def __init__(self, *, max_len: int, d_model: int):
        super().__init__()
        self.register_buffer("table", sinusoids(max_len, d_model), persistent=False)


class LearnedPositions(_AddedPositions):
    """Adds a learned vector for each position up to `max_len`."""

    def __init__(self, *, max_len: int, d_model: int):
        super().__init__()
        # The same variance as the sinusoids, so that both start with the same weight relative to the words.
        self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.5**0.5)


class RotaryPositions(NoPositions):
    """Rotary position embedding (RoPE): `rotate` is applied to queries and keys, the same in every head."""

    def __init__(self, *, max_len: int, head_dim: int):
        super().__init__()
        cos, sin = _cos_and_sin(angles(max_len, head_dim))
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def rotate(self, features: Heads, *, first: int = 0) -> Heads:
        length = features.shape[-2]
        return _rotate(features, _slice_table(self.cos, first, length), _slice_table(self.sin, first, length))


def make_positions(kind: str, *, max_len: int, d_model: int, head_dim: int) -> NoPositions:
    """Make an encoding; it uses either `d_model` or `head_dim`, depending on its kind."""
    if kind == "sinusoidal":
        return SinusoidalPositions(max_len=max_len, d_model=d_model)
    if kind == "learned":
        return LearnedPositions(max_len=max_len, d_model=d_model)
    if kind == "rotary":
        return RotaryPositions(max_len=max_len, head_dim=head_dim)
    if kind == "none":
        return NoPositions()
    raise ValueError(f"Expected positions to be sinusoidal, learned, rotary or none, but got {kind!r}.")


def _slice_table(table: Tensor, first: int, length: int) -> Tensor:
    if first + length > len(table):
        raise ValueError(
            f"Expected at most {len(table)} positions, the limit this encoding was built for (max_len), "
            f"but got {first + length}. Stop earlier, or build it with a larger max_len."
        )
    return table[first : first + length]
