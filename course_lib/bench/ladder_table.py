"""The results on Multi30k as one table: means over the seeds, their spread, and what was aimed at.

    >>> Row("seq2seq", "de-en", False, 9_400_000, greedy=(30.0, 31.0), beam=(31.0, 32.0)).cells()[2:]
    ['2', '9.4', '30.5 ± 0.7', '31.5 ± 0.7', '24 greedy: met']

BLEU by sacrebleu, lower-cased, on the test set of 2016; ± is the standard deviation over the seeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from course_lib.models.registry import translators

GREEDY, BEAM = "greedy", "beam"
AIMS = {
    ("seq2seq", "de-en"): {GREEDY: 24},
    ("rnn_encoder_decoder", "de-en"): {GREEDY: 27},
    ("bahdanau", "de-en"): {GREEDY: 34},
    ("convs2s", "de-en"): {GREEDY: 36},
    ("transformer", "de-en"): {GREEDY: 41.5, BEAM: 42.5},
    ("transformer", "en-de"): {BEAM: 40.5},
    ("transformer", "en-fr"): {BEAM: 60.5},
}
HEAD = ("system", "direction", "seeds", "million parameters", "greedy", "beam 5", "aimed at, at least")


class Row(NamedTuple):
    """One system in one direction, a score for each seed."""

    system: str
    direction: str
    r_drop: bool
    parameters: int
    greedy: tuple[float, ...]
    beam: tuple[float, ...]

    def cells(self) -> list[str]:
        name = self.system + (", R-Drop" if self.r_drop else "")
        numbers = [
            str(len(self.greedy)),
            f"{self.parameters / 1e6:.1f}",
            spread(self.greedy),
            spread(self.beam),
        ]
        return [name, self.direction.replace("-", " → "), *numbers, self.verdict()]

    def verdict(self) -> str:
        """Each aim, and whether the mean reaches it."""
        return ", ".join(
            f"{aim:g} {how}: {'met' if mean(getattr(self, how)) >= aim else 'missed'}"
            for how, aim in AIMS.get((self.system, self.direction), {}).items()
        )


def spread(scores: Sequence[float]) -> str:
    """Mean and standard deviation.

    >>> spread([1.0, 2.0, 3.0]), spread([1.0])
    ('2.0 ± 1.0', '1.0')
    """
    return f"{mean(scores):.1f}" + (f" ± {stdev(scores):.1f}" if len(scores) > 1 else "")


def rows(folder: Path) -> list[Row]:
    """What a folder of results holds, in the order of the road."""
    found: dict[tuple[str, str, bool], list[dict]] = {}
    for path in sorted(folder.glob("*_*-*_*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        direction = kept["data"].removeprefix("multi30k-")
        r_drop = bool(kept["training"]["recipe"].get("r_drop"))
        found.setdefault((kept["system"], direction, r_drop), []).append(kept)
    road = [one.name for one in translators()]
    order = sorted(found, key=lambda key: (road.index(key[0]), key[1:]))
    return [Row(*key, found[key][0]["parameters"], *_scores(found[key])) for key in order]


def table(folder: Path) -> str:
    """All of it as Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows(folder))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _scores(results: Iterable[dict]) -> Iterable[tuple[float, ...]]:
    for beam in ("beam 1", "beam 5"):
        yield tuple(one["scores"][beam]["bleu"]["value"] for one in results)
