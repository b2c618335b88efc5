"""Windows and bells: worked by hand, against loops, and by what must always hold."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.layers.attention import attend
from course_lib.layers.local import (
    PredictedCentres,
    gaussian,
    monotonic_centres,
    predicted_centres,
    window_mask,
)
from course_lib.layers.masks import padding_mask

properties = settings(derandomize=True, deadline=None, max_examples=40, database=None)
BATCH, QUERIES, QUERY_DIM, ATTN_DIM = 2, 3, 4, 5


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- equal to the formulas, number by number


def test_monotonic_centres_follow_the_target_and_stop_at_each_sentences_own_end():
    steps = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3]])
    assert monotonic_centres(steps, torch.tensor([4, 2])).tolist() == [[0, 1, 2, 3], [0, 1, 1, 1]]


def test_predicted_centres_equal_the_loop():
    query, w_p, v_p = draw(BATCH, QUERIES, QUERY_DIM), draw(ATTN_DIM, QUERY_DIM), draw(ATTN_DIM)
    lengths = [7, 2]
    centres = predicted_centres(query, torch.tensor(lengths), w_p=w_p, v_p=v_p)
    assert centres.shape == (BATCH, QUERIES)
    for sentence, length in enumerate(lengths):
        for word in range(QUERIES):
            how_far = sum(v * math.tanh(row @ query[sentence, word]) for v, row in zip(v_p, w_p, strict=True))
            assert centres[sentence, word].item() == pytest.approx(length / (1 + math.exp(-how_far)))


@pytest.mark.parametrize("half_width", [1, 3])
@pytest.mark.parametrize("centres", [[0.0, 2.5, 4.0], [0, 1, 3]], ids=["between words", "on words"])
def test_window_and_bell_equal_the_loop(centres, half_width):
    mask = window_mask(torch.tensor(centres), torch.arange(5), half_width=half_width)
    bell = gaussian(torch.tensor(centres), torch.arange(5), sigma=half_width / 2)
    assert mask.shape == bell.shape == (3, 5) and mask.dtype == torch.bool
    for i, centre in enumerate(centres):
        for j in range(5):
            assert mask[i, j].item() == (centre - half_width <= j <= centre + half_width)
            height = math.exp(-((j - centre) ** 2) / (2 * (half_width / 2) ** 2))
            assert bell[i, j].item() == pytest.approx(height, rel=1e-6)


def test_a_case_worked_by_hand():
    """Four words, all scores alike, centre 1, D = 1: thirds on words 0, 1, 2, then times 1/e², 1, 1/e²."""
    positions, centres = torch.arange(4), torch.tensor([[1.0]])
    nothing = torch.zeros(1, 1, 2)
    _, weights = attend(
        nothing,
        nothing.expand(1, 4, 2),
        nothing.expand(1, 4, 2),
        may_look=padding_mask(torch.tensor([4]), 4) & window_mask(centres, positions, half_width=1),
    )
    torch.testing.assert_close(weights, torch.tensor([[[1 / 3, 1 / 3, 1 / 3, 0]]]))
    weights = weights * gaussian(centres, positions, sigma=0.5)
    torch.testing.assert_close(weights, torch.tensor([[[math.exp(-2), 1, math.exp(-2), 0]]]) / 3)
    assert weights.sum() < 0.5  # the paper does not make the row sum to 1 again


# ---- what must always hold


@pytest.mark.slow
@properties
@given(
    lengths=st.lists(st.integers(1, 12), min_size=2, max_size=4),
    padding=st.integers(0, 3),
    half_width=st.integers(1, 4),
    size=st.sampled_from([0.1, 3.0, 1e4]),  # at 1e4 the sigmoid is exactly 0 or 1
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16]),
    seed=st.integers(0, 2**16),
)
def test_a_window_holds_a_real_word(lengths, padding, half_width, size, dtype, seed):
    longest, lengths = max(lengths) + padding, torch.tensor(lengths)
    query = draw(len(lengths), QUERIES, QUERY_DIM, seed=seed).to(dtype) * size
    w_p, v_p = draw(ATTN_DIM, QUERY_DIM).to(dtype), draw(ATTN_DIM).to(dtype) * size
    predicted = predicted_centres(query, lengths, w_p=w_p, v_p=v_p)
    assert predicted.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert (predicted >= 0).all() and (predicted <= lengths[:, None]).all()
    followed = monotonic_centres(torch.arange(20).expand(len(lengths), 20), lengths)
    for centres in (predicted, followed):
        mask = window_mask(centres, torch.arange(longest), half_width=half_width)
        real = mask & padding_mask(lengths, longest)
        assert real.any(dim=-1).all()
        assert (mask.sum(dim=-1) <= 2 * half_width + 1).all()


@properties
@given(centre=st.floats(0, 9), sigma=st.floats(0.5, 5))
def test_the_bell_is_highest_next_to_its_centre_and_never_above_one(centre, sigma):
    bell = gaussian(torch.tensor([centre], dtype=torch.float64), torch.arange(10), sigma=sigma)[0]
    assert (bell > 0).all() and (bell <= 1).all()
    assert abs(bell.argmax().item() - centre) <= 0.5


def test_a_wide_enough_window_hides_nothing():
    assert window_mask(torch.tensor([0, 4]), torch.arange(5), half_width=4).all()


def test_bfloat16_places_a_centre_between_two_words_of_a_long_sentence():
    query = torch.zeros(1, 1, QUERY_DIM, dtype=torch.bfloat16)
    zeros = torch.zeros(ATTN_DIM, QUERY_DIM, dtype=torch.bfloat16)
    assert predicted_centres(query, torch.tensor([401]), w_p=zeros, v_p=zeros[:, 0]).item() == 200.5


def test_only_the_bell_teaches_the_centre():
    torch.manual_seed(0)
    module = PredictedCentres(query_dim=QUERY_DIM, attn_dim=ATTN_DIM)
    assert sum(weight.numel() for weight in module.parameters()) == ATTN_DIM * QUERY_DIM + ATTN_DIM
    centres = module(draw(BATCH, QUERIES, QUERY_DIM).float(), torch.tensor([7, 4]))
    assert not window_mask(centres, torch.arange(7), half_width=2).requires_grad
    gaussian(centres, torch.arange(7), sigma=1.0).sum().backward()
    assert all(weight.grad.abs().sum() > 0 for weight in module.parameters())


# ---- errors


def test_a_window_too_narrow_to_hold_a_word():
    with pytest.raises(ValueError, match=r"half_width of at least 1, but got 0.*between two words"):
        window_mask(torch.tensor([0.5]), torch.arange(3), half_width=0)


def test_a_bell_without_width():
    with pytest.raises(ValueError, match=r"sigma above 0, but got 0.*half of half_width"):
        gaussian(torch.tensor([0.5]), torch.arange(3), sigma=0)


@pytest.mark.parametrize(
    ("w_p", "v_p", "message"),
    [((4, 5), (4,), r"w_p .* = \(4, 4\).*got \(4, 5\)"), ((5, 4), (4,), r"v_p .* = \(5,\).*got \(4,\)")],
)
def test_weights_of_another_size(w_p, v_p, message):
    with pytest.raises(ValueError, match=message):
        predicted_centres(
            torch.zeros(2, 3, 4), torch.tensor([3, 2]), w_p=torch.zeros(w_p), v_p=torch.zeros(v_p)
        )
