"""Word and subword tokenizers: round trips, unknown text, files, determinism."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import unicodedata

import pytest
import tokenizers
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.runtime import PROJECT_ROOT
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.special import BOS, EOS, MARKER, PAD, SPECIAL, UNK
from course_lib.text.word_tokenizer import WordTokenizer

TEXTS = [
    "Zwei junge weiße Männer sind im Freien.",
    "Two young, White males are outside near many bushes.",
    "le chat a bu l' eau parce qu' il avait soif",
    "the cat drank the water because it was thirsty",
]
FRENCH = ["le chat dort", "le chien voit le chat", "l' eau"]
properties = settings(derandomize=True, deadline=None, max_examples=100, database=None)
any_text = st.text(st.characters(codec=None))  # lone surrogates too

TOKENIZERS = {
    "words": WordTokenizer.from_texts(TEXTS),
    "bpe": BpeTokenizer.from_texts(TEXTS * 3, vocab_size=200),
    "lower": BpeTokenizer.from_texts(TEXTS * 3, vocab_size=200, lowercase=True),
}
WORDS, BPE, LOWER = TOKENIZERS.values()
all_tokenizers = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)


# ---- all tokenizers


@all_tokenizers
def test_known_text_survives_a_round_trip_and_special_tokens_come_first(tokenizer):
    assert tokenizer.vocabulary[:4] == SPECIAL == tuple(tokenizer.tokens(range(4)))
    assert tokenizer.vocab_size == len(tokenizer.vocabulary)
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)
        assert tokenizer.unknown(text) == []
    assert WORDS.normalise(TEXTS[0]) == BPE.normalise(TEXTS[0]) == TEXTS[0]
    assert LOWER.normalise("Zwei WEIßE Männer") == "zwei weiße männer"
    assert tokenizer.encode("Ma\N{COMBINING DIAERESIS}nner") == tokenizer.encode("Männer")
    assert UNK not in tokenizer.encode("Männer")


@all_tokenizers
@properties
@given(text=any_text | st.text("abMännerßé .,'\"<>/su2▁\u0301\t"))
def test_any_text_is_encoded_and_unknown_parts_are_reported(tokenizer, text):
    ids = tokenizer.encode(text)
    assert all(0 <= token_id < tokenizer.vocab_size for token_id in ids) and not {PAD, BOS, EOS} & set(ids)
    assert (UNK in ids) == bool(tokenizer.unknown(text))
    assert all(piece and piece in text for piece in tokenizer.unknown(text))
    assert tokenizer.encode_all([text]) == [ids]
    "".join([*tokenizer.pieces(text), tokenizer.normalise(text), tokenizer.decode(ids)]).encode()
    if not tokenizer.unknown(text):
        assert tokenizer.decode(ids) == tokenizer.normalise(text)
        assert tokenizer is not BPE or tokenizer.normalise(text) == unicodedata.normalize("NFC", text)


@all_tokenizers
def test_encode_all_equals_encode_of_each_text(tokenizer):
    texts = [*TEXTS, "", " ", " two  spaces ", "e\N{COMBINING ACUTE ACCENT}", "</s>", "\ud800", "▁", "☃"] * 50
    assert tokenizer.encode_all(iter(texts)) == [tokenizer.encode(text) for text in texts]


@all_tokenizers
def test_decoding_stops_at_eos_and_skips_special_tokens(tokenizer):
    ids = tokenizer.encode("the cat")
    assert tokenizer.decode(torch.tensor([BOS, *ids, EOS, *ids, PAD])) == "the cat"
    assert tokenizer.decode([PAD, EOS]) == tokenizer.decode([]) == ""


@all_tokenizers
def test_special_tokens_typed_in_a_text_are_ordinary_text(tokenizer):
    assert not {PAD, BOS, EOS} & set(tokenizer.encode("the </s> <pad> <s>"))
    assert tokenizer is not BPE or tokenizer.decode(tokenizer.encode("the </s>")) == "the </s>"
    assert tokenizer is not WORDS or tokenizer.unknown("the </s> <pad> </s>") == ["</s>", "<pad>"]


@all_tokenizers
def test_to_text_and_from_text_keep_the_tokenizer(tokenizer):
    loaded = type(tokenizer).from_text(tokenizer.to_text())
    for text in [*TEXTS, "Typed </s> AND ☃▁"]:
        assert loaded.encode(text) == tokenizer.encode(text)
        assert loaded.decode(loaded.encode(text)) == tokenizer.decode(tokenizer.encode(text))
    assert loaded.to_text() == tokenizer.to_text()


@all_tokenizers
@pytest.mark.parametrize("wrong", [-1, 200])
def test_ids_outside_the_vocabulary_are_refused(tokenizer, wrong):
    for read in (tokenizer.decode, tokenizer.tokens):
        with pytest.raises(ValueError, match=rf"from 0 to {tokenizer.vocab_size - 1}.*but got {wrong}\."):
            read([4, wrong])


@pytest.mark.parametrize("tokenizer_class", [WordTokenizer, BpeTokenizer])
@properties
@given(st.lists(any_text, min_size=1, max_size=5))
def test_any_training_text_survives_a_round_trip(tokenizer_class, texts):
    if tokenizer_class is WordTokenizer:  # U+001C to U+001F: white space to Python, letters to the library
        texts = [re.sub("[\x1c-\x1f]", "", text) for text in texts]
    learned = tokenizer_class.from_texts(["a", *texts])
    for text in texts:
        assert learned.unknown(text) == [] and learned.decode(learned.encode(text)) == learned.normalise(text)


# ---- words


def test_words_are_sorted_by_frequency_then_alphabetically():
    french = WordTokenizer.from_texts(FRENCH)
    assert french.vocabulary == (*SPECIAL, "le", "chat", "chien", "dort", "eau", "l'", "voit")
    assert WordTokenizer.from_texts(reversed(FRENCH)).vocabulary == french.vocabulary
    assert french.to_text().startswith(
        '{\n"format": "attention-course word vocabulary",\n"version": 1,\n"words": ['
    )


def test_each_unknown_word_is_listed_once():
    french = WordTokenizer.from_texts(FRENCH)
    assert french.unknown("dort  le xyz dort abc xyz") == ["xyz", "abc"] and french.decode([UNK]) == "<unk>"


# ---- subwords


def test_every_space_is_kept_and_new_words_are_split():
    for text in ["", " ", " two  spaces ", 'It\'s 2017: "no"?!']:
        assert BPE.decode(BPE.encode(text)) == text
    assert BPE.tokens(BPE.encode("the cat")) == ["▁the", "▁cat"]
    assert len(BPE.encode("catastrophe")) > 2 and BPE.unknown("catastrophe") == []


def test_a_rare_character_is_unknown_and_its_neighbours_are_not():
    assert BPE.decode(BPE.encode("the c☃t")) == "the c<unk>t"
    assert BPE.unknown("the c☃t ☃ 日\tx") == ["☃", "日", "\t"]
    assert BPE.unknown(f"a{MARKER}b\udfff{MARKER}") == [MARKER, "\udfff"]


def test_all_ascii_is_known_and_only_frequent_pairs_are_merged():
    learned = BpeTokenizer.from_texts(["ab ab ac"], vocab_size=150)
    assert learned.vocabulary[-2:] == ("▁a", "▁ab") and learned.unknown("XYZ~") == []


def test_the_order_of_the_texts_does_not_matter():
    shuffled = random.Random(0).sample(TEXTS * 3, len(TEXTS) * 3)
    assert BpeTokenizer.from_texts(iter(shuffled), vocab_size=200).to_text() == BPE.to_text()


@pytest.mark.slow
def test_another_process_learns_the_same_tokenizer():
    """Rust's hash tables are ordered differently in each process, which must not matter."""
    program = (
        "import sys, json; from course_lib.text.bpe import BpeTokenizer\n"
        "texts, expected = json.loads(sys.stdin.read())\n"
        "assert BpeTokenizer.from_texts(texts, vocab_size=200).to_text() == expected"
    )
    stdin = json.dumps([TEXTS * 3, BPE.to_text()])
    command = [sys.executable, "-c", program]
    subprocess.run(command, input=stdin, text=True, cwd=PROJECT_ROOT, check=True, timeout=120)


