"""What a learner has done so far: stored on this machine, in one file, and nowhere else.

    >>> record({"kind": "exercise", "lesson": "start_here", "name": "exact_match", "status": "passed"})
    >>> read().lesson("start_here").counts
    ('exercises 1 of 1',)

Each event is a line of `progress.jsonl` in the learner's folder; everything else is computed from the events.
Several notebooks may write at the same time. Half a line after a power cut, a line that an editor damaged,
and events of a kind that this version does not know stay in the file and are ignored.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from course_lib.runtime import user_folder
from course_lib.teaching.contents import (
    FULL,
    SHORT,
    TRACKS,
    Lesson,
    Misconception,
    lessons,
    misconceptions,
)
from course_lib.teaching.display import MUTED, card, escape, prose

LONGEST_WAIT = 30.0  # seconds for the lock; a write takes milliseconds, but a busy machine may pause it
FILE_ERRORS = (OSError, RuntimeError)  # disk full, no permission, no lock, no home folder
COUNT_TEXTS = {  # how the events of each kind are summarised
    "quiz": "quiz {right} of {all} at the first try",
    "prediction": "predictions {right} of {all}",
    "estimate": "estimates within 2 × {right} of {all}",
    "goal": "goals {all}",
    "explanation": "explanations {all}",
}
STRETCH = "stretch"  # exercises that a lesson is complete without
TABLE = "border-collapse:collapse;margin:10px 0 0;font-size:inherit;color:inherit;background:none"
CELL = "padding:2px 18px 2px 0;text-align:left;vertical-align:top;border:0;background:none"
_paused: ContextVar[bool] = ContextVar("paused", default=False)


def progress_file() -> Path:
    return user_folder() / "progress.jsonl"


def lock(path: Path) -> FileLock:
    """Exclusive access to a file, in a `with`; raises Timeout (an OSError) after `LONGEST_WAIT`.

    The system releases the lock of a process that ends, so only one that is stopped can hold it for long.
    """
    return FileLock(path.with_suffix(".lock"), timeout=LONGEST_WAIT, poll_interval=0.01)


@contextmanager
def not_recorded() -> Iterator[None]:
    """While code runs that isn't the learner's own work, in a `with`, nothing is recorded."""
    token = _paused.set(True)
    try:
        yield
    finally:
        _paused.reset(token)


def record(event: dict) -> None:
    """Append an event to the file. If that is impossible, print so once; the lesson goes on."""
    if _paused.get():
        return
    stamped = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **event}
    line = "\n" + json.dumps(stamped, ensure_ascii=False, default=str)  # after half a line, perhaps
    file = None
    try:
        file = progress_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        with lock(file), file.open("ab") as stream:
            stream.write(line.encode(errors="backslashreplace"))  # half a character becomes JSON's \ud800
    except FILE_ERRORS as error:
        print_once(
            f"Your progress can't be saved: {explain(error, file)}. Everything else works. "
            "To save it elsewhere, set COURSE_HOME to a folder of yours and restart."
        )


def choose_track(track: str) -> None:
    """Record the learner's choice; the last one counts."""
    record({"kind": "track", "track": track})


def read() -> Progress:
    """What the learner has done, what comes next, and which misconceptions showed. Never raises."""
    try:
        file = progress_file()
        lines = file.read_bytes().split(b"\n") if file.exists() else []
    except FILE_ERRORS as error:
        return Progress((), (f"Your progress can't be read: {explain(error)}.",))
    values = [_parse_line(line) for line in lines if line.strip()]
    events = tuple(value for value in values if isinstance(value, dict))
    n_unreadable = len(values) - len(events)
    notes = []
    if n_unreadable:
        notes.append(f"Your progress file has unreadable lines, which are ignored: {n_unreadable}.")
    return Progress(events, tuple(notes))


progress_summary = read  # the name that lessons use


