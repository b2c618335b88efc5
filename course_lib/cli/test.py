"""Run every test: style, unit tests, each notebook as learners get it and solved, a real browser."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from course_lib.cli.outcome import Outcome, Stage, run_stage, summary
from course_lib.cli.pins import PROJECT_ROOT
from course_lib.cli.trouble import Trouble

REPORTS = PROJECT_ROOT / "build" / "test"
PYTEST = (sys.executable, "-m", "pytest", "-q")
SIDE_BY_SIDE = ("-n", "2")
# nbval and its friends warn about one another; a warning in a lesson shows in its output and fails there.
NBVAL = (
    *(*PYTEST, "--disable-warnings", "--nbval", "--nbval-cell-timeout", "300"),
    *("-o", "filterwarnings=default"),
)
# Sums come out differently in the last bit on another CPU. torch without vector instructions stands for one.
ANOTHER_CPU = {"ATEN_CPU_CAPABILITY": "default"}
NO_NBVAL = ("-p", "no:nbval")  # it takes two seconds to start
OWN_HOME = ("-p", "tests.nbval_home")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="style and unit tests only, about a minute")
    parser.add_argument("-k", metavar="WORDS", help="only unit tests whose name fits, as pytest's -k")


def run(args: argparse.Namespace) -> int:
    """All stages, whatever the ones before gave; then the summary. 1 when anything failed."""
    start = time.perf_counter()
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="course-test-", ignore_cleanup_errors=True) as home:
        try:
            for stage in stages(args, Path(home)):
                outcomes.append(run_stage(stage, PROJECT_ROOT))
        except KeyboardInterrupt:
            outcomes.append(Outcome("stopped by Ctrl-C", failed=1))
    print(summary(outcomes, time.perf_counter() - start), flush=True)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def stages(args: argparse.Namespace, home: Path) -> Iterator[Stage | Outcome]:
    """What to run, in order. An Outcome stands for a stage that could not be put together."""
    if args.k:
        yield unit_tests("not browser", home, ["-k", args.k])
        return
    yield Stage("style", (sys.executable, "-m", "ruff", "check", "."))
    yield Stage("layout", (sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."))
    yield unit_tests("not browser and not slow" if args.quick else "not browser", home)
    if args.quick:
        return
    yield Stage("notebooks fresh", (sys.executable, "-m", "course_lib", "build", "--check"))
    learner = sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb"))
    yield notebook_tests("learner", learner, home / "this CPU")
    yield notebook_tests("learner", learner, home / "another CPU", name="on another CPU", more=ANOTHER_CPU)
    try:
        solved = write_solved(PROJECT_ROOT / "build" / "test" / "solved")
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        yield Outcome("solved notebooks", failed=1, note="could not be built")
    else:
        yield notebook_tests("solved", solved, home)
    yield browser_tests(home)


def unit_tests(marks: str, home: Path, words: list[str] | None = None) -> Stage:
    report = REPORTS / "unit.xml"
    asked = (*NO_NBVAL, "tests", "-m", marks, *(words or []))
    command = (*PYTEST, *SIDE_BY_SIDE, "--dist", "worksteal", f"--junitxml={report}", *asked)
    # One thread each: two workers that both take all cores are slower than one.
    environment = {"COURSE_HOME": str(home / "course"), "OMP_NUM_THREADS": "1"}
    return Stage("unit tests", command, os.environ | environment, report)


def notebook_tests(
    edition: str, notebooks: list[Path], home: Path, *, name: str = "", more: dict[str, str] | None = None
) -> Stage:
    """nbval runs each cell and compares its output with the stored one; a notebook keeps to one worker."""
    from course_lib.authoring.execute import kernel_environment

    name = name or ("learner's notebooks" if edition == "learner" else f"{edition} notebooks")
    report = REPORTS / f"{name}.xml"
    command = (
        *NBVAL,
        *OWN_HOME,
        *SIDE_BY_SIDE,
        "--dist",
        "loadscope",
        f"--junitxml={report}",
        *map(str, notebooks),
    )
    return Stage(name, command, kernel_environment(edition, home) | (more or {}), report, notebooks=edition)


def write_solved(folder: Path) -> list[Path]:
    """Every lesson with its solutions filled in, not yet run: running them is the test."""
    from course_lib.authoring.build import draft
    from course_lib.authoring.editions import as_text
    from course_lib.authoring.source import LessonError, sources

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for source in sources(PROJECT_ROOT):
        try:
            text = as_text(draft(source, PROJECT_ROOT).notebook("solved"))
        except* LessonError as group:
            problems = "\n".join(map(str, group.exceptions))
            raise Trouble(
                "A lesson has problems:", "See docs/writing_a_lesson.md.", evidence=problems
            ) from None
        path = folder / f"{source.parent.name}.ipynb"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def browser_tests(home: Path) -> Stage | Outcome:
    from tests.browser.lab import chromium_path

    if chromium_path() is None:
        must = sys.platform == "linux" and os.environ.get("CI", "").lower() in ("1", "true")
        note = "NO CHROMIUM FOUND: the lessons were not tried in a browser (Debian: apt install chromium)"
        print(f"\n==== browser\n{note}", flush=True)
        return Outcome("browser", failed=int(must), skipped=int(not must), note=note)
    report = REPORTS / "browser.xml"
    # Two pages, each with a server of its own: one waits for its kernel while the other is drawn.
    asked = ("tests/browser", "-m", "browser")
    command = (*PYTEST, *SIDE_BY_SIDE, "--dist", "worksteal", f"--junitxml={report}", *asked)
    # One thread for each kernel: two that share two cores with a browser wait for one another.
    environment = {"COURSE_HOME": str(home / "browser"), "OMP_NUM_THREADS": "1"}
    return Stage("browser", command, os.environ | environment, report)
