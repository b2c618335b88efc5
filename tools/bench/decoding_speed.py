"""How fast each translator decodes on one CPU thread: `python3 -m course_lib bench decoding_speed`.

                 words a second
    transformer           1,882

Lesson 18 shows it as "decoding"; `python3 -m tools.bench.decoding_speed` stores it in data/results.
"""

from __future__ import annotations

from statistics import median

from course_lib.models.registry import translators
from course_lib.runtime import data_path, write_json
from course_lib.translation.search import greedy
from lessons.l17_what_it_costs.cost import fastest
from lessons.l17_what_it_costs.timing import columns, conditions
from tools.bench.decoding import BATCH, N_SRC, prepare

LENGTH, TURNS, TRIES = 32, 3, 3
COMMAND = "python3 -m tools.bench.decoding_speed"

ABOUT = f"""\
Greedy decoding of {BATCH} sentences, {LENGTH} words each, from sources of {N_SRC} words, at toy scale with
untrained weights; no sentence ends early. CPU time is measured, so that other programs don't affect the
result: the median of {TURNS} rounds over all systems, with the best of {TRIES} tries in each round.
Results from another machine: data/results/decoding_speed.json"""


def run() -> list[dict]:
    """Measure and print the table; returns the speeds of every turn."""
    print(conditions("torch"), "", ABOUT, "", sep="\n", flush=True)
    names = [system.name for system in translators()]
    runs, rows = measure(names), []
    for name in names:
        speeds = [run["words_per_second"] for run in runs if run["variant"] == name]
        rows.append([name, f"{median(speeds):,.0f}"])
    print(columns(["", "words per second"], rows))
    return runs


def measure(names: list[str]) -> list[dict]:
    """The words per second of each translator, in each turn."""
    inputs = {name: prepare(name) for name in names}
    ways = {name: lambda pair=pair: greedy(*pair, max_len=LENGTH) for name, pair in inputs.items()}
    return [
        {"variant": name, "seed": turn, "words_per_second": round(BATCH * LENGTH / seconds, 1)}
        for turn in range(TURNS)
        for name, seconds in fastest(ways, rounds=TRIES).items()
    ]


if __name__ == "__main__":
    results = {"command": COMMAND, "machine": conditions("torch"), "runs": run()}
    write_json(data_path("results", "decoding_speed.json"), results)
