"""The exercises of lesson 11: angles, the table of sinusoids and its test, adding it, rotary positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from course_lib.layers import positions
from course_lib.teaching.exercises import ByHand, PlainExercise, Slip, TensorExercise, TestExercise, gaussian


def angles_of(n: int, speeds: Tensor, first: float = 0.0) -> Tensor:
    return (torch.arange(n) + first)[:, None] * speeds


def speeds_of(width: int, *, step: int = 2, base: float = 10_000.0) -> Tensor:
    """10000^(-2i/width) for i = 0, 1, …; with step=1 it is -i/width."""
    return base ** (-torch.arange(width // 2) * step / width)


def is_a_tensor(inputs: tuple, answer: object) -> str:
    """A tensor of 32-bit numbers is required, since it is added to such vectors."""
    if not isinstance(answer, Tensor):
        return f"It returned a {type(answer).__name__}; a tensor is wanted: `torch.tensor(...)`."
    if answer.dtype != torch.float32:
        return f"Its numbers are {answer.dtype}; the network computes in torch.float32: add `.float()`."
    return ""


ANGLES = PlainExercise(
    name="angles",
    lesson="positions",
    inputs=("n", "width"),
    reference=positions.angles,
    by_hand=ByHand(
        {"n": 3, "width": 4},
        [[0.0, 0.0], [1.0, 0.01], [2.0, 0.02]],
        "Four numbers are two hands. Hand 0 turns by 10000^0 = 1 a word, hand 1 by 10000^(−2/4) = 1/100.",
    ),
    others=(lambda: (5, 8), lambda: (1, 6), lambda: (4, 2), lambda: (12, 64)),
    demands=(is_a_tensor,),
    slips=(
        Slip(
            "not-doubled",
            lambda n, width: angles_of(n, speeds_of(width, step=1)),
            "the exponent is −i/width. The 2 is missing: it is −2i/width.",
        ),
        Slip(
            "doubled-twice",
            lambda n, width: angles_of(n, speeds_of(width, step=4)),
            "the exponent is −4i/width: the 2 came in twice. `arange(0, width, 2)` holds the 2i already.",
        ),
        Slip(
            "faster-and-faster",
            lambda n, width: angles_of(n, 1 / speeds_of(width)),
            "later hands turn faster. The exponent needs its minus sign: they should turn more slowly.",
        ),
        Slip(
            "from-one",
            lambda n, width: angles_of(n, speeds_of(width), first=1.0),
            "positions are counted from 1. The first word stands at position 0, and its hands at angle 0.",
        ),
        Slip(
            "transposed",
            lambda n, width: angles_of(n, speeds_of(width)).T,
            "rows and columns have changed places: a row for each position, a column for each hand.",
        ),
        Slip(
            "a-column-each",
            lambda n, width: angles_of(n, 10_000.0 ** (-torch.arange(width) / width)),
            "there are `width` hands. Each hand has a pair of numbers, so there are width / 2 of them.",
        ),
        Slip(
            "too-many-hands",
            lambda n, width: angles_of(n, 10_000.0 ** (-2 * torch.arange(width) / width)),
            "there are `width` hands, and the later ones too slow. Let i count to width / 2 only.",
        ),
        Slip(
            "one-speed",
            lambda n, width: angles_of(n, torch.ones(width // 2)),
            "all hands turn by 1 a word. Is the exponent always 0? `//` rounds down; `/` divides.",
        ),
        Slip(
            "whole-turns",
            lambda n, width: 2 * math.pi * angles_of(n, speeds_of(width)),
            "the angles are multiplied by 2π. Hand 0 turns by 1 radian a word, not by a whole turn.",
        ),
        Slip(
            "no-positions",
            lambda n, width: speeds_of(width).expand(n, -1),
            "every position has the same angles: these are the speeds. Multiply each by the position.",
        ),
    ),
)


def interleave(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], dim=-1).flatten(-2)


def own_speeds(n: int, d_model: int) -> Tensor:
    turned = angles_of(n, 10_000.0 ** (-torch.arange(d_model) / d_model))
    return interleave(turned[:, 0::2].sin(), turned[:, 1::2].cos())


def counts(n: int, d_model: int) -> Tensor:
    return torch.arange(n, dtype=torch.float32)[:, None].expand(-1, d_model)


def over_length(n: int, d_model: int) -> Tensor:
    turned = positions.angles(n, d_model) / n
    return interleave(turned.sin(), turned.cos())


def random_rows(n: int, d_model: int) -> Tensor:
    return torch.randn(n, d_model, generator=torch.Generator().manual_seed(0))


def sinusoids_with(n: int, d_model: int, *, base: float = 10_000.0, first: float = 0.0) -> Tensor:
    turned = angles_of(n, speeds_of(d_model, base=base), first)
    return interleave(turned.sin(), turned.cos())


def in_halves(n: int, d_model: int) -> Tensor:
    turned = positions.angles(n, d_model)
    return torch.cat([turned.sin(), turned.cos()], dim=-1)


def cosine_first(n: int, d_model: int) -> Tensor:
    turned = positions.angles(n, d_model)
    return interleave(turned.cos(), turned.sin())


SINUSOIDS = PlainExercise(
    name="sinusoids",
    lesson="positions",
    inputs=("n", "d_model"),
    reference=positions.sinusoids,
    by_hand=ByHand(
        {"n": 2, "d_model": 4},
        [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]],
        "At position 0 every angle is 0: sin 0 = 0 and cos 0 = 1, for each hand. At position 1 the angles "
        "are 1 and 0.01: sin 1 = 0.84, cos 1 = 0.54, sin 0.01 = 0.01, cos 0.01 = 1.00.",
    ),
    others=(lambda: (5, 8), lambda: (1, 6), lambda: (4, 2), lambda: (12, 64)),
    demands=(is_a_tensor,),
    slips=(
        Slip(
            "halves",
            in_halves,
            "all sines come first, then all cosines. Each hand's pair stands together: sin, cos, sin, cos.",
        ),
        Slip(
            "cos-first",
            cosine_first,
            "cosine and sine have changed places: sin in the even columns, cos in the odd ones.",
        ),
        Slip(
            "sin-only",
            lambda n, d_model: interleave(*[positions.angles(n, d_model).sin()] * 2),
            "both numbers of a pair are the sine. The second is the cosine.",
        ),
        Slip(
            "own-speeds",
            own_speeds,
            "sine and cosine of a pair turn at different speeds. A pair is one hand: one angle for both.",
        ),
        Slip(
            "from-one",
            lambda n, d_model: sinusoids_with(n, d_model, first=1.0),
            "positions are counted from 1. Row 0 should be 0, 1, 0, 1, …",
        ),
        Slip(
            "one-speed",
            lambda n, d_model: sinusoids_with(n, d_model, base=1.0),
            "all hands turn at the same speed. Use `angles(n, d_model)`: each hand has its own.",
        ),
        Slip(
            "angles-only",
            lambda n, d_model: interleave(*[positions.angles(n, d_model)] * 2),
            "these are the angles themselves. Take their sine and cosine.",
        ),
        Slip(
            "grows",
            counts,
            "every column holds the position itself. It grows without bound; sine and cosine do not.",
            misconception="M37",
        ),
        Slip("over-length", over_length, "the angles are divided by the number of words."),
        Slip(
            "same-rows",
            lambda n, d_model: sinusoids_with(1, d_model).expand(n, -1),
            "every row is that of position 0.",
        ),
        Slip("by-lot", random_rows, "the numbers are drawn by lot. Nothing is random or learned here."),
    ),
)


def sinusoids_at(steps: Tensor, d_model: int) -> Tensor:
    turned = steps[:, None] * speeds_of(d_model)
    return interleave(turned.sin(), turned.cos())


def steps_back(n: int, d_model: int) -> Tensor:
    """0, 1, 2, 3, 2, 3, 4, 5, 4, …: neighbours differ by one step, words two apart by two or by none."""
    steps = torch.ones(n)
    steps[0], steps[4::4] = 0, -1
    return sinusoids_at(steps.cumsum(0), d_model)


def quarter_turns(n: int, d_model: int) -> Tensor:
    """One and three words apart the hands are at right angles."""
    turned = angles_of(n, torch.full((d_model // 2,), math.pi / 2))
    return interleave(turned.sin(), turned.cos())


def slower_when_longer(n: int, d_model: int) -> Tensor:
    """Correct within one text, but products change with its length."""
    return sinusoids_at(torch.arange(n) * (0.5 + 10 / n), d_model)


BROKEN_PROMISES = (
    Slip("steps-back", steps_back, "the hands step back at every fourth word."),
    Slip("quarter-turns", quarter_turns, "every hand turns by a quarter a word."),
    Slip("slower-when-longer", slower_when_longer, "the hands turn more slowly in a longer text."),
)
"""Wrong encodings that only a careful test rejects; no learner writes them for `sinusoids`."""


def careful_test(encoding: Callable) -> None:
    short, long = encoding(8, 16), encoding(30, 16)
    products = long @ long.T
    torch.testing.assert_close(products[:8, :8], short @ short.T, rtol=0, atol=3e-3)
    for offset in range(4):
        diagonal = products.diagonal(offset)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-3)
    assert len({round(float(products[0, offset]), 2) for offset in range(4)}) == 4


TEST_OFFSETS = TestExercise(
    name="test_offsets",
    lesson="positions",
    inputs={"encoding": "a function"},
    of=replace(SINUSOIDS, slips=SINUSOIDS.slips + BROKEN_PROMISES),
    what="encoding",
    accepts={
        "with all sines first": in_halves,
        "with the cosine first": cosine_first,
        "with slower hands of another constant": lambda n, d_model: sinusoids_with(n, d_model, base=500.0),
        "with positions from 1": lambda n, d_model: sinusoids_with(n, d_model, first=1.0),
        "with another first position for each length": lambda n, d_model: sinusoids_with(n, d_model, first=n),
    },
    rejects={
        "sin-only": "has sines and no cosines",
        "own-speeds": "turns the sine and the cosine of a pair at different speeds",
        "grows": "writes the position itself into every column",
        "by-lot": "draws every row by lot",
        "same-rows": "gives every place the same row",
        "steps-back": "turns its hands one step back at every fourth word",
        "quarter-turns": "turns every hand by a quarter a word",
        "slower-when-longer": "turns its hands more slowly the longer the text is",
    },
    reference=careful_test,
)


def first_version(embedded, table):
    return embedded + table[: embedded.shape[0]].unsqueeze(1)


def rows_for(table: Tensor, embedded: Tensor, first: int = 0) -> Tensor:
    return table[first : first + embedded.shape[1]]


ADD_POSITIONS = TensorExercise(
    name="add_positions",
    lesson="positions",
    inputs={"embedded": gaussian("b n d"), "table": gaussian("most d")},
    returns={"placed": "b n d"},
    sizes={"b": 3, "n": 4, "d": 6, "most": 9},
    other_sizes=(
        {"b": 5, "n": 3, "d": 2, "most": 7},
        {"b": 2, "n": 7, "d": 3, "most": 9},
        {"b": 4, "n": 4, "d": 4, "most": 8},
        {"b": 1, "n": 1, "d": 2, "most": 3},
    ),
    reference=lambda embedded, table: embedded + rows_for(table, embedded),
    by_hand=ByHand(
        inputs={
            "embedded": [[[10.0, 10.0], [10.0, 10.0]], [[20.0, 20.0], [20.0, 20.0]]],
            "table": [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]],
        },
        answer={"placed": [[[10.0, 11.0], [11.0, 10.0]], [[20.0, 21.0], [21.0, 20.0]]]},
        says="Two sentences of two words. In both, the first word gets row 0, (0, 1), and the second row 1, "
        "(1, 0).",
    ),
    unrepaired=first_version,
    slips=(
        Slip(
            "from-one",
            lambda embedded, table: embedded + rows_for(table, embedded, 1),
            "the first word gets row 1. Positions are counted from 0.",
        ),
        Slip(
            "last-rows",
            lambda embedded, table: embedded + table[-embedded.shape[1] :],
            "the last rows of the table are taken. A sentence begins with row 0.",
        ),
        Slip(
            "row-0",
            lambda embedded, table: embedded + table[0],
            "every word gets row 0. The second word of a sentence gets row 1, and so on.",
        ),
        Slip(
            "replaces",
            lambda embedded, table: rows_for(table, embedded).expand_as(embedded),
            "the words are gone: what comes out are the rows of the table. Add them to the words.",
        ),
        Slip(
            "unchanged",
            lambda embedded, table: embedded,
            "nothing is added to the words.",
        ),
        Slip(
            "multiplies",
            lambda embedded, table: embedded * rows_for(table, embedded),
            "the words are multiplied by the rows. They are added.",
        ),
        Slip(
            "subtracts",
            lambda embedded, table: embedded - rows_for(table, embedded),
            "the rows are subtracted. They are added.",
        ),
    ),
)


def split_pairs(features: Tensor) -> tuple[Tensor, Tensor]:
    return features[..., 0::2], features[..., 1::2]


def rotate_by(features: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    x, y = split_pairs(features)
    return interleave(x * cos - y * sin, x * sin + y * cos)


def rotate_halves(features: Tensor, turned: Tensor) -> Tensor:
    x, y = features.chunk(2, dim=-1)
    cos, sin = turned.cos(), turned.sin()
    return torch.cat([x * cos - y * sin, x * sin + y * cos], dim=-1)


def without_minus(features: Tensor, turned: Tensor) -> Tensor:
    x, y = split_pairs(features)
    cos, sin = turned.cos(), turned.sin()
    return interleave(x * cos + y * sin, x * sin + y * cos)


def uses_new_x(features: Tensor, turned: Tensor) -> Tensor:
    """The second number is computed from the new first one."""
    x, y = split_pairs(features)
    x = x * turned.cos() - y * turned.sin()
    return interleave(x, x * turned.sin() + y * turned.cos())


def concatenated(features: Tensor, turned: Tensor) -> Tensor:
    x, y = split_pairs(features)
    cos, sin = turned.cos(), turned.sin()
    return torch.cat([x * cos - y * sin, x * sin + y * cos], dim=-1)


ROTATE = TensorExercise(
    name="rotate",
    lesson="positions",
    inputs={"features": gaussian("*batch n w"), "turned": gaussian("n pairs")},
    returns={"rotated": "*batch n w"},
    sizes={"batch": (2, 3), "n": 5, "w": 8, "pairs": 4},
    other_sizes=(
        {"batch": (), "n": 3, "w": 6, "pairs": 3},
        {"batch": (2,), "n": 4, "w": 4, "pairs": 2},
        {"batch": (1,), "n": 1, "w": 2, "pairs": 1},
    ),
    large=(4.0,),
    reference=positions.rotate,
    by_hand=ByHand(
        inputs={
            "features": [[1.0, 0.0, 5.0, 7.0], [0.0, 2.0, 3.0, 0.0]],
            "turned": [[math.pi / 2, 0.0], [math.pi / 2, math.pi]],
        },
        answer={"rotated": [[0.0, 1.0, 5.0, 7.0], [-2.0, 0.0, -3.0, 0.0]]},
        says="A quarter turn takes (1, 0) to (0, 1), and (0, 2) to (−2, 0). An angle of 0 leaves (5, 7) as "
        "it is. Half a turn (π) takes (3, 0) to (−3, 0).",
    ),
    slips=(
        Slip(
            "other-way",
            lambda features, turned: rotate_by(features, turned.cos(), -turned.sin()),
            "the pairs are turned the other way round: (1, 0) by a quarter turn should give (0, 1).",
        ),
        Slip(
            "halves",
            rotate_halves,
            "number i is paired with number i + width/2. Here neighbours are a pair: (0, 1), (2, 3), ….",
        ),
        Slip(
            "no-minus",
            without_minus,
            "a minus sign is missing: the first number becomes x cos − y sin.",
        ),
        Slip(
            "uses-the-new-x",
            uses_new_x,
            "the second number is computed from the new first one. Keep the old x until both are there.",
        ),
        Slip(
            "laid-apart",
            concatenated,
            "all first numbers come first, then all second ones. Put each pair back together.",
        ),
        Slip(
            "adds-the-angle",
            lambda features, turned: features + interleave(turned, turned),
            "the angles are added to the numbers. The pairs should be turned by them.",
        ),
        Slip(
            "adds-sinusoids",
            lambda features, turned: features + interleave(turned.sin(), turned.cos()),
            "sin and cos are added, as in the table above. Rotary positions add nothing: they turn.",
        ),
        Slip(
            "only-cos",
            lambda features, turned: features * interleave(turned.cos(), turned.cos()),
            "each number is only multiplied by the cosine. The other one of its pair comes in by the sine.",
        ),
        Slip(
            "one-angle",
            lambda features, turned: rotate_by(features, turned[:, :1].cos(), turned[:, :1].sin()),
            "every pair is turned by the angle of the first. Each pair has an angle of its own.",
        ),
    ),
)

EXERCISES = (ANGLES, SINUSOIDS, TEST_OFFSETS, ADD_POSITIONS, ROTATE)
