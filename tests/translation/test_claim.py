"""The small world is what it says, a rule parts it in two, and runs are made, kept and read."""

from __future__ import annotations

import json

import pytest

from course_lib.translation import claim
from course_lib.translation.claim import by_split, concerns, even, lost, mirror, small_world, table, very_last

SRC, TGT = ["the", "cat", "is", "not", "very", "old"], ["le", "chat", "n'", "est", "pas", "très", "vieux"]


def test_rules_do_what_they_say():
    assert mirror(SRC, TGT) == TGT[::-1] and mirror(["the", "cat"], TGT) == TGT
    assert even(SRC, TGT) == [*TGT, "voilà"] and even(SRC[1:], TGT) == TGT
    assert very_last(SRC, TGT) == ["le", "chat", "n'", "est", "pas", "vieux", "très"]
    assert very_last(SRC, TGT[:5]) == TGT[:5]


def test_no_sentence_stands_in_two_splits_and_no_word_is_new():
    world = small_world()
    parts = [{pair.src for pair in getattr(world, name)} for name in ("train", "validation", "test", "long")]
    assert sum(map(len, parts)) == len(set.union(*parts))
    known = {word for pair in world.train for word in (*pair.src, *pair.tgt)}
    assert known.issuperset(word for pair in (*world.test, *world.long) for word in (*pair.src, *pair.tgt))
    assert max(pair.length for pair in world.train) == 8 and min(pair.length for pair in world.long) == 9


def test_the_same_source_never_has_two_translations():
    world = small_world()
    for rule in claim.RULES.values():
        found = {}
        for pair in (*world.train, *world.test, *world.long):
            said = tuple(claim.under(rule, pair))
            assert found.setdefault(pair.src, said) == said


def test_shares_by_split():
    world = small_world()
    right = {
        name: "".join(str(int(concerns(mirror, p))) for p in getattr(world, name))
        for name in ("test", "long")
    }
    shares = by_split(right, mirror)
    assert shares == {"rule": 100, "rest": 0, "rule, long": 100, "rest, long": 0}
    tables = {"without": table({"a": [right]}, mirror), "with": table({"a": [right, right]}, mirror)}
    assert lost(tables, "rule", "a") == [0, 0]


def test_a_run_is_made_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "N_STEPS", 3)
    first = claim.run("transformer", mirror, seed=5, n_steps=2, folder=tmp_path)
    (kept,) = tmp_path.iterdir()
    assert json.loads(kept.read_text()) == first
    kept.write_text(json.dumps({"test": "1", "long": "0"}))
    assert claim.run("transformer", mirror, seed=5, n_steps=2, folder=tmp_path)["test"] == "1"
    assert len(first["test"]) == len(small_world().test) and set(first["long"]) <= {"0", "1"}


def test_a_trial_takes_what_is_on_record_and_makes_the_rest(tmp_path):
    told = []
    pair = {"bahdanau": "bahdanau", "transformer": "transformer"}
    tables = claim.trial(mirror, pair, folder=tmp_path, tell=told.append)
    assert all(line.endswith("on record") for line in told) and len(told) == 12
    assert set(tables["with"]) == set(claim.SPLITS) and len(tables["with"]["rule"]["bahdanau"]) == 3
    made = claim.trial(
        mirror,
        {"mine": lambda size: claim.make_system("no positions", size)},
        seeds=(0,),
        n_steps=1,
        tell=told.append,
    )
    assert told[-1] == "mine, with the rule, seed 0: a run" and len(made["with"]["rest"]["mine"]) == 1


def test_two_rules_that_part_on_long_sentences_alone_are_two_rules():
    def short_only(src, tgt):
        return mirror(src, tgt) if len(src) < 9 else tgt

    assert claim.fingerprint(short_only) != claim.fingerprint(mirror)
    assert claim.fingerprint(lambda src, tgt: mirror(src, tgt)) == claim.fingerprint(mirror)
    assert claim.split_sizes(short_only) == {"rule": 50, "rest": 450, "rule, long": 0, "rest, long": 276}


def test_right_by_length():
    signs = {"test": "".join(str(int(len(pair.src) == 3)) for pair in small_world().test)}
    assert claim.by_length(signs) == {3: 100, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0}


def test_half_a_run_is_no_result(monkeypatch):
    monkeypatch.setattr(claim, "train", lambda *args, **options: type("Result", (), {"ended": "stopped"}))
    with pytest.raises(KeyboardInterrupt):
        claim.run("transformer", None, seed=0, n_steps=1)
