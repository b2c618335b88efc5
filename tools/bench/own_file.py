"""How fast lesson 15's full run is: the library's quick run, the learner's file with the learner's own step,
and on a GPU the same file with the library's captured step, side by side.

    python3 -m course_lib bench own_file                                 # print the table
    python3 -m tools.bench.own_file --out data/results/cpu/own_file.json     # and save it

The learner's functions are the reference implementations in `by_hand.py`, the file is lesson 14's reference
unless `--file` names another one. First all ways take turns, a few steps at a time, so that a busy moment of
the machine affects them all; then each trains a whole run and is scored on the test set.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile

from course_lib.models.registry import build
from course_lib.runtime import PROJECT_ROOT, write_json
from course_lib.runtime import device as usual_device
from course_lib.text.batch import Batch
from course_lib.text.batching import FIXED_LENGTHS, Epochs
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.training.checkpoint import machine, versions
from course_lib.training.data import TrainingData
from course_lib.training.job import Job, config_for, make_recipe, run_job
from course_lib.training.loop import make_step
from course_lib.training.objective import objective_for
from course_lib.training.recipe import Recipe
from course_lib.translation.evaluation import evaluate
from lessons.l15_training_a_translator.by_hand import by_length, paper_rate
from lessons.l15_training_a_translator.short_sentences import full_data
from lessons.l15_training_a_translator.training_settings import FULL_RUN
from lessons.l15_training_a_translator.translator_run import TranslatorRun
from lessons.l17_what_it_costs.timing import columns, conditions, in_turn

COMMAND = "python3 -m tools.bench.own_file"
FILE = "lessons/l14_the_transformer/reference_transformer.py"
LIBRARY, OWN, CAPTURED = "library, quick run", "own file, own step", "own file, captured step"
ROUNDS, STEPS_PER_ROUND, SEED = 5, 20, 0
Steps = Callable[[], None]


def run(
    device: torch.device,
    *,
    file: Path | str = PROJECT_ROOT / FILE,
    seed: int = SEED,
    n_steps: int | None = None,
) -> dict:
    """Measure, print a table, and return everything as plain data. `n_steps` shortens the runs."""
    data = full_data().to(device)
    settings = replace(FULL_RUN, n_steps=n_steps or FULL_RUN.n_steps)
    own = {"file": file, "seed": seed, "device": device}
    runs = {OWN: TranslatorRun(data, settings, batcher=by_length, schedule=paper_rate, **own)}
    if device.type == "cuda":
        runs[CAPTURED] = TranslatorRun(data, settings, step=None, **own)
    job = Job(system="transformer", quick=True, seed=seed, device=str(device), n_steps=settings.n_steps)
    print(f"{machine(device)}, {conditions('torch')}", flush=True)
    rounds = {LIBRARY: steps_of_job(job, data)} | {name: steps_of_run(run) for name, run in runs.items()}
    times = in_turn(rounds, rounds=ROUNDS)
    result = {name: {"ms per step": 1000 * median(times[name]) / STEPS_PER_ROUND} for name in rounds}
    kernels = count_kernels(rounds[OWN]) if device.type == "cuda" else None
    test = splits(seed=0, sizes=TEST_SIZES).test
    trained = run_job(job, data=data)
    result[LIBRARY] |= scored(trained.result.seconds, trained.model, data, test)
    for name, own_run in runs.items():
        own_run.train()
        result[name] |= scored(own_run.state.seconds, own_run.model, data, test)
    rows = [
        [name, f"{way['ms per step']:.2f}", f"{way['seconds']:.1f}", f"{100 * way['exact']:.1f}%"]
        for name, way in result.items()
    ]
    print("", columns(["", "ms per step", "whole run, s", "exact match"], rows), sep="\n")
    about = {
        "seed": seed,
        "file": Path(file).name,
        "n_steps": settings.n_steps,
        "machine": machine(device),
        "versions": versions(),
        "conditions": conditions("torch"),
    }
    ratio = result[OWN]["ms per step"] / result[LIBRARY]["ms per step"]
    return about | {"own step over library": ratio, "kernels per own step": kernels, "ways": result}


def scored(seconds: float, model: torch.nn.Module, data: TrainingData, test: tuple) -> dict[str, float]:
    """The time of a run, with its validations, and the exact match on the test set."""
    return {"seconds": seconds, "exact": evaluate(model, data.tokenizer, test).exact}


def steps_of_job(job: Job, data: TrainingData) -> Steps:
    """A few steps of the library's run."""
    torch.manual_seed(job.seed)
    model = build(job.system, config_for(job, data)).to(data.train.device)
    return library_steps(model, data, make_recipe(job, data))


def steps_of_run(run: TranslatorRun) -> Steps:
    """A few steps of lesson 15's run, with its own step or the library's."""
    if not run.has_own_step:
        return library_steps(run.model, run.data, run.recipe)
    parts = run.own_parts()
    return repeat(parts["step"], parts["batches"], run.rate)


def library_steps(model: torch.nn.Module, data: TrainingData, recipe: Recipe) -> Steps:
    step = make_step(model.train(), objective_for(model, recipe.smoothing), recipe)
    lengths = FIXED_LENGTHS if recipe.fixed_shapes else None
    sizes = {"tokens_per_batch": recipe.tokens_per_batch, "seed": recipe.seed, "lengths": lengths}
    return repeat(step, Epochs(data.train, over_long="leave out", **sizes), recipe.rate)


def repeat(step: Callable, batches: Iterator[Batch], rate: Callable[[int], float]) -> Steps:
    """A function that takes the next steps."""

    def work() -> None:
        for number in range(1, STEPS_PER_ROUND + 1):
            step(next(batches), rate(number))

    return work


def count_kernels(steps: Steps) -> float:
    """The number of kernels that one step launches on the GPU."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        steps()
        torch.cuda.synchronize()
    launches = [event.count for event in profiler.key_averages() if event.key == "cudaLaunchKernel"]
    return sum(launches) / STEPS_PER_ROUND


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, help="save the result as JSON")
    parser.add_argument("--file", default=PROJECT_ROOT / FILE, help="a file with a class Transformer")
    parser.add_argument("--device", type=torch.device, default=None, help="cpu, cuda, …")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--steps", type=int, help="make all runs shorter")
    args = parser.parse_args()
    device = args.device or usual_device()
    result = run(device, file=args.file, seed=args.seed, n_steps=args.steps)
    if args.out:
        write_json(args.out, {"command": f"{COMMAND} --seed {args.seed} --device {device}"} | result)


if __name__ == "__main__":
    main()
