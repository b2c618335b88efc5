"""The columns of an experiment's results, which depend on its kind, and their numbers as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Any, NamedTuple

from course_lib.results import value_at
from course_lib.text.toy.splits import TESTS
from tools.experiments.catalogue import experiments

LOWER_IS_BETTER = (
    "loss",
    "error",
    "perplexity",
    "word by word",
    "learning rate",
    "empty",
    "short",
)  # parts of headings
RECALL_DISTANCES = ("1", "5", "10", "20", "50", "100")


def percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}"


class Measure(NamedTuple):
    """A column: its heading, the path of its number in a run, and the number's format."""

    heading: str
    path: tuple[str | int, ...]
    write: Callable[[float], str] = percent

    @property
    def higher_is_better(self) -> bool:
        """Not for a loss, an error or a perplexity.

        >>> Measure("test", ()).higher_is_better, Measure("alignment error", ()).higher_is_better
        (True, False)
        """
        return not any(word in self.heading for word in LOWER_IS_BETTER)

    def find(self, run: dict) -> float | None:
        """The number in a run, or None. A string has a 0 or 1 for each sentence; its mean is returned."""
        value = value_at(run, *self.path)
        return mean(map(int, value)) if isinstance(value, str) else value


def recall_measures(run: dict) -> list[Measure]:
    distances = [distance for distance in RECALL_DISTANCES if distance in run["right"]]
    columns = [Measure(f"{distance} steps, %", ("right", distance)) for distance in distances]
    return [*columns, Measure("gradient at lag 50", ("gradient", "trained", "50"), "{:.1e}".format)]


def clinic_measures(run: dict) -> list[Measure]:
    losses = {"training loss": "train_loss", "validation loss": "loss"}
    columns = [Measure(heading, ("ends", key), "{:.2f}".format) for heading, key in losses.items()]
    return [*columns, Measure("correct, %", ("ends", "exact"))]


def snapshot_measures(run: dict) -> list[Measure]:
    steps, saved = ([row["step"] for row in run[part]] for part in ("curve", "snapshots"))
    shown = [step for step in (0, 100, 200, 300, 400, 600, 1000, 4000) if step in saved]
    errors = [
        Measure(f"step {n:,}", ("curve", steps.index(n), "alignment_error"), "{:.2f}".format) for n in shown
    ]
    correct = [Measure(f"{n:,}, %", ("snapshots", saved.index(n), "exact")) for n in shown]
    return errors + correct


PRONOUNS = [
    Measure("pronoun correct, %", ("pronouns", "right", "mean")),
    Measure("its probability", ("pronouns", "probability", "mean"), "{:.2f}".format),
    Measure("moved by the subject", ("pronouns", "moved by the subject"), "{:.2f}".format),
    Measure("moved by the object", ("pronouns", "moved by the object"), "{:.2f}".format),
    Measure("probe for one middle, %", ("pronouns", "probe", "one middle", "mean")),
    Measure("probe for new middles, %", ("pronouns", "probe", "new middles", "mean")),
]


def silence_measures(run: dict) -> list[Measure]:
    """Beam search without a length penalty, if it was measured."""
    return [
        Measure(f"{split}, {kind}, k = {beam}", ("silence", split, beam, "0.0", kind))
        for split, by_beam in run.get("silence", {}).items()
        for beam in by_beam
        for kind in ("empty", "short")
    ]


def trained_measures(run: dict) -> list[Measure]:
    """Perplexity for a language model, accuracy by class for a sentence encoder, the rest for translators."""
    two, test = "{:.2f}".format, run["scores"].get("test", {})
    columns = [Measure("parameters", ("parameters",), "{:,.0f}".format)]
    if "perplexity" in test:
        columns.append(Measure("perplexity", ("scores", "test", "perplexity"), two))
        columns += [Measure(key, (key,), "{:,.4g}".format) for key in ("word by word",) if key in run]
        return columns + (PRONOUNS if "pronouns" in run else [])
    if "greedy" in run["scores"].get("validation", {}):  # Multi30k
        searches = (("validation", "greedy"), ("test", "greedy"), ("test", "beam"))
        measured = [(split, search) for split, search in searches if search in run["scores"].get(split, {})]
        return columns + [
            Measure(f"{split}, {search}", ("scores", split, search), "{:.1f}".format)
            for split, search in measured
        ]
    if isinstance(test.get("right"), dict):
        return columns + [Measure(f"{name}, %", ("scores", "test", "right", name)) for name in test["right"]]
    columns += [Measure(split, ("scores", split, "exact")) for split in TESTS]
    columns += [Measure("il/elle", ("scores", "coreference", "pronouns"))]
    if "alignment_error" in test:
        columns.append(Measure("alignment error", ("scores", "test", "alignment_error"), two))
    if "readout" in run:
        columns = [columns[0], Measure("test", ("scores", "test", "exact"))] + [
            Measure(f"{kind}, {group}", ("readout", kind, group, "mean"))
            for kind in ("trained", "untrained")
            for group in run["readout"][kind]
        ]
    if "shifted" in run:
        columns += [Measure("not shifted", ("shifted", "usual")), Measure("shifted", ("shifted", "shifted"))]
    if "likeness" in run:
        columns.append(Measure("similarity of words", ("likeness", -1), two))
    return columns


MEASURES: dict[str, Callable[[dict], list[Measure]]] = {  # by the kind of an experiment
    "train": lambda run: trained_measures(run) + silence_measures(run),
    "recall": recall_measures,
    "divisor": lambda run: [
        Measure(f"learning rate {rate}", ("end", rate), "{:.3f}".format) for rate in run["end"]
    ],
    "key and value": lambda run: [Measure("correct, %", ("right",))],
    "snapshots": snapshot_measures,
    "sick": clinic_measures,
    "claim": lambda run: [
        Measure(f"{split}, %", (key, split)) for key in ("right", "exact") for split in run.get(key, {})
    ],
}


def by_variant(runs: Iterable[dict]) -> dict[str, list[dict]]:
    """The runs of each variant, in the order of the runs."""
    variants: dict[str, list[dict]] = {}
    for run in runs:
        variants.setdefault(run["variant"], []).append(run)
    return variants


def measures(results: dict[str, Any]) -> list[Measure]:
    """The columns of an experiment: those of the run that has most."""
    of_run = MEASURES[experiments()[results["experiment"]].kind]
    return max((of_run(run) for run in results["runs"]), key=len)


def mean_text(runs: Sequence[dict], column: Measure) -> str:
    """The mean over the runs that have a number, or "".

    >>> column = Measure("score", ("a",), "{:.1f}".format)
    >>> mean_text([{"a": 1.0}, {"a": 2.0}], column), mean_text([{}], column)
    ('1.5', '')
    """
    recorded = [number for run in runs if (number := column.find(run)) is not None]
    return column.write(mean(recorded)) if recorded else ""


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first line is its head."""
    head, *rest = lines
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rest))


def brief(run: dict, kind: str) -> str:
    """One line with the numbers of a run; `kind` is the kind of experiment.

    >>> brief({"parameters": 1200, "scores": {"test": {"perplexity": 4.2, "n_tokens": 9}}}, "train")
    'parameters 1,200, perplexity 4.20'
    """
    return ", ".join(f"{column.heading} {mean_text([run], column)}" for column in MEASURES[kind](run))
