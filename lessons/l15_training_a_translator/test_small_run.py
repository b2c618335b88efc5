"""Lesson 15's small run: its sentences, stopped and resumed, watched, and its patients."""

from __future__ import annotations

import os
import signal

import pytest
import torch
from torch.nn import functional as F

from lessons.l15_training_a_translator import live_training as live
from lessons.l15_training_a_translator.small_run import (
    PATIENTS,
    Habits,
    SmallRun,
    exact_match,
    short_data,
    short_pairs,
)
from tools.experiments.catalogue import experiments


@pytest.fixture(scope="module")
def data():
    return short_data()


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
    live.train_live(SmallRun(data, n_steps=7), "trial")
    assert 'train_live(run, "trial", anew=True) trains it again' in capsys.readouterr().out
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
    assert SmallRun(data, n_steps=7).go_on(live.run_file("trial"))


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
