"""The loop: it learns, keeps the best, stops and goes on, and never depends on when it was stopped."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import replace

import pytest
import torch
from course_lib.training.saved_system import load_system
from torch import nn

from course_lib.text.encoded import encode_ids
from course_lib.training.checkpoint import load_checkpoint, read_about
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import language_modelling, objective_for
from course_lib.training.processes import ALONE, Processes
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep
from course_lib.training.train import make_step, seed_of, train
from course_lib.training.validation import mean_loss

pytestmark = pytest.mark.slow


def same(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def told(history):
    """Everything but the clock."""
    return [{**record, "seconds": 0} for record in history.to_json()]


def few(value, quick):
    """One of many like it: in a quick run only some."""
    return pytest.param(value, marks=[] if quick else [pytest.mark.slow])


class StopAt:
    """An objective that asks for an end, as Ctrl-C would, while a step is being computed."""

    def __init__(self, objective, *steps):
        self.objective, self.steps, self.calls = objective, steps, 0

    def __call__(self, model, batch):
        self.calls += model.training
        if model.training and self.calls in self.steps:
            os.kill(os.getpid(), signal.SIGINT)
        return self.objective(model, batch)


def train_until(stop, model, data, recipe, keeper):
    """Train, and be stopped in the step of this number, counted from where the folder stands."""
    return train(
        model,
        data.train,
        recipe,
        validation=data.validation,
        objective=StopAt(language_modelling(recipe.smoothing), stop),
        validation_objective=language_modelling(0.0),
        keeper=keeper,
    )


# ---- it learns


@pytest.mark.parametrize("name", ["gru_lm", "transformer"])
def test_the_loss_falls_and_the_best_weights_are_in_the_model(data, make, recipe, name):
    model = make(name)
    result = train(model, data.train, replace(recipe, n_steps=24, smoothing=0.0), validation=data.validation)
    losses = [record.loss for record in result.history.records]
    assert len(losses) == 6 and losses[-1] < losses[0] < math.log(data.tokenizer.vocab_size) + 0.5
    assert result.ended == "finished" and result.step == 24 and not model.training
    loss = mean_loss(model, data.validation, objective_for(model, 0.0), tokens_per_batch=999)
    assert loss == pytest.approx(result.history.best.loss, rel=1e-6)


def test_the_best_weights_are_not_the_last(data, make, recipe):
    model = make()
    worse = replace(recipe, learning_rate=5.0, warm_up=12, decay="inverse_square_root", average_from=1.0)
    result = train(model, data.train, worse, validation=data.validation)
    assert result.history.best.step < 12
    loss = mean_loss(model, data.validation, objective_for(model, 0.0), tokens_per_batch=999)
    assert loss == pytest.approx(result.history.best.loss, rel=1e-6)


def test_records_say_what_happened(data, make, recipe):
    seen = []
    result = train(make(), data.train, recipe, validation=data.validation, after_look=seen.append)
    assert seen == result.history.records
    assert [record.step for record in seen] == [4, 8, 12]
    assert [record.averaged for record in seen] == [False, True, True]  # from step 8 on
    assert [record.rate for record in seen] == [recipe.rate(step) for step in (4, 8, 12)]
    assert seen[0].seconds < seen[1].seconds < seen[2].seconds <= result.seconds
    assert all(4 * 60 < record.n_tokens < 4 * 128 for record in seen)


def test_the_train_loss_is_the_mean_over_tokens_since_the_last_record(data, make, recipe):
    """By hand, from the same steps."""
    model, step_recipe = make(dropout=0.0), replace(recipe, average_from=1.0)
    sums = []

    def noting(model, batch):
        loss, n = language_modelling(0.1)(model, batch)
        if model.training:
            sums.append((loss.item(), int(n)))
        return loss, n

    result = train(model, data.train, step_recipe, validation=data.validation, objective=noting)
    for place, record in enumerate(result.history.records):
        part = sums[4 * place : 4 * place + 4]
        assert record.n_tokens == sum(n for _, n in part)
        assert record.train_loss == pytest.approx(sum(s for s, _ in part) / record.n_tokens, rel=1e-6)


def test_the_last_step_is_always_looked_at(data, make, recipe):
    result = train(make(), data.train, replace(recipe, n_steps=5), validation=data.validation)
    assert [record.step for record in result.history.records] == [4, 5]


def test_the_average_is_the_mean_of_its_snapshots(data, make, recipe):
    """The same run, with the weights noted after each step."""
    only = replace(recipe, average_from=1.0, validate_every=1, decay="inverse_square_root")
    snapshots = []

    def note(record):
        snapshots.append({name: tensor.clone() for name, tensor in model.state_dict().items()})

    model = make()
    train(model, data.train, only, validation=data.validation, after_look=note)
    averaging = replace(only, average_from=0.5, validate_every=12)
    averaged = make()
    result = train(averaged, data.train, averaging, validation=data.validation)
    assert result.history.best.averaged
    for name, tensor in averaged.state_dict().items():
        mean = torch.stack([snapshots[step - 1][name] for step in (8, 10, 12)]).mean(0)
        torch.testing.assert_close(tensor, mean)


def test_early_stop_by_patience(data, make, recipe, keeper):
    hopeless = replace(
        recipe, n_steps=40, learning_rate=5.0, warm_up=12, decay="inverse_square_root", patience=2
    )
    hopeless = replace(hopeless, average_from=1.0)
    result = train(make(), data.train, hopeless, validation=data.validation, keeper=keeper(hopeless))
    best = result.history.best.step
    assert result.ended == "no better for long" and result.step == best + 2 * 4 < 40
    again = train(make(seed=3), data.train, hopeless, validation=data.validation, keeper=keeper(hopeless))
    assert again.ended == "no better for long" and again.step == result.step  # not a step further


@pytest.mark.slow
def test_smoothing_and_clip_and_decay_reach_the_step(data, make, recipe):
    plain = make(dropout=0.0)
    train(plain, data.train, recipe, validation=data.validation)
    for change in ({"smoothing": 0.5}, {"clip": 1e-3}, {"weight_decay": 0.5}, {"seed": 4}):
        other = make(dropout=0.0)
        train(other, data.train, replace(recipe, **change), validation=data.validation)
        assert not same(other.state_dict(), plain.state_dict()), change


# ---- the same again


def test_the_same_seed_gives_the_same_weights_bit_for_bit(data, make, recipe):
    runs = []
    for noise in (1, 2):
        model = make()
        torch.manual_seed(noise)  # what was drawn before does not matter
        result = train(model, data.train, recipe, validation=data.validation)
        runs.append((model.state_dict(), told(result.history)))
    assert same(runs[0][0], runs[1][0]) and runs[0][1] == runs[1][1]
    other = make()
    train(other, data.train, replace(recipe, seed=1), validation=data.validation)
    assert not same(other.state_dict(), runs[0][0])


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


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_validation_computes_as_training_does(data, make, recipe, precision):
    usual, seen = language_modelling(0.0), set()

    def noting(model, batch):
        seen.add((model.training, torch.is_autocast_enabled("cpu")))
        return usual(model, batch)

    short = replace(recipe, n_steps=1, precision=precision)
    train(make(), data.train, short, validation=data.validation, objective=noting)
    rounds = precision == "bfloat16"
    assert seen == {(True, rounds), (False, rounds)}


def test_looking_does_not_disturb_training(data, make, recipe):
    often, seldom = (replace(recipe, average_from=1.0, validate_every=every) for every in (1, 12))
    states = []
    for each in (often, seldom):
        step_states = []
        train(
            model := make(),
            data.train,
            each,
            validation=data.validation,
            after_look=lambda record, kept=step_states, model=model: kept.append(
                {name: tensor.clone() for name, tensor in model.state_dict().items()}
            ),
        )
        states.append(step_states[-1])
    assert same(*states)


def test_the_seed_of_a_step_is_its_own():
    seeds = {seed_of(seed, step, rank) for seed in range(5) for step in range(50) for rank in range(3)}
    assert len(seeds) == 5 * 50 * 3
    assert 0 <= seed_of(-1, 2**40, 7) < 2**63


# ---- stopped and resumed


@pytest.fixture(scope="module")
def straight(data, make, recipe, tmp_path_factory):
    """The run that was never stopped: its weights, its history, its last state."""
    from course_lib.training.saved_system import describe

    from course_lib.training.run_folder import RunFolder

    model = make()
    keeper = RunFolder(tmp_path_factory.mktemp("straight"), describe("gru_lm", model.config, recipe, data))
    result = train(model, data.train, recipe, validation=data.validation, keeper=keeper)
    return model.state_dict(), told(result.history), load_checkpoint(keeper.last)[0]


@pytest.mark.parametrize("stop", [few(stop, stop in (5, 8)) for stop in range(1, 12)])
def test_stopped_anywhere_and_resumed_is_as_if_never_stopped(data, make, recipe, keeper, straight, stop):
    first = train_until(stop, make(), data, recipe, keeper())
    assert first.ended == "stopped" and first.step == stop
    model = make(seed=99)  # whatever was in it
    second = train(model, data.train, recipe, validation=data.validation, keeper=keeper())
    assert second.ended == "finished" and second.step == 12
    weights, history, state = straight
    assert same(model.state_dict(), weights)
    assert told(second.history) == history
    assert same(load_checkpoint(keeper().last)[0], state)  # Adam's memory and the average too
    assert same(load_checkpoint(keeper().best)[0], weights)
    assert second.seconds > first.seconds


def test_stopped_at_every_single_step(data, make, recipe, keeper, straight):
    step, runs = 0, 0
    while step < 12:
        model = make(seed=runs)
        result = train_until(1, model, data, recipe, keeper())
        step, runs = result.step, runs + 1
        assert step == runs
    assert result.ended == "finished"
    assert same(model.state_dict(), straight[0]) and told(result.history) == straight[1]


def test_a_finished_run_called_again_returns_at_once(data, make, recipe, keeper, straight):
    train(make(), data.train, recipe, validation=data.validation, keeper=keeper())
    kept = keeper().last.read_bytes(), keeper().best.read_bytes()

    def fails(model, batch):
        raise AssertionError("there is nothing to compute")

    model = make(seed=5)
    again = train(model, data.train, recipe, validation=data.validation, objective=fails, keeper=keeper())
    assert again.ended == "finished" and again.step == 12
    assert same(model.state_dict(), straight[0]) and told(again.history) == straight[1]
    assert not model.training
    assert (keeper().last.read_bytes(), keeper().best.read_bytes()) == kept  # nor to write


@pytest.mark.parametrize("victim", ["best", "last"])
@pytest.mark.parametrize("look", [few(look, look == 1) for look in range(3)])
def test_killed_while_it_writes(data, make, recipe, keeper, straight, monkeypatch, victim, look):
    """Between the two files of a look, or before both."""
    kept, saved = keeper(), []

    def write(path, *args):
        saved.append(path)
        if path == getattr(kept, victim) and saved.count(path) == look + 1:
            raise SystemExit("killed")
        real(path, *args)

    from course_lib.training import run_folder

    real = run_folder.save_checkpoint
    monkeypatch.setattr(run_folder, "save_checkpoint", write)
    with pytest.raises(SystemExit):
        train(make(), data.train, recipe, validation=data.validation, keeper=kept)
    monkeypatch.setattr(run_folder, "save_checkpoint", real)
    halfway = train_until(1, make(), data, recipe, keeper())  # resumed, and stopped again at once
    assert halfway.step >= 1
    model = make()
    done = train(model, data.train, recipe, validation=data.validation, keeper=keeper())
    assert same(model.state_dict(), straight[0]) and told(done.history) == straight[1]
    assert same(load_checkpoint(kept.best)[0], straight[0])


@pytest.mark.parametrize("victim", ["best", "last"])
def test_killed_while_it_writes_after_a_look_that_was_worse(data, make, recipe, keeper, monkeypatch, victim):
    """Then `last` holds no best weights, and `best` must still be the old ones or `last` have the new."""
    from course_lib.training import run_folder

    kept, real, one = keeper(), run_folder.save_checkpoint, encode_ids([[5]], [[6]])

    def run(losses, folder):
        said = iter(losses)

        def measured(model, batch):  # the validation loss is whatever we want it to be
            return torch.tensor(next(said)), torch.tensor(1)

        return train(make(), data.train, recipe, validation=one, validation_objective=measured, keeper=folder)

    straight = run([1.0, 2.0, 0.5], keeper(folder=kept.folder.parent / "straight"))

    def write(path, tensors, about):
        if path == getattr(kept, victim) and about["history"][-1]["step"] == 12:
            raise SystemExit("killed")
        real(path, tensors, about)

    monkeypatch.setattr(run_folder, "save_checkpoint", write)
    with pytest.raises(SystemExit):
        run([1.0, 2.0, 0.5], kept)
    monkeypatch.setattr(run_folder, "save_checkpoint", real)
    resumed = run([0.5] if victim == "last" else [], keeper())
    assert told(resumed.history) == told(straight.history)
    other = load_checkpoint(kept.folder.parent / "straight" / "best.safetensors")[0]
    assert same(load_checkpoint(kept.best)[0], other)


# ---- interrupted


def test_stopped_before_the_first_look_leaves_a_checkpoint_to_use(data, make, recipe, keeper):
    result = train_until(2, model := make(), data, recipe, keeper())
    assert result.ended == "stopped" and result.step == 2 and result.history.records == []
    assert same(load_system(keeper().best).model.state_dict(), model.state_dict())
    assert read_about(keeper().last)["standing"]["step"] == 2


def test_a_notebooks_stop_button_gives_the_result_so_far(data, make, recipe, keeper):
    """What a kernel does: SIGINT to the main thread, whose handler would raise KeyboardInterrupt."""
    result = train_until(6, model := make(), data, recipe, keeper())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert result.ended == "stopped" and [record.step for record in result.history.records] == [4]
    saved = load_system(keeper().best)
    assert same(saved.model.state_dict(), model.state_dict()) and not model.training
    assert saved.about["history"] == result.history.to_json()


def test_a_second_ctrl_c_ends_at_once_and_leaves_a_model_to_use(data, make, recipe, keeper, straight):
    class Twice(StopAt):
        def __call__(self, model, batch):
            result = super().__call__(model, batch)
            if model.training and self.calls in self.steps:
                os.kill(os.getpid(), signal.SIGINT)
            return result

    with pytest.raises(KeyboardInterrupt):
        train(
            model := make(),
            data.train,
            recipe,
            validation=data.validation,
            objective=Twice(language_modelling(0.1), 6),
            validation_objective=language_modelling(0.0),
            keeper=keeper(),
        )
    assert not model.training and same(model.state_dict(), load_system(keeper().best).model.state_dict())
    again = make(seed=4)
    train(again, data.train, recipe, validation=data.validation, keeper=keeper())
    assert same(again.state_dict(), straight[0])


def test_a_stop_at_the_last_step_is_an_end(data, make, recipe):
    objective = StopAt(language_modelling(0.1), 12)
    result = train(make(), data.train, recipe, validation=data.validation, objective=objective)
    assert result.ended == "finished" and result.step == 12


def test_an_error_in_a_callback_comes_through_and_the_folder_can_go_on(data, make, recipe, keeper, straight):
    def fails(record):
        raise BrokenPipeError("nobody listens")

    with pytest.raises(BrokenPipeError):
        train(make(), data.train, recipe, validation=data.validation, keeper=keeper(), after_look=fails)
    assert read_about(keeper().last)["standing"]["step"] == 4
    model = make()
    train(model, data.train, recipe, validation=data.validation, keeper=keeper())
    assert same(model.state_dict(), straight[0])


# ---- what cannot be trained


def test_a_model_without_weights_is_refused(data, make, recipe):
    with pytest.raises(TypeError, match=r"NGramLM has none.*counting.py"):
        train(make("ngram_lm"), data.train, recipe, validation=data.validation)


def test_sentences_longer_than_the_system_are_refused_at_once(make, recipe):
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


def test_a_model_of_your_own_needs_an_objective(data, recipe):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(500, 500)
            self.idle = nn.Parameter(torch.ones(1))  # never gets a gradient
            self.register_buffer("seen", torch.tensor(0))

        def forward(self, tokens):
            self.seen += 1
            return self.table(tokens)

    with pytest.raises(TypeError, match="Pass an objective of your own"):
        train(Own(), data.train, recipe, validation=data.validation)
    objective = language_modelling(0.0)
    result = train(Own(), data.train, recipe, validation=data.validation, objective=objective)
    assert result.history.records[-1].loss < result.history.records[0].loss


def test_a_weight_without_a_gradient_can_be_resumed(data, make, recipe, keeper):
    def with_idle():
        model = make()
        model.idle = nn.Parameter(torch.ones(2))
        return model

    straight = with_idle()
    train(straight, data.train, recipe, validation=data.validation)
    train_until(5, with_idle(), data, recipe, keeper())
    model = with_idle()
    train(model, data.train, recipe, validation=data.validation, keeper=keeper())
    assert same(model.state_dict(), straight.state_dict())


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


def test_fixed_shapes_train_too(data, make):
    recipe = Recipe(
        n_steps=6, tokens_per_batch=128, warm_up=1, learning_rate=1e-2, validate_every=3, fixed_shapes=True
    )
    result = train(make(), data.train, recipe, validation=data.validation)
    assert result.history.records[1].loss < result.history.records[0].loss
