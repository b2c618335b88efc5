"""Several programs at a time: all of them run, together, and one that fails is named."""

from __future__ import annotations

from course_lib.bench.at_a_time import run_all

# Each waits until the other is there, so neither would end alone.
MEET = """
import sys, time
from pathlib import Path
mine, other = map(Path, sys.argv[1:])
mine.touch()
until = time.monotonic() + 30
while not other.exists():
    assert time.monotonic() < until, "nobody came"
    time.sleep(0.01)
print(mine.name)
"""


def test_they_run_at_the_same_time(tmp_path, capfd):
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    assert run_all([["-c", MEET, one, other], ["-c", MEET, other, one]], at_a_time=2) == []
    assert sorted(capfd.readouterr().out.split()) == ["one", "other"]


def test_one_that_fails_does_not_stop_the_others(capfd):
    bad, good = ["-c", "raise SystemExit('no luck')"], ["-c", "print('fine')"]
    assert run_all([bad, good], at_a_time=1) == [bad]
    said = capfd.readouterr()
    assert said.out == "fine\n" and "no luck" in said.err
