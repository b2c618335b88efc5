"""The card above an exercise: what it is called, how hard, how much it matters, how long it takes.

>>> dots(2)
'●●○○○'
"""

from __future__ import annotations

from course_lib.authoring.exercise import Exercise

STARS = {"core": "★ core", "stretch": "☆ stretch"}


def dots(level: int) -> str:
    """A level from 1 to 5 as filled dots."""
    return "●" * level + "○" * (5 - level)


def card(exercise: Exercise) -> str:
    """Plain Markdown, so that it looks right in JupyterLab, light and dark, and on GitHub.

    The task stands below the quote, not in it: display formulas do not survive inside a quote.
    """
    facts = [
        f"Difficulty {dots(exercise.difficulty)}",
        f"Importance {dots(exercise.importance)}",
        f"about {exercise.minutes:g} min",
        STARS[exercise.track],
    ]
    heading = f"> ### Exercise {exercise.number} · {exercise.title}\n>\n> {' &nbsp;·&nbsp; '.join(facts)}"
    return f"{heading}\n\n{exercise.task.text}" if exercise.task else heading
