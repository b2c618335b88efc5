"""A small run of every benchmark, and the baselines are fair. No test depends on the time it takes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

from course_lib.models.registry import build, make_config, n_parameters, translators
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, PAD
from course_lib.training.objective import translation
from course_lib.translation.search import greedy
from lessons.l15_training_a_translator import FULL_RUN, short_data
from lessons.l17_what_it_costs import cost, timing
from tools.bench import clock, decoding, decoding_speed, explorables, own_file, roofline, start, training
from tools.bench.training import TorchTransformer, torch_objective
from tools.cli import bench_command

CPU = torch.device("cpu")
SMALL = {
    training: {"CPU_SYSTEMS": ("bahdanau",), "CPU_PAIRS": 80, "CPU_STEPS": 5, "CPU_ROWS": 16}
    | {"CPU_TOKENS": 128, "ROUNDS": {"cpu": 1}},
    decoding: {"MEASURED": (("transformer", "tiny"),), "LENGTH": 7, "ROUNDS": 1}
    | {"VOCAB": {"tiny": 30, "toy": 30}},
    decoding_speed: {"LENGTH": 3, "translators": lambda: translators()[1:2]},
    explorables: {"NAMES": ("SoftmaxDial",), "TRAINED": (), "MOVES": 5},
    start: {"ROUNDS": 1, "TORCH": "pass", "first_cell": lambda path, root: "pass"},
    own_file: {"ROUNDS": 1, "STEPS_PER_ROUND": 1, "TEST_SIZES": {"test": 5}, "full_data": short_data}
    | {"FULL_RUN": replace(FULL_RUN, n_steps=2)},
    cost: {"fastest": lambda ways, rounds=1: dict.fromkeys(ways, 1.0)},
}


@pytest.fixture
def small(monkeypatch):
    """Reduce the work of every benchmark."""
    for bench, changes in SMALL.items():
        for name, value in changes.items():
            monkeypatch.setattr(bench, name, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bench", "arguments", "parts"),
    [
        (training, [CPU], ["bahdanau  ms per step", "naive", "ours", "1.00 ×"]),
        (decoding, [CPU], ["cached  recomputed", "transformer (tiny)"]),
        (explorables, [], ["ms per move", "SoftmaxDial"]),
        (start, [["06", "2"]], ["CPU s  × torch", "\n06", "\n02", "1.00"]),
        (own_file, [CPU], ["ms per step", "library, quick run", "own file, own step"]),
        (cost, [], ["\nthe rest, fused  ", ", products 1.00 1.00,", "\nalternatives: fused 1.00 1.00,"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_small_run_prints_its_table(small, capsys, bench, arguments, parts):
    bench.run(*arguments)
    out = capsys.readouterr().out
    assert all(part in out for part in parts) and "different output" not in out


def test_functions_are_timed_in_turn_and_the_first_round_is_ignored():
    calls, times = [], iter([0, 99, 0, 99, 0, 2, 0, 4, 0, 1, 0, 5])
    ways = {"first": lambda: calls.append(1), "second": lambda: calls.append(2)}
    assert timing.in_turn(ways, rounds=2, clock=lambda: next(times)) == {"first": [2, 1], "second": [4, 5]}
    assert calls == [1, 2] * 3


@pytest.mark.slow
def test_the_first_cell_is_the_stored_notebook_s_and_imports_nothing_slow_that_it_does_not_use(tmp_path):
    source = PROJECT_ROOT / "lessons" / "l15_training_a_translator" / "lesson.py"
    cell = start.first_cell(source, PROJECT_ROOT)
    assert "ready.check()" in cell and cell.endswith('start_lesson("training_a_translator", seed=15)')
    unused = {"hypothesis", "jsonschema", "latex2mathml", "matplotlib.axes", "sacrebleu"}
    start.starter(f"{cell}\nassert not {unused} & sys.modules.keys()", PROJECT_ROOT, str(tmp_path))()


def test_every_control_is_swept_from_end_to_end():
    kind = explorables.explorables()["SaturationLab"]
    n_moves = len(kind.controls) * max(len(control.values) for control in kind.controls)
    moves = list(islice(explorables.sweep(kind), n_moves))
    for control in kind.controls:
        values = {value for name, value in moves if name == control.name}
        assert values == set(control.values) and len(values) > 1


def test_the_measured_device_is_not_the_default_device():
    """New tensors are still created on the CPU."""
    with bench_command.current_device(torch.device("meta")), bench_command.current_device():
        assert torch.empty(1).device.type == "cpu"


def test_no_sentence_ends_early():
    system, memory = decoding.prepare("transformer")
    for change, length in ((5_000, 9), (15_000, 1)):  # the bias suppresses even a high score of </s>
        with torch.no_grad():
            system.words.output.bias[EOS] += change
        output = greedy(system, memory, max_len=9).ids
        assert (output != PAD).sum(dim=1).tolist() == [length] * decoding.BATCH


def test_the_speed_of_every_translator_is_recorded(small, capsys):
    recorded = json.loads(data_path("results", "decoding_speed.json").read_text(encoding="utf-8"))
    turns = range(decoding_speed.TURNS)
    expected = [(system.name, turn) for turn in turns for system in translators()]
    assert [(run["variant"], run["seed"]) for run in recorded["runs"]] == expected
    assert recorded["command"] == decoding_speed.COMMAND and recorded["machine"]
    runs = decoding_speed.run()
    assert "rnn_encoder_decoder  " in capsys.readouterr().out
    assert [run["seed"] for run in runs] == [*turns] and all(run["words_per_second"] > 0 for run in runs)


def test_the_clock_adds_up_two_commands_and_reports_the_score(monkeypatch, capsys):
    def time_command(*arguments: str) -> float:
        if arguments[0] == "evaluate":
            trained = dict.fromkeys(("machine", "versions", "data", "command"), "known")
            content = {"systems": [{"trained": trained, "results": {"bleu": {"value": 41}}}]}
            Path(arguments[-1]).write_text(json.dumps(content))
        return 2.5

    monkeypatch.setattr(clock, "time_command", time_command)
    recorded = json.loads(data_path("results", "clock.json").read_text(encoding="utf-8"))
    result = clock.run()
    assert result.keys() == recorded.keys() and result["command"] == recorded["command"] == clock.COMMAND
    assert result["seconds"] == 5.0 and capsys.readouterr().out.endswith(": 5.0 s\n")


@pytest.mark.slow
def test_every_way_of_the_roofline_computes_what_the_written_out_one_does(capsys):
    """Attention, decoding with a cache and the precisions; fusing saves the bytes of the scores."""
    result = roofline.run(CPU, tiny=True)
    parts = {name: result[name]["rows"] for name in roofline.EXPECTED}
    assert all(row["error"] < 0.02 for part in parts.values() for row in part if row.get("error") is not None)
    assert sum(row["error"] > 0 for row in parts["generation"]) == 6  # bfloat16 rounds
    assert "\noperation  " in (out := capsys.readouterr().out) and "\nkv heads  " in out
    plain, fused = (row for row in parts["operations"][2:4])
    assert plain["FLOPs"] == fused["FLOPs"] and plain["bytes"] - fused["bytes"] == 2 * 4 * (2 * 4 * 6 * 6)


# ---- training: the baselines


def test_torch_s_transformer_has_the_size_masks_and_loss_of_ours():
    """It sees neither padding nor future tokens. In training mode, because eval mode takes another path."""
    config = make_config("transformer", scale="multi30k", vocab_size=8000)
    ours = n_parameters(build("transformer", config))
    assert n_parameters(TorchTransformer(config)) == pytest.approx(ours, rel=0.01)
    torch.manual_seed(0)
    model = TorchTransformer(make_config("transformer", scale="tiny", vocab_size=40)).train()
    batch = make_batch([[7, 8, 9], [5]], [[6, 7, 8], [9, 5, 4]])
    logits = model(batch.src, batch.src_lengths, batch.tgt_in)
    src, tgt_in = batch.src.clone(), batch.tgt_in.clone()
    src[1, 2:] = tgt_in[:, 1:] = 11
    torch.testing.assert_close(model(src, batch.src_lengths, tgt_in)[:, :1], logits[:, :1])
    src[0, 0] = 11
    assert not torch.allclose(model(src, batch.src_lengths, tgt_in)[0, :1], logits[0, :1])
    ours, theirs = translation(0.1)(model, batch), torch_objective(0.1)(model, batch)
    torch.testing.assert_close(ours[0], theirs[0])
    assert ours[1] == theirs[1] == 8


def test_every_position_of_the_gpu_batch_counts():
    batch = training.full_batch(6, 5, 40)
    assert int(batch.n_tokens) == 30 and not (batch.src == PAD).any()
    assert (batch.tgt_in[:, 0] == BOS).all() and torch.equal(batch.tgt_in[:, 1:], batch.tgt_out[:, :-1])
    assert (batch.src[:, -1] == EOS).all() and (batch.tgt_out[:, -1] == EOS).all()


def test_both_loops_learn_and_ours_has_less_padding(small):
    ways, padding = training.cpu_ways("transformer"), {}
    assert sorted(torch.cat([batch.pairs for batch in ways["naive"].batches]).tolist()) == list(range(80))
    for name, (step, batches) in ways.items():
        first, *_, last = (float(step(batches[0], 1e-4)[0]) for _ in range(9))
        assert last < first, name
        padding[name] = sum((batch.tgt_out == PAD).sum() for batch in batches)
    assert padding["ours"] < padding["naive"]
