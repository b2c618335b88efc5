"""Try a folder of answers on the checks: which wrong ones pass, and which right ones are refused?

    python -m tools.authoring.try_answers FOLDER [--verdicts FILE]

The folder has a file NAME.py for each exercise, with the lists WRONG and RIGHT of functions; a function's
docstring says what is wrong with it. Have them written by people who know only the lesson's text, as
docs/writing_a_lesson.md explains. A wrong answer is *explained* if its verdict names the cause: a slip of the
exercise, or a general one such as a lost gradient; an exception or a wrong shape is only described.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from course_lib.teaching.exercises import TestExercise, Verdict, find_exercise, judge
from course_lib.teaching.exercises.exercise import Exercise

NOT_EXPLAINED = {None, "raises", "wrong-shape", "left-over"}


@dataclass(frozen=True)
class Tried:
    """An answer, the verdict on it, and the seconds that took."""

    answer: Callable
    verdict: Verdict
    seconds: float

    @property
    def is_explained(self) -> bool:
        has_hint = self.verdict.slip == "wrong-shape" and bool(self.verdict.details)
        return self.verdict.slip not in NOT_EXPLAINED or has_hint

    def describe(self) -> str:
        mistake = (self.answer.__doc__ or "").strip()
        return f"{self.verdict.exercise}.{self.answer.__name__}: {mistake}"


def try_answer(name: str, answer: Callable) -> Tried:
    start = time.perf_counter()
    verdict = judge(find_exercise(name), answer)
    return Tried(answer, verdict, time.perf_counter() - start)


def try_file(path: Path) -> tuple[list[Tried], list[Tried]]:
    """Its wrong and its right answers, tried."""
    specification = spec_from_file_location(f"answers_{path.stem}", path)
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return tuple(
        [try_answer(path.stem, answer) for answer in answers] for answers in (module.WRONG, module.RIGHT)
    )


def report(wrong: list[Tried], right: list[Tried]) -> str:
    """What to mend, then the two rates."""
    passing = [tried for tried in wrong if tried.verdict.status == "passed"]
    caught = [tried for tried in wrong if tried.verdict.status != "passed"]
    to_explain = [tried for tried in caught if _has_slips(find_exercise(tried.verdict.exercise))]
    vague = [tried for tried in to_explain if not tried.is_explained]
    refused = [tried for tried in right if tried.verdict.status != "passed"]
    slowest = max([*wrong, *right], key=lambda tried: tried.seconds)
    lists = {"Wrong, but passes": passing, "Caught, but not explained": vague, "Right, but refused": refused}
    texts = [
        "\n  ".join([title, *(tried.describe() for tried in found)])
        for title, found in lists.items()
        if found
    ]
    n_explained = len(to_explain) - len(vague)
    rates = (
        f"{_rate(len(caught), len(wrong))} wrong answers caught, "
        f"{_rate(n_explained, len(to_explain))} wrong functions explained, "
        f"{_rate(len(right) - len(refused), len(right))} right answers accepted."
    )
    return "\n\n".join([*texts, f"{rates}\nSlowest: {slowest.describe()} ({slowest.seconds:.2f} s)."])


def _has_slips(exercise: Exercise) -> bool:
    """A design or a test is told what it doesn't meet, whatever the cause."""
    return not isinstance(exercise, TestExercise) and not getattr(exercise, "design", False)


def _rate(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f}%)" if whole else "0 of 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with a file NAME.py for each exercise")
    parser.add_argument("--verdicts", type=Path, metavar="FILE", help="write every verdict to this file")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these exercises")
    arguments = parser.parse_args()
    wrong, right = [], []
    for path in sorted(arguments.folder.glob("*.py")):
        if not arguments.only or path.stem in arguments.only:
            more_wrong, more_right = try_file(path)
            wrong, right = wrong + more_wrong, right + more_right
    if not wrong:
        parser.error(f"no answers found in {arguments.folder}")
    if arguments.verdicts:
        texts = [f"# {tried.describe()}\n\n{tried.verdict}\n" for tried in [*wrong, *right]]
        arguments.verdicts.write_text("\n".join(texts), encoding="utf-8")
    print(report(wrong, right))


if __name__ == "__main__":
    main()
