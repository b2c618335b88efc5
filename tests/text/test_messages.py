"""Errors for invalid input name what was expected and what was passed: one table for all modules.

Invalid files are covered in `test_corpus.py`, `test_multi30k.py` and `test_download.py`.
"""

from __future__ import annotations

import json
import random

import pytest
import torch

from course_lib.text.batch import make_batch
from course_lib.text.batching import Epochs
from course_lib.text.bpe import BpeTokenizer
from course_lib.text.encoded import encode_ids
from course_lib.text.special import BOS, EOS, PAD
from course_lib.text.toy.generate import DEEP, draw, generate
from course_lib.text.toy.lexicon import check_rule
from course_lib.text.toy.splits import splits
from course_lib.text.word_tokenizer import FORMAT, WordTokenizer
from lessons.l03_lstm_and_gru.tasks import recall


def read(tokenizer_class, text: str):
    return tokenizer_class.from_text(text, path="vocab.json")


def vocabulary(**changes) -> str:
    return json.dumps({"format": FORMAT, "version": 1, "words": ["a"], **changes})


def recall_with(**invalid):
    return recall(torch.Generator(), **{"batch_size": 2, "distance": 3, "vocab_size": 20} | invalid)


BPE = BpeTokenizer.from_texts(["the cat"], vocab_size=120).to_text()
corpus = encode_ids([[4]], [[5]])

CALLS = {  # a pattern that the message matches → the calls that raise it
    # tokenizers
    r"one string.*from_texts\(\[text\]\)": [
        lambda: WordTokenizer.from_texts("le chat"),
        lambda: BpeTokenizer.from_texts("le chat"),
    ],
    r"at least one (word|letter)": [
        lambda: WordTokenizer.from_texts(["", "  "]),
        lambda: BpeTokenizer.from_texts(["", ""]),
    ],
    r"vocab_size of at least \d+.*but got 50": [lambda: BpeTokenizer.from_texts(["a"], vocab_size=50)],
    r"but got 'a' \(2 ×\)": [lambda: WordTokenizer(["a", "b", "a"])],
    r"but got 'two words'": [lambda: WordTokenizer(["two words"])],
    r"but got '<pad>'": [lambda: WordTokenizer(["<pad>"])],
    r"^vocab\.json .*WordTokenizer.*another kind of tokenizer": [
        lambda: read(WordTokenizer, "<html>"),
        lambda: read(WordTokenizer, BPE),
        lambda: read(WordTokenizer, vocabulary(words=[1])),
        lambda: read(WordTokenizer, vocabulary(words=["a", "a"])),
        lambda: read(WordTokenizer, vocabulary(version=2)),
    ],
    r"^vocab\.json .*BpeTokenizer.*another kind of tokenizer": [
        lambda: read(BpeTokenizer, ""),
        lambda: read(BpeTokenizer, vocabulary()),
        lambda: read(BpeTokenizer, BPE.replace('"<s>"', '"<bos>"')),
    ],
    # batches
    r"0 sources and 0 targets": [lambda: make_batch([], [])],
    r"2 sources and 1 targets": [lambda: encode_ids([[4], [5]], [[4]])],
    r"but got (3|2|0|-1)\. PAD, BOS and EOS": [
        lambda: make_batch([[4, EOS]], [[4]]),
        lambda: make_batch([[4]], [[BOS, 4]]),
        lambda: make_batch([[PAD]], [[4]]),
        lambda: make_batch([[-1]], [[4]]),
        lambda: encode_ids([[4]], [[EOS]]),
    ],
    r"src_len of at least 3.*but got 2": [lambda: make_batch([[4, 5]], [[4]], src_len=2)],
    r"tgt_len of at least 3.*but got 0": [lambda: make_batch([[4]], [[4, 5]], tgt_len=0)],
    r"tokens_per_batch of at least 99.*but got 64": [
        lambda: Epochs(corpus, tokens_per_batch=64, seed=0, lengths=(4, 99)),
    ],
    r"from 0 to 0, but got -1 and 0": [lambda: Epochs(corpus, seed=0).seek(-1, 0)],
    r"from 0 to 0, but got 0 and 1": [lambda: Epochs(corpus, seed=0).seek(0, 1)],
    # the toy language, and recall
    r"3 to 40 words.*length.*but got \((2, 5|5, 4|3, 41)\)": [
        lambda: generate(1, seed=0, length=(2, 5)),
        lambda: generate(1, seed=0, length=(5, 4)),
        lambda: generate(1, seed=0, length=(3, 41)),
    ],
    r"5 words .* 3 to 4 .*length=": [
        lambda: next(draw(random.Random(0), length=(5, 5), nesting=DEEP)),
    ],
    r"subjunctive.*gender, plural, .*questions": [lambda: check_rule("subjunctive")],
    r"train, validation, test, long, depth.*trian": [
        lambda: splits(sizes={"trian": 5}),
    ],
    r"distance of 1 .*vocab_size of at least 8.*but got": [
        lambda: recall_with(distance=0),
        lambda: recall_with(vocab_size=7),
    ],
}


@pytest.mark.parametrize("message", CALLS)
def test_invalid_input_is_named_in_the_error(message):
    for call in CALLS[message]:
        with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
            call()
