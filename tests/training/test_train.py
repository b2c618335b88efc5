"""The loop: it learns, keeps the best, stops and goes on, and never depends on when it was stopped."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import replace

import pytest
import torch
from torch import nn

from course_lib.text.encoded import encode_ids
from course_lib.training import run_folder
from course_lib.training import train as loop
from course_lib.training.checkpoint import describe, load_checkpoint, load_system, read_about
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import language_modelling, objective_for
from course_lib.training.processes import ALONE, Processes
from course_lib.training.run_folder import RunFolder
from course_lib.training.step import PlainStep
from course_lib.training.train import make_step, seed_of, train
from course_lib.training.validation import mean_loss

pytestmark = pytest.mark.slow


def same(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def copied(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def told(history):
    """Everything but the clock."""
    return [{**record, "seconds": 0} for record in history.to_json()]


@pytest.fixture(scope="module")
def run(data, recipe):
    """Train on the hundred sentences, by the usual recipe or a changed one."""

    def one(model, *, by=recipe, **more):
        return train(model, data.train, by, **{"validation": data.validation} | more)

    return one


@pytest.fixture(scope="module")
def worse(recipe):
    """Gets worse and worse: the best is an early validation."""
    return replace(recipe, learning_rate=5.0, warm_up=12, decay="inverse_square_root", average_from=1.0)


@pytest.fixture(scope="module")
def run_until(run):
    """Train, and be interrupted in a step, counted from where the folder is: as often as asked for."""

    def one(stop, model, *, times=1, **more):
        usual, calls = language_modelling(0.1), []

        def objective(model, batch):
            calls.append(0)
            if len(calls) == stop:
                for _ in range(times):
                    os.kill(os.getpid(), signal.SIGINT)
            return usual(model, batch)

        return run(model, objective=objective, validation_objective=language_modelling(0.0), **more)

    return one


# ---- it learns


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_the_loss_falls_and_records_say_what_happened(data, make, recipe, run, name):
    seen, model = [], make(name)
    longer = replace(recipe, n_steps=22, smoothing=0.0)
    result = run(model, by=longer, after_validation=seen.append)
    assert seen == result.history.records and [record.step for record in seen] == [4, 8, 12, 16, 20, 22]
    assert seen[-1].loss < seen[0].loss < math.log(data.tokenizer.vocab_size) + 0.5
    assert [record.averaged for record in seen] == [False] * 2 + [True] * 4  # after step 11
    assert [record.rate for record in seen] == [longer.rate(record.step) for record in seen]
    assert seen[0].seconds < seen[1].seconds < seen[2].seconds <= result.seconds
    assert all(4 * 60 < record.n_tokens < 4 * 128 for record in seen[:5])
    assert result.ended == "finished" and result.step == 22 and not model.training


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

    def noting(model, batch):
        loss, n = language_modelling(0.1)(model, batch)
        if model.training:
            sums.append((loss.item(), int(n)))
        return loss, n

    result = run(make(dropout=0.0), by=replace(recipe, average_from=1.0), objective=noting)
    for place, record in enumerate(result.history.records):
        part = sums[4 * place : 4 * place + 4]
        assert record.n_tokens == sum(n for _, n in part)
        assert record.train_loss == pytest.approx(sum(s for s, _ in part) / record.n_tokens, rel=1e-6)


def test_the_average_is_the_mean_of_its_snapshots_and_validation_disturbs_nothing(make, recipe, run):
    """The same run, with the weights noted after each step."""
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


def test_early_stop_by_patience(make, worse, run, folder):
    hopeless = replace(worse, n_steps=40, patience=2)
    result = run(make(), by=hopeless, folder=folder(hopeless))
    assert result.ended == "no better for long" and result.step == result.history.best.step + 2 * 4 < 40
    again = run(make(seed=3), by=hopeless, folder=folder(hopeless))
    assert again.ended == "no better for long" and again.step == result.step  # not a step further


def test_numbers_of_the_recipe_reach_the_step_and_the_same_ones_give_the_same_weights(make, recipe, run):
    plain = make()
    history = told(run(plain).history)
    torch.manual_seed(2)  # what was drawn before does not matter
    assert told(run(again := make()).history) == history and same(again.state_dict(), plain.state_dict())
    for change in ({"smoothing": 0.5}, {"clip": 1e-3}, {"weight_decay": 0.5}, {"seed": 4}):
        run(other := make(), by=replace(recipe, **change))
        assert not same(other.state_dict(), plain.state_dict()), change


class Pretending(Processes):
    """One of several processes, though it is alone and talks to nobody."""

    def share(self, batch):
        return batch

    def add_up(self, tensor):
        return tensor

    def wrap(self, model):
        return model

    def check_same(self, what, value):
        pass


@pytest.mark.parametrize(
    ("seed", "processes"), [(1, ALONE), (0, Pretending(n=2, rank=1))], ids=["another seed", "another process"]
)
def test_dropout_is_drawn_by_the_seed_and_by_the_process(make, recipe, seed, processes):
    """Every batch is the same sentence, whatever the seed and the process: dropout alone can differ."""
    two, recipe = encode_ids([[5]] * 2, [[6, 7]] * 2), replace(recipe, tokens_per_batch=3)
    weights = {}
    for dropout in (0.0, 0.5):
        usual, other = make(dropout=dropout), make(dropout=dropout)
        train(usual, two, recipe, validation=two, processes=Pretending(n=processes.n))
        train(other, two, replace(recipe, seed=seed), validation=two, processes=processes)
        weights[dropout] = usual.state_dict(), other.state_dict()
    assert same(*weights[0.0]) and not same(*weights[0.5])


def test_the_seed_of_a_step_is_its_own():
    seeds = {seed_of(seed, step, rank) for seed in range(5) for step in range(50) for rank in range(3)}
    assert len(seeds) == 5 * 50 * 3
    assert 0 <= seed_of(-1, 2**40, 7) < 2**63


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("fixed_shapes", [True, False])
def test_validation_computes_as_training_does(make, recipe, run, precision, fixed_shapes):
    usual, seen = language_modelling(0.0), set()

    def noting(model, batch):
        seen.add((model.training, torch.is_autocast_enabled("cpu")))
        return usual(model, batch)

    short = replace(recipe, n_steps=1, precision=precision, fixed_shapes=fixed_shapes)
    run(make(), by=short, objective=noting)
    rounds = precision == "bfloat16"
    assert seen == {(True, rounds), (False, rounds)}


# ---- stopped and resumed


@pytest.fixture(scope="module")
def straight(data, make, recipe, run, tmp_path_factory):
    """The run that was never stopped: its weights, its history, its last state."""
    model = make()
    folder = RunFolder(tmp_path_factory.mktemp("straight"), describe("gru_lm", model.config, recipe, data))
    result = run(model, folder=folder)
    return model.state_dict(), told(result.history), load_checkpoint(folder.last)[0]


def assert_as_if_never_stopped(straight, model, result, folder):
    weights, history, state = straight
    assert (result.ended, result.step) == ("finished", 12) and not model.training
    assert same(model.state_dict(), weights) and told(result.history) == history
    assert same(load_checkpoint(folder.last)[0], state)  # optimizer state and average too
    assert same(load_checkpoint(folder.best)[0], weights)


@pytest.mark.parametrize("stop", [1, 4, 5, 8, 11])
def test_stopped_anywhere_and_resumed_is_as_if_never_stopped(make, run, run_until, folder, straight, stop):
    first = run_until(stop, stopped := make(), folder=folder())
    assert first.ended == "stopped" and first.step == stop and not stopped.training
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    saved = load_system(folder().best)  # before the first validation, the newest weights
    assert same(saved.model.state_dict(), stopped.state_dict())
    assert saved.about["history"] == first.history.to_json()
    assert read_about(folder().last)["standing"]["step"] == stop
    model = make(seed=99)  # whatever was in it
    second = run(model, folder=folder())
    assert_as_if_never_stopped(straight, model, second, folder())
    assert second.seconds > first.seconds
    kept = folder().last.read_bytes(), read_about(folder().best)

    def fails(model, batch):
        raise AssertionError("there is nothing to compute")

    again = run(model := make(seed=5), objective=fails, folder=folder())
    assert_as_if_never_stopped(straight, model, again, folder())
    assert (folder().last.read_bytes(), read_about(folder().best)) == kept  # nor anything new to write


def test_stopped_at_every_single_step_the_last_one_is_an_end(make, run_until, folder, straight):
    for step in range(1, 13):
        result = run_until(1, model := make(seed=step - 1), folder=folder())
        assert result.step == step
    assert_as_if_never_stopped(straight, model, result, folder())


def test_a_second_ctrl_c_and_an_error_of_ones_own_end_at_once_and_leave_a_model(
    make, run, run_until, folder, straight
):
    def fails(record):
        raise BrokenPipeError("nobody listens")

    with pytest.raises(BrokenPipeError):
        run(model := make(), folder=folder(), after_validation=fails)
    assert read_about(folder().last)["standing"]["step"] == 4
    with pytest.raises(KeyboardInterrupt):
        run_until(2, model := make(), times=2, folder=folder())
    assert not model.training and same(model.state_dict(), load_system(folder().best).model.state_dict())
    assert_as_if_never_stopped(straight, model, run(model, folder=folder()), folder())


def test_a_checkpoint_is_saved_each_minute_however_seldom_validated(make, recipe, run, folder, monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)  # the minute is over at once
    usual, seen = language_modelling(0.1), []

    def noting(model, batch):
        if model.training:
            seen.append((folder().last.exists(), folder().best.exists()))
        return usual(model, batch)

    rare = replace(recipe, validate_every=100)
    run(make(), by=rare, objective=noting, folder=folder(rare))
    assert seen == [(False, False)] + [(True, True)] * 11


@pytest.mark.parametrize("victim", ["best", "last"])
@pytest.mark.parametrize("validation", range(3))
def test_killed_while_it_writes(make, run, run_until, folder, straight, monkeypatch, victim, validation):
    """Between the two files of a validation, or before both."""
    kept, saved, real = folder(), [], run_folder.save_checkpoint

    def write(path, *args):
        saved.append(path)
        if path == getattr(kept, victim) and saved.count(path) == validation + 1:
            raise SystemExit("killed")
        real(path, *args)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(run_folder, "save_checkpoint", write)
        run(make(), folder=kept)
    run_until(1, make(), folder=folder())  # resumed, and stopped again at once
    assert_as_if_never_stopped(straight, model := make(), run(model, folder=folder()), kept)


@pytest.mark.parametrize("victim", ["best", "last"])
def test_killed_while_it_writes_after_a_validation_that_was_worse(make, run, folder, monkeypatch, victim):
    """Then `last` holds no best weights, and `best` must still be the old ones or `last` have the new."""
    kept, real, one = folder(), run_folder.save_checkpoint, encode_ids([[5]], [[6]])

    def run_with(losses, folder):
        said = iter(losses)

        def measured(model, batch):  # the validation loss is whatever we want it to be
            return torch.tensor(next(said)), torch.tensor(1)

        return run(make(), validation=one, validation_objective=measured, folder=folder)

    def write(path, tensors, about):
        if path == getattr(kept, victim) and about["history"][-1]["step"] == 12:
            raise SystemExit("killed")
        real(path, tensors, about)

    whole = folder(path=kept.folder.parent / "straight")
    straight = run_with([1.0, 2.0, 0.5], whole)
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(run_folder, "save_checkpoint", write)
        run_with([1.0, 2.0, 0.5], kept)
    resumed = run_with([0.5] if victim == "last" else [], folder())
    assert told(resumed.history) == told(straight.history)
    assert same(load_checkpoint(kept.best)[0], load_checkpoint(whole.best)[0])


# ---- what can be trained


def test_sentences_longer_than_the_system_and_systems_without_weights_are_refused_at_once(make, recipe):
    long, short = encode_ids([[5] * 16], [[6] * 16]), encode_ids([[5]], [[6]])
    for train_on, validate_on in ((long, short), (short, long)):
        with pytest.raises(ValueError, match=r"at most 16 tokens.*one of 17.*larger max_len"):
            train(make("transformer"), train_on, recipe, validation=validate_on)
    fits = encode_ids([[5] * 12], [[6] * 12])  # 13 with EOS; a batch of fixed shape has 14 places
    fixed = replace(recipe, fixed_shapes=True)
    with pytest.raises(ValueError, match=r"at most 13 tokens.*one of 14.*larger max_len"):
        train(make("transformer", max_len=13), fits, fixed, validation=short)
    only_source = encode_ids([[5] * 16], [[6]])
    train(make("gru_lm"), only_source, replace(recipe, n_steps=1), validation=only_source)  # never read
    with pytest.raises(TypeError, match=r"NGramLM has none.*by_kind.py"):
        train(make("ngram_lm"), short, recipe, validation=short)


def test_a_model_of_your_own_needs_an_objective_and_can_be_resumed(make, run, run_until, folder):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.table = nn.Embedding(500, 500)
            self.idle = nn.Parameter(torch.ones(1))  # never gets a gradient
            self.register_buffer("seen", torch.tensor(0))

        def forward(self, tokens):
            self.seen += 1
            return self.table(tokens)

    with pytest.raises(TypeError, match="Pass an objective of your own"):
        run(Own())
    losses = {"objective": language_modelling(0.1), "validation_objective": language_modelling(0.0)}
    result = run(straight := Own(), **losses)
    assert result.history.records[-1].loss < result.history.records[0].loss
    run_until(5, Own(), folder=folder())
    run(resumed := Own(), **losses, folder=folder())
    assert same(resumed.state_dict(), straight.state_dict())


def test_which_step_is_taken(make, recipe):
    model = make()
    fast = replace(recipe, fixed_shapes=True, precision="bfloat16")
    objective = objective_for(model, 0.0)
    assert isinstance(make_step(model, objective, recipe), PlainStep)
    assert isinstance(make_step(model, objective, fast), PlainStep)  # there is no GPU
    if torch.cuda.is_available():
        assert isinstance(make_step(make().cuda(), objective, fast), GraphStep)
        counting = make().cuda()
        counting.register_buffer("seen", torch.zeros(1, device="cuda"))
        assert isinstance(make_step(counting, objective, fast), PlainStep)
