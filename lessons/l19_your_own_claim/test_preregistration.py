"""A prediction keeps its first time, later changes are shown, and missing work stops nothing."""

from __future__ import annotations

import re
from itertools import count

import pytest

from course_lib.teaching import progress
from course_lib.teaching.exercises import find_exercise
from lessons.l19_your_own_claim import preregistration, report
from lessons.l19_your_own_claim.corpus import ENOUGH, small_world
from lessons.l19_your_own_claim.preregistration import try_claim, write_down
from lessons.l19_your_own_claim.report import LACKS, claim_figure, claim_report, missing

PREDICTION = {
    "breaks": "transformer",
    "more_than": "bahdanau",
    "on": "rule",
    "points": 10,
    "why": "a *bold* <b>reason</b> | $x$",
    "if_unclear": "that the runs vary too much",
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
RULE = find_exercise("my_rule").reference


class FakeTrial:
    """Scores of our choice; nothing is translated."""

    runs = {"with": {}}

    def tables(self, *, new=False):
        return TABLES

    def judge(self, claim, *, new=False):
        return "no clear difference", (9.0, 26.0)


RESULT = {
    "prediction": PREDICTION,
    "written": "2026-01-01",
    "trained": "2026-01-02",
    "versions": 1,
    "seeds": [0, 1, 2],
    "n_steps": 600,
    "splits": ["rule", "rest"],
    "tables": TABLES,
    "with_new": True,
    "trial": FakeTrial(),
    "says": "A rule_.",
    "mine": "",
    "changed": [],
    "tries": 1,
    "rules": 1,
    "sizes": {"rule": 50, "rest": 450},
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def clock(monkeypatch):
    """A second passes at every look at the time."""
    times = (f"2026-01-01T08:{second // 60:02}:{second % 60:02}+00:00" for second in count())
    monkeypatch.setattr(preregistration, "now", lambda: next(times))


@pytest.fixture
def trials(monkeypatch):
    """No system is trained and no new sentences are generated: the arguments of each trial."""
    calls = []
    monkeypatch.setattr(preregistration, "new_sentences", lambda: {"new": small_world().test[:5]})
    sizes = preregistration.split_sizes
    monkeypatch.setattr(preregistration, "split_sizes", lambda rule, *, new=False: sizes(rule))
    monkeypatch.setattr(
        preregistration, "run_trial", lambda *args, **options: calls.append((args, options)) or FakeTrial()
    )
    return calls


def predict():
    return PREDICTION


def unwritten(*inputs):
    raise NotImplementedError("Your turn")


def report_text(result, conclusion="", verdict=None):
    verdict = verdict or find_exercise("verdict").reference
    return repr(claim_report(result, verdict=verdict, conclusion=conclusion))


def lacking(result, conclusion="word " * 20):
    """What the report says that it lacks."""
    text = report_text(result, conclusion)
    return {name for name, sentence in LACKS.items() if sentence in text}


# ---- what is written down


def test_work_that_is_missing_stops_nothing(capsys, trials):
    for call, message in (
        (lambda: write_down(unwritten, RULE), preregistration.NO_PREDICTION),
        (lambda: write_down(predict, unwritten), preregistration.NO_RULE),
        (lambda: try_claim(None, RULE), preregistration.NO_PREDICTION),
        (lambda: try_claim({"prediction": PREDICTION}, unwritten), preregistration.NO_RULE),
    ):
        assert call() is None and capsys.readouterr().out.strip() == message
    assert not trials and report_text(None) == report.NOTHING


def test_a_prediction_keeps_its_first_time_and_its_versions(clock):
    first = write_down(predict, RULE)
    assert write_down(predict, RULE) == first
    other = write_down(lambda: {**PREDICTION, "points": 5}, RULE)
    assert first["versions"] == 1 and other["versions"] == 2 and other["written"] > first["written"]


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (None, "None"),
        (7, "int"),
        ([PREDICTION], "a list"),
        ("breaks", "a string"),
        ({}, '"breaks"'),
        ({**PREDICTION, "points": "ten"}, "'ten'"),
        ({**PREDICTION, "points": float("nan")}, "nan"),
        ({**PREDICTION, "breaks": [["transformer"]]}, '"breaks"'),
        ({**PREDICTION, "why": None}, '"why"'),
        ({**PREDICTION, ("a", "b"): 1}, "('a', 'b')"),
    ],
)
def test_a_malformed_prediction_is_not_written_down(answer, part, capsys):
    assert write_down(lambda: answer, RULE) is None
    assert part in capsys.readouterr().out and not preregistration.events(preregistration.PREDICTION)


