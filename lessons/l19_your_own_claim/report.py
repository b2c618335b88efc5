"""The capstone's report: the prediction beside the results, wrong translations, and its limits.

claim_report(result, verdict=verdict, conclusion="…")

It is written to the learner's folder as `my_report.md`, with its figure in `my_report.svg`.
"""

from __future__ import annotations

import html
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from numbers import Real
from pathlib import Path
from statistics import mean
from typing import Any

from course_lib.formatting import fixed
from course_lib.runtime import user_folder, write_atomically
from course_lib.translation.comparison import CLAIMS, N_RUNS
from course_lib.views import Picture
from lessons.l19_your_own_claim.error_analysis import by_kind, count_errors, find_errors, marked
from lessons.l19_your_own_claim.figures import loss_figure
from lessons.l19_your_own_claim.scores import points_lost
from lessons.l19_your_own_claim.systems import N_STEPS

NOTHING = "There is nothing to report yet: it takes a rule, a prediction and the runs."
LACKS = {
    "prediction": "No prediction was recorded.",
    "before": "The prediction was recorded after the first of these runs.",
    "seeds": "There are fewer than three runs of each system, so chance is a likely explanation.",
    "steps": "The runs are shorter than 600 steps: this is only a first trial.",
    "control": "There are no control sentences, so we don't know whether anything else broke.",
    "words": "There is no conclusion of at least 20 words.",
}
SMALL = "A few runs, one corpus and one training configuration are a small test."
FEWEST_WORDS, N_EXAMPLES = 20, 2
Result = Mapping[str, Any]
Verdict = Callable[[Mapping, Mapping], Mapping]


class Markdown(str):
    """A text that a notebook renders as Markdown; elsewhere it is plain text."""

    def __repr__(self) -> str:
        return str(self)

    _repr_markdown_ = __repr__


def missing(report: Result) -> list[str]:
    """What a report lacks: some of the keys of `LACKS`, in this order."""
    lacks = {
        "prediction": not report["prediction"],
        "before": bool(report["prediction"]) and not report["written"] < report["trained"],
        "seeds": len(set(report["seeds"])) < N_RUNS,
        "steps": report["n_steps"] < N_STEPS,
        "control": "rest" not in report["splits"],
        "words": len(report["words"].split()) < FEWEST_WORDS,
    }
    return [name for name, is_missing in lacks.items() if is_missing]


def claim_figure(result: Result | None) -> Picture | Markdown:
    """The points that each run of both systems lost, on every split."""
    if result is None:
        return Markdown(NOTHING)
    sentences = "new sentences" if result["with_new"] else "test sentences"
    return loss_figure(result["tables"], title=f"Points lost because of the rule, {sentences}")


def claim_report(result: Result | None, *, verdict: Verdict, conclusion: str = "") -> Markdown:
    """The report, which is also written to the learner's folder."""
    if result is None:
        return Markdown(NOTHING)
    prediction = result["prediction"] or {}
    if not isinstance(prediction, Mapping):
        return Markdown(f"No report: a prediction should be a dictionary, but this is {quote(prediction)}.")
    result = {**result, "prediction": prediction}
    lacks = [LACKS[name] for name in missing({**result, "words": conclusion})]
    lines = [
        *("### My report", "", *_preregistered(result), *_outcome(result, verdict), ""),
        *(*_score_rows(result), "", f"Seeds: {escape(', '.join(map(str, result['seeds'])))}.", ""),
        *_examples(result),
        *(f"**Conclusion.** {escape(conclusion)}", ""),
        f"**Limits of this report.** {' '.join([*lacks, SMALL])}",
    ]
    return Markdown(_save(lines, claim_figure(result), user_folder()))


def _save(lines: Sequence[str], figure: Picture, folder: Path) -> str:
    """Write the report and its figure to the folder. The text in the notebook has no link to the figure."""
    link = f"![{escape(figure.alt)}](my_report.svg)"
    text = "\n".join(lines) + "\n"
    try:
        write_atomically(folder / "my_report.svg", figure.file)
        write_atomically(folder / "my_report.md", f"{text}\n{link}\n")
    except OSError:
        text += "\nThe report couldn't be saved to a file.\n"
    return text


def _preregistered(result: Result) -> Iterator[str]:
    """The rule and the prediction, when they were recorded, and what has changed since."""
    yield from (f"**Rule.** {escape(result['says'])}", "")
    if result["mine"]:
        yield from (f"**mine:** {escape(result['mine'])}", "")
    yield from (*_prediction(result["prediction"]), "")
    written, trained = (escape(result[key][:19]) for key in ("written", "trained"))
    yield f"Recorded {written}; first of these runs {trained} (UTC).  "
    counts = f"Versions of the prediction: {result['versions']}. Trials: {result['tries']}."
    yield from (f"{counts} Rules tried: {result['rules']}. Steps per run: {result['n_steps']}.", "")
    if result["changed"]:
        yield from (f"**Different from what was recorded:** {', '.join(result['changed'])}.", "")


