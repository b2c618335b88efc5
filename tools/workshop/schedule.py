"""Sections on a clock: blocks of at most an hour, each with a checkpoint, breaks between them, and lunch.

>>> clock(9 * 60 + 5)
'9:05'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tools.workshop.sections import OPENING, WARM_UP, TaughtSection

LONGEST_BLOCK = 60  # minutes of sections
SLACK = 0.1  # of a block, for its checkpoint: questions, catching up
WELCOME = WRAP_UP = 5
BREAK, LUNCH = 10, 60
LUNCH_AFTER = 165  # the first break after so many minutes
LONG_DAY = 5 * 60  # a longer session has a lunch


@dataclass(frozen=True)
class Entry:
    """A row of the sheet. `kind` is welcome, section, checkpoint, break, lunch or wrap-up; `section` is the
    section that is taught, for the welcome the first one, or for a checkpoint the one that follows it on the
    same day or the next."""

    kind: str
    start: int
    minutes: int
    section: TaughtSection | None = None
    taught: tuple[TaughtSection, ...] = ()  # in the block before a checkpoint

    @property
    def end(self) -> int:
        return self.start + self.minutes


def clock(minutes: int) -> str:
    """Minutes since midnight as a time of day."""
    return f"{minutes // 60 % 24}:{minutes % 60:02}"


def schedule(
    sections: Sequence[TaughtSection], n_days: int, session: int, start: int
) -> list[list[Entry]] | None:
    """The entries of each day, whose session lasts `session` minutes; None if the sections don't fit."""
    left, days = list(sections), []
    for day in range(n_days):
        target = sum(section.minutes for section in left) / (n_days - day)
        entries, n_taught = fill_day(left, session, start, target, welcome=day == 0)
        days.append(entries)
        left = left[n_taught:]
    return None if left else days


def fill_day(
    left: Sequence[TaughtSection], session: int, start: int, target: float, *, welcome: bool
) -> tuple[list[Entry], int]:
    """One day: the sections that fit, until `target` minutes of them are taught."""
    entries = [Entry("welcome", start, WELCOME, left[0])] if welcome else []
    now, n_taught, taught_minutes = start + WELCOME * welcome, 0, 0
    while block := next_block(left[n_taught:], start + session - now - WRAP_UP, target - taught_minutes):
        for section in block:
            entries.append(Entry("section", now, section.minutes, section))
            now += section.minutes
        n_taught, taught_minutes = n_taught + len(block), taught_minutes + sum(s.minutes for s in block)
        following = left[n_taught] if n_taught < len(left) else None
        entries.append(Entry("checkpoint", now, slack(block), following, block))
        now += slack(block)
        had_lunch = any(entry.kind == "lunch" for entry in entries)
        lunch = session > LONG_DAY and now - start >= LUNCH_AFTER and not had_lunch
        pause = Entry(*(("lunch", now, LUNCH) if lunch else ("break", now, BREAK)))
        entries.append(pause)
        now = pause.end
    if entries and entries[-1].kind in ("break", "lunch"):
        now = entries.pop().start
    return [*entries, Entry("wrap-up", now, WRAP_UP)], n_taught


def slack(block: Sequence[TaughtSection]) -> int:
    return math.ceil(SLACK * sum(section.minutes for section in block))


def next_block(left: Sequence[TaughtSection], available: int, wanted: float) -> tuple[TaughtSection, ...]:
    """The sections until the next break, at most an hour. The blocks of a day are about equally long."""
    goal = wanted / max(1, math.ceil(wanted / LONGEST_BLOCK))
    block: tuple[TaughtSection, ...] = ()
    for section in left:
        longer = (*block, section)
        before, after = (sum(one.minutes for one in sections) for sections in (block, longer))
        enough = wanted <= 0 or (block and (after > LONGEST_BLOCK or after - goal > goal - before))
        if enough or after + slack(longer) > available:
            break
        block = longer
    while block and block[-1].title in (OPENING, WARM_UP) and len(block) < len(left):  # not before a break
        block = block[:-1]
    return block
