"""The museum: every system of the road in every column that was measured, seed by seed.

    >>> table()["alignment error"]["bahdanau"]
    [0.06..., 0.05..., 0.05...]
    >>> COLUMNS["alignment error"].higher
    False

The numbers are those of data/results. A system that a column was not measured for is not in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from course_lib.models.road import SYSTEMS
from course_lib.recorded import runs

Measure = Callable[[dict], float | None]
Table = dict[str, dict[str, list[float]]]
TOY, REAL, WORDS, CLASSES = "toy translation", "Multi30k", "language models", "sentence encoder"
NO_PATH = "no_residual"
WITHOUT_ATTENTION = (
    *("ngram_lm", "mlp_lm", "rnn_lm", "lstm_lm", "gru_lm", "ngram_rnn_lm"),
    *("rctm", "rnn_encoder_decoder", "seq2seq"),
)


class Column(NamedTuple):
    """What one column shows: from which records, which number of a run, and whether much of it is good."""

    hall: str
    records: tuple[str, ...]
    measure: Measure
    unit: str
    higher: bool = True
    digits: int = 1


def _split(name: str) -> Measure:
    return lambda run: 100 * run["scores"][name]["exact"]


def _slice(split: str, kind: str, name: str) -> Measure:
    return lambda run: 100 * run["scores"][split][kind][name]["exact"]


def _exact(measure: Measure) -> Column:
    return Column(TOY, ("toy_ladder", "block"), measure, "% exact")


def _bleu(records: tuple[str, ...], way: str) -> Column:
    return Column(REAL, records, lambda run: run["scores"]["test"][way], "BLEU")


COLUMNS: dict[str, Column] = {
    "test": _exact(_split("test")),
    "1 to 5 words": _exact(_slice("test", "by_length", "1–5")),
    "16 to 20 words": _exact(_slice("test", "by_length", "16–20")),
    "21 to 30 words": _exact(_slice("long", "by_length", "21–30")),
    "31 to 40 words": _exact(_slice("long", "by_length", "31–40")),
    "depth": _exact(_split("depth")),
    "recombination": _exact(_split("recombination")),
    "pronouns": _exact(lambda run: 100 * run["scores"]["coreference"]["pronouns"]),
    "negation": _exact(_slice("test", "by_phenomenon", "negation")),
    "questions": _exact(_slice("test", "by_phenomenon", "questions")),
    "alignment error": Column(
        TOY, ("toy_ladder",), lambda run: run["scores"]["test"].get("alignment_error"), "", False, 3
    ),
    "parameters": Column(TOY, ("toy_ladder", "block"), lambda run: run["parameters"] / 1000, "k", False, 0),
    "training": Column(TOY, ("toy_ladder",), lambda run: run["seconds"], "s", False),
    "decoding": Column(TOY, ("decoding_speed",), lambda run: run["words_per_second"], "words/s", True, 0),
    "BLEU greedy": _bleu(("multi30k_ladder",), "greedy"),
    "BLEU beam": _bleu(("multi30k_ladder",), "beam"),
    "BLEU own rate": _bleu(("multi30k_ladder", "multi30k_tuned"), "beam"),
    "BLEU R-Drop": _bleu(("multi30k_r_drop",), "beam"),
    "real training": Column(REAL, ("multi30k_ladder",), lambda run: run["seconds"], "s", False, 0),
    "perplexity": Column(
        WORDS, ("toy_language_models",), lambda run: run["scores"]["test"]["perplexity"], "", False, 2
    ),
    "LM training": Column(WORDS, ("toy_language_models",), lambda run: run["seconds"], "s", False),
    "pronoun class": Column(
        CLASSES, ("toy_sentence_encoder",), lambda run: 100 * run["scores"]["test"]["right"]["all"], "% right"
    ),
}
HIGHER = {name: column.higher for name, column in COLUMNS.items()}
TITLES = {system.name: system.title for system in SYSTEMS} | {NO_PATH: "Transformer, no residual path"}


def runs_of(record: str) -> dict[str, list[dict]]:
    """The runs of a record for each system, seed after seed; of `block` the one row that is no system."""
    found: dict[str, list[dict]] = {}
    for run in runs(record):
        if record == "block":
            if run["variant"] == "no residual path":
                found.setdefault(NO_PATH, []).append(run)
        else:
            found.setdefault(run["variant"].partition(",")[0], []).append(run)
    return found


def numbers(name: str) -> dict[str, list[float]]:
    """One column: for each system a number for every seed. Of two records, the later one counts."""
    column, found = COLUMNS[name], {}
    for record in column.records:
        for system, seeds in runs_of(record).items():
            measured = [column.measure(run) for run in seeds]
            if None not in measured:
                found[system] = measured
    return found


def table() -> Table:
    """Every column."""
    return {name: numbers(name) for name in COLUMNS}
