"""What a learner has done so far: kept on this machine, in one file, and nowhere else.

    >>> record({"kind": "exercise", "lesson": "start_here", "name": "double_it", "status": "passed"})
    >>> read().lesson("start_here").counts
    ('exercises 1 of 1',)

Every event is a line of `progress.jsonl` in the learner's folder; everything else is worked out from the
events. Several notebooks may write at the same time. Half a line after a power cut, a line that an editor
spoilt, and events of a kind this version does not know stay in the file and are passed over.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from course_lib.runtime import user_folder
from course_lib.teaching.contents import Lesson, Misconception, lessons, misconceptions
from course_lib.teaching.display import MUTED, card, escaped, prose

LONGEST_WAIT = 3.0  # seconds for the lock; a write takes a few milliseconds
TROUBLE = (OSError, RuntimeError)  # no disk, no right to write, no lock, no home folder
COUNTED = {  # how the events of each kind are told
    "quiz": "quiz {right} of {all} at the first try",
    "prediction": "predictions {right} of {all}",
    "estimate": "estimates within 2 × {right} of {all}",
    "goal": "goals {all}",
    "explanation": "explanations {all}",
}
TABLE = "border-collapse:collapse;margin:10px 0 0;font-size:inherit;color:inherit;background:none"
CELL = "padding:2px 18px 2px 0;text-align:left;vertical-align:top;border:0;background:none"


def progress_file() -> Path:
    """The file that holds the events."""
    return user_folder() / "progress.jsonl"


def locked(path: Path) -> FileLock:
    """Alone with a file, in a `with`; a lock that somebody holds for too long raises filelock's Timeout."""
    return FileLock(path.with_suffix(".lock"), timeout=LONGEST_WAIT, poll_interval=0.01)


def record(event: dict) -> None:
    """Remember an event. Where that cannot be done, say so once and let the lesson go on."""
    stamped = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **event}
    line = "\n" + json.dumps(stamped, ensure_ascii=False, default=str)  # half a line may stand before it
    try:
        file = progress_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        with locked(file), file.open("ab") as stream:
            stream.write(line.encode())
    except TROUBLE as error:
        say_once(
            f"Your progress cannot be saved: {_reason(error)}. Everything else works. "
            "To save it elsewhere, set COURSE_HOME to a folder of yours and restart."
        )


def read() -> Progress:
    """Everything known about this learner; never raises over a damaged or unreadable file."""
    try:
        file = progress_file()
        lines = file.read_bytes().split(b"\n") if file.exists() else []
    except TROUBLE as error:
        return Progress((), (f"Your progress cannot be read: {_reason(error)}.",))
    found = [_event(line) for line in lines if line.strip()]
    events = tuple(event for event in found if isinstance(event, dict))
    n_spoilt = len(found) - len(events)
    spoilt = f"Lines of your progress file that cannot be read, and are passed over: {n_spoilt}."
    return Progress(events, (spoilt,) if n_spoilt else ())


def _event(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        return None


def progress_summary() -> Progress:
    """What the learner has done, what comes next, and which misconceptions were met."""
    return read()


def delete() -> str:
    """Forget everything; gives one sentence that says what was done."""
    try:
        if not (file := progress_file()).exists():
            return "There was no progress to delete."
        with locked(file):
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


@dataclass(frozen=True, repr=False)
class Progress:
    """A learner's events, and what follows from them. `notes` tell of trouble with the file.

    A notebook shows it as a card, Python as text.
    """

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
        """`Next: 08 · Query, key, value (90 minutes)`."""
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

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return summary_html(self)

    def report(self) -> str:
        """The text for the command line, with the place of the file."""
        return f"{self.text}\n\nKept in {progress_file()}, on this machine only."


def _went_well(event: dict) -> bool:
    return event.get("status") == "passed" or event.get("correct") is True


def summary_html(known: Progress) -> str:
    """The card as HTML. A wrong belief never stands there without what is true.

    A lesson that was never opened shows no counts. So what a new learner sees, and what the stored notebook
    holds, does not change when other lessons are added.
    """
    from course_lib import theme  # matplotlib is slow to load, and the command line shows no card

    rows = items = ""
    for one in known.lessons:
        counts = " · ".join(one.counts) if one.opened else ""
        style = CELL if one.opened else f"{CELL};{MUTED}"
        texts = (one.mark, one.lesson.label, f"{one.lesson.minutes} min", counts)
        cells = "".join(f'<td style="{style}">{html.escape(text)}</td>' for text in texts)
        rows += f"<tr>{cells}</tr>"
    for met in known.misconceptions:
        count = f'<span style="{MUTED}">{met.known.id} · {met.times_text}</span>'
        belief, truth = escaped(met.known.belief), escaped(met.known.truth)
        items += f'<li style="margin-top:4px">“{belief}” {count}<br>In truth: {truth}</li>'
    body = "".join(map(prose, known.notes)) + prose(known.next_text)
    body += f'<table style="{TABLE}"><tbody>{rows}</tbody></table>'
    if items:
        body += prose("Misconceptions met", "font-weight:600")
        body += f'<ul style="margin:4px 0 0;padding-left:20px">{items}</ul>'
    where = "Kept on this machine only. `python3 -m course_lib progress --delete` removes it."
    body += prose(where, f"font-size:12px;{MUTED}")
    complete = sum(one.complete for one in known.lessons)
    return card(theme.BLUE, "◔", "Your progress", f"{complete} of {len(known.lessons)} lessons", body)
