"""The small world is what it says, a rule parts it in two, and runs are made, kept and read."""

from __future__ import annotations

import json

import pytest

from lessons.l19_your_own_claim import claim
from lessons.l19_your_own_claim.claim import (
    by_split,
    concerns,
    even,
    lost,
    mirror,
    small_world,
    table,
    very_last,
)

SRC, TGT = ["the", "cat", "is", "not", "very", "old"], ["le", "chat", "n'", "est", "pas", "très", "vieux"]


def short_only(src, tgt):
    return mirror(src, tgt) if len(src) < 9 else tgt


def test_rules_do_what_they_say():
    assert mirror(SRC, TGT) == TGT[::-1] and mirror(["the", "cat"], TGT) == TGT
    assert even(SRC, TGT) == [*TGT, "voilà"] and even(SRC[1:], TGT) == TGT
    assert very_last(SRC, TGT) == ["le", "chat", "n'", "est", "pas", "vieux", "très"]
    assert very_last(SRC, TGT[:5]) == TGT[:5]


def test_no_sentence_stands_twice_and_no_word_is_new():
    world = small_world()
    every = [pair for part in vars(world).values() for pair in part]
    assert len({pair.src for pair in every}) == len(every)
    known = {word for pair in world.train for word in (*pair.src, *pair.tgt)}
    assert all(known.issuperset((*pair.src, *pair.tgt)) for pair in every)
    assert max(pair.length for pair in world.train) == 8 and min(pair.length for pair in world.long) == 9


def test_what_came_out_by_split_and_by_length():
    world = small_world()
    right = {
        name: "".join(str(int(concerns(mirror, p))) for p in getattr(world, name))
        for name in ("test", "long")
    }
    assert by_split(right, mirror) == {"rule": 100, "rest": 0, "rule, long": 100, "rest, long": 0}
    tables = {"without": table({"a": [right]}, mirror), "with": table({"a": [right, right]}, mirror)}
    assert lost(tables, "rule", "a") == [0, 0]
    signs = {"test": "".join(str(int(len(pair.src) == 3)) for pair in world.test)}
    assert claim.by_length(signs) == {3: 100, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0}


def test_two_rules_that_part_on_long_sentences_alone_are_two_rules():
    assert claim.fingerprint(short_only) != claim.fingerprint(mirror)
    assert claim.fingerprint(lambda src, tgt: mirror(src, tgt)) == claim.fingerprint(mirror)
    assert claim.split_sizes(short_only) == {"rule": 50, "rest": 450, "rule, long": 0, "rest, long": 276}


def test_a_trial_takes_what_is_on_record_then_what_is_kept_and_makes_the_rest(tmp_path, monkeypatch):
    told, made = [], {"test": "1" * 500, "long": "0" * 276}

    def tried(systems, **options):
        told.clear()
        tables = claim.trial(mirror, systems, folder=tmp_path, tell=told.append, **options)
        return tables["with"], [line.rpartition(": ")[2] for line in told]

    tables, how = tried({"bahdanau": "bahdanau", "transformer": "transformer"})
    assert how == ["on record"] * 12
    assert set(tables) == set(claim.SPLITS) and len(tables["rule"]["bahdanau"]) == 3
    mine = {"mine": lambda size: claim.make_system("no positions", size)}  # kept nowhere: it may change
    with monkeypatch.context() as patch:
        patch.setattr(claim, "run", lambda *args, **options: made)
        for expected in ("a run", "kept"):
            tables, how = tried({"theirs": "transformer"}, seeds=(5,), n_steps=1)
            assert how == [expected] * 2 and tables["rest"]["theirs"] == [100]
        assert tried(mine, seeds=(0,), n_steps=1)[1] == ["a run"] * 2
    assert [json.loads(file.read_text()) for file in tmp_path.iterdir()] == [made] * 2
    found = claim.run(mine["mine"], mirror, seed=0, n_steps=1)
    assert {name: len(signs) for name, signs in found.items()} == {"test": 500, "long": 276}
    assert set(found["test"] + found["long"]) <= {"0", "1"}


def test_half_a_run_is_no_result(monkeypatch):
    monkeypatch.setattr(claim, "train", lambda *args, **options: type("Result", (), {"ended": "stopped"}))
    with pytest.raises(KeyboardInterrupt):
        claim.run("transformer", None, seed=0, n_steps=1)
