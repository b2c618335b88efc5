"""Killed for good, at moments nobody chose, and resumed each time: the same weights, bit for bit."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from course_lib.runtime import PROJECT_ROOT
from course_lib.training.checkpoint import load_checkpoint
from course_lib.training.history import History

N_STEPS, KILLS = 240, 4

PROGRAM = f"""
import sys
import torch
from course_lib.models.registry import build, make_config
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.corpora import encode_data
from course_lib.training.recipe import Recipe
from course_lib.training.run_folder import RunFolder
from course_lib.training.saved_system import describe
from course_lib.training.train import train

torch.set_num_threads(1)
pairs = generate(120, seed=0, length=(3, 8))
texts = [pair.src_text for pair in pairs], [pair.tgt_text for pair in pairs]
data = encode_data("few", texts, texts, WordTokenizer.from_texts([*texts[0], *texts[1]]))
config = make_config("lstm_lm", scale="tiny", vocab_size=data.tokenizer.vocab_size)
torch.manual_seed(0)
model = build("lstm_lm", config)
recipe = Recipe(
    n_steps={N_STEPS}, tokens_per_batch=128, learning_rate=1e-2, warm_up=9, decay="linear", validate_every=5,
    average_from=0.4, average_every=3,
)
print("ready", flush=True)
train(model, data.train, recipe, validation=data.validation,
      keeper=RunFolder(sys.argv[1], describe("lstm_lm", config, recipe, data)),
      after_look=lambda record: print(record.step, flush=True))
"""


def start(folder: Path) -> subprocess.Popen:
    """A run in a process of its own, once it is about to take its first step."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)],
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == "ready\n"
    return process


def finish(process: subprocess.Popen) -> None:
    process.communicate(timeout=120)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_at_random_moments_and_resumed(tmp_path):
    finish(start(tmp_path / "straight"))

    rng, stood = random.Random(5), []
    for _ in range(KILLS):
        process = start(tmp_path / "killed")
        for _ in range(rng.randint(1, 2)):  # it validates and saves every fifth step
            process.stdout.readline()
        time.sleep(rng.uniform(0, 0.05))  # some steps on, or in the middle of writing
        process.kill()
        process.communicate()
        stood.append(load_checkpoint(tmp_path / "killed" / "last.safetensors")[1]["standing"]["step"])
    finish(start(tmp_path / "killed"))
    assert stood == sorted(stood) and 0 < stood[0] < stood[-1] < N_STEPS  # it got on between the kills

    for name in ("last", "best"):
        (straight, about), (resumed, resumed_about) = (
            load_checkpoint(tmp_path / run / f"{name}.safetensors") for run in ("straight", "killed")
        )
        assert straight.keys() == resumed.keys()
        assert all(torch.equal(tensor, resumed[key]) for key, tensor in straight.items())
        histories = [History.from_json(each["history"]).to_json() for each in (about, resumed_about)]
        for record in (record for history in histories for record in history):
            record.pop("seconds")
        assert histories[0] == histories[1]
    left = {path.name for path in (tmp_path / "killed").iterdir()}
    assert left == {"last.safetensors", "best.safetensors", ".lock"}  # nothing half written
