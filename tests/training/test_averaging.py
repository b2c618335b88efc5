"""The mean of many sets of weights."""

from __future__ import annotations

import torch
from course_lib.training.averaging import Average


def test_it_is_the_mean_of_all_that_joined():
    generator = torch.Generator().manual_seed(0)
    sets = [
        {"a": torch.randn(4, 3, generator=generator), "b": torch.randn(2, generator=generator)}
        for _ in "12345"
    ]
    mean = Average()
    for weights in sets:
        mean.add(weights)
    assert mean.n == 5
    for name in ("a", "b"):
        torch.testing.assert_close(mean.weights[name], torch.stack([one[name] for one in sets]).mean(0))


def test_whole_numbers_are_not_averaged():
    mean = Average()
    for steps in (3, 8):
        mean.add({"seen": torch.tensor(steps), "on": torch.tensor(steps > 3)})
    assert mean.weights["seen"] == 8 and mean.weights["seen"].dtype == torch.int64
    assert mean.weights["on"]


def test_it_keeps_copies():
    weights = {"w": torch.ones(2, requires_grad=True)}
    mean = Average()
    mean.add(weights)
    mean.add(weights)
    with torch.no_grad():
        weights["w"].fill_(7)
    assert torch.equal(mean.weights["w"], torch.ones(2)) and not mean.weights["w"].requires_grad
    again = Average(mean.weights, mean.n)
    again.add({"w": torch.full((2,), 4.0)})
    assert torch.equal(again.weights["w"], torch.full((2,), 2.0))
    assert torch.equal(mean.weights["w"], torch.ones(2))


def test_going_on_from_a_file_changes_nothing():
    generator = torch.Generator().manual_seed(1)
    sets = [{"w": torch.randn(50, generator=generator)} for _ in range(7)]
    straight, broken = Average(), Average()
    for weights in sets:
        straight.add(weights)
        broken.add(weights)
        broken = Average(broken.weights, broken.n)
    assert torch.equal(straight.weights["w"], broken.weights["w"])


def test_from_a_file_it_follows_the_weights_to_their_device():
    """The meta device stands for a GPU here."""
    mean = Average({"w": torch.ones(2), "n": torch.tensor(1)}, 1)
    mean.add({"w": torch.ones(2, device="meta"), "n": torch.tensor(1, device="meta")})
    assert all(tensor.device.type == "meta" for tensor in mean.weights.values())
