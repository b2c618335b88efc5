"""Lesson 15's small run: its data, its training by the library's loop, and how it is stopped and resumed."""

from __future__ import annotations

import os
import signal

import pytest
import torch

from course_lib.models.registry import build
from course_lib.teaching.exercises import find_exercise
from course_lib.text.special import EOS
from course_lib.training.checkpoint import load_checkpoint, load_system, save_checkpoint
from course_lib.training.objective import objective_for
from course_lib.training.step import PlainStep, parts_of
from lessons.l15_training_a_translator import live_training as live
from lessons.l15_training_a_translator.by_hand import paper_rate, training_step
from lessons.l15_training_a_translator.function_transformer import FunctionTransformer, small_config
from lessons.l15_training_a_translator.own_parts import BatcherEpochs
from lessons.l15_training_a_translator.short_sentences import short_data, short_pairs
from lessons.l15_training_a_translator.small_run import SmallRun
from lessons.l15_training_a_translator.training_settings import FAULTY_RUNS, HEALTHY, TrainingSettings
from tools.experiments.catalogue import experiments

OWN = {"batcher": find_exercise("by_length").reference, "schedule": paper_rate}


@pytest.fixture(scope="module")
def data():
    return short_data()


@pytest.fixture(scope="module")
def few():
    return short_data(n_train=100)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    monkeypatch.setattr(live, "display", lambda picture, **options: None)
    return tmp_path


