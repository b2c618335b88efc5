"""The table of experiments can be run, every run is kept, and what was run is what the table says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import fields

import pytest

from course_lib.bench import experiments as module
from course_lib.bench.experiments import KINDS, Run, experiments, run
from course_lib.bench.look_up import RATES
from course_lib.bench.look_up import run as run_look_up
from course_lib.bench.recall import DISTANCES, SIZES
from course_lib.bench.recall import run as run_recall
from course_lib.bench.tables import table
from course_lib.bench.trained import INSIDE
from course_lib.cli import main
from course_lib.models.registry import make_config
from course_lib.runtime import PROJECT_ROOT, write_json
from course_lib.training.recipe import Recipe

EACH = [pytest.param(one, id=one.name) for one in experiments().values()]


@pytest.mark.parametrize("one", EACH)
def test_every_variant_asks_for_what_there_is(one):
    assert one.asks.endswith(("?", ".")) and one.expected.endswith(".") and one.lesson
    assert one.kind in KINDS and one.variants and one.seeds
    for changes in one.variants.values():
        if one.kind == "train":
            config = make_config(changes["system"], scale=changes.get("data", "toy"), vocab_size=20)
            assert set(changes.get("config", {})) <= {field.name for field in fields(config)}
            assert set(changes.get("recipe", {})) <= {field.name for field in fields(Recipe)}
            Recipe(n_steps=9, **{k: v for k, v in changes.get("recipe", {}).items() if k != "n_steps"})
            assert set(changes.get("measures", [])) <= {"test", *INSIDE}
        elif one.kind == "recall":
            assert changes["system"] in SIZES


def test_files_of_runs_have_names_of_their_own(tmp_path):
    runs = [
        Run(one.name, variant, seed)
        for one in experiments().values()
        for variant in one.variants
        for seed in one.seeds
    ]
    assert len({run.part(tmp_path) for run in runs}) == len(runs)


def test_systems_and_variants_are_crossed_and_what_is_the_same_is_joined():
    two = module._read(
        "x",
        {
            "lesson": "1",
            "asks": "?",
            "expected": ".",
            "systems": ["rnn_lm", "gru_lm"],
            "same": {"recipe": {"smoothing": 0.0}, "keep": True},
            "variants": {"slow": {"recipe": {"learning_rate": 1e-4}}, "": {}},
        },
    )
    assert list(two.variants) == ["rnn_lm, slow", "rnn_lm", "gru_lm, slow", "gru_lm"]
    assert two.variants["gru_lm, slow"] == {
        "system": "gru_lm",
        "keep": True,
        "recipe": {"smoothing": 0.0, "learning_rate": 1e-4},
    }
    assert two.seeds == (0, 1, 2)


# ---- running


def test_what_is_done_is_kept_and_not_done_again(tmp_path):
    told: list[str] = []
    variant = "width 2, one matrix"
    asked = {"out": tmp_path, "variants": [variant], "n_steps": 3, "tell": told.append}
    assert run(["key_and_value"], seeds=[0], **asked) == 0
    assert run(["key_and_value"], seeds=[0, 1], **asked) == 0
    assert len(told) == 2 and not list((tmp_path / "parts").iterdir())  # all in one file now
    kept = json.loads((tmp_path / "key_and_value.json").read_text(encoding="utf-8"))
    assert [(one["variant"], one["seed"], one["n_steps"]) for one in kept["runs"]] == [
        (variant, 0, 3),
        (variant, 1, 3),
    ]
    assert kept["expected"] == experiments()["key_and_value"].expected
    assert kept["command"] == "python3 -m course_lib experiment key_and_value"
    assert f"| {variant} | 2 |" in table(kept)


def test_a_run_that_was_done_before_an_interruption_counts(tmp_path):
    done = Run("key_and_value", "width 2, one matrix", 0)
    write_json(done.part(tmp_path), {"variant": done.variant, "seed": 0, "right": 0.5, "brief": "as before"})
    told: list[str] = []
    assert run(["key_and_value"], out=tmp_path, seeds=[0], variants=[done.variant], tell=told.append) == 0
    assert told == []
    kept = json.loads((tmp_path / "key_and_value.json").read_text(encoding="utf-8"))
    assert [one["brief"] for one in kept["runs"]] == ["as before"]


def test_a_run_that_fails_is_counted_and_the_others_are_kept(tmp_path, capfd):
    told: list[str] = []
    failed = run(
        ["key_and_value"],
        out=tmp_path,
        seeds=[-(2**70), 0],
        variants=["width 2, one matrix"],
        n_steps=2,
        tell=told.append,
    )
    assert failed == 1 and sum("FAILED" in line for line in told) == 1
    assert "Traceback" in capfd.readouterr().err
    assert len(json.loads((tmp_path / "key_and_value.json").read_text(encoding="utf-8"))["runs"]) == 1


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("course_lib.cli.commands.enter", lambda *_: None)
    assert main(["experiment", "--list"]) == 0
    assert "positions  (lesson 11, 4 variants)" in capsys.readouterr().out
    assert main(["experiment", "positons"]) == 1
    assert "There is no experiment 'positons'" in capsys.readouterr().err
    assert main(["experiment", "positions", "--variants", "nun", "--out", str(tmp_path)]) == 1
    assert "positions has no variant 'nun'. There are: none, learned" in capsys.readouterr().err
    assert main(["experiment", "positions", "--table", "--out", str(tmp_path)]) == 1
    assert "positions.json is not there" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_ends_all_runs(tmp_path):
    words = [
        "experiment",
        "key_and_value",
        "--steps",
        "100000000",
        "--at-a-time",
        "2",
        "--out",
        str(tmp_path),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "course_lib", *words],
        cwd=PROJECT_ROOT,
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    time.sleep(8)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


# ---- the kinds


def test_a_forget_bias_lets_the_gradient_reach_farther_back():
    def slope(**changes) -> float:
        found = run_recall({"system": "lstm_lm", "each": [1], **changes}, seed=0, n_steps=1, device="cpu")
        return found["gradient"]["fresh"]["50"]

    assert slope(forget_bias=1.0) == slope() and slope(forget_bias=5.0) > 100 * slope()


def test_recall_trained_anew_on_each_distance():
    found = run_recall({"system": "gru_lm", "each": [1, 2], "n_steps": 2}, seed=0, device="cpu")
    assert list(found["right"]) == ["1", "2"] and found["n_steps"] == 2
    again = run_recall({"system": "gru_lm", "each": [1], "n_steps": 2}, seed=0, device="cpu")
    assert again["right"]["1"] == found["right"]["1"] and len(again["loss"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_recall_over_short_distances_can_be_learned(name, monkeypatch):
    monkeypatch.setattr("course_lib.bench.recall.LONGEST", 2)
    monkeypatch.setattr("course_lib.bench.recall.DISTANCES", (1, 2))
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


def test_looking_up_is_learned_at_the_rate_of_the_lesson():
    found = run_look_up({"task": "divisor", "d_k": 64, "divisor": "root"}, seed=0, n_steps=100)
    assert list(found["end"]) == [str(rate) for rate in RATES]
    assert found["end"]["0.008"] < 0.05 < found["end"]["0.001"]


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_contents_are_found_by_their_names(shared):
    found = run_look_up({"task": "key and value", "width": 32, "shared": shared}, seed=0, n_steps=600)
    assert found["right"] > 0.9
