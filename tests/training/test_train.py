"""The loop: training, the best weights, stopping and resuming bit for bit."""

from __future__ import annotations

import math
import os
import signal
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from torch import nn

from course_lib.text.batching import Epochs
from course_lib.text.encoded import encode_ids
from course_lib.training import loop, run_folder
from course_lib.training.checkpoint import CheckpointError, load_checkpoint, load_system, read_about
from course_lib.training.graph_step import GraphStep
from course_lib.training.loop import make_step, seed_of, train
from course_lib.training.objective import language_modelling, mean_loss, objective_for
from course_lib.training.processes import Processes
from course_lib.training.run_folder import RunFolder, describe
from course_lib.training.step import PlainStep

pytestmark = pytest.mark.slow


def same(tensors, others):
    assert tensors.keys() == others.keys()
    return all(torch.equal(tensor, others[name]) for name, tensor in tensors.items())


def copied(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def without_seconds(history):
    return [{**record, "seconds": 0} for record in history.to_json()]


@pytest.fixture(scope="module")
def run(data, recipe):
    """Trains on the hundred sentences, with the recipe of the fixture or a changed one."""

    def train_model(model, *, by=recipe, **more):
        return train(model, data.train, by, **{"validation": data.validation} | more)

    return train_model


@pytest.fixture(scope="module")
def worse(recipe):
    """A recipe with a rising loss: the best validation is an early one."""
    return replace(recipe, learning_rate=5.0, warm_up=12, decay="inverse_square_root", average_from=1.0)


@pytest.fixture(scope="module")
def run_until(run):
    """Trains until Ctrl-C is pressed (`times` times) in step `stop`, counted from where the run resumes."""

    def train_until(stop, model, *, times=1, **more):
        usual, calls = language_modelling(0.1), []

        def objective(model, batch):
            calls.extend([0] * model.training)
            if model.training and len(calls) == stop:
                for _ in range(times):
                    os.kill(os.getpid(), signal.SIGINT)
            return usual(model, batch)

        return run(model, objective=objective, **more)

    return train_until


# ---- training


def test_dropout_differs_from_step_to_step_and_not_from_run_to_run(run, make):
    usual, drawn = language_modelling(0.1), []

    def objective(model, batch):
        if model.training:
            drawn[-1].append(torch.rand(()).item())
        return usual(model, batch)

    for _ in range(2):
        drawn.append([])
        run(make(), objective=objective)
    assert drawn[0] == drawn[1] and len(set(drawn[0])) == len(drawn[0]) == 12


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_the_loss_falls_and_the_records_are_complete(data, make, recipe, run, name):
    records, model = [], make(name)
    longer = replace(recipe, n_steps=22, smoothing=0.0)
    result = run(model, by=longer, after_validation=records.append)
    assert records == result.history and [record.step for record in records] == [4, 8, 12, 16, 20, 22]
    assert records[-1].loss < records[0].loss < math.log(data.tokenizer.vocab_size) + 0.5
    assert [record.averaged for record in records] == [False] * 2 + [True] * 4  # after step 11
    assert records[0].seconds < records[1].seconds < records[2].seconds <= result.seconds
    assert all(4 * 60 < record.n_tokens < 4 * 128 for record in records[:5])
    assert result.ended == "finished" and result.step == 22 and not model.training


def test_every_step_gets_its_own_rate(make, recipe, run):
    """With a warm-up of 3, step 1 gets a third of the peak; step 12, the last, gets 0."""
    received = []

    class RecordingStep(PlainStep):
        def __call__(self, batch, rate):
            received.append(rate)
            return super().__call__(batch, rate)

    model = make()
    history = run(model, step=RecordingStep(model, language_modelling(0.1), recipe)).history
    rates = [1e-2 * part for part in (1 / 3, 2 / 3, *(remaining / 9 for remaining in range(9, -1, -1)))]
    assert received == pytest.approx(rates)
    assert [record.rate for record in history] == pytest.approx([rates[3], rates[7], rates[11]])
    model, often = make(dropout=0.0), replace(recipe, validate_every=1, average_from=1.0)
    weights = [copied(model)]
    run(model, by=often, after_validation=lambda _: weights.append(copied(model)), until=1)
    moved = max((weights[1][name] - weight).abs().max() for name, weight in weights[0].items())
    assert float(moved) == pytest.approx(rates[0], rel=1e-3)  # Adam's first step has the size of the rate


@pytest.mark.parametrize("chosen", ["recipe", "worse"])
def test_the_best_weights_are_in_the_model(data, make, run, request, chosen):
    model, by = make(), request.getfixturevalue(chosen)
    best = run(model, by=by).history.best
    assert (best.step < 12) == (chosen == "worse")
    loss = mean_loss(model, data.validation, objective_for(model, 0.0), tokens_per_batch=999)
    assert loss == pytest.approx(best.loss, rel=1e-6)


def test_the_train_loss_is_the_mean_over_tokens_since_the_last_record(make, recipe, run):
    """By hand, from the same steps."""
    sums = []

    def recording(model, batch):
        loss, n = language_modelling(0.1)(model, batch)
        if model.training:
            sums.append((loss.item(), int(n)))
        return loss, n

    result = run(make(dropout=0.0), by=replace(recipe, average_from=1.0), objective=recording)
    for index, record in enumerate(result.history):
        part = sums[4 * index : 4 * index + 4]
        assert record.n_tokens == sum(n for _, n in part)
        assert record.train_loss == pytest.approx(sum(s for s, _ in part) / record.n_tokens, rel=1e-6)


def test_the_average_is_the_mean_of_its_snapshots_and_validation_disturbs_nothing(make, recipe, run):
    """The same run, with the weights recorded after each step."""
    only = replace(recipe, average_from=1.0, validate_every=1, decay="inverse_square_root")
    snapshots, last = [], []
    run(often := make(), by=only, after_validation=lambda _: snapshots.append(copied(often)))
    seldom = replace(only, validate_every=12)
    run(rare := make(), by=seldom, after_validation=lambda _: last.append(copied(rare)))
    assert same(last[0], snapshots[-1])
    averaged = make()
    assert run(averaged, by=replace(seldom, average_from=0.5)).history.best.averaged
    for name, tensor in averaged.state_dict().items():
        mean = torch.stack([snapshots[step - 1][name] for step in (8, 10, 12)]).mean(0)
        torch.testing.assert_close(tensor, mean)


def test_the_recipe_determines_the_weights(make, recipe, run):
    plain = make()
    history = without_seconds(run(plain).history)
    torch.manual_seed(2)  # earlier random numbers must not matter
    assert without_seconds(run(again := make()).history) == history and same(
        again.state_dict(), plain.state_dict()
    )
    for change in ({"smoothing": 0.5}, {"clip": 1e-3}, {"seed": 4}):
        run(other := make(), by=replace(recipe, **change))
        assert not same(other.state_dict(), plain.state_dict()), change


@pytest.mark.parametrize(("seed", "rank"), [(1, 0), (0, 1)])
def test_dropout_depends_on_the_seed_and_the_process(make, recipe, seed, rank):
    """All batches have the same sentence, so only dropout can differ."""
    two, recipe = encode_ids([[5]] * 2, [[6, 7]] * 2), replace(recipe, tokens_per_batch=3)
    for dropout in (0.0, 0.5):
        usual, other = make(dropout=dropout), make(dropout=dropout)
        train(usual, two, recipe, validation=two)
        train(other, two, replace(recipe, seed=seed), validation=two, processes=Processes(rank=rank))
        assert same(usual.state_dict(), other.state_dict()) == (dropout == 0)


def test_the_seed_of_a_step_is_its_own():
    seeds = {seed_of(seed, step, rank) for seed in range(5) for step in range(50) for rank in range(3)}
    assert len(seeds) == 5 * 50 * 3
    assert 0 <= seed_of(-1, 2**40, 7) < 2**63


def test_a_run_whose_losses_are_nan_has_diverged(make, run):
    usual = language_modelling(0.1)

    def nan(model, batch):
        loss, n = usual(model, batch)
        return loss * math.nan, n

    result = run(make(), objective=nan)
    assert (result.ended, result.step) == ("diverged", 4) and result.history.best is None


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_validation_computes_as_training_does(make, recipe, run, precision):
    usual, modes = language_modelling(0.0), set()

    def recording(model, batch):
        modes.add((model.training, torch.is_autocast_enabled("cpu")))
        return usual(model, batch)

    run(make(), by=replace(recipe, n_steps=1, precision=precision), objective=recording)
    autocast = precision == "bfloat16"
    assert modes == {(True, autocast), (False, autocast)}


# ---- stopping and resuming


@pytest.fixture(scope="module")
def uninterrupted(data, make, recipe, run, tmp_path_factory):
    """The weights, the history and the last state of a run that was never stopped."""
    model = make()
    folder = RunFolder(
        tmp_path_factory.mktemp("uninterrupted"), describe("gru_lm", model.config, recipe, data)
    )
    result = run(model, folder=folder)
    return model.state_dict(), without_seconds(result.history), load_checkpoint(folder.last)[0]


def assert_as_if_never_stopped(uninterrupted, model, result, folder):
    weights, history, state = uninterrupted
    assert (result.ended, result.step) == ("finished", 12) and not model.training
    assert same(model.state_dict(), weights) and without_seconds(result.history) == history
    assert same(load_checkpoint(folder.last)[0], state)  # optimizer state and average too
    assert same(load_checkpoint(folder.best)[0], weights)


@pytest.mark.parametrize("stop", [1, 4, 11])
def test_stopped_anywhere_and_resumed_is_as_if_never_stopped(
    make, run, run_until, folder, uninterrupted, stop
):
    first = run_until(stop, stopped := make(), folder=folder())
    assert first.ended == "stopped" and first.step == stop and not stopped.training
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    saved = load_system(folder().best)  # before the first validation, the newest weights
    assert same(saved.model.state_dict(), stopped.state_dict())
    assert saved.about["history"] == first.history.to_json()
    standing = read_about(folder().last)["standing"]
    assert standing["step"] == stop
    model = make(seed=99)
    second = run(model, folder=folder())
    assert_as_if_never_stopped(uninterrupted, model, second, folder())
    assert second.seconds > standing["seconds"] > 0
    files = folder().last.read_bytes(), read_about(folder().best)

    def fails(model, batch):
        raise AssertionError("there is nothing to compute")

    again = run(model := make(seed=5), objective=fails, folder=folder())
    assert_as_if_never_stopped(uninterrupted, model, again, folder())
    assert (folder().last.read_bytes(), read_about(folder().best)) == files


def test_a_run_can_be_stopped_at_every_step(make, run_until, folder, uninterrupted):
    for step in range(1, 13):
        result = run_until(1, model := make(seed=step - 1), folder=folder())
        assert result.step == step
    assert_as_if_never_stopped(uninterrupted, model, result, folder())


def test_a_second_ctrl_c_and_an_error_in_a_callback_end_at_once_and_leave_a_model(
    make, run, run_until, folder, uninterrupted
):
    def fails(record):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run(model := make(), folder=folder(), after_validation=fails)
    assert read_about(folder().last)["standing"]["step"] == 4
    with pytest.raises(KeyboardInterrupt):
        run_until(2, model := make(), times=2, folder=folder())
    assert not model.training and same(model.state_dict(), load_system(folder().best).model.state_dict())
    assert_as_if_never_stopped(uninterrupted, model, run(model, folder=folder()), folder())


def test_a_checkpoint_is_saved_each_minute_also_between_validations(make, recipe, run, folder, monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)
    usual, existing = language_modelling(0.1), []

    def recording(model, batch):
        if model.training:
            existing.append((folder().last.exists(), folder().best.exists()))
        return usual(model, batch)

    rare = replace(recipe, validate_every=100)
    run(make(), by=rare, objective=recording, folder=folder(rare))
    assert existing == [(False, False)] + [(True, True)] * 11


def test_a_minute_is_counted_from_the_last_save(make, recipe, run, folder, monkeypatch):
    """With a clock by which each step takes 25 seconds, a run is saved at every third step."""
    usual, n_steps, saved = language_modelling(0.1), [], []

    def counting(model, batch):
        if model.training:
            n_steps.append(1)
        return usual(model, batch)

    def save(folder, state, tensors):
        saved.append(state.step)

    monkeypatch.setattr(loop.time, "perf_counter", lambda: 25.0 * len(n_steps))
    monkeypatch.setattr(RunFolder, "save", save)
    rare = replace(recipe, validate_every=100)
    run(make(), by=rare, objective=counting, folder=folder(rare))
    assert saved == [3, 6, 9, 12]


@pytest.mark.parametrize("victim", ["best", "last"])
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("chosen", ["recipe", "worse"])
def test_killed_while_it_writes(make, run, run_until, folder, request, monkeypatch, chosen, number, victim):
    """Before both files of a validation or between them, whether it was the best so far or not."""
    by = request.getfixturevalue(chosen)
    killed, whole = folder(by), folder(by, path=folder().folder.parent / "whole")
    saved, real = [], run_folder.save_checkpoint

    def write(path, *args):
        saved.append(path)
        if path == getattr(killed, victim) and saved.count(path) == number + 1:
            raise SystemExit("killed")
        real(path, *args)

    uninterrupted = run(make(), by=by, folder=whole)
    with monkeypatch.context() as patch, suppress(SystemExit):
        patch.setattr(run_folder, "save_checkpoint", write)
        run(make(), by=by, folder=killed)
    run_until(1, make(), by=by, folder=folder(by))  # resumed, and stopped again at once
    resumed = run(make(), by=by, folder=folder(by))
    assert without_seconds(resumed.history) == without_seconds(uninterrupted.history)
    assert (
        read_about(whole.best)["history"] == uninterrupted.history.to_json()
    )  # including the records after the best
    for name in ("last", "best"):
        assert same(*(load_checkpoint(getattr(files, name))[0] for files in (killed, whole)))


# ---- models


def test_a_model_of_your_own_needs_an_objective_and_can_be_resumed(make, run, run_until, folder):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.table = nn.Embedding(500, 500)
            self.idle = nn.Parameter(torch.ones(1))  # never gets a gradient

        def forward(self, tokens):
            return self.table(tokens)

    with pytest.raises(TypeError, match="Own is neither a translator nor a language model: pass an obj"):
        run(Own())
    with pytest.raises(TypeError, match="NGramLM has no parameters"):
        run(make("ngram_lm"))
    result = run(uninterrupted := Own(), objective=language_modelling(0.1))
    assert result.history[-1].loss < result.history[0].loss
    run_until(5, Own(), folder=folder())
    with pytest.raises(CheckpointError, match=r"last.safetensors doesn't fit"):
        run(make(), folder=folder())
    run(resumed := Own(), objective=language_modelling(0.1), folder=folder())
    assert same(resumed.state_dict(), uninterrupted.state_dict())


def test_the_fast_step_needs_a_gpu(make, recipe):
    model = make()
    fast = replace(recipe, fixed_shapes=True, precision="bfloat16")
    objective = objective_for(model, 0.0)
    assert isinstance(make_step(model, objective, recipe), PlainStep)
    assert isinstance(make_step(model, objective, fast), PlainStep)  # there is no GPU
    if torch.cuda.is_available():
        assert isinstance(make_step(make().cuda(), objective, fast), GraphStep)


# ---- a step, batches, a schedule, scores


class HalfStep(PlainStep):
    """Adam at half the rate."""

    def __call__(self, batch, rate):
        return super().__call__(batch, rate / 2)


def test_the_step_the_schedule_and_the_batches_can_be_replaced(data, make, recipe, run):
    objective, by = language_modelling(0.1), replace(recipe, average_from=1.0)
    same_rate = {"schedule": lambda number: 2 * by.rate(number), "objective": objective}
    usual, halved = make(), make()
    history = without_seconds(run(usual, by=by, objective=objective).history)
    result = run(halved, by=by, step=HalfStep(halved, objective, by), **same_rate)
    assert same(halved.state_dict(), usual.state_dict())
    assert [record.rate for record in result.history] == [2 * record["rate"] for record in history]
    batches = Epochs(data.train, tokens_per_batch=by.tokens_per_batch, seed=by.seed)
    run(again := make(), by=by, objective=objective, batches=batches)
    assert same(again.state_dict(), usual.state_dict()) and batches.position != (0, 0)
    other = Epochs(data.train, tokens_per_batch=by.tokens_per_batch, seed=by.seed + 1)
    run(shuffled := make(), by=by, objective=objective, batches=other)
    assert not same(shuffled.state_dict(), usual.state_dict())


def test_scores_are_recorded_with_the_weights_that_were_validated(make, recipe, run, folder):
    @torch.no_grad()
    def bias(model):
        assert not model.training
        return {"sum": float(sum(weight.sum() for weight in model.parameters()))}

    result = run(model := make(), folder=folder(), score=bias)
    assert len({record.scores["sum"] for record in result.history}) == len(result.history)
    assert bias(model) == result.history.best.scores
    assert read_about(folder().last)["history"] == result.history.to_json()
    assert folder().load()[0].history == result.history
    assert "scores" not in run(make()).history.to_json()[0]


@pytest.mark.parametrize("until", [1, 4, 11])
def test_until_equals_stopping_at_that_step(make, run, folder, uninterrupted, until):
    first = run(make(), folder=folder(), until=until)
    assert (first.ended, first.step) == ("stopped", until)
    content = folder().last.read_bytes()
    assert run(make(), folder=folder(), until=until).step == until and folder().last.read_bytes() == content
    second = run(model := make(seed=9), folder=folder(), until=99)
    assert_as_if_never_stopped(uninterrupted, model, second, folder())
