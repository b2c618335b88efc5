"""The small world, rules and splits, scores, and where the runs of a trial come from."""

from __future__ import annotations

import json

import pytest

from lessons.l19_your_own_claim import systems, trials
from lessons.l19_your_own_claim.corpus import SPLITS, fingerprint, small_world, split_sizes
from lessons.l19_your_own_claim.rules import concerns, even, mirror, very_last
from lessons.l19_your_own_claim.scores import by_length, by_split, points_lost, score_table
from lessons.l19_your_own_claim.systems import make_system, train_and_test

SRC, TGT = ["the", "cat", "is", "not", "very", "old"], ["le", "chat", "n'", "est", "pas", "très", "vieux"]


def short_only(src, tgt):
    return mirror(src, tgt) if len(src) < 9 else tgt


# ---- rules and corpus


def test_rules_change_what_they_concern():
    assert mirror(SRC, TGT) == TGT[::-1] and mirror(["the", "cat"], TGT) == TGT
    assert even(SRC, TGT) == [*TGT, "voilà"] and even(SRC[1:], TGT) == TGT
    assert very_last(SRC, TGT) == ["le", "chat", "n'", "est", "pas", "vieux", "très"]
    assert very_last(SRC, TGT[:5]) == TGT[:5]


def test_sentences_are_not_repeated_and_every_word_is_in_training():
    world = small_world()
    pairs = [pair for part in vars(world).values() for pair in part]
    assert len({pair.src for pair in pairs}) == len(pairs)
    vocabulary = {word for pair in world.train for word in (*pair.src, *pair.tgt)}
    assert all(vocabulary.issuperset((*pair.src, *pair.tgt)) for pair in pairs)
    assert {pair.length for pair in world.train} == set(range(3, 9))
    assert {pair.length for pair in world.long} == set(range(9, 13))


def test_rules_that_differ_on_long_sentences_alone_are_two_rules():
    assert fingerprint(short_only) != fingerprint(mirror)
    assert fingerprint(lambda src, tgt: mirror(src, tgt)) == fingerprint(mirror)
    assert split_sizes(short_only) == {"rule": 50, "rest": 450, "rule, long": 0, "rest, long": 276}


# ---- scores


def test_scores_by_split_and_by_length():
    world = small_world()
    correct = {
        name: "".join(str(int(concerns(mirror, pair))) for pair in getattr(world, name))
        for name in ("test", "long")
    }
    assert by_split(correct, mirror) == {"rule": 100, "rest": 0, "rule, long": 100, "rest, long": 0}
    tables = {
        "without": score_table({"a": [correct]}, mirror),
        "with": score_table({"a": [correct, correct]}, mirror),
    }
    assert points_lost(tables, "rule", "a") == [0, 0]
    three_words = {"test": "".join(str(int(len(pair.src) == 3)) for pair in world.test)}
    assert by_length(three_words) == {3: 100, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0}


# ---- runs


def test_a_trial_takes_recorded_runs_then_cached_ones_and_makes_the_rest(tmp_path, monkeypatch):
    lines, correct = [], {"test": "1" * 500, "long": "0" * 276}

    def trial(tested, **options):
        """The table with the rule, and where each run came from."""
        lines.clear()
        tables = trials.run_trial(mirror, tested, folder=tmp_path, tell=lines.append, **options)
        return tables["with"], [line.rpartition(": ")[2] for line in lines]

    table, sources = trial({"bahdanau": "bahdanau", "transformer": "transformer"})
    assert sources == ["on record"] * 12
    assert set(table) == set(SPLITS) and len(table["rule"]["bahdanau"]) == 3
    own = {"mine": lambda size: make_system("no positions", size)}  # never cached: its code may change
    with monkeypatch.context() as patch:
        patch.setattr(trials, "train_and_test", lambda *args, **options: correct)
        for expected in ("a run", "kept"):
            table, sources = trial({"theirs": "transformer"}, seeds=(5,), n_steps=1)
            assert sources == [expected] * 2 and table["rest"]["theirs"] == [100]
        assert trial(own, seeds=(0,), n_steps=1)[1] == ["a run"] * 2
    assert [json.loads(file.read_text()) for file in tmp_path.iterdir()] == [correct] * 2


def test_a_short_run_marks_every_test_sentence():
    correct = train_and_test(lambda size: make_system("no positions", size), mirror, seed=0, n_steps=1)
    assert {name: len(marks) for name, marks in correct.items()} == {"test": 500, "long": 276}
    assert set(correct["test"] + correct["long"]) <= {"0", "1"}


def test_an_unfinished_run_is_no_result(monkeypatch):
    monkeypatch.setattr(systems, "train", lambda *args, **options: type("Result", (), {"ended": "stopped"}))
    with pytest.raises(KeyboardInterrupt):
        train_and_test("transformer", None, seed=0, n_steps=1)