def test_a_prediction_that_raises_is_not_written_down(capsys):
    assert write_down(lambda: {}["points"], RULE) is None
    assert "KeyError" in capsys.readouterr().out


def test_events_edited_by_hand_stop_nothing(clock, trials):
    plan = write_down(predict, RULE)
    for kind in (preregistration.PREDICTION, preregistration.TRIAL):
        progress.record({**plan, "kind": kind, "at": None})
        progress.record({**plan, "kind": kind, "at": "2020", "runs": 5, "rule": ["a"]})
    progress.record({"kind": preregistration.TRIAL, "at": "2020", "runs": 5, "rule": plan["rule"]})
    assert write_down(predict, RULE)["written"] == plan["written"]
    assert try_claim(plan, RULE)["trained"] > plan["written"]


def test_a_split_of_few_sentences_is_pointed_out(monkeypatch, capsys):
    sizes = {"rule": ENOUGH - 1, "rest": ENOUGH}
    monkeypatch.setattr(preregistration, "split_sizes", lambda rule, **options: sizes)
    lines = {}
    for split in ("rule", "rest"):
        write_down(lambda split=split: {**PREDICTION, "on": split}, RULE)
        lines[split] = capsys.readouterr().out.count("\n")
    assert lines["rule"] == lines["rest"] + 1


# ---- what is tried


def test_a_claim_is_tried_and_reported(home, trials):
    plan = write_down(predict, RULE)
    result = try_claim(plan, RULE, seeds=(6,), n_steps=1)
    systems = {"transformer": "transformer", "bahdanau": "bahdanau"}
    options = {"seeds": (6,), "n_steps": 1, "with_new": False, "folder": home / "claims"}
    assert trials == [((RULE, systems), options)]
    assert result["written"] < result["trained"] and not result["changed"]
    assert result["says"] == RULE.__doc__.strip()
    assert lacking(result) == {"seeds", "steps"}
    text = report_text(result, "word " * 20)
    saved = (home / "my_report.md").read_text(encoding="utf-8")
    assert saved.startswith(text) and re.search(r"!\[.+\]\(my_report\.svg\)", saved)
    assert (home / "my_report.svg").read_text("utf-8") == claim_figure(result).file


def test_full_runs_are_tested_on_new_sentences_and_the_rule_is_tried_on_them_first(trials, capsys):
    plan = write_down(predict, RULE)
    assert try_claim(plan, RULE)["with_new"] and trials[-1][1]["with_new"]

    def breaks(src, tgt):
        if tuple(src) == small_world().test[3].src:
            raise ZeroDivisionError("at last")
        return RULE(src, tgt)

    assert try_claim(plan, breaks) is None and len(trials) == 1
    assert "ZeroDivisionError: at last" in capsys.readouterr().out


def backwards(src, tgt):
    """Questions backwards."""
    return tgt[::-1] if "?" in src else tgt


def test_a_prediction_after_its_runs_is_shown_as_such(clock, trials):
    plan = write_down(predict, RULE)
    result = try_claim(plan, RULE)
    assert result["written"] < result["trained"] and result["tries"] == 1 and not lacking(result)

    later = write_down(lambda: {**PREDICTION, "points": 1}, RULE)
    again = try_claim(later, RULE)
    assert again["trained"] == result["trained"] and lacking(again) == {"before"}
    fresh = write_down(lambda: {**PREDICTION, "points": 1}, RULE, seeds=(3, 4, 5))
    assert not lacking(try_claim(fresh, RULE, seeds=(3, 4, 5)))  # nobody has seen these seeds


def test_another_rule_other_seeds_and_short_runs_are_shown(clock, trials):
    plan = write_down(predict, RULE)
    try_claim(plan, RULE)
    other = try_claim(plan, backwards, seeds=(3, 4, 5), n_steps=2)
    assert len(other["changed"]) == 2 and all(change in report_text(other) for change in other["changed"])
    assert lacking(other) == {"steps"} and (other["tries"], other["rules"], other["versions"]) == (2, 2, 1)
    some_seeds = try_claim(plan, RULE, seeds=(6,), n_steps=2)
    assert not some_seeds["changed"]  # a short trial may take some of the seeds


def test_a_system_of_ones_own(monkeypatch, capsys, trials):
    monkeypatch.setattr(preregistration, "faults", lambda make: ["A fault of it."])

    def make_mine(vocab_size):
        """One block, twice."""

    plan = write_down(lambda: {**PREDICTION, "breaks": "mine"}, RULE)
    assert try_claim(plan, RULE) is None and preregistration.NO_SYSTEM in capsys.readouterr().out
    text = report_text(try_claim(plan, RULE, mine=make_mine))
    assert "A fault of it." in capsys.readouterr().out and "One block, twice." in text
    assert [args[1] for args, _ in trials] == [{"mine": make_mine, "bahdanau": "bahdanau"}]