def _prediction(prediction: Mapping) -> Iterator[str]:
    """What was predicted as a sentence, and all other entries after it."""
    rest = dict(prediction)
    if {"breaks", "points", "more_than", "on"} <= set(rest):
        breaks, points, more_than, on = (
            escape(rest.pop(key)) for key in ("breaks", "points", "more_than", "on")
        )
        yield f"**Prediction.** {breaks} loses at least {points} points more than {more_than} on *{on}*.  "
    for key, value in rest.items():
        yield f"**{escape(str(key).replace('_', ' ').capitalize())}.** {escape(value)}  "


def _outcome(result: Result, verdict: Verdict) -> Iterator[str]:
    prediction = result["prediction"]
    try:
        outcome = verdict(prediction, result["tables"])
        word, interval = result["trial"].judge(prediction, new=result["with_new"])
    except Exception as error:  # a prediction about another system or split than was run
        reason = f"{escape(type(error).__name__)}: {escape(error)}"
        yield f"**No verdict:** {reason}. Was this system trained, and does this split have sentences?"
        return
    if not _is_verdict(outcome):
        wanted = '{"least": a number, "most": a number, "verdict": "holds", "fails" or "no clear difference"}'
        yield f"**No verdict:** `verdict` should return `{wanted}`, but it returned {quote(outcome)}."
        return
    least, most = (fixed(float(outcome[key]), 1) for key in ("least", "most"))
    gaps = f"The gap is {least} to {most} points over the pairs of runs"
    if len(set(result["seeds"])) < N_RUNS or not result["with_new"]:
        yield f"**A first trial, not yet a result.** {gaps}."
        return
    ends = " to ".join(fixed(end, 1) for end in interval)
    yield f"**Outcome: {word}.** {gaps}, and the 95% interval of its mean over runs and sentences is {ends}."
    yield f"By the runs alone: {outcome['verdict']}."


def _is_verdict(outcome: object) -> bool:
    if not isinstance(outcome, Mapping) or outcome.get("verdict") not in CLAIMS.values():
        return False
    gaps = (outcome.get("least"), outcome.get("most"))
    return all(isinstance(gap, Real) and isfinite(gap) for gap in gaps)


def _score_rows(result: Result) -> Iterator[str]:
    tables = result["tables"]
    kind = "new sentences" if result["with_new"] else "sentences"
    yield f"| split | {kind} | system | mean without | mean with | points lost, by run |"
    yield "|---|---|---|---|---|---|"
    for split, row in tables["with"].items():
        for system, seeds in row.items():
            before, after = fixed(mean(tables["without"][split][system]), 1), fixed(mean(seeds), 1)
            points = ", ".join(fixed(lost, 1) for lost in points_lost(tables, split, system))
            cells = (escape(split), f"{result['sizes'][split]:,}", escape(system), before, after, points)
            yield "| " + " | ".join(map(str, cells)) + " |"


def _examples(result: Result) -> Iterator[str]:
    """Wrong translations with the rule, by kind, on the sentences it changes and on the others."""
    trial, new = result["trial"], result["with_new"]
    for system in trial.runs["with"]:
        for split in ("rule", "rest"):
            errors = find_errors(trial, system, split, new=new)
            if not errors:
                continue
            n_wrong, n = count_errors(trial, system, split, new=new)
            kinds = by_kind(errors)
            counts = "; ".join(f"{kind} {len(group)}" for kind, group in kinds.items())
            first = "" if len(errors) == n_wrong else f" The {len(errors)} that were saved, by kind:"
            wrong = f"{n_wrong:,} of {n:,} translations are wrong."
            yield f"**Errors of {escape(system)} on {split}.** {wrong}{first} {counts}."
            yield ""
            for kind, group in list(kinds.items())[:N_EXAMPLES]:
                words = (
                    [escape(word) for word in group[0].expected],
                    [escape(word) for word in group[0].output],
                )
                expected, output = marked(*words, mark="**{}**".format)
                yield f"- {kind}: *{escape(group[0].source)}*  "
                yield f"  expected: {expected}  "
                yield f"  output: {output}"
            yield ""


def quote(value: object) -> str:
    """The `repr` of a value, shortened, as Markdown shows it."""
    return escape(reprlib.repr(value))


def escape(text: object) -> str:
    """Text that Markdown shows as it was typed.

    >>> escape("a_b <b>")
    'a\\\\_b &lt;b&gt;'
    """
    encodable = str(text).encode(errors="replace").decode()  # half a character can't be saved
    one_line = " ".join(html.escape(encodable, quote=False).split())
    return re.sub(r"([\\`*_{}\[\]#|$~])", r"\\\1", one_line)
