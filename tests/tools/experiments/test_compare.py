"""Variants compared by the course's rule: the command, the results page, and what the page says."""

from __future__ import annotations

import re

import pytest

from course_lib.results import read_results, runs
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.translation.comparison import BETTER
from tools.cli import main
from tools.experiments.catalogue import experiments
from tools.experiments.compare import compare_runs, comparison_table, find_column
from tools.experiments.page import page, picture, recorded, rows_of, section
from tools.experiments.tables import Measure, by_variant

RESULTS = data_path("results")


def test_columns_are_found_by_heading_or_path():
    results = read_results("heads")
    assert find_column(results, None).heading == "test"
    by_path = find_column(results, "scores/test/by_length/16–20/exact")
    first = results["runs"][0]
    assert by_path.find(first) == first["scores"]["test"]["by_length"]["16–20"]["exact"]
    assert len(comparison_table(results, by_path.heading).splitlines()) == 2 + 10
    assert len(comparison_table(results, by_path.heading, "4").splitlines()) == 2 + 4
    for column, variant in (("no such column", "4"), ("test", "no such variant")):
        with pytest.raises(ValueError, match="no such"):
            comparison_table(results, column, variant)


def test_a_column_is_compared_with_its_sentences_and_in_its_direction():
    bleu, error = Measure("test", ("scores", "test", "beam")), Measure("alignment error", ("score",))
    of = by_variant(runs("multi30k_ladder"))
    found = compare_runs(of["convs2s"], of["rctm"], bleu)
    assert found.verdict == BETTER and found.interval[0] < found.difference < found.interval[1]
    small, large = ([{"score": score} for score in scores] for scores in ((1, 2, 3), (4, 5, 6)))
    assert compare_runs(small, large, error).verdict == BETTER
    with pytest.raises(ValueError, match="alignment error"):
        compare_runs(small, [{}], error)


def test_the_command_compares_stored_results(capsys, monkeypatch):
    monkeypatch.setattr("tools.cli.commands.ensure", lambda *_: None)
    stored = ["--out", str(RESULTS)]
    assert main(["experiment", "heads", "--compare", "4", "--column", "alignment error", *stored]) == 0
    assert "| 16 | 3, 3 | +0.08 |  | worse |" in capsys.readouterr().out
    assert main(["experiment", "heads", "--compare", *stored]) == 0
    assert "16 − 1" in capsys.readouterr().out
    assert main(["experiment", "heads", "--compare", "5", *stored]) == 1
    assert "1, 2, 4, 8, 16" in capsys.readouterr().err
    for words in (["heads", "--column", "test"], ["--compare", "heads"]):
        assert main(["experiment", *words, *stored]) == 1
        assert "--compare" in capsys.readouterr().err


# ---- the results page


def test_the_page_is_the_one_that_the_runs_give():
    """After a change: python3 -m tools.experiments.page"""
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == page() + "\n"
    pictures = {path.stem: path.read_text(encoding="utf-8") for path in (RESULTS / "dots").iterdir()}
    assert pictures == {name: picture(read_results(name)) for name in recorded()}


@pytest.mark.parametrize("name", recorded())
def test_a_section_has_one_row_for_every_variant_and_little_prose(name):
    about, results = experiments()[name].page, read_results(name)
    assert len(re.findall(r"[.?!](?=\s|$)", about["found"])) <= 2
    assert all(row.runs for row in rows_of(results, about.get("rows", [])))
    lines = section(results, whole=True).splitlines()
    for variant in experiments()[name].variants:
        assert (
            sum(line.startswith((f"| {variant or name} |", f"| {variant}, against ")) for line in lines) == 1
        )


def test_commands_on_the_page_exist():
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    for module in set(re.findall(r"python3 -m (tools\.[\w.]+)", text)):
        assert (PROJECT_ROOT / f"{module.replace('.', '/')}.py").is_file(), module
    for file in set(re.findall(r"`((?:[\w/]+)\.(?:json|txt))`", text)) - {"build/test/hub.json"}:
        assert (RESULTS / file).is_file(), file


# ---- what it says


def test_what_the_page_says_about_an_untrained_encoder():
    """From 100 dimensions on, an untrained LSTM keeps more words than the trained one, in every run."""
    for run in runs("bottleneck_readout"):
        size = run["variant"].rpartition(" ")[2]
        if run["variant"] == "seq2seq" or (size.isdigit() and int(size) >= 128):
            trained, untrained = (run["readout"][kind] for kind in ("trained", "untrained"))
            assert all(trained[group]["mean"] < untrained[group]["mean"] for group in trained)
