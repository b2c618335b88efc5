"""The stages of `python3 -m course_lib test`, each run and counted, and the summary of all of them.

>>> print(summary([Outcome("style", passed=1, seconds=0.4)], seconds=0.5).splitlines()[-1])
1 passed, 0 failed
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.cli.door import PROJECT_ROOT

REPORTS = PROJECT_ROOT / "build" / "test"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "2")
# nbval and its friends warn about one another; a warning in a lesson shows in its output and fails there.
# loadscope: a notebook keeps to one worker.
NBVAL = (
    *(*PYTEST, "--dist", "loadscope", "-p", "tests.nbval_home", "--nbval", "--nbval-cell-timeout", "300"),
    *("--disable-warnings", "-o", "filterwarnings=default"),
)
# Sums come out differently in the last bit on another CPU. torch without vector instructions stands for one.
ANOTHER_CPU = {"ATEN_CPU_CAPABILITY": "default"}
SLOWEST = 5


@dataclass(frozen=True)
class Stage:
    """A command that is one part of the tests. With a report (JUnit XML) its tests are counted one by one."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] | None = None
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


def run(args: argparse.Namespace) -> int:
    """All stages, whatever the ones before gave; then the summary. 1 when anything failed."""
    start = time.perf_counter()
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="course-test-", ignore_cleanup_errors=True) as home:
        try:
            for stage in stages(args, Path(home)):
                outcomes.append(run_stage(stage))
        except KeyboardInterrupt:
            outcomes.append(Outcome("stopped by Ctrl-C", failed=1))
    print(summary(outcomes, time.perf_counter() - start), flush=True)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


# ---- the stages


def stages(args: argparse.Namespace, home: Path) -> Iterator[Stage | Outcome]:
    """What to run, in order. An Outcome stands for a stage that could not be put together."""
    if args.k:
        yield unit_tests("not browser", home, "-k", args.k)
        return
    yield Stage("style", (sys.executable, "-m", "ruff", "check", "."))
    yield Stage("layout", (sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."))
    yield unit_tests("not browser and not slow" if args.quick else "not browser", home)
    if args.quick:
        return
    yield Stage("notebooks fresh", (sys.executable, "-m", "course_lib", "build", "--check"))
    learner = sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb"))
    yield notebook_tests("learner's notebooks", "learner", learner, home / "this CPU")
    elsewhere = notebook_tests("on another CPU", "learner", learner, home / "another CPU", ANOTHER_CPU)
    yield elsewhere
    if solved := write_solved(REPORTS / "solved"):
        yield notebook_tests("solved notebooks", "solved", solved, home)
    else:
        yield Outcome("solved notebooks", failed=1, note="could not be built")
    yield browser_tests(home)


def unit_tests(marks: str, home: Path, *words: str) -> Stage:
    asked = ("-p", "no:nbval", "tests", "-m", marks, *words)  # nbval takes two seconds to start
    return pytest_stage("unit tests", home / "course", *asked)


def browser_tests(home: Path) -> Stage | Outcome:
    from tests.browser.lab import chromium_path

    if chromium_path() is None:
        must = sys.platform == "linux" and os.environ.get("CI", "").lower() in ("1", "true")
        note = "NO CHROMIUM FOUND: the lessons were not tried in a browser (Debian: apt install chromium)"
        return Outcome("browser", failed=int(must), skipped=int(not must), note=note)
    return pytest_stage("browser", home / "browser", "tests/browser", "-m", "browser")


def pytest_stage(name: str, home: Path, *asked: str) -> Stage:
    report = REPORTS / f"{name}.xml"
    command = (*PYTEST, "--dist", "worksteal", f"--junitxml={report}", *asked)
    # One thread each: two workers that both take all cores are slower than one.
    return Stage(name, command, os.environ | {"COURSE_HOME": str(home), "OMP_NUM_THREADS": "1"}, report)


def notebook_tests(
    name: str, edition: str, notebooks: list[Path], home: Path, more: Mapping[str, str] | None = None
) -> Stage:
    """nbval runs each cell and compares its output with the stored one."""
    from course_lib.authoring.execute import kernel_environment

    report = REPORTS / f"{name}.xml"
    command = (*NBVAL, f"--junitxml={report}", *map(str, notebooks))
    return Stage(name, command, {**kernel_environment(edition, home), **(more or {})}, report, edition)


def write_solved(folder: Path) -> list[Path]:
    """Every lesson with its solutions filled in, to be run. None, where one has problems."""
    from course_lib.authoring.build import draft
    from course_lib.authoring.editions import as_text
    from course_lib.authoring.source import LessonError, sources

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for source in sources(PROJECT_ROOT):
        try:
            text = as_text(draft(source, PROJECT_ROOT).notebook("solved"))
        except* LessonError as group:
            print("A lesson has problems:", *group.exceptions, sep="\n", file=sys.stderr)
            text = ""
        if not text:
            return []
        path = folder / f"{source.parent.name}.ipynb"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


# ---- running and counting


def run_stage(stage: Stage | Outcome) -> Outcome:
    """Run a stage with its output on the screen, and count."""
    print(f"\n==== {stage.name}", flush=True)
    if isinstance(stage, Outcome):
        print(stage.note, flush=True)
        return stage
    start = time.perf_counter()
    ran = subprocess.run(stage.command, cwd=PROJECT_ROOT, env=stage.environment, stdin=subprocess.DEVNULL)
    outcome = count(stage, ran.returncode)
    outcome.seconds = time.perf_counter() - start
    return outcome


def count(stage: Stage, code: int) -> Outcome:
    """Read the report. A stage that ended badly has failed, whatever its report says."""
    outcome, times = Outcome(stage.name), Counter()
    if stage.report is None:
        return Outcome(stage.name, passed=int(code == 0), failed=int(code != 0))
    try:
        cases = ElementTree.parse(stage.report).findall(".//testcase")
    except (OSError, ElementTree.ParseError):
        cases = []
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
        outcome.note = f"pytest ended with exit code {code}"
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
