"""One learner's results as a JSON file, which the learner may give to an instructor.

    {"format": "attention-course progress", "version": 1, "learner": "5f0c91ab", "name": "",
     "course": "0.1.0", "track": "short", "exported": "2026-11-15T10:00:00+00:00", "events": [...]}

`learner` is a random id that is stored with the progress, so that a later export replaces an earlier one.
`FIELDS` lists everything that is taken from an event: texts, code and times stay with the learner.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_lib import __version__
from course_lib.runtime import write_json
from course_lib.teaching import progress
from course_lib.teaching.contents import lessons, misconceptions
from course_lib.teaching.progress import Progress
from tools.cli.environment import CommandError

FORMAT, VERSION = "attention-course progress", 1  # `read_export` repeats both, as patterns
LEARNER = "learner"  # the kind of the event that holds the id
LARGEST = 20_000_000  # bytes; an export of the whole course has less than one million
MOST_CHARACTERS = 60  # of an id or a name
FIELDS = {  # by kind of event, besides kind, lesson and name
    "lesson": (),
    "exercise": ("status", "misconception"),
    "quiz": ("first_try", "correct", "answer", "vote", "misconception"),
    "prediction": ("correct",),
    "estimate": ("correct",),
    "goal": (),
}
NOT_AN_EXPORT = "it isn't a progress export, or it is damaged"


@dataclass(frozen=True)
class Export:
    """What an instructor knows about a learner; `course` is the version of the course."""

    learner: str
    name: str
    course: str
    exported: datetime
    progress: Progress

    @property
    def pseudonym(self) -> str:
        """The name that the learner chose, or else the id."""
        return self.name or self.learner


def export_progress(destination: Path | str, name: str) -> tuple[Path, dict[str, Any]]:
    """Write the learner's export to a file, or into a folder: one that exists, or "with/a/slash/" at its end.

    Returns the path and the content. An existing file is only replaced by an export of the same learner.
    """
    own = progress.read()
    events = [kept for event in own.events if (kept := without_texts(event))]
    if not events:
        raise CommandError(
            *own.notes,
            f"There is no progress to export yet: {progress.progress_file()} contains no results.",
            "Open a lesson and run its cells first.",
        )
    stored = stored_id(own)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "learner": stored or secrets.token_hex(4),
        "name": printable(name),
        "course": __version__,
        "track": own.track,
        "exported": datetime.now(UTC).isoformat(timespec="seconds"),
        "events": events,
    }
    path = Path(destination)
    if path.is_dir() or str(destination).endswith(("/", os.sep)):
        path /= f"progress-{content['learner']}.json"
    check_replaceable(path, content["learner"])
    if not stored:
        progress.record({"kind": LEARNER, "id": content["learner"]})
        if stored_id(progress.read()) is None:
            raise CommandError(
                "Your progress can't be exported, because its id couldn't be stored with it.",
                "Fix the problem named above, then run the same command again.",
            )
    write_json(path, content)
    return path, content


def stored_id(own: Progress) -> str | None:
    ids = (event.get("id") for event in own.events if event.get("kind") == LEARNER)
    return next((id for id in ids if isinstance(id, str) and re.fullmatch(r"[0-9a-f]{8}", id)), None)


def without_texts(event: dict) -> dict[str, Any] | None:
    """The parts of an event that are exported; None if it isn't about one of the course's lessons."""
    about = {"kind": event.get("kind"), "lesson": event.get("lesson"), "name": event.get("name", "")}
    if not all(isinstance(value, str) for value in about.values()):
        return None
    if about["kind"] not in FIELDS or about["lesson"] not in [lesson.topic for lesson in lessons()]:
        return None
    fields = [field for field in FIELDS[about["kind"]] if is_result(field, event.get(field))]
    return about | {field: event[field] for field in fields}


def is_result(field: str, value: object) -> bool:
    match field:
        case "status":
            return value in ("passed", "wrong")
        case "misconception":
            return isinstance(value, str) and value in misconceptions()
        case "answer":
            numbers = value if isinstance(value, list) else [value]
            return all(isinstance(number, int | float) for number in numbers)
        case "vote":
            return value in (1, 2)
    return isinstance(value, bool)


def check_replaceable(path: Path, learner: str) -> None:
    if not (path.exists() or path.is_symlink()):
        return
    try:
        if read_export(path).learner == learner:
            return
        reason = "it contains the progress of another learner"
    except ValueError as error:
        reason = str(error)
    raise CommandError(
        f"{path} can't be replaced: {reason}.", "Choose another name for your export, or move that file."
    )


def read_export(path: Path) -> Export:
    """An export; a ValueError says what is wrong with the file."""
    if not path.is_file():
        raise ValueError("it isn't a regular file")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it isn't a progress export, because it is larger than {LARGEST // 10**6} MB")
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ValueError(NOT_AN_EXPORT) from None
    match content:
        case {"format": "attention-course progress", "version": int(version)} if version > VERSION:
            raise ValueError(
                "it was exported by a newer version of the course; update yours, for example with `git pull`"
            )
        case {
            "format": "attention-course progress",
            "version": 1,
            "learner": str(learner),
            "name": str(name),
            "course": str(course),
            "track": str(track),
            "exported": str(exported),
            "events": list(events),
        } if learner and all(isinstance(event, dict) for event in events):
            results = [kept for event in events if (kept := without_texts(event))]
            chosen = {"kind": "track", "track": track}
            return Export(
                printable(learner),
                printable(name),
                printable(course),
                read_time(exported),
                Progress((*results, chosen)),
            )
    raise ValueError(NOT_AN_EXPORT)


def read_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(NOT_AN_EXPORT) from None


def printable(text: str) -> str:
    """A name in one line that can be written to any file; the two joiners are part of some scripts."""
    line = " ".join(text.split())[:MOST_CHARACTERS]
    return "".join(letter if letter.isprintable() or letter in "\u200c\u200d" else "�" for letter in line)
