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


def test_sizes(toy):
    assert {name: len(getattr(toy, name)) for name in SIZES} == SIZES


def test_no_sentence_stands_twice(toy):
    every = [pair.src for name in SIZES for pair in getattr(toy, name)]
    assert len(every) == len(set(every)) == sum(SIZES.values())


def test_no_translation_of_a_test_is_in_train(toy):
    """Big and little words can share a French one, so this asks for more than different English."""
    train = {pair.tgt for pair in toy.train}
    shared = [
        pair.src
        for name in ("test", "long", "coreference")
        for pair in getattr(toy, name)
        if pair.tgt in train
    ]
    assert len(shared) <= 3  # "the small cat runs" and "the little cat runs"


def test_long_is_longer_than_all_of_train(toy):
    longest = max(pair.length for pair in toy.train)
    assert longest == 20 and min(pair.length for pair in toy.long) > longest
    assert max(pair.length for pair in toy.long) == 40


def test_every_word_of_the_tests_is_known(toy):
    for side in ("src", "tgt"):
        known = {word for pair in toy.train for word in getattr(pair, side)}
        for name in SIZES:
            assert {word for pair in getattr(toy, name) for word in getattr(pair, side)} <= known


def test_the_readme_counts_right(toy):
    text = data_path("toy", "README.md").read_text(encoding="utf-8")
    english, french = (
        {word for pair in toy.train for word in getattr(pair, side)} for side in ("src", "tgt")
    )
    assert f"{len(english)} different words in English, {len(french)} in French" in text
    assert len(english | french) + len(SPECIAL) <= 680  # the size of the toy models' vocabulary
    words = lexicon()
    n_feelings = sum(not quality.place for quality in words.qualities)
    assert (
        f"{len(words.nouns)} nouns, {len(words.qualities) - n_feelings} adjectives, {n_feelings} feel" in text
    )
    assert f"{len(words.verbs)} verbs" in text


PAST = {"see": "saw", "find": "found", "eat": "ate", "drink": "drank", "buy": "bought", "sell": "sold"}
PAST |= {"take": "took", "wear": "wore", "carry": "carries|carried"}
PLURALS = {"man": "men", "woman": "women", "mouse": "mice", "wolf": "wolves"}
DETERMINER = r"(?:the|a|an|this|these|some|two|three)"
ADJECTIVE = (
    r"(?:very|big|small|little|young|old|beautiful|good|new|fat|red|white|black|cold|hot|ripe|sweet|heavy|shady|"
    r"empty|clean|dirty|quiet|tired|sad|rich|happy)"
)


def shows(texts: str, one: str, noun: str) -> bool:
    """Whether the words stand together: an adjective before its noun, a verb before its object.

    Read off the sentences, not off the trees that made them.
    """
    verb, _, particle = one.partition(" ")
    verb = rf"(?:{verb}(?:s|es|d|ed)?|{PAST.get(verb, verb)})"
    what = rf"(?:{noun}(?:s|es)?|{PLURALS.get(noun, noun)})"
    first = rf"{verb} {particle}".strip()
    return bool(re.search(rf"\b{first} (?:{DETERMINER} )?(?:{ADJECTIVE} )*{what}\b", texts))


def test_recombination_shows_what_train_never_shows(toy):
    train = "\n".join(pair.src_text for pair in toy.train)
    fresh = "\n".join(pair.src_text for pair in toy.recombination)
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
        assert first.src[:pronoun] == second.src[:pronoun]
        said = [
            next(pair.tgt[right] for left, right in pair.links if left == pronoun) for pair in (first, second)
        ]
        assert flips[said[0]] == said[1]


def test_the_running_pair_opens_coreference_and_stands_nowhere_else(toy):
    assert toy.coreference[:2] == running_pair()
    others = {pair.src for name in SIZES if name != "coreference" for pair in getattr(toy, name)}
    assert not others & {pair.src for pair in running_pair()}


def test_the_same_seed_gives_the_same_splits():
    sizes = {"train": 40, "long": 5, "coreference": 4}
    assert splits(seed=5, sizes=sizes) == splits(seed=5, sizes=sizes) != splits(seed=6, sizes=sizes)


def test_a_split_that_is_not_asked_for_is_empty():
    assert splits(sizes={"test": 3}).train == ()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"trian": 5},
            "no split trian. There are: train, validation, test, long, depth, recombination, coreference",
        ),
        ({"train": -1}, "0 sentences or more; sizes asks for {'train': -1}"),
        ({"coreference": 3}, "come in pairs, so their number is even; it was 3"),
    ],
)
def test_sizes_that_make_no_sense(sizes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        splits(sizes=sizes)


def test_the_tests_are_the_same_without_the_sentences_to_learn_from(toy):
    tests = splits(seed=0, sizes=SIZES_OF_TESTS)
    assert tests.train == ()
    for name in SIZES.keys() - {"train"}:
        assert getattr(tests, name) == getattr(toy, name), name
