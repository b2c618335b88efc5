"""The class on one HTML page, without scripts: where it is, who is stuck, what to discuss next.

The page can be projected: names of learners are folded away. Every number is text; the bars only repeat them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib import __version__
from course_lib.teaching.contents import lesson as lesson_by_topic
from course_lib.teaching.display import escape
from course_lib.teaching.progress import STRETCH
from course_lib.teaching.questions.markup import inline_html
from tools.class_view.summary import (
    DONE,
    FAILURES_UNTIL_STUCK,
    NOT_IN_TRACK,
    STATES,
    STUCK,
    TRIED,
    Checkpoint,
    ClassSummary,
    Learner,
    LessonSummary,
    QuestionResult,
    checkpoints,
)

PAGE_START = "<!doctype html>\n<!-- attention-course: class progress -->\n"
STYLE = Path(__file__).with_name("page.css")
MOST_ROWS = 6  # of a sorted table; the others are folded away
BARS = {DONE: "done", STUCK: "stuck", TRIED: "tried"}  # the classes of their parts in page.css


def class_page(group: ClassSummary) -> str:
    times = sorted(learner.export.exported for learner in group.learners)
    dates = " to ".join(dict.fromkeys(f"{time:%Y-%m-%d}" for time in (times[0], times[-1])))
    body = "".join(
        [
            f"<h1>Class progress</h1><p>{count(group.learners, 'learner')} · exported {dates}</p>",
            version_note(group),
            glance(group),
            stuck_section(group),
            misconception_section(group),
            vote_section(group),
            question_section(group),
            checkpoint_section(group),
            learner_section(group),
        ]
    )
    return (
        f'{PAGE_START}<html lang="en"><head><meta charset="utf-8"><title>Class progress</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE.read_text(encoding='utf-8')}</style></head><body><main>{body}</main></body></html>\n"
    )


def version_note(group: ClassSummary) -> str:
    others = sorted({learner.export.course for learner in group.learners} - {__version__})
    if not others:
        return ""
    return (
        f"<p>Some exports come from another version of the course ({html.escape(', '.join(others))}; this is "
        f"{__version__}). Exercises and questions that this version doesn't have are left out.</p>"
    )


# ---- sections


def glance(group: ClassSummary) -> str:
    """Three answers: where the class is, where to help first, what to discuss next."""
    tiles = [("Where the class is", front_text(group))]
    if group.stuck:
        checkpoint = group.stuck[0]
        n_now = count(group.n_stuck_now(checkpoint), "learner")
        text = f"{checkpoint_html(checkpoint)}<br>{n_now} stuck here now, "
        text += f"{len(group.stuck_at(checkpoint))} in all"
    else:
        text = "No learner is stuck."
    tiles.append(("Help here first", text))
    still_open = [row for row in group.misconceptions if row.n_corrected < row.n_shown]
    if still_open:
        row = still_open[0]
        text = f"“{escape(row.misconception.belief)}”<br>{row.n_shown} of {len(group.learners)} showed this "
        text += f"misconception, {row.n_corrected} corrected it"
    else:
        text = "No misconception is left uncorrected."
    tiles.append(("Discuss next", text))
    cells = "".join(f"<div><h2>{title}</h2><p>{text}</p></div>" for title, text in tiles)
    return f'<section class="glance" aria-label="At a glance">{cells}</section>'


def front_text(group: ClassSummary) -> str:
    front = group.front
    if front is None:
        return f"{group.positions[None]} of {len(group.learners)} have finished the course."
    order = checkpoints().index(front)
    behind = sum(group.positions[checkpoint] for checkpoint in checkpoints()[:order])
    ahead = len(group.learners) - behind - group.positions[front]
    return (
        f"{checkpoint_html(front)}<br>{group.positions[front]} of {len(group.learners)} work here; "
        f"{behind} are behind, {ahead} ahead"
    )


def stuck_section(group: ClassSummary) -> str:
    rows = []
    for checkpoint in group.stuck:
        counts, stuck = group.counts(checkpoint), group.stuck_at(checkpoint)
        names = fold("Names", ", ".join(f"<bdi>{html.escape(it.export.pseudonym)}</bdi>" for it in stuck))
        cells = [group.n_stuck_now(checkpoint), len(stuck), counts[TRIED], counts[DONE]]
        rows.append([checkpoint_html(checkpoint) + names, *cells])
    heads = ["Checkpoint", "Stuck now", "Stuck in all", "Tried once", "Done"]
    lead = f"Stuck: at least {FAILURES_UNTIL_STUCK} failed checks of an exercise, and no passed one. "
    lead += "Stuck now: the learner hasn't moved on to another exercise."
    return section("Where learners are stuck", lead, sorted_table(heads, rows) if rows else "<p>Nowhere.</p>")


def misconception_section(group: ClassSummary) -> str:
    rows = []
    for item, n_shown, n_corrected in group.misconceptions:
        text = f"<strong>“{escape(item.belief)}”</strong><p>In fact: {escape(item.truth)}</p>"
        text += f"<small>{item.id} · {html.escape(lesson_by_topic(item.lesson).label)}</small>"
        rows.append([text, n_shown, n_corrected, n_shown - n_corrected])
    heads = ["Misconception", "Learners", "Corrected", "Still open"]
    lead = "From quiz answers and failed checks. Corrected: the same question or exercise went well later."
    return section("Misconceptions", lead, sorted_table(heads, rows) if rows else "<p>None came up.</p>")


def vote_section(group: ClassSummary) -> str:
    voted = [row for row in group.questions if row.second]
    if not voted:
        return ""
    rows = [[question_html(row), percentage(row.first), percentage(row.second)] for row in voted]
    lead = "Right answers before and after the discussion, in classroom mode."
    return section("Classroom votes", lead, sorted_table(["Question", "First vote", "Second vote"], rows))


def question_section(group: ClassSummary) -> str:
    missed = [row for row in group.questions if row.n_wrong and not row.second]
    if not missed:
        return ""
    rows = [[question_html(row), row.n_wrong, percentage(row.first)] for row in missed]
    lead = "Answers at the first try; the questions that most learners got wrong come first."
    return section("Quiz questions", lead, sorted_table(["Question", "Wrong", "Right"], rows))


def checkpoint_section(group: ClassSummary) -> str:
    """All exercises of the lessons that someone has opened."""
    opened = [row for row in group.lessons if row.n_opened]
    states = [state for state in STATES if state != NOT_IN_TRACK or group.has_tracks]
    heads = ["Checkpoint", *(state.capitalize() for state in states), "Work here"]
    bodies = ""
    for row in opened:
        title = f"{html.escape(row.lesson.label)} <small>{lesson_text(row)}</small>"
        bodies += f'<tbody><tr><th colspan="{len(heads)}" scope="rowgroup">{title}</th></tr>'
        for checkpoint in (checkpoint for checkpoint in checkpoints() if checkpoint.lesson == row.lesson):
            counts = group.counts(checkpoint)
            cells = [counts[state] for state in states]
            bodies += table_row(
                [checkpoint_cell(group, checkpoint), *cells, group.positions[checkpoint]],
                "front" if checkpoint == group.front else "",
            )
        bodies += "</tbody>"
    n_left = len(group.lessons) - len(opened)
    lead = f"Nobody has opened the other {count(n_left, 'lesson')}." if n_left else ""
    return section("All checkpoints", lead, f"<table>{table_head(heads)}{bodies}</table>")


def lesson_text(row: LessonSummary) -> str:
    parts = [f"opened by {row.n_opened}, complete {row.n_complete}"]
    parts += [f"quiz {percentage(row.quiz)} right at the first try"] if row.quiz else []
    parts += [f"predictions {percentage(row.predictions)} right"] if row.predictions else []
    parts += [f"{row.n_goals / row.n_opened:.1f} goals per learner"] if row.n_goals else []
    return " · ".join(parts)


def checkpoint_cell(group: ClassSummary, checkpoint: Checkpoint) -> str:
    counts, n = group.counts(checkpoint), len(group.learners)
    parts = "".join(f'<i class="{BARS[state]}" style="width:{counts[state] / n:.1%}"></i>' for state in BARS)
    stretch = " <small>stretch</small>" if checkpoint.track == STRETCH else ""
    here = " <small><strong>← most learners work here</strong></small>" if checkpoint == group.front else ""
    bar = f'<span class="bar" aria-hidden="true">{parts}</span>'
    return f"{name_html(checkpoint)}{stretch}{here}{bar}"


def learner_section(group: ClassSummary) -> str:
    def row(learner: Learner) -> list:
        checkpoint, states = learner.position, list(learner.states.values())
        where = checkpoint_html(checkpoint) if checkpoint else "Finished"
        name = f"<bdi>{html.escape(learner.export.pseudonym)}</bdi>"
        return [name, where, states.count(DONE), states.count(STUCK), f"{learner.export.exported:%Y-%m-%d}"]

    heads = ["Learner", "Works at", "Done", "Stuck", "Exported"]
    by_name = sorted(group.learners, key=lambda learner: learner.export.pseudonym.casefold())
    return section("Learners", "", fold("Show the names", table(heads, map(row, by_name))))


# ---- parts


def checkpoint_html(checkpoint: Checkpoint) -> str:
    return f"{html.escape(checkpoint.lesson.label)}, {name_html(checkpoint)}"


def name_html(checkpoint: Checkpoint) -> str:
    """The exercise's name, which may be broken after an underscore on a narrow page."""
    return f"<code>{html.escape(checkpoint.name).replace('_', '_<wbr>')}</code>"


