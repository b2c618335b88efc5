"""From the name of a corpus to its sentences, and the fingerprint of what is trained on."""

from __future__ import annotations

import re

import pytest

from course_lib.text.toy import splits as toy
from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training import corpora
from course_lib.training.corpora import corpus_name, encode_data, load_data, read_corpus, sides

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
    few = dict.fromkeys(toy.SIZES, 0) | {"train": 60, "validation": 10}
    monkeypatch.setattr(toy, "SIZES", few)
    monkeypatch.setattr(toy, "SIZES_OF_TESTS", few | {"train": 0})
    data = load_data("toy")
    assert (len(data.train), len(data.validation), data.name) == (60, 10, "toy")
    assert data.fingerprint == load_data("toy").fingerprint
    moved = data.to("meta")
    assert moved.train.device.type == moved.validation.device.type == "meta"
    both = [sides(read_corpus("toy", split)) for split in ("train", "validation")]
    assert encode_data("toy", *both, data.tokenizer).fingerprint == data.fingerprint


@pytest.mark.parametrize(
    ("asked", "name", "read"),
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
def test_a_name_leads_to_its_sentences(tmp_path, monkeypatch, asked, name, read):
    """The name in full is what a checkpoint has; it leads to the same sentences again."""
    seen = []
    for reader in ("load_multi30k", "read_split", "read_tsv"):
        monkeypatch.setattr(corpora, reader, lambda *where: seen.append(where))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my corpus").mkdir()
    parts = ("my corpus/en-fr", "my corpus/test.en", "my corpus/test.pt-br.gz")
    for file in ("pairs.tsv", "multi30k-x.tsv", "my corpus en-fr.tsv", *parts):
        (tmp_path / file).touch()
    assert corpus_name(*asked) == corpus_name(name) == name
    read_corpus(name, "test")
    assert seen == [read]


@pytest.mark.parametrize("split", ["validation", "val", "dev"])
def test_validation_sentences_are_found_by_any_of_their_names(tmp_path, split):
    for language, text in (("en", "a b\nc\n"), ("fr", "x\ny z\n")):
        for part in ("train", split):
            (tmp_path / f"{part}.{language}").write_text(text)
    name = corpus_name(str(tmp_path), "en", "fr")
    assert list(read_corpus(name, "validation")) == [("a b", "x"), ("c", "y z")]
    data = load_data(name)
    assert len(data.train) == len(data.validation) == 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere.tsv", "There is no corpus nowhere.tsv: it is neither toy nor multi30k"),
        (".", ". is a folder: say which of its languages, such as --from en --to fr."),
        (". en-fr", "Expected test.en.gz or test.en in ., but neither is there"),
        ("multi30k-eo-en", "Expected src to be one of de, en, fr, but got 'eo'."),
    ],
)
def test_a_name_that_leads_nowhere(tmp_path, monkeypatch, name, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(told)):
        read_corpus(name, "test")
