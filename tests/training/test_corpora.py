"""What there is to train on, and its fingerprint."""

from __future__ import annotations

from functools import partial

import pytest

from course_lib.text.toy.splits import splits
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training import corpora
from course_lib.training.corpora import encode_data, toy_data

SIDES = (["a b", "c"], ["x", "y z"]), (["a"], ["x"])


def test_a_fingerprint_sees_every_sentence_and_the_tokenizer():
    tokenizer = WordTokenizer(["a", "b", "c", "x", "y", "z"])
    base = encode_data("one", *SIDES, tokenizer).fingerprint
    assert base == encode_data("two", *SIDES, tokenizer).fingerprint
    (train, validation), others = SIDES, set()
    for changed in (
        ((["a b", "a"], train[1]), validation),
        ((train[0], ["y z", "x"]), validation),
        (train, (["b"], ["x"])),
        ((["a b", "c", "a"], [*train[1], "x"]), (["c"], ["x"])),
    ):
        others.add(encode_data("one", *changed, tokenizer).fingerprint)
    others.add(encode_data("one", *SIDES, WordTokenizer(["b", "a", "c", "x", "y", "z"])).fingerprint)
    assert len(others) == 5 and base not in others


def test_toy_data_comes_from_the_splits(monkeypatch):
    few = {"train": 60, "validation": 10}
    monkeypatch.setattr(corpora, "splits", partial(splits, sizes=few))
    data = toy_data()
    assert (len(data.train), len(data.validation), data.name) == (60, 10, "toy")
    assert data.fingerprint == toy_data().fingerprint
    moved = data.to("meta")
    assert moved.train.device.type == moved.validation.device.type == "meta"


def test_multi30k_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_MULTI30K", raising=False)
    with pytest.raises((FileNotFoundError, ValueError)):
        corpora.multi30k_data("de", "en", folder=tmp_path)
