"""Figures and claims of lesson 11 are those of data/results and of the shipped systems."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import median

import pytest
import torch

from course_lib.layers.positions import sinusoids
from course_lib.models.registry import build, make_config
from course_lib.recorded import recorded
from course_lib.runtime import data_path
from course_lib.teaching.lessons import lesson
from course_lib.text.toy.splits import SIZES_OF_TESTS, splits
from course_lib.translation.shipped import load_shipped
from course_lib.translation.translate import translate

FOLDER = lesson("positions").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = (FOLDER / "quiz.json").read_text(encoding="utf-8")


def exact(experiment: str, name: str, split: str, group: str) -> float:
    found = recorded(experiment, lambda run: run["scores"][split]["by_length"][group]["exact"])
    return 100 * found[name]


@pytest.fixture
def transformer():
    return load_shipped("transformer")


@pytest.fixture(scope="module")
def tests():
    return splits(seed=0, sizes=SIZES_OF_TESTS)


def put(system, source, target) -> None:
    system.model.source_positions.table, system.model.target_positions.table = source, target


def test_without_positions_by_length_as_told():
    assert round(exact("positions", "none", "test", "1–5")) == 97 and '"answer": 97' in QUIZ
    assert 4 < exact("positions", "none", "test", "16–20") < 6.5
    assert "about one in twenty" in SOURCE and "already at one in twenty" in QUIZ
    assert 45 < 100 * recorded("positions", lambda run: run["scores"]["test"]["exact"])["none"] < 55


def test_the_record_on_longer_sentences_is_as_told():
    assert [
        round(exact("positions", name, "long", "21–30")) for name in ("rotary", "sinusoidal", "learned")
    ] == [38, 22, 5]
    assert "38% at 21 to 30 words, sinusoids 22%, learned 5%" in SOURCE
    names = ("none", "learned", "sinusoidal", "rotary")
    assert all(exact("positions", name, "long", "31–40") < 0.5 for name in names)
    assert [round(exact("toy_ladder", "bahdanau", "long", group)) for group in ("21–30", "31–40")] == [90, 24]
    assert "The recurrent network has 90% and 24%" in SOURCE and "90% there and 24%" in QUIZ
    level = ("learned", "sinusoidal", "rotary")
    assert min(exact("positions", name, "test", "16–20") for name in level) > 95
    assert exact("toy_ladder", "bahdanau", "test", "16–20") > 95


def test_rotary_is_ahead_in_every_training():
    scores: dict[str, list[float]] = {}
    for run in json.loads(data_path("results", "positions.json").read_text(encoding="utf-8"))["runs"]:
        right = run["scores"]["long"]["by_length"]["21–30"]["exact"]
        scores.setdefault(run["variant"], []).append(right)
    assert min(scores["rotary"]) > max(scores["sinusoidal"])
    assert min(scores["sinusoidal"]) > max(scores["learned"]) > max(scores["none"])


def test_looking_by_place_breaks_off_as_told():
    for name, beyond in (("luong_dot", 52), ("luong_location", 2)):
        assert round(exact("toy_ladder", name, "test", "16–20")) == 88
        assert round(exact("toy_ladder", name, "long", "21–30")) == beyond


def test_parameters_are_as_told():
    found = recorded("positions", lambda run: run["parameters"])
    assert found["none"] == found["sinusoidal"] == 392_360 and "392,360 parameters" in SOURCE
    assert found["learned"] - found["none"] == 8_192 and "8,192" in SOURCE


def test_without_source_positions_both_orders_give_one_sentence(transformer):
    table = transformer.model.source_positions.table.clone()
    both = ("the cat sees the dog", "the dog sees the cat")
    put(transformer, torch.zeros_like(table), table)
    assert len({transformer(text).target for text in both}) == 1
    put(transformer, table, torch.zeros_like(table))
    assert [transformer(text).target for text in both] == ["le chat voit le chien", "le chien voit le chat"]
    circles = transformer("the girl who saw the boy slept").target
    assert circles.count("garçon") > 2 and "goes round in circles" in SOURCE


def test_counting_from_six_breaks_it_as_told(transformer, tests):
    pairs = [pair for pair in tests.test if 6 <= pair.length <= 10][:60]
    rows = sinusoids(100, 64)

    def right(first: int) -> float:
        put(transformer, rows[first : first + 64], rows[first : first + 64])
        found = translate([pair.src_text for pair in pairs], transformer.model, transformer.tokenizer)
        return sum(one.target == pair.tgt_text for one, pair in zip(found, pairs, strict=True)) / len(pairs)

    shares = [right(first) for first in (0, 2, 4, 6)]
    assert shares[0] > 0.95 and shares[1] > 0.97 and 0.83 < shares[2] < 0.93 and 0.2 < shares[3] < 0.33
    assert (
        "about 98% of the 60" in QUIZ and "About a quarter" in QUIZ and "from 4 one in ten is lost" in SOURCE
    )


def test_it_breaks_off_after_about_twenty_words(transformer, tests):
    pairs = tests.long[:40]
    found = translate([pair.src_text for pair in pairs], transformer.model, transformer.tokenizer)
    kept = []
    for one, pair in zip(found, pairs, strict=True):
        said, wanted = one.target.split(), pair.tgt_text.split()
        same = [a == b for a, b in zip(said, wanted, strict=False)]
        kept.append(same.index(False) if False in same else len(same))
    assert 17 <= median(kept) <= 24 and "first twenty words or so are usually right" in SOURCE


def test_rotary_self_attention_does_not_see_a_shift():
    """The whole Transformer, untrained: counted from 0 or from 7, source and target each by itself."""
    torch.manual_seed(0)
    config = replace(make_config("transformer", scale="tiny", vocab_size=50), positions="rotary")
    model = build("transformer", config).eval()
    src, tgt = torch.randint(4, 50, (2, 8)), torch.randint(4, 50, (2, 6))
    lengths = torch.tensor([8, 8])
    with torch.no_grad():
        plain = model.decode(model.encode(src, lengths), tgt)[0]
        for side in (model.source_positions, model.target_positions):
            turn = side.turn
            side.turn = lambda features, *, first=0, turn=turn: turn(features, first=first + 7)
        moved = model.decode(model.encode(src, lengths), tgt)[0]
    assert torch.allclose(plain, moved, atol=1e-4)
