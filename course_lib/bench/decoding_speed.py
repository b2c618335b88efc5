"""How fast each translator says its words on one CPU thread: `python3 -m course_lib.bench.decoding_speed`.

Greedy, 8 sentences of 32 words from sources of 16; toy size, new weights, no sentence ends early. Counted are
the processor's own seconds, so that other programs do not matter. Three turns over all systems; in each the
best of three tries counts. It is the museum's column "decoding".
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from course_lib.bench.cost import one_thread
from course_lib.bench.decoding import BATCH, decode, ready
from course_lib.bench.frame import machine
from course_lib.layers.rows import Rows
from course_lib.models.registry import translators
from course_lib.models.translator import Translator
from course_lib.runtime import PROJECT_ROOT, write_json

LENGTH, TURNS, TRIES = 32, 3, 3
OUT = PROJECT_ROOT / "data" / "results" / "decoding_speed.json"
COMMAND = "python3 -m course_lib.bench.decoding_speed"


def words_per_second(system: Translator, memory: Rows) -> float:
    taken = []
    for _ in range(TRIES):
        began = time.process_time()
        decode(system, memory, LENGTH)
        taken.append(time.process_time() - began)
    return BATCH * LENGTH / min(taken)


def measure() -> list[dict]:
    systems = {one.name: ready(one.name) for one in translators()}
    with one_thread():
        return [
            {"variant": name, "seed": turn, "words_per_second": round(words_per_second(*found), 1)}
            for turn in range(TURNS)
            for name, found in systems.items()
        ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="decoding_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT)
    out = parser.parse_args().out
    write_json(out, {"command": COMMAND, "machine": machine("torch"), "runs": measure()})
