"""The comparison of devices: its verdicts on made-up numbers, and a small real run in 16 bits on the CPU."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from course_lib.bench import agreement, devices
from course_lib.bench.agreement import Agreement
from course_lib.bench.devices import Row

pytestmark = pytest.mark.slow

GOOD = [
    Agreement("float32", logits=1e-5, gradient=1.0, weights=1e-6, greedy=1.0),
    Agreement("autocast", logits=0.02, gradient=0.999, weights=0.004, greedy=0.95),
    Agreement("bfloat16", logits=0.03, gradient=0.998, weights=None, greedy=0.95),
]


def row(place: int = 0, graph=None, **changes) -> Row:
    forms = [replace(one, **changes) if place == i else one for i, one in enumerate(GOOD)]
    return Row("bahdanau", "toy", forms, {} if graph is None else graph)


def test_what_agrees_has_no_faults():
    assert devices.faults(row()) == []
    assert devices.faults(row(graph={"float32": "yes", "autocast": "yes"})) == []


@pytest.mark.parametrize(
    ("place", "changes", "fault"),
    [
        (0, {"logits": 0.01}, "bahdanau (toy), float32: logits 0.01, where 0.001 is allowed"),
        (0, {"greedy": 0.99}, "float32: greedy 0.99, where 1 is allowed"),
        (1, {"gradient": 0.5}, "autocast: gradient 0.5, where 0.99 is allowed"),
        (1, {"weights": 0.3}, "autocast: weights 0.3"),
        (2, {"logits": math.inf}, "bfloat16: logits inf"),
        (2, {"gradient": math.nan}, "bfloat16: gradient nan"),
        (2, {"trouble": "RuntimeError: no kernel"}, "bfloat16: RuntimeError: no kernel"),
        (
            0,
            {"graph": {"autocast": "replays to something else"}},
            "graph in autocast: replays to something else",
        ),
    ],
)
def test_each_fault_is_named(place, changes, fault):
    (found,) = devices.faults(row(place, **changes))
    assert fault in found


def test_the_table_has_a_line_for_each_form():
    lines = devices.table([row(graph={"float32": "yes", "autocast": "RuntimeError: no"})]).splitlines()
    assert [line.split()[-1] for line in lines] == ["graph", "yes", "RuntimeError", "–"]
    assert lines[1].split()[:3] == ["bahdanau", "toy", "float32"] and lines[3].split()[-3] == "–"


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.main([]) == 2
    assert "no GPU here" in capsys.readouterr().out


def test_a_name_nobody_has():
    with pytest.raises(ValueError, match="Did you mean bahdanau"):
        devices.main(["--device", "cpu", "--systems", "bahdanoi"])


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a CPU without bfloat16 of its own
@pytest.mark.parametrize("name", ["bahdanau", "lstm_lm", "self_attentive"])
def test_16_bits_on_the_cpu(name, tmp_path, capsys):
    """One of each kind. float32 on the CPU against itself is no difference at all."""
    out = tmp_path / "devices.json"
    assert devices.main(["--device", "cpu", "--scales", "tiny", "--systems", name, "--out", str(out)]) == 0
    assert "0 outside the tolerances" in capsys.readouterr().out
    (found,) = json.loads(out.read_text())["rows"]
    full, autocast, half = found["forms"]
    assert full["logits"] == 0 and full["greedy"] == 1 and found["graph"] == {}
    assert autocast["logits"] > 0 and half["logits"] > 0


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
def test_a_system_that_computes_something_else_there_is_found_out(monkeypatch, capsys):
    """Half a standard deviation off, whenever its weights have 16 bits."""
    honest = agreement.scores_of

    def off(name, model, batch):
        logits, wanted = honest(name, model, batch)
        half = next(model.parameters()).dtype == torch.bfloat16
        return logits + half * 0.5 * logits.detach().std(), wanted

    monkeypatch.setattr(agreement, "scores_of", off)
    assert devices.main(["--device", "cpu", "--scales", "tiny", "--systems", "lstm_lm"]) == 1
    assert "MISS  lstm_lm (tiny), bfloat16: logits 0.5" in capsys.readouterr().out


def test_a_system_that_cannot_run_there_is_in_the_table(monkeypatch, capsys):
    def broken(name, model, batch):
        raise RuntimeError("no such kernel")

    honest = agreement.greedy_of
    calls = []
    monkeypatch.setattr(
        agreement, "greedy_of", lambda *a: calls.append(a) or (honest if len(calls) == 1 else broken)(*a)
    )
    assert devices.main(["--device", "cpu", "--scales", "tiny", "--systems", "mlp_lm"]) == 1
    assert "MISS  mlp_lm (tiny), float32: RuntimeError: no such kernel" in capsys.readouterr().out
