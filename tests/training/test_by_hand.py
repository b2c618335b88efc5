"""The training step in plain functions is the library's own, and a small run can be stopped and resumed."""

from __future__ import annotations

import os
import signal

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.bench.experiments import experiments
from course_lib.training.by_hand import smoothed_loss, training_step
from course_lib.training.step import Adam
from course_lib.translation.small_run import PATIENTS, Habits, SmallRun, exact_match, short_data, short_pairs
from course_lib.views import live_training as live


@pytest.fixture(scope="module")
def data():
    return short_data()


def test_a_step_is_the_librarys():
    torch.manual_seed(0)
    weights = {"a": torch.randn(3, 2), "b": torch.randn(2)}
    theirs = {name: w.clone().requires_grad_() for name, w in weights.items()}
    adam, memory = Adam(theirs), {}
    for step in range(1, 6):
        x = torch.randn(4, 3)

        def loss_of(table, x=x):
            return (x @ table["a"] + table["b"]).square().mean()

        loss, weights, memory = training_step(weights, loss_of, memory, step, 0.01)
        own = loss_of(theirs)
        assert loss == pytest.approx(own.item(), rel=1e-5)
        own.backward()
        nn.utils.clip_grad_norm_(theirs.values(), 1.0)
        adam.step(0.01)
        for name, w in theirs.items():
            w.grad = None
            assert torch.allclose(w, weights[name], atol=1e-6)


def test_the_loss_is_torchs():
    logits, targets = torch.randn(3, 5, 9), torch.randint(0, 9, (3, 5))
    theirs = F.cross_entropy(logits.mT, targets, ignore_index=0, label_smoothing=0.1)
    assert torch.isclose(smoothed_loss(logits, targets, 0.1), theirs)


def test_the_sentences_are_short_and_all_different(data):
    pairs = short_pairs()
    assert len({pair.src for pair in pairs}) == len(pairs) >= 3200
    assert all(3 <= len(pair.src) <= 6 for pair in pairs)
    assert len({word for pair in pairs for word in pair.src}) <= 80
    assert (len(data.train), len(data.validation), data.tokenizer.vocab_size) == (3000, 200, 195)
    assert short_data(n_train=100).tokenizer.vocab_size == 195


def test_stopped_and_resumed_is_the_same_to_the_last_bit(data, tmp_path):
    whole = SmallRun(data, n_steps=8)
    first = SmallRun(data, n_steps=8)
    for _ in range(8):
        whole.learn()
    for _ in range(3):
        first.learn()
    first.keep(tmp_path / "run")
    second = SmallRun(data, n_steps=8)
    assert second.go_on(tmp_path / "run") and second.n_done == 3
    while second.n_done < 8:
        second.learn()
    assert second.history == whole.history
    assert all(torch.equal(second.weights[name], w) for name, w in whole.weights.items())
    assert not SmallRun(data, Habits(rate=0.1), n_steps=8).go_on(tmp_path / "run"), "of another run"
    assert not SmallRun(data).go_on(tmp_path / "nothing")


def test_watched_stopped_and_gone_on(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    shown = []
    monkeypatch.setattr(live, "display", lambda picture, **_: shown.append(picture.alt))
    run = live.train_live(SmallRun(data, n_steps=7), "trial", until=5)
    assert run.n_done == 5 and "Stopped after step 5 of 7" in capsys.readouterr().out
    run = live.train_live(SmallRun(data, n_steps=7), "trial")
    assert run.n_done == 7 and "Going on from step 5" in capsys.readouterr().out
    assert shown and shown[-1].startswith("After step 7 the training loss is")
    assert live.train_live(SmallRun(data, n_steps=7), "trial", until=2, anew=True).n_done == 2


def test_an_interruption_ends_a_run_after_its_step(data, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    run = SmallRun(data, n_steps=7)
    learn = run.learn

    def learn_and_interrupt():
        learn()
        if run.n_done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    run.learn = learn_and_interrupt
    assert live.train_live(run, "trial").n_done == 3
    assert SmallRun(data, n_steps=7).go_on(live.place_of("trial"))


def test_exact_match_knows_right_from_wrong(data):
    run = SmallRun(data)
    right = run.exam.tgt_out

    def oracle(weights, source, target, may_look):
        place = target.shape[1] - 1
        return F.one_hot(right[:, place : place + 1], data.tokenizer.vocab_size).float()

    assert exact_match(run.weights, run.exam, oracle) == 1
    assert exact_match(run.weights, run.exam) == 0


def test_patients_are_those_of_the_experiment():
    others = {"no warm-up", "rate 20 times too high, healthy after 48"}
    assert set(PATIENTS.values()) == set(experiments()["sick"].variants) - others
