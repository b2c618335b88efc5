"""What stands around every table: the machine, the verdicts, and a word about a busy machine."""

from __future__ import annotations

import platform
import re

import pytest
import torch

from course_lib.bench import frame
from course_lib.bench.frame import Verdict


def test_the_machine_in_one_line(monkeypatch):
    monkeypatch.setattr(frame, "load", lambda: 1.26)
    told = frame.machine("torch", "numpy")
    assert "load 1.3, Python " + platform.python_version() in told and "\n" not in told
    assert f"torch {torch.__version__}" in told and re.search(r" \d+ cores, .*, numpy [\d.]+$", told)


def test_a_system_that_does_not_tell_its_load_counts_as_idle(monkeypatch):
    monkeypatch.delattr(frame.os, "getloadavg", raising=False)
    assert frame.load() == 0.0


@pytest.mark.parametrize(
    ("goods", "load", "code", "busy"),
    [
        ((True, True), 0.0, 0, False),
        ((True, True), 9999.0, 0, False),  # met all the same
        ((True, False), 0.0, 1, False),
        ((True, False), 9999.0, 1, True),
    ],
)
def test_one_miss_is_a_miss_and_a_busy_machine_is_named(monkeypatch, capsys, goods, load, code, busy):
    monkeypatch.setattr(frame, "load", lambda: load)
    assert frame.conclude([Verdict(good, f"target {n}") for n, good in enumerate(goods)]) == code
    out = capsys.readouterr().out
    words = ["pass" if good else "MISS" for good in goods]
    assert out.startswith(f"\n{words[0]}  target 0\n{words[1]}  target 1\n")
    assert ("The machine was busy (load 9999.0)" in out) == busy
