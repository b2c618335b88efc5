"""A folder of answers is tried, and what is to be mended is listed."""

from __future__ import annotations

import sys

import pytest

from tools.authoring import try_answers

ANSWERS = """
def w01(numbers):
    "squares instead of doubling"
    return numbers**2

def w02(numbers):
    "adds three"
    return numbers + 3

def w03(numbers):
    "not wrong at all"
    return numbers * 2

def r01(numbers):
    return numbers + numbers

def r02(numbers):
    return (2 * numbers).tolist()

WRONG = [w01, w02, w03]
RIGHT = [r01, r02]
"""


def test_what_passes_what_is_refused_and_what_is_not_explained_is_listed(tmp_path, monkeypatch, capsys):
    (tmp_path / "double_it.py").write_text(ANSWERS)
    verdicts = tmp_path / "verdicts.txt"
    monkeypatch.setattr(sys, "argv", ["try_answers", str(tmp_path), "--verdicts", str(verdicts)])
    try_answers.main()
    passing, vague, refused, rates = capsys.readouterr().out.split("\n\n")
    assert "double_it.w03: not wrong at all" in passing and "w01" not in passing
    assert "double_it.w02" in vague and "w01" not in vague
    assert "double_it.r02" in refused and "r01" not in refused
    assert [part in rates for part in ("2 of 3 (66.7%)", "1 of 2 (50.0%)")] == [True, True]
    assert verdicts.read_text(encoding="utf-8").count("# double_it.") == 5


def test_an_empty_folder_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["try_answers", str(tmp_path)])
    with pytest.raises(SystemExit):
        try_answers.main()
    assert str(tmp_path) in capsys.readouterr().err
