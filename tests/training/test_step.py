"""Adam equals torch's; a step equals its parts; states can be loaded and weights swapped."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from course_lib.runtime import PROJECT_ROOT
from course_lib.text.batch import make_batch
from course_lib.text.encoded import encode_ids
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import objective_for
from course_lib.training.step import Adam, PlainStep, parts_of
from tools.pronouns import classification

BATCH = make_batch([[5, 6], [7], [8, 9, 10]], [[4], [5, 6, 7, 8], [9]])
OTHER = make_batch([[6], [9]], [[7, 8], [5]])
PAPERS_ADAM = {"betas": (0.9, 0.98), "eps": 1e-9}
both = pytest.mark.parametrize("kind", [PlainStep, GraphStep])


def copied(tensors):
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def same(tensors, others):
    assert tensors.keys() == others.keys()
    return all(torch.equal(tensor, others[name]) for name, tensor in tensors.items())


# ---- Adam


def new_weights() -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(3, 4, generator=draw, requires_grad=True) for name in ("first", "second", "idle")
    }


@pytest.mark.parametrize("as_tensor", [False, True])
def test_adam_equals_torchs_also_with_a_loaded_state(as_tensor):
    ours, theirs = new_weights(), new_weights()
    adam = Adam(ours)
    reference = torch.optim.Adam(theirs.values(), lr=1.0, **PAPERS_ADAM, fused=True)
    for number in range(1, 6):
        rate = 0.1 / number
        for weights in (ours, theirs):
            for name in ("first", "second"):  # the third never has a gradient
                weights[name].grad = torch.sin(number * weights[name].detach())
        adam.step(torch.tensor(rate) if as_tensor else rate)
        reference.param_groups[0]["lr"] = rate
        reference.step()
        before, adam = adam, Adam(ours)
        addresses = {name: tensor.data_ptr() for name, tensor in adam.state.items()}
        adam.load(before.state)
        assert {name: tensor.data_ptr() for name, tensor in adam.state.items()} == addresses
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], rtol=1e-6, atol=1e-7)
    assert torch.equal(ours["idle"], new_weights()["idle"])


@pytest.mark.slow
def test_a_learners_first_step_does_not_load_torchs_compiler():
    program = (
        "import sys, torch; from course_lib.training.step import Adam; w = torch.zeros(2); "
        "w.grad = torch.ones(2); Adam({'w': w}).step(0.1); print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


# ---- a step


@pytest.fixture
def new(make, recipe):
    """A step of either kind on a new model. On a CPU the fast one runs without a graph."""

    def make_step(kind=PlainStep, name="gru_lm", seed=0, **changes):
        model = make(name, seed=seed, dropout=0.0)
        chosen = replace(recipe, **changes)
        return kind(model, objective_for(model, chosen.smoothing), chosen)

    return make_step


@both
@pytest.mark.parametrize("clip", [100.0, 0.01])
def test_a_step_is_mean_loss_clip_and_adam(make, new, kind, clip):
    step, model = new(kind, clip=clip), make(dropout=0.0)
    total, n_counted = step(BATCH, 3e-3).tolist()
    assert n_counted == 9
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, **PAPERS_ADAM, foreach=False)
    loss, n = objective_for(model, step.recipe.smoothing)(model, BATCH)
    (loss / n).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    assert (norm > clip) == (clip < 1)
    optimizer.step()
    assert total == pytest.approx(loss.item(), rel=1e-6)
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(step.weights()[name], tensor.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("first", [PlainStep, GraphStep])
@pytest.mark.parametrize("second", [PlainStep, GraphStep])
@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_either_step_can_load_a_state(new, first, second, name):
    step = new(first, name)
    step(BATCH, 1e-2)
    saved = copied(step.state())
    before = copied(saved)
    loaded = new(second, name, seed=5)
    loaded.load(saved)
    for _ in range(2):
        step(OTHER, 1e-2)
        loaded(OTHER, 1e-2)
    for name, tensor in step.state().items():
        if first is second:
            assert torch.equal(loaded.state()[name], tensor), name
        else:
            torch.testing.assert_close(loaded.state()[name], tensor, rtol=1e-4, atol=1e-5)
    assert same(saved, before)


@both
def test_holding_swaps_the_weights_and_restores_them(new, kind):
    step, other = new(kind), new(kind, seed=5)
    step(BATCH, 1e-2)
    before = copied(step.state())
    with step.holding(other.weights()) as model:
        assert model is step.model
        assert same(model.state_dict(), other.weights())
    with pytest.raises(ZeroDivisionError), step.holding(other.weights()):
        raise ZeroDivisionError
    assert same(step.state(), before)
    assert same(step.model.state_dict(), parts_of(before, "weights"))


@both
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_finish_leaves_the_model_in_float32_with_these_weights(new, kind, precision):
    step = new(kind, "transformer", precision=precision)
    fresh = new(kind, "transformer")
    step(BATCH, 1e-2)
    weights = copied(step.weights())
    step.finish(weights)
    assert same(step.model.state_dict(), weights)
    assert all(tensor.dtype == torch.float32 for tensor in step.model.state_dict().values())
    for (_, ours), (_, theirs) in zip(step.model.named_buffers(), fresh.model.named_buffers(), strict=True):
        assert torch.equal(ours, theirs)  # tables that bfloat16 had rounded


def test_master_weights_keep_updates_that_bfloat16_would_lose(new):
    """An update of a thousandth of a weight is lost in bfloat16; the master has it."""
    step = new(GraphStep, precision="bfloat16")
    before = copied(step.weights())
    rounded = copied(step.model.state_dict())
    step(BATCH, 1e-6)
    assert all(tensor.dtype == torch.bfloat16 for tensor in rounded.values())
    assert all(not torch.equal(tensor, before[name]) for name, tensor in step.weights().items())
    assert any(torch.equal(tensor, rounded[name]) for name, tensor in step.model.state_dict().items())


@both
@pytest.mark.parametrize("name", ["gru_lm", "self_attentive"])
def test_a_batch_of_blank_rows_changes_nothing(make, recipe, kind, name):
    """A process may get only blank rows; their mean loss must not be 0/0."""
    model = make(name, dropout=0.0)
    labels = torch.tensor([1, 0])
    classes = classification(labels, labels, smoothing=0.1, penalty=0.03)
    step = kind(model, classes if name == "self_attentive" else objective_for(model, 0.1), recipe)
    corpus = encode_ids([[5, 6]], [[4]])
    before, blank = copied(step.weights()), corpus.batch(torch.tensor([-1] * 3), src_len=3, tgt_len=2)
    assert step(blank, 1e-2).tolist() == [0, 0]
    assert same(step.weights(), before)
