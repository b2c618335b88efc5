"""The recorded step on a GPU equals the plain one, and falls back to it if recording fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from course_lib.text.batch import Batch, make_batch
from course_lib.text.encoded import encode_ids
from course_lib.training.graph_step import GraphStep
from course_lib.training.loop import train
from course_lib.training.objective import objective_for
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder, describe
from course_lib.training.step import PlainStep

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
    pytest.mark.filterwarnings("default"),  # torch and the driver print their own
]
RECIPE = Recipe(
    n_steps=20, tokens_per_batch=128, learning_rate=1e-2, warm_up=2, validate_every=5, fixed_shapes=True
)
NAMES = ["gru_lm", "transformer", "bahdanau"]


def batches() -> list[Batch]:
    shapes = [([[5, 6], [7], [8, 9, 10]], [[4], [5, 6, 7, 8], [9]]), ([[6, 4], [9], [4]], [[7, 8], [5], [6]])]
    first = [make_batch(*pair, src_len=6, tgt_len=6).to("cuda") for pair in shapes]
    pairs = torch.tensor([0, 1, 2, -1])  # the last row is blank
    return [*first, encode_ids(*shapes[0]).batch(pairs, src_len=8, tgt_len=8).to("cuda")]


def pair_of_steps(make, name, precision):
    steps = []
    for kind in (PlainStep, GraphStep):
        model = make(name, dropout=0.0).cuda()
        recipe = replace(RECIPE, precision=precision)
        steps.append(kind(model, objective_for(model, recipe.smoothing), recipe))
    return steps


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-4), ("bfloat16", 5e-2)])
def test_the_graph_step_equals_the_plain_step(make, name, precision, tolerance):
    plain, fast = pair_of_steps(make, name, precision)
    for number in range(9):
        batch, rate = batches()[number % 3], 1e-3 * (1 + number % 4)
        actual, expected = fast(batch, rate).clone(), plain(batch, rate)
        assert actual[1] == expected[1]
        torch.testing.assert_close(actual[0], expected[0], rtol=tolerance, atol=tolerance)
    assert len(fast.recordings) == 2 and fast.records
    for key, tensor in plain.weights().items():
        torch.testing.assert_close(fast.weights()[key], tensor, rtol=tolerance, atol=tolerance)


def test_dropout_differs_from_replay_to_replay(make):
    model = make(dropout=0.5).cuda()
    step = GraphStep(model, objective_for(model, 0.0), RECIPE)
    losses = {float(step(batches()[0], 1e-9)[0]) for _ in range(5)}
    assert len(losses) == 5


def test_a_step_that_cannot_be_recorded_runs_without_a_graph(make, capsys):
    model = make(dropout=0.0).cuda()
    objective = objective_for(model, 0.1)

    def synchronising(model, batch):
        loss, n = objective(model, batch)
        float(loss)  # synchronising is an error during recording
        return loss, n

    step = GraphStep(model, synchronising, RECIPE)
    plain = PlainStep(make(dropout=0.0).cuda(), objective, RECIPE)
    for _ in range(2):
        torch.testing.assert_close(step(batches()[0], 1e-3), plain(batches()[0], 1e-3), rtol=1e-4, atol=1e-4)
    printed = capsys.readouterr().err
    assert len(printed.splitlines()) == 1 and "CUDA graph" in printed and not step.records


@pytest.mark.parametrize("name", NAMES)
def test_state_holding_and_finish_with_recordings(make, name):
    _, step = pair_of_steps(make, name, "bfloat16")
    step(batches()[0], 1e-3)
    saved = {key: tensor.cpu().clone() for key, tensor in step.state().items()}
    first = step(batches()[1], 1e-3).clone()
    weights = {key: tensor.clone() for key, tensor in step.weights().items()}
    with step.holding({key: torch.zeros_like(tensor) for key, tensor in weights.items()}) as model:
        assert all((tensor == 0).all() for tensor in model.state_dict().values())
    assert all(torch.equal(tensor, weights[key]) for key, tensor in step.weights().items())
    step.load(saved)  # back by one step; the recordings stay valid
    torch.testing.assert_close(step(batches()[1], 1e-3), first, rtol=1e-2, atol=1e-2)
    step.finish(weights)
    assert all(torch.equal(step.model.state_dict()[key], tensor) for key, tensor in weights.items())


@pytest.mark.parametrize("fast", [True, False])
def test_a_run_can_be_resumed(make, data, tmp_path, fast):
    """The average, best weights and optimiser state end up on the right device (not bit for bit equal)."""
    precision = "bfloat16" if fast else "float32"
    recipe = replace(RECIPE, average_from=0.2, average_every=1, fixed_shapes=fast, precision=precision)
    on_gpu = data.to("cuda")
    about = describe("gru_lm", make().config, recipe, on_gpu)

    def stop_once(record):
        if record.step == 10:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train(
            make().cuda(),
            on_gpu.train,
            recipe,
            validation=on_gpu.validation,
            folder=RunFolder(tmp_path, about),
            after_validation=stop_once,
        )
    model = make(seed=3).cuda()
    result = train(
        model, on_gpu.train, recipe, validation=on_gpu.validation, folder=RunFolder(tmp_path, about)
    )
    assert result.ended == "finished"
    assert [record.step for record in result.history] == [5, 10, 15, 20]
    assert result.history[-1].loss < result.history[0].loss
    assert all(p.device.type == "cuda" and p.dtype == torch.float32 for p in model.parameters())
