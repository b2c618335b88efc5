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


def table_without_its_last_column(n, d_model):
    table = table_by_columns(n, d_model)
    table[:, d_model - 1] = 0.0
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


def with_speeds(speeds_for):
    """The table, with the speed of each pair from i and d_model."""

    def table(n, d_model):
        turned = torch.arange(n)[:, None] * torch.tensor(
            [speeds_for(i, d_model) for i in range(d_model // 2)]
        )
        return torch.stack([turned.sin(), turned.cos()], dim=-1).flatten(1)

    return table


def up_to_last(n, d_model):
    hands = d_model // 2
    speed = torch.exp(-math.log(10000.0) * torch.arange(hands) / torch.tensor(hands - 1.0))
    turned = torch.arange(n)[:, None] * speed
    return torch.stack([turned.sin(), turned.cos()], dim=-1).view(n, d_model)


def blocks_of_angles(n, d_model):
    turned = torch.cat([angles_outer(n, d_model), angles_outer(n, d_model)], dim=1)
    turned[:, 0::2] = turned[:, 0::2].sin()
    turned[:, 1::2] = turned[:, 1::2].cos()
    return turned


def two_per_column(n, d_model):
    column = torch.arange(d_model)
    turned = torch.arange(n)[:, None] / 10000 ** (2 * column / d_model)
    return torch.where(column % 2 == 0, turned.sin(), turned.cos())


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


# --- add_positions


def by_broadcasting(embedded, table):
    return embedded + table[: embedded.shape[1]][None]


def sentence_by_sentence(embedded, table):
    return torch.stack([sentence + table[: len(sentence)] for sentence in embedded])


def by_number(embedded, table):
    return embedded + table[torch.arange(embedded.size(-2))]


def over_the_batch(embedded, table):
    return embedded + table[torch.arange(len(embedded))][:, None, :]


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


def rotates_the_first_pair(features, turned):
    first = rotate_pairs(features[..., :2], turned[:, :1])
    return torch.cat([first, features[..., 2:]], dim=-1)


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


def pairs_from(new_pair):
    """A rotation that makes the new pairs from x, y and the angle."""

    def rotate(features, turned):
        pairs = new_pair(features[..., 0::2], features[..., 1::2], turned)
        return torch.stack(pairs, dim=-1).flatten(-2)

    return rotate


def cos_plus_sin(features, turned):
    theta = turned.repeat_interleave(2, dim=-1)
    return features * theta.cos() + features * theta.sin()


def stack_dim_0(features, turned):
    rotated = rotate_pairs(features, turned)
    return torch.stack([rotated[..., 0::2], rotated[..., 1::2]], dim=0).reshape(features.shape)


def times_position(turned):
    return turned * torch.arange(turned.shape[0]).unsqueeze(1)


def halves_woven(features, turned):
    half = features.shape[-1] // 2
    return rotate_pairs(torch.stack([features[..., :half], features[..., half:]], -1).flatten(-2), turned)


def repeated_in_blocks(features, turned):
    theta = turned.repeat(1, 2)
    swapped = torch.stack([-features[..., 1::2], features[..., 0::2]], dim=-1).flatten(-2)
    return features * theta.cos() + swapped * theta.sin()


def pairs_left(features, turned):
    return rotate_complex(features, turned).reshape(*features.shape[:-1], -1, 2)


def batch_lost(features, turned):
    return rotate_pairs(features.reshape(-1, *features.shape[-2:]), turned)


def angles_of_its_own(features, turned):
    n, width = features.shape[-2:]
    return rotate_pairs(features, torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width))


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
        (angles_in_lists, "wrong-form"),
        (angles_in_double, "wrong-form"),
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
        (lambda n, d: (torch.arange(n)[:, None] * speeds(d)).cos().repeat_interleave(2, dim=1), "cos-only"),
        (flattened_wrongly, "rows-mixed"),
        (one_row_too_many, "one-row-too-many"),
        (of_length_one, "unit-rows"),
        (lambda n, d: table_by_columns(n, d) * d**0.5, "scaled-rows"),
        (nothing, "returns-none"),
        (at_most_64, None),
        (table_in_double, "wrong-form"),
        (table_in_lists, "wrong-form"),
        (with_speeds(lambda i, d: 10000 ** (-i / d)), "not-doubled"),
        (with_speeds(lambda i, d: 10000 ** (-4 * i / d)), "doubled-twice"),
        (with_speeds(lambda i, d: 10000.0 ** (2 * i / d)), "faster-and-faster"),
        (with_speeds(lambda i, d: 1000 ** (-2 * i / d)), "base-1000"),
        (with_speeds(lambda i, d: 100000 ** (-2 * i / d)), "base-100000"),
        (up_to_last, "down-to-last"),
        (lambda n, d: waves(torch.arange(1, n + 1)[:, None] * speeds(d)), "from-one"),
        (lambda n, d: waves(torch.arange(n)[:, None] * torch.ones(d // 2)), "one-speed"),
        (lambda n, d: (torch.arange(n)[:, None] * speeds(d)).repeat_interleave(2, dim=1), "angles-only"),
        (lambda n, d: waves(torch.arange(n)[:, None] * speeds(d) * math.pi / 180), "degrees"),
        (lambda n, d: waves(torch.arange(n)[:, None] * speeds(d) * 2 * math.pi), "whole-turns"),
        (lambda n, d: torch.arange(float(n))[:, None].repeat(1, d), "grows"),
        (lambda n, d: waves(torch.arange(n)[:, None] * speeds(d) / n), "over-length"),
        (lambda n, d: waves(torch.arange(n)[:, None] * speeds(d) / max(1, n - 1)), "over-last-position"),
        (lambda n, d: table_by_columns(n, d) * (torch.arange(d) % 2 == 0), "cos-missing"),
        (table_without_its_last_column, "last-column"),
        (lambda n, d: torch.sin(angles_outer(n, d)), "half-width"),
        (blocks_of_angles, "angles-in-blocks"),
        (two_per_column, "doubled-by-column"),
        (with_speeds(lambda i, d: 10000 ** (-2 * (i + 1) / d)), "exponent-from-1"),
        (lambda n, d: waves(torch.zeros(n, d // 2)), "same-rows"),
        (lambda n, d: waves(speeds(d).repeat(n, 1)), "frequencies-only"),
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
    "add_positions": [
        (over_the_batch, "unrepaired"),
        (counts_from_one, "from-one"),
        (first_row, "row-0"),
        (only_the_table, "replaces"),
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
            lambda features, turned: pairs_from(
                lambda y, x, t: (x * t.cos() - y * t.sin(), x * t.sin() + y * t.cos())
            )(features, turned),
            "x-and-y-swapped",
        ),
        (
            pairs_from(lambda x, y, t: (x * t.cos() - x * t.sin(), y * t.sin() + y * t.cos())),
            "itself-minus-itself",
        ),
        (cos_plus_sin, "itself-instead-of-partner"),
        (stack_dim_0, "stacked-in-front"),
        (lambda features, turned: rotate_pairs(features, times_position(turned)), "times-position"),
        (pairs_from(lambda x, y, t: (x - y * t, y + x * t)), "angle-itself"),
        (pairs_from(lambda x, y, t: (x * t, y * t)), "times-the-angle"),
        (adds_the_table, "adds-sinusoids"),
        (without_batch, "fixed-axes"),
        (repeated_in_blocks, "angles-in-blocks"),
        (angles_of_its_own, "own-angles"),
        (lambda features, turned: rotate_pairs(features, turned * math.pi / 180), "degrees"),
        (lambda features, turned: features + turned.repeat_interleave(2, dim=-1), "adds-the-angle"),
        (lambda features, turned: features * turned.cos().repeat_interleave(2, dim=-1), "only-cos"),
        (lambda features, turned: rotate_pairs(features, turned[:, :1].expand_as(turned)), "one-angle"),
        (rotates_the_first_pair, "first-pair-only"),
        (lambda features, turned: rotate_pairs(features, turned[0].repeat(len(turned), 1)), "one-position"),
    ],
}

RIGHT = {
    "angles": [angles_loop, angles_outer, angles_numpy],
    "sinusoids": [table_by_columns, table_loop, table_shifted_sine],
    "test_offsets": [all_diagonals, by_loops, far_and_near, every_pair],
    "add_positions": [by_broadcasting, sentence_by_sentence, by_number],
    "rotate": [rotate_pairs, rotate_by_matrices, rotate_complex, rotate_into_place],
}
