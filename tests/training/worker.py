"""What torchrun starts in test_processes.py: `numbers FOLDER`, or `train …` as on the command line.

HURT=8          process 1 is killed in step 8
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from course_lib.cli import main
from course_lib.models.registry import build, make_config
from course_lib.models.road import SYSTEMS, System
from course_lib.text.batch import Batch, make_batch
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training import job, run_folder
from course_lib.training.corpora import TrainingData, encode_data
from course_lib.training.objective import classification, objective_for
from course_lib.training.processes import ALONE, CPU, Processes, join
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep
from course_lib.training.validation import mean_loss

VOCAB = 24
ROWS = (5, 1, 4)  # an odd number, fewer than processes, an even number


def tiny_data() -> TrainingData:
    """Forty pairs of a language of twenty words."""
    draw = random.Random(0)
    words = [f"w{number}" for number in range(VOCAB - 4)]
    texts = [" ".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(80)]
    train, validation = (texts[:40], texts[40:]), (texts[:7], texts[40:47])
    return encode_data("tiny", train, validation, WordTokenizer.from_texts(texts))


def batch_of(n_rows: int) -> Batch:
    draw = random.Random(n_rows)
    sides = [[draw.choices(range(4, VOCAB), k=draw.randint(2, 9)) for _ in range(n_rows)] for _ in range(2)]
    return make_batch(*sides)


def learn(system: System, processes: Processes) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Gradients of every step, and the weights after the last."""
    torch.manual_seed(0)
    model = build(system.name, make_config(system.name, scale="tiny", vocab_size=VOCAB))
    classes = torch.tensor([0, 1, 1, 0, 1])
    encodes = system.kind == "sentence encoder"
    objective = classification(classes, penalty=0.03) if encodes else objective_for(model, smoothing=0.1)
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


def validation_losses(processes: Processes) -> list[float]:
    """Alone, and with the work shared."""
    torch.manual_seed(0)
    model = build("transformer", make_config("transformer", scale="tiny", vocab_size=VOCAB))
    data = tiny_data()
    objective = objective_for(model, smoothing=0.0)
    return [
        mean_loss(model, data.train, objective, tokens_per_batch=40, processes=one)
        for one in (ALONE, processes)
    ]


def refusal(processes: Processes) -> str:
    try:
        processes.check_same("the run", processes.rank > 0)
    except ValueError as error:
        return str(error)
    return "none"


def numbers(folder: Path) -> None:
    """Everything that can be asked of two processes at once, as JSON; then one of them falls silent."""
    found: dict[str, object] = {"systems": {}}
    with join(CPU) as processes:
        for system in SYSTEMS:
            if not system.counts:
                pairs = zip(learn(system, processes), learn(system, ALONE), strict=True)
                found["systems"][system.name] = [furthest(*pair) for pair in pairs]
        found["agreed"] = [processes.agree(processes.rank == one) for one in (0, 1, 2)]
        found["losses"] = validation_losses(processes)
        processes.check_same("the run", "is")
        found["refused"] = refusal(processes)
    start = time.monotonic()
    os.environ["COURSE_TIMEOUT"] = "2"
    try:
        with join(CPU) as processes:
            start = time.monotonic()
            if processes.rank == 1:
                time.sleep(12)
            processes.agree(False)
    except RuntimeError:
        found["seconds"] = time.monotonic() - start
    (folder / f"numbers_{processes.rank}.json").write_text(json.dumps(found))


def train(arguments: list[str]) -> int:
    """`course_lib train` on the tiny corpus; each process notes what it wrote and where it ended."""
    rank, folder = int(os.environ.get("RANK", "0")), Path(arguments[arguments.index("--folder") + 1])
    save, run, step, count = run_folder.save_checkpoint, job.run_job, PlainStep.__call__, itertools.count(1)

    def note(what: str, value: object) -> None:
        folder.mkdir(exist_ok=True)
        with (folder / f"{what}_{rank}.txt").open("a") as file:
            print(value, file=file)

    def save_and_note(path, *rest):
        note("wrote", Path(path).name)
        save(path, *rest)

    def run_and_note(*asked, **rest):
        outcome = run(*asked, **rest)
        note("ended", f"{outcome.result.ended} {outcome.result.step}")
        return outcome

    def step_or_die(self, *batch):
        if next(count) == int(os.environ.get("HURT", "0")) and rank == 1:
            note("died", time.time())
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, *batch)

    job.load_data = lambda asked: tiny_data()
    run_folder.save_checkpoint, job.run_job, PlainStep.__call__ = save_and_note, run_and_note, step_or_die
    return main(arguments)


if __name__ == "__main__":
    ended = train(sys.argv[1:])
    if "NUMBERS" in os.environ:  # a second time together: a program may train one system after another
        numbers(Path(os.environ["NUMBERS"]))
    sys.exit(ended)
