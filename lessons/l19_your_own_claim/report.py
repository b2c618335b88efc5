"""The capstone's report: the prediction beside the results, and what the report lacks.

claim_report(result, verdict=verdict, missing=missing, words="…")
"""

from __future__ import annotations

import html
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from numbers import Real
from statistics import mean
from typing import Any

from course_lib.formatting import fixed
from course_lib.runtime import user_folder, write_atomically
from lessons.l19_your_own_claim.scores import points_lost
from lessons.l19_your_own_claim.systems import N_STEPS

NOTHING = "Nothing to report yet: a prediction, a rule and a run come first."
LACKS = {
    "prediction": "no prediction was written down",
    "before": "the prediction was written after the first of these runs",
    "seeds": "fewer than three seeds: luck cannot be told from effect",
    "steps": "runs shorter than 600 steps: only a trial",
    "control": "no control sentences that the rule doesn't change: did anything else break?",
    "words": "a conclusion in your own words, of 20 words or more",
}
Result = Mapping[str, Any]


class Markdown(str):
    """A text that a notebook renders as Markdown; elsewhere it is plain text."""

    def __repr__(self) -> str:
        return str(self)

    _repr_markdown_ = __repr__


def claim_report(
    result: Result | None,
    *,
    verdict: Callable[[Mapping, Mapping], Mapping],
    missing: Callable[[Mapping], Sequence[str]],
    words: str = "",
) -> Markdown:
    """The report, which is also written to the learner's folder."""
    if result is None:
        return Markdown(NOTHING)
    prediction = result["prediction"] or {}
    if not isinstance(prediction, Mapping):
        return Markdown(f"No report: a prediction should be a dictionary, but this is {quote(prediction)}.")
    result = {**result, "prediction": prediction}
    lines = [
        *("### My report", "", *_preregistered(result), *_outcome(result, verdict), ""),
        *(*_score_rows(result), "", f"Seeds: {escape(', '.join(map(str, result['seeds'])))}.", ""),
        *(f"**In my words.** {escape(words)}", ""),
        f"**Still missing.** {_lacks({**result, 'words': words}, missing)}",
    ]
    text = "\n".join(lines) + "\n"
    try:
        write_atomically(user_folder() / "my_report.md", text)
    except OSError:
        text += "\n(It couldn't be saved to a file.)\n"
    return Markdown(text)


def _preregistered(result: Result) -> Iterator[str]:
    """The rule and the prediction, when they were written, and what has changed since."""
    yield from (f"**Rule.** {escape(result['says'])}", "")
    if result["mine"]:
        yield from (f"**mine:** {escape(result['mine'])}", "")
    for key, value in result["prediction"].items():
        yield f"**{escape(str(key).replace('_', ' '))}:** {escape(value)}  "
    yield ""
    written, trained = (escape(result[key][:19]) for key in ("written", "trained"))
    yield f"Written {written}, first of these runs {trained} (UTC).  "
    counts = f"Versions of the prediction: {result['versions']}. Tries: {result['tries']}."
    yield from (f"{counts} Rules tried: {result['rules']}. Steps per run: {result['n_steps']}.", "")
    if result["changed"]:
        yield from (f"**Not as written down:** {', '.join(result['changed'])}.", "")


def _outcome(result: Result, verdict: Callable[[Mapping, Mapping], Mapping]) -> Iterator[str]:
    try:
        outcome = verdict(result["prediction"], result["tables"])
    except Exception as error:  # a prediction about another system or split than was run
        reason = f"{escape(type(error).__name__)}: {escape(error)}"
        yield f"**No verdict:** {reason}. Was this system run, and has this split any sentences?"
        return
    if not _is_verdict(outcome):
        wanted = '{"least": a number, "most": a number, "verdict": "held", "failed" or "open"}'
        yield f"**No verdict:** `verdict` should return `{wanted}`, but it returned {quote(outcome)}."
        return
    least, most = (fixed(outcome[key], 1) for key in ("least", "most"))
    complete = len(set(result["seeds"])) >= 3 and result["n_steps"] >= N_STEPS
    came = f"Outcome: {outcome['verdict']}." if complete else "A trial, not yet a result."
    yield f"**{came}** The gap is {least} to {most} points."


def _is_verdict(outcome: object) -> bool:
    if not isinstance(outcome, Mapping) or outcome.get("verdict") not in ("held", "failed", "open"):
        return False
    gaps = (outcome.get("least"), outcome.get("most"))
    return all(isinstance(gap, Real) and isfinite(gap) for gap in gaps)


def _lacks(report: Result, missing: Callable[[Mapping], Sequence[str]]) -> str:
    """What the learner's function finds missing in the report, in words."""
    try:
        names = missing(report)
    except Exception as error:  # not written yet, or wrong
        return f"Unknown: `missing` failed with {escape(type(error).__name__)}: {escape(error)}."
    if not isinstance(names, list | tuple | set) or not all(isinstance(name, str) for name in names):
        return f"Unknown: `missing` should return a list of names, but it returned {quote(names)}."
    return "; ".join(LACKS.get(name, escape(name)) for name in names) or "nothing."


def _score_rows(result: Result) -> Iterator[str]:
    tables = result["tables"]
    yield "| split | sentences | system | mean without | mean with | points lost, by seed |"
    yield "|---|---|---|---|---|---|"
    for split, row in tables["with"].items():
        for system, seeds in row.items():
            before, after = fixed(mean(tables["without"][split][system]), 1), fixed(mean(seeds), 1)
            points = ", ".join(fixed(lost, 1) for lost in points_lost(tables, split, system))
            cells = (escape(split), result["sizes"][split], escape(system), before, after, points)
            yield "| " + " | ".join(map(str, cells)) + " |"


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
