"""The capstone's book: a prediction written down before the runs, the runs, and a report that holds both.

    plan = write_down(my_prediction, my_rule, seeds=(0, 1, 2))      # kept with the time
    result = try_claim(plan, my_rule)
    claim_report(result, verdict=verdict, missing=missing, words="…")

A later change is shown, not forbidden: the report tells versions and tries, and takes as the time of training
that of the first of its runs, whichever version it was made for. Nothing here blocks: where something is not
written yet, a line says so, and None goes on.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import mean
from typing import Any

from course_lib.formatting import fixed
from course_lib.runtime import user_folder, write_atomically
from course_lib.teaching import progress
from course_lib.teaching.display import Markdown
from course_lib.teaching.exercises.any_exercise import judge
from course_lib.teaching.exercises.catalogue import exercise_called
from lessons.l19_your_own_claim.claim import N_STEPS, Make, Rule, fingerprint, lost, split_sizes, trial
from lessons.l19_your_own_claim.sound import faults

KIND, TRY = "claim", "claim try"
ENOUGH = 40  # sentences of a split; on fewer, one is worth more than two and a half points
NO_PREDICTION = "No prediction yet. Write my_prediction first; training comes after it."
NO_RULE = "No rule yet. Write my_rule, and run its check: it comes first."
NO_SYSTEM = "The prediction names mine: give it, as in `try_claim(..., mine=make_mine)`."
NOTHING = "Nothing to report yet: a prediction, a rule and a run come first."
LACKS = {
    "prediction": "no prediction was written down",
    "before": "the prediction was written after the first of these runs",
    "seeds": "fewer than three seeds: luck cannot be told from effect",
    "steps": "runs shorter than 600 steps: a try-out",
    "control": "no sentences that the rule leaves alone: did anything else break?",
    "words": "a conclusion in your own words, of 20 words or more",
}
Plan = dict[str, Any]


def now() -> str:
    """The time as it is kept, which sorts as text; fine enough for who runs all cells at once."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def what_it_says(made: Callable) -> str:
    """The first line of a function's docstring, else its name."""
    return ((made.__doc__ or "").strip() or made.__name__).splitlines()[0]


def events(kind: str) -> list[dict]:
    return [event for event in progress.read().events if event.get("kind") == kind]


def write_down(
    make: Callable[[], Mapping[str, Any]], rule: Rule, *, seeds: Sequence[int] = (0, 1, 2)
) -> Plan | None:
    """Keep the prediction that `make()` gives, its rule and its seeds, with the time.

    The same ones again keep their first time.
    """
    try:
        sign, sizes = fingerprint(rule), split_sizes(rule)
    except NotImplementedError:
        print(NO_RULE)
        return None
    try:
        said = dict(make())
    except NotImplementedError:
        print(NO_PREDICTION)
        return None
    whole = {"prediction": said, "rule": sign, "seeds": list(seeds)}
    kept = events(KIND)
    same = next((event for event in kept if whole.items() <= event.items()), None)
    if same is None:
        same = {"kind": KIND, "at": now(), **whole, "says": what_it_says(rule)}
        progress.record(same)
        kept.append(same)
    others = len(kept) - 1
    print("Written down." + (f" Other versions before or after it: {others}." if others else ""))
    print("Test sentences: " + "; ".join(f"{split} {n}" for split, n in sizes.items()) + ".")
    if sizes.get(said.get("on"), ENOUGH) < ENOUGH:
        print(
            f'On "{said["on"]}" that is few: fewer than {ENOUGH} sentences tell little, whatever the seeds.'
        )
    return {**whole, "written": same["at"], "versions": len(kept)}


