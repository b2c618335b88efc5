"""How a lesson opens: its tables, its first call, and the guard of a running cell's figures."""

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
from course_lib.explore.base import Explorable
from course_lib.teaching import progress, start_lesson
from course_lib.teaching.contents import lesson, lessons, misconceptions
from course_lib.teaching.exercises.catalogue import topics
from course_lib.teaching.opening import guard_events
from lessons.l00_start_here import SoftmaxDial


@pytest.fixture(autouse=True)
def nothing_said_before(monkeypatch):
    progress.say_once.cache_clear()
    for hook in ("reached", "remembered"):  # a lesson puts its own functions there
        monkeypatch.setattr(Explorable, hook, staticmethod(getattr(Explorable, hook)))


# ---- the tables


def test_the_table_holds_the_twenty_lessons_in_order():
    table = lessons()
    assert [one.number for one in table] == [f"{number:02}" for number in range(20)]
    assert len({one.topic for one in table}) == 20
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", one.topic) for one in table)
    assert all(one.question.endswith("?") and 20 <= one.minutes <= 120 for one in table)
    assert lesson("query_key_value").notebook == "08_query_key_value.ipynb"


def test_the_misconceptions_are_short_sentences_of_plain_text_and_none_comes_twice():
    known = misconceptions().values()
    assert list(misconceptions()) == [f"M{number:02d}" for number in range(1, 54)]
    assert len({one.belief for one in known}) == len({one.truth for one in known}) == 53
    assert {one.lesson for one in known} | set(topics().values()) <= {one.topic for one in lessons()}
    for one in known:
        assert 20 <= len(one.belief) <= 110 and 40 <= len(one.truth) <= 220, one.id
        for text in (one.belief, one.truth):  # it is printed on the command line too
            assert text.strip().endswith(".") and text == text.strip() and not set("$<>`\\") & set(text), (
                one.id
            )


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


def test_opening_tells_of_a_damaged_file_once(course_home, capsys):
    course_home.mkdir()
    (course_home / "progress.jsonl").write_text("rubbish\n")
    start_lesson("start_here")
    start_lesson("start_here")
    assert capsys.readouterr().out.count("cannot be read, and are passed over: 1") == 1


def test_goals_reached_are_kept_and_remembered():
    start_lesson("start_here")
    dial = SoftmaxDial()
    assert not dial.ticked
    dial.multiplier = 8.0
    assert progress.read().goals("SoftmaxDial") == dial.ticked == {"sure"}
    assert "goals 1" in progress.read().lesson("start_here").counts
    assert SoftmaxDial().ticked == {"sure"}


# ---- the guard


class Shell:
    """IPython's own events, with callbacks registered as matplotlib does it."""

    def __init__(self):
        self.events, self.heard = EventManager(self, available_events), []
        for event in ("pre_execute", "post_execute"):
            self.events.register(event, lambda event=event: self.heard.append(event))
        self.events.register("post_run_cell", lambda result: self.heard.append(result))


def test_the_guard_keeps_execute_events_on_the_main_thread_and_lets_others_go_anywhere():
    shell = Shell()
    assert guard_events(shell)
    for details in (("pre_execute",), ("post_execute",), ("post_run_cell", "result")):
        thread = threading.Thread(target=shell.events.trigger, args=details)
        thread.start()
        thread.join()
    assert shell.heard == ["result"]
    shell.events.trigger("pre_execute")
    shell.events.trigger("post_execute")
    assert shell.heard == ["result", "pre_execute", "post_execute"]


def test_the_guard_finds_the_running_shell_and_guards_it_once(monkeypatch):
    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert guard_events()
    once = shell.events.trigger
    assert guard_events() and shell.events.trigger is once
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert guard_events() is False, "outside IPython there is nothing to guard"
