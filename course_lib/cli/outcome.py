"""One stage of `python3 -m course_lib test` run and counted, and the summary of all of them.

>>> print(summary([Outcome("style", passed=1, seconds=0.4)], seconds=0.5).splitlines()[-1])
1 passed, 0 failed
"""

from __future__ import annotations

import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SLOWEST = 5

PYTEST_SAYS = {
    2: "was interrupted or could not read the tests",
    3: "broke inside pytest",
    4: "was called wrongly",
    5: "found no tests",
}


@dataclass(frozen=True)
class Stage:
    """A command that is one part of the tests. With a report (JUnit XML) its tests are counted one by one."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] | None = None
    report: Path | None = None
    notebooks: str = ""  # the edition, where the stage runs notebooks


@dataclass
class Outcome:
    """How a stage went."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    note: str = ""
    notebooks: dict[str, float] = field(default_factory=dict)  # seconds each took

    @property
    def counts(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def run_stage(stage: Stage | Outcome, folder: Path) -> Outcome:
    """Run a stage with its output on the screen, and count."""
    if isinstance(stage, Outcome):
        return stage
    print(f"\n==== {stage.name}", flush=True)
    start = time.perf_counter()
    ran = subprocess.run(stage.command, cwd=folder, env=stage.environment, stdin=subprocess.DEVNULL)
    if stage.report:
        outcome = count(stage, ran.returncode)
    else:
        outcome = Outcome(stage.name, failed=1) if ran.returncode else Outcome(stage.name, passed=1)
    outcome.seconds = time.perf_counter() - start
    return outcome


def count(stage: Stage, code: int) -> Outcome:
    """Read the report. A stage that ended badly has failed, whatever its report says."""
    outcome = Outcome(stage.name)
    try:
        cases = ElementTree.parse(stage.report).findall(".//testcase")
    except (OSError, ElementTree.ParseError):
        cases = []
    times: Counter[str] = Counter()
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
        elif case.find("skipped") is not None:
            outcome.skipped += 1
        else:
            outcome.passed += 1
        if stage.notebooks:
            name = case.get("classname", "").removesuffix(".ipynb").rpartition(".")[2]
            times[f"{name} ({stage.notebooks})"] += float(case.get("time", 0))
    outcome.notebooks = dict(times)
    if code and (code != 1 or not outcome.failed):
        outcome.failed += 1
        outcome.note = PYTEST_SAYS.get(code, f"ended with exit code {code}")
    return outcome


def summary(outcomes: list[Outcome], seconds: float) -> str:
    """The stages with their times, the slowest notebooks, and last of all the totals."""
    lines = ["", "==== summary"]
    for outcome in outcomes:
        note = f"  {outcome.note}" if outcome.note else ""
        lines.append(f"{outcome.name:20} {outcome.seconds:7.1f} s   {outcome.counts}{note}")
    lines.append(f"{'all together':20} {seconds:7.1f} s")
    times = Counter({name: took for outcome in outcomes for name, took in outcome.notebooks.items()})
    if times:
        lines += ["", "slowest notebooks"]
        lines += [f"{took:9.1f} s   {name}" for name, took in times.most_common(SLOWEST)]
    total = Outcome(
        "total",
        passed=sum(outcome.passed for outcome in outcomes),
        failed=sum(outcome.failed for outcome in outcomes),
        skipped=sum(outcome.skipped for outcome in outcomes),
    )
    return "\n".join([*lines, "", total.counts])
