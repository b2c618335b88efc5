"""The museum: every system of the road in every column that was measured, seed by seed.

    >>> table()["alignment error"]["bahdanau"]
    [0.06..., 0.05..., 0.05...]
    >>> COLUMNS["alignment error"].higher
    False

The numbers are those of data/results. A system that a column was not measured for is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from course_lib.models.registry import SYSTEMS
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
    says: str  # what was measured, in a few words; n: how many sentences
    higher: bool = True
    digits: int = 1


def _split(name: str) -> Measure:
    return lambda run: 100 * run["scores"][name]["exact"]


def _slice(split: str, kind: str, name: str) -> Measure:
    return lambda run: 100 * run["scores"][split][kind][name]["exact"]


def _exact(measure: Measure, says: str) -> Column:
    return Column(TOY, ("toy_ladder", "block"), measure, "% exact", says)


def _bleu(records: tuple[str, ...], way: str, says: str) -> Column:
    return Column(REAL, records, lambda run: run["scores"]["test"][way], "BLEU", says)


def _seconds(hall: str, record: str, says: str, digits: int = 1) -> Column:
    return Column(hall, (record,), lambda run: run["seconds"], "s", says, False, digits)


COLUMNS: dict[str, Column] = {
    "test": _exact(_split("test"), "like training, n = 1000"),
    "1 to 5 words": _exact(_slice("test", "by_length", "1–5"), "of test, n = 161"),
    "16 to 20 words": _exact(_slice("test", "by_length", "16–20"), "of test, n = 248"),
    "21 to 30 words": _exact(_slice("long", "by_length", "21–30"), "longer than in training, n = 260"),
    "31 to 40 words": _exact(_slice("long", "by_length", "31–40"), "far longer, n = 240"),
    "depth": _exact(_split("depth"), "nested deeper, n = 500"),
    "recombination": _exact(_split("recombination"), "words that never met, n = 500"),
    "pronouns": Column(
        TOY,
        ("toy_ladder", "block"),
        lambda run: 100 * run["scores"]["coreference"]["pronouns"],
        "% right",
        "only il or elle is judged, n = 400",
    ),
    "negation": _exact(_slice("test", "by_phenomenon", "negation"), "of test, n = 255"),
    "questions": _exact(_slice("test", "by_phenomenon", "questions"), "of test, n = 121"),
    "alignment error": Column(
        TOY,
        ("toy_ladder",),
        lambda run: run["scores"]["test"].get("alignment_error"),
        "",
        "attention, mean of all layers, against true links",
        False,
        3,
    ),
    "parameters": Column(
        TOY, ("toy_ladder", "block"), lambda run: run["parameters"] / 1000, "k", "set by us", False, 0
    ),
    "training": _seconds(TOY, "toy_ladder", "three timings, 15 runs at a time on one H200"),
    "decoding": Column(
        TOY,
        ("decoding_speed",),
        lambda run: run["words_per_second"],
        "words/s",
        "three timings, one CPU thread, 8 sentences at a time",
        True,
        0,
    ),
    "BLEU greedy": _bleu(("multi30k_ladder",), "greedy", "real captions, n = 1000"),
    "BLEU beam": _bleu(("multi30k_ladder",), "beam", "the same runs, beam and length penalty"),
    "BLEU own rate": _bleu(("multi30k_ladder", "multi30k_tuned"), "beam", "beam, another recipe: section 6"),
    "BLEU R-Drop": _bleu(("multi30k_r_drop",), "beam", "beam, another recipe, three systems: section 6"),
    "real training": _seconds(REAL, "multi30k_ladder", "three timings, 15 at a time on one H200", 0),
    "perplexity": Column(
        WORDS,
        ("toy_language_models",),
        lambda run: run["scores"]["test"]["perplexity"],
        "",
        "the next word, toy sentences",
        False,
        2,
    ),
    "LM training": _seconds(WORDS, "toy_language_models", "three timings"),
    "pronoun class": Column(
        CLASSES,
        ("toy_sentence_encoder",),
        lambda run: 100 * run["scores"]["test"]["right"]["all"],
        "% right",
        "which pronoun a sentence needs; one system only",
    ),
}
HIGHER = {name: column.higher for name, column in COLUMNS.items()}
COSTS = ("parameters", "training", "decoding", "real training", "LM training")
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


def beats(one: Sequence[float], other: Sequence[float], higher: bool) -> str:
    """Whether every seed of one is better than every seed of other: "yes", "no" or "open".

    >>> beats([3.0, 5.0, 7.0], [2.0, 4.0, 6.0], higher=True)
    'open'
    """
    if not higher:
        one, other = [-x for x in one], [-x for x in other]
    if min(one) > max(other):
        return "yes"
    return "no" if min(other) > max(one) else "open"
