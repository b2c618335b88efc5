"""Answers to the exercises of lesson 11, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as they are; lesson 08's file explains what follows each answer.
"""

import math

import numpy as np
import torch

from lessons.l11_positions.exercises import split_pairs


def products_of(encoding, n, d_model=16):
    return encoding(n, d_model) @ encoding(n, d_model).T


def four_differ(products):
    return len({round(float(product), 2) for product in products[0, :4]}) == 4


# --- sinusoids


def angles_outer(n, d_model):
    frequencies = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2) / d_model)
    return torch.outer(torch.arange(n, dtype=torch.float32), frequencies)


def table_numpy(n, d_model):
    angles = np.arange(n)[:, None] / np.power(10000.0, np.arange(0, d_model, 2) / d_model)
    table = np.empty((n, d_model))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return torch.from_numpy(table).float()


def table_in_numpy(n, d_model):
    return table_numpy(n, d_model).numpy()


def rounded_down(n, d_model):
    angles = torch.arange(n)[:, None] / 10000.0 ** (torch.arange(0, d_model, 2) // d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def by_the_parity_of_rows(n, d_model):
    angles = angles_outer(n, d_model).repeat_interleave(2, dim=1)
    table = angles.cos()
    table[0::2] = angles[0::2].sin()
    return table


def without_brackets(n, d_model):
    i = torch.arange(d_model // 2)
    angles = torch.arange(n)[:, None] * (10000.0**-2 * i / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def position_over_base(n, d_model):
    angles = (torch.arange(n)[:, None] / 10000) ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def over_the_half_width(n, d_model):
    half = d_model // 2
    angles = torch.arange(n)[:, None] / 10000.0 ** (2 * torch.arange(half) / half)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def table_by_columns(n, d_model):
    angles = angles_outer(n, d_model)
    table = torch.zeros(n, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def table_without_its_last_column(n, d_model):
    table = table_by_columns(n, d_model)
    table[:, d_model - 1] = 0.0
    return table


def table_loop(n, d_model):
    def number(position, column):
        angles = position / 10000 ** (column // 2 * 2 / d_model)
        return math.cos(angles) if column % 2 else math.sin(angles)

    return torch.tensor([[number(position, column) for column in range(d_model)] for position in range(n)])


def table_shifted_sine(n, d_model):
    angles = angles_outer(n, d_model).repeat_interleave(2, dim=-1)
    return torch.sin(angles + torch.tensor([0.0, math.pi / 2]).repeat(d_model // 2))


def table_in_halves(n, d_model):
    return torch.cat((torch.sin(angles_outer(n, d_model)), torch.cos(angles_outer(n, d_model))), dim=1)


def column_by_column(n, d_model):
    angles = torch.arange(n)[:, None] / 10000 ** (torch.arange(d_model) / d_model)
    return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())


def cosines_first(n, d_model):
    return torch.stack([angles_outer(n, d_model).cos(), angles_outer(n, d_model).sin()], -1).reshape(
        n, d_model
    )


def flattened_wrongly(n, d_model):
    angles = angles_outer(n, d_model)
    return torch.stack([angles.sin(), angles.cos()]).reshape(n, d_model)


def one_row_too_many(n, d_model):
    return table_by_columns(n + 1, d_model)


def only_sines(n, d_model):
    return angles_outer(n, d_model).sin().repeat_interleave(2, dim=-1)


def of_length_one(n, d_model):
    return torch.nn.functional.normalize(table_by_columns(n, d_model), dim=-1)


def with_frequencies(frequency_of):
    """The table, with the frequency of each pair from i and d_model."""

    def table(n, d_model):
        angles = torch.arange(n)[:, None] * torch.tensor(
            [frequency_of(i, d_model) for i in range(d_model // 2)]
        )
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

    return table


def up_to_last(n, d_model):
    n_pairs = d_model // 2
    frequencies = torch.exp(-math.log(10000.0) * torch.arange(n_pairs) / torch.tensor(n_pairs - 1.0))
    angles = torch.arange(n)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).view(n, d_model)


def blocks_of_angles(n, d_model):
    angles = torch.cat([angles_outer(n, d_model), angles_outer(n, d_model)], dim=1)
    angles[:, 0::2] = angles[:, 0::2].sin()
    angles[:, 1::2] = angles[:, 1::2].cos()
    return angles


def two_per_column(n, d_model):
    column = torch.arange(d_model)
    angles = torch.arange(n)[:, None] / 10000 ** (2 * column / d_model)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


def at_most_64(n, d_model):
    return table_by_columns(64, d_model)[:n]


def table_in_double(n, d_model):
    return table_loop(n, d_model).double()


def table_in_lists(n, d_model):
    return table_loop(n, d_model).tolist()


def nothing(n, d_model):
    table_by_columns(n, d_model)


# --- test_offsets


def all_diagonals(encoding):
    few, table = encoding(5, 8), encoding(20, 8)
    products = table @ table.T
    assert torch.allclose(few @ few.T, products[:5, :5], atol=1e-3)
    for offset in range(10):
        assert products.diagonal(offset).std() < 1e-3
    assert torch.pdist(products[0, :4, None]).min() > 1e-2


def by_loops(encoding):
    table, more = encoding(12, 32), encoding(40, 32)
    found = []
    for offset in range(4):
        values = [float(t[i] @ t[i + offset]) for t in (table, more) for i in range(len(t) - offset)]
        assert max(values) - min(values) < 1e-3
        found.append(values[0])
    assert len({round(value, 1) for value in found}) == 4


def every_pair(encoding):
    first = encoding(60, 16)
    for n in (6, 20, 60):
        table = encoding(n, 16)
        for offset in range(n):
            for i in range(n - offset):
                assert abs(float(table[i] @ table[i + offset]) - float(first[0] @ first[offset])) < 0.005
    assert four_differ(first @ first.T)


def far_and_near(encoding):
    table, short = encoding(120, 16), encoding(10, 16)
    near, far = table[10:16] @ table[10:16].T, table[110:116] @ table[110:116].T
    torch.testing.assert_close(near, far, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(short[:6] @ short[:6].T, near, rtol=1e-3, atol=1e-3)
    assert (near[0, :3] - near[0, 1:4]).min() > 1e-2


def one_pair_of_places(encoding):
    table = encoding(20, 16)
    torch.testing.assert_close(table[1] @ table[3], table[11] @ table[13], rtol=1e-3, atol=1e-3)


def two_starts(encoding):
    table = encoding(64, 16)
    assert abs(table[10] @ table[15] - table[40] @ table[45]) < 3e-3
    assert four_differ(table @ table.T)


def neighbours_only(encoding):
    for n in (30, 64):
        products = products_of(encoding, n)
        assert products.diagonal(1).std() < 1e-3
        assert four_differ(products)


def unlike_itself_only(encoding):
    for n in (8, 30):
        products = products_of(encoding, n)
        for offset in range(4):
            assert products.diagonal(offset).std() < 1e-3
        assert (products[0, 1:4] - products[0, 0]).abs().min() > 1e-2


def one_length(encoding):
    products = products_of(encoding, 64)
    for offset in range(20):
        assert products.diagonal(offset).std() < 1e-3
    assert four_differ(products)


def eight_positions(encoding):
    short, products = products_of(encoding, 5), products_of(encoding, 8)
    assert torch.allclose(products[1:, 1:], products[:-1, :-1], atol=0.005)
    assert torch.allclose(short, products[:5, :5], atol=0.005)
    assert four_differ(products)


def a_tenth(encoding):
    for n in (8, 30):
        products = products_of(encoding, n)
        assert (products[1:, 1:] - products[:-1, :-1]).abs().max() < 0.1
        assert torch.allclose(products[:8, :8], products_of(encoding, 8), atol=0.1)
        assert four_differ(products)


def without_row_0(encoding):
    for n in (8, 30):
        products = products_of(encoding, n)[1:, 1:]
        assert torch.allclose(products[1:, 1:], products[:-1, :-1], atol=0.005)
        assert torch.allclose(products[:7, :7], products_of(encoding, 8)[1:, 1:], atol=0.005)
        assert four_differ(products)


def wants_8(encoding):
    """Too strict: the rows may have another norm."""
    all_diagonals(encoding)
    assert torch.allclose(products_of(encoding, 20).diagonal(), torch.tensor(8.0), atol=1e-3)


def the_same_rows(encoding):
    """Too strict: at another length the rows may start elsewhere."""
    assert torch.allclose(encoding(30, 16)[:8], encoding(8, 16), atol=1e-3)
    one_length(encoding)


def only_lengths(encoding):
    lengths = encoding(20, 16).norm(dim=-1)
    assert torch.allclose(lengths, lengths[0].expand(20), atol=1e-3)


def compares_with_sinusoids(encoding):
    torch.testing.assert_close(encoding(20, 16), table_by_columns(20, 16))


def no_room_for_rounding(encoding):
    products = products_of(encoding, 30)
    assert len(set(products.diagonal(1).tolist())) == 1


def says_whether(encoding):
    products = products_of(encoding, 20)
    return bool(products.diagonal(1).std() < 1e-3)


def never_calls(encoding):
    assert encoding is not None


def misspelt(encoding):
    encoding(20, 16)
    assert products is not None  # noqa: F821


# --- rotate


def rotate_pairs(features, angles):
    x, y = split_pairs(features)
    new_x = x * angles.cos() - y * angles.sin()
    new_y = x * angles.sin() + y * angles.cos()
    return torch.stack([new_x, new_y], dim=-1).flatten(-2)


def rotates_the_first_pair(features, angles):
    first = rotate_pairs(features[..., :2], angles[:, :1])
    return torch.cat([first, features[..., 2:]], dim=-1)


def rotate_by_matrices(features, angles):
    cos, sin = angles.cos(), angles.sin()
    matrix = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    split = features.unflatten(-1, (-1, 2)).unsqueeze(-1)
    return (matrix @ split).squeeze(-1).flatten(-2)


def rotate_complex(features, angles):
    numbers = torch.view_as_complex(features.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(numbers * torch.complex(angles.cos(), angles.sin())).flatten(-2)


def rotate_into_place(features, angles):
    out = torch.empty_like(features)
    out[..., 0::2] = features[..., 0::2] * angles.cos() - features[..., 1::2] * angles.sin()
    out[..., 1::2] = features[..., 1::2] * angles.cos() + features[..., 0::2] * angles.sin()
    return out


def clockwise(features, angles):
    return rotate_pairs(features, -angles)


def pairs_of_halves(features, angles):
    half = features.shape[-1] // 2
    x, y = features[..., :half], features[..., half:]
    return torch.cat([x * angles.cos() - y * angles.sin(), y * angles.cos() + x * angles.sin()], -1)


def no_weaving(features, angles):
    x, y = split_pairs(features)
    return torch.cat([x * angles.cos() - y * angles.sin(), y * angles.cos() + x * angles.sin()], -1)


def plus_for_minus(features, angles):
    x, y = split_pairs(features)
    return torch.stack(
        [x * angles.cos() + y * angles.sin(), y * angles.cos() + x * angles.sin()], -1
    ).flatten(-2)


def pairs_from(new_pair):
    """A rotation that makes the new pairs from x, y and the angle."""

    def rotate(features, angles):
        pairs = new_pair(features[..., 0::2], features[..., 1::2], angles)
        return torch.stack(pairs, dim=-1).flatten(-2)

    return rotate


def cos_plus_sin(features, angles):
    theta = angles.repeat_interleave(2, dim=-1)
    return features * theta.cos() + features * theta.sin()


def stack_dim_0(features, angles):
    rotated = rotate_pairs(features, angles)
    return torch.stack([rotated[..., 0::2], rotated[..., 1::2]], dim=0).reshape(features.shape)


def times_position(angles):
    return angles * torch.arange(angles.shape[0]).unsqueeze(1)


def halves_woven(features, angles):
    half = features.shape[-1] // 2
    return rotate_pairs(torch.stack([features[..., :half], features[..., half:]], -1).flatten(-2), angles)


def repeated_in_blocks(features, angles):
    theta = angles.repeat(1, 2)
    swapped = torch.stack([-features[..., 1::2], features[..., 0::2]], dim=-1).flatten(-2)
    return features * theta.cos() + swapped * theta.sin()


def pairs_left(features, angles):
    return rotate_complex(features, angles).reshape(*features.shape[:-1], -1, 2)


def batch_lost(features, angles):
    return rotate_pairs(features.reshape(-1, *features.shape[-2:]), angles)


def angles_of_its_own(features, angles):
    n, width = features.shape[-2:]
    return rotate_pairs(features, torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width))


def without_batch(features, angles):
    n, w = features.shape
    return rotate_pairs(features.view(n, w), angles)


def overwritten(features, angles):
    out = features.clone()
    out[..., 0::2] = out[..., 0::2] * angles.cos() - out[..., 1::2] * angles.sin()
    out[..., 1::2] = out[..., 0::2] * angles.sin() + out[..., 1::2] * angles.cos()
    return out


def with_the_left_neighbour(features, angles):
    theta = angles.repeat_interleave(2, dim=-1)
    left = torch.cat([features[..., -1:], features[..., :-1]], dim=-1)
    return features * theta.cos() + left * theta.sin()


def adds_the_table(features, angles):
    return features + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


# ---- a slip each, without the helpers of the exercises


def frequencies(width):
    return 10_000.0 ** (-torch.arange(0, width, 2) / width)


def waves(angles):
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


WRONG = {
    "sinusoids": [
        (table_in_halves, "halves"),
        (column_by_column, "own-frequencies"),
        (cosines_first, "cos-first"),
        (only_sines, "sin-only"),
        (
            lambda n, d: (torch.arange(n)[:, None] * frequencies(d)).cos().repeat_interleave(2, dim=1),
            "cos-only",
        ),
        (flattened_wrongly, "rows-mixed"),
        (one_row_too_many, "one-row-too-many"),
        (of_length_one, "unit-rows"),
        (lambda n, d: table_by_columns(n, d) * d**0.5, "scaled-rows"),
        (nothing, "returns-none"),
        (at_most_64, None),
        (table_in_double, "wrong-form"),
        (table_in_lists, "wrong-form"),
        (lambda n, d: torch.stack([angles_outer(n, d).sin(), angles_outer(n, d).cos()], 2), "not-flattened"),
        (lambda n, d: waves(torch.arange(n)[:, None] + frequencies(d)), "added-to-position"),
        (with_frequencies(lambda i, d: math.exp(-math.log10(10000) * 2 * i / d)), "log10"),
        (position_over_base, "power-of-position"),
        (table_in_numpy, "wrong-form"),
        (rounded_down, "one-frequency"),
        (over_the_half_width, "doubled-twice"),
        (by_the_parity_of_rows, "parity-of-rows"),
        (without_brackets, "same-rows"),
        (with_frequencies(lambda i, d: 10000 ** (-i / d)), "not-doubled"),
        (with_frequencies(lambda i, d: 10000 ** (-4 * i / d)), "doubled-twice"),
        (with_frequencies(lambda i, d: 10000.0 ** (2 * i / d)), "faster-and-faster"),
        (with_frequencies(lambda i, d: 1000 ** (-2 * i / d)), "base-1000"),
        (with_frequencies(lambda i, d: 100000 ** (-2 * i / d)), "base-100000"),
        (up_to_last, "down-to-last"),
        (lambda n, d: waves(torch.arange(1, n + 1)[:, None] * frequencies(d)), "from-one"),
        (lambda n, d: waves(torch.arange(n)[:, None] * torch.ones(d // 2)), "one-frequency"),
        (lambda n, d: (torch.arange(n)[:, None] * frequencies(d)).repeat_interleave(2, dim=1), "angles-only"),
        (lambda n, d: waves(torch.arange(n)[:, None] * frequencies(d) * math.pi / 180), "degrees"),
        (lambda n, d: waves(torch.arange(n)[:, None] * frequencies(d) * 2 * math.pi), "whole-turns"),
        (lambda n, d: torch.arange(float(n))[:, None].repeat(1, d), "grows"),
        (lambda n, d: waves(torch.arange(n)[:, None] * frequencies(d) / n), "over-length"),
        (lambda n, d: waves(torch.arange(n)[:, None] * frequencies(d) / max(1, n - 1)), "over-last-position"),
        (lambda n, d: table_by_columns(n, d) * (torch.arange(d) % 2 == 0), "cos-missing"),
        (table_without_its_last_column, "last-column"),
        (lambda n, d: torch.sin(angles_outer(n, d)), "half-width"),
        (blocks_of_angles, "angles-in-blocks"),
        (two_per_column, "doubled-by-column"),
        (with_frequencies(lambda i, d: 10000 ** (-2 * (i + 1) / d)), "exponent-from-1"),
        (lambda n, d: waves(torch.zeros(n, d // 2)), "same-rows"),
        (lambda n, d: waves(frequencies(d).repeat(n, 1)), "frequencies-only"),
        (lambda n, d: table_by_columns(n, d).T, "transposed"),
        (lambda n, d: table_by_columns(n, d).unsqueeze(0), "extra-axis"),
    ],
    "test_offsets": [
        (one_pair_of_places, "lets-through"),
        (only_lengths, "lets-through"),
        (two_starts, "lets-through"),
        (neighbours_only, "lets-through"),
        (unlike_itself_only, "lets-through"),
        (one_length, "lets-through"),
        (eight_positions, "lets-through"),
        (a_tenth, "lets-through"),
        (without_row_0, "lets-through"),
        (the_same_rows, "too-strict"),
        (wants_8, "too-strict"),
        (compares_with_sinusoids, "too-strict"),
        (no_room_for_rounding, "rejects-the-right-one"),
        (says_whether, "returns-instead"),
        (never_calls, "never-calls"),
        (misspelt, "raises"),
    ],
    "rotate": [
        (clockwise, "other-way"),
        (pairs_of_halves, "halves"),
        (halves_woven, "halves-as-pairs"),
        (no_weaving, "separated"),
        (pairs_left, "not-flattened"),
        (batch_lost, "batch-flattened"),
        (plus_for_minus, "no-minus"),
        (overwritten, "uses-the-new-x"),
        (
            pairs_from(lambda x, y, t: (x * t.cos() - y * t.sin(), x * t.sin() - y * t.cos())),
            "minus-in-second",
        ),
        (
            pairs_from(lambda x, y, t: (x * t.sin() - y * t.cos(), x * t.cos() + y * t.sin())),
            "sin-and-cos-swapped",
        ),
        (
            pairs_from(lambda x, y, t: (x * t.sin() + y * t.cos(), x * t.cos() - y * t.sin())),
            "numbers-swapped",
        ),
        (
            pairs_from(
                lambda x, y, t: (
                    x * t.cos() - t.sin() * (y * t.cos() + x * t.sin()),
                    y * t.cos() + x * t.sin(),
                )
            ),
            "uses-the-new-y",
        ),
        (pairs_from(lambda x, y, t: (x * t.cos() - y * t.sin(), y)), "second-unchanged"),
        (pairs_from(lambda x, y, t: (x, x * t.sin() + y * t.cos())), "first-unchanged"),
        (pairs_from(lambda x, y, t: (x * t.cos(), y * t.sin())), "cos-and-sin"),
        (
            pairs_from(lambda x, y, t: (x * t.cos() - y * t.sin(), y * t.cos() - x * t.sin())),
            "both-minus",
        ),
        (
            lambda features, angles: pairs_from(
                lambda y, x, t: (x * t.cos() - y * t.sin(), x * t.sin() + y * t.cos())
            )(features, angles),
            "x-and-y-swapped",
        ),
        (
            pairs_from(lambda x, y, t: (x * t.cos() - x * t.sin(), y * t.sin() + y * t.cos())),
            "itself-minus-itself",
        ),
        (cos_plus_sin, "itself-instead-of-partner"),
        (stack_dim_0, "stacked-in-front"),
        (lambda features, angles: rotate_pairs(features, times_position(angles)), "times-position"),
        (pairs_from(lambda x, y, t: (x - y * t, y + x * t)), "angle-itself"),
        (pairs_from(lambda x, y, t: (x * t, y * t)), "times-the-angle"),
        (pairs_from(lambda x, y, t: (x * t.sin(), y * t.cos())), "times-sinusoids"),
        (with_the_left_neighbour, "left-neighbour"),
        (lambda features, angles: rotate_pairs(features, angles).flatten(1), "everything-flattened"),
        (adds_the_table, "adds-sinusoids"),
        (without_batch, "fixed-axes"),
        (repeated_in_blocks, "angles-in-blocks"),
        (angles_of_its_own, "own-angles"),
        (lambda features, angles: rotate_pairs(features, angles * math.pi / 180), "degrees"),
        (lambda features, angles: features + angles.repeat_interleave(2, dim=-1), "adds-the-angle"),
        (lambda features, angles: features * angles.cos().repeat_interleave(2, dim=-1), "only-cos"),
        (lambda features, angles: rotate_pairs(features, angles[:, :1].expand_as(angles)), "one-angle"),
        (rotates_the_first_pair, "first-pair-only"),
        (lambda features, angles: rotate_pairs(features, angles[0].repeat(len(angles), 1)), "one-position"),
    ],
}

RIGHT = {
    "sinusoids": [table_by_columns, table_loop, table_shifted_sine, table_numpy],
    "test_offsets": [all_diagonals, by_loops, far_and_near, every_pair],
    "rotate": [rotate_pairs, rotate_by_matrices, rotate_complex, rotate_into_place],
}
