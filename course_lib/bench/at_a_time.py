"""Several Python programs at a time, each in a process of its own.

    >>> run_all([["-c", "print(6 * 7)"]], at_a_time=2)
    42
    []

A small model leaves most of a large GPU idle, so several train there in little more time than one. (NVIDIA's
share one well only through the Multi-Process Service: `nvidia-cuda-mps-control -d`.) The seconds that each
of them takes are then those of one among many.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from course_lib.runtime import PROJECT_ROOT


def run_all(programs: Sequence[Sequence[str]], *, at_a_time: int) -> list[Sequence[str]]:
    """Run each, given as what follows `python3`, and give those that failed. Each prints when it ends."""
    failed = []
    with ThreadPoolExecutor(at_a_time) as hands:
        work = {hands.submit(_run, program): program for program in programs}
        for done in as_completed(work):
            result = done.result()
            print(result.stdout, end="", flush=True)
            if result.returncode:
                failed.append(work[done])
                print(result.stderr, end="", file=sys.stderr, flush=True)
    return failed


def _run(program: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *program], cwd=PROJECT_ROOT, capture_output=True, text=True)