def try_claim(
    plan: Plan | None,
    rule: Rule,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    n_steps: int = N_STEPS,
    mine: Make | None = None,
) -> dict[str, Any] | None:
    """Train the two systems of the plan without and with the rule, and keep what the report needs.

    `mine(vocab_size)` builds the system that the prediction calls "mine".
    """
    if plan is None:
        print(NO_PREDICTION)
        return None
    verdict = judge(exercise_called("my_rule"), rule)
    if verdict.status == "not tried":
        print(NO_RULE)
        return None
    if verdict.status == "wrong":
        print(f"The check of my_rule says: {verdict.headline} It is trained all the same.")
    names = [plan["prediction"][key] for key in ("breaks", "more_than")]
    if "mine" in names and mine is None:
        print(NO_SYSTEM)
        return None
    for fault in faults(mine) if "mine" in names else ():
        print(f"mine: {fault} It is trained all the same.")
    systems = {name: mine if name == "mine" else name for name in names}
    sign, begun = fingerprint(rule), now()
    runs = [[name, seed] for name in systems for seed in seeds]
    tried = {"rule": sign, "says": what_it_says(rule), "runs": runs, "n_steps": n_steps}
    tries = [*events(TRY), {"at": begun, **tried}]
    if not any(tried.items() <= event.items() for event in tries[:-1]):
        progress.record({"kind": TRY, "at": begun, **tried})
    seen = [
        event["at"]
        for event in tries
        if event.get("rule") == sign and any(run in event.get("runs", ()) for run in runs)
    ]
    tables = trial(rule, systems, seeds=seeds, n_steps=n_steps, folder=user_folder() / "claims")
    return {
        **plan,
        "trained": min(seen),
        "seeds": list(seeds),
        "n_steps": n_steps,
        "splits": list(tables["with"]),
        "sizes": split_sizes(rule),
        "tables": tables,
        "says": what_it_says(rule),
        "mine": what_it_says(mine) if "mine" in names else "",
        "changed": changes(plan, sign, seeds, n_steps),
        "tries": len({json.dumps([event.get(key) for key in tried]) for event in tries}),
        "rules": len({event.get("rule") for event in tries}),
    }


def changes(plan: Plan, sign: str, seeds: Sequence[int], n_steps: int) -> list[str]:
    """What is not as it was written down; a try-out may take some of the seeds."""
    found = ["the rule"] if plan["rule"] != sign else []
    planned, taken = set(plan["seeds"]), set(seeds)
    kept = taken == planned or (n_steps < N_STEPS and taken < planned)
    return found if kept else [*found, "the seeds"]


def plain(text: object) -> str:
    """Text that Markdown shows as it was typed.

    >>> plain("a_b <b>")
    'a\\\\_b &lt;b&gt;'
    """
    one_line = " ".join(html.escape(str(text), quote=False).split())
    return re.sub(r"([\\`*_{}\[\]#|$~])", r"\\\1", one_line)


def claim_report(
    result: Mapping[str, Any] | None,
    *,
    verdict: Callable[[Mapping, Mapping], Mapping],
    missing: Callable[[Mapping], Sequence[str]],
    words: str = "",
) -> Markdown:
    """The prediction beside what came out, the spread, the control, and what the report still lacks."""
    if result is None:
        return Markdown(NOTHING)
    report = {**result, "words": words}
    said, tables = result["prediction"], result["tables"]
    lines = ["### My report", "", f"**Rule.** {plain(result['says'])}", ""]
    if result["mine"]:
        lines += [f"**mine:** {plain(result['mine'])}", ""]
    lines += [f"**{key.replace('_', ' ')}:** {plain(value)}  " for key, value in said.items()]
    versions = result["versions"]
    lines += ["", f"Written {result['written'][:19]}, first of these runs {result['trained'][:19]} (UTC).  "]
    tries = f"Tries: {result['tries']}. Rules tried: {result['rules']}."
    lines += [f"Versions of the prediction: {versions}. {tries} Steps a run: {result['n_steps']}.", ""]
    if result["changed"]:
        lines += [f"**Not as written down:** {', '.join(result['changed'])}.", ""]
    try:
        came = verdict(said, tables)
    except Exception as error:  # a prediction about another system or split than was run
        told = f"{plain(type(error).__name__)}: {plain(error)}"
        lines += [f"**No verdict:** {told}. Was this system run, and has this split any sentences?"]
    else:
        least, most = (fixed(came[key], 1) for key in ("least", "most"))
        whole = len(set(result["seeds"])) >= 3 and result["n_steps"] >= N_STEPS
        told = f"Came out: {plain(came['verdict'])}." if whole else "A try-out, no result yet."
        lines += [f"**{told}** The gap is {least} to {most} points."]
    lines += [
        "",
        "| split | sentences | system | mean without | mean with | points lost, by seed |",
        "|---|---|---|---|---|---|",
    ]
    for split, row in tables["with"].items():
        for system, seeds in row.items():
            points = lost(tables, split, system)
            before = fixed(mean(tables["without"][split][system]), 1)
            span = ", ".join(fixed(one, 1) for one in points)
            n = result["sizes"][split]
            cells = (split, n, plain(system), before, fixed(mean(seeds), 1), span)
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", f"Seeds: {', '.join(map(str, result['seeds']))}.", "", f"**In my words.** {plain(words)}"]
    lacks = [LACKS.get(name, str(name)) for name in missing(report)]
    lines += ["", "**Still missing.** " + ("; ".join(lacks) if lacks else "nothing.")]
    text = "\n".join(lines) + "\n"
    try:
        write_atomically(user_folder() / "my_report.md", text)
    except OSError:
        text += "\n(It could not be kept in a file.)\n"
    return Markdown(text)
