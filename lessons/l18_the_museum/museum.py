"""The results of every system of the course, by column and run.

    >>> table()["alignment error"]["bahdanau"]
    [0.06..., 0.05..., 0.05...]
    >>> COLUMNS["alignment error"].higher
    False

They come from data/results. A column holds only the systems that were measured for it.
"""

from __future__ import annotations

from statistics import mean
from typing import NamedTuple

from course_lib.models.registry import SYSTEMS
from course_lib.results import runs, value_at

TOY, REAL, WORDS, CLASSES = "toy translation", "Multi30k", "language models", "sentence encoder"
NO_RESIDUAL = "no_residual"
TITLES = {system.name: system.title for system in SYSTEMS} | {
    NO_RESIDUAL: "Transformer, no residual connection"
}
WITHOUT_ATTENTION = tuple(system.name for system in SYSTEMS if not getattr(system.model, "attends", True))


class Column(NamedTuple):
    """One column: the records it comes from, the number of a run, and whether higher is better."""

    task: str
    records: tuple[str, ...]
    path: str  # of the number in a run
    unit: str
    description: str  # n: the number of sentences
    higher: bool = True
    digits: int = 1


BOTH, LADDER, REAL_LADDER = ("toy_ladder", "block"), ("toy_ladder",), ("multi30k_ladder",)
MODELS, ENCODER, R_DROP = ("toy_language_models",), ("toy_sentence_encoder",), ("multi30k_r_drop",)
TUNED = (*REAL_LADDER, "multi30k_tuned")
TEST, BY_LENGTH, BY_KIND = "scores/test", "scores/test/by_length", "scores/test/by_phenomenon"
LONG, BEAM = "scores/long/by_length", "scores/test/beam"
# fmt: off
COLUMNS: dict[str, Column] = {
    "test": Column(TOY, BOTH, f"{TEST}/exact", "% exact", "as in training, n = 1000"),
    "1 to 5 words": Column(TOY, BOTH, f"{BY_LENGTH}/1–5/exact", "% exact", "of test, n = 161"),
    "16 to 20 words": Column(TOY, BOTH, f"{BY_LENGTH}/16–20/exact", "% exact", "of test, n = 248"),
    "21 to 30 words": Column(
        TOY, BOTH, f"{LONG}/21–30/exact", "% exact", "longer than in training, n = 260"),
    "31 to 40 words": Column(TOY, BOTH, f"{LONG}/31–40/exact", "% exact", "far longer, n = 240"),
    "depth": Column(TOY, BOTH, "scores/depth/exact", "% exact", "nested deeper, n = 500"),
    "recombination": Column(
        TOY, BOTH, "scores/recombination/exact", "% exact", "new combinations of words, n = 500"),
    "pronouns": Column(
        TOY, BOTH, "scores/coreference/pronouns", "% correct", "only il or elle is scored, n = 400"),
    "negation": Column(TOY, BOTH, f"{BY_KIND}/negation/exact", "% exact", "of test, n = 255"),
    "questions": Column(TOY, BOTH, f"{BY_KIND}/questions/exact", "% exact", "of test, n = 121"),
    "alignment error": Column(
        TOY, LADDER, f"{TEST}/alignment_error", "", "attention, mean over layers, against true links",
        False, 3),
    "parameters": Column(TOY, BOTH, "parameters", "k", "in thousands, set by us", False, 0),
    "training": Column(TOY, LADDER, "seconds", "s", "three timings, 15 runs at a time on one H200", False),
    "decoding": Column(
        TOY, ("decoding_speed",), "words_per_second", "words/s",
        "three timings, one CPU thread, 8 sentences at a time", True, 0),
    "BLEU greedy": Column(REAL, REAL_LADDER, f"{TEST}/greedy", "BLEU", "real captions, n = 1000"),
    "BLEU beam": Column(REAL, REAL_LADDER, BEAM, "BLEU", "the same runs, beam and length penalty"),
    "BLEU own rate": Column(REAL, TUNED, BEAM, "BLEU", "beam, each with its own learning rate"),
    "BLEU R-Drop": Column(REAL, R_DROP, BEAM, "BLEU", "beam, with R-Drop, 3 systems"),
    "perplexity": Column(WORDS, MODELS, f"{TEST}/perplexity", "", "the next word, toy sentences", False, 2),
    "pronoun class": Column(
        CLASSES, ENCODER, f"{TEST}/right/all", "% correct",
        "which pronoun a sentence needs, 1 system"),
}
# fmt: on
HIGHER = {name: column.higher for name, column in COLUMNS.items()}
COSTS = ("parameters", "training", "decoding")
CEILING = 98.0  # percent; where many systems are above it, they can't be ranked


def runs_of(record: str) -> dict[str, list[dict]]:
    """The runs of a record by system, by seed; of `block` only those without residual connections."""
    by_system: dict[str, list[dict]] = {}
    for run in runs(record):
        if record == "block":
            if run["variant"] == "no residual path":
                by_system.setdefault(NO_RESIDUAL, []).append(run)
        else:
            by_system.setdefault(run["variant"].partition(",")[0], []).append(run)
    return by_system


def numbers_of(name: str) -> dict[str, list[float]]:
    """One column: for each system a number for every run. A later record replaces an earlier one."""
    column, by_system = COLUMNS[name], {}
    for record in column.records:
        for system, its_runs in runs_of(record).items():
            values = [_value(run, column) for run in its_runs]
            if None not in values:
                by_system[system] = values
    return by_system


def _value(run: dict, column: Column) -> float | None:
    value = value_at(run, *column.path.split("/"))
    if column.unit == "k":
        return value / 1000
    return 100 * value if column.unit.startswith("%") else value


def table() -> dict[str, dict[str, list[float]]]:
    """The number of every run of every system in every column."""
    return {name: numbers_of(name) for name in COLUMNS}


def n_at_ceiling(name: str) -> int:
    """How many systems of a column of percentages translate nearly everything correctly, on average.

    >>> n_at_ceiling("1 to 5 words")
    12
    """
    if not COLUMNS[name].unit.startswith("%"):
        return 0
    return sum(mean(numbers) >= CEILING for numbers in numbers_of(name).values())
