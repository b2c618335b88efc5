"""`test`: style, unit tests, every notebook, the browser; each is run whatever the ones before gave.

>>> Counts("style", passed=1, failed=0, skipped=0, seconds=0.4).told
'1 passed, 0 failed'
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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from course_lib.cli.door import PROJECT_ROOT

REPORTS = PROJECT_ROOT / "build" / "test"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "2")
# nbval and its friends warn about one another; a warning in a lesson shows in its output and fails there.
# loadscope: a notebook keeps to one worker. Three forms of every lesson share them, so that none idles.
NBVAL = (
    *("--dist", "loadscope", "-p", "tests.nbval_home", "--nbval", "--nbval-cell-timeout", "300"),
    *("--disable-warnings", "-o", "filterwarnings=default"),
)
NO_CHROMIUM = "NO CHROMIUM FOUND: the lessons were not tried in a browser (Debian: apt install chromium)"

Command = tuple[tuple[str, ...], Mapping[str, str]]  # and its environment


class Counts(NamedTuple):
    """How one part of the tests went."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float

    @property
    def told(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + f", {self.skipped} skipped" * bool(
            self.skipped
        )


def run(args: argparse.Namespace) -> int:
    """All parts, then a line for each and the totals. 1 when anything failed."""
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    counts = []
    with tempfile.TemporaryDirectory(prefix="course-test-", ignore_cleanup_errors=True) as home:
        for name, (command, environment) in parts(args, Path(home)):
            print(f"\n==== {name}", flush=True)
            start = time.perf_counter()
            ran = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, stdin=subprocess.DEVNULL)
            counts.append(Counts(name, *count(name, ran.returncode), time.perf_counter() - start))
    total = Counts("all together", *(sum(column) for column in list(zip(*counts, strict=True))[1:]))
    lines = [f"{one.name:20} {one.seconds:7.1f} s   {one.told}" for one in (*counts, total)]
    print("\n==== summary", *lines, "", total.told, sep="\n", flush=True)
    return 1 if total.failed else 0


def count(name: str, code: int) -> tuple[int, int, int]:
    """How many passed, failed and were skipped, by pytest's own report; a command without one is one test.

    What ended badly has failed, whatever its report says.
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


def parts(args: argparse.Namespace, home: Path) -> Iterator[tuple[str, Command]]:
    """What to run, in order, by name."""
    if args.k:
        yield pytest("unit tests", home, "-p", "no:nbval", "tests", "-m", "not browser", "-k", args.k)
        return
    yield "style", ((sys.executable, "-m", "ruff", "check", "."), os.environ)
    yield "layout", ((sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."), os.environ)
    marks = "not browser and not slow" if args.quick else "not browser"
    yield pytest("unit tests", home, "-p", "no:nbval", "tests", "-m", marks)  # nbval takes 2 s to start
    if not args.quick:
        name, (command, _) = pytest("notebooks", home, *NBVAL, *map(str, notebooks(REPORTS)))
        yield name, (command, kernel_environment(home))
        yield browser(home)


def pytest(name: str, home: Path, *asked: str) -> tuple[str, Command]:
    # One thread each: two workers that both take all cores are slower than one.
    environment = os.environ | {"COURSE_HOME": str(home / name), "OMP_NUM_THREADS": "1"}
    dist = () if "--dist" in asked else ("--dist", "worksteal")
    return name, ((*PYTEST, *dist, f"--junitxml={REPORTS / f'{name}.xml'}", *asked), environment)


def browser(home: Path) -> tuple[str, Command]:
    from tests.browser.lab import chromium_path

    if chromium_path() is not None:
        return pytest("browser", home, "tests/browser", "-m", "browser")
    must = sys.platform == "linux" and os.environ.get("CI", "").lower() in ("1", "true")
    told = f"import sys; print({NO_CHROMIUM!r}); sys.exit({int(must)})"
    return "browser", ((sys.executable, "-c", told), os.environ)


def kernel_environment(home: Path) -> dict[str, str]:
    from course_lib.authoring import execute

    return execute.kernel_environment("learner", home)


def notebooks(folder: Path) -> list[Path]:
    """Every lesson as it is stored, once more for another CPU, and with its solutions filled in.

    `tests/nbval_home.py` knows by the folder which form a notebook has.
    """
    from course_lib.authoring.build import draft
    from course_lib.authoring.editions import as_text
    from course_lib.authoring.source import LessonError, sources

    stored = sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb"))
    for form in ("another_cpu", "solved"):
        (folder / form).mkdir(parents=True, exist_ok=True)
    copies = [Path(shutil.copy(path, folder / "another_cpu")) for path in stored]
    solved = []
    for source in sources(PROJECT_ROOT):
        path = folder / "solved" / f"{source.parent.name}.ipynb"
        try:
            path.write_text(as_text(draft(source, PROJECT_ROOT).notebook("solved")), encoding="utf-8")
            solved.append(path)
        except* LessonError as group:  # the unit tests fail over it
            print("A lesson has problems:", *group.exceptions, sep="\n", file=sys.stderr)
    return [*stored, *copies, *solved]