# ---- the report


def test_the_report_shows_the_prediction_beside_the_scores():
    text = report_text(RESULT, "word " * 20)
    [row] = [line for line in text.splitlines() if line.startswith("| rule") and "transformer" in line]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        *("rule", "50", "transformer", "91.0", "66.0", "30.0, 20.0"),
    ]
    assert all(number in text for number in ("19.0", "29.0", "9.0 to 26.0"))
    assert "Outcome: no clear difference." in text and "By the runs alone: holds." in text
    assert r"a \*bold\* &lt;b&gt;reason&lt;/b&gt; \| \$x\$" in text and not lacking(RESULT)


def test_the_report_says_what_is_missing():
    poor = RESULT | {"seeds": [0], "splits": ["rule"], "written": "2026-01-03"}
    assert lacking(poor, "") == {"before", "seeds", "control", "words"}
    for result in (poor, RESULT):
        assert report.SMALL in report_text(result)
    for short in (poor, RESULT | {"with_new": False}):
        assert "Outcome" not in report_text(short)


def test_a_verdict_that_fails_does_not_stop_the_report():
    text = report_text(RESULT | {"prediction": {**PREDICTION, "breaks": "seq2seq"}})
    assert "KeyError" in text and "66.0" in text and "Outcome" not in text


ATTACK = '<img src=x onerror=alert(1)> & "quotes" | `code` [link](javascript:alert(1)) \ud800'


def test_everything_from_the_learner_is_escaped(home):
    attack = [ATTACK]
    tables = {when: {"<b>": table["rule"]} for when, table in TABLES.items()}
    result = RESULT | {
        "prediction": {**PREDICTION, ATTACK: ATTACK},
        "says": ATTACK,
        "mine": ATTACK,
        "written": ATTACK,
        "trained": ATTACK,
        "seeds": [ATTACK],
        "tables": tables,
        "sizes": {"<b>": 50},
    }

    def fail(*inputs):
        raise ValueError(ATTACK)

    for verdict, expected in ((fail, 7), (lambda *inputs: attack, 6)):
        text = report_text(result, ATTACK, verdict=verdict)
        assert "<img" not in text and "<b>" not in text and "[link]" not in text and "\ud800" not in text
        assert text.count("&lt;img src=x onerror=alert(1)&gt; &amp;") >= expected
        assert (home / "my_report.md").read_text(encoding="utf-8").startswith(text)


HOLDS = {"least": 12.0, "most": 20.0, "verdict": "holds"}


@pytest.mark.parametrize(
    "answer",
    [
        *(None, 7, "holds", [12, 20, "holds"], {}, {"verdict": "holds"}),
        *({**HOLDS, "least": "12"}, {**HOLDS, "most": float("nan")}, {**HOLDS, "most": None}),
        *({**HOLDS, "verdict": "perhaps"}, {**HOLDS, "verdict": "better"}, {**HOLDS, "verdict": ["holds"]}),
    ],
)
def test_a_malformed_verdict_is_rejected(answer):
    text = report_text(RESULT, verdict=lambda *inputs: answer)
    assert "No verdict" in text and '"least"' in text and report.quote(answer) in text
    assert "66.0" in text and "Outcome" not in text


COMPLETE = {
    "prediction": PREDICTION,
    "written": "2026-11-16T08:00:00",
    "trained": "2026-11-16T09:30:00",
    "seeds": [6, 7, 8],
    "n_steps": 600,
    "splits": ["rule", "rest"],
    "words": "word " * 20,
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"prediction": None}, ["prediction"]),
        ({"prediction": {}, "written": "2027"}, ["prediction"]),
        ({"written": "2026-11-16T09:30:00"}, ["before"]),
        ({"written": "2026-11-17", "seeds": [5, 5, 5]}, ["before", "seeds"]),
        ({"n_steps": 599, "words": "word " * 19}, ["steps", "words"]),
        ({"splits": ["rule", "rest, long"]}, ["control"]),
    ],
)
def test_what_is_missing(changes, expected):
    assert missing(COMPLETE | changes) == expected


@pytest.mark.parametrize("prediction", [["transformer"], 7, "transformer"])
def test_a_prediction_that_is_no_dictionary_gives_no_report(prediction):
    text = report_text(RESULT | {"prediction": prediction})
    assert "dictionary" in text and report.quote(prediction) in text and "66.0" not in text


def test_without_a_prediction_the_report_says_so():
    assert "prediction" in lacking(RESULT | {"prediction": None})
