"""Words as tokens: the order of the vocabulary, round trips, and files that are not ours."""

from __future__ import annotations

import doctest
import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text import special, tokenizer, words
from course_lib.text.special import BOS, EOS, PAD, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.generate import generate
from course_lib.text.words import WordTokenizer

TEXTS = ["le chat dort", "le chien voit le chat", "l' eau"]
properties = settings(derandomize=True, deadline=None, max_examples=50, database=None)


@pytest.fixture
def french() -> WordTokenizer:
    return WordTokenizer.from_texts(TEXTS)


@pytest.mark.parametrize("module", [special, tokenizer, words])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0 and outcome.failed == 0


def test_the_most_frequent_word_comes_first_then_the_alphabet_decides(french):
    assert french.vocabulary == (*SPECIAL, "le", "chat", "chien", "dort", "eau", "l'", "voit")
    assert french.vocab_size == 11
    again = WordTokenizer.from_texts(reversed(TEXTS))
    assert again.vocabulary == french.vocabulary


def test_rare_words_and_words_beyond_the_size_are_unknown():
    assert WordTokenizer.from_texts(TEXTS, min_frequency=2).vocabulary[4:] == ("le", "chat")
    assert WordTokenizer.from_texts(TEXTS, max_size=7).vocabulary[4:] == ("le", "chat", "chien")
    few = WordTokenizer.from_texts(TEXTS, max_size=5)
    assert few.encode("le chat dort") == [4, UNK, UNK]
    assert few.unknown("dort le chat dort") == ["dort", "chat"]


def test_it_is_a_tokenizer(french):
    assert isinstance(french, Tokenizer)


def test_round_trip_of_known_text(french):
    for text in TEXTS:
        assert french.decode(french.encode(text)) == text and french.unknown(text) == []
    assert french.encode_all(iter(TEXTS)) == [french.encode(text) for text in TEXTS]


def test_every_sentence_of_the_toy_language_comes_back():
    texts = [pair.tgt_text for pair in generate(200, seed=0)]
    tokenizer = WordTokenizer.from_texts(texts)
    assert all(tokenizer.decode(tokenizer.encode(text)) == text for text in texts)


def test_ids_may_come_as_a_tensor(french):
    ids = torch.tensor([BOS, 4, 5, EOS])
    assert french.decode(ids) == "le chat" and french.tokens(ids) == ["<s>", "le", "chat", "</s>"]


def test_decoding_stops_at_the_end_and_skips_what_is_no_word(french):
    ids = french.encode("le chat")
    assert french.decode([BOS, *ids, EOS, 9, PAD]) == "le chat"
    assert french.decode([PAD, UNK, PAD]) == "<unk>"
    assert french.tokens([BOS, *ids, EOS, PAD]) == ["<s>", "le", "chat", "</s>", "<pad>"]


def test_special_tokens_in_a_text_are_strange_words():
    tokenizer = WordTokenizer.from_texts(["a <pad> </s>", "<unk>"])
    assert tokenizer.vocabulary == (*SPECIAL, "a")
    assert tokenizer.encode("a </s> <pad> a") == [4, UNK, UNK, 4]
    assert tokenizer.unknown("a </s>") == ["</s>"]


def test_one_way_to_write_each_letter():
    composed, taken_apart = "été", "e\N{COMBINING ACUTE ACCENT}te\N{COMBINING ACUTE ACCENT}"
    tokenizer = WordTokenizer.from_texts([taken_apart])
    assert tokenizer.encode(composed) == tokenizer.encode(taken_apart) == [4]
    assert tokenizer.decode([4]) == composed


@properties
@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_is_encoded_and_what_is_lost_is_reported(text, training):
    """Lone surrogates too: Python strings can hold them, UTF-8 files cannot."""
    tokenizer = WordTokenizer.from_texts(["le", training])
    ids = tokenizer.encode(text)
    assert all(0 <= token_id < tokenizer.vocab_size for token_id in ids)
    assert (UNK in ids) == bool(tokenizer.unknown(text))
    if not tokenizer.unknown(text):
        assert tokenizer.decode(ids) == tokenizer.normalise(text)


# ---- files


def test_saved_and_loaded_it_is_the_same(french, tmp_path):
    path = tmp_path / "new folder" / "words.json"
    french.save(path)
    loaded = WordTokenizer.load(path)
    assert loaded.vocabulary == french.vocabulary
    loaded.save(tmp_path / "again.json")
    assert path.read_bytes() == (tmp_path / "again.json").read_bytes()
    assert [file.name for file in path.parent.iterdir()] == ["words.json"]
    assert '"l\'"' in path.read_text(encoding="utf-8")


def test_any_vocabulary_survives_its_file(tmp_path):
    tokenizer = WordTokenizer.from_texts(['日本 \ud800x \N{REPLACEMENT CHARACTER} \x00 "quoted\\'])
    tokenizer.save(tmp_path / "odd.json")
    assert WordTokenizer.load(tmp_path / "odd.json").vocabulary == tokenizer.vocabulary


def content(**changes) -> str:
    return json.dumps({"format": words.FORMAT, "version": 1, "words": ["a"], **changes})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as JSON"),
        ("<html>", "cannot be read as JSON"),
        ("[1]", "it says None"),
        ('{"version": "1.0", "model": {}}', r"it says None.*BpeTokenizer\.load"),
        (content(format="other"), "it says 'other'"),
        (content(version=2), "is of version 2.*up to 1.*Update the course"),
        (content(version="x"), "is of version 'x'"),
        (content(words=None), "Expected a list of words"),
        (content(words=[1]), "damaged.*1, which is no string"),
        (content(words=["a", "b", "a"]), "damaged.*'a' comes 2 times"),
        (content(words=["<pad>"]), "damaged.*<pad> is a special token"),
        (content(words=["two words"]), "damaged.*without white space"),
    ],
)
def test_a_file_that_is_not_ours_is_refused(tmp_path, text, message):
    path = tmp_path / "words.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"(?s){message}"):
        WordTokenizer.load(path)


def test_a_file_that_is_no_text_is_refused_and_one_that_is_not_there_is_missing(tmp_path):
    (tmp_path / "words.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"words\.json is no tokenizer: it cannot be read as text"):
        WordTokenizer.load(tmp_path / "words.json")
    with pytest.raises(FileNotFoundError):
        WordTokenizer.load(tmp_path / "absent.json")


# ---- wrong input


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"texts": "le chat"}, TypeError, r"one string\. Wrap it"),
        ({"texts": []}, ValueError, "at least one word, but there is none"),
        ({"texts": ["", "  "]}, ValueError, "at least one word"),
        ({"texts": TEXTS, "min_frequency": 0}, ValueError, "min_frequency of 1 or more, but got 0"),
        ({"texts": TEXTS, "min_frequency": 4}, ValueError, "'le', is met 3 times. Lower min_frequency"),
        ({"texts": TEXTS, "max_size": 4}, ValueError, "max_size above 4"),
        ({"texts": TEXTS, "max_size": -1}, ValueError, "max_size above 4.*got -1"),
    ],
)
def test_wrong_wishes_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        WordTokenizer.from_texts(**arguments)


@pytest.mark.parametrize("wrong", [-1, 11])
def test_ids_outside_the_vocabulary_are_refused(french, wrong):
    for read in (french.decode, french.tokens):
        with pytest.raises(
            ValueError, match=rf"from 0 to 10.*but got {wrong}\. Were the ids made with another"
        ):
            read([4, wrong])
