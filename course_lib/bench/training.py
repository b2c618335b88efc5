"""How fast a training step is, side by side with torch's own modules: `python3 -m course_lib bench training`.

    python3 -m course_lib.bench.training                    also on a bare GPU machine: no Jupyter needed

    >>> print(table([Row(YARDSTICK, 25.0, 8192), Row("recorded step", 5.0, 8192)]))
                               ms a step    tokens/s     ratio
    eager nn.Transformer           25.00     327,680     1.0 ×
    recorded step                   5.00   1,638,400     5.0 ×

On a GPU: one step of the Transformer at scale multi30k in bfloat16. On a CPU there is another question, and
another file: `training_cpu.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import torch

from course_lib.bench.frame import Verdict, conclude, machine
from course_lib.bench.kernels import kernels
from course_lib.bench.kernels import table as kernel_table
from course_lib.bench.step_parts import PARTS, taken_back
from course_lib.bench.stopwatch import seconds
from course_lib.bench.torch_transformer import TorchTransformer, usual_objective
from course_lib.models.registry import build, make_config
from course_lib.models.transformer import TransformerConfig
from course_lib.runtime import device as usual_device
from course_lib.shapes import Tensor
from course_lib.text.batch import Batch
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.training.graph_step import GraphStep
from course_lib.training.objective import translation
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep

YARDSTICK, COMPILED = "eager nn.Transformer", "compiled nn.Transformer"
PLAIN, RECORDED = "plain step", "recorded step"
ROWS, LENGTH, VOCAB = 512, 16, 8000
AIMS = (2.5, 4.0)
ROUNDS, STEPS, WARM_UP = 7, 20, 5
RATE, SEED = 1e-4, 0
KERNELS = 15  # shown one by one

ABOUT = f"""\
One training step of the Transformer, scale multi30k: {ROWS} sentences of {LENGTH} tokens on each side,
no padding; vocabulary {VOCAB:,}, dropout, label smoothing 0.1, clipping, AdamW in one kernel, bfloat16.
{YARDSTICK:24}torch's modules of the same sizes, called one after another under autocast, torch's loss
{COMPILED:24}the same through torch.compile(..., mode="reduce-overhead"), model and loss
{PLAIN:24}the course's Transformer, the same way (training/step.py)
{RECORDED:24}the same as one CUDA graph (training/graph_step.py)
{STEPS} steps of each in turn, {ROUNDS} rounds; the median round. tokens: of the target."""

Step = Callable[[Batch, float], Tensor]


class Row(NamedTuple):
    """One way to make a step."""

    name: str
    milliseconds: float
    n_tokens: int

    @property
    def tokens_per_second(self) -> float:
        return 1000 * self.n_tokens / self.milliseconds


def run(*, device: torch.device | None = None) -> int:
    """Measure what can be measured here; 0 when every target is met."""
    device = device or usual_device()
    if device.type == "cuda":
        return run_gpu(device)
    from course_lib.bench.training_cpu import run as run_cpu

    return run_cpu()


def run_gpu(device: torch.device) -> int:
    """The table and the verdicts of a GPU."""
    print(f"{torch.cuda.get_device_name(device)}, {machine('torch')}", "", ABOUT, "", sep="\n", flush=True)
    config = make_config("transformer", scale="multi30k", vocab_size=VOCAB)
    recipe = Recipe(n_steps=10_000, precision="bfloat16", fixed_shapes=True)
    steps = make_steps(config, recipe, device)
    batch = drawn_batch(ROWS, LENGTH, VOCAB).to(device)
    rows = measure(steps, batch, device=device)
    print(table(rows), flush=True)
    if not steps[RECORDED].records:
        print("\nThe step could not be recorded here, so its last row is not what it says.")
        return conclude(judge(rows))
    parts = {RECORDED: steps[RECORDED]} | without_parts(config, recipe, batch, device)
    print("", "The recorded step, where torch does one part of it in its usual way:", sep="\n")
    print(table(measure(parts, batch, device=device)))
    print("", "Where the time of one recorded step goes, kernel by kernel:", sep="\n")
    print(kernel_table(kernels(lambda: steps[RECORDED](batch, RATE), device), top=KERNELS))
    return conclude(judge(rows))


def make_steps(config: TransformerConfig, recipe: Recipe, device: torch.device) -> dict[str, Step]:
    """The four ways, each with a model of its own and the same seed; on a CPU the two eager ones."""
    smoothing = recipe.smoothing

    def torchs() -> TorchTransformer:
        torch.manual_seed(SEED)
        return TorchTransformer(config).to(device).train()

    steps: dict[str, Step] = {YARDSTICK: PlainStep(torchs(), usual_objective(smoothing), recipe)}
    if device.type == "cuda":
        compiled = torch.compile(usual_objective(smoothing), mode="reduce-overhead")
        steps[COMPILED] = PlainStep(torchs(), compiled, recipe)
    steps[PLAIN] = PlainStep(new_model(config, device), translation(smoothing), recipe)
    if device.type == "cuda":
        steps[RECORDED] = GraphStep(new_model(config, device), translation(smoothing), recipe)
    return steps


def without_parts(
    config: TransformerConfig, recipe: Recipe, batch: Batch, device: torch.device
) -> dict[str, Step]:
    """The recorded step without each of its parts, and without all of them."""
    steps: dict[str, Step] = {}
    for parts in (*((part,) for part in PARTS), tuple(PARTS)):
        step = GraphStep(new_model(config, device), translation(recipe.smoothing), recipe)
        with taken_back(*parts):
            step(batch, RATE)  # recorded now, and played back later
        steps["torch's " + (parts[0] if len(parts) == 1 else "for both")] = step
    return steps


def new_model(config: TransformerConfig, device: torch.device) -> torch.nn.Module:
    torch.manual_seed(SEED)
    return build("transformer", config).to(device).train()


def drawn_batch(n_rows: int, length: int, vocab_size: int) -> Batch:
    """Words drawn by lot; every row is full, so that every place counts."""
    generator = torch.Generator().manual_seed(SEED)
    src, tgt = torch.randint(len(SPECIAL), vocab_size, (2, n_rows, length), generator=generator)
    src[:, -1] = tgt[:, -1] = EOS
    tgt_in = torch.cat([torch.full((n_rows, 1), BOS), tgt[:, :-1]], dim=1)
    full = torch.full((n_rows,), length)
    return Batch(src, full, tgt_in, tgt, full.clone(), torch.arange(n_rows))


def measure(
    steps: Mapping[str, Step],
    batch: Batch,
    *,
    device: torch.device,
    rounds: int = ROUNDS,
    n_steps: int = STEPS,
    warm_up: int = WARM_UP,
) -> list[Row]:
    """Each way in turn, round after round, so that a busy moment of the machine meets them all."""

    def repeat(step: Step, times: int) -> None:
        for _ in range(times):
            step(batch, RATE)

    for step in steps.values():
        repeat(step, warm_up)
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            taken[name].append(seconds(lambda step=step: repeat(step, n_steps), device))
    n_tokens = int(batch.n_tokens)
    return [Row(name, 1000 * median(each) / n_steps, n_tokens) for name, each in taken.items()]


def table(rows: Sequence[Row]) -> str:
    """The first row is what the others are measured by."""
    width = max(len(row.name) for row in rows) + 4
    lines = [f"{'':{width}}{'ms a step':>12}{'tokens/s':>12}{'ratio':>10}"]
    for row in rows:
        ratio = f"{rows[0].milliseconds / row.milliseconds:.1f} ×"
        lines.append(f"{row.name:{width}}{row.milliseconds:>12.2f}{row.tokens_per_second:>12,.0f}{ratio:>10}")
    return "\n".join(lines)


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """The fastest way of ours against torch's modules, in the same run."""
    yardstick = rows[0]
    best = min((row for row in rows if row.name in (PLAIN, RECORDED)), key=lambda row: row.milliseconds)
    ratio = yardstick.milliseconds / best.milliseconds
    return [
        Verdict(ratio >= aim, f"at least {aim:g} × as fast as {yardstick.name}: {ratio:.2f} × ({best.name})")
        for aim in AIMS
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m course_lib.bench.training", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--device", help="cpu or cuda; else a GPU where there is one")
    chosen = parser.parse_args(arguments).device
    return run(device=torch.device(chosen) if chosen else None)


if __name__ == "__main__":
    raise SystemExit(main())
