"""`test`: style, unit tests, every notebook, the browser. A failing part doesn't stop the others.

`test --soak` is the long run instead: it fuzzes, kills and shuffles for as long as it is told.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT
from tools.cli.arguments import at_least, command, seed

REPORTS = PROJECT_ROOT / "build" / "test"
PYTEST = (sys.executable, "-m", "pytest", "-q")
# nbval and its plugins warn about one another; a warning in a lesson shows up in its output and fails there.
# loadscope keeps a notebook on one worker. One run has all forms of all lessons, so that no worker idles.
NBVAL = (
    *("--dist", "loadscope", "-p", "tests.nbval_home", "--nbval", "--nbval-cell-timeout", "300"),
    f"--nbval-sanitize-with={PROJECT_ROOT / 'tests' / 'nbval.cfg'}",
    *("--disable-warnings", "-o", "filterwarnings=default"),
)
COMPILED_ONCE = {"PYTHONDONTWRITEBYTECODE": ""}  # not in every worker, kernel and process
# The markers of tests that a job of their own runs in CI, or another part.
OTHER_RUNS = "browser or soak or site or kit or grading or hub or nightly"
SOAK = PROJECT_ROOT / "tests" / "soak"
NO_CHROMIUM = "NO CHROMIUM FOUND: the lessons were not tested in a browser (on Debian: apt install chromium)"

Part = tuple[str, tuple[str, ...], Mapping[str, str]]  # a name, a command and its environment


def add(commands) -> None:
    parser = command(commands, "test", "run all tests; the first run installs what they need", run, "test")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run only the style checks and the quick unit tests, in about two minutes",
    )
    soak_help = "search for failures instead: fuzzed inputs, killed processes, cells in random order"
    parser.add_argument("--soak", action="store_true", help=soak_help)
    minutes = "how long --soak takes (default: 60); with less time it tries fewer cases"
    parser.add_argument("--minutes", type=at_least(0.1, 10_000.0), default=60.0, metavar="N", help=minutes)
    seed_help = "random seed of --soak (default: a new one, which is printed)"
    parser.add_argument("--seed", type=seed, metavar="S", help=seed_help)


def run(args: argparse.Namespace) -> int:
    """Run all parts, then print a line for each and the totals. 1 if anything failed."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    if args.soak:
        return soak(args)
    rows = []
    with tempfile.TemporaryDirectory(prefix="course-test-", ignore_cleanup_errors=True) as home:
        for name, command, environment in parts(args, Path(home)):
            print(f"\n==== {name}", flush=True)
            start = time.perf_counter()
            ran = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, stdin=subprocess.DEVNULL)
            rows.append((name, *count(name, ran.returncode), time.perf_counter() - start))
    rows.append(("total", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    print("\n==== summary")
    for name, passed, failed, skipped, seconds in rows:
        totals = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
        print(f"{name:20} {seconds:7.1f} s   {totals}")
    print(f"\n{totals}", flush=True)
    return 1 if failed else 0


def count(name: str, code: int) -> tuple[int, int, int]:
    """How many passed, failed and were skipped, by pytest's report; a command without one counts as one test.

    A nonzero exit code counts as a failure even if the report has none.
    """
    try:
        suite = ElementTree.parse(REPORTS / f"{name}.xml").find(".//testsuite").attrib
        tests, failed, skipped = (int(suite[key]) for key in ("tests", "failures", "skipped"))
        failed += int(suite["errors"])
    except (OSError, ElementTree.ParseError, AttributeError, KeyError):
        return int(code == 0), int(code != 0), 0
    passed = tests - failed - skipped
    return passed, failed or int(code != 0), skipped


# ---- the parts


def parts(args: argparse.Namespace, home: Path) -> Iterator[Part]:
    yield "style", (sys.executable, "-m", "ruff", "check", "."), os.environ
    yield "layout", (sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."), os.environ
    marks = f"not ({OTHER_RUNS})" + (" and not slow" if args.quick else "")
    yield pytest("unit tests", home, "-p", "no:nbval", "-m", marks)  # nbval takes 2 s to start
    if not args.quick:
        yield nbval(home, notebooks(REPORTS))
        yield browser(home)


def pytest(name: str, home: Path, *arguments: str, n_workers: int = 3) -> Part:
    # For two cores: one worker at a time waits for a kernel or another process. Each has one thread, because
    # workers that all use all cores are slower than a single one.
    environment = os.environ | COMPILED_ONCE | {"COURSE_HOME": str(home / name), "OMP_NUM_THREADS": "1"}
    dist = () if "--dist" in arguments else ("--dist", "worksteal")
    report = f"--junitxml={REPORTS / f'{name}.xml'}"
    return name, (*PYTEST, "-n", str(n_workers), *dist, report, *arguments), environment


def nbval(home: Path, paths: list[Path]) -> Part:
    """Run notebooks in kernels of their own and compare what they print."""
    from tools.authoring.execute import kernel_environment

    name, command, _ = pytest("notebooks", home, *NBVAL, *map(str, paths))
    return name, command, kernel_environment("learner", home) | COMPILED_ONCE


# ---- the long run


def soak(args: argparse.Namespace) -> int:
    """Run tests/soak on all cores, then print its table, also after Ctrl-C. 1 if anything failed."""
    number = random.randrange(2**32) if args.seed is None else args.seed
    print(f"This takes about {args.minutes:g} minutes. The seed is {number}.", flush=True)
    with tempfile.TemporaryDirectory(prefix="course-soak-", ignore_cleanup_errors=True) as home:
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "--maxschedchunk=1"]
        command += ["-p", "no:nbval", "-m", "soak", "--tb=no", "--disable-warnings", str(SOAK)]
        environment = os.environ | {"COURSE_HOME": home, "OMP_NUM_THREADS": "1", "SOAK_SEED": str(number)}
        environment |= {"SOAK_SECONDS": str(args.minutes * 60), "SOAK_REPORTS": str(REPORTS)}
        process = subprocess.Popen(command, cwd=PROJECT_ROOT, env=environment, stdin=subprocess.DEVNULL)
        try:
            code = process.wait()
        except KeyboardInterrupt:  # pytest got it too
            process.wait()
            code = 130
    reports = sorted(REPORTS.glob("*.json"))
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in reports]
    n_failed = sum(len(row["failures"]) for row in rows)
    print(f"\n{soak_table(rows)}")
    for row in rows:
        for failure in row["failures"]:
            print(f"\n==== {row['part']}\n{failure}")
    return 130 if code == 130 else 1 if code or n_failed or not rows else 0


def soak_table(rows: list[dict]) -> str:
    """A row for each part. A part that didn't finish was interrupted, or its process died."""
    lines = ["| part | cases | failures | seconds |", "|---|---:|---:|---:|"]
    for row in rows:
        name = row["part"] + ("" if row["finished"] else " (not finished)")
        lines.append(f"| {name} | {row['cases']:,} | {len(row['failures'])} | {row['seconds']:.0f} |")
    cases, seconds = (sum(row[key] for row in rows) for key in ("cases", "seconds"))
    n_failed = sum(len(row["failures"]) for row in rows)
    return "\n".join([*lines, f"| **total** | {cases:,} | {n_failed} | {seconds:.0f} |"])


def browser(home: Path) -> Part:
    from tests.browser.lab import chromium_path

    if chromium_path() is not None:
        return pytest("browser", home, "tests/browser", "-m", "browser", n_workers=2)  # each is busy
    required = sys.platform == "linux" and os.environ.get("CI", "").lower() in ("1", "true")
    program = f"import sys; print({NO_CHROMIUM!r}); sys.exit({int(required)})"
    return "browser", (sys.executable, "-c", program), os.environ


def notebooks(folder: Path) -> list[Path]:
    """The notebooks for nbval: the short edition as on another CPU, and the solved edition.

    `tests/nbval_home.py` tells by the folder which form a notebook has. The browser tests run the learner's
    edition on this CPU and compare its output; without a browser nbval does that too. A nightly test runs it
    as on another CPU.
    """
    from tests.browser.lab import chromium_path
    from tools.authoring.build import draft
    from tools.authoring.editions import as_text
    from tools.authoring.lesson import sources
    from tools.authoring.source import LessonError

    stored = sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb"))
    short = sorted((PROJECT_ROOT / "notebooks" / "short").glob("*.ipynb"))
    for form in ("short", "solved"):
        (folder / form).mkdir(parents=True, exist_ok=True)
    copies = [Path(shutil.copy(path, folder / "short")) for path in short]
    solved = []
    for source in sources(PROJECT_ROOT):
        path = folder / "solved" / f"{source.parent.name[1:]}.ipynb"
        try:
            path.write_text(as_text(draft(source, PROJECT_ROOT).notebook("solved")), encoding="utf-8")
            solved.append(path)
        except LessonError as problem:  # the unit tests fail because of it
            where = source.relative_to(PROJECT_ROOT).as_posix()
            print("Problem in a lesson:", problem.at(where), sep="\n", file=sys.stderr)
    return [*([] if chromium_path() else stored), *copies, *solved]
