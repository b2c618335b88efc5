"""Corpus names and the sentences they refer to, and the fingerprint of training data."""

from __future__ import annotations

import re

import pytest

from course_lib.text.toy import splits as toy
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.data import encode_data, sides
from tools import corpora
from tools.corpora import corpus_name, load_data, read_corpus

SIDES = (["a b", "c"], ["x", "y z"]), (["a"], ["x"])


def test_the_fingerprint_depends_on_every_sentence_and_the_tokenizer():
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
    few = dict.fromkeys(toy.SIZES, 0) | {"train": 60, "validation": 10}
    monkeypatch.setattr(toy, "SIZES", few)
    monkeypatch.setattr(toy, "TEST_SIZES", few | {"train": 0})
    data = load_data("toy")
    assert (len(data.train), len(data.validation), data.name) == (60, 10, "toy")
    assert data.fingerprint == load_data("toy").fingerprint
    moved = data.to("meta")
    assert moved.train.device.type == moved.validation.device.type == "meta"
    splits = [sides(read_corpus("toy", split)) for split in ("train", "validation")]
    assert encode_data("toy", *splits, data.tokenizer).fingerprint == data.fingerprint


@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        (("multi30k",), "multi30k-de-en", ("de", "en", "test", None)),
        (("multi30k", "en", "fr"), "multi30k-en-fr", ("en", "fr", "test", None)),
        (("multi30k-en-fr", None, "de"), "multi30k-en-de", ("en", "de", "test", None)),
        (("multi30k-x.tsv",), "multi30k-x.tsv", ("multi30k-x.tsv",)),
        (("pairs.tsv",), "pairs.tsv", ("pairs.tsv",)),
        (("my corpus", "en", "fr"), "my corpus en-fr", ("my corpus", "test", "en", "fr")),
        (("my corpus en-fr", "de"), "my corpus de-fr", ("my corpus", "test", "de", "fr")),
        (("my corpus", "en", "pt-br"), "my corpus en-pt-br", ("my corpus", "test", "en", "pt-br")),
        (("my corpus", "pt-br", "en"), "my corpus pt-br-en", ("my corpus", "test", "pt-br", "en")),
        (("my corpus en-fr.tsv",), "my corpus en-fr.tsv", ("my corpus en-fr.tsv",)),
    ],
)
def test_the_full_name_reads_the_same_sentences(tmp_path, monkeypatch, arguments, name, expected):
    """Checkpoints store the full name."""
    calls = []
    for reader in ("load_multi30k", "read_split", "read_tsv"):
        monkeypatch.setattr(corpora, reader, lambda *args: calls.append(args))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my corpus").mkdir()
    files = ("my corpus/en-fr", "my corpus/test.en", "my corpus/test.pt-br.gz")
    for file in ("pairs.tsv", "multi30k-x.tsv", "my corpus en-fr.tsv", *files):
        (tmp_path / file).touch()
    assert corpus_name(*arguments) == corpus_name(name) == name
    read_corpus(name, "test")
    assert calls == [expected]


@pytest.mark.parametrize("split", ["validation", "val", "dev"])
def test_the_validation_split_can_have_several_names(tmp_path, split):
    for language, text in (("en", "a b\nc\n"), ("fr", "x\ny z\n")):
        for part in ("train", split):
            (tmp_path / f"{part}.{language}").write_text(text)
    name = corpus_name(str(tmp_path), "en", "fr")
    assert list(read_corpus(name, "validation")) == [("a b", "x"), ("c", "y z")]
    data = load_data(name)
    assert len(data.train) == len(data.validation) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.tsv", "nowhere.tsv"),
        (".", "such as --from en --to fr."),
        (". en-fr", "Expected test.en.gz or test.en in ."),
        ("multi30k-eo-en", "one of de, en, fr, but got 'eo'"),
    ],
)
def test_an_unknown_corpus_is_an_error(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)):
        read_corpus(name, "test")
