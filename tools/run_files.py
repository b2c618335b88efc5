"""What a run's folder says without the course: config.json, history.csv and loss.svg.

    files = RunFiles(Path("runs/toy_bahdanau_0"))
    files.write()                    # atomically, from the header of last.safetensors
    files.line()                     # "step    500  loss  2.310  validation  2.113  rate 0.0030  …"

All of it comes from the checkpoint, so a run that is killed and resumed ends with the same files.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from course_lib.formatting import counted
from course_lib.runtime import write_atomically
from course_lib.training.checkpoint import read_about
from course_lib.training.run_folder import History
from course_lib.views.picture import Picture
from course_lib.views.plane import Plane
from course_lib.views.run_dots import round_numbers
from course_lib.views.svg import word

COLUMNS = ("step", "epoch", "rate", "train_loss", "loss", "tokens_per_second", "seconds", "averaged")
LEAST_STEPS = 2  # a curve needs two points


class RunFiles:
    """The readable files of a run's folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self) -> None:
        about = read_about(self.folder / "last.safetensors")
        history = History.from_json(about["history"])
        config = {name: about[name] for name in about.keys() - {"history", "standing", "tokenizer"}}
        write_atomically(self.folder / "config.json", json.dumps(config, indent=1, sort_keys=True) + "\n")
        write_atomically(self.folder / "history.csv", as_csv(history))
        if len(history) >= LEAST_STEPS:
            write_atomically(self.folder / "loss.svg", loss_curves(history, self.folder.name).file)

    def line(self) -> str:
        """The last validation, how fast the run is, and how long it will still take."""
        about = read_about(self.folder / "last.safetensors")
        history = History.from_json(about["history"])
        last, n_left = history[-1], about["recipe"]["n_steps"] - history[-1].step
        left = n_left * last.seconds / last.step
        return (
            f"step {last.step:6,}  loss {last.train_loss:6.3f}  validation {last.loss:6.3f}"
            f"{' (averaged weights)' if last.averaged else ''}  rate {last.rate:.2g}  "
            f"{speeds(history)[-1]:,.0f} tokens/s  {in_words(left)} left"
        )


def speeds(history: History) -> list[float]:
    """Target tokens per second since the validation before, validation included."""
    times = [0.0, *(record.seconds for record in history)]
    taken = [after - before for before, after in pairwise(times)]
    return [record.n_tokens / max(seconds, 1e-9) for record, seconds in zip(history, taken, strict=True)]


def in_words(seconds: float) -> str:
    """
    >>> in_words(42), in_words(300), in_words(8000)
    ('42 s', '5 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def as_csv(history: History) -> str:
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    scores = sorted({name for record in history for name in numbers(record.scores)})
    table.writerow([*COLUMNS, *scores])
    for record, speed in zip(history, speeds(history), strict=True):
        row = vars(record) | {"tokens_per_second": speed} | numbers(record.scores)
        cells = [row.get(name, "") for name in (*COLUMNS, *scores)]
        table.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells])
    return stream.getvalue()


def numbers(scores: Mapping[str, object]) -> dict[str, float]:
    """The scores that fit into a table: translations don't."""
    return {name: score for name, score in scores.items() if isinstance(score, (int, float))}


def loss_curves(history: History, title: str) -> Picture:
    """Both losses by step, with the best validation marked."""
    steps = [record.step for record in history]
    curves = {"training": [r.train_loss for r in history], "validation": [r.loss for r in history]}
    finite = [loss for losses in curves.values() for loss in losses if np.isfinite(loss)] or [0.0]
    low, high = min(finite), max(finite)
    margin = 0.05 * (high - low) or 0.5
    plane = Plane(56, 48, 420, 200, (0, steps[-1]), (low - margin, high + margin))
    parts = [word(56, 28, title, 14, anchor="start", bold=True)]
    parts += [plane.scale_x(round_numbers(0, steps[-1]), "training steps")]
    parts += [plane.scale_y(round_numbers(low - margin, high + margin))]
    above = curves["training"][-1] > curves["validation"][-1]  # its label goes up, the other one down
    for name, stroke, down in (
        ("training", "calm", -4 if above else 12),
        ("validation", "ink", 12 if above else -4),
    ):
        shown = [(step, loss) for step, loss in zip(steps, curves[name], strict=True) if np.isfinite(loss)]
        if shown:
            parts.append(plane.curve(*np.array(shown).T, stroke, 2))
            x, y = plane.at(*shown[-1])
            parts.append(word(x + 8, y + down, f"{name} {shown[-1][1]:.3f}", 12, "soft", "start"))
    best = history.best
    said = f"lowest validation loss {best.loss:.3f} at step {best.step:,}" if best else "no validation loss"
    return Picture(620, 300, *parts, alt=f"{title}: {counted(len(history), 'validation')}, {said}.")
