"""Empty and short outputs are counted, and agree with what lesson 16 recorded."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from course_lib.runtime import data_path
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l16_decoding.measurements import N_NEW, N_TEST
from tools.experiments import silence
from tools.experiments.catalogue import experiments
from tools.experiments.runner import Run, run_one
from tools.experiments.tables import MEASURES


@pytest.mark.slow
def test_the_shipped_translator_falls_silent_as_often_as_in_lesson_16(monkeypatch):
    """On the lesson's sentences, which are not those of the test split."""
    pairs, system = splits(seed=0, sizes={"test": N_TEST + N_NEW}).test, shared("seq2seq")
    monkeypatch.setattr(silence, "read_corpus", lambda *_: pairs)
    data = SimpleNamespace(name="toy", tokenizer=system.tokenizer)
    trained = SimpleNamespace(model=system.model, data=data)
    found = silence.score(trained, "test", 20, 0.0)
    recorded = json.loads(data_path("results", "lesson_16.json").read_text(encoding="utf-8"))["beam"]["20"]
    assert found["exact"] * silence.N_SENTENCES == pytest.approx(recorded["right"], abs=0.1)
    assert (
        found["empty"] * silence.N_SENTENCES == pytest.approx(7, abs=0.1) and found["short"] > found["empty"]
    )


@pytest.mark.slow
def test_a_run_has_every_beam_and_penalty(monkeypatch, tmp_path):
    monkeypatch.setattr(silence, "BEAMS", (1, 3))
    monkeypatch.setattr(silence, "N_SENTENCES", 5)
    monkeypatch.setattr("tools.experiments.trained_run.toy_scores", lambda *_: {})
    run = run_one(Run("silence", "seq2seq, smoothing 0", 0), tmp_path, 2, "cpu", 1)
    assert run["recipe"]["smoothing"] == 0.0
    greedy, wide = run["silence"]["long"]["1"], run["silence"]["long"]["3"]
    assert ([*greedy], [*wide]) == (["0.0"], ["0.0", "0.6", "1.0"])
    assert all(0 <= found["empty"] <= found["short"] <= 1 for found in wide.values())
    shown = experiments()["silence"].page["columns"][0].replace("50", "3")
    assert shown in [column.heading for column in MEASURES["train"](run)]
