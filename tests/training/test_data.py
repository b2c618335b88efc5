"""The fingerprint of training data: any other sentence, order or tokenizer is other data."""

from __future__ import annotations

from course_lib.text.word_tokenizer import WordTokenizer
from course_lib.training.data import encode_data

WORDS = ["a", "b", "c"]
TRAIN, VALIDATION = (["a b", "b"], ["c", "c b"]), (["a"], ["c c"])


def fingerprint(train=TRAIN, validation=VALIDATION, *, name="few", words=WORDS) -> str:
    return encode_data(name, train, validation, WordTokenizer(words)).fingerprint


def test_the_fingerprint_depends_on_every_sentence_and_the_tokenizer_but_not_on_the_name():
    others = [
        fingerprint(train=(["a b", "a"], TRAIN[1])),
        fingerprint(train=(TRAIN[0], ["c", "c a"])),
        fingerprint(train=(TRAIN[0][::-1], TRAIN[1][::-1])),
        fingerprint(validation=(["b"], VALIDATION[1])),
        fingerprint(validation=(VALIDATION[0], ["c b"])),
        fingerprint(train=VALIDATION, validation=TRAIN),
        fingerprint(words=WORDS[::-1]),
    ]
    assert len({fingerprint(), *others}) == 1 + len(others)
    assert fingerprint(name="moved") == fingerprint()

    assert fingerprint(train=(["ab"], ["c"])) != fingerprint(
        train=(["a"], ["bc"])
    )  # the same letters in order
