"""The results of an experiment as a table in Markdown: a row for each variant, means over the seeds.

    print(table(json.loads(Path("data/results/positions.json").read_text())))

± is the standard deviation over the seeds. Which columns there are depends on what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, stdev
from typing import Any, NamedTuple

from course_lib.results import value_at
from course_lib.text.toy.splits import TESTS

RECALLED = ("1", "5", "10", "20", "50", "100")


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


class Measure(NamedTuple):
    """A heading, where its number stands in a run ("scores", "test", "bleu"), and how it is written."""

    heading: str
    path: tuple[str | int, ...]
    write: Callable[[float], str] = percent

    def find(self, run: dict) -> float | None:
        """None where a run has no such number; of a sign for each sentence, the share."""
        found = value_at(run, *self.path)
        return mean(map(int, found)) if isinstance(found, str) else found


def measures(run: dict) -> list[Measure]:
    """What can be told of runs like this one."""
    one, two, right = "{:.1f}".format, "{:.2f}".format, run.get("right")
    if "gradient" in run:
        recalled = [Measure(f"{d} steps, %", ("right", d)) for d in RECALLED if d in right]
        return [*recalled, Measure("gradient at lag 50", ("gradient", "trained", "50"), "{:.1e}".format)]
    if "ends" in run:
        losses = {"training loss": "train_loss", "validation loss": "loss"}
        told = [Measure(heading, ("ends", key), two) for heading, key in losses.items()]
        return [*told, Measure("right, %", ("ends", "exact"))]
    if "half_way" in run:
        return [Measure(f"rate {rate}", ("end", rate), "{:.3f}".format) for rate in run["end"]]
    if isinstance(right, dict):
        return [Measure(f"{split}, %", ("right", split)) for split in right]
    if "scores" not in run:
        return [Measure("right, %", ("right",))]
    found = [Measure("parameters", ("parameters",), "{:,.0f}".format)]
    test = run["scores"].get("test", {})
    if "perplexity" in test:
        found.append(Measure("perplexity", ("scores", "test", "perplexity"), two))
        return found + [Measure(key, (key,), "{:,.4g}".format) for key in ("word by word",) if key in run]
    if "greedy" in run["scores"].get("validation", {}):
        ways = (("validation", "greedy"), ("test", "greedy"), ("test", "beam"))
        there = [(split, way) for split, way in ways if way in run["scores"].get(split, {})]
        return found + [Measure(f"{split}, {way}", ("scores", split, way), one) for split, way in there]
    if isinstance(test.get("right"), dict):
        return found + [Measure(f"{name}, %", ("scores", "test", "right", name)) for name in test["right"]]
    found += [Measure(split, ("scores", split, "exact")) for split in TESTS]
    found += [Measure("il/elle", ("scores", "coreference", "pronouns"))]
    if "alignment_error" in test:
        found.append(Measure("alignment error", ("scores", "test", "alignment_error"), two))
    if "likeness" in run:
        found.append(Measure("likeness of words", ("likeness", -1), two))
    return found


def table(kept: dict[str, Any]) -> str:
    """A row for each variant, in the order of the runs."""
    variants: dict[str, list[dict]] = {}
    for run in kept["runs"]:
        variants.setdefault(run["variant"], []).append(run)
    wide = max((measures(run) for run in kept["runs"]), key=len)
    lines = [["", "seeds", *(one.heading for one in wide)]]
    lines.append(["---"] * len(lines[0]))
    for variant, runs in variants.items():
        cells = [spread([one.find(run) for run in runs], one.write) for one in wide]
        lines.append([variant or kept["experiment"], str(len(runs)), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(numbers: Sequence[float | None], write: Callable[[float], str]) -> str:
    """Mean and standard deviation.

    >>> spread([1.0, 2.0, 3.0], "{:.1f}".format), spread([0.5], percent), spread([None], percent)
    ('2.0 ± 1.0', '50.0', '')
    """
    there = [number for number in numbers if number is not None]
    if len(set(there)) < 2:
        return write(there[0]) if there else ""
    return f"{write(mean(there))} ± {write(stdev(there))}"


def brief(run: dict) -> str:
    """One run in a line.

    >>> brief({"parameters": 1200, "scores": {"test": {"perplexity": 4.2, "n_tokens": 9}}})
    'parameters 1,200, perplexity 4.20'
    """
    return ", ".join(f"{one.heading} {spread([one.find(run)], one.write)}" for one in measures(run))
