"""The capstone's book guides and never blocks; a prediction keeps its time, a report says what it lacks."""

from __future__ import annotations

from itertools import count

import pytest

from course_lib.teaching.exercises.catalogue import exercise_called
from lessons.l19_your_own_claim import claim_book
from lessons.l19_your_own_claim.claim_book import claim_report, try_claim, write_down

SAID = {
    "breaks": "transformer",
    "more_than": "bahdanau",
    "on": "rule",
    "points": 10,
    "why": "a *bold* <b>reason</b> | $x$",
    "if_open": "that more seeds are needed",
}
TABLES = {
    "without": {
        "rule": {"transformer": [90.0, 92.0], "bahdanau": [80.0]},
        "rest": {"transformer": [95.0], "bahdanau": [96.0]},
    },
    "with": {
        "rule": {"transformer": [61.0, 71.0], "bahdanau": [79.0]},
        "rest": {"transformer": [95.0], "bahdanau": [96.0]},
    },
}
RULE = exercise_called("my_rule").reference


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    return tmp_path


def unwritten(*inputs):
    raise NotImplementedError("Your turn")


def reported(result, words=""):
    verdict, missing = (exercise_called(name).reference for name in ("verdict", "missing"))
    return repr(claim_report(result, verdict=verdict, missing=missing, words=words))


def result(**changes):
    made = {
        "prediction": SAID,
        "written": "2026-01-01",
        "trained": "2026-01-02",
        "versions": 1,
        "seeds": [0, 1, 2],
        "n_steps": 600,
        "splits": ["rule", "rest"],
        "tables": TABLES,
        "says": "A rule_.",
        "mine": "",
        "changed": [],
        "tries": 1,
        "rules": 1,
        "sizes": {"rule": 50, "rest": 450},
    }
    return made | changes


def test_what_is_not_written_blocks_nothing(capsys):
    assert write_down(unwritten, RULE) is None
    assert write_down(lambda: SAID, unwritten) is None
    assert try_claim(None, unwritten) is None
    assert capsys.readouterr().out.count(claim_book.NO_PREDICTION) == 2
    assert try_claim({"prediction": SAID}, unwritten) is None
    assert claim_book.NO_RULE in capsys.readouterr().out
    assert reported(None) == claim_book.NOTHING


def test_a_prediction_keeps_its_first_time_and_its_versions(monkeypatch, capsys):
    times = (f"2026-01-01T{hour:02}:00:00+00:00" for hour in count(8))
    monkeypatch.setattr(claim_book, "now", lambda: next(times))
    first = write_down(lambda: SAID, RULE)
    assert write_down(lambda: SAID, RULE) == first
    other = write_down(lambda: {**SAID, "points": 5}, RULE)
    assert other["versions"] == 2 and other["written"] > first["written"]
    assert "Other versions" in capsys.readouterr().out
    monkeypatch.setattr(claim_book, "split_sizes", lambda rule: {"few": 39, "many": 40})
    for split, told in (("few", True), ("many", False)):
        write_down(lambda split=split: {**SAID, "on": split}, RULE)
        assert (f'On "{split}" that is few: fewer than 40' in capsys.readouterr().out) == told


def test_a_claim_is_tried_and_reported(home, monkeypatch):
    asked = []
    monkeypatch.setattr(
        claim_book, "trial", lambda *given, **options: asked.append((given, options)) or TABLES
    )
    plan = write_down(lambda: SAID, RULE)
    found = try_claim(plan, RULE, seeds=(0,), n_steps=1)
    systems = {"transformer": "transformer", "bahdanau": "bahdanau"}
    assert asked == [((RULE, systems), {"seeds": (0,), "n_steps": 1, "folder": home / "claims"})]
    text = reported(found)
    assert claim_book.LACKS["before"] not in text and "Not as written down" not in text
    assert "A question says its last word twice" in text and "fewer than three seeds" in text
    assert (home / "my_report.md").read_text(encoding="utf-8") == text


def backwards(src, tgt):
    """Questions backwards."""
    return tgt[::-1] if "?" in src else tgt


def test_who_has_seen_the_runs_predicts_afterwards(monkeypatch, capsys):
    """A new version after a run, another rule, other seeds, short runs: all of it is told."""
    times = (f"2026-01-01T08:00:{second:02d}+00:00" for second in range(60))
    monkeypatch.setattr(claim_book, "now", lambda: next(times))
    monkeypatch.setattr(claim_book, "trial", lambda *args, **options: TABLES)
    plan = write_down(lambda: SAID, RULE)
    found = try_claim(plan, RULE)
    assert found["written"] < found["trained"] and not found["changed"] and found["tries"] == 1
    assert claim_book.LACKS["before"] not in reported(found)

    later = write_down(lambda: {**SAID, "points": 1}, RULE)
    again = try_claim(later, RULE)
    assert again["trained"] == found["trained"] and claim_book.LACKS["before"] in reported(again)
    fresh = write_down(lambda: {**SAID, "points": 1}, RULE, seeds=(3, 4, 5))
    tested = try_claim(fresh, RULE, seeds=(3, 4, 5))
    assert claim_book.LACKS["before"] not in reported(tested)  # fresh seeds were not seen

    other = try_claim(plan, backwards, seeds=(6, 7, 8), n_steps=2)
    text = reported(other)
    assert other["changed"] == ["the rule", "the seeds"] and "**Not as written down:** the rule" in text
    assert "A try-out, no result yet" in text and claim_book.LACKS["steps"] in text
    assert other["tries"] == 3 and other["rules"] == 2 and "Versions of the prediction: 1" in text


def test_a_system_of_ones_own(monkeypatch, capsys):
    monkeypatch.setattr(claim_book, "trial", lambda rule, systems, **options: found.append(systems) or TABLES)
    monkeypatch.setattr(claim_book, "faults", lambda make: ["The future leaks."])
    found = []

    def make_mine(vocab_size):
        """One block, twice."""

    plan = write_down(lambda: {**SAID, "breaks": "mine"}, RULE)
    assert try_claim(plan, RULE) is None and claim_book.NO_SYSTEM in capsys.readouterr().out
    text = reported(try_claim(plan, RULE, mine=make_mine))
    assert "The future leaks." in capsys.readouterr().out and "**mine:** One block, twice." in text
    assert found == [{"mine": make_mine, "bahdanau": "bahdanau"}]


def test_the_report_shows_the_prediction_beside_what_came_out():
    text = reported(result(), words="word " * 20)
    assert "**Came out: held.** The gap is 19.0 to 29.0 points." in text
    assert "| rule | 50 | transformer | 91.0 | 66.0 | 30.0, 20.0 |" in text
    assert text.rstrip().endswith("**Still missing.** nothing.")
    assert r"a \*bold\* &lt;b&gt;reason&lt;/b&gt; \| \$x\$" in text


def test_the_report_says_what_is_missing_and_never_stops():
    lacking = reported(result(seeds=[0], splits=["rule"], written="2026-01-03"))
    for name in ("before", "seeds", "control", "words"):
        assert claim_book.LACKS[name] in lacking
    assert "No verdict" in reported(result(prediction={**SAID, "breaks": "seq2seq"}))