def same(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def records(run):
    """The history without the time."""
    return [{**record, "seconds": 0} for record in run.history.to_json()]


# ---- the data


def test_the_sentences_are_short_and_all_different(data, few):
    pairs = short_pairs()
    assert len({pair.src for pair in pairs}) == len(pairs) >= 3200
    assert all(3 <= len(pair.src) <= 6 for pair in pairs)
    assert len({word for pair in pairs for word in pair.src}) <= 80
    assert (len(data.train), len(data.validation), data.tokenizer.vocab_size) == (3000, 200, 195)
    assert few.tokenizer.vocab_size == 195


# ---- the model


def test_the_model_computes_what_the_librarys_does_at_once_and_by_steps(data):
    ours = FunctionTransformer(small_config(195))
    library = build("transformer", ours.config)
    library.load_state_dict(ours.state_dict())
    batch = SmallRun(data).validation_batch
    given = batch.src[:5], batch.src_lengths[:5]
    with torch.no_grad():
        logits = ours(*given, batch.tgt_in[:5])
        torch.testing.assert_close(logits, library(*given, batch.tgt_in[:5]), atol=1e-5, rtol=1e-4)
        memory = ours.encode(*given)
        state = ours.start(memory)
        for index, tokens in enumerate(batch.tgt_in[:5].unbind(dim=1)):
            stepped, state, _ = ours.step(memory, state, tokens)
            torch.testing.assert_close(stepped, logits[:, index])


def test_exact_match_compares_whole_translations(few):
    run = SmallRun(few)
    batch = run.validation_batch

    def oracle(weights, source, target, mask):
        """The right token at the last position; only its argmax matters."""
        rows = [(batch.src[:, : source.shape[1]] == row).all(dim=1).nonzero()[0, 0] for row in source]
        right = batch.tgt_out[torch.stack(rows), target.shape[1] - 1]
        return (
            torch.nn.functional.one_hot(right.clamp(min=EOS), 195)
            .float()[:, None]
            .repeat(1, target.shape[1], 1)
        )

    assert run.exact_match() == {"exact": 0}
    assert SmallRun(few, forward=oracle).exact_match() == {"exact": 1}


# ---- stopped and resumed


@pytest.mark.parametrize("parts", [{}, OWN], ids=["the library's parts", "the learner's parts"])
def test_stopped_and_resumed_is_the_same_to_the_last_bit(few, tmp_path, parts):
    whole, first, second = (SmallRun(few, n_steps=12, **parts) for _ in range(3))
    whole.train(folder=whole.folder(tmp_path / "whole"))
    first.train(folder=first.folder(tmp_path / "run"), until=7)
    assert first.state.step == 7 and not first.finished
    second.train(folder=second.folder(tmp_path / "run"))
    assert second.finished and records(second) == records(whole)
    assert same(second.model.state_dict(), whole.model.state_dict())
    assert same(*(load_checkpoint(tmp_path / name / "last.safetensors")[0] for name in ("run", "whole")))


def test_a_checkpoint_is_the_librarys_and_its_step_can_resume_it(few, tmp_path):
    run = SmallRun(few, n_steps=3).train(folder=SmallRun(few, n_steps=3).folder(tmp_path))
    saved = load_system(tmp_path / "best.safetensors")
    assert saved.name == "transformer" and same(saved.model.state_dict(), run.model.state_dict())
    state = parts_of(load_checkpoint(tmp_path / "last.safetensors")[0], "step")
    step = PlainStep(saved.model.train(), objective_for(saved.model, 0.1), run.recipe)
    step.load(state)
    assert {int(tensor) for name, tensor in step.adam.state.items() if name.startswith("adam.step")} == {3}
    weights = {name: weight.detach().clone() for name, weight in step.adam.weights.items()}
    memory = {name: tuple(state[f"adam.{m}.{name}"] for m in ("exp_avg", "exp_avg_sq")) for name in weights}
    batch = run.validation_batch
    loss_of = HEALTHY.loss_of(run.model, batch, run._loss, smoothing=0.1)
    _, by_hand, _ = training_step(weights, loss_of, memory, 4, 0.005)
    step(batch, 0.005)
    for name, weight in step.adam.weights.items():
        torch.testing.assert_close(weight.detach(), by_hand[name], atol=2e-4, rtol=1e-3)


def test_a_batcher_may_make_more_batches_in_one_epoch_than_in_another(few):
    calls = []

    def alternating(lengths, room):
        calls.append(room)
        return OWN["batcher"](lengths, room // (1 + len(calls) % 2))

    batches = BatcherEpochs(few.train, alternating, tokens_per_batch=256, seed=0)
    n_first = batches.n_batches
    pairs = [next(batches).pairs for _ in range(n_first)]
    assert sorted(torch.cat(pairs).tolist()) == list(range(100)) and batches.position == (1, 0)
    next(batches)
    assert batches.n_batches != n_first
    planned = BatcherEpochs(few.train, OWN["batcher"], tokens_per_batch=256, seed=0)
    for epoch in (0, 1):
        assert sorted(pair for batch in planned.plan(epoch) for pair in batch.pairs) == list(range(100))


def test_the_learning_rate_follows_the_schedule_and_the_settings(few):
    run = SmallRun(few, **OWN)
    assert [run.rate(step) for step in (12, 24, 96)] == pytest.approx([0.0025, 0.005, 0.0025])
    usual, high = SmallRun(few), SmallRun(few, TrainingSettings(rate=0.1, usual_rate_after=48))
    assert [usual.rate(step) for step in (12, 24, 240)] == pytest.approx([0.0025, 0.005, 0])
    assert high.rate(48) == pytest.approx(20 * usual.rate(48)) and high.rate(49) == usual.rate(49)


# ---- watched in a notebook


def test_training_is_watched_stopped_and_resumed(few, home, monkeypatch):
    pictures = []
    monkeypatch.setattr(live, "display", lambda picture, **options: pictures.append(picture.alt))
    run = live.train_live(SmallRun(few, n_steps=7), "trial", until=5)
    assert run.state.step == 5 and not run.finished and not pictures  # no validation yet
    run = live.train_live(SmallRun(few, n_steps=7), "trial")
    assert run.finished and [record.step for record in run.history] == [7] and "7" in pictures[-1]
    again = live.train_live(SmallRun(few, n_steps=7), "trial")
    assert again.finished and same(again.model.state_dict(), run.model.state_dict())
    assert live.train_live(SmallRun(few, n_steps=7), "trial", until=2, anew=True).state.step == 2


def test_an_interruption_ends_a_run_after_its_step(few, home):
    def interrupted(weights, loss_of, memory, step, rate):
        if step == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return training_step(weights, loss_of, memory, step, rate)

    assert live.train_live(SmallRun(few, n_steps=7, step=interrupted), "trial").state.step == 3
    assert SmallRun(few, n_steps=7).folder(live.run_folder("trial")).resumed_at() == 3


def test_a_run_in_the_old_format_is_ignored_in_one_sentence(few, home, capsys):
    """What lesson 15 wrote before it used the library's checkpoints: one file, without a recipe."""
    old = home / "runs" / "trial.safetensors"
    tensors = {f"weights.{name}": tensor for name, tensor in SmallRun(few).model.state_dict().items()}
    about = {"run": {"n_steps": 7, "seed": 0}, "step": 3, "history": [], "losses": [], "position": [0, 3]}
    save_checkpoint(old, tensors, about)
    kept = old.read_bytes()
    assert live.train_live(SmallRun(few, n_steps=7), "trial").finished
    assert capsys.readouterr().out.strip() == live.OLD_FORMAT.format(old)
    assert old.read_bytes() == kept
    live.train_live(SmallRun(few, n_steps=7), "trial")
    assert live.OLD_FORMAT.format(old) not in capsys.readouterr().out  # there is a new one now


@pytest.mark.parametrize("other", ["another run", "damaged"])
def test_a_checkpoint_that_cannot_be_resumed_is_replaced(few, home, capsys, other):
    run = live.train_live(SmallRun(few, TrainingSettings(shifted=False), n_steps=3), "trial")
    if other == "damaged":
        run.folder(live.run_folder("trial")).last.write_bytes(b"no checkpoint")
    capsys.readouterr()
    assert live.train_live(SmallRun(few, n_steps=3), "trial").finished
    assert live.ANOTHER_RUN.format(live.run_folder("trial")) in capsys.readouterr().out
    assert SmallRun(few, n_steps=3).folder(live.run_folder("trial")).resumed_at() == 3


# ---- the faulty runs


def test_faulty_runs_are_those_of_the_experiment():
    others = {"healthy", "no warm-up", "rate 20 times too high, healthy after 48"}
    assert set(FAULTY_RUNS.values()) == set(experiments()["sick"].variants) - others
    for variant in FAULTY_RUNS.values():
        [fault] = experiments()["sick"].variants[variant]["habits"].items()
        assert getattr(HEALTHY, fault[0]) != fault[1]
