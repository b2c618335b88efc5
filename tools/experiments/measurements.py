"""Numbers that a lesson quotes but no experiment records: `python3 -m tools.experiments.measurements 07`.

A lesson with such numbers has a file `measurements.py` with a function `measure()`, which returns them as a
nested dictionary. They are stored in data/results/lesson_07.json, and prose quotes them:

    {result:lesson_07/narrow window/local-m/1:.0f}

The lesson's tests repeat the measurement and compare.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module

from course_lib.runtime import PROJECT_ROOT, write_json
from course_lib.teaching.contents import Lesson, lessons
from course_lib.training.checkpoint import machine, versions


def record(lesson: Lesson) -> None:
    """Measure the numbers that a lesson quotes, and store them."""
    start = time.perf_counter()
    numbers = import_module(f"{lesson.package}.measurements").measure()
    about = {
        "command": f"python3 -m tools.experiments.measurements {lesson.number}",
        "machine": machine(None),
        "versions": versions(),
        "seconds": round(time.perf_counter() - start, 1),
    }
    write_json(PROJECT_ROOT / "data" / "results" / f"lesson_{lesson.number}.json", about | numbers)
    print(f"lesson {lesson.number}: measured in {about['seconds']} s")


def main() -> None:
    measured = {lesson.number: lesson for lesson in lessons() if (lesson.folder / "measurements.py").exists()}
    parser = argparse.ArgumentParser(description="Repeat the measurements that lessons quote.")
    parser.add_argument(
        "lessons", nargs="*", metavar="NN", help=f"one or more of {', '.join(measured)} (default: all)"
    )
    numbers = parser.parse_args().lessons or list(measured)
    if unknown := set(numbers) - set(measured):
        parser.error(f"no measurements for {', '.join(sorted(unknown))}; choose from {', '.join(measured)}")
    for number in numbers:
        record(measured[number])


if __name__ == "__main__":
    main()
