"""The capstone's preregistration: a prediction that is written down with its time, and the runs that test it.

    plan = write_down(my_prediction, my_rule, seeds=(6, 7, 8))
    result = try_claim(plan, my_rule, seeds=(6, 7, 8))

Both are recorded in the learner's progress. A later change of the prediction is not forbidden, but the report
shows it: how many versions and trials there were, and when the first run was made, whichever version it was
made for. Nothing here raises an error for work that is still missing: a line says what comes first, and the
result is None. Runs of full length are also tested on the new sentences, which the verdict is about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from course_lib.runtime import user_folder
from course_lib.teaching import progress
from course_lib.teaching.exercises import find_exercise, judge
from lessons.l19_your_own_claim.corpus import ENOUGH, fingerprint, new_sentences, split_sizes
from lessons.l19_your_own_claim.model_checks import faults
from lessons.l19_your_own_claim.rules import Rule, apply_rule
from lessons.l19_your_own_claim.systems import N_STEPS, Make
from lessons.l19_your_own_claim.trials import run_trial

PREDICTION, TRIAL = "claim", "claim try"  # kinds of events in the learner's progress
SEEDS = (6, 7, 8)  # those for which data/results has runs without a rule, tested on the new sentences
NO_PREDICTION = "There is no prediction yet. Write my_prediction and record it before you train."
NO_RULE = "There is no rule yet. Write my_rule first, and run its check."
NO_SYSTEM = "Your prediction is about `mine`, so pass your system to try_claim: `mine=make_mine`."
Plan = dict[str, Any]


def now() -> str:
    """The time as text that sorts as times do, in microseconds: a learner may run all cells at once."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def summary(function: Callable) -> str:
    """The first line of a function's docstring, else its name."""
    return ((function.__doc__ or "").strip() or function.__name__).splitlines()[0]


def events(kind: str) -> list[dict]:
    """The events of a kind in the learner's progress, oldest first; without a time they don't count."""
    return [
        event
        for event in progress.read().events
        if event.get("kind") == kind and isinstance(event.get("at"), str)
    ]


def write_down(
    predict: Callable[[], Mapping[str, Any]], rule: Rule, *, seeds: Sequence[int] = SEEDS
) -> Plan | None:
    """Record the prediction that `predict()` returns, its rule and its seeds, with the time.

    A prediction that was recorded before keeps its first time. One that its check rejects is not recorded.
    """
    try:
        rule_id, sizes = fingerprint(rule), split_sizes(rule)
    except NotImplementedError:
        print(NO_RULE)
        return None
    verdict = judge(find_exercise("my_prediction"), predict)
    if verdict.status == "not tried":
        print(NO_PREDICTION)
        return None
    if verdict.status == "wrong":
        print(f"The prediction wasn't recorded, because its check failed: {verdict.headline}")
        return None
    prediction = dict(predict())
    content = {"prediction": prediction, "rule": rule_id, "seeds": list(seeds)}
    versions = events(PREDICTION)
    event = next((event for event in versions if content.items() <= event.items()), None)
    if event is None:
        event = {"kind": PREDICTION, "at": now(), **content, "says": summary(rule)}
        progress.record(event)
        versions.append(event)
    others = len(versions) - 1
    print("Your prediction is recorded." + (f" Other recorded versions: {others}." if others else ""))
    print("Test sentences: " + "; ".join(f"{split} {n}" for split, n in sizes.items()) + ".")
    if sizes.get(prediction.get("on"), ENOUGH) < ENOUGH:
        print(f'The split "{prediction["on"]}" has fewer than {ENOUGH} of them, so expect a wide interval.')
    return {**content, "written": event["at"], "versions": len(versions)}


def try_claim(
    plan: Plan | None,
    rule: Rule,
    *,
    seeds: Sequence[int] = SEEDS,
    n_steps: int = N_STEPS,
    mine: Make | None = None,
) -> dict[str, Any] | None:
    """Train the two systems of the plan without and with the rule, and return what the report needs.

    `mine(vocab_size)` builds the system that the prediction calls "mine".
    """
    if plan is None:
        print(NO_PREDICTION)
        return None
    verdict = judge(find_exercise("my_rule"), rule)
    if verdict.status == "not tried":
        print(NO_RULE)
        return None
    if verdict.status == "wrong":
        print(f"my_rule doesn't pass its check, but the systems are trained with it: {verdict.headline}")
    names = [plan["prediction"][key] for key in ("breaks", "more_than")]
    if "mine" in names and mine is None:
        print(NO_SYSTEM)
        return None
    for fault in faults(mine) if "mine" in names else ():
        print(f"mine doesn't pass its check, but it is trained: {fault}")
    with_new = n_steps >= N_STEPS
    if problem := find_problem_on_new_sentences(rule) if with_new else "":
        print(problem)
        return None
    systems = {name: mine if name == "mine" else name for name in names}
    rule_id, started = fingerprint(rule), now()
    runs = [[name, seed] for name in systems for seed in seeds]
    trial = {"rule": rule_id, "says": summary(rule), "runs": runs, "n_steps": n_steps}
    trials = [*events(TRIAL), {"at": started, **trial}]
    if not any(trial.items() <= event.items() for event in trials[:-1]):
        progress.record({"kind": TRIAL, "at": started, **trial})
    times_of_runs = [
        event["at"]
        for event in trials
        if event.get("rule") == rule_id
        and isinstance(event.get("runs"), list)  # the learner may have edited the file
        and any(run in event["runs"] for run in runs)
    ]
    options = {"seeds": seeds, "n_steps": n_steps, "with_new": with_new}
    completed = run_trial(rule, systems, **options, folder=user_folder() / "claims")
    tables = completed.tables(new=with_new)
    return {
        **plan,
        "trained": min(times_of_runs),
        "seeds": list(seeds),
        "n_steps": n_steps,
        "with_new": with_new,
        "splits": list(tables["with"]),
        "sizes": split_sizes(rule, new=with_new),
        "tables": tables,
        "trial": completed,
        "says": summary(rule),
        "mine": summary(mine) if "mine" in names else "",
        "changed": changes(plan, rule_id, seeds, n_steps),
        "tries": len({json.dumps([event.get(key) for key in trial]) for event in trials}),
        "rules": len({str(event.get("rule")) for event in trials}),
    }


def find_problem_on_new_sentences(rule: Rule) -> str:
    """A rule that the new sentences break would otherwise be noticed only after the training."""
    for pair in (pair for pairs in new_sentences().values() for pair in pairs):
        try:
            " ".join(apply_rule(rule, pair))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return f"my_rule fails on a new sentence, {pair.src_text!r}, with {reason}. Nothing was trained."
    return ""


def changes(plan: Plan, rule_id: str, seeds: Sequence[int], n_steps: int) -> list[str]:
    """What differs from the plan; a short trial may take some of its seeds."""
    differences = ["the rule"] if plan["rule"] != rule_id else []
    planned, taken = set(plan["seeds"]), set(seeds)
    as_planned = taken == planned or (n_steps < N_STEPS and taken < planned)
    return differences if as_planned else [*differences, "the seeds"]
