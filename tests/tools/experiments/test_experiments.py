"""The table of experiments can be run, every run is kept, and what was run is what the table says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import fields

import psutil
import pytest

from course_lib.models.registry import make_config
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.checkpoint import load_system
from course_lib.training.corpora import encode_data, sides
from course_lib.training.recipe import Recipe
from tools.cli import main
from tools.experiments import catalogue, trained_run
from tools.experiments.catalogue import experiments
from tools.experiments.cpu_runs import run_divisor, run_key_and_value
from tools.experiments.recall_run import DISTANCES, SIZES, run_recall
from tools.experiments.runner import LARGE, SMALL, Run, run, run_one
from tools.experiments.tables import table
from tools.experiments.trained_run import INSIDE

EACH = [pytest.param(one, id=one.name) for one in experiments().values()]


@pytest.mark.parametrize("one", EACH)
def test_every_variant_asks_for_what_there_is(one):
    assert one.asks.endswith(("?", ".")) and one.expected.endswith(".") and one.lesson
    assert one.kind in LARGE | SMALL and one.variants and one.seeds
    for changes in one.variants.values():
        if one.kind == "train":
            config = make_config(changes["system"], scale=changes.get("data", "toy"), vocab_size=20)
            assert set(changes.get("config", {})) <= {field.name for field in fields(config)}
            assert set(changes.get("recipe", {})) <= {field.name for field in fields(Recipe)}
            Recipe(n_steps=9, **{k: v for k, v in changes.get("recipe", {}).items() if k != "n_steps"})
            assert set(changes.get("measures", [])) <= {"test", *INSIDE}
        elif one.kind == "recall":
            assert changes["system"] in SIZES


def test_systems_and_variants_are_crossed_and_what_is_the_same_is_joined():
    asked = {
        "systems": ["rnn_lm", "gru_lm"],
        "same": {"recipe": {"smoothing": 0.0}, "keep": True},
        "variants": {"slow": {"recipe": {"learning_rate": 1e-4}}, "": {}},
    }
    two = catalogue._read("x", {"lesson": "1", "asks": "?", "expected": "."} | asked)
    assert list(two.variants) == ["rnn_lm, slow", "rnn_lm", "gru_lm, slow", "gru_lm"]
    assert two.variants["gru_lm, slow"] == {
        "system": "gru_lm",
        "keep": True,
        "recipe": {"smoothing": 0.0, "learning_rate": 1e-4},
    }
    assert two.seeds == (0, 1, 2)


# ---- running


def test_what_is_done_is_kept_and_not_done_again_and_what_fails_is_counted(tmp_path, capfd):
    told, variant = [], "width 2, one matrix"
    asked = {"out": tmp_path, "variants": [variant], "n_steps": 3, "tell": told.append}
    assert run(["key_and_value"], seeds=[0], **asked) == 0
    assert run(["key_and_value"], seeds=[0, -(2**70), 1], **asked) == 1
    assert len(told) == 3 and sum("FAILED" in line for line in told) == 1
    assert told[0].startswith(f"key_and_value, {variant}, seed 0: right, % ")
    assert "Traceback" in capfd.readouterr().err
    trial = tmp_path / "key_and_value_3_steps.json"
    kept = json.loads(trial.read_text(encoding="utf-8"))
    assert [(one["variant"], one["seed"], one["n_steps"]) for one in kept["runs"]] == [
        (variant, 0, 3),
        (variant, 1, 3),
    ]
    assert all(one["machine"] and one["seconds"] > 0 for one in kept["runs"])
    assert kept["expected"] == experiments()["key_and_value"].expected
    assert kept["command"] == "python3 -m course_lib experiment key_and_value --steps 3"
    assert run(["key_and_value"], seeds=[0], **asked) == 0 and told[-1].startswith("All of it was run before")
    assert not (tmp_path / "key_and_value.json").exists(), "a trial is no result"
    assert f"| {variant} | 2 |" in table(kept)


def test_weights_that_are_kept_say_how_they_were_made(monkeypatch, tmp_path):
    few = sides(generate(40, seed=1))
    data = encode_data("few", few, few, WordTokenizer.from_texts([*few[0], *few[1]]))
    monkeypatch.setattr(trained_run, "loaded", lambda corpus: data)
    monkeypatch.setattr(trained_run, "toy_scores", lambda *_: {})
    run_one(Run("toy_language_models", "gru_lm", 0), tmp_path, 1, "cpu", 1)
    about = load_system(tmp_path / "checkpoints_1_steps" / "gru_lm.safetensors").about
    typed = "experiment toy_language_models --steps 1 --variants gru_lm --seeds 0"
    assert about["command"] == f"python3 -m course_lib {typed}"


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tools.cli.commands.ensure", lambda *_: None)
    assert main(["experiment", "--list"]) == 0
    assert "positions  (lesson 11; 4 variants)" in capsys.readouterr().out
    assert main(["experiment", "positons"]) == 1
    assert "There is no experiment 'positons'" in capsys.readouterr().err
    assert main(["experiment", "positions", "--variants", "nun", "--out", str(tmp_path)]) == 1
    assert "positions has no variant 'nun'. There are: none, learned" in capsys.readouterr().err
    assert main(["experiment", "positions", "--table", "--out", str(tmp_path)]) == 1
    assert "positions.json is not there" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_kill_end_all_runs(tmp_path, sent, code):
    words = f"experiment key_and_value --steps 100000000 --at-a-time 2 --out {tmp_path}".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "course_lib", *words],
        cwd=PROJECT_ROOT,
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    while len(runs := psutil.Process(process.pid).children()) < 3:  # two, and multiprocessing's own
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(sent)
    process.communicate(timeout=60)
    assert process.returncode == code
    assert psutil.wait_procs(runs, timeout=20)[1] == []


# ---- the kinds


def test_a_forget_bias_lets_the_gradient_reach_farther_back():
    def gradient(**changes) -> float:
        found = run_recall({"system": "lstm_lm", "each": [1], **changes}, seed=0, n_steps=1, device="cpu")
        return found["gradient"]["fresh"]["50"]

    assert gradient(forget_bias=1.0) == gradient() and gradient(forget_bias=5.0) > 100 * gradient()


def test_recall_trained_anew_on_each_distance():
    both, one = (
        run_recall({"system": "gru_lm", "each": each, "n_steps": 2}, seed=0, device="cpu")
        for each in ([1, 2], [1])
    )
    assert list(both["right"]) == ["1", "2"] and both["right"]["1"] == one["right"]["1"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gru_lm", "transformer_lm"])
def test_recall_over_short_distances_can_be_learned(name, monkeypatch):
    monkeypatch.setattr("tools.experiments.recall_run.LONGEST", 2)
    monkeypatch.setattr("tools.experiments.recall_run.DISTANCES", (1, 2))
    found = run_recall({"system": name}, seed=0, n_steps=250, device="cpu")
    assert found["right"]["1"] > 0.9 and found["loss"][0] > 2 > found["loss"][-1]
    assert set(found["gradient"]["fresh"]) == {"1", "2"}


def test_a_gradient_fades_in_a_recurrent_network_and_not_in_attention():
    slow = {
        name: run_recall({"system": name}, seed=0, n_steps=1, device="cpu")
        for name in ("rnn_lm", "transformer_lm")
    }
    fades, stays = (slow[name]["gradient"]["fresh"] for name in ("rnn_lm", "transformer_lm"))
    assert fades["100"] < 1e-6 * fades["1"] and stays["100"] > 0.1 * stays["1"]
    assert [int(lag) for lag in fades] == [*DISTANCES]


def test_a_recorded_run_comes_out_again():
    """At rates that are not too high: there a rounding grows."""
    runs = json.loads(data_path("results", "divisor.json").read_text(encoding="utf-8"))["runs"]
    kept = next(one for one in runs if one["variant"] == "d_k 64, divided by root" and one["seed"] == 0)
    found = run_divisor(experiments()["divisor"].variants[kept["variant"]], seed=0)
    for rate in ("0.001", "0.003", "0.008"):
        assert found["end"][rate] == pytest.approx(kept["end"][rate], rel=0.02, abs=0.002)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_contents_are_found_by_their_names(shared):
    found = run_key_and_value({"width": 32, "shared": shared}, seed=0, n_steps=600)
    assert found["right"] > 0.9
