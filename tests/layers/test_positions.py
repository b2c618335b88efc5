"""Positions: the paper's formula, distances, rotations as complex numbers, one interface for three."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.layers.positions import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    angles,
    make_positions,
    rotate,
    sinusoids,
)

BATCH, HEADS, LEN, WIDTH = 2, 3, 11, 8


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# ---- sinusoids


def test_sinusoids_are_the_papers_formula():
    table = sinusoids(LEN, WIDTH)
    for position in range(LEN):
        for i in range(WIDTH // 2):
            angle = position / 10000 ** (2 * i / WIDTH)
            assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_the_product_of_two_positions_depends_on_their_distance_alone():
    """A Toeplitz matrix: each diagonal is constant, and the main one is d_model / 2."""
    table = sinusoids(40, 32)
    products = table @ table.mT
    torch.testing.assert_close(products[1:, 1:], products[:-1, :-1], atol=1e-4, rtol=0)
    torch.testing.assert_close(products.diagonal(), torch.full((40,), 16.0))
    assert (products - products.mT).abs().max() < 1e-5  # before or behind looks alike


def test_moving_by_an_offset_is_one_rotation_for_all_positions():
    offset, table = 5, sinusoids(40, 32)
    cos_and_sin = table.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)  # the hand's tip as (cos, sin)
    turned = rotate(cos_and_sin[:-offset], angles(40, 32)[offset].expand(40 - offset, -1))
    torch.testing.assert_close(turned, cos_and_sin[offset:], atol=1e-5, rtol=0)


# ---- rotary


def test_rotation_equals_multiplication_by_a_complex_number_of_size_one():
    x, turned = draw(BATCH, HEADS, LEN, WIDTH), angles(LEN, WIDTH)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    expected = torch.view_as_real(pairs * torch.polar(torch.ones_like(turned), turned)).flatten(-2)
    torch.testing.assert_close(rotate(x, turned), expected)
    rotary = RotaryPositions(max_len=LEN, head_dim=WIDTH)
    torch.testing.assert_close(rotary.turn(x), expected)
    torch.testing.assert_close(rotate(x, turned).norm(dim=-1), x.norm(dim=-1))


def test_scores_of_turned_queries_and_keys_depend_on_offsets_alone():
    """The same query everywhere against the same key everywhere: Toeplitz, and not constant."""
    rotary = RotaryPositions(max_len=60, head_dim=WIDTH)
    query, key = (draw(1, 1, 1, WIDTH, seed=seed).expand(1, 1, 30, WIDTH) for seed in (0, 1))
    scores = rotary.turn(query) @ rotary.turn(key).mT
    torch.testing.assert_close(scores[..., 1:, 1:], scores[..., :-1, :-1], atol=1e-4, rtol=0)
    torch.testing.assert_close(rotary.turn(query, first=20) @ rotary.turn(key, first=20).mT, scores)
    assert scores[0, 0, 0].std() > 0.1 and (scores - scores.mT).abs().max() > 0.1


# ---- one interface


def three(max_len: int = LEN):
    torch.manual_seed(0)
    kinds = ("sinusoidal", "learned", "rotary")
    return [make_positions(kind, max_len=max_len, d_model=WIDTH, head_dim=WIDTH) for kind in kinds]


def test_each_name_gives_its_encoding():
    assert [type(one) for one in three()] == [SinusoidalPositions, LearnedPositions, RotaryPositions]
    assert [sum(p.numel() for p in one.parameters()) for one in three()] == [0, LEN * WIDTH, 0]
    assert [list(one.state_dict()) for one in three()] == [[], ["table"], []]  # what is computed is not saved


def test_one_way_is_used_and_the_other_leaves_things_alone():
    words, heads = draw(BATCH, LEN, WIDTH), draw(BATCH, HEADS, LEN, WIDTH)
    changed = [
        (not torch.equal(one.add(words), words), not torch.equal(one.turn(heads), heads)) for one in three()
    ]
    assert changed == [(True, False), (True, False), (False, True)]


def test_all_sentences_and_all_words_get_their_own_position():
    """Added along the words, not along the batch."""
    for one in three()[:2]:
        added = one.add(torch.zeros(BATCH, LEN, WIDTH))
        assert torch.equal(added[0], added[1]) and not torch.equal(added[0, 0], added[0, 1])


@pytest.mark.parametrize("one", three(), ids=lambda one: type(one).__name__)
def test_word_by_word_equals_all_at_once(one):
    words, heads = draw(BATCH, LEN, WIDTH), draw(BATCH, HEADS, LEN, WIDTH)
    for at in range(LEN):
        now = slice(at, at + 1)
        torch.testing.assert_close(one.add(words[:, now], first=at), one.add(words)[:, now])
        torch.testing.assert_close(one.turn(heads[:, :, now], first=at), one.turn(heads)[:, :, now])


def test_bfloat16_stays_bfloat16():
    words, heads = draw(BATCH, LEN, WIDTH).bfloat16(), draw(BATCH, HEADS, LEN, WIDTH).bfloat16()
    for one in three():
        assert one.turn(heads).dtype == torch.bfloat16  # even from tables of float32
        one.bfloat16()
        assert one.turn(heads).dtype == one.add(words).dtype == torch.bfloat16


def test_learned_and_fixed_start_at_the_same_size():
    torch.manual_seed(0)
    learned = LearnedPositions(max_len=100, d_model=64)
    torch.testing.assert_close(learned.table.square().mean(), torch.tensor(0.5), atol=0.05, rtol=0)
    torch.testing.assert_close(sinusoids(100, 64).square().mean(), torch.tensor(0.5))


# ---- errors


@pytest.mark.parametrize("one", three(max_len=4), ids=lambda one: type(one).__name__)
def test_beyond_the_table_is_refused(one):
    with pytest.raises(ValueError, match=r"at most 4 positions.*\(max_len\).*up to the 5th.*larger max_len"):
        one.add(torch.zeros(1, 2, WIDTH), first=3)
        one.turn(torch.zeros(1, 1, 2, WIDTH), first=3)


@pytest.mark.parametrize("one", three(), ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("width", [1, 2, WIDTH + 2])
def test_another_width_is_refused_and_not_stretched(one, width):
    with pytest.raises(ValueError, match=rf"width {WIDTH}, for which these positions were made"):
        one.add(torch.zeros(1, LEN, width))
        one.turn(torch.zeros(1, HEADS, LEN, width))


@pytest.mark.parametrize("turned", [(1, WIDTH // 2), (LEN, 1), (LEN, WIDTH)], ids=str)
def test_angles_of_another_size_are_refused(turned):
    with pytest.raises(ValueError, match=r"an angle for each position and each pair"):
        rotate(draw(BATCH, LEN, WIDTH), torch.zeros(turned))


def test_odd_widths_and_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"even width.*pairs of numbers, but got 7"):
        sinusoids(3, 7)
    with pytest.raises(ValueError, match=r"even width"):
        RotaryPositions(max_len=3, head_dim=5)
    with pytest.raises(ValueError, match=r"sinusoidal, learned, rotary or none, but got 'sine'"):
        make_positions("sine", max_len=3, d_model=4, head_dim=2)
