"""The tables of the course, the first call of a lesson, and the guard of a running cell's figures."""

from __future__ import annotations

import random
import re
import sys
import threading

import IPython
import numpy as np
import pytest
import torch
from IPython.core.events import EventManager, available_events
from matplotlib import rcParams

from course_lib import theme
from course_lib.runtime import PROJECT_ROOT
from course_lib.teaching import progress, start_lesson
from course_lib.teaching.contents import lesson, lessons, misconceptions
from course_lib.teaching.exercises.catalogue import exercise_topics
from course_lib.teaching.opening import guard_events
from lessons.l00_start_here import SoftmaxDial
from tools.authoring.lesson import sources


@pytest.fixture(autouse=True)
def no_note_printed_yet():
    progress.print_once.cache_clear()


# ---- the tables


def test_the_table_holds_the_lessons_in_order():
    table = lessons()
    assert [row.folder for row in table] == [path.parent for path in sources(PROJECT_ROOT)]
    assert [row.number for row in table] == [f"{number:02}" for number in range(len(table))]
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", row.topic) for row in table)
    assert all(row.part and row.question.endswith("?") and 20 <= row.minutes <= 160 for row in table)
    assert lesson("query_key_value").notebook == "08_query_key_value.ipynb"


def test_the_misconceptions_are_short_sentences_of_plain_text_and_none_comes_twice():
    rows = misconceptions().values()
    assert list(misconceptions()) == [f"M{number:02d}" for number in range(1, len(rows) + 1)]
    assert len({row.belief for row in rows}) == len({row.truth for row in rows}) == len(rows)
    assert {row.lesson for row in rows} <= {row.topic for row in lessons()}
    assert set(exercise_topics().values()) <= {row.topic for row in lessons()}
    for row in rows:
        assert 20 <= len(row.belief) <= 110 and 40 <= len(row.truth) <= 270, row.id
        for text in (row.belief, row.truth):  # plain text: it is printed on the command line too
            assert text == text.strip() and text.endswith(".") and not set("$<>`\\") & set(text), row.id


# ---- the first call


def test_opening_seeds_styles_and_records_and_prints_nothing(capsys):
    rcParams["lines.linewidth"] = 9
    numbers = []
    for _ in range(2):
        start_lesson("query_key_value", seed=8)
        numbers.append((torch.rand(1).item(), np.random.rand(), random.random()))
    assert numbers[0] == numbers[1]
    assert rcParams["lines.linewidth"] == theme.STYLE["lines.linewidth"]
    assert [event["lesson"] for event in progress.read().events] == ["query_key_value"] * 2
    assert progress.read().lesson("query_key_value").opened
    assert capsys.readouterr() == ("", "")


def test_opening_mentions_a_damaged_file_once(course_home, capsys):
    course_home.mkdir()
    (course_home / "progress.jsonl").write_text("rubbish\n")
    start_lesson("start_here")
    start_lesson("start_here")
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_goals_reached_are_recorded_and_shown_again():
    start_lesson("start_here")
    dial = SoftmaxDial()
    assert not dial.reached_goals
    dial.multiplier = 4.0
    assert progress.read().goals("SoftmaxDial") == dial.reached_goals == {"sure"}
    assert "goals 1" in progress.read().lesson("start_here").counts
    assert SoftmaxDial().reached_goals == {"sure"}


# ---- the guard


class Shell:
    """IPython's own events, with callbacks registered as matplotlib does it."""

    def __init__(self):
        self.events, self.received = EventManager(self, available_events), []
        for event in ("pre_execute", "post_execute"):
            self.events.register(event, lambda event=event: self.received.append(event))
        self.events.register("post_run_cell", lambda result: self.received.append(result))


def test_the_guard_keeps_execute_events_on_the_main_thread_and_lets_others_go_anywhere(monkeypatch):
    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    guard_events()
    for details in (("pre_execute",), ("post_execute",), ("post_run_cell", "result")):
        thread = threading.Thread(target=shell.events.trigger, args=details)
        thread.start()
        thread.join()
    assert shell.received == ["result"]
    shell.events.trigger("pre_execute")
    shell.events.trigger("post_execute")
    assert shell.received == ["result", "pre_execute", "post_execute"]


def test_the_guard_finds_the_running_shell_and_guards_it_once(monkeypatch):
    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    unguarded = shell.events.trigger
    guard_events()
    guarded = shell.events.trigger
    guard_events()
    assert shell.events.trigger is guarded != unguarded
    monkeypatch.setitem(sys.modules, "IPython", None)
    guard_events()  # outside IPython there is nothing to guard
