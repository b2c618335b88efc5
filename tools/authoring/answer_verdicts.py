"""What the checks say of every wrong and right answer, to compare before and after a change of the checks.

    git worktree add ../before da4c0730
    python -m tools.authoring.answer_verdicts ../before.json --answers ../before --checks ../before
    python -m tools.authoring.answer_verdicts ../after.json --answers ../before --compare ../before.json

The answers, with the modules that they import, come from one checkout, and the checks from another. So both
commands judge the same answers, even those that have been removed since.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from dataclasses import replace
from importlib import import_module, invalidate_caches
from pathlib import Path

from course_lib.runtime import PROJECT_ROOT, write_atomically

OURS = ("course_lib", "lessons", "tools")
Row = dict[str, str | None]


def answers_of(checkout: Path, package: str) -> list[tuple[str, str, object]]:
    """(exercise, id, answer) for all answers of a lesson, which stay able to call their modules."""
    import_from(checkout)
    module, rows = import_module(f"{package}.wrong_answers"), []
    for name, wrong in module.WRONG.items():
        rows += [
            (name, f"{name}/wrong/{i}/{name_of(answer)}", answer) for i, (answer, *_) in enumerate(wrong)
        ]
    for name, right in module.RIGHT.items():
        rows += [(name, f"{name}/right/{i}/{name_of(answer)}", answer) for i, answer in enumerate(right)]
    return rows


def import_from(checkout: Path) -> None:
    """Forget the course's modules; from now on, they come from this checkout."""
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        if name != __name__:
            del sys.modules[name]
    sys.path[:] = [str(checkout), *(path for path in sys.path if not (Path(path) / "course_lib").is_dir())]
    invalidate_caches()


def name_of(answer: object) -> str:
    return getattr(answer, "__name__", type(answer).__name__)


def judge_lesson(checkout: Path, package: str, checks: Path) -> dict[str, Row]:
    """The verdicts on the answers of one lesson."""
    answers = answers_of(checkout, package)
    import_from(checks)
    from course_lib.teaching.exercises import find_exercise, guarded_call, judge

    is_learners = guarded_call._is_learners
    guarded_call._is_learners = lambda file: file.endswith("wrong_answers.py") or is_learners(file)
    rows = {}
    for name, key, answer in answers:
        try:
            exercise = find_exercise(name)
        except ValueError:
            continue  # not an exercise any more
        seconds = 0.3 if name_of(answer).startswith("never_ends") else exercise.seconds
        verdict = judge(replace(exercise, seconds=seconds), answer)
        rows[key] = {part: getattr(verdict, part) for part in ("status", "slip", "misconception")}
        rows[key]["text"] = str(verdict)
    print(f"{package}: {len(rows)}", file=sys.stderr, flush=True)
    return rows


def compare(before: dict[str, Row], after: dict[str, Row]) -> list[str]:
    """A line for each verdict that has changed; a verdict with the same cause may use other words."""
    parts = ("status", "slip", "misconception")
    both = [key for key in before if key in after]
    lines = [f"missing: {key}" for key in before if key not in after]
    for key in both:
        old, new = (tuple(rows[key][part] for part in parts) for rows in (before, after))
        if old != new:
            lines.append(f"changed: {key}: {old} -> {new}")
    n_words = sum(before[key]["text"] != after[key]["text"] for key in both)
    return [
        *lines,
        f"{len(both)} answers judged twice, {len(lines)} changes; {n_words} verdicts in other words",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="JSON file to write, outside the repository")
    parser.add_argument("--answers", type=Path, default=PROJECT_ROOT, help="the checkout with the answers")
    parser.add_argument("--checks", type=Path, default=PROJECT_ROOT, help="the checkout with the exercises")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="list the differences to this file")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    answers, checks = arguments.answers.resolve(), arguments.checks.resolve()
    files = sorted(answers.glob("lessons/*/wrong_answers.py"))
    work = [(answers, f"lessons.{file.parent.name}", checks) for file in files]
    with multiprocessing.get_context("spawn").Pool(arguments.workers, maxtasksperchild=1) as pool:
        found = pool.starmap(judge_lesson, work, chunksize=1)
    rows = {key: row for lesson in found for key, row in lesson.items()}
    write_atomically(arguments.out, json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True))
    if arguments.compare:
        print("\n".join(compare(json.loads(arguments.compare.read_text(encoding="utf-8")), rows)))


if __name__ == "__main__":
    main()
