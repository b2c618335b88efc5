"""The capstone's book: a prediction written down before the runs, the runs, and a report that holds both.

    plan = write_down(my_prediction)        # kept with the time; a later change is shown, not forbidden
    result = try_claim(plan, my_rule, {"transformer": "transformer", "bahdanau": "bahdanau"})
    claim_report(result, verdict=verdict, missing=missing, words="…")

Nothing here blocks: where something is not written yet, a line says so, and None goes on.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import mean
from typing import Any

from course_lib.formatting import fixed
from course_lib.runtime import user_folder, write_atomically
from course_lib.teaching import progress
from course_lib.teaching.checking import exercise_called, judge
from course_lib.translation.claim import N_STEPS, Make, Rule, lost, trial

KIND = "claim"
NO_PREDICTION = "No prediction yet. Write my_prediction first; training comes after it."
NO_RULE = "No rule yet. Write my_rule, and run its check."
NOTHING = "Nothing to report yet: a prediction, a rule and a run come first."
LACKS = {
    "prediction": "no prediction was written down",
    "before": "the prediction was written after the runs",
    "seeds": "fewer than three seeds: luck cannot be told from effect",
    "control": "no sentences that the rule leaves alone: did anything else break?",
    "words": "a conclusion in your own words, of 20 words or more",
}
Plan = dict[str, Any]


def now() -> str:
    """The time as it is kept, which sorts as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_down(make: Callable[[], Mapping[str, Any]]) -> Plan | None:
    """Keep the prediction that `make()` gives, with the time. The same one again keeps its first time."""
    try:
        said = dict(make())
    except NotImplementedError:
        print(NO_PREDICTION)
        return None
    kept = [event for event in progress.read().events if event.get("kind") == KIND]
    same = next((event for event in kept if event.get("prediction") == said), None)
    written = same["at"] if same else now()
    if not same:
        progress.record({"kind": KIND, "at": written, "prediction": said})
    others = sum(event.get("prediction") != said for event in kept)
    print("Written down." + (f" Other versions before or after it: {others}." if others else ""))
    return {"prediction": said, "written": written, "versions": others + 1}


def try_claim(
    plan: Plan | None,
    rule: Rule,
    systems: Mapping[str, str | Make],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    n_steps: int = N_STEPS,
) -> dict[str, Any] | None:
    """Train the systems without and with the rule, and keep what the report needs."""
    if plan is None:
        print(NO_PREDICTION)
        return None
    verdict = judge(exercise_called("my_rule"), rule)
    if verdict.status == "not tried":
        print(NO_RULE)
        return None
    if verdict.status == "wrong":
        print(f"The check of my_rule says: {verdict.headline} It is trained all the same.")
    begun = now()
    folder = user_folder() / "claims"
    tables = trial(rule, systems, seeds=seeds, n_steps=n_steps, folder=folder)
    return {
        **plan,
        "trained": begun,
        "seeds": list(seeds),
        "n_steps": n_steps,
        "splits": list(tables["with"]),
        "tables": tables,
        "rule": (rule.__doc__ or rule.__name__).strip().splitlines()[0],
    }


def plain(text: object) -> str:
    """Text that Markdown shows as it was typed.

    >>> plain("a_b <b>")
    'a\\\\_b &lt;b&gt;'
    """
    one_line = " ".join(html.escape(str(text), quote=False).split())
    return re.sub(r"([\\`*_{}\[\]#|$~])", r"\\\1", one_line)


class Report:
    """Markdown, in the notebook and in a file of the learner's own."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def claim_report(
    result: Mapping[str, Any] | None,
    *,
    verdict: Callable[[Mapping, Mapping], Mapping],
    missing: Callable[[Mapping], Sequence[str]],
    words: str = "",
) -> Report:
    """The prediction beside what came out, the spread, the control, and what the report still lacks."""
    if result is None:
        return Report(NOTHING)
    report = {**result, "words": words}
    said, tables = result["prediction"], result["tables"]
    lines = ["### My claim", "", f"**Rule.** {plain(result['rule'])}", ""]
    lines += [f"**{key.replace('_', ' ')}:** {plain(value)}  " for key, value in said.items()]
    versions = result.get("versions", 1)
    lines += ["", f"Versions of the prediction: {versions}. Steps a run: {result['n_steps']}.", ""]
    try:
        came = verdict(said, tables)
    except Exception as error:  # a prediction about another system or split than was run
        lines += [f"**No verdict:** {plain(type(error).__name__)}: {plain(error)}. Fits it what was run?"]
    else:
        least, most = (fixed(came[key], 1) for key in ("least", "most"))
        whole = len(set(result["seeds"])) >= 3
        told = "Came out" if whole else "A try-out, no result yet"
        lines += [f"**{told}: {plain(came['verdict'])}.** The gap is {least} to {most} points."]
    lines += [
        "",
        "| split | system | without | with | points lost (least to most) |",
        "|---|---|---|---|---|",
    ]
    for split, row in tables["with"].items():
        for system, seeds in row.items():
            points = lost(tables, split, system)
            before = fixed(mean(tables["without"][split][system]), 1)
            span = f"{fixed(min(points), 1)} to {fixed(max(points), 1)}"
            lines.append(f"| {split} | {plain(system)} | {before} | {fixed(mean(seeds), 1)} | {span} |")
    lines += ["", f"Seeds: {', '.join(map(str, result['seeds']))}.", "", f"**In my words.** {plain(words)}"]
    lacks = [LACKS.get(name, str(name)) for name in missing(report)]
    lines += ["", "**Still missing.** " + ("; ".join(lacks) if lacks else "nothing.")]
    text = "\n".join(lines) + "\n"
    try:
        write_atomically(user_folder() / "my_claim.md", text)
    except OSError:
        text += "\n(It could not be kept in a file.)\n"
    return Report(text)
