"""Answers to the exercises of lesson 11, as learners write them: wrong, with what must be said, and right.

The slips of exercises.py are tried as they are; lesson 08's file explains what follows each answer.
"""

import math

import numpy as np
import torch

from lessons.l11_positions.exercises import split_pairs


def angle_lists(n, exponents):
    """A list for each position, with an angle for each exponent."""
    return [[position / 10000.0**exponent for exponent in exponents] for position in range(n)]


def products_of(encoding, n, d_model=16):
    return encoding(n, d_model) @ encoding(n, d_model).T


def four_differ(products):
    return len({round(float(product), 2) for product in products[0, :4]}) == 4


# --- angles


def angles_in_lists(n, width):
    return angle_lists(n, [2 * i / width for i in range(width // 2)])


def angles_loop(n, width):
    return torch.tensor(angles_in_lists(n, width))


def angles_outer(n, width):
    speeds = torch.exp(-math.log(10000.0) * torch.arange(0, width, 2) / width)
    return torch.outer(torch.arange(n, dtype=torch.float32), speeds)


def angles_numpy(n, width):
    turned = np.arange(n)[:, None] / np.power(10000.0, np.arange(0, width, 2) / width)
    return torch.from_numpy(turned).float()


def angles_in_double(n, width):
    return angles_numpy(n, width).double()


def fractions_of_a_turn(n, width):
    return angles_outer(n, width) / (2 * math.pi)


def exponent_not_doubled(n, width):
    return torch.tensor(angle_lists(n, [i / width for i in range(width // 2)]))


def of_the_half_width(n, width):
    half = width // 2
    return torch.tensor(angle_lists(n, [2 * i / half for i in range(half)]))


def up_to_n(n, width):
    return angles_outer(n + 1, width)


def one_based(n, width):
    return angles_outer(n + 1, width)[1:]


def thousand(n, width):
    return torch.arange(n)[:, None] * 1000.0 ** (-torch.arange(0, width, 2) / width)


def rounded_down(n, width):
    return torch.tensor(angle_lists(n, [2 * i // width for i in range(width // 2)]))


def as_many_hands_as_numbers(n, width):
    return torch.tensor(angle_lists(n, [2 * i / width for i in range(width)]))


def in_degrees(n, width):
    return torch.rad2deg(angles_outer(n, width))


def hands_by_positions(n, width):
    return angles_outer(n, width).T


# --- sinusoids


def table_by_columns(n, d_model):
    turned = angles_outer(n, d_model)
    table = torch.zeros(n, d_model)
    table[:, 0::2] = turned.sin()
    table[:, 1::2] = turned.cos()
    return table


def table_loop(n, d_model):
    def number(position, column):
        turned = position / 10000 ** (column // 2 * 2 / d_model)
        return math.cos(turned) if column % 2 else math.sin(turned)

    return torch.tensor([[number(position, column) for column in range(d_model)] for position in range(n)])


def table_shifted_sine(n, d_model):
    turned = angles_outer(n, d_model).repeat_interleave(2, dim=-1)
    return torch.sin(turned + torch.tensor([0.0, math.pi / 2]).repeat(d_model // 2))


def table_in_halves(n, d_model):
    return torch.cat((torch.sin(angles_outer(n, d_model)), torch.cos(angles_outer(n, d_model))), dim=1)


def column_by_column(n, d_model):
    turned = torch.arange(n)[:, None] / 10000 ** (torch.arange(d_model) / d_model)
    return torch.where(torch.arange(d_model) % 2 == 0, turned.sin(), turned.cos())


def cosines_first(n, d_model):
    return torch.stack([angles_outer(n, d_model).cos(), angles_outer(n, d_model).sin()], -1).reshape(
        n, d_model
    )


def flattened_wrongly(n, d_model):
    turned = angles_outer(n, d_model)
    return torch.stack([turned.sin(), turned.cos()]).reshape(n, d_model)


def one_row_too_many(n, d_model):
    return table_by_columns(n + 1, d_model)


def only_sines(n, d_model):
    return angles_outer(n, d_model).sin().repeat_interleave(2, dim=-1)


def of_length_one(n, d_model):
    return torch.nn.functional.normalize(table_by_columns(n, d_model), dim=-1)


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
        values = [float(t[i] @ t[i + offset]) for t in (table, more) for i in range(8)]
        assert max(values) - min(values) < 1e-3
        found.append(values[0])
    assert len({round(value, 1) for value in found}) == 4


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


# --- add_positions


def by_broadcasting(embedded, table):
    return embedded + table[: embedded.shape[1]][None]


def sentence_by_sentence(embedded, table):
    return torch.stack([sentence + table[: len(sentence)] for sentence in embedded])


def by_number(embedded, table):
    return embedded + table[torch.arange(embedded.size(-2))]


def over_the_batch(embedded, table):
    return embedded + table[torch.arange(len(embedded))][:, None, :]


def whole_table(embedded, table):
    return embedded + table


def counts_from_one(embedded, table):
    return embedded + table[1 : embedded.shape[1] + 1]


def in_place(embedded, table):
    embedded += table[: embedded.shape[1]]
    return embedded


def beside(embedded, table):
    rows = table[: embedded.shape[1]].expand(len(embedded), -1, -1)
    return torch.cat([embedded, rows], dim=-1)


def at_most_four(embedded, table):
    placed = embedded.clone()
    placed[:, :4] = placed[:, :4] + table[: min(embedded.shape[1], 4)]
    return placed


def first_row(embedded, table):
    return embedded + table[:1]


def backwards(embedded, table):
    return embedded + table[: embedded.shape[1]].flip(0)


def only_the_table(embedded, table):
    return torch.zeros_like(embedded) + table[: embedded.shape[1]]


# --- rotate


def rotate_pairs(features, turned):
    x, y = split_pairs(features)
    new_x = x * turned.cos() - y * turned.sin()
    new_y = x * turned.sin() + y * turned.cos()
    return torch.stack([new_x, new_y], dim=-1).flatten(-2)


def rotate_by_matrices(features, turned):
    cos, sin = turned.cos(), turned.sin()
    matrix = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    split = features.unflatten(-1, (-1, 2)).unsqueeze(-1)
    return (matrix @ split).squeeze(-1).flatten(-2)


def rotate_complex(features, turned):
    numbers = torch.view_as_complex(features.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(numbers * torch.complex(turned.cos(), turned.sin())).flatten(-2)


def rotate_into_place(features, turned):
    out = torch.empty_like(features)
    out[..., 0::2] = features[..., 0::2] * turned.cos() - features[..., 1::2] * turned.sin()
    out[..., 1::2] = features[..., 1::2] * turned.cos() + features[..., 0::2] * turned.sin()
    return out


def clockwise(features, turned):
    return rotate_pairs(features, -turned)


def pairs_of_halves(features, turned):
    half = features.shape[-1] // 2
    x, y = features[..., :half], features[..., half:]
    return torch.cat([x * turned.cos() - y * turned.sin(), y * turned.cos() + x * turned.sin()], -1)


def no_weaving(features, turned):
    x, y = split_pairs(features)
    return torch.cat([x * turned.cos() - y * turned.sin(), y * turned.cos() + x * turned.sin()], -1)


def plus_for_minus(features, turned):
    x, y = split_pairs(features)
    return torch.stack(
        [x * turned.cos() + y * turned.sin(), y * turned.cos() + x * turned.sin()], -1
    ).flatten(-2)


def turned_twice(features, turned):
    return rotate_pairs(features, 2 * turned)


def without_batch(features, turned):
    n, w = features.shape
    return rotate_pairs(features.view(n, w), turned)


def overwritten(features, turned):
    out = features.clone()
    out[..., 0::2] = out[..., 0::2] * turned.cos() - out[..., 1::2] * turned.sin()
    out[..., 1::2] = out[..., 0::2] * turned.sin() + out[..., 1::2] * turned.cos()
    return out


def adds_the_table(features, turned):
    return features + torch.stack([turned.sin(), turned.cos()], dim=-1).flatten(-2)


# ---- a slip each, without the helpers of the exercises


def drawn_after_a_seed(n, d_model):
    torch.manual_seed(0)
    return torch.randn(n, d_model)


def speeds(width):
    return 10_000.0 ** (-torch.arange(0, width, 2) / width)


def waves(angles):
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


WRONG = {
    "angles": [
        (exponent_not_doubled, "not-doubled"),
        (of_the_half_width, "doubled-twice"),
        (one_based, "from-one"),
        (hands_by_positions, "transposed"),
        (fractions_of_a_turn, None),
        (angles_in_lists, "a tensor"),
        (angles_in_double, "torch.float32"),
        (up_to_n, None),
        (thousand, None),
        (in_degrees, None),
        (rounded_down, "one-speed"),
        (as_many_hands_as_numbers, "too-many-hands"),
        (lambda n, width: torch.arange(n)[:, None] / speeds(width), "faster-and-faster"),
        (
            lambda n, width: torch.arange(n)[:, None] * 10_000.0 ** (-torch.arange(width) / width),
            "a-column-each",
        ),
        (lambda n, width: 2 * math.pi * torch.arange(n)[:, None] * speeds(width), "whole-turns"),
        (lambda n, width: speeds(width).repeat(n, 1), "no-positions"),
    ],
    "sinusoids": [
        (table_in_halves, "halves"),
        (column_by_column, "own-speeds"),
        (cosines_first, "cos-first"),
        (only_sines, "sin-only"),
        (flattened_wrongly, None),
        (one_row_too_many, None),
        (of_length_one, None),
        (nothing, "returns-none"),
        (lambda n, d: waves(torch.arange(1, n + 1)[:, None] * speeds(d)), "from-one"),
        (lambda n, d: waves(torch.arange(n)[:, None] * torch.ones(d // 2)), "one-speed"),
        (lambda n, d: (torch.arange(n)[:, None] * speeds(d)).repeat_interleave(2, dim=1), "angles-only"),
        (lambda n, d: torch.arange(float(n))[:, None].repeat(1, d), "grows"),
        (lambda n, d: waves(torch.arange(n)[:, None] * speeds(d) / n), "over-length"),
        (lambda n, d: waves(torch.zeros(n, d // 2)), "same-rows"),
        (drawn_after_a_seed, "by-lot"),
    ],
    "test_offsets": [
        (one_pair_of_places, "lets-through", "gives every place the same row"),
        (only_lengths, "lets-through"),
        (two_starts, "one step back at every fourth word"),
        (neighbours_only, "one step back at every fourth word"),
        (unlike_itself_only, "turns every hand by a quarter a word"),
        (one_length, "more slowly the longer the text is"),
        (the_same_rows, "with another first position for each length"),
        (compares_with_sinusoids, "too-strict"),
        (no_room_for_rounding, "rejects-the-right-one"),
        (says_whether, "raising"),
        (never_calls, "never-calls"),
        (misspelt, "NameError"),
    ],
    "add_positions": [
        (over_the_batch, "unrepaired"),
        (counts_from_one, "from-one"),
        (first_row, "row-0"),
        (only_the_table, "replaces"),
        (whole_table, "raises"),
        (beside, "wrong-shape"),
        (backwards, None),
        (at_most_four, None),
        (in_place, "in-place"),
        (lambda embedded, table: embedded + table[len(table) - embedded.shape[1] :], "last-rows"),
        (lambda embedded, table: embedded.clone(), "unchanged"),
        (lambda embedded, table: embedded * table[: embedded.shape[1]], "multiplies"),
        (lambda embedded, table: embedded - table[: embedded.shape[1]], "subtracts"),
    ],
    "rotate": [
        (clockwise, "other-way"),
        (pairs_of_halves, "halves"),
        (no_weaving, "laid-apart"),
        (plus_for_minus, "no-minus"),
        (overwritten, "uses-the-new-x"),
        (adds_the_table, "adds-sinusoids"),
        (turned_twice, None),
        (without_batch, "raises"),
        (lambda features, turned: features + turned.repeat_interleave(2, dim=-1), "adds-the-angle"),
        (lambda features, turned: features * turned.cos().repeat_interleave(2, dim=-1), "only-cos"),
        (lambda features, turned: rotate_pairs(features, turned[:, :1].expand_as(turned)), "one-angle"),
    ],
}

RIGHT = {
    "angles": [angles_loop, angles_outer, angles_numpy],
    "sinusoids": [table_by_columns, table_loop, table_shifted_sine],
    "test_offsets": [all_diagonals, by_loops, far_and_near],
    "add_positions": [by_broadcasting, sentence_by_sentence, by_number],
    "rotate": [rotate_pairs, rotate_by_matrices, rotate_complex, rotate_into_place],
}