def question_html(row: QuestionResult) -> str:
    """The question; its options with the number of learners who chose them are folded away."""
    options = [
        (option, row.first_choices[index], row.second_choices[index])
        for index, option in enumerate(row.question.options)
    ]
    items = "".join(
        f"<li>{'<strong>Right:</strong> ' if option.correct else ''}{inline_html(option.text)} "
        f"<small>({first}{f', then {second}' if row.second else ''})</small></li>"
        for option, first, second in options
        if option.correct or first or second
    )
    head = f"<small>{html.escape(row.lesson.label)}</small><br>{inline_html(row.question.text)}"
    return head + fold("Answers", f"<ul>{items}</ul>")


def percentage(answers: Sequence[bool]) -> str:
    """Right answers as a percentage, and of how many; without answers, a dash."""
    return f"{sum(answers) / len(answers):.0%} of&nbsp;{len(answers)}" if answers else "–"


def count(things: int | Sequence, noun: str) -> str:
    n = things if isinstance(things, int) else len(things)
    return f"{n} {noun}{'s' * (n != 1)}"


def section(title: str, lead: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{f'<p>{lead}</p>' if lead else ''}{content}</section>"


def fold(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The cells are HTML or numbers; the first one of a row is its header."""
    return f"<table>{table_head(heads)}<tbody>{''.join(map(table_row, rows))}</tbody></table>"


def sorted_table(heads: Sequence[str], rows: list[list]) -> str:
    """The first rows; the others are folded away."""
    others = rows[MOST_ROWS:]
    more = fold(f"{len(others)} more", table(heads, others)) if others else ""
    return table(heads, rows[:MOST_ROWS]) + more


def table_head(heads: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return f"<thead><tr>{cells}</tr></thead>"


def table_row(cells: Sequence[object], css_class: str = "") -> str:
    first, *others = cells
    data = "".join(f"<td>{cell}</td>" for cell in others)
    return f'<tr class="{css_class}"><th scope="row">{first}</th>{data}</tr>'
