"""The splits of the toy language: nothing is seen twice, and each test is what it says."""

from __future__ import annotations

import re

import pytest

from course_lib.runtime import data_path
from course_lib.text.special import SPECIAL
from course_lib.text.toy.generate import running_pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.splits import SIZES, SIZES_OF_TESTS, splits

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def toy():
    return splits(seed=0)


def test_every_split_is_whole_and_no_sentence_stands_twice(toy):
    assert {name: len(getattr(toy, name)) for name in SIZES} == SIZES
    every = [pair.src for name in SIZES for pair in getattr(toy, name)]
    assert len(every) == len(set(every))
    assert toy.coreference[:2] == running_pair()


def test_no_translation_of_a_test_is_in_train(toy):
    """Big and little words can share a French one, so this asks for more than different English."""
    train = {pair.tgt for pair in toy.train}
    shared = [pair.src for pair in (*toy.test, *toy.long, *toy.coreference) if pair.tgt in train]
    assert len(shared) <= 3  # "the small cat runs" and "the little cat runs"


def test_long_is_longer_than_all_of_train_and_depth_is_not(toy):
    ends = {
        name: {min(sizes), max(sizes)} for name in SIZES if (sizes := [p.length for p in getattr(toy, name)])
    }
    assert ends["train"] == {3, 20} and ends["long"] == {21, 40} and ends["depth"] == {14, 20}


def test_the_readme_counts_right_and_every_word_of_the_tests_is_known(toy):
    english, french = ({word for p in toy.train for word in getattr(p, side)} for side in ("src", "tgt"))
    for name in SIZES:
        for pair in getattr(toy, name):
            assert english.issuperset(pair.src) and french.issuperset(pair.tgt)
    assert len(english | french) + len(SPECIAL) <= 680  # the size of the toy models' vocabulary
    text, words = data_path("toy", "README.md").read_text(encoding="utf-8"), lexicon()
    n_feelings = sum(not quality.place for quality in words.qualities)
    n_adjectives = len(words.qualities) - n_feelings
    assert f"{len(english)} different words in English, {len(french)} in French" in text
    assert f"{len(words.nouns)} nouns, {n_adjectives} adjectives, {n_feelings} feelings" in text
    assert f"{len(words.verbs)} verbs" in text


def shows(texts: str, one: str, noun: str) -> bool:
    """Whether the words stand together: an adjective before its noun, a verb before its object.

    Read off the sentences, not off the trees that made them.
    """
    forms = {
        f"{form} {verb.particle}".strip() for verb in lexicon().verbs if verb.name == one for form in verb.en
    }
    between = "|".join(["the", "an?", "this", "these", "some", "two", "three", "very"])
    between += "|" + "|".join(quality.en for quality in lexicon().qualities)
    nouns = "|".join(lexicon().noun(noun).en)
    return bool(re.search(rf"\b({'|'.join(forms or [one])}) (({between}) )*({nouns})\b", texts))


def test_recombination_shows_what_train_never_shows(toy):
    train, fresh = (" . ".join(p.src_text for p in pairs) for pairs in (toy.train, toy.recombination))
    assert len(toy.held_out) > 20
    assert [one for one in toy.held_out if shows(train, *one)] == []
    missing = [one for one in toy.held_out if not shows(fresh, *one)]
    assert len(missing) <= 0.05 * len(toy.held_out)  # 500 sentences by chance: a rare one may not be met


def test_coreference_comes_in_minimal_pairs_that_flip_the_pronoun(toy):
    flips = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}
    for first, second in zip(toy.coreference[::2], toy.coreference[1::2], strict=True):
        (place,) = [at for at, (a, b) in enumerate(zip(first.src, second.src, strict=True)) if a != b]
        ((pronoun, noun),), ((same, other),) = first.antecedents, second.antecedents
        assert pronoun == same == place - 2 and noun != other
        said = [
            next(pair.tgt[right] for left, right in pair.links if left == pronoun) for pair in (first, second)
        ]
        assert flips[said[0]] == said[1]


def test_the_seed_decides_and_the_tests_are_the_same_without_train(toy):
    sizes = {"train": 40, "long": 5, "coreference": 4}
    assert splits(seed=5, sizes=sizes) == splits(seed=5, sizes=sizes) != splits(seed=6, sizes=sizes)
    tests = splits(seed=0, sizes=SIZES_OF_TESTS)
    assert tests.train == ()
    assert all(getattr(tests, name) == getattr(toy, name) for name in SIZES.keys() - {"train"})
