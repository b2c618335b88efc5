"""The long run, `python3 -m course_lib test --soak`: each test here is a part with a share of the time.

    @pytest.mark.soak(weight=3)
    def test_some_files(soak, tmp_path):
        soak.search(check, target=5000, content=st.binary())    # Hypothesis looks for inputs that fail
        soak.each(seeds, play)                                  # or: play(seed) for every seed

A part ends when its time is used or its target reached. Its row of the table is a JSON file, written again
after every round, so that it survives whatever happens to the process.
"""

from __future__ import annotations

import functools
import json
import os
import random
import re
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.internal.conjecture import engine
from hypothesis.strategies import SearchStrategy

from course_lib.runtime import PROJECT_ROOT, write_atomically

SECONDS = float(os.environ.get("SOAK_SECONDS", 60))  # for all parts together, on each core
SEED = int(os.environ.get("SOAK_SEED", 0))
MOST_AT_ONCE = 100  # cases of one search; the next one starts with another seed
MOST_FAILURES = 8  # different ones; then a part ends
MUST_STAY = ("data", "lessons", "notebooks")  # folders in which no part may change a file
CHANGES = (".git", ".hypothesis", ".ruff_cache", "__pycache__", "build")  # other programs write there
QUICK = settings(
    deadline=None,  # `time_limit` stops a case that hangs; Hypothesis would only measure it
    database=None,
    report_multiple_bugs=False,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
LONGEST_SHRINKING = min(30, SECONDS / 10)  # Hypothesis would shrink one example for five minutes


class Hang(BaseException):
    """Not an Exception, so that code under test which survives every Exception doesn't survive it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Hang as error:
        late = TimeoutError(f"still busy after {seconds} s")
        raise late.with_traceback(error.__traceback__) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Soak:
    """One part: runs its cases until its time is used, and keeps count."""

    def __init__(self, part: str, seconds: float, report: Path):
        self.part, self.seconds, self.report = part, seconds, report
        self.n_cases, self.failures = 0, {}  # by place: an error that is known isn't reported again
        self.random = random.Random(f"{SEED} {part}")

    def search(
        self,
        check: Callable,
        *,
        target: int,
        limit: float = 10.0,
        **inputs: SearchStrategy[Any],
    ) -> None:
        """Let Hypothesis look for inputs on which `check` raises or takes longer than `limit` seconds."""

        @functools.wraps(check)
        def run_case(*args: Any, **kwargs: Any) -> None:
            self.n_cases += 1
            try:
                with time_limit(limit):
                    check(*args, **kwargs)
            except BaseException as error:
                if place_of(error) not in self.failures:
                    raise

        self.begin()
        while self.goes_on(target):
            rate = self.n_cases / (time.monotonic() - self.start)
            n = min(MOST_AT_ONCE, target - self.n_cases, max(5, int(rate * (self.end - time.monotonic()))))
            test = settings(QUICK, max_examples=n)(given(**inputs)(run_case))
            with self.record_failure():
                seed(self.random.getrandbits(32))(test)()
        self.finish()

    def each(self, cases: Iterable[Any], check: Callable[[Any], None], *, limit: float = 60.0) -> None:
        """Call `check` with each case, in random order, for as long as there is time."""
        cases = self.random.sample(list(cases), len(list(cases)))
        self.begin()
        while self.goes_on(len(cases)):
            case = cases[self.n_cases]
            self.n_cases += 1
            with self.record_failure(f"{check.__name__}({case!r})"), time_limit(limit):
                check(case)
        self.finish()

    def begin(self) -> None:
        """The time for setting up isn't counted."""
        self.start = time.monotonic()
        self.end = self.start + self.seconds

    def seeds(self, n: int) -> list[int]:
        return [self.random.getrandbits(32) for _ in range(n)]

    @contextmanager
    def record_failure(self, example: str = "") -> Iterator[None]:
        try:
            yield
        except Exception as error:
            place, message = place_of(error), " ".join(str(error).split())[:300]
            notes = [example, *getattr(error, "__notes__", ())]
            shown = "\n".join(line[:200] for note in notes for line in note.splitlines()[:20])
            self.failures.setdefault(place, f"{type(error).__name__} in {place}: {message}\n{shown}".strip())

    def goes_on(self, target: int) -> bool:
        """Whether there is time for another round. At least one is run."""
        self.write(finished=False)
        some_time = time.monotonic() < self.end or not self.n_cases
        return some_time and self.n_cases < target and len(self.failures) < MOST_FAILURES

    def finish(self) -> None:
        self.write(finished=True)
        if self.failures:
            pytest.fail("\n".join(self.failures.values()), pytrace=False)

    def write(self, *, finished: bool) -> None:
        row = {"part": self.part, "cases": self.n_cases, "failures": list(self.failures.values())}
        row |= {"seconds": time.monotonic() - self.start, "finished": finished}
        write_atomically(self.report, json.dumps(row))  # Ctrl-C may come at any moment


def place_of(error: BaseException) -> str:
    """Where an error was raised: the last line of the course's code, or else of the part's own."""
    frames = traceback.extract_tb(error.__traceback__)
    paths = [(Path(frame.filename), frame.lineno) for frame in frames]
    ours = [(path, line) for path, line in paths if path.is_relative_to(PROJECT_ROOT)]
    ours = [(path, line) for path, line in ours if "site-packages" not in path.parts]
    path, line = ([row for row in ours if row[0].parent != Path(__file__).parent] or ours or paths)[-1]
    return f"{path.relative_to(PROJECT_ROOT) if ours else path.name}:{line}"


# ---- pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Other runs don't even load these files."""
    return "not soak" in config.option.markexpr or None


@pytest.hookimpl(trylast=True)  # after other parts are left out by -k
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Share the time by weight, and start with the longest part, so that all cores finish together."""
    parts = [item for item in items if item.get_closest_marker("soak")]
    weights = {item: item.get_closest_marker("soak").kwargs.get("weight", 1) for item in parts}
    items.sort(key=lambda item: -weights.get(item, 0))
    n_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    for item, weight in weights.items():
        item.soak_seconds = min(SECONDS, SECONDS * n_workers * weight / sum(weights.values()))
        item.add_marker(pytest.mark.filterwarnings("default"))  # as for a user, who isn't stopped by one


@pytest.fixture
def soak(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Soak]:
    monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", LONGEST_SHRINKING)
    part = re.sub(r"[\W_]+", " ", request.node.name.removeprefix("test_")).strip()
    reports = Path(os.environ.get("SOAK_REPORTS", tmp_path))
    before = course_files()
    yield Soak(part, request.node.soak_seconds, reports / f"{request.node.name}.json")
    changed = {path for path, _ in before.items() ^ course_files().items()}
    assert not changed, "this part changed files of the course"


def course_files() -> dict[Path, int]:
    """When each file in these folders was changed; of the rest, what is directly in the course's folder."""
    files = (path for folder in MUST_STAY for path in (PROJECT_ROOT / folder).rglob("*"))
    times = {path: path.stat().st_mtime_ns for path in files if path.is_file() and path.suffix != ".pyc"}
    return times | dict.fromkeys((path for path in PROJECT_ROOT.iterdir() if path.name not in CHANGES), 0)
