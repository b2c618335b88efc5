"""A small run of every bench, and the yardsticks are what they say. No test depends on the clock."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
import torch

from course_lib.models.registry import build, make_config, n_parameters, translators
from course_lib.runtime import data_path
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, PAD
from course_lib.training.objective import translation
from course_lib.translation.search import greedy
from lessons.l17_what_it_costs import cost, timing
from tools.bench import clock, decoding, decoding_speed, explorables, training
from tools.bench.training import TorchTransformer, usual_objective
from tools.cli import bench_command

CPU = torch.device("cpu")
SMALL = {
    training: {"CPU_SYSTEMS": ("bahdanau",), "CPU_PAIRS": 80, "CPU_STEPS": 5, "CPU_ROWS": 16}
    | {"CPU_TOKENS": 128, "ROUNDS": {"cpu": 1}},
    decoding: {"MEASURED": (("transformer", "tiny"),), "LENGTH": 7, "ROUNDS": 1}
    | {"VOCAB": {"tiny": 30, "toy": 30}},
    decoding_speed: {"LENGTH": 3, "translators": lambda: translators()[1:2]},
    explorables: {"NAMES": ("SoftmaxDial",), "TRAINED": (), "MOVES": 5},
    cost: {"fastest": lambda ways, rounds=1: dict.fromkeys(ways, 1.0)},
}


@pytest.fixture
def small(monkeypatch):
    """Every bench, with little to do."""
    for bench, changes in SMALL.items():
        for name, value in changes.items():
            monkeypatch.setattr(bench, name, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bench", "asked", "told"),
    [
        (training, [CPU], ["bahdanau  ms a step", "naive", "ours", "1.00 ×"]),
        (decoding, [CPU], ["on cpu", "cached  recomputed", "transformer (tiny)"]),
        (explorables, [], ["ms a move", "SoftmaxDial"]),
        (cost, [], ["64    the rest, fused  ", "\n4 heads: products 1.00,", "\n1024 words: fused 1.00,"]),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_small_run_of_each(small, capsys, bench, asked, told):
    bench.run(*asked)
    out = capsys.readouterr().out
    assert all(part in out for part in told) and "other words" not in out


def test_all_take_turns_and_the_first_round_does_not_count():
    done, now = [], iter([0, 99, 0, 99, 0, 2, 0, 4, 0, 1, 0, 5])
    ways = {"one": lambda: done.append(1), "two": lambda: done.append(2)}
    assert timing.in_turn(ways, rounds=2, clock=lambda: next(now)) == {"one": [2, 1], "two": [4, 5]}
    assert done == [1, 2] * 3


def test_every_control_is_swept_from_end_to_end():
    kind = explorables.explorables()["SaturationLab"]
    moves = list(islice(explorables.sweep(kind), 300))
    for control in kind.controls:
        values = {value for name, value in moves if name == control.name}
        assert values == set(control.stops) and len(values) > 1


def test_a_device_that_is_measured_is_not_everybodys():
    """A new tensor stands where it stood before, and no call is slower for it."""
    with bench_command.current_device(torch.device("meta")), bench_command.current_device():
        assert torch.empty(1).device.type == "cpu"


def test_no_sentence_ends_before_its_last_word():
    system, memory = decoding.ready("transformer")
    for more, length in ((5_000, 9), (15_000, 1)):  # however much a system would like to end
        with torch.no_grad():
            system.words.output.bias[EOS] += more
        said = greedy(system, memory, max_len=9).ids
        assert (said != PAD).sum(dim=1).tolist() == [length] * decoding.BATCH


def test_the_museum_has_the_speed_of_every_translator(small, capsys):
    kept = json.loads(data_path("results", "decoding_speed.json").read_text(encoding="utf-8"))
    turns = range(decoding_speed.TURNS)
    wanted = [(one.name, turn) for turn in turns for one in translators()]
    assert [(run["variant"], run["seed"]) for run in kept["runs"]] == wanted
    assert kept["command"] == decoding_speed.COMMAND and kept["machine"]
    found = decoding_speed.run()
    assert "rnn_encoder_decoder  " in capsys.readouterr().out
    assert [one["seed"] for one in found] == [*turns] and all(one["words_per_second"] > 0 for one in found)


def test_the_clock_adds_up_two_commands_and_says_what_came_out(monkeypatch, capsys):
    def timed(*words: str) -> float:
        if words[0] == "evaluate":
            trained = dict.fromkeys(("machine", "versions", "data", "command"), "known")
            whole = {"systems": [{"trained": trained, "results": {"bleu": {"value": 41}}}]}
            Path(words[-1]).write_text(json.dumps(whole))
        return 2.5

    monkeypatch.setattr(clock, "timed", timed)
    kept = json.loads(data_path("results", "clock.json").read_text(encoding="utf-8"))
    found = clock.run()
    assert found.keys() == kept.keys() and found["command"] == kept["command"] == clock.COMMAND
    assert found["seconds"] == 5.0 and capsys.readouterr().out.endswith(": 5.0 s\n")


# ---- training: what our steps are measured by


def test_torch_s_transformer_is_as_large_as_ours_sees_as_much_and_has_its_loss():
    """Nothing of padding, nothing of the future. In training, for at rest torch takes another path."""
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
    ours, theirs = translation(0.1)(model, batch), usual_objective(0.1)(model, batch)
    torch.testing.assert_close(ours[0], theirs[0])
    assert ours[1] == theirs[1] == 8


def test_every_place_of_the_gpu_s_batch_counts():
    batch = training.drawn_batch(6, 5, 40)
    assert int(batch.n_tokens) == 30 and not (batch.src == PAD).any()
    assert (batch.tgt_in[:, 0] == BOS).all() and torch.equal(batch.tgt_in[:, 1:], batch.tgt_out[:, :-1])
    assert (batch.src[:, -1] == EOS).all() and (batch.tgt_out[:, -1] == EOS).all()


def test_both_loops_learn_and_only_ours_has_like_lengths_together(small):
    ways, padding = training.cpu_ways("transformer"), {}
    assert sorted(torch.cat([batch.pairs for batch in ways["naive"].batches]).tolist()) == list(range(80))
    for name, (step, batches) in ways.items():
        first, *_, last = (float(step(batches[0], 1e-4)[0]) for _ in range(9))
        assert last < first, name
        padding[name] = sum((one.tgt_out == PAD).sum() for one in batches)
    assert padding["ours"] < padding["naive"]
