"""The bench of training on a CPU: its rows, its verdicts. No test depends on the clock."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
import torch

from course_lib.bench import training_cpu as bench
from course_lib.models.registry import build, make_config

pytestmark = pytest.mark.slow


def rows(name="transformer", naive=1000.0, ours=1500.0):
    return [bench.Row(name, "naive", naive, 200.0, 0.35), bench.Row(name, "ours", ours, 100.0, 0.03)]


@pytest.fixture
def quick(monkeypatch):
    """Few sentences, tiny systems, short turns."""
    for name, value in {
        "N_PAIRS": 80,
        "TURNS": 2,
        "STEPS": 1,
        "ROWS": 16,
        "BUDGET": 256,
    }.items():
        monkeypatch.setattr(bench, name, value)
    monkeypatch.setattr(bench, "_new", _tiny)


def _tiny(name, vocab_size):
    torch.manual_seed(0)
    config = replace(make_config(name, scale="tiny", vocab_size=vocab_size), max_len=64)
    return build(name, config).train()


@pytest.mark.parametrize(("ours", "good"), [(1300.0, True), (2000.0, True), (1299.0, False), (900.0, False)])
def test_fast_enough_or_not(ours, good):
    (verdict,) = bench.judge(rows(ours=ours))
    assert verdict.good is good and verdict.text.endswith(f": {ours / 1000:.2f} ×")


def test_the_table_stands_in_columns():
    head, first, second, third, fourth = bench.table([*rows(), *rows("bahdanau", 50.0, 100.0)]).splitlines()
    ends = [line.index(number) + len(number) for line, number in ((first, "1,000"), (second, "1,500"))]
    assert ends == [head.index("tokens/s") + len("tokens/s")] * 2
    assert first.startswith("transformer  naive") and second.startswith(" " * 13 + "ours")
    assert second.endswith("1.50 ×") and fourth.endswith("2.00 ×") and third.startswith("bahdanau")


@pytest.mark.parametrize("loop", bench.LOOPS)
def test_both_loops_learn_from_every_sentence(quick, loop):
    corpus, vocab_size = bench.sentences()
    model = _tiny("transformer", vocab_size)
    before = [parameter.clone() for parameter in model.parameters()]
    steps = list(islice(bench.LOOPS[loop](model, corpus), 5))
    assert all(0 < step.n_tokens <= step.n_places for step in steps)
    assert all(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    if loop == "naive":  # 5 batches of 16 are all 80 pairs
        assert sum(step.n_tokens for step in steps) == sum(tgt for _, tgt in corpus.lengths)


def test_it_runs_and_says_what_it_found(quick, monkeypatch, capsys):
    monkeypatch.setattr(bench, "SYSTEMS", ("transformer",))
    monkeypatch.setattr(bench, "FASTER", 0.0)
    assert bench.run() == 0
    said = capsys.readouterr().out
    for part in ("threads", "naive", "ours", "padding", "pass  transformer: at least 0.0 ×"):
        assert part in said
    naive, ours = bench.measure("transformer")
    assert ours.padding < naive.padding  # sentences of like length lie together
