"""The small world, rules and splits, scores, and where the runs of a trial come from."""

from __future__ import annotations

import json

import pytest

from lessons.l19_your_own_claim import systems, trials
from lessons.l19_your_own_claim.corpus import (
    NEW_SETS,
    SPLITS,
    fingerprint,
    new_sentences,
    small_world,
    split_sizes,
)
from lessons.l19_your_own_claim.rules import concerns, even, mirror, very_last
from lessons.l19_your_own_claim.scores import by_split, points_lost, score_table
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


def test_new_sentences_occur_nowhere_else_and_have_no_new_words():
    world, new = small_world(), new_sentences()
    seen = {pair.src for part in vars(world).values() for pair in part}
    sources = [pair.src for pairs in new.values() for pair in pairs]
    assert tuple(new) == NEW_SETS and len(set(sources)) == len(sources) and not seen.intersection(sources)
    vocabulary = {word for pair in world.train for word in (*pair.src, *pair.tgt)}
    assert all(vocabulary.issuperset((*pair.src, *pair.tgt)) for pairs in new.values() for pair in pairs)
    sizes = split_sizes(mirror, new=True)
    assert sizes["rule"] + sizes["rest"] == len(new["new"])
    assert sizes["rule, long"] + sizes["rest, long"] == len(new["new, long"])


def only_new_ones(src, tgt):
    return tgt[::-1] if tuple(src) == new_sentences()["new"][0].src else mirror(src, tgt)


def test_a_rule_that_differs_on_new_sentences_alone_is_another_one_there():
    assert fingerprint(only_new_ones) == fingerprint(mirror)
    assert fingerprint(only_new_ones, new=True) != fingerprint(mirror, new=True)


# ---- scores


def test_scores_by_split():
    world = small_world()
    correct = {
        name: "".join(str(int(concerns(mirror, pair))) for pair in getattr(world, name))
        for name in ("test", "long")
    }
    assert by_split(correct, mirror) == {"rule": 100, "rest": 0, "rule, long": 100, "rest, long": 0}
    tables = {
        "without": score_table({"a": [{"right": correct}]}, mirror),
        "with": score_table({"a": [{"right": correct}, {"right": correct}]}, mirror),
    }
    assert points_lost(tables, "rule", "a") == [0, 0]


def test_points_lost_by_sentence_have_the_mean_of_each_run():
    trial = trials.run_trial(mirror, {"bahdanau": "bahdanau"}, tell=lambda line: None)
    lost = trial.lost_by_sentence("rule", "bahdanau")
    runs = points_lost(trial.tables(), "rule", "bahdanau")
    assert lost.shape == (50, 3) and lost.mean(dim=0).tolist() == pytest.approx(runs, abs=1e-4)


# ---- runs

OUTCOME = {
    "right": {"test": "1" * 500, "long": "0" * 276},
    "wrong": {"test": {}, "long": {"0": "le chat"}},
}
INCOMPLETE = [
    OUTCOME["right"],
    {"right": OUTCOME["right"]},
    {"right": OUTCOME["right"], "wrong": {"test": {}}},
    [1, 2],
    None,
]


def test_a_trial_takes_recorded_runs_then_cached_ones_and_makes_the_rest(tmp_path, monkeypatch):
    lines = []

    def trial(tested, **options):
        """The table with the rule, and where each run came from."""
        lines.clear()
        done = trials.run_trial(mirror, tested, folder=tmp_path, tell=lines.append, **options)
        return done.tables()["with"], [line.rpartition(": ")[2] for line in lines]

    table, sources = trial({"bahdanau": "bahdanau", "transformer": "transformer"})
    assert sources == ["on record"] * 12
    assert set(table) == set(SPLITS) and len(table["rule"]["bahdanau"]) == 3
    own = {"mine": lambda size: make_system("no positions", size)}  # never cached: its code may change
    with monkeypatch.context() as patch:
        patch.setattr(trials, "train_and_test", lambda *args, **options: OUTCOME)
        for expected in ("training", "from an earlier trial"):
            table, sources = trial({"theirs": "transformer"}, seeds=(5,), n_steps=1)
            assert sources == [expected] * 2 and table["rest"]["theirs"] == [100]
        assert trials.cache_file("transformer", mirror, 5, 2, tmp_path) not in tmp_path.iterdir()
        assert trial(own, seeds=(0,), n_steps=1)[1] == ["training"] * 2
        files = list(tmp_path.iterdir())
        assert [json.loads(file.read_text()) for file in files] == [OUTCOME] * 2
        for incomplete in INCOMPLETE:  # as if edited by hand, without translations: trained again
            for file in files:
                file.write_text(json.dumps(incomplete))
            assert trial({"theirs": "transformer"}, seeds=(5,), n_steps=1)[1] == ["training"] * 2
        for file in files:
            file.write_text("{ half a fi")
        assert trial({"theirs": "transformer"}, seeds=(5,), n_steps=1)[1] == ["training"] * 2


def test_runs_without_new_sentences_do_not_count_if_they_are_asked_for(tmp_path, monkeypatch):
    assert trials.recorded_run("bahdanau", mirror, 0) and trials.recorded_run("bahdanau", mirror, 6)
    assert trials.recorded_run("bahdanau", mirror, 0, with_new=True) is None
    confirmed = trials.recorded_run("bahdanau", mirror, 6, with_new=True)
    for key in ("right", "wrong"):
        assert set(confirmed[key]) == {"test", "long", "new", "new, long"}
    asked = []
    complete = {
        key: OUTCOME[key] | dict.fromkeys(NEW_SETS, value) for key, value in (("right", ""), ("wrong", {}))
    }
    monkeypatch.setattr(
        trials, "train_and_test", lambda *args, **options: asked.append(options["with_new"]) or complete
    )
    for with_new in (False, True, True):
        options = {"seeds": (0,), "n_steps": 1, "with_new": with_new, "folder": tmp_path}
        trials.run_trial(mirror, {"a": "seq2seq"}, tell=lambda line: None, **options)
    assert asked == [False, False, True, True]


def test_a_short_run_marks_every_test_sentence_and_keeps_wrong_translations():
    outcome = train_and_test(lambda size: make_system("no positions", size), mirror, seed=0, n_steps=1)
    right, wrong = outcome["right"], outcome["wrong"]
    assert {name: len(marks) for name, marks in right.items()} == {"test": 500, "long": 276}
    assert set(right["test"] + right["long"]) <= {"0", "1"}
    for name, marks in right.items():
        first_wrong = [index for index, mark in enumerate(marks) if mark == "0"][:200]
        assert list(map(int, wrong[name])) == first_wrong


def test_an_unfinished_run_is_no_result(monkeypatch):
    monkeypatch.setattr(systems, "train", lambda *args, **options: type("Result", (), {"ended": "stopped"}))
    with pytest.raises(KeyboardInterrupt):
        train_and_test("transformer", None, seed=0, n_steps=1)
