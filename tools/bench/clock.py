"""The total time from raw text to a scored Transformer on Multi30k: `python3 -m course_lib bench clock`.

Two commands are timed from outside: `train` reads, learns BPE, tokenises, builds and trains; `evaluate`
loads, translates the test set greedily and scores it. The time to start Python and torch is included, twice.
`python3 -m tools.bench.clock` stores the result in data/results.
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


def time_command(*arguments: str) -> float:
    """Run a command of the course and return how many seconds it takes."""
    command = [sys.executable, "-m", "course_lib", *arguments]
    return round(seconds(lambda: subprocess.run(command, check=True, cwd=PROJECT_ROOT)), 1)


def run() -> dict:
    """Train and score in a temporary folder; returns the seconds and the BLEU score."""
    with TemporaryDirectory() as temporary:
        folder, scores = str(Path(temporary) / "run"), Path(temporary) / "scores.json"
        parts = {
            "train": time_command("train", "transformer", "--data", "multi30k", "--folder", folder),
            "evaluate": time_command("evaluate", "--checkpoint", folder, "--json", str(scores)),
        }
        (record,) = json.loads(scores.read_text(encoding="utf-8"))["systems"]
    total = round(sum(parts.values()), 1)
    about = {key: record["trained"][key] for key in ("machine", "versions", "data")}
    result = {"command": COMMAND, "seconds": total, "parts": parts, "bleu": record["results"]["bleu"]}
    print(f"From raw text to an evaluated Transformer: {total:.1f} s")
    return result | about


if __name__ == "__main__":
    write_json(data_path("results", "clock.json"), run())
