"""Subwords: exact round trips on real lines, no exception on any text, the same vocabulary every time."""

from __future__ import annotations

import doctest
import gzip
import json
import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.runtime import PROJECT_ROOT
from course_lib.text import bpe
from course_lib.text.bpe import MARKER, BpeTokenizer
from course_lib.text.special import BOS, EOS, PAD, SPECIAL, UNK
from course_lib.text.tokenizer import Tokenizer
from course_lib.text.toy.generate import generate

TEXTS = [
    "Zwei junge weiße Männer sind im Freien.",
    "Two young, White males are outside near many bushes.",
    "le chat a bu l' eau parce qu' il avait soif",
    "the cat drank the water because it was thirsty",
]
MULTI30K = Path(os.environ.get("COURSE_MULTI30K") or PROJECT_ROOT.parent / "shared" / "data" / "multi30k")
properties = settings(derandomize=True, deadline=None, max_examples=100, database=None)
any_text = st.text(st.characters(codec=None))  # lone surrogates too

SMALL = BpeTokenizer.from_texts(TEXTS * 3, vocab_size=200)
LOWER = BpeTokenizer.from_texts(TEXTS * 3, vocab_size=200, lowercase=True)


def lines(name: str) -> list[str]:
    with gzip.open(MULTI30K / f"{name}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def test_examples_in_docstrings():
    outcome = doctest.testmod(bpe, optionflags=doctest.ELLIPSIS)
    assert outcome.attempted > 0 and outcome.failed == 0


# ---- what it makes of text


def test_it_is_a_tokenizer_with_our_special_tokens():
    assert isinstance(SMALL, Tokenizer)
    assert SMALL.vocab_size == 200
    assert tuple(SMALL.tokens(range(4))) == SPECIAL


def test_round_trips_keep_every_character_and_every_space():
    for text in [*TEXTS, "", " ", " two  spaces ", 'It\'s 2017: "no"?!', "near"]:
        assert SMALL.decode(SMALL.encode(text)) == text, text


def test_all_texts_at_once_are_the_texts_one_by_one():
    texts = [*TEXTS, "", " ", " two  spaces ", "e\N{COMBINING ACUTE ACCENT}", "</s>", "\ud800", "▁", "☃"] * 50
    assert SMALL.encode_all(iter(texts)) == [SMALL.encode(text) for text in texts]


def test_frequent_words_are_one_token_and_new_words_are_pieces():
    assert SMALL.tokens(SMALL.encode("the cat")) == ["▁the", "▁cat"]
    assert len(SMALL.encode("catastrophe")) > 2
    assert SMALL.unknown("catastrophe") == []


def test_one_vocabulary_serves_both_languages():
    shared = BpeTokenizer.from_texts(["Bus Taxi hotel", "Bus Taxi Hotel"] * 4, vocab_size=140)
    assert shared.tokens(shared.encode("Bus Taxi")) == ["▁Bus", "▁Taxi"]


def test_lower_casing_is_all_that_changes():
    assert (
        LOWER.decode(LOWER.encode("Zwei WEIßE Männer"))
        == "zwei weiße männer"
        == LOWER.normalise("Zwei WEIßE Männer")
    )
    assert not any(token.isupper() for token in LOWER.tokens(range(4, LOWER.vocab_size)))


def test_one_way_to_write_each_letter():
    assert SMALL.encode("Ma\N{COMBINING DIAERESIS}nner") == SMALL.encode("Männer")


def test_a_rare_character_is_unknown_and_its_neighbours_are_not():
    ids = SMALL.encode("the c☃t")
    assert ids.count(UNK) == 1 and SMALL.decode(ids) == "the c<unk>t"
    assert SMALL.unknown("the c☃t ☃ 日\tx") == ["☃", "日", "\t"]


@pytest.mark.parametrize("lost", [MARKER, "\ud800", "a▁b", "\udfff▁"])
def test_what_no_vocabulary_can_hold_is_reported(lost):
    assert UNK in SMALL.encode(lost)
    assert SMALL.unknown(lost) == [sign for sign in lost if sign not in "ab"]


def test_special_tokens_in_a_text_are_plain_characters():
    ids = SMALL.encode("the </s> <pad>")
    assert min(ids) > EOS and SMALL.decode(ids) == "the </s> <pad>"


def test_decoding_stops_at_the_end_and_skips_what_is_no_word():
    ids = SMALL.encode("the cat")
    assert SMALL.decode([BOS, *ids, EOS, *ids, PAD]) == "the cat"
    assert SMALL.decode([PAD, EOS]) == SMALL.decode([]) == ""


@properties
@given(any_text, st.sampled_from([SMALL, LOWER]))
def test_any_text_is_encoded_and_what_is_lost_is_reported(text, tokenizer):
    ids = tokenizer.encode(text)
    assert all(0 <= token_id < tokenizer.vocab_size for token_id in ids)
    assert not {PAD, BOS, EOS} & set(ids)
    assert (UNK in ids) == bool(tokenizer.unknown(text))
    if not tokenizer.unknown(text):
        assert tokenizer.decode(ids) == tokenizer.normalise(text)


@properties
@given(st.text("abMännerßé .,'\"<>/su2▁\u0301\t"))
def test_text_near_the_training_text_comes_back(text):
    back = SMALL.decode(SMALL.encode(text))
    assert "<unk>" in back or back == unicodedata.normalize("NFC", text)


@properties
@given(st.lists(any_text, min_size=1, max_size=5))
def test_any_text_can_be_learned_from_and_then_comes_back(texts):
    tokenizer = BpeTokenizer.from_texts(["a", *texts], vocab_size=400, min_frequency=1)
    for text in texts:
        if not set(tokenizer.unknown(text)):
            assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)
        assert all(sign == MARKER or "\ud800" <= sign <= "\udfff" for sign in tokenizer.unknown(text))


