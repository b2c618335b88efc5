"""From raw text to a scored Transformer on Multi30k, everything counted: `python3 -m course_lib bench clock`.

Two commands, timed from outside: `train` reads, learns BPE, tokenises, builds and trains; `evaluate` loads,
translates the test set greedily and scores it. Starting Python and torch counts, twice.
`python3 -m tools.bench.clock` keeps what came out in data/results.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.runtime import PROJECT_ROOT, data_path, write_json
from lessons.l17_what_it_costs.timing import seconds

COMMAND = "python3 -m tools.bench.clock"


def timed(*words: str) -> float:
    """The seconds of one command of the course."""
    command = [sys.executable, "-m", "course_lib", *words]
    return round(seconds(lambda: subprocess.run(command, check=True, cwd=PROJECT_ROOT)), 1)


def run() -> dict:
    """Train and score in a fresh folder; the seconds, with what came out."""
    with TemporaryDirectory() as aside:
        folder, scores = str(Path(aside) / "run"), Path(aside) / "scores.json"
        parts = {
            "train": timed("train", "transformer", "--data", "multi30k", "--folder", folder),
            "evaluate": timed("evaluate", "--checkpoint", folder, "--json", str(scores)),
        }
        (found,) = json.loads(scores.read_text(encoding="utf-8"))["systems"]
    total = round(sum(parts.values()), 1)
    about = {key: found["trained"][key] for key in ("machine", "versions", "data")}
    kept = {"command": COMMAND, "seconds": total, "parts": parts, "bleu": found["results"]["bleu"]}
    print(f"raw text to a scored Transformer: {total:.1f} s")
    return kept | about


if __name__ == "__main__":
    write_json(data_path("results", "clock.json"), run())
