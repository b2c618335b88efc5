"""The bench of decoding: both ways say the same, the verdicts, the table. No test depends on the clock."""

from __future__ import annotations

import pytest
import torch

from course_lib.bench import decoding as bench
from course_lib.cli import commands, main
from course_lib.models.registry import build, make_config
from course_lib.text.special import EOS

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")


def row(
    ratio: float = 9.0, *, name: str = "transformer", scale: str = "multi30k", same: bool = True
) -> bench.Row:
    return bench.Row(name, scale, 2.0, 2.0 * ratio, same)


@pytest.mark.parametrize("name", ["transformer", "bahdanau"])
def test_both_ways_are_measured_and_say_the_same(name):
    measured = bench.measure(name, "tiny", device=CPU, vocab_size=30, length=7, rounds=1)
    assert measured.same and measured.cached > 0 and measured.recomputed > 0
    assert (measured.name, measured.scale) == (name, "tiny")


def test_no_sentence_ends_before_its_last_word():
    torch.manual_seed(0)
    system = build("transformer", make_config("transformer", scale="tiny", vocab_size=12)).eval()
    with torch.no_grad():
        system.words.output.bias[EOS] = 100.0
    src, lengths = bench.sources(12, max_len=16)
    memory = system.encode(src, lengths)
    assert bench.decode(system, memory, 9).lengths.tolist() == [1] * bench.BATCH
    assert bench.decode(bench.endless(system), memory, 9).lengths.tolist() == [9] * bench.BATCH


@pytest.mark.parametrize(("ratio", "good"), [(5.0, True), (4.99, False), (12.0, True)])
def test_fast_enough_or_not(ratio, good):
    verdict, same = bench.judge([row(ratio), row(1.0, scale="toy"), row(1.0, name="bahdanau")])
    assert verdict.good == good and same.good
    assert verdict.text == f"transformer (multi30k): at least 5 × faster with its cache: {ratio:.1f} ×"


def test_two_ways_that_differ_are_named():
    *_, verdict = bench.judge([row(), row(name="bahdanau", scale="toy", same=False)])
    assert not verdict.good and verdict.text == "both ways say the same words: not bahdanau (toy)"


def test_the_table_stands_in_columns():
    head, *lines = bench.table([row(), row(12.5, name="bahdanau", scale="toy")]).splitlines()
    assert head.split() == ["cached", "recomputed", "ratio"]
    assert lines[0].split() == ["transformer", "(multi30k)", "2.00", "s", "18.00", "s", "9.0", "×"]
    assert len({line.index("s  ") for line in lines}) == 1


def test_the_whole_command(monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", lambda name, scale, device: row(6.0, name=name, scale=scale))
    assert bench.run(device=CPU) == 0
    out = capsys.readouterr().out
    assert "torch " in out.splitlines()[0] and "on cpu" in out.splitlines()[0]
    assert "transformer (toy)" in out and "bahdanau (toy)" in out and out.count("\npass  ") == 2
    monkeypatch.setattr(bench, "measure", lambda name, scale, device: row(2.0, name=name, scale=scale))
    assert bench.run(device=CPU) == 1
    assert "MISS  transformer (multi30k)" in capsys.readouterr().out


def test_the_door_leads_here(monkeypatch):
    monkeypatch.setattr(commands, "enter", lambda *_: None)
    monkeypatch.setattr(bench, "run", lambda device: {"cpu": 5}[device.type])
    assert main(["bench", "decoding", "--device", "cpu"]) == 5
    assert main(["bench", "decoding", "--device", "abacus"]) == 1
