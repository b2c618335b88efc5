"""The run sheet of a workshop as Markdown: when to teach what, where to check, and what to cut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from course_lib.teaching.contents import FULL, SHORT
from tools.authoring.editions import table
from tools.cli.environment import CommandError
from tools.workshop.plans import DAY, Plan, plan_for, plan_of
from tools.workshop.schedule import Entry, clock, schedule
from tools.workshop.sections import (
    TaughtSection,
    in_order_of_cutting,
    section_users,
    skipped_sections,
    taught_sections,
)

MOST_CUTS = 20  # rows of the cut list
WELCOME = "**Welcome.** Helpers and signals; everyone opens {link} in JupyterLab's file browser."
WRAP_UP = "**Wrap-up.** Minute cards: one thing learned, one thing still unclear."


def run_sheet(
    root: Path, *, n_days: int, session: int, start: int, numbers: Sequence[str] = (), links: str = ""
) -> str:
    """The sheet for `n_days` sessions of `session` minutes each. Its links start with `links`."""
    plan, sections, days, left_out = fit(root, n_days, session, start, numbers)
    parts = [
        f"# Run sheet: {duration(n_days, session)}, {clock(start)} to {clock(start + session)}",
        plan.purpose,
        totals(sections, days, session),
        f"[The guide for instructors]({links}docs/teaching.md) has a checklist and a card for helpers. To "
        "catch up, a learner first runs `from course_lib.teaching import catch_up` in a new cell.",
    ]
    for number, entries in enumerate(days, 1):
        parts += [f"## Day {number}" if n_days > 1 else "## Schedule", timetable(entries, links)]
    parts += ["## Why these lessons", reasons(plan, sections)]
    if skipped := skipped_text(sections, left_out):
        parts += ["## Skip in the notebooks", skipped]
    parts += ["## If time runs short", cuts(sections)]
    if left_out:
        parts += ["## Left out to fit", left_out_text(left_out)]
    return "\n\n".join(parts) + "\n"


def fit(
    root: Path, n_days: int, session: int, start: int, numbers: Sequence[str]
) -> tuple[Plan, list[TaughtSection], list[list[Entry]], list[TaughtSection]]:
    """A plan, its sections, their schedule, and the sections that are left out to make it fit."""
    minutes = n_days * session
    plans = [plan_of(numbers, track, minutes) for track in (FULL, SHORT)] if numbers else [plan_for(minutes)]
    for plan in plans:  # of chosen lessons, the full ones if they fit
        sections = taught_sections(plan, root)
        if days := schedule(sections, n_days, session, start):
            return plan, sections, days, []
    remaining = sections
    for section in in_order_of_cutting(sections, cut_kept=True):
        remaining = with_content([one for one in remaining if one is not section], sections)
        if remaining and schedule(remaining, n_days, session, start):
            break
    else:
        raise too_long(sections, n_days, session)
    users = section_users(sections)
    for index, section in enumerate(sections):  # what fits after all, and uses nothing that is left out
        longer = [one for one in sections if one in remaining or one is section]
        uses_missing = any(index in users[n] for n, one in enumerate(sections) if one not in remaining)
        if section.number and not uses_missing and schedule(longer, n_days, session, start):
            remaining = longer
    left_out = [section for section in sections if section not in remaining]
    return plan, remaining, schedule(remaining, n_days, session, start), left_out


def with_content(remaining: list[TaughtSection], sections: Sequence[TaughtSection]) -> list[TaughtSection]:
    """What remains of the sections, without lessons that have lost all their numbered sections."""
    had, have = ({section.part for section in some if section.number} for some in (sections, remaining))
    return [section for section in remaining if section.part not in had - have]


def too_long(sections: Sequence[TaughtSection], n_days: int, session: int) -> CommandError:
    minutes = sum(section.minutes for section in sections)
    return CommandError(
        f"The lessons take {minutes} minutes without breaks, and no part that makes sense on its own fits "
        f"into {duration(n_days, session)}.",
        "Give the workshop more time, or choose fewer lessons with --lessons.",
    )


def duration(n_days: int, session: int) -> str:
    if session == DAY:
        return "one day" if n_days == 1 else f"{n_days} days"
    return f"{session} minutes" if session < 120 else f"{session / 60:g} hours"


def totals(sections: Sequence[TaughtSection], days: list[list[Entry]], session: int) -> str:
    """How the time is used."""
    minutes = {"section": 0, "checkpoint": 0, "break": 0, "lunch": 0, "welcome": 0, "wrap-up": 0}
    for entry in (entry for entries in days for entry in entries):
        minutes[entry.kind] += entry.minutes
    hands_on = sum(section.hands_on for section in sections)
    free = session * len(days) - sum(minutes.values())
    share = hands_on / sum(section.minutes for section in sections)
    texts = [
        f"**{share:.0%} hands-on** (exercises, checks, explorables, predictions and quizzes)",
        f"{minutes['section']} min of lessons",
        f"{minutes['checkpoint']} min for checkpoints, questions and catching up",
        f"{minutes['break'] + minutes['lunch']} min of breaks",
        f"{minutes['welcome'] + minutes['wrap-up']} min to welcome everyone and to wrap up",
        f"{free} min free at the end" if len(days) == 1 else f"{free} min free, at the ends of the days",
    ]
    return "; ".join(texts) + "."


def timetable(entries: Sequence[Entry], links: str) -> str:
    """One day. A lesson is named where it starts."""
    rows, previous = [], None
    for entry in entries:
        what = row_text(entry, previous, links)
        previous = entry.section if entry.kind == "section" else previous
        hands_on = f"{entry.section.hands_on:.0f}" if entry.kind == "section" else ""
        rows.append([clock(entry.start), what, f"{entry.minutes}", hands_on])
    rows.append([clock(entries[-1].end), "**End**", "", ""])
    return table(2, ["Time", "What", "Minutes", "Hands-on"], rows)


def row_text(entry: Entry, previous: TaughtSection | None, links: str) -> str:
    section = entry.section
    if entry.kind == "welcome":
        return WELCOME.format(link=f"[{section.notebook}]({links}{section.notebook})")
    if entry.kind == "wrap-up":
        return WRAP_UP
    if entry.kind == "checkpoint":
        return checkpoint_text(entry)
    if entry.kind != "section":
        return f"*{entry.kind.title()}*"
    link = f"[{section.lesson}]({links}{section.notebook})"
    exercises = ", ".join(f"`{name}`" for name in section.exercises)
    text = f"{link} · {section.title}" + (f" ({exercises})" if exercises else "")
    is_first = previous is None or previous.lesson != section.lesson
    if is_first:
        text = f"**{section.draft.lesson.title}.** {text}"
    if is_first and section.part.only and section.number:
        text += f". Everyone runs `{section.catch_up}` first"
    return text


def checkpoint_text(entry: Entry) -> str:
    """What everyone should have done by now, and how to catch up."""
    last, following, now = entry.taught[-1], entry.section, clock(entry.start)
    exercises = [name for section in entry.taught for name in section.exercises]
    reached = (
        f"passed {', '.join(f'`{name}`' for name in exercises)}" if exercises else f"finished {last.title}"
    )
    text = f"**Checkpoint.** Everyone should have {reached} by {now}"
    if following is not None and following.lesson == last.lesson:
        return f"{text}; otherwise `{following.catch_up}`."
    if following is not None:
        return f"{text}. The next lesson uses the course's version of what is missing."
    return f"{text}."


def reasons(plan: Plan, sections: Sequence[TaughtSection]) -> str:
    rows = []
    for part in plan.parts:
        taught = [section for section in sections if section.part is part]
        if taught:
            title = f"{part.lesson} · {taught[0].draft.lesson.title}"
            rows.append([title, part.track, part.why, sum(section.minutes for section in taught)])
    return table(3, ["Lesson", "Track", "Why", "Minutes"], rows)


def skipped_text(sections: Sequence[TaughtSection], left_out: Sequence[TaughtSection]) -> str:
    """What the learners' notebooks contain, and the plan doesn't teach."""
    lines = []
    for part in {section.part: None for section in sections}:
        taught = [section for section in (*sections, *left_out) if section.part is part]
        titles = skipped_sections(part, taught)
        if titles and part.only:
            names = "; ".join(section.title for section in taught if section.number)
            lines.append(f"- {part.lesson}: everything except {names}")
        elif titles:
            lines.append(f"- {part.lesson}: {'; '.join(titles)}")
    return "\n".join(lines)


def cuts(sections: Sequence[TaughtSection]) -> str:
    """What to cut on the day."""
    rows, saved = [], 0
    for section in in_order_of_cutting(sections)[:MOST_CUTS]:
        saved += section.minutes
        if saved > sum(section.minutes for section in sections) / 2:
            break
        rows.append([f"{section.lesson} · {section.title}", section.minutes, saved])
    if not rows:
        return "Every section is needed by a later one. Use the free time, or end earlier."
    intro = (
        "Start at the top, and skip rows that you have already taught. If you cut in this order, nothing "
        "that you keep depends on what you have cut."
    )
    return f"{intro}\n\n{table(1, ['Leave out', 'Saves (min)', 'Saved so far'], rows)}"


def left_out_text(sections: Sequence[TaughtSection]) -> str:
    minutes = sum(section.minutes for section in sections)
    names = "\n".join(f"- {section.lesson} · {section.title} ({section.minutes} min)" for section in sections)
    return f"The plan doesn't fit into this time, so {minutes} minutes of it are left out:\n\n{names}"
