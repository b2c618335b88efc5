"""One examination of an attempt. Every call of the learner's code goes through it, within one time limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course_lib.teaching.exercises.exercise import Exercise
from course_lib.teaching.exercises.failures import explain_failure
from course_lib.teaching.exercises.guarded_call import CallResult, call
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.exercises.verdict import Verdict

MOST_PRINTED = 3  # calls whose output is shown


class Found(Exception):
    """The examination ends here, with this verdict."""

    def __init__(self, verdict: Verdict):
        self.verdict = verdict


@dataclass
class Examination(ABC):
    """`printed` collects what the learner's code prints."""

    exercise: Exercise
    attempt: Any
    limit: TimeLimit
    printed: list[str] = field(default_factory=list)

    def verdict(self) -> Verdict:
        """The verdict on the attempt; nothing is recorded."""
        try:
            return self.examine()
        except Found as found:
            return found.verdict

    @abstractmethod
    def examine(self) -> Verdict:
        """The verdict, returned or raised."""

    def works(self) -> bool:
        """Whether the attempt, which is the reference, still does what it should in this session."""
        return self.verdict().status == "passed"

    def call(
        self, function: Callable[[], Any], read: Callable = lambda value: value, seed: int = 0
    ) -> CallResult:
        result = call(function, self.limit, read, seed=seed)
        if result.printed.strip() and len(self.printed) < MOST_PRINTED:
            self.printed.append(result.printed)
        return result

    def all_printed(self) -> str:
        return "\n".join(f"call {number}:\n{text}" for number, text in enumerate(self.printed, start=1))

    def explain_failure(self, result: CallResult, call_text: str = "") -> Verdict | None:
        return explain_failure(result, self.limit.seconds, call_text)

    def answer(self, function: Callable[[], Any], seed: int = 0) -> Any:
        """What the function returns; the examination ends if it fails."""
        result = self.call(function, seed=seed)
        if failure := self.explain_failure(result):
            raise Found(failure)
        return result.answer
