"""Answers to the exercises of lesson 11, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as they are; lesson 08's file explains what follows each answer.
"""

import math

import numpy as np
import torch


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


def table_by_columns(n, d_model):
    angles = angles_outer(n, d_model)
    table = torch.zeros(n, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def table_loop(n, d_model):
    def number(position, column):
        angles = position / 10000 ** (column // 2 * 2 / d_model)
        return math.cos(angles) if column % 2 else math.sin(angles)

    return torch.tensor([[number(position, column) for column in range(d_model)] for position in range(n)])


def table_shifted_sine(n, d_model):
    angles = angles_outer(n, d_model).repeat_interleave(2, dim=-1)
    return torch.sin(angles + torch.tensor([0.0, math.pi / 2]).repeat(d_model // 2))


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
    assert four_differ(near)


def wants_a_decrease(encoding):
    products, short = products_of(encoding, 24), products_of(encoding, 8)
    assert (short - products[:8, :8]).abs().max() < 5e-3
    assert (products[1:, 1:] - products[:-1, :-1]).abs().max() < 5e-3
    assert products[0, 0] > products[0, 1] > products[0, 2] > products[0, 3]


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
    x, y = features[..., 0::2], features[..., 1::2]
    new_x = x * angles.cos() - y * angles.sin()
    new_y = x * angles.sin() + y * angles.cos()
    return torch.stack([new_x, new_y], dim=-1).flatten(-2)


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


def without_batch(features, angles):
    n, w = features.shape
    return rotate_pairs(features.view(n, w), angles)


def along_axis_1(features, angles):
    x, y = features[:, 0::2], features[:, 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([x * cos - y * sin, x * sin + y * cos], dim=-1).flatten(1)


def frequencies(width):
    return 10_000.0 ** (-torch.arange(0, width, 2) / width)


WRONG = {
    "sinusoids": [
        (nothing, "returns-none"),
        (at_most_64, None),
        (table_in_double, "wrong-form"),
        (table_in_lists, "wrong-form"),
        (table_in_numpy, "wrong-form"),
        (lambda n, d: torch.arange(float(n))[:, None].repeat(1, d), "grows"),
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
        (wants_a_decrease, "too-strict"),
        (compares_with_sinusoids, "too-strict"),
        (no_room_for_rounding, "rejects-the-right-one"),
        (says_whether, "returns-instead"),
        (never_calls, "never-calls"),
        (misspelt, "raises"),
    ],
    "rotate": [
        (without_batch, "fixed-axes"),
        (along_axis_1, "fixed-axes"),
    ],
}

RIGHT = {
    "sinusoids": [table_by_columns, table_loop, table_shifted_sine, table_numpy],
    "test_offsets": [all_diagonals, by_loops, far_and_near, every_pair],
    "rotate": [rotate_pairs, rotate_by_matrices, rotate_complex, rotate_into_place],
}
