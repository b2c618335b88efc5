"""The coreference split with and without the sentences that an English reader could take for the weather.

    python3 -m tools.experiments.ambiguous

`could_mean_the_weather` recognises them ("the hen drinks the milk because it is hot"). The runs of
`toy_ladder` record which sentences they translated correctly, so nothing has to be measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from course_lib.results import read_results
from course_lib.text.toy.sense import could_mean_the_weather
from course_lib.text.toy.splits import TEST_SIZES, splits
from tools.experiments.tables import by_variant, markdown, percent


def weather_sentences() -> list[bool]:
    """For each sentence of the split, whether it is one of them."""
    return [could_mean_the_weather(pair) for pair in splits(sizes=TEST_SIZES).coreference]


def table_without(results: dict[str, Any], left_out: Sequence[bool]) -> str:
    """Exact match for each system: on all sentences, without some of them, and on those alone."""
    columns = [[True] * len(left_out), [not left for left in left_out], list(left_out)]
    all_of_them, without, only = map(sum, columns)
    headings = [f"all {all_of_them}", f"without the {only} ({without})", f"the {only} alone"]
    lines = [["", "runs", *headings]]
    for variant, runs in by_variant(results["runs"]).items():
        marks = [run["scores"]["coreference"]["right"] for run in runs]
        cells = [percent(mean(exact(right, kept) for right in marks)) for kept in columns]
        lines.append([variant, str(len(runs)), *cells])
    return markdown(lines)


def exact(right: str, kept: Sequence[bool]) -> float:
    """The fraction that is right among the sentences that are kept.

    >>> exact("1100", [True, False, True, True])
    0.333...
    """
    return mean(digit == "1" for digit, keep in zip(right, kept, strict=True) if keep)


if __name__ == "__main__":
    print(table_without(read_results("toy_ladder"), weather_sentences()))
