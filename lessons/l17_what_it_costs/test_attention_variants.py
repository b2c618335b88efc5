"""Restricted and linear attention against masked attention, their formulas, and their properties."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.nn import functional as F

from course_lib.layers.attention import attend
from course_lib.layers.masks import causal_mask
from lessons.l17_what_it_costs.linear_attention import (
    causal_linear_attend,
    feature_map,
    linear_attend,
    linear_start,
    linear_step,
)
from lessons.l17_what_it_costs.restricted import attend_nearby, window_mask

FRONTS = pytest.mark.parametrize("front", [(), (2,), (2, 4)], ids=str)


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def drawn(*front: int, widths: tuple[int, int, int] = (4, 4, 3)) -> list[torch.Tensor]:
    """Query, keys and values."""
    return [draw(*front, width, seed=seed) for seed, width in enumerate(widths)]


def with_gradients(attention, tensors) -> list[torch.Tensor]:
    """The output, and the gradient of its squares for each input."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    context = attention(*leaves)
    return [context, *torch.autograd.grad(context.square().sum(), leaves)]


# ---- restricted attention


@pytest.mark.parametrize("n", [1, 2, 5, 6, 11])
@pytest.mark.parametrize("radius", [1, 2, 3, 20])
@FRONTS
def test_attend_nearby_equals_masked_attention_with_gradients(n, radius, front):
    tensors = drawn(*front, n)
    nearby = with_gradients(partial(attend_nearby, radius=radius), tensors)
    masked = partial(attend, mask=window_mask(n, radius))
    torch.testing.assert_close(nearby, with_gradients(lambda *qkv: masked(*qkv)[0], tensors))


def test_memory_grows_with_n_times_radius_and_not_with_n_squared():
    def largest_saved(n: int, radius: int) -> int:
        sizes = []
        leaves = [draw(n, 4).requires_grad_() for _ in range(3)]
        save = lambda tensor: sizes.append(tensor.numel()) or tensor  # noqa: E731
        with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
            attend_nearby(*leaves, radius=radius)
        return max(sizes)

    assert largest_saved(4000, 8) <= 3 * 4000 * 8 < 4000**2 / 100
    assert largest_saved(8000, 8) == 2 * largest_saved(4000, 8)


# ---- linear attention


@pytest.mark.parametrize("ours", [linear_attend, causal_linear_attend])
def test_linear_attention_equals_its_formula_with_gradients(ours):
    """Weights φ(q)ᵀφ(k), divided by their sum: the quadratic form."""
    hidden = ~causal_mask(5) if ours is causal_linear_attend else torch.zeros(5, 5).bool()
    tensors = drawn(2, 3, 5, widths=(4, 4, 6))

    def quadratic(query, keys, values):
        weights = ((F.elu(query) + 1) @ (F.elu(keys) + 1).mT).masked_fill(hidden, 0.0)
        return weights / weights.sum(dim=-1, keepdim=True) @ values

    torch.testing.assert_close(with_gradients(ours, tensors), with_gradients(quadratic, tensors))


@pytest.mark.parametrize("attention", [linear_attend, causal_linear_attend, partial(attend_nearby, radius=2)])
def test_gradients_are_those_of_finite_differences(attention):
    leaves = [tensor.requires_grad_() for tensor in drawn(2, 3)]
    assert torch.autograd.gradcheck(attention, leaves, fast_mode=True)


def test_features_are_positive_and_where_they_round_to_0_there_is_no_nan():
    assert feature_map(torch.linspace(-10, 10, 99)).gt(0).all()
    query, keys, values = drawn(2, 5, widths=(16, 16, 7))
    context, *gradients = with_gradients(linear_attend, [query, keys - 1000, values])
    assert context.eq(0).all() and all(gradient.isfinite().all() for gradient in gradients)


def test_later_words_change_nothing_and_earlier_ones_do():
    words = draw(3, 7, 6)
    later, earlier = words.clone(), words.clone()
    later[:, 4:], earlier[:, :6] = 9.0, 9.0
    expected, with_later, with_earlier = (causal_linear_attend(x, x, x) for x in (words, later, earlier))
    torch.testing.assert_close(expected[:, :4], with_later[:, :4], rtol=0, atol=1e-12)
    assert not torch.allclose(expected[:, 6], with_earlier[:, 6])


@pytest.mark.parametrize("padding", [1e6, -12345.0])
def test_padding_at_the_end_and_other_sentences_change_nothing(padding):
    words, lengths = draw(3, 7, 6), (7, 1, 4)
    real = torch.arange(7) < torch.tensor(lengths)[:, None]
    x = torch.where(real[..., None], words, padding).requires_grad_()
    outputs = causal_linear_attend(x, x, x)[real]
    [gradient] = torch.autograd.grad(outputs.square().sum(), [x])
    alone = [causal_linear_attend(s[:n], s[:n], s[:n]) for s, n in zip(words, lengths, strict=True)]
    torch.testing.assert_close(outputs, torch.cat(alone))
    assert gradient[~real].eq(0).all()


def test_word_by_word_equals_all_at_once_and_the_state_never_grows():
    words, outputs = draw(3, 7, 6), []
    state = linear_start(words, words)
    for word in words.unbind(dim=1):
        output, state = linear_step(state, word, word, word)
        outputs.append(output)
        assert state["summary"].shape == (3, 6, 6) and state["total"].shape == (3, 6)
    torch.testing.assert_close(torch.stack(outputs, dim=1), causal_linear_attend(words, words, words))


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a CPU without bfloat16 is slower, not wrong
def test_sixteen_bits_stay_sixteen_bits_and_close():
    words = draw(3, 7, 6)
    coarse = causal_linear_attend(*[words.bfloat16()] * 3)
    assert coarse.dtype == torch.bfloat16
    exact = causal_linear_attend(words, words, words)
    torch.testing.assert_close(coarse.double(), exact, atol=0.15, rtol=0.02)


# ---- messages

zeros = torch.zeros
query, keys, values = zeros(2, 3, 4), zeros(2, 5, 4), zeros(2, 5, 7)
BAD = {
    r"query is 4 wide.*keys are 6 wide": [lambda: linear_attend(query, zeros(2, 5, 6), values)],
    r"one value for each key": [
        lambda: linear_attend(query, keys, values[:, :1]),
        lambda: causal_linear_attend(keys, keys, values[:, :1]),  # torch would stretch it
    ],
    r"same number of axes": [
        lambda: linear_attend(query[0], keys, values),
        lambda: causal_linear_attend(keys[0], keys, values),
        lambda: attend_nearby(keys[0], keys, values, radius=2),
    ],
    r"got 4 queries and 5 keys": [
        lambda: causal_linear_attend(zeros(2, 4, 4), keys, values),
        lambda: attend_nearby(zeros(2, 4, 4), keys, values, radius=2),
    ],
    r"radius of at least 1.*but got 0": [lambda: attend_nearby(keys, keys, values, radius=0)],
}


@pytest.mark.parametrize("message", BAD)
def test_a_wrong_input_is_named(message):
    for call in BAD[message]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()
