"""Adam: what torch's class does, to the last bit, and without loading torch's compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from course_lib.training.adam import BETAS, EPSILON, Adam

from course_lib.runtime import PROJECT_ROOT


def new_weights() -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return {name: torch.randn(3, 4, generator=draw, requires_grad=True) for name in ("one", "other", "idle")}


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_it_is_torchs(decay, as_tensor):
    ours, theirs = new_weights(), new_weights()
    adam = Adam(ours, weight_decay=decay)
    reference = torch.optim.AdamW(
        theirs.values(), lr=1.0, betas=BETAS, eps=EPSILON, weight_decay=decay, fused=True
    )
    for number in range(1, 6):
        rate = 0.1 / number
        for weights in (ours, theirs):
            for name in ("one", "other"):  # the third never has a slope
                weights[name].grad = torch.sin(number * weights[name].detach())
        adam.step(torch.tensor(rate) if as_tensor else rate)
        reference.param_groups[0]["lr"] = rate
        reference.step()
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], rtol=1e-6, atol=1e-7)
    assert torch.equal(ours["idle"], new_weights()["idle"])


def test_a_memory_that_is_loaded_goes_on_and_stays_in_its_place():
    ours, again = new_weights(), new_weights()
    first, second = Adam(ours), Adam(again)
    places = {name: tensor.data_ptr() for name, tensor in second.state().items()}
    for weight in ours.values():
        weight.grad = weight.detach().clone()
    first.step(0.1)
    second.load(first.state())
    assert second.state()["adam.step.one"] == 1
    for name, weight in again.items():
        weight.data.copy_(ours[name])
    for weights, adam in ((ours, first), (again, second)):
        for weight in weights.values():
            weight.grad = torch.ones(3, 4)
        adam.step(0.05)
    assert all(torch.equal(ours[name], again[name]) for name in ours)
    assert {name: tensor.data_ptr() for name, tensor in second.state().items()} == places


@pytest.mark.slow
def test_a_learners_first_step_does_not_load_torchs_compiler():
    program = (
        "import sys, torch; from course_lib.training.adam import Adam; w = torch.zeros(2); "
        "w.grad = torch.ones(2); Adam({'w': w}).step(0.1); print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
