"""How fast each translator says its words on one CPU thread: `python3 -m course_lib bench decoding_speed`.

                 words a second
    transformer           1,882

It is the museum's column "decoding": `python3 -m tools.bench.decoding_speed` keeps it in data/results.
"""

from __future__ import annotations

from statistics import median

from course_lib.models.registry import translators
from course_lib.runtime import data_path, write_json
from course_lib.translation.search import greedy
from lessons.l17_what_it_costs.cost import fastest
from lessons.l17_what_it_costs.timing import columns, conditions
from tools.bench.decoding import BATCH, SOURCE, ready

LENGTH, TURNS, TRIES = 32, 3, 3
COMMAND = "python3 -m tools.bench.decoding_speed"

ABOUT = f"""\
Greedy, {BATCH} sentences of {LENGTH} words from sources of {SOURCE}; toy size, new weights, no sentence ends
early. Counted are the processor's own seconds, so that other programs do not matter: the median of {TURNS}
turns over all systems, in each the best of {TRIES} tries.
Another machine's figures: data/results/decoding_speed.json"""


def run() -> list[dict]:
    """Measure and print the table; every turn of it."""
    print(conditions("torch"), "", ABOUT, "", sep="\n", flush=True)
    names = [one.name for one in translators()]
    runs, rows = measure(names), []
    for name in names:
        turns = [one["words_per_second"] for one in runs if one["variant"] == name]
        rows.append([name, f"{median(turns):,.0f}"])
    print(columns(["", "words a second"], rows))
    return runs


def measure(names: list[str]) -> list[dict]:
    """The words a second of each translator, in each turn."""
    systems = {name: ready(name) for name in names}
    ways = {name: lambda found=found: greedy(*found, max_len=LENGTH) for name, found in systems.items()}
    return [
        {"variant": name, "seed": turn, "words_per_second": round(BATCH * LENGTH / seconds, 1)}
        for turn in range(TURNS)
        for name, seconds in fastest(ways, rounds=TRIES).items()
    ]


if __name__ == "__main__":
    kept = {"command": COMMAND, "machine": conditions("torch"), "runs": run()}
    write_json(data_path("results", "decoding_speed.json"), kept)
