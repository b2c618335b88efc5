"""The results of an experiment as a table in Markdown: a row for each variant, means over the seeds.

    print(table(json.loads(Path("data/results/positions.json").read_text())))

± is the standard deviation over the seeds. Which columns there are depends on what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, stdev
from typing import Any

from course_lib.text.toy.splits import TESTS

Column = tuple[str, Callable[[dict], float | None], Callable[[float], str]]

RECALLED = ("1", "5", "10", "20", "50", "100")


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def plain(digits: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{digits}f}"


def columns(run: dict) -> list[Column]:
    """What can be told of runs like this one: a heading, how to find the number, how to write it."""
    if "gradient" in run:
        return [
            *(
                (f"{d} steps, %", lambda one, d=d: one["right"][d], percent)
                for d in RECALLED
                if d in run["right"]
            ),
            (
                "gradient at lag 50",
                lambda one: one["gradient"]["trained"]["50"],
                lambda value: f"{value:.1e}",
            ),
        ]
    if "ends" in run:
        return [
            ("training loss", lambda one: one["ends"]["train_loss"], plain(2)),
            ("validation loss", lambda one: one["ends"]["loss"], plain(2)),
            ("right, %", lambda one: one["ends"]["exact"], percent),
        ]
    if isinstance(run.get("right"), dict) and "long" in run["right"]:  # a sign for each sentence
        return [
            (f"{split}, %", lambda one, split=split: mean(map(int, one["right"][split])), percent)
            for split in run["right"]
        ]
    if "half_way" in run:
        return [(f"rate {rate}", lambda one, rate=rate: one["end"][rate], plain(3)) for rate in run["end"]]
    if "right" in run and "scores" not in run:
        return [("right, %", lambda one: one["right"], percent)]
    found: list[Column] = [("parameters", lambda one: one["parameters"], lambda value: f"{value:,.0f}")]
    test = run["scores"].get("test", {})
    if "perplexity" in test:
        found += [("perplexity", lambda one: one["scores"]["test"]["perplexity"], plain(2))]
        if "word by word" in run:
            found += [("word by word", lambda one: one["word by word"], lambda value: f"{value:,.4g}")]
        return found
    if "greedy" in run["scores"].get("validation", {}):
        ways: list[tuple[str, str]] = [("validation", "greedy"), ("test", "greedy"), ("test", "beam")]
        return found + [
            (f"{split}, {way}", lambda one, split=split, way=way: one["scores"][split][way], plain(1))
            for split, way in ways
            if way in run["scores"].get(split, {})
        ]
    if isinstance(test.get("right"), dict):
        return found + [
            (f"{name}, %", lambda one, name=name: one["scores"]["test"]["right"][name], percent)
            for name in test["right"]
        ]
    found += [(split, lambda one, split=split: one["scores"][split]["exact"], percent) for split in TESTS]
    found += [("il/elle", lambda one: one["scores"]["coreference"].get("pronouns"), percent)]
    if "alignment_error" in test:
        found += [("alignment error", lambda one: one["scores"]["test"].get("alignment_error"), plain(2))]
    if "likeness" in run:
        found += [("likeness of words", lambda one: one["likeness"][-1], plain(2))]
    return found


def table(kept: dict[str, Any]) -> str:
    """A row for each variant, in the order of the runs."""
    variants: dict[str, list[dict]] = {}
    for run in kept["runs"]:
        variants.setdefault(run["variant"], []).append(run)
    wide = max((columns(run) for run in kept["runs"]), key=len)
    lines = [["", "seeds", *(heading for heading, _, _ in wide)]]
    lines.append(["---"] * len(lines[0]))
    for variant, runs in variants.items():
        cells = [spread([find(run) for run in runs], write) for _, find, write in wide]
        lines.append([variant or kept["experiment"], str(len(runs)), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(numbers: Sequence[float | None], write: Callable[[float], str]) -> str:
    """Mean and standard deviation.

    >>> spread([1.0, 2.0, 3.0], plain(1)), spread([0.5], percent), spread([None], percent)
    ('2.0 ± 1.0', '50.0', '')
    """
    there = [number for number in numbers if number is not None]
    if not there:
        return ""
    if len(set(there)) == 1:
        return write(there[0])
    return f"{write(mean(there))} ± {write(stdev(there))}"
