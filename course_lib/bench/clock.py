"""From raw text to a scored Transformer on Multi30k, everything counted: `python3 -m course_lib.bench.clock`.

Two commands, timed from outside: `train` reads, learns BPE, tokenises, builds and trains; `evaluate` loads,
translates the test set greedily and scores it. Starting Python and torch counts, twice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from course_lib.runtime import PROJECT_ROOT, write_json

OUT = PROJECT_ROOT / "data" / "results" / "clock.json"
COMMAND = "python3 -m course_lib.bench.clock"


def timed(*words: str) -> float:
    """The seconds of one command of the course."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "course_lib", *words], check=True, cwd=PROJECT_ROOT)
    return round(time.perf_counter() - began, 1)


def clock(out: Path) -> None:
    """Train and score in a fresh folder; the seconds are kept in `out` with what came out."""
    with TemporaryDirectory() as aside:
        run, scores = str(Path(aside) / "run"), Path(aside) / "scores.json"
        parts = {
            "train": timed("train", "transformer", "--data", "multi30k", "--folder", run),
            "evaluate": timed("evaluate", "--checkpoint", run, "--json", str(scores)),
        }
        (found,) = json.loads(scores.read_text(encoding="utf-8"))["systems"]
    total = round(sum(parts.values()), 1)
    about = {key: found["trained"][key] for key in ("machine", "versions", "data")}
    bleu = found["results"]["bleu"]
    write_json(out, {"command": COMMAND, "seconds": total, "parts": parts, "bleu": bleu, **about})
    print(f"raw text to a scored Transformer: {total:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="clock", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    clock(parser.parse_args().out)
