"""A small run of every bench, and the yardsticks are what they say. No test depends on the clock."""

from __future__ import annotations

import json
from itertools import islice

import pytest
import torch

from course_lib import explore
from course_lib.bench import decoding, explorables, frame, training
from course_lib.bench.decoding_speed import COMMAND, LENGTH, TURNS, words_per_second
from course_lib.bench.torch_transformer import TorchTransformer, usual_objective
from course_lib.models.registry import build, make_config, translators
from course_lib.runtime import data_path
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS, EOS, PAD
from course_lib.training.objective import translation

CPU = torch.device("cpu")
SMALL = {
    training: {"CPU_SYSTEMS": ("bahdanau",), "CPU_PAIRS": 80, "CPU_STEPS": 5, "CPU_ROWS": 16}
    | {"CPU_TOKENS": 128, "ROUNDS": {"cpu": 1}},
    decoding: {"MEASURED": (("transformer", "tiny"),), "VOCAB": {"tiny": 30}, "LENGTH": 7, "ROUNDS": 1},
    explorables: {"NAMES": ("SoftmaxDial",), "TRAINED": ()},
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
        (training, {"device": CPU}, ["bahdanau  ms a step", "naive", "ours", "1.00 ×"]),
        (decoding, {"device": CPU}, ["on cpu", "cached  recomputed", "transformer (tiny)"]),
        (explorables, {}, ["kernel", "interact", "SoftmaxDial"]),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_small_run_of_each(small, capsys, bench, asked, told):
    assert bench.run(**asked) == 0
    out = capsys.readouterr().out
    assert all(part in out for part in told) and "other words" not in out


def test_the_median_of_all_rounds_but_the_first(monkeypatch):
    done, clock = [], iter([99.0, 99.0, 0.2, 4.0, 0.1, 5.0, 0.3, 6.0])
    monkeypatch.setattr(frame, "seconds", lambda work, device: work() or next(clock))
    ways = {"one": lambda: done.append(1), "two": lambda: done.append(2)}
    assert frame.in_turn(ways, rounds=3, device=CPU) == {"one": 0.2, "two": 5.0}
    assert done == [1, 2] * 4


def test_every_control_is_swept_from_end_to_end():
    kind = explore.SaturationLab
    moves = list(islice(explorables.sweep(kind), 300))
    for control in kind.controls:
        values = {value for name, value in moves if name == control.name}
        assert values == set(control.stops) and len(values) > 1


# ---- decoding


def test_no_sentence_ends_before_its_last_word():
    system = build("transformer", make_config("transformer", scale="tiny", vocab_size=12)).eval()
    with torch.no_grad():
        system.words.output.bias[EOS] = 100.0
    memory = system.encode(*decoding.sources(12, max_len=16))
    assert decoding.decode(system, memory, 9).lengths.tolist() == [1] * decoding.BATCH
    assert decoding.decode(decoding.endless(system), memory, 9).lengths.tolist() == [9] * decoding.BATCH


def test_the_museum_has_the_speed_of_every_translator():
    kept = json.loads(data_path("results", "decoding_speed.json").read_text(encoding="utf-8"))
    wanted = [(one.name, turn) for turn in range(TURNS) for one in translators()]
    assert [(run["variant"], run["seed"]) for run in kept["runs"]] == wanted
    assert kept["command"] == COMMAND and kept["machine"]
    system, memory = decoding.ready("rnn_encoder_decoder")
    assert system.config.max_len >= LENGTH and words_per_second(system, memory) > 0


# ---- training: what our steps are measured by


def test_torch_s_transformer_is_as_large_as_ours():
    config = make_config("transformer", scale="multi30k", vocab_size=8000)
    models = TorchTransformer(config), build("transformer", config)
    sizes = [sum(p.numel() for p in model.parameters()) for model in models]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)


def test_torch_s_transformer_sees_what_ours_sees_and_has_its_loss():
    """Nothing of padding, nothing of the future. In training, for at rest torch takes another path."""
    torch.manual_seed(0)
    model = TorchTransformer(make_config("transformer", scale="tiny", vocab_size=40)).train()
    batch = make_batch([[7, 8, 9], [5]], [[6, 7, 8], [9, 5, 4]])
    logits = model(batch.src, batch.src_lengths, batch.tgt_in)
    src, tgt_in = batch.src.clone(), batch.tgt_in.clone()
    src[1, 2:] = tgt_in[:, 2:] = 11
    torch.testing.assert_close(model(src, batch.src_lengths, tgt_in)[:, :2], logits[:, :2])
    src[0, 0] = 11
    assert not torch.allclose(model(src, batch.src_lengths, tgt_in)[0], logits[0])
    ours, theirs = translation(0.1)(model, batch), usual_objective(0.1)(model, batch)
    torch.testing.assert_close(ours[0], theirs[0])
    assert ours[1] == theirs[1] == 8


def test_every_place_of_the_gpu_s_batch_counts():
    batch = training.drawn_batch(6, 5, 40)
    assert int(batch.n_tokens) == 30 and not (batch.src == PAD).any()
    assert (batch.tgt_in[:, 0] == BOS).all() and torch.equal(batch.tgt_in[:, 1:], batch.tgt_out[:, :-1])
    assert (batch.src[:, -1] == EOS).all() and (batch.tgt_out[:, -1] == EOS).all()


def test_both_loops_learn_from_their_batches(small):
    for name, way in training.cpu_ways("transformer").items():
        first, *_, last = (float(way.step(way.batches[0], 1e-4)[0]) for _ in range(9))
        assert last < first, name


def test_every_sentence_is_drawn_once_and_like_lengths_lie_together(small):
    ways = training.cpu_ways("transformer")
    drawn = torch.cat([batch.pairs for batch in ways["naive"].batches])
    assert sorted(drawn.tolist()) == list(range(80))
    padding = {name: sum((one.tgt_out == PAD).sum() for one in way.batches) for name, way in ways.items()}
    assert padding["ours"] < padding["naive"]