@pytest.mark.slow
def test_every_sentence_of_the_toy_language_comes_back():
    pairs = generate(1000, seed=0)
    texts = [text for pair in pairs for text in (pair.src_text, pair.tgt_text)]
    tokenizer = BpeTokenizer.from_texts(texts, vocab_size=600)
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text)) == text and tokenizer.unknown(text) == []


@pytest.mark.slow
def test_every_line_of_multi30k_comes_back():
    if not (MULTI30K / "train.en.gz").exists():
        pytest.skip(f"Multi30k is not at {MULTI30K}; name its folder in COURSE_MULTI30K")
    train = {name: lines(f"train.{name}") for name in ("en", "de", "fr")}
    tokenizer = BpeTokenizer.from_texts([line for text in train.values() for line in text])
    assert tokenizer.vocab_size == 8000
    held_out = [
        line for part in ("val", "test_2016_flickr") for name in train for line in lines(f"{part}.{name}")
    ]
    for line in [*train["en"], *train["de"], *train["fr"], *held_out]:
        assert tokenizer.decode(tokenizer.encode(line)) == unicodedata.normalize("NFC", line)
    assert not any(map(tokenizer.unknown, held_out))


# ---- the same every time


def test_the_order_of_the_texts_does_not_matter():
    shuffled = random.Random(0).sample(TEXTS * 3, len(TEXTS) * 3)
    again = BpeTokenizer.from_texts(iter(shuffled), vocab_size=200)
    assert again.merges == SMALL.merges
    assert again.tokens(range(200)) == SMALL.tokens(range(200))


@pytest.mark.slow
def test_another_process_learns_the_same(tmp_path):
    """Rust's hash tables have an order of their own in each process: it must not show."""
    program = (
        "import sys, json; from pathlib import Path; from course_lib.text.bpe import BpeTokenizer\n"
        "tokenizer = BpeTokenizer.from_texts(json.loads(sys.argv[1]), vocab_size=200)\n"
        "tokenizer.save(Path(sys.argv[2]))"
    )
    arguments = [json.dumps(TEXTS * 3), str(tmp_path / "theirs.json")]
    subprocess.run([sys.executable, "-c", program, *arguments], cwd=PROJECT_ROOT, check=True, timeout=120)
    SMALL.save(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_letters_come_in_met_or_not_and_only_frequent_pairs_are_merged():
    bare = BpeTokenizer.from_texts(["ab ab ac"], vocab_size=50, alphabet="")
    assert bare.tokens(range(4, bare.vocab_size)) == ["a", "b", "c", "▁", "▁a", "▁ab"]
    assert "Z" in SMALL.alphabet and BpeTokenizer.from_texts(["ab"], vocab_size=150).unknown("XYZ~") == []
    assert BpeTokenizer.from_texts(["ab ab ac"], vocab_size=50, alphabet="", min_frequency=3).merges == [
        ("▁", "a")
    ]


# ---- files


@pytest.mark.parametrize("tokenizer", [SMALL, LOWER], ids=["as written", "lower case"])
def test_saved_and_loaded_it_is_the_same(tokenizer, tmp_path):
    path = tmp_path / "new folder" / "bpe.json"
    tokenizer.save(path)
    loaded = BpeTokenizer.load(path)
    for text in [*TEXTS, "Typed </s> AND ☃▁"]:
        assert loaded.encode(text) == tokenizer.encode(text)
        assert loaded.decode(loaded.encode(text)) == tokenizer.decode(tokenizer.encode(text))
    loaded.save(tmp_path / "again.json")
    assert path.read_bytes() == (tmp_path / "again.json").read_bytes()


def test_a_vocabulary_may_hold_any_word(tmp_path):
    tokenizer = BpeTokenizer.from_texts(["-Lowercase", "-Lowercase"], vocab_size=150)
    assert "Lowercase" in tokenizer.tokens(
        tokenizer.encode("-Lowercase")
    )  # also a setting's name in the file
    tokenizer.save(tmp_path / "bpe.json")
    assert BpeTokenizer.load(tmp_path / "bpe.json").normalise("A") == "A"


def test_the_file_is_the_librarys_own(tmp_path):
    SMALL.save(tmp_path / "bpe.json")
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "bpe.json"))
    assert library.encode(TEXTS[0]).ids == SMALL.encode(TEXTS[0])
    assert library.decode(SMALL.encode(TEXTS[0])) == TEXTS[0]


