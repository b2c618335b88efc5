"""The table of results: grouped, averaged, and held against what was aimed at."""

from __future__ import annotations

import json

import pytest

from course_lib.bench.ladder import RESULTS, main
from course_lib.bench.ladder_table import AIMS, rows, table
from course_lib.models.registry import translators
from course_lib.runtime import PROJECT_ROOT


@pytest.fixture
def write(tmp_path):
    def one(system, direction, seed, greedy, beam, r_drop=0.0):
        kept = {
            "system": system,
            "data": f"multi30k-{direction}",
            "parameters": 9_400_000,
            "scores": {"beam 1": {"bleu": {"value": greedy}}, "beam 5": {"bleu": {"value": beam}}},
            "training": {"recipe": {"r_drop": r_drop}},
        }
        kind = "_r_drop" if r_drop else ""
        (tmp_path / f"{system}_{direction}{kind}_{seed}.json").write_text(json.dumps(kept), encoding="utf-8")

    return one


def test_seeds_are_averaged_and_kinds_kept_apart(write, tmp_path):
    write("transformer", "de-en", 0, 41.0, 43.0)
    write("transformer", "de-en", 1, 42.0, 42.0)
    write("transformer", "de-en", 0, 43.0, 44.0, r_drop=3.0)
    write("seq2seq", "de-en", 0, 23.9, 30.0)
    (tmp_path / "clock_de-en.json").write_text("{}", encoding="utf-8")
    first, second, third = (row.cells() for row in rows(tmp_path))
    assert first == ["seq2seq", "de → en", "1", "9.4", "23.9", "30.0", "24 greedy: missed"]
    assert second[:3] == ["transformer", "de → en", "2"]
    assert second[4:] == ["41.5 ± 0.7", "42.5 ± 0.7", "41.5 greedy: met, 42.5 beam: met"]
    assert third[0] == "transformer, R-Drop" and third[4:6] == ["43.0", "44.0"]


def test_the_command_prints_it_as_markdown(write, tmp_path, capsys, monkeypatch):
    write("bahdanau", "de-en", 0, 40.0, 41.0)
    monkeypatch.setattr("sys.argv", ["ladder", "table", "--out", str(tmp_path)])
    assert main() == 0
    said = capsys.readouterr().out
    assert said == table(tmp_path) + "\n" and "| 34 greedy: met |" in said


def test_every_translator_has_three_seeds_and_every_aim_is_reached():
    found = rows(RESULTS / "multi30k")
    assert {row.system for row in found if row.direction == "de-en" and not row.r_drop} == {
        one.name for one in translators()
    }
    assert all(len(row.greedy) == len(row.beam) == 3 for row in found)
    assert {(row.system, row.direction) for row in found if row.verdict()} == set(AIMS)
    # Read once, these two fall short. Read twice they do not, and both rows are kept.
    missed = {(row.system, row.direction, row.r_drop) for row in found if "missed" in row.verdict()}
    assert missed == {("transformer", "en-de", False), ("transformer", "en-fr", False)}
    read_twice = {(row.system, row.direction) for row in found if row.r_drop}
    assert read_twice >= {("transformer", "en-de"), ("transformer", "en-fr")}


def test_the_page_shows_the_results_that_are_kept():
    page = (PROJECT_ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    assert f"\n\n{table(RESULTS / 'multi30k')}\n\n" in page  # all of it, not a part
