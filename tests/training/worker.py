"""The script that test_processes.py starts with torchrun: `worker.py kill|resume FOLDER`."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
from pathlib import Path

import torch

from course_lib.models.registry import SYSTEMS, System, build, make_config
from course_lib.text.batch import Batch, make_batch
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training import run_folder
from course_lib.training.data import TrainingData, encode_data
from course_lib.training.objective import mean_loss, objective_for
from course_lib.training.processes import CPU, SINGLE, Processes, join
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep
from tools import corpora
from tools.cli import main
from tools.pronouns import classification

RANK = int(os.environ.get("RANK", "0"))
VOCAB = 24
ROWS = (5, 1, 4)  # an odd number, fewer than processes, an even number


def tiny_data() -> TrainingData:
    """Forty pairs of a language with twenty words."""
    rng = random.Random(0)
    words = [f"w{number}" for number in range(VOCAB - 4)]
    texts = [" ".join(rng.choices(words, k=rng.randint(2, 9))) for _ in range(80)]
    train, validation = (texts[:40], texts[40:]), (texts[:7], texts[40:47])
    return encode_data("tiny", train, validation, WordTokenizer.from_texts(texts))


def course_train(folder: Path, signal_in: dict[int, int] | None = None) -> int:
    """`course_lib train`, where process 1 gets a signal during a step: `signal_in` maps steps to signals."""
    step, numbers = PlainStep.__call__, itertools.count(1)

    def step_and_signal(self, *batch):
        if RANK == 1 and (number := next(numbers)) in (signal_in or {}):
            os.kill(os.getpid(), signal_in[number])
        return step(self, *batch)

    corpora.load_data = lambda *args, **options: tiny_data()
    PlainStep.__call__ = step_and_signal
    words = "train transformer --scale toy --steps 24 --tokens-per-batch 60 --device cpu --folder"
    try:
        return main([*words.split(), str(folder)])
    finally:
        PlainStep.__call__ = step


def batch_of(n_rows: int) -> Batch:
    rng = random.Random(n_rows)
    sides = [[rng.choices(range(4, VOCAB), k=rng.randint(2, 9)) for _ in range(n_rows)] for _ in range(2)]
    return make_batch(*sides)


def train_briefly(system: System, processes: Processes) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The gradients of every step, and the weights after the last one."""
    torch.manual_seed(0)
    model = build(system.name, make_config(system.name, scale="tiny", vocab_size=VOCAB))
    classes = torch.tensor([0, 1, 1, 0, 1])
    if system.kind == "sentence encoder":
        objective = classification(classes, classes, smoothing=0.0, penalty=0.03)
    else:
        objective = objective_for(model, smoothing=0.1)
    step = PlainStep(model, objective, Recipe(n_steps=len(ROWS), clip=1e9), processes)
    gradients, update = [], step.adam.step

    def record_and_update(rate: float) -> None:
        gradients.extend(parameter.grad.clone() for parameter in model.parameters())
        update(rate)

    step.adam.step = record_and_update
    for n_rows in ROWS:
        step(batch_of(n_rows), 1e-3)
    return gradients, [parameter.detach() for parameter in model.parameters()]


def max_difference(tensors: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    return max(float((tensor - other).abs().max()) for tensor, other in zip(tensors, others, strict=True))


def error_message(processes: Processes) -> str:
    try:
        processes.check_same("the run", processes.rank > 0)
    except ValueError as error:
        return str(error)
    return "none"


def resume(folder: Path) -> None:
    """Resume `run`, stop it and resume again; train `uninterrupted` without a stop; then save results."""
    saved_files, save = set(), run_folder.save_checkpoint

    def save_and_record(path, *rest):
        saved_files.add(Path(path).name)
        save(path, *rest)

    run_folder.save_checkpoint = save_and_record
    exit_codes = [course_train(folder / "run", {6: signal.SIGINT}), course_train(folder / "run")]
    exit_codes.append(course_train(folder / "uninterrupted"))
    processes = join(CPU)
    systems = {
        system.name: list(
            map(max_difference, train_briefly(system, processes), train_briefly(system, SINGLE))
        )
        for system in SYSTEMS
        if not system.counts
    }
    data, model = tiny_data(), build("gru_lm", make_config("gru_lm", scale="tiny", vocab_size=VOCAB))
    losses = [
        mean_loss(model, data.train, objective_for(model, 0.0), tokens_per_batch=40, processes=group)
        for group in (SINGLE, processes)
    ]
    processes.check_same("the run", "equal")
    results = {
        "saved_files": sorted(saved_files),
        "exit_codes": exit_codes,
        "systems": systems,
        "losses": losses,
        "agreed": [processes.any_across(processes.rank == rank) for rank in (0, 1, 2)],
        "error": error_message(processes),
    }
    (folder / f"results_{RANK}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(sys.argv[2])
    if sys.argv[1] == "kill":
        sys.exit(course_train(folder / "run", {8: signal.SIGKILL}))
    resume(folder)