def changed(tmp_path: Path, change) -> Path:
    SMALL.save(tmp_path / "bpe.json")
    content = json.loads((tmp_path / "bpe.json").read_text(encoding="utf-8"))
    change(content)
    (tmp_path / "bpe.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path / "bpe.json"


CUTS_AT_NINE = {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}


def swap_special(content):
    vocab = content["model"]["vocab"]
    vocab["<s>"], vocab["</s>"] = 3, 2
    for token in content["added_tokens"]:
        token["id"] = vocab[token["content"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(normalizer=None),
        lambda content: content.update(pre_tokenizer=None),
        lambda content: content.update(decoder=None),
        lambda content: content.update(truncation=CUTS_AT_NINE),
        lambda content: content["model"].update(fuse_unk=True),
        lambda content: content["model"].update(dropout=0.1),
        lambda content: content["model"]["vocab"].update({"▁water": 300}),  # leaves a number without a token
        swap_special,
    ],
)
def test_another_kind_of_tokenizer_is_refused(tmp_path, change):
    with pytest.raises(ValueError, match="none of this course"):
        BpeTokenizer.load(changed(tmp_path, change))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(version="2.0"),
        lambda content: content["model"].update(type="Future"),
        lambda content: content["model"]["merges"].append(["☃", "☃"]),
        lambda content: content.pop("model"),
    ],
)
def test_a_newer_or_damaged_file_is_refused(tmp_path, change):
    with pytest.raises(ValueError, match=r"bpe\.json is no tokenizer that this version"):
        BpeTokenizer.load(changed(tmp_path, change))


@pytest.mark.parametrize("content", [b"", b"<html>", b'{"format": "attention-course word vocabulary"}'])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "bpe.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"bpe\.json is no tokenizer.*WordTokenizer\.load"):
        BpeTokenizer.load(tmp_path / "bpe.json")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "bpe.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"bpe\.json is no tokenizer: it cannot be read as text"):
        BpeTokenizer.load(tmp_path / "bpe.json")


def test_a_file_that_is_not_there_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        BpeTokenizer.load(tmp_path / "bpe.json")


# ---- wrong input


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"texts": "the cat"}, TypeError, r"one string\. Wrap it"),
        ({"texts": []}, ValueError, "at least one character"),
        ({"texts": ["", ""]}, ValueError, "at least one character"),
        ({"texts": TEXTS, "min_frequency": 0}, ValueError, "min_frequency of 1 or more, but got 0"),
        ({"texts": TEXTS, "vocab_size": 50}, ValueError, r"vocab_size of at least \d+.*but got 50"),
        ({"texts": TEXTS, "vocab_size": -1}, ValueError, r"vocab_size of at least \d+.*but got -1"),
    ],
)
def test_wrong_wishes_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        BpeTokenizer.from_texts(**arguments)


@pytest.mark.parametrize("wrong", [-1, 200])
def test_ids_outside_the_vocabulary_are_refused(wrong):
    for read in (SMALL.decode, SMALL.tokens):
        with pytest.raises(ValueError, match=rf"from 0 to 199.*but got {wrong}"):
            read([4, wrong])