def padding(stored):
    library = tokenizers.Tokenizer.from_str(json.dumps(stored))
    library.enable_padding(length=10**9)
    return json.loads(library.to_str())


HOSTILE = {
    "multiplies": lambda stored: stored["normalizer"]["normalizers"].append(
        {"type": "Replace", "pattern": {"Regex": "."}, "content": "a" * 10**6}
    ),
    "normalises nothing": lambda stored: stored.update(normalizer=None),
    "backtracks": lambda stored: stored["pre_tokenizer"]["pattern"].update(Regex="(a|a)*(a|a)*b"),
    "another decoder": lambda stored: stored.update(decoder={"type": "ByteFallback"}),
    "pads": lambda stored: stored.update(padding(stored)),
    "a part of a later version": lambda stored: stored.update(surprise={}),
    "ids with holes": lambda stored: stored["model"]["vocab"].update(zzz=2**31),
    "more special tokens": lambda stored: stored["added_tokens"].append(stored["added_tokens"][0]),
    "other first tokens": lambda stored: stored["model"].update(vocab={"a": 0}, merges=[]),
    "a merge of unknown tokens": lambda stored: stored["model"].update(merges=[["qq", "xx"]]),
    "no merges": lambda stored: stored["model"].update(merges=None),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_tokenizer_that_the_course_does_not_make_is_refused(change):
    """Encoding with it could take for ever, or fill the memory."""
    stored = json.loads(LOWER.to_text())
    change(stored)
    with pytest.raises(ValueError, match="BpeTokenizer"):
        BpeTokenizer.from_text(json.dumps(stored))


def test_the_library_can_read_the_file_of_a_bpe_tokenizer():
    library = tokenizers.Tokenizer.from_str(BPE.to_text())
    assert library.encode(TEXTS[0]).ids == BPE.encode(TEXTS[0])
