"""Do all systems compute the same on a GPU and in 16 bits as on the CPU? `python -m course_lib.bench.devices`

    python -m course_lib.bench.devices --out devices.json      on a machine with an NVIDIA GPU
    python -m course_lib.bench.devices --device cpu            16 bits on the CPU, where there is no GPU

It needs torch and NumPy, no Jupyter. Exit status: 0 all agree, 1 some do not, 2 there is no GPU to ask.
"""

from __future__ import annotations

import argparse
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from course_lib.bench.agreement import Agreement, measure
from course_lib.bench.graphs import try_graph
from course_lib.models.registry import SYSTEMS, system
from course_lib.runtime import write_json

SCALES = ("tiny", "toy")

ABOUT = """\
Each system, a little trained on 8 sentences: the same weights on the device against float32 on the CPU.
logits    the largest difference, in standard deviations of the logits
gradient  1 - the cosine between the gradients of all parameters
weights   share of the attention that lies on other words, on average over all rows
greedy    words chosen greedily, one after another, that are the same
graph     forward and backward as a CUDA graph: recorded on one batch, replayed on another"""


@dataclass(frozen=True)
class Tolerance:
    """What agreement means. bfloat16 keeps 8 bits: a single number is off by up to 0.4%.

    One word chosen otherwise changes all words after it, so of 8 sentences 2 may go another way in 16 bits.
    """

    logits: float
    gradient: float  # least cosine
    weights: float
    greedy: float


TOLERANCES = {
    "float32": Tolerance(logits=1e-3, gradient=0.99999, weights=1e-4, greedy=1.0),
    "autocast": Tolerance(logits=0.15, gradient=0.99, weights=0.02, greedy=0.75),
    "bfloat16": Tolerance(logits=0.3, gradient=0.98, weights=0.03, greedy=0.75),
}


@dataclass(frozen=True)
class Row:
    """One system at one scale."""

    name: str
    scale: str
    forms: list[Agreement]
    graph: dict[str, str] = field(default_factory=dict)  # form to "yes" or why not; empty without a GPU


def faults(row: Row) -> list[str]:
    """What is outside its tolerance, in words."""
    found = []
    for one in row.forms:
        allowed = TOLERANCES[one.form]
        if one.trouble:
            found.append(f"{one.form}: {one.trouble}")
            continue
        for what, good, value, bound in (
            ("logits", one.logits <= allowed.logits, one.logits, allowed.logits),
            ("gradient", one.gradient >= allowed.gradient, one.gradient, allowed.gradient),
            ("weights", one.weights is None or one.weights <= allowed.weights, one.weights, allowed.weights),
            ("greedy", one.greedy >= allowed.greedy, one.greedy, allowed.greedy),
        ):
            if not good:
                found.append(f"{one.form}: {what} {value:.5g}, where {bound:g} is allowed")
    found += [f"graph in {form}: {answer}" for form, answer in row.graph.items() if answer != "yes"]
    return [f"{row.name} ({row.scale}), {fault}" for fault in found]


def table(rows: list[Row]) -> str:
    head = f"{'':22}{'':6}{'':10}{'logits':>10}{'gradient':>10}{'weights':>10}{'greedy':>8}  graph"
    lines = [head]
    for row in rows:
        for place, one in enumerate(row.forms):
            name, scale = (row.name, row.scale) if place == 0 else ("", "")
            weights = "–" if one.weights is None else f"{one.weights:.1e}"
            graph = row.graph.get(one.form, "–").partition(":")[0]
            numbers = f"{one.logits:>10.1e}{1 - one.gradient:>10.1e}{weights:>10}{one.greedy:>8.0%}"
            lines.append(f"{name:22}{scale:6}{one.form:10}{numbers}  {graph}")
    return "\n".join(lines)


def run(*, device: torch.device, names: list[str], scales: list[str], out: Path | None) -> int:
    """Measure, print the table and the verdict, keep all of it as JSON if asked; 0 when all agree."""
    print(_machine(device), ABOUT, "", sep="\n", flush=True)
    rows = []
    for scale in scales:
        for name in names:
            forms = measure(name, scale, device)
            on_gpu = device.type == "cuda" and scale == "toy"
            graph = {form: try_graph(name, scale, form) for form in ("float32", "autocast")} if on_gpu else {}
            rows.append(Row(name, scale, forms, graph))
    print(table(rows))
    wrong = [fault for row in rows for fault in faults(row)]
    print("", *(f"MISS  {fault}" for fault in wrong), sep="\n")
    print(f"{len(rows)} systems and scales, {len(wrong)} outside the tolerances.")
    if out is not None:
        tolerances = {form: asdict(tolerance) for form, tolerance in TOLERANCES.items()}
        kept = {"machine": _machine(device), "tolerances": tolerances, "rows": [asdict(row) for row in rows]}
        write_json(out, kept | {"faults": wrong})
    return int(bool(wrong))


def _machine(device: torch.device) -> str:
    chip = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return f"{chip}, torch {torch.__version__}, Python {platform.python_version()}"


def main(arguments: list[str] | None = None) -> int:
    trained = [one.name for one in SYSTEMS if not one.counts]
    parser = argparse.ArgumentParser(
        prog="python -m course_lib.bench.devices", description=ABOUT.splitlines()[0]
    )
    parser.add_argument(
        "--device", default="cuda", choices=["cuda", "cpu"], help="what to compare with the CPU"
    )
    parser.add_argument("--systems", nargs="+", default=trained, metavar="NAME", help="only these systems")
    parser.add_argument("--scales", nargs="+", default=SCALES, choices=SCALES, help="only these scales")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep every number there")
    chosen = parser.parse_args(arguments)
    names = [system(name).name for name in chosen.systems]
    if chosen.device == "cuda" and not torch.cuda.is_available():
        print("There is no GPU here that torch can use, so there is nothing to compare. Try --device cpu.")
        return 2
    return run(device=torch.device(chosen.device), names=names, scales=list(chosen.scales), out=chosen.out)


if __name__ == "__main__":
    raise SystemExit(main())
