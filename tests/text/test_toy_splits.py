"""The splits of the toy language: no sentence twice, and each test set has the property it is named after."""

from __future__ import annotations

import gzip
import re

import pytest

from course_lib.runtime import data_path
from course_lib.text.special import SPECIAL
from course_lib.text.toy import stored
from course_lib.text.toy.generate import running_pair
from course_lib.text.toy.lexicon import lexicon
from course_lib.text.toy.splits import SIZES, TEST_SIZES, draw_splits, splits

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def toy():
    return splits(seed=0)


def test_every_split_has_its_size_and_no_sentence_occurs_twice(toy):
    assert {name: len(getattr(toy, name)) for name in SIZES} == SIZES
    sources = [pair.src for name in SIZES for pair in getattr(toy, name)]
    assert len(sources) == len(set(sources))
    assert toy.coreference[:2] == running_pair()


def test_hardly_any_translation_of_a_test_is_in_train(toy):
    """Two English sentences can share a translation, so different English is not enough."""
    train = {pair.tgt for pair in toy.train}
    shared = [pair.src for pair in (*toy.test, *toy.long, *toy.coreference) if pair.tgt in train]
    assert len(shared) <= 3  # "the small cat runs" and "the little cat runs"


def test_long_is_longer_than_all_of_train_and_depth_is_not(toy):
    for name, ends in {"train": (3, 20), "long": (21, 40), "depth": (14, 20)}.items():
        lengths = [pair.length for pair in getattr(toy, name)]
        assert (min(lengths), max(lengths)) == ends


def test_the_readme_has_the_right_counts_and_train_covers_every_word(toy):
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


def contains(texts: str, word: str, noun: str) -> bool:
    """Whether the combination occurs: an adjective before its noun, or a verb before its object.

    Read from the sentences, independently of the trees that they were made from.
    """
    forms = {
        f"{form} {verb.particle}".strip() for verb in lexicon().verbs if verb.name == word for form in verb.en
    }
    between = "|".join(["the", "an?", "this", "these", "some", "two", "three", "very"])
    between += "|" + "|".join(quality.en for quality in lexicon().qualities)
    nouns = "|".join(lexicon().noun(noun).en)
    return bool(re.search(rf"\b({'|'.join(forms or [word])}) (({between}) )*({nouns})\b", texts))


def test_held_out_combinations_occur_in_recombination_and_nowhere_else(toy):
    texts = {name: " . ".join(pair.src_text for pair in getattr(toy, name)) for name in SIZES}
    recombination = texts.pop("recombination")
    others = " . ".join(texts.values())
    assert len(toy.held_out) > 20
    assert [pair for pair in toy.held_out if contains(others, *pair)] == []
    missing = [pair for pair in toy.held_out if not contains(recombination, *pair)]
    assert len(missing) <= 0.05 * len(toy.held_out)  # a rare one may not occur in 500 random sentences


def test_coreference_consists_of_minimal_pairs_that_swap_the_pronoun(toy):
    swapped = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}
    for first, second in zip(toy.coreference[::2], toy.coreference[1::2], strict=True):
        words = enumerate(zip(first.src, second.src, strict=True))
        (difference,) = [position for position, (word, other) in words if word != other]
        ((pronoun, noun),), ((other_pronoun, other_noun),) = first.antecedents, second.antecedents
        assert pronoun == other_pronoun == difference - 2 and noun != other_noun
        french = [
            next(pair.tgt[right] for left, right in pair.links if left == pronoun) for pair in (first, second)
        ]
        assert swapped[french[0]] == french[1]


def test_the_seed_determines_the_splits_and_tests_do_not_depend_on_train(toy):
    sizes = {"train": 40, "long": 5, "coreference": 4}
    drawn_again = draw_splits(5, sizes)  # not looked up
    assert splits(seed=5, sizes=sizes) == drawn_again != splits(seed=6, sizes=sizes)
    tests = splits(seed=0, sizes=TEST_SIZES)
    assert tests.train == ()
    assert all(getattr(tests, name) == getattr(toy, name) for name in SIZES.keys() - {"train"})


# ---- the stored splits


@pytest.fixture(scope="module")
def drawn():
    return draw_splits(0, SIZES)


def fields(pairs) -> list[str]:
    """Unlike equality, it distinguishes a list from a tuple."""
    return [f"{p.src} {p.tgt} {sorted(p.links)} {sorted(p.phenomena)} {p.antecedents}" for p in pairs]


def test_the_stored_splits_are_those_that_are_drawn(toy, drawn):
    """If it fails, sentences have changed, and with them every stored result: see data/toy/README.md."""
    assert stored.read(SIZES) is not None and toy == drawn
    assert all(fields(getattr(toy, name)) == fields(getattr(drawn, name)) for name in SIZES)
    written, file = stored.packed(vars(drawn)), data_path("toy", stored.FILE)
    assert gzip.decompress(written) == gzip.decompress(file.read_bytes())  # zlibs compress differently


def test_fewer_of_train_are_the_first_ones(toy):
    sizes = SIZES | {"train": 300}
    read, drawn = stored.read(sizes), draw_splits(0, sizes)
    assert read == {name: getattr(drawn, name) for name in SIZES}
    assert read["train"] == toy.train[:300]


def test_a_file_that_is_missing_damaged_or_of_another_grammar_is_not_read(tmp_path, monkeypatch):
    """The sentences are then drawn, and those of sizes that are not stored too."""
    whole = data_path("toy", stored.FILE).read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    other = gzip.compress(b"0" * 64 + gzip.decompress(whole)[64:], mtime=0)
    file = tmp_path / stored.FILE
    there = {stored.FILE: file}
    monkeypatch.setattr(stored, "data_path", lambda *parts: there.get(parts[-1]) or data_path(*parts))
    assert stored.read(TEST_SIZES) is None
    for unreadable in (whole[:-100], damaged, b"", other):
        file.write_bytes(unreadable)
        assert stored.read(TEST_SIZES) is None
    file.write_bytes(whole)
    assert stored.read(SIZES | {"train": 20_001}) is stored.read(TEST_SIZES | {"test": 5}) is None
    assert stored.read(TEST_SIZES)["test"] == splits(sizes=TEST_SIZES).test
