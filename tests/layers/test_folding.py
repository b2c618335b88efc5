"""Folding a sentence into one column: against a sentence folded alone, column by column."""

from __future__ import annotations

import pytest
import torch

from course_lib.layers.folding import Folding, convolve_rows, fold, kernel_widths

EMBED, MAX_LEN = 5, 13


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def folding() -> Folding:
    torch.manual_seed(0)
    return Folding(embed=EMBED, max_len=MAX_LEN).double()


def alone(layer: Folding, columns):
    """One sentence (len, embed), no padding, no batch: number by number, as the paper describes it."""
    kernels = list(layer.kernels.split(layer.widths, dim=1))
    while len(columns) > 1:
        kernel = kernels.pop(0)[:, : len(columns)]  # a kernel that is too wide is cut
        width = kernel.shape[1]
        columns = torch.stack(
            [
                torch.stack(
                    [
                        torch.tanh(
                            sum(columns[start + place, row] * kernel[row, place] for place in range(width))
                        )
                        for row in range(EMBED)
                    ]
                )
                for start in range(len(columns) - width + 1)
            ]
        )
    return columns[0]


def ragged(*lengths, width=MAX_LEN):
    return draw(len(lengths), width, EMBED), torch.tensor(lengths)


# ---- which kernels


def test_kernels_from_2_to_m_shorten_a_sentence_by_half_m_times_m_minus_1():
    assert kernel_widths(1) == []
    for length in range(2, 300):
        widths = kernel_widths(length)
        m = widths[-1]
        assert widths == list(range(2, m + 1))
        assert (m - 1) * (m - 2) // 2 < length - 1 <= m * (m - 1) // 2  # enough, and not one too many


# ---- one layer


def test_each_row_has_its_own_kernel_and_no_other():
    columns, kernel = draw(2, 6, EMBED), draw(EMBED, 3)
    together = convolve_rows(columns, kernel)
    for row in range(EMBED):
        one = convolve_rows(columns[..., row : row + 1], kernel[row : row + 1])
        assert torch.equal(together[..., row : row + 1], one)


@pytest.mark.parametrize("width", [2, 3, 6, 8])
def test_a_layer_equals_the_loop(width):
    columns, kernel = draw(2, 6, EMBED), draw(EMBED, width)
    folded, lengths = fold(columns, torch.tensor([6, 6]), kernel)
    torch.testing.assert_close(folded, torch.tanh(convolve_rows(columns, kernel)))
    assert lengths.tolist() == [max(1, 6 - width + 1)] * 2


def test_a_kernel_too_wide_is_cut_to_its_first_columns():
    columns, kernel = draw(1, 2, EMBED), draw(EMBED, 4)
    assert torch.equal(convolve_rows(columns, kernel), convolve_rows(columns, kernel[:, :2]))
    by_hand = columns[0, 0] * kernel[:, 0] + columns[0, 1] * kernel[:, 1]
    torch.testing.assert_close(fold(columns, torch.tensor([2]), kernel)[0][0, 0], torch.tanh(by_hand))


def test_a_sentence_of_one_column_waits_as_it_is():
    columns, lengths = ragged(1, 6, width=6)
    folded, after = fold(columns, lengths, draw(EMBED, 3))
    assert torch.equal(folded[0, 0], columns[0, 0])
    assert after.tolist() == [1, 4]


def test_a_kernel_for_another_width():
    for call in (lambda: convolve_rows(draw(1, 3, 4), draw(5, 2)), lambda: fold(*ragged(3), draw(4, 2))):
        with pytest.raises(ValueError, match=r"Expected kernel of shape \(embed, width\)"):
            call()


# ---- the whole fold


def test_equals_each_sentence_folded_alone():
    layer, lengths = folding(), range(1, MAX_LEN + 1)
    columns, numbers = ragged(*lengths)
    vectors = layer(columns, numbers)
    assert vectors.shape == (MAX_LEN, EMBED)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(vectors[row], alone(layer, columns[row, :length]))


def test_padding_may_hold_anything_and_have_any_width():
    layer, (columns, lengths) = folding(), ragged(5, 1, 3)
    expected = layer(columns[:, :5], lengths)
    for row, length in enumerate(lengths.tolist()):
        columns[row, length:] = float("nan")
    for width in (5, 6, 9, MAX_LEN):
        torch.testing.assert_close(layer(columns[:, :width], lengths), expected)


def test_padding_changes_no_gradient():
    gradients = []
    for width in (5, MAX_LEN):
        layer, (columns, lengths) = folding(), ragged(5, 1, 3)
        columns = columns[:, :width].clone().requires_grad_()
        layer(columns, lengths).square().sum().backward()
        gradients.append((layer.kernels.grad, columns.grad[:, :5]))
        assert columns.grad[0, 5:].eq(0).all() and columns.grad[1, 1:].eq(0).all()
    torch.testing.assert_close(*gradients)


def test_one_word_is_its_own_vector():
    columns, lengths = ragged(1, width=1)
    assert torch.equal(folding()(columns, lengths), columns[:, 0])


@pytest.mark.parametrize("length", [2, 4, 7, MAX_LEN])
def test_a_sentence_moves_the_kernels_it_passes_and_no_others(length):
    layer, (columns, lengths) = folding(), ragged(length)
    layer(columns, lengths).square().sum().backward()
    moved = [grad.any().item() for grad in layer.kernels.grad.split(layer.widths, dim=1)]
    used = len(kernel_widths(length))
    assert moved == [True] * used + [False] * (len(layer.widths) - used)


def test_the_ends_of_a_long_sentence_are_hardly_heard():
    """What the docstring says: the middle word is in most windows."""
    torch.manual_seed(0)
    columns = torch.randn(8, 40, 64, requires_grad=True)
    Folding(embed=64, max_len=40)(columns, torch.full((8,), 40)).sum().backward()
    heard = columns.grad.norm(dim=-1).mean(dim=0)
    assert heard[20] > 20 * heard[0] and heard[20] > 20 * heard[-1]


def test_order_matters():
    layer, (columns, lengths) = folding(), ragged(4, width=4)
    assert not torch.allclose(layer(columns, lengths), layer(columns.flip(1), lengths))


def test_a_sentence_too_long():
    with pytest.raises(ValueError, match=r"at most 13 words, .* \(max_len\), but got 14\. Cut the sentence"):
        folding()(draw(1, 14, EMBED), torch.tensor([3]))


def test_nothing_to_fold():
    with pytest.raises(ValueError, match="max_len of at least 2, but got 1"):
        Folding(embed=EMBED, max_len=1)
