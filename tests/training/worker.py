"""What test_processes.py starts in processes of its own: `worker.py lost|together FOLDER`."""

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
from course_lib.training import job, run_folder
from course_lib.training.corpora import TrainingData, encode_data
from course_lib.training.objective import mean_loss, objective_for
from course_lib.training.processes import ALONE, CPU, Processes, join
from course_lib.training.pronouns import classification
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep
from tools.cli import main

RANK = int(os.environ.get("RANK", "0"))
VOCAB = 24
ROWS = (5, 1, 4)  # an odd number, fewer than processes, an even number


def tiny_data() -> TrainingData:
    """Forty pairs of a language of twenty words."""
    draw = random.Random(0)
    words = [f"w{number}" for number in range(VOCAB - 4)]
    texts = [" ".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(80)]
    train, validation = (texts[:40], texts[40:]), (texts[:7], texts[40:47])
    return encode_data("tiny", train, validation, WordTokenizer.from_texts(texts))


def course_train(folder: Path, signal_in: dict[int, int] | None = None) -> int:
    """`course_lib train`; process 1 gets a signal in the middle of a step: `signal_in`, by its number."""
    step, numbers = PlainStep.__call__, itertools.count(1)

    def step_and_signal(self, *batch):
        if RANK == 1 and (number := next(numbers)) in (signal_in or {}):
            os.kill(os.getpid(), signal_in[number])
        return step(self, *batch)

    job.load_data, PlainStep.__call__ = lambda *asked, **more: tiny_data(), step_and_signal
    words = "train transformer --scale toy --steps 24 --tokens-per-batch 60 --device cpu --folder"
    try:
        return main([*words.split(), str(folder)])
    finally:
        PlainStep.__call__ = step


def batch_of(n_rows: int) -> Batch:
    draw = random.Random(n_rows)
    sides = [[draw.choices(range(4, VOCAB), k=draw.randint(2, 9)) for _ in range(n_rows)] for _ in range(2)]
    return make_batch(*sides)


def learn(system: System, processes: Processes) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Gradients of every step, and the weights after the last."""
    torch.manual_seed(0)
    model = build(system.name, make_config(system.name, scale="tiny", vocab_size=VOCAB))
    classes = torch.tensor([0, 1, 1, 0, 1])
    if system.kind == "sentence encoder":
        objective = classification(classes, classes, smoothing=0.0, penalty=0.03)
    else:
        objective = objective_for(model, smoothing=0.1)
    step = PlainStep(model, objective, Recipe(n_steps=len(ROWS), clip=1e9), processes)
    gradients, update = [], step.adam.step

    def keep_and_update(rate: float) -> None:
        gradients.extend(parameter.grad.clone() for parameter in model.parameters())
        update(rate)

    step.adam.step = keep_and_update
    for n_rows in ROWS:
        step(batch_of(n_rows), 1e-3)
    return gradients, [parameter.detach() for parameter in model.parameters()]


def furthest(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    return max(float((one - other).abs().max()) for one, other in zip(some, others, strict=True))


def refusal(processes: Processes) -> str:
    try:
        processes.check_same("the run", processes.rank > 0)
    except ValueError as error:
        return str(error)
    return "none"


def train_together(folder: Path) -> None:
    """Go on in `run`, be stopped and go on again; once without any trouble, in `whole`; then ask around."""
    wrote, save = set(), run_folder.save_checkpoint

    def save_and_note(path, *rest):
        wrote.add(Path(path).name)
        save(path, *rest)

    run_folder.save_checkpoint = save_and_note
    ends = [course_train(folder / "run", {6: signal.SIGINT}), course_train(folder / "run")]
    ends.append(course_train(folder / "whole"))
    processes = join(CPU)
    systems = {
        system.name: list(map(furthest, learn(system, processes), learn(system, ALONE)))
        for system in SYSTEMS
        if not system.counts
    }
    data, model = tiny_data(), build("gru_lm", make_config("gru_lm", scale="tiny", vocab_size=VOCAB))
    losses = [
        mean_loss(model, data.train, objective_for(model, 0.0), tokens_per_batch=40, processes=one)
        for one in (ALONE, processes)
    ]
    processes.check_same("the run", "is")
    found = {
        "wrote": sorted(wrote),
        "ends": ends,
        "systems": systems,
        "losses": losses,
        "agreed": [processes.agree(processes.rank == one) for one in (0, 1, 2)],
        "refused": refusal(processes),
    }
    (folder / f"found_{RANK}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(sys.argv[2])
    if sys.argv[1] == "lost":
        sys.exit(course_train(folder / "run", {8: signal.SIGKILL}))
    train_together(folder)
