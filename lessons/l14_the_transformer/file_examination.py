"""One check of a file: what is right so far, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course_lib.teaching.exercises.examination import Examination, Found
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, wrong_verdict


@dataclass
class FileExamination(Examination):
    """`done` lists what is right so far."""

    done: list[str] = field(default_factory=list)

    def guarded(self, what: str, function: Callable[[], Any], seed: int = 0) -> Any:
        """What the function returns; ends the examination if the learner's code fails in it."""
        result = self.call(function, seed=seed)
        if result.failure and result.failure.exception == "NotImplementedError":
            raise self.unfinished(f"Next: write what {what} needs.", result.failure.line)
        if failure := self.explain_failure(result):
            headline = failure.headline.replace("Your function", what).replace("raised", "raises")
            advice = failure.details.replace(
                "have you run the cell that defines it", "does the file define it"
            )
            raise self.wrong(headline, advice, failure.slip)
        return result.answer

    def wrong(self, headline: str, details: str = "", slip: str | None = None, **numbers: str) -> Found:
        return Found(wrong_verdict(headline, join_paragraphs(details, self.so_far()), slip, **numbers))

    def unfinished(self, headline: str, details: str = "") -> Found:
        return Found(Verdict("", "unfinished", headline, join_paragraphs(details, self.so_far())))

    def so_far(self) -> str:
        return "Right so far: " + "; ".join(self.done) + "." if self.done else ""
