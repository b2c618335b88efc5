"""Positions: telling attention, which by itself sees a bag of words, where each word stands.

    >>> sinusoids(3, 4)                                    # positions 0, 1, 2; waves of two lengths
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])

Three encodings and none, one interface: each has `add`, for the embedded words, and `turn`, for the queries
and keys in every head. Each uses one of the two at most and leaves the other as it is.

| encoding | add | turn | parameters |
|---|---|---|---|
| `SinusoidalPositions` | + sin and cos of the position | – | 0 |
| `LearnedPositions` | + a vector for each position | – | max_len · d_model |
| `RotaryPositions` | – | by an angle that grows with the position | 0 |
| `NoPositions` | – | – | 0 |

`first` is the position of the first word handed in: not 0 when a decoder works word by word.

    Vaswani et al. 2017    Attention Is All You Need (sinusoids; learned ones did as well)
    Gehring et al. 2017    Convolutional Sequence to Sequence Learning (learned)
    Su et al. 2021         RoFormer: Enhanced Transformer with Rotary Position Embedding
"""

from __future__ import annotations

import torch
from torch import nn

from course_lib.shapes import Float, Tensor

SLOWEST = 10_000.0
"""One turn of the slowest wave would take nearly 2π times so many words."""


def angles(n: int, width: int) -> Float[Tensor, "n pairs"]:
    """How far each of width/2 clock hands has turned at positions 0 to n - 1, in radians.

        >>> angles(3, 4)                                   # one hand turns by 1 a word, one by 1/100
        tensor([[0.0000, 0.0000],
                [1.0000, 0.0100],
                [2.0000, 0.0200]])

    Hand i turns by 10000^(-2i/width) a word: seconds, minutes, hours. Both sinusoids and rotary
    positions read these clocks.
    """
    if width % 2:
        raise ValueError(
            f"Expected an even width, since positions come in pairs of numbers, but got {width}."
        )
    speeds = SLOWEST ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    return torch.arange(n, dtype=torch.float32)[:, None] * speeds


def sinusoids(n: int, d_model: int) -> Float[Tensor, "n model"]:
    """The hands' tips: sin in the even columns, cos in the odd ones.

        >>> table = sinusoids(50, 8)
        >>> table[3] @ table[5], table[43] @ table[45]     # two words apart, wherever that is
        (tensor(2.5637), tensor(2.5637))

    The product of two positions depends on their distance alone, and every vector has length √(d_model/2).
    """
    turned = angles(n, d_model)
    return torch.stack([turned.sin(), turned.cos()], dim=-1).flatten(-2)


def rotate(
    features: Float[Tensor, "... len head_dim"], turned: Float[Tensor, "len pairs"]
) -> Float[Tensor, "... len head_dim"]:
    """Turn each pair of numbers, (0, 1), (2, 3) and so on, by its own angle.

        >>> rotate(torch.tensor([[2.0, 0.0]]), torch.tensor([[torch.pi / 3]]))          # by 60 degrees
        tensor([[1.0000, 1.7321]])

    Turn a query at position m and a key at position n, and their product knows m - n only. Lengths
    stay as they were.
    """
    if turned.shape != (features.shape[-2], features.shape[-1] // 2) or features.shape[-1] % 2:
        raise ValueError(
            "Expected an angle for each position and each pair of numbers, (len, head_dim / 2), but got "
            f"{tuple(turned.shape)} for features {tuple(features.shape)}. `angles(len, head_dim)` makes them."
        )
    return _rotate(features, *_cos_and_sin(turned))


def _cos_and_sin(turned: Tensor) -> tuple[Tensor, Tensor]:
    """For each number of each pair: (x, y) becomes (x cos - y sin, y cos + x sin)."""
    cos, sin = turned.cos(), turned.sin()
    return torch.stack([cos, cos], dim=-1).flatten(-2), torch.stack([-sin, sin], dim=-1).flatten(-2)


def _rotate(features: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    exchanged = features.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)  # y, x of each pair
    # Under autocast the tables are finer than the features; what comes out is as coarse as what came in.
    return torch.addcmul(features * cos, exchanged, sin).to(features.dtype)


class NoPositions(nn.Module):
    """Nothing at all: a bag of words, but for what a causal mask gives away."""

    def add(
        self, embedded: Float[Tensor, "batch len model"], *, first: int = 0
    ) -> Float[Tensor, "batch len model"]:
        return embedded

    def turn(
        self, features: Float[Tensor, "batch heads len head_dim"], *, first: int = 0
    ) -> Float[Tensor, "batch heads len head_dim"]:
        return features


class _AddedPositions(NoPositions):
    """A row of a table is added to each word; queries and keys stay as they are."""

    table: Tensor

    def add(
        self, embedded: Float[Tensor, "batch len model"], *, first: int = 0
    ) -> Float[Tensor, "batch len model"]:
        if embedded.shape[-1] != self.table.shape[-1]:  # torch would stretch a width of 1
            raise ValueError(
                f"Expected words of width {self.table.shape[-1]}, for which these positions were made "
                f"(d_model), but got {tuple(embedded.shape)}."
            )
        return embedded + _rows(self.table, first, embedded.shape[-2])


class SinusoidalPositions(_AddedPositions):
    """`sinusoids` added to the words."""

    def __init__(self, *, max_len: int, d_model: int):
        super().__init__()
        self.register_buffer("table", sinusoids(max_len, d_model), persistent=False)


class LearnedPositions(_AddedPositions):
    """A vector for each position, learned like a word's. Beyond `max_len` it knows nothing."""

    def __init__(self, *, max_len: int, d_model: int):
        super().__init__()
        # As large as sinusoids are: the same footing beside the words.
        self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.5**0.5)


class RotaryPositions(NoPositions):
    """Nothing is added; queries and keys are turned by `rotate`, in every head alike."""

    cos: Tensor
    sin: Tensor

    def __init__(self, *, max_len: int, head_dim: int):
        super().__init__()
        cos, sin = _cos_and_sin(angles(max_len, head_dim))
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def turn(
        self, features: Float[Tensor, "batch heads len head_dim"], *, first: int = 0
    ) -> Float[Tensor, "batch heads len head_dim"]:
        length = features.shape[-2]
        return _rotate(features, _rows(self.cos, first, length), _rows(self.sin, first, length))


Positions = SinusoidalPositions | LearnedPositions | RotaryPositions | NoPositions


def make_positions(kind: str, *, max_len: int, d_model: int, head_dim: int) -> Positions:
    """The encoding of that name, made for the one of the two widths that it works on.

    >>> make_positions("learned", max_len=9, d_model=4, head_dim=2).table.shape
    torch.Size([9, 4])
    """
    if kind == "sinusoidal":
        return SinusoidalPositions(max_len=max_len, d_model=d_model)
    if kind == "learned":
        return LearnedPositions(max_len=max_len, d_model=d_model)
    if kind == "rotary":
        return RotaryPositions(max_len=max_len, head_dim=head_dim)
    if kind == "none":
        return NoPositions()
    raise ValueError(f"Expected positions to be sinusoidal, learned, rotary or none, but got {kind!r}.")


def _rows(table: Tensor, first: int, length: int) -> Tensor:
    if first + length > len(table):
        raise ValueError(
            f"Expected at most {len(table)} positions, for which the table was made (max_len), "
            f"but got words up to the {first + length}th. Stop earlier, or build it with a larger max_len."
        )
    return table[first : first + length]
