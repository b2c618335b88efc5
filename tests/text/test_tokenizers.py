"""Words and subwords as tokens: round trips, what is lost and reported, files, the same every time."""

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
every = pytest.mark.parametrize("one", TOKENIZERS.values(), ids=TOKENIZERS)


# ---- what both promise


@every
def test_known_text_comes_back_and_special_tokens_come_first(one):
    assert one.vocabulary[:4] == SPECIAL == tuple(one.tokens(range(4))) and one.vocab_size == len(
        one.vocabulary
    )
    for text in TEXTS:
        assert one.decode(one.encode(text)) == one.normalise(text) and one.unknown(text) == []
    assert WORDS.normalise(TEXTS[0]) == BPE.normalise(TEXTS[0]) == TEXTS[0]
    assert LOWER.normalise("Zwei WEIßE Männer") == "zwei weiße männer"
    assert one.encode("Ma\N{COMBINING DIAERESIS}nner") == one.encode("Männer") and UNK not in one.encode(
        "Männer"
    )


@every
@properties
@given(text=any_text | st.text("abMännerßé .,'\"<>/su2▁\u0301\t"))
def test_any_text_is_encoded_and_what_is_lost_is_reported(one, text):
    ids = one.encode(text)
    assert all(0 <= token_id < one.vocab_size for token_id in ids) and not {PAD, BOS, EOS} & set(ids)
    assert (UNK in ids) == bool(one.unknown(text))
    assert all(piece and piece in text for piece in one.unknown(text))
    if not one.unknown(text):
        assert one.decode(ids) == one.normalise(text)
        assert one is not BPE or one.normalise(text) == unicodedata.normalize("NFC", text)


@every
def test_all_texts_at_once_are_the_texts_one_by_one(one):
    texts = [*TEXTS, "", " ", " two  spaces ", "e\N{COMBINING ACUTE ACCENT}", "</s>", "\ud800", "▁", "☃"] * 50
    assert one.encode_all(iter(texts)) == [one.encode(text) for text in texts]


@every
def test_decoding_stops_at_the_end_and_skips_what_is_no_word(one):
    ids = one.encode("the cat")
    assert one.decode(torch.tensor([BOS, *ids, EOS, *ids, PAD])) == "the cat"
    assert one.decode([PAD, EOS]) == one.decode([]) == ""


@every
def test_special_tokens_in_a_text_are_no_special_tokens(one):
    assert not {PAD, BOS, EOS} & set(one.encode("the </s> <pad> <s>"))
    assert one is not BPE or one.decode(one.encode("the </s>")) == "the </s>"
    assert one is not WORDS or one.unknown("the </s> <pad> </s>") == ["</s>", "<pad>"]


@every
def test_written_and_read_again_it_is_the_same(one):
    loaded = type(one).from_text(one.to_text())
    for text in [*TEXTS, "Typed </s> AND ☃▁"]:
        assert loaded.encode(text) == one.encode(text)
        assert loaded.decode(loaded.encode(text)) == one.decode(one.encode(text))
    assert loaded.to_text() == one.to_text()


@every
@pytest.mark.parametrize("wrong", [-1, 200])
def test_ids_outside_the_vocabulary_are_refused(one, wrong):
    for read in (one.decode, one.tokens):
        with pytest.raises(
            ValueError, match=rf"from 0 to {one.vocab_size - 1}.*but got {wrong}\. Were the ids"
        ):
            read([4, wrong])


@pytest.mark.parametrize("kind", [WordTokenizer, BpeTokenizer])
@properties
@given(st.lists(any_text, min_size=1, max_size=5))
def test_any_text_can_be_learned_from_and_then_comes_back(kind, texts):
    if kind is WordTokenizer:  # U+001C to U+001F are white space to Python, and letters to the library
        texts = [re.sub("[\x1c-\x1f]", "", text) for text in texts]
    learned = kind.from_texts(["a", *texts])
    for text in texts:
        assert learned.unknown(text) == [] and learned.decode(learned.encode(text)) == learned.normalise(text)


# ---- words


def test_the_most_frequent_word_comes_first_then_the_alphabet_decides():
    french = WordTokenizer.from_texts(FRENCH)
    assert french.vocabulary == (*SPECIAL, "le", "chat", "chien", "dort", "eau", "l'", "voit")
    assert WordTokenizer.from_texts(reversed(FRENCH)).vocabulary == french.vocabulary
    assert french.to_text().startswith(
        '{\n"format": "attention-course word vocabulary",\n"version": 1,\n"words": ['
    )


def test_what_is_unknown_is_named_once():
    french = WordTokenizer.from_texts(FRENCH)
    assert french.unknown("dort  le xyz dort abc xyz") == ["xyz", "abc"] and french.decode([UNK]) == "<unk>"


# ---- subwords


def test_every_space_is_kept_and_new_words_are_pieces():
    for text in ["", " ", " two  spaces ", 'It\'s 2017: "no"?!']:
        assert BPE.decode(BPE.encode(text)) == text
    assert BPE.tokens(BPE.encode("the cat")) == ["▁the", "▁cat"]
    assert len(BPE.encode("catastrophe")) > 2 and BPE.unknown("catastrophe") == []


def test_a_rare_character_is_unknown_and_its_neighbours_are_not():
    assert BPE.decode(BPE.encode("the c☃t")) == "the c<unk>t"
    assert BPE.unknown("the c☃t ☃ 日\tx") == ["☃", "日", "\t"]
    assert BPE.unknown(f"a{MARKER}b\udfff{MARKER}") == [MARKER, "\udfff"]


def test_letters_come_in_met_or_not_and_only_frequent_pairs_are_merged():
    learned = BpeTokenizer.from_texts(["ab ab ac"], vocab_size=150)
    assert learned.vocabulary[-2:] == ("▁a", "▁ab") and learned.unknown("XYZ~") == []


def test_the_order_of_the_texts_does_not_matter():
    shuffled = random.Random(0).sample(TEXTS * 3, len(TEXTS) * 3)
    assert BpeTokenizer.from_texts(iter(shuffled), vocab_size=200).to_text() == BPE.to_text()


@pytest.mark.slow
def test_another_process_learns_the_same():
    """Rust's hash tables have an order of their own in each process: it must not show."""
    program = (
        "import sys, json; from course_lib.text.bpe import BpeTokenizer\n"
        "texts, expected = json.loads(sys.stdin.read())\n"
        "assert BpeTokenizer.from_texts(texts, vocab_size=200).to_text() == expected"
    )
    asked = json.dumps([TEXTS * 3, BPE.to_text()])
    done = [sys.executable, "-c", program]
    subprocess.run(done, input=asked, text=True, cwd=PROJECT_ROOT, check=True, timeout=120)


def test_the_file_is_the_librarys_own():
    library = tokenizers.Tokenizer.from_str(BPE.to_text())
    assert library.encode(TEXTS[0]).ids == BPE.encode(TEXTS[0])
