"""What a learner has done so far: kept on this machine, in one file, and nowhere else.

    >>> record({"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"})
    >>> read().lesson("start_here").counts
    ('exercises 1 of 1',)

Every event is a line of `progress.jsonl` in the learner's folder; everything else is worked out from the
events. Events of a kind this version does not know stay in the file and are passed over.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from course_lib.runtime import user_folder
from course_lib.teaching import event_log
from course_lib.teaching.lessons import Lesson, Misconception, lessons, misconceptions

TROUBLE = (OSError, RuntimeError)  # no disk, no right to write, no lock, no home folder
COUNTED = {  # how the events of each kind are told
    "quiz": "quiz {right} of {all} at the first try",
    "prediction": "predictions {right} of {all}",
    "estimate": "estimates within 2 × {right} of {all}",
    "goal": "goals {all}",
    "explanation": "explanations {all}",
}


def progress_file() -> Path:
    """The file that holds the events."""
    return user_folder() / "progress.jsonl"


def record(event: dict) -> None:
    """Remember an event. Where that cannot be done, say so once and let the lesson go on."""
    stamped = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **event}
    try:
        event_log.append(progress_file(), stamped)
    except TROUBLE as error:
        say_once(
            f"Your progress cannot be saved: {_reason(error)}. Everything else works. "
            "To save it elsewhere, set COURSE_HOME to a folder of yours and restart."
        )


def read() -> Progress:
    """Everything known about this learner; never raises over a damaged or unreadable file."""
    try:
        events, n_spoilt = event_log.read(progress_file())
    except TROUBLE as error:
        return Progress((), (f"Your progress cannot be read: {_reason(error)}.",))
    spoilt = f"Lines of your progress file that cannot be read, and are passed over: {n_spoilt}."
    return Progress(events, (spoilt,) if n_spoilt else ())


def delete() -> str:
    """Forget everything; gives one sentence that says what was done."""
    try:
        if not (file := progress_file()).exists():
            return "There was no progress to delete."
        with event_log.locked(file):
            file.unlink()
    except TROUBLE as error:
        return f"Your progress could not be deleted: {_reason(error)}. It is in {user_folder()}."
    return "Your progress is deleted."


def _reason(error: Exception) -> str:
    """Why it could not be done, in a few words: `No space left on device`."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


@cache
def say_once(note: str) -> None:
    """Print a note, once a session: what cannot be put right must not be said at every click."""
    print(note)


class LessonProgress(NamedTuple):
    """How far one lesson has come. `counts` tell what there is: `exercises 2 of 4`, `goals 1`."""

    lesson: Lesson
    opened: bool
    complete: bool
    counts: tuple[str, ...]

    @property
    def mark(self) -> str:
        return "✓" if self.complete else "…" if self.opened else "·"


class Met(NamedTuple):
    """A misconception that showed in an answer: how often, and whether the same question went well later."""

    known: Misconception
    times: int
    put_right: bool

    @property
    def times_text(self) -> str:
        times = {1: "once", 2: "twice"}.get(self.times, f"{self.times} times")
        return f"met {times}, since put right" if self.put_right else f"met {times}"


@dataclass(frozen=True)
class Progress:
    """A learner's events, and what follows from them. `notes` tell of trouble with the file."""

    events: tuple[dict, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def lessons(self) -> tuple[LessonProgress, ...]:
        """Every lesson of the course, in order."""
        return tuple(map(self._lesson_progress, lessons()))

    def lesson(self, topic: str) -> LessonProgress:
        return next(one for one in self.lessons if one.lesson.topic == topic)

    @property
    def next_lesson(self) -> Lesson | None:
        """The first lesson that is not complete; None when all are."""
        return next((one.lesson for one in self.lessons if not one.complete), None)

    @property
    def next_text(self) -> str:
        """`Next: 08 · Query, key, value (60 minutes)`."""
        coming = self.next_lesson
        if coming is None:
            return "You have finished every lesson there is so far."
        return f"Next: {coming.label} ({coming.minutes} minutes)"

    @cached_property
    def misconceptions(self) -> tuple[Met, ...]:
        """What showed in wrong answers, in the order of the ids."""
        times: Counter[str] = Counter()
        open_at: dict[str, set[str]] = {}
        for event in self.events:
            place = f"{event.get('kind')} {event.get('lesson')} {event.get('name')}"
            shown = str(event.get("misconception"))
            if _went_well(event):
                for places in open_at.values():
                    places.discard(place)
            elif shown in misconceptions():
                times[shown] += 1
                open_at.setdefault(shown, set()).add(place)
        return tuple(Met(misconceptions()[one], times[one], not open_at[one]) for one in sorted(times))

    @cached_property
    def missed(self) -> tuple[str, ...]:
        """Quiz questions that went wrong and never right since, the longest ago first."""
        open_since: dict[str, None] = {}
        for event in self.events:
            if event.get("kind") == "quiz":
                name = str(event.get("name"))
                open_since.pop(name, None) if _went_well(event) else open_since.setdefault(name)
        return tuple(open_since)

    def goals(self, explorable: str) -> set[str]:
        """The goals of an explorable that were reached in an earlier session, or in this one."""
        names = (str(event.get("name")) for event in self.events if event.get("kind") == "goal")
        return {name.removeprefix(f"{explorable}/") for name in names if name.startswith(f"{explorable}/")}

    def _lesson_progress(self, lesson: Lesson) -> LessonProgress:
        """Quiz scores count first answers only, predictions and estimates the first guess."""
        here = [event for event in self.events if event.get("lesson") == lesson.topic]
        wanted = lesson.exercises
        passed = {str(e.get("name")) for e in here if e.get("kind") == "exercise" and _went_well(e)}
        counts = [f"exercises {sum(name in passed for name in wanted)} of {len(wanted)}"] if wanted else []
        for kind, words in COUNTED.items():
            first: dict[str, dict] = {}
            for event in here:
                if event.get("kind") == kind and (kind != "quiz" or event.get("first_try")):
                    first.setdefault(str(event.get("name")), event)
            if first:
                counts.append(words.format(right=sum(map(_went_well, first.values())), all=len(first)))
        complete = bool(here) and all(name in passed for name, track in wanted.items() if track == "core")
        return LessonProgress(lesson, bool(here), complete, tuple(counts))

    @property
    def text(self) -> str:
        """All of it as plain text. A lesson that was never opened is left out."""
        begun = [one for one in self.lessons if one.opened]
        lines = [f"{one.mark} {' · '.join([one.lesson.label, *one.counts])}" for one in begun]
        met = [
            f"{met.known.id} ({met.times_text}): in truth, {met.known.truth}" for met in self.misconceptions
        ]
        return "\n".join([*self.notes, "Your progress", *lines, self.next_text, *met])

    def report(self) -> str:
        """The text for the command line, with the place of the file."""
        return f"{self.text}\n\nKept in {progress_file()}, on this machine only."


def _went_well(event: dict) -> bool:
    return event.get("status") == "passed" or event.get("correct") is True
