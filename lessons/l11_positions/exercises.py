"""The exercises of lesson 11: the sinusoidal encoding and its test, and rotary position embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.layers import positions
from course_lib.teaching.exercises import (
    ByHand,
    PlainExercise,
    Slip,
    TensorExercise,
    TestExercise,
    gaussian,
    wrong_only_at,
)

BASE = positions.BASE


def angles_of(n: int, frequencies: Tensor, first: float = 0.0) -> Tensor:
    return (torch.arange(n) + first)[:, None] * frequencies


def frequencies_of(width: int, *, step: int = 2, base: float = BASE) -> Tensor:
    """10000^(-2i/width) for i = 0, 1, …; with step=1 it is -i/width."""
    return base ** (-torch.arange(width // 2) * step / width)


def interleave(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], dim=-1).flatten(-2)


def waves(angles: Tensor) -> Tensor:
    return interleave(angles.sin(), angles.cos())


def own_frequencies(n: int, d_model: int) -> Tensor:
    angles = angles_of(n, BASE ** (-torch.arange(d_model) / d_model))
    return interleave(angles[:, 0::2].sin(), angles[:, 1::2].cos())


def counts(n: int, d_model: int) -> Tensor:
    return torch.arange(n, dtype=torch.float32)[:, None].expand(-1, d_model)


def sinusoids_with(n: int, d_model: int, *, base: float = BASE, first: float = 0.0, step: int = 2) -> Tensor:
    return waves(angles_of(n, frequencies_of(d_model, base=base, step=step), first))


def of_angles(change: Callable[[Tensor], Tensor]) -> Callable:
    """A table made from the right angles."""
    return lambda n, d_model: change(positions.angles(n, d_model))


def of_table(change: Callable[[Tensor], Tensor]) -> Callable:
    """The right table, changed."""
    return lambda n, d_model: change(positions.sinusoids(n, d_model))


in_halves = of_angles(lambda angles: torch.cat([angles.sin(), angles.cos()], dim=-1))
cosine_first = of_angles(lambda angles: interleave(angles.cos(), angles.sin()))


def rows_mixed(n: int, d_model: int) -> Tensor:
    angles = positions.angles(n, d_model)
    return torch.stack([angles.sin(), angles.cos()]).reshape(n, d_model)


def angles_in_blocks_table(n: int, d_model: int) -> Tensor:
    angles = positions.angles(n, d_model).repeat(1, 2)
    return interleave(angles[:, 0::2].sin(), angles[:, 1::2].cos())


def doubled_by_column(n: int, d_model: int) -> Tensor:
    angles = angles_of(n, BASE ** (-2 * torch.arange(d_model) / d_model))
    return interleave(angles[:, 0::2].sin(), angles[:, 1::2].cos())


def parity_of_rows(n: int, d_model: int) -> Tensor:
    """The sine at even positions, the cosine at odd ones."""
    angles = positions.angles(n, d_model).repeat_interleave(2, dim=-1)
    return torch.where(torch.arange(n)[:, None] % 2 == 0, angles.sin(), angles.cos())


def down_to_last(n: int, d_model: int) -> Tensor:
    """The last frequency is 1/10000 itself, as in some libraries."""
    exponents = torch.arange(d_model // 2) / torch.tensor(d_model / 2 - 1)
    return waves(angles_of(n, BASE**-exponents))


SINUSOIDS = PlainExercise(
    name="sinusoids",
    lesson="positions",
    inputs=("n", "d_model"),
    reference=positions.sinusoids,
    by_hand=ByHand(
        {"n": 2, "d_model": 4},
        [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]],
        "At position 0 every angle is 0, so each pair is sin 0 = 0 and cos 0 = 1. At position 1 the angles "
        "are 1 and 0.01, so the row is sin 1 = 0.84, cos 1 = 0.54, sin 0.01 = 0.01, cos 0.01 = 1.00.",
    ),
    # The long table has only two frequencies: with more, right answers differ by rounding errors.
    others=(lambda: (5, 8), lambda: (1, 6), lambda: (4, 2), lambda: (12, 64), lambda: (150, 4)),
    slips=(
        Slip(
            "halves",
            in_halves,
            "all sines come first, then all cosines. They should alternate: sin, cos, sin, cos.",
        ),
        Slip(
            "cos-first",
            cosine_first,
            "sine and cosine are swapped: sin belongs in the even columns, cos in the odd ones.",
        ),
        Slip(
            "sin-only",
            of_angles(lambda angles: interleave(angles.sin(), angles.sin())),
            "both columns of a pair are the sine. The second should be the cosine.",
        ),
        Slip(
            "cos-only",
            of_angles(lambda angles: interleave(angles.cos(), angles.cos())),
            "both columns of a pair are the cosine. The first should be the sine.",
        ),
        Slip(
            "own-frequencies",
            own_frequencies,
            "the sine and the cosine of a pair have different angles. Columns 2i and 2i + 1 share the "
            "frequency 10000^(−2i/d_model).",
        ),
        Slip(
            "parity-of-rows",
            parity_of_rows,
            "even *rows* contain sines and odd rows cosines. It should be even and odd *columns*: "
            "`table[:, 0::2]` and `table[:, 1::2]`.",
        ),
        Slip(
            "not-doubled",
            lambda n, d_model: sinusoids_with(n, d_model, step=1),
            "pair i has the frequency 10000^(−i/d_model). Is the 2 missing? It should be "
            "10000^(−2i/d_model).",
        ),
        Slip(
            "doubled-twice",
            lambda n, d_model: sinusoids_with(n, d_model, step=4),
            "pair i has the frequency 10000^(−4i/d_model). Is the 2 counted twice? `arange(0, d_model, 2)` "
            "is 2i already.",
        ),
        Slip(
            "faster-and-faster",
            lambda n, d_model: sinusoids_with(n, d_model, step=-2),
            "the frequencies grow from pair to pair. The exponent needs a minus sign: −2i/d_model.",
        ),
        Slip(
            "down-to-last",
            down_to_last,
            "the exponent is −i/(d_model/2 − 1), so that the last frequency is 1/10000. In the 2017 paper it "
            "is −2i/d_model.",
        ),
        *(
            Slip(
                f"base-{base}",
                lambda n, d_model, base=base: sinusoids_with(n, d_model, base=base),
                f"the base of the frequencies is {base}. It should be 10000.",
            )
            for base in (1000, 100000)
        ),
        Slip(
            "from-one",
            lambda n, d_model: sinusoids_with(n, d_model, first=1.0),
            "positions are counted from 1. The first position is 0, so row 0 should be 0, 1, 0, 1, ….",
        ),
        Slip(
            "one-frequency",
            lambda n, d_model: sinusoids_with(n, d_model, base=1.0),
            "all pairs have the same frequency. It should be 10000^(−2i/d_model) for pair i. (`//` rounds "
            "down; `/` doesn't.)",
        ),
        Slip(
            "angles-only",
            of_angles(lambda angles: interleave(angles, angles)),
            "these are the angles themselves. Take their sine and cosine.",
        ),
        Slip(
            "degrees",
            of_angles(lambda angles: waves(angles.deg2rad())),
            "the angles are treated as degrees. They are in radians already.",
        ),
        Slip(
            "whole-turns",
            of_angles(lambda angles: waves(2 * math.pi * angles)),
            "the angles are multiplied by 2π. They are in radians already.",
        ),
        Slip(
            "grows",
            counts,
            "every column contains the position itself, which grows without bound. Take the sine and the "
            "cosine of the angles.",
            misconception="M37",
        ),
        Slip(
            "over-length",
            lambda n, d_model: waves(positions.angles(n, d_model) / n),
            "the angles are divided by the number of positions. They should depend on the position, not "
            "on the length of the text.",
        ),
        Slip(
            "over-last-position",
            lambda n, d_model: waves(positions.angles(n, d_model) / max(n - 1, 1)),
            "the angles are divided by the last position. They should not depend on the length of the text.",
        ),
        Slip(
            "cos-missing",
            of_angles(lambda angles: interleave(angles.sin(), torch.zeros_like(angles))),
            "the odd columns are 0. They should contain the cosine.",
        ),
        Slip(
            "last-column",
            of_table(lambda table: table * (torch.arange(table.shape[1]) < table.shape[1] - 1)),
            "the last column is 0. Does a loop end one column too early?",
        ),
        Slip(
            "half-width",
            of_angles(torch.sin),
            "there are d_model/2 columns of sines. Each angle needs two columns, its sine and its cosine.",
        ),
        Slip(
            "angles-in-blocks",
            angles_in_blocks_table,
            "the angles are repeated one after the other, as by `repeat` or `cat`. Both columns of a pair "
            "need the same angle: `repeat_interleave(2, dim=-1)`.",
        ),
        Slip(
            "doubled-by-column",
            doubled_by_column,
            "column c has the exponent −2c/d_model, so the frequencies fall twice as fast. In −2i/d_model, i "
            "counts the pairs, not the columns.",
        ),
        Slip(
            "exponent-from-1",
            lambda n, d_model: waves(angles_of(n, frequencies_of(d_model) * BASE ** (-2 / d_model))),
            "the first pair has the exponent −2/d_model: i is counted from 1. Count from 0, so that its "
            "frequency is 1.",
        ),
        Slip(
            "same-rows",
            lambda n, d_model: sinusoids_with(1, d_model).expand(n, -1),
            "every row is that of position 0. Are the frequencies multiplied by the position, and is the "
            "whole exponent in brackets? `10000 ** -2 * i / d_model` computes the power first.",
        ),
        Slip(
            "frequencies-only",
            lambda n, d_model: waves(frequencies_of(d_model).expand(n, -1)),
            "the rows are all equal: each is that of position 1. Multiply the frequencies by the position.",
        ),
        Slip(
            "rows-mixed",
            rows_mixed,
            "the numbers are right but in the wrong order. Stack sine and cosine along a new *last* axis, "
            "`dim=-1`, before you flatten.",
        ),
        Slip(
            "unit-rows",
            of_table(lambda table: table / table.norm(dim=-1, keepdim=True)),
            "the rows are divided by their norm. Leave them as they are.",
        ),
        Slip(
            "scaled-rows",
            of_table(lambda table: table * math.sqrt(table.shape[-1])),
            "the table is multiplied by √d_model. Leave it as it is.",
        ),
        Slip(
            "transposed",
            of_table(lambda table: table.T),
            "the table is transposed. Each position should be a row.",
        ),
        Slip(
            "extra-axis",
            of_table(lambda table: table[None]),
            "there is an extra axis for the batch. The table should be (n, d_model); broadcasting does the "
            "rest.",
        ),
        Slip(
            "not-flattened",
            of_angles(lambda angles: torch.stack([angles.sin(), angles.cos()], dim=-1)),
            "sine and cosine still have an axis of their own. Flatten the last two axes.",
        ),
        Slip(
            "added-to-position",
            lambda n, d_model: waves(torch.arange(n)[:, None] + frequencies_of(d_model)),
            "the frequencies are added to the position. Multiply them by the position.",
        ),
        Slip(
            "log10",
            lambda n, d_model: sinusoids_with(n, d_model, base=math.exp(math.log10(BASE))),
            "the frequencies fall too slowly. `exp` needs the natural logarithm, `math.log(10000)`, not "
            "`log10`.",
        ),
        Slip(
            "power-of-position",
            lambda n, d_model: waves(
                (torch.arange(n)[:, None] / BASE) ** (torch.arange(0, d_model, 2) / d_model)
            ),
            "the position is raised to a power too. Only 10000 is: pos / 10000 ** (2i / d_model).",
        ),
        Slip(
            "one-row-too-many",
            lambda n, d_model: positions.sinusoids(n + 1, d_model),
            "there is one row too many. The positions are 0 to n − 1.",
        ),
    ),
)


def sinusoids_at(steps: Tensor, d_model: int) -> Tensor:
    return waves(steps[:, None] * frequencies_of(d_model))


def random_rows(n: int, d_model: int) -> Tensor:
    return torch.randn(n, d_model, generator=torch.Generator().manual_seed(0))


def steps_back(n: int, d_model: int) -> Tensor:
    """0, 1, 2, 3, 2, 3, 4, 5, 4, …: neighbours differ by one step, words two apart by two or by none."""
    steps = torch.ones(n)
    steps[0], steps[4::4] = 0, -1
    return sinusoids_at(steps.cumsum(0), d_model)


def quarter_turns(n: int, d_model: int) -> Tensor:
    """Offsets of 1 and 3 both give a product of 0."""
    return waves(angles_of(n, torch.full((d_model // 2,), math.pi / 2)))


def slower_when_longer(n: int, d_model: int) -> Tensor:
    """Correct within one text, but the products change with its length."""
    return sinusoids_at(torch.arange(n) * (0.5 + 10 / n), d_model)


def faster_from_12(n: int, d_model: int) -> Tensor:
    steps = torch.arange(n)
    return sinusoids_at(torch.where(steps < 12, steps, 2 * steps - 12), d_model)


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
    of=SINUSOIDS,
    what="encoding",
    seconds=15.0,  # a loop over all pairs of rows, in every implementation, takes several seconds
    accepts={
        "with all sines first": in_halves,
        "with the cosine first": cosine_first,
        "with 500 instead of 10000": lambda n, d_model: sinusoids_with(n, d_model, base=500.0),
        "with rows twice as long": of_table(lambda table: 2 * table),
        "with positions counted from 1": lambda n, d_model: sinusoids_with(n, d_model, first=1.0),
        "with another first position for each length": lambda n, d_model: sinusoids_with(n, d_model, first=n),
    },
    rejects={
        "sin-only": "has sines but no cosines",
        "own-frequencies": "gives the sine and the cosine of a pair different frequencies",
        "grows": "writes the position itself into every column",
        "same-rows": "gives every position the same row",
    },
    wrong={
        "fills the table with random numbers": random_rows,
        "goes one position back at every fourth row": steps_back,
        "rotates every pair by a quarter turn from one position to the next": quarter_turns,
        "uses lower frequencies for longer texts": slower_when_longer,
        "doubles the frequencies from position 12 on": faster_from_12,
        "has rows that grow by 0.2% with each position": lambda n, d_model: (
            positions.sinusoids(n, d_model) * (1 + 0.002 * torch.arange(n)[:, None])
        ),
        "is wrong only in row 0": wrong_only_at(0, positions.sinusoids, counts),
    },
    reference=careful_test,
)


def split_pairs(features: Tensor) -> tuple[Tensor, Tensor]:
    return features[..., 0::2], features[..., 1::2]


def rotate_with(pair_of: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> Callable:
    """A rotation in which `pair_of` makes each new pair from x, y, cos and sin."""

    def rotate(features: Tensor, angles: Tensor) -> Tensor:
        return interleave(*pair_of(*split_pairs(features), angles.cos(), angles.sin()))

    return rotate


def of_rotated(change: Callable[[Tensor], Tensor]) -> Callable:
    """The right answer, changed."""
    return lambda features, angles: change(positions.rotate(features, angles))


def by_angles(change: Callable[[Tensor], Tensor]) -> Callable:
    """The rotation by other angles."""
    return lambda features, angles: positions.rotate(features, change(angles))


def rotate_halves(features: Tensor, angles: Tensor) -> Tensor:
    x, y = features.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([x * cos - y * sin, x * sin + y * cos], dim=-1)


def separate(rotated: Tensor) -> Tensor:
    """All first numbers, then all second ones."""
    return torch.cat(split_pairs(rotated), dim=-1)


def halves_to_pairs(features: Tensor, angles: Tensor) -> Tensor:
    x, y = features.chunk(2, dim=-1)
    return positions.rotate(interleave(x, y), angles)


def angles_in_blocks(features: Tensor, angles: Tensor) -> Tensor:
    x, y = split_pairs(features)
    both = torch.cat([angles, angles], dim=-1)
    return features * both.cos() + interleave(-y, x) * both.sin()


def stacked_in_front(features: Tensor, angles: Tensor) -> Tensor:
    return torch.stack(split_pairs(positions.rotate(features, angles))).reshape(features.shape)


def angle_itself(features: Tensor, angles: Tensor) -> Tensor:
    """sin θ = θ and cos θ = 1, which is nearly right for small angles."""
    x, y = split_pairs(features)
    return interleave(x - y * angles, x * angles + y)


def own_angles(features: Tensor, angles: Tensor) -> Tensor:
    return positions.rotate(features, positions.angles(*features.shape[-2:]))


def rotate(features: Tensor, angles: Tensor) -> Tensor:
    return positions.rotate(features, angles)


ROTATE = TensorExercise(
    name="rotate",
    lesson="positions",
    inputs={"features": gaussian("*batch n w"), "angles": gaussian("n pairs")},
    returns={"rotated": "*batch n w"},
    sizes={"batch": (2, 3), "n": 5, "w": 8, "pairs": 4},
    other_sizes=(
        {"batch": (), "n": 3, "w": 6, "pairs": 3},
        {"batch": (2,), "n": 4, "w": 4, "pairs": 2},
        {"batch": (1,), "n": 1, "w": 2, "pairs": 1},
    ),
    # features that aren't contiguous, as in the lesson's next cell
    others=(
        lambda: (torch.arange(12.0).reshape(1, 4, 3).mT, torch.arange(6.0).reshape(3, 2)),
        lambda: (torch.arange(48.0).reshape(2, 3, 2, 4).transpose(1, 2), torch.arange(6.0).reshape(3, 2)),
    ),
    large=(4.0,),
    reference=rotate,
    by_hand=ByHand(
        inputs={
            "features": [[1.0, 0.0, 5.0, 7.0], [0.0, 2.0, 3.0, 0.0]],
            "angles": [[math.pi / 2, 0.0], [math.pi / 2, math.pi]],
        },
        answer={"rotated": [[0.0, 1.0, 5.0, 7.0], [-2.0, 0.0, -3.0, 0.0]]},
        says="A quarter turn takes (1, 0) to (0, 1), and (0, 2) to (−2, 0). An angle of 0 leaves (5, 7) as "
        "it is. Half a turn (π) takes (3, 0) to (−3, 0).",
    ),
    slips=(
        Slip(
            "other-way",
            by_angles(torch.neg),
            "the pairs are rotated in the wrong direction: a quarter turn should take (1, 0) to (0, 1).",
        ),
        Slip(
            "halves",
            rotate_halves,
            "number i is paired with number i + width/2. Here neighbours form a pair: (0, 1), (2, 3), ….",
        ),
        Slip(
            "halves-as-pairs",
            halves_to_pairs,
            "x and y are the two halves of each row. Here neighbours form a pair: (0, 1), (2, 3), ….",
        ),
        Slip(
            "no-minus",
            rotate_with(lambda x, y, cos, sin: (x * cos + y * sin, x * sin + y * cos)),
            "a minus sign is missing: the first number of a pair becomes x cos θ − y sin θ.",
        ),
        Slip(
            "minus-in-second",
            rotate_with(lambda x, y, cos, sin: (x * cos - y * sin, x * sin - y * cos)),
            "the second number of a pair has a wrong sign. It becomes x sin θ + y cos θ.",
        ),
        Slip(
            "both-minus",
            rotate_with(lambda x, y, cos, sin: (x * cos - y * sin, y * cos - x * sin)),
            "there is an extra minus sign: the second number of a pair becomes x sin θ + y cos θ.",
        ),
        Slip(
            "x-and-y-swapped",
            rotate_with(lambda x, y, cos, sin: (y * cos - x * sin, y * sin + x * cos)),
            "x and y are swapped: x is the first number of a pair, in an even column.",
        ),
        Slip(
            "itself-instead-of-partner",
            rotate_with(lambda x, y, cos, sin: (x * (cos + sin), y * (cos + sin))),
            "each number is multiplied by cos θ and by sin θ. The sine should multiply the *other* number "
            "of the pair.",
        ),
        Slip(
            "itself-minus-itself",
            rotate_with(lambda x, y, cos, sin: (x * (cos - sin), y * (cos + sin))),
            "each number is multiplied by cos θ and by sin θ. The sine should multiply the *other* number "
            "of the pair.",
        ),
        Slip(
            "sin-and-cos-swapped",
            rotate_with(lambda x, y, cos, sin: (x * sin - y * cos, x * cos + y * sin)),
            "`sin` and `cos` are swapped.",
        ),
        Slip(
            "numbers-swapped",
            rotate_with(lambda x, y, cos, sin: (x * sin + y * cos, x * cos - y * sin)),
            "the two numbers of each new pair are swapped.",
        ),
        Slip(
            "uses-the-new-x",
            rotate_with(lambda x, y, cos, sin: (x * cos - y * sin, (x * cos - y * sin) * sin + y * cos)),
            "the second number of a pair is computed from the *new* x. Keep the old x until both numbers are "
            "computed.",
        ),
        Slip(
            "uses-the-new-y",
            rotate_with(lambda x, y, cos, sin: (x * cos - (x * sin + y * cos) * sin, x * sin + y * cos)),
            "the first number of a pair is computed from the *new* y. Keep the old y until both numbers are "
            "computed.",
        ),
        Slip(
            "second-unchanged",
            rotate_with(lambda x, y, cos, sin: (x * cos - y * sin, y)),
            "only the first number of each pair changes. The second becomes x sin θ + y cos θ.",
        ),
        Slip(
            "first-unchanged",
            rotate_with(lambda x, y, cos, sin: (x, x * sin + y * cos)),
            "only the second number of each pair changes. The first becomes x cos θ − y sin θ.",
        ),
        Slip(
            "only-cos",
            rotate_with(lambda x, y, cos, sin: (x * cos, y * cos)),
            "each number is only multiplied by cos θ. Each new number also depends on the other one of its "
            "pair, times sin θ.",
        ),
        Slip(
            "cos-and-sin",
            rotate_with(lambda x, y, cos, sin: (x * cos, y * sin)),
            "x is multiplied by cos θ and y by sin θ. Each new number depends on both x and y.",
        ),
        Slip(
            "separated",
            of_rotated(separate),
            "the rotated numbers are right, but the first numbers of all pairs come before the second "
            "ones. Put each pair back together: stack along a new last axis, then flatten.",
        ),
        Slip(
            "not-flattened",
            of_rotated(lambda rotated: rotated.unflatten(-1, (-1, 2))),
            "the pairs still have an axis of their own. Flatten the last two axes.",
        ),
        Slip(
            "batch-flattened",
            of_rotated(lambda rotated: rotated.reshape(-1, *rotated.shape[-2:])),
            "the axes in front are merged into one. The answer should have the shape of `features`.",
        ),
        Slip(
            "adds-the-angle",
            lambda features, angles: features + interleave(angles, angles),
            "the angles are added to the numbers. Rotate each pair by its angle instead.",
        ),
        Slip(
            "adds-sinusoids",
            lambda features, angles: features + waves(angles),
            "sin and cos are added, as in the sinusoidal encoding. Rotate each pair by its angle instead.",
        ),
        Slip(
            "times-sinusoids",
            lambda features, angles: features * waves(angles),
            "x is multiplied by sin θ and y by cos θ. Each new number depends on both x and y.",
        ),
        Slip(
            "left-neighbour",
            lambda features, angles: (
                features * interleave(angles, angles).cos()
                + features.roll(1, dims=-1) * interleave(angles, angles).sin()
            ),
            "each number is combined with the one on its left, even across pairs. x and y of the *same* pair "
            "belong together, and y sin θ is subtracted.",
        ),
        Slip(
            "everything-flattened",
            of_rotated(lambda rotated: rotated.flatten(1)),
            "too many axes are merged. Flatten only the last two, `flatten(-2)`, after stacking the pairs.",
        ),
        Slip(
            "times-the-angle",
            lambda features, angles: features * interleave(angles, angles),
            "the numbers are multiplied by the angles. Rotate each pair by its angle instead.",
        ),
        Slip(
            "one-angle",
            by_angles(lambda angles: angles[:, :1].expand_as(angles)),
            "every pair is rotated by the angle of the first one. Each pair has its own angle.",
        ),
        Slip(
            "first-pair-only",
            by_angles(lambda angles: angles * (torch.arange(angles.shape[1]) == 0)),
            "only the first pair of each row is rotated. Rotate all of them, each by its own angle.",
        ),
        Slip(
            "one-position",
            by_angles(lambda angles: angles[:1].expand_as(angles)),
            "every position is rotated by the angles of position 0. Each position has its own angles.",
        ),
        Slip(
            "angles-in-blocks",
            angles_in_blocks,
            "the angles are repeated one after the other, as by `repeat` or `cat`. Both numbers of a pair "
            "need the same angle: `repeat_interleave(2, dim=-1)`.",
        ),
        Slip(
            "times-position",
            by_angles(lambda angles: angles * torch.arange(len(angles))[:, None]),
            "the angles are multiplied by the position. `angles` already contains the angle at each "
            "position.",
        ),
        Slip(
            "stacked-in-front",
            stacked_in_front,
            "the rotated numbers are right but in the wrong order. Stack them along a new *last* axis, "
            "`dim=-1`, before you flatten.",
        ),
        Slip(
            "own-angles",
            own_angles,
            "the angles are computed from the positions. Use the ones in `angles`.",
        ),
        Slip(
            "degrees",
            by_angles(torch.deg2rad),
            "the angles are converted from degrees. They are in radians already.",
        ),
        Slip(
            "angle-itself",
            angle_itself,
            "x and y are combined with the angle itself. Take its cosine and sine.",
        ),
    ),
)

EXERCISES = (SINUSOIDS, TEST_OFFSETS, ROTATE)
