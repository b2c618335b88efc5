"""Numbers as text: the same on every machine, short, and different if the numbers are."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.formatting import fixed, rounded, rounded_apart, significant


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (torch.tensor(0.5), "0.500"),
        (torch.tensor(3.0), "3"),
        (torch.tensor([1, 2]), "[1, 2]"),
        (torch.tensor([True, False]), "[True, False]"),
        (torch.tensor([0.12345, -2.0]), "[0.123, -2.000]"),
        (torch.tensor([-0.0001, 0.5]), "[0.000, 0.500]"),
        (torch.tensor([-0.0, 1.0]), "[0, 1]"),
        (torch.tensor([math.nan, math.inf, -math.inf]), "[nan, inf, -inf]"),
        (torch.tensor([1.25e9]), "[1.250e+09]"),
        (torch.tensor([[0.25, -0.75], [10.5, 1.0]]), "[[ 0.250, -0.750],\n [10.500,  1.000]]"),
        (torch.zeros(0), "[]"),
        (torch.zeros(2, 0), "[[],\n []]"),
        (torch.zeros(10), "[0, 0, 0, 0, 0, 0, 0, 0, …]"),
        (torch.zeros(10, 1), "[" + "[0],\n " * 8 + "…]"),
        (torch.ones(3, 1, 2), "shape (3, 1, 2), first matrix:\n[[1, 1]]"),
        (torch.ones(2, 1, 2), "shape (2, 1, 2):\n[[1, 1]]\n\n[[1, 1]]"),
        (torch.ones(1, 1, 2), "shape (1, 1, 2):\n[[1, 1]]"),
        (torch.ones(2, 0, 0, 2), "shape (2, 0, 0, 2)"),
        (torch.ones(2, requires_grad=True), "[1, 1]"),
    ],
)
def test_a_tensor_as_text(tensor, text):
    assert rounded(tensor) == text


def test_two_tensors_get_enough_decimals_to_show_a_difference():
    assert rounded_apart(torch.tensor([0.25]), torch.tensor([0.75])) == ("[0.250]", "[0.750]")
    assert rounded_apart(torch.tensor([0.25001]), torch.tensor([0.25002])) == ("[0.25001]", "[0.25002]")
    close = rounded_apart(torch.tensor([1.0]), torch.tensor([1.0 + 2e-7]))
    assert close[1].endswith("2.4e-07)")
    expected, got = torch.zeros(2, 3, 1, 2), torch.zeros(2, 3, 1, 2)
    got[1, 2, 0, 1] = 0.25  # the matrix that differs is shown
    opening = "shape (2, 3, 1, 2), matrix [1, 2]:\n"
    assert rounded_apart(expected, got) == (f"{opening}[[0.000, 0.000]]", f"{opening}[[0.000, 0.250]]")


@pytest.mark.parametrize("value", [1.0, 0.5, 3.0, 0.0])
def test_the_last_bit_changes_no_text(value):
    """The last bit of a sum differs between CPUs; torch's own `print` doesn't pass this test."""
    exact, near = torch.full((3,), value), torch.full((3,), value) * (1 + 2.0**-23)
    near = near if value else torch.tensor([-0.0, -1e-12, 1e-12])
    assert fixed(exact) == fixed(near)
    assert rounded(exact) == rounded(near)
    assert significant(exact[0]) == significant(near[0])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.500"),
        (7, "7"),
        ([1, 2], "[1, 2]"),
        ([0.1, 1.0], "[0.100, 1.000]"),
        (torch.tensor([[1.0, -10.0], [0.25, -1e-9]]), "[[  1.000, -10.000],\n [  0.250,   0.000]]"),
        (torch.zeros(11), "[" + ", ".join(["0.000"] * 11) + "]"),
        (torch.tensor([True]), "[True]"),
        (torch.ones(2, requires_grad=True), "[1.000, 1.000]"),
    ],
)
def test_all_numbers_get_the_same_decimals(value, text):
    assert fixed(value) == text
    with pytest.raises(ValueError, match=r"a number, a row or a matrix, but got the shape \(1, 1, 2\)"):
        fixed(torch.zeros(1, 1, 2))


def test_a_number_that_is_nearly_whole_keeps_its_decimals():
    assert rounded(torch.tensor([2.0, 4.004])) == "[2.000, 4.004]"
    assert rounded(torch.tensor([2.0, 4.0001])) == "[2, 4]"
