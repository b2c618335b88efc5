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

PROGRAM = (sys.executable, "-m", "course_lib")


def clock(out: Path) -> float:
    """Train and score in a fresh folder; the seconds it took, kept in `out` with what came out."""
    with TemporaryDirectory() as aside:
        run, scores = str(Path(aside) / "run"), Path(aside) / "scores.json"
        seconds = {}
        for name, words in (
            ("train", ["train", "transformer", "--data", "multi30k", "--folder", run]),
            ("evaluate", ["evaluate", "--checkpoint", run, "--json", str(scores)]),
        ):
            began = time.perf_counter()
            subprocess.run([*PROGRAM, *words], check=True, cwd=PROJECT_ROOT)
            seconds[name] = round(time.perf_counter() - began, 1)
        (found,) = json.loads(scores.read_text(encoding="utf-8"))["systems"]
    about = {key: found["trained"][key] for key in ("machine", "versions", "data")}
    total = round(sum(seconds.values()), 1)
    command = "python3 -m course_lib.bench.clock"
    bleu = found["results"]["bleu"]
    write_json(out, {"command": command, "seconds": total, "parts": seconds, "bleu": bleu, **about})
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="clock", description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=PROJECT_ROOT / "data" / "results" / "clock.json")
    args = parser.parse_args()
    print(f"raw text to a scored Transformer: {clock(args.out):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