def _parse_line(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested too deep
        return None


def delete() -> str:
    """Delete the file; returns a sentence about what was done."""
    try:
        if not (file := progress_file()).exists():
            return "There was no progress to delete."
        with lock(file):
            file.resolve().unlink()  # a link stays; what it leads to is the progress
    except FILE_ERRORS as error:
        return f"Your progress could not be deleted: {explain(error)}."
    return f"Your progress has been deleted: {file}."


def explain(error: Exception, file: Path | None = None) -> str:
    """The reason in a few words, and the file: "No space left on device (/home/me/progress.jsonl)"."""
    if isinstance(error, Timeout):
        return f"another process has had {error.lock_file} locked for {LONGEST_WAIT:g} seconds"
    reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
    file = getattr(error, "filename", None) or file  # the error of a full disk doesn't name the file
    return f"{reason} ({file})" if file else reason


@cache
def print_once(note: str) -> None:
    """Print a note once per session, and not at every click."""
    print(note)


class LessonProgress(NamedTuple):
    """What was done in one lesson; `counts` are texts such as "exercises 2 of 4", "goals 1"."""

    lesson: Lesson
    opened: bool
    complete: bool
    counts: tuple[str, ...]

    @property
    def mark(self) -> str:
        return "✓" if self.complete else "…" if self.opened else "·"


class ShownMisconception(NamedTuple):
    """A misconception that showed in answers: how often, and whether the same questions went well later."""

    misconception: Misconception
    times: int
    put_right: bool

    @property
    def times_text(self) -> str:
        times = {1: "once", 2: "twice"}.get(self.times, f"{self.times} times")
        return f"shown {times}, corrected since" if self.put_right else f"shown {times}"


@dataclass(frozen=True, repr=False)
class Progress:
    """A learner's events, and what follows from them. `notes` say what is wrong with the file."""

    events: tuple[dict, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def track(self) -> str:
        """The track that the learner chose last, or else the one they opened last; empty if neither."""
        chosen = [event.get("track") for event in self.events if event.get("kind") == "track"]
        opened = [event.get("track", FULL) for event in self.events if event.get("kind") == "lesson"]
        return next((track for track in [*reversed(chosen), *reversed(opened)] if track in TRACKS), "")

    @property
    def title(self) -> str:
        return "Your progress on the short track" if self.track == SHORT else "Your progress"

    @cached_property
    def lessons(self) -> tuple[LessonProgress, ...]:
        return tuple(map(self._lesson_progress, lessons()))

    def lesson(self, topic: str) -> LessonProgress:
        return next(row for row in self.lessons if row.lesson.topic == topic)

    @property
    def next_lesson(self) -> Lesson | None:
        """The first lesson that is not complete; None when all are."""
        return next((row.lesson for row in self.lessons if not row.complete), None)

    @property
    def next_text(self) -> str:
        if (lesson := self.next_lesson) is None:
            return "You have finished every lesson."
        return f"Next: {lesson.label} ({lesson.minutes_on(self.track)} minutes)"

    @cached_property
    def misconceptions(self) -> tuple[ShownMisconception, ...]:
        """Those that showed in wrong answers, in the order of their ids."""
        times: Counter[str] = Counter()
        open_questions: dict[str, set[str]] = {}  # by misconception: where it showed and was not put right
        for event in self.events:
            question = f"{event.get('kind')} {event.get('lesson')} {event.get('name')}"
            misconception = str(event.get("misconception"))
            if _went_well(event):
                for questions in open_questions.values():
                    questions.discard(question)
            elif misconception in misconceptions():
                times[misconception] += 1
                open_questions.setdefault(misconception, set()).add(question)
        return tuple(
            ShownMisconception(misconceptions()[id], times[id], put_right=not open_questions[id])
            for id in sorted(times)
        )

    @cached_property
    def missed(self) -> tuple[str, ...]:
        """Quiz questions answered wrongly and not correctly since, oldest first."""
        missed: dict[str, None] = {}  # in order
        for event in self.events:
            if event.get("kind") == "quiz":
                name = str(event.get("name"))
                missed.pop(name, None) if _went_well(event) else missed.setdefault(name)
        return tuple(missed)

    def goals(self, explorable: str) -> set[str]:
        """The goals of an explorable that were reached, in any session."""
        names = (str(event.get("name")) for event in self.events if event.get("kind") == "goal")
        return {name.removeprefix(f"{explorable}/") for name in names if name.startswith(f"{explorable}/")}

    def _lesson_progress(self, lesson: Lesson) -> LessonProgress:
        """Only the first answer to a quiz question, a prediction or an estimate counts."""
        events = [event for event in self.events if event.get("lesson") == lesson.topic]
        exercises = lesson.exercises
        if self.track == SHORT:
            exercises = {name: track for name, track in exercises.items() if track == SHORT}
        passed = {str(e.get("name")) for e in events if e.get("kind") == "exercise" and _went_well(e)}
        n_passed = sum(name in passed for name in exercises)
        counts = [f"exercises {n_passed} of {len(exercises)}"] if exercises else []
        for kind, text in COUNT_TEXTS.items():
            first: dict[str, dict] = {}
            for event in events:
                if event.get("kind") == kind and (kind != "quiz" or event.get("first_try")):
                    first.setdefault(str(event.get("name")), event)
            if first:
                counts.append(text.format(right=sum(map(_went_well, first.values())), all=len(first)))
        required = (name for name, track in exercises.items() if track != STRETCH)
        complete = bool(events) and all(name in passed for name in required)
        return LessonProgress(lesson, bool(events), complete, tuple(counts))

    def __repr__(self) -> str:
        """All of it as plain text. A lesson that was never opened is left out."""
        opened = [row for row in self.lessons if row.opened]
        lines = [f"{row.mark} {' · '.join([row.lesson.label, *row.counts])}" for row in opened]
        beliefs = [
            f"{shown.misconception.id} ({shown.times_text}): {shown.misconception.truth}"
            for shown in self.misconceptions
        ]
        return "\n".join([*self.notes, self.title, *lines, self.next_text, *beliefs])

    def report(self) -> str:
        """The text for the command line, with the path of the file."""
        return f"{self}\n\nYour progress is stored in {progress_file()}, only on this machine."

    def _repr_html_(self) -> str:
        """A lesson that was never opened shows no counts: what a new learner sees, and what the stored
        notebook holds, does not change when exercises are added to other lessons."""
        from course_lib import theme  # matplotlib is slow to load, and the command line shows no card

        rows = items = ""
        for row in self.lessons:
            counts = " · ".join(row.counts) if row.opened else ""
            style = CELL if row.opened else f"{CELL};{MUTED}"
            texts = (row.mark, row.lesson.label, f"{row.lesson.minutes_on(self.track)} min", counts)
            cells = "".join(f'<td style="{style}">{html.escape(text)}</td>' for text in texts)
            rows += f"<tr>{cells}</tr>"
        for shown in self.misconceptions:
            count = f'<span style="{MUTED}">{shown.misconception.id} · {shown.times_text}</span>'
            belief, truth = escape(shown.misconception.belief), escape(shown.misconception.truth)
            items += f'<li style="margin-top:4px">“{belief}” {count}<br>In fact: {truth}</li>'
        body = "".join(map(prose, self.notes)) + prose(self.next_text)
        body += f'<table style="{TABLE}"><tbody>{rows}</tbody></table>'
        if items:
            body += prose("Misconceptions", "font-weight:600")
            body += f'<ul style="margin:4px 0 0;padding-left:20px">{items}</ul>'
        where = "Stored only on this machine. `python3 -m course_lib progress --delete` deletes it."
        body += prose(where, f"font-size:12px;{MUTED}")
        complete = sum(row.complete for row in self.lessons)
        return card(theme.BLUE, "◔", self.title, f"{complete} of {len(self.lessons)} lessons", body)


def _went_well(event: dict) -> bool:
    return event.get("status") == "passed" or event.get("correct") is True
