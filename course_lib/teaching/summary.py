"""The learner's progress as a card with a button that brings it up to date.

    >>> progress_summary()      # in lesson 00; `python3 -m course_lib progress` prints the same facts

A lesson that was never opened shows no counts. So what a new learner sees, and what the stored notebook
holds, does not change when other lessons are added.
"""

from __future__ import annotations

import html

import ipywidgets

from course_lib import theme
from course_lib.teaching import progress
from course_lib.teaching.card import MUTED, card, escaped, prose
from course_lib.teaching.progress import Progress

TABLE = "border-collapse:collapse;margin:10px 0 0;font-size:inherit;color:inherit;background:none"
CELL = "padding:2px 18px 2px 0;text-align:left;vertical-align:top;border:0;background:none"


class ProgressSummary(ipywidgets.VBox):
    """Shows the progress file as it was when the card was made, or when the button was last pressed."""

    def __init__(self) -> None:
        self._page = ipywidgets.HTML()
        button = ipywidgets.Button(description="Refresh", tooltip="Read the progress file again")
        button.on_click(lambda _: self.refresh())
        self.refresh()
        super().__init__([self._page, button])

    def refresh(self) -> None:
        """Read the progress file again."""
        self._known = progress.read()
        self._page.value = summary_html(self._known)

    def __repr__(self) -> str:
        return self._known.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict:
        live = super()._repr_mimebundle_() or {}
        return {**live, "text/html": self._page.value, "text/plain": repr(self)}


def progress_summary() -> ProgressSummary:
    """What the learner has done, what comes next, and which misconceptions were met."""
    return ProgressSummary()


def summary_html(known: Progress) -> str:
    """The card as HTML. A wrong belief never stands there without what is true."""
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
