"""A wrong input gets an error that says what was expected, what came and what to do: one table for all.

What files can hold wrongly is in `test_corpus.py`, `test_multi30k.py` and `test_download.py`.
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


def read(kind, text: str):
    return kind.from_text(text, path="here")


def vocabulary(**changes) -> str:
    return json.dumps({"format": FORMAT, "version": 1, "words": ["a"], **changes})


def recalled(**wrong):
    return recall(torch.Generator(), **{"batch_size": 2, "distance": 3, "vocab_size": 20} | wrong)


BPE = BpeTokenizer.from_texts(["the cat"], vocab_size=120).to_text()
corpus = encode_ids([[4]], [[5]])

BAD = {
    # tokenizers
    r"several texts.*one string\. Wrap it": [
        lambda: WordTokenizer.from_texts("le chat"),
        lambda: BpeTokenizer.from_texts("le chat"),
    ],
    r"at least one (word|letter).*Is the file empty": [
        lambda: WordTokenizer.from_texts(["", "  "]),
        lambda: BpeTokenizer.from_texts(["", ""]),
    ],
    r"vocab_size of at least \d+.*but got 50": [lambda: BpeTokenizer.from_texts(["a"], vocab_size=50)],
    r"each once.*but got 'a' \(2 ×\)": [lambda: WordTokenizer(["a", "b", "a"])],
    r"without white space.*but got 'two words'": [lambda: WordTokenizer(["two words"])],
    r"no special token, but got '<pad>'": [lambda: WordTokenizer(["<pad>"])],
    r"^here is no word vocabulary.*BpeTokenizer\.from_text; a newer file needs a newer course": [
        lambda: read(WordTokenizer, "<html>"),
        lambda: read(WordTokenizer, BPE),
        lambda: read(WordTokenizer, vocabulary(words=[1])),
        lambda: read(WordTokenizer, vocabulary(words=["a", "a"])),
        lambda: read(WordTokenizer, vocabulary(version=2)),
    ],
    r"^here is no BPE tokenizer.*WordTokenizer\.from_text": [
        lambda: read(BpeTokenizer, ""),
        lambda: read(BpeTokenizer, vocabulary()),
        lambda: read(BpeTokenizer, BPE.replace('"<s>"', '"<bos>"')),
    ],
    # batches
    r"at least one pair.*0 sources and 0 targets": [lambda: make_batch([], [])],
    r"as many targets as sources.*2 sources and 1 targets": [lambda: encode_ids([[4], [5]], [[4]])],
    r"words alone.*but got (3|2|0|-1)\. .*leave them out": [
        lambda: make_batch([[4, EOS]], [[4]]),
        lambda: make_batch([[4]], [[BOS, 4]]),
        lambda: make_batch([[PAD]], [[4]]),
        lambda: make_batch([[-1]], [[4]]),
        lambda: encode_ids([[4]], [[EOS]]),
    ],
    r"src_len of at least 3.*but got 2": [lambda: make_batch([[4, 5]], [[4]], src_len=2)],
    r"tgt_len of at least 3.*but got 0": [lambda: make_batch([[4]], [[4, 5]], tgt_len=0)],
    r"n_rows of at least 2.*but got 1": [lambda: make_batch([[4], [5]], [[4], [5]], n_rows=1)],
    r"at least 99, one row of the longest shape, but got 64": [
        lambda: Epochs(corpus, tokens_per_batch=64, seed=0, lengths=(4, 99)),
    ],
    r"from 0 to 0, but got -1 and 0.*another corpus": [lambda: Epochs(corpus, seed=0).seek(-1, 0)],
    r"from 0 to 0, but got 0 and 1.*another corpus": [lambda: Epochs(corpus, seed=0).seek(0, 1)],
    # the toy language, and recall
    r"has 3 to 40 words, .* such as .* It was \((2, 5|5, 4|3, 41)\)": [
        lambda: generate(1, seed=0, length=(2, 5)),
        lambda: generate(1, seed=0, length=(5, 4)),
        lambda: generate(1, seed=0, length=(3, 41)),
    ],
    r"No sentence of 5 words .* 3 to 4 deep\. Ask for longer": [
        lambda: next(draw(random.Random(0), length=(5, 5), nesting=DEEP)),
    ],
    r"no rule subjunctive\. It has: gender, plural, .*questions": [lambda: check_rule("subjunctive")],
    r"no split trian. There are: train, validation, test, long, depth": [
        lambda: splits(sizes={"trian": 5}),
    ],
    r"distance of 1 or more, and a vocab_size of at least 8.*but got": [
        lambda: recalled(distance=0),
        lambda: recalled(vocab_size=7),
    ],
}


@pytest.mark.parametrize("message", BAD)
def test_a_wrong_input_is_named(message):
    for call in BAD[message]:
        with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
            call()
