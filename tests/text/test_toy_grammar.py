"""Thousands of toy pairs against a second opinion that shares nothing with the generator: `toy_opinion`."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.runtime import data_path
from course_lib.text.pair import Pair
from course_lib.text.toy.generate import generate, running_pair
from course_lib.text.toy.grammar import grammar
from course_lib.text.toy.splits import splits

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).with_name("toy_opinion")


@pytest.fixture(scope="module")
def opinion():
    """The second opinion as a module: `opinion.check(pair)` raises where it differs."""
    place = [str(FOLDER)]
    spec = importlib.util.spec_from_file_location(
        FOLDER.name, FOLDER / "__init__.py", submodule_search_locations=place
    )
    sys.modules[FOLDER.name] = importlib.util.module_from_spec(spec)
    yield importlib.import_module("toy_opinion.both")
    for name in [name for name in sys.modules if name.partition(".")[0] == FOLDER.name]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def check(opinion):
    return opinion.check


@pytest.fixture(scope="module")
def toy():
    sizes = {"train": 1000, "long": 300, "depth": 300, "recombination": 300, "coreference": 600}
    return splits(seed=3, sizes=sizes)


def faults(check, pairs) -> list[str]:
    found = []
    for pair in pairs:
        try:
            check(pair)
        except (AssertionError, KeyError, StopIteration, AttributeError) as error:
            found.append(f"{pair.src_text}\n{pair.tgt_text}\n{type(error).__name__} {error}")
    return found


def test_generated_pairs_are_right(check):
    assert faults(check, generate(5000, seed=11))[:3] == []


def test_short_pairs_are_right(check):
    assert faults(check, generate(2000, seed=12, length=(3, 10)))[:3] == []


@pytest.mark.parametrize("name", ["train", "long", "depth", "recombination", "coreference"])
def test_the_splits_are_right(check, toy, name):
    assert faults(check, getattr(toy, name))[:3] == []


def test_the_running_pair_is_right(check):
    assert faults(check, running_pair()) == []


def test_long_is_no_deeper_than_train_and_depth_is_no_longer(opinion, toy):
    """So that the two splits measure two different things."""
    nested = {
        name: {opinion.deepest(pair) for pair in getattr(toy, name)} for name in ("train", "long", "depth")
    }
    assert nested == {"train": {0, 1, 2}, "long": {0, 1, 2}, "depth": {3, 4}}
    assert max(pair.length for pair in toy.depth) <= 20 < min(pair.length for pair in toy.long)


def test_half_of_the_reasons_can_only_be_understood_by_their_sense(opinion):
    """Who translates each pronoun by its word alone must be wrong often enough to notice."""
    reasons = [pair for pair in generate(4000, seed=13) if "because" in pair.phenomena]
    telling = [pair for pair in reasons if opinion.needs_sense(pair)]
    assert 0.5 <= len(telling) / len(reasons) <= 0.75
    first = [
        min(right for left, right in pair.antecedents) for pair in telling
    ]  # who acts, or what is acted on
    verbs = [pair.src.index("because") / 2 for pair in telling]
    assert 0.3 <= sum(noun < verb for noun, verb in zip(first, verbs, strict=True)) / len(telling) <= 0.8
    masculine = sum(bool({"il", "ils"} & set(pair.tgt)) for pair in telling)
    assert 0.3 <= masculine / len(telling) <= 0.7  # a constant guess does not help


# ---- the second opinion itself: it must notice what is wrong

WRONG = {
    "il for elle": ("elle était froide", "il était froid"),
    "adjective without agreement": ("froide", "froid"),
    "no elision": ("l' eau", "la eau"),
    "participle that agrees too much": ("a bu", "a bue"),
    "tense": ("a bu", "boit"),
}


def running(old: str, new: str):
    """The second sentence of the running pair, with some French words exchanged for as many others."""
    _, pair = running_pair()
    assert old in pair.tgt_text
    return replace(pair, tgt=tuple(pair.tgt_text.replace(old, new).split()))


@pytest.mark.parametrize("name", WRONG)
def test_the_opinion_notices_wrong_french(check, name):
    assert faults(check, [running(*WRONG[name])])


@pytest.mark.parametrize(
    ("src", "right", "wrong"),
    [
        ("the girl fell", "la fille est tombée", "la fille est tombé"),
        ("the girl fell", "la fille est tombée", "la fille a tombé"),
        ("the boy saw her", "le garçon l' a vue", "le garçon l' a vu"),
        ("the boy sees her", "le garçon la voit", "le garçon le voit"),
        ("the boys swim", "les garçons nagent", "les garçons nage"),
        ("the boys swim", "les garçons nagent", "le garçon nage"),
        ("the hedgehog sleeps", "le hérisson dort", "l' hérisson dort"),
        ("the man does not sleep", "l' homme ne dort pas", "l' homme dort pas"),
        ("an old man slept", "un vieil homme a dormi", "un vieux homme a dormi"),
        ("some small cats run", "de petits chats courent", "des petits chats courent"),
        ("the black cat runs", "le chat noir court", "le noir chat court"),
        ("the cat near the tree runs", "le chat près de l' arbre court", "le chat près du arbre court"),
        ("the cat of the king runs", "le chat du roi court", "le chat de le roi court"),
        ("the apple that the boy ate was good", "la pomme que le garçon a mangée était bonne", ""),
        ("the apple that the boy ate was good", "", "la pomme que le garçon a mangé était bonne"),
        ("the apple that the boy ate was good", "", "la pomme qui le garçon a mangée était bonne"),
        (
            "the boy did not like the cake",
            "le garçon n' aimait pas le gâteau",
            "le garçon n' a pas aimé le gâteau",
        ),
        ("the king wore the hat", "le roi portait le chapeau", "le roi a porté le chapeau"),
        ("the boy takes a bottle of water", "le garçon prend une bouteille d' eau", ""),
        ("the boy takes a bottle of water", "", "le garçon prend une bouteille de l' eau"),
        (
            "the table in the kitchen is old",
            "la table de la cuisine est vieille",
            "la table dans la cuisine est vieille",
        ),
    ],
)
def test_the_opinion_tells_right_from_wrong(check, src, right, wrong):
    """Links are not at stake here: only what comes before them."""
    for tgt in filter(None, (right, wrong)):
        pair = Pair(tuple(src.split()), tuple(tgt.split()))
        (fault,) = faults(check, [pair])
        assert ("links" in fault) == (tgt == right), fault


RIDDLES = {
    "her could be the box": ("the kings looked at the box but the rabbits looked at her", {}),
    "him could be the goat": ("the goat ran and the girls looked for him", {}),
    "it could be the pear": ("the cow near the pear ate the apple because it was ripe", {9: 7}),
    "elle could be the girl": ("the girl washed the dress because it was dirty", {6: 4}),
    "la could be the letter": ("the boy with the letter bought the key and took it", {10: 7}),
    "it could be the cat": ("the cat saw the dog because it was tired", {6: 1}),
    "two colours": ("a white bottle that was black fell", {}),
    "two ages": ("the old car was new", {}),
    "an empty bottle of water": ("the boy took an empty bottle of water", {}),
    "said before": ("the ripe apple that was ripe was good", {}),
    "said again in the reason": ("the cat drank the cold water because it was cold", {7: 5}),
    "two tenses": ("the fathers who were old close the doors", {}),
    "a reason denied": ("the cat drank the water because it was not cold", {6: 4}),
    "one bird, two trees": ("the bird under the trees was tired", {}),
    "a noun twice": ("the cat saw the cat", {}),
    "porter un chapeau": ("the boy carried the hat", {}),
    "a garment carried": ("the boy found the dress and carried it", {7: 4}),
    "a sad place": ("the cat stayed in the house because it was sad", {7: 1}),
    "a sleepy village": ("the cat stayed in the village because it was sleepy", {7: 1}),
    "a good table": ("the boy ate the apple on the table because it was good", {9: 4}),
    "l' aimait": ("the girls near the house loved him", {}),
    "one apple, often": ("the boy often eats the apple", {}),
    "two keys, every day": ("the boy finds two keys every day", {}),
    "bought again and again": ("the cows slept and the boy often buys some eggs", {}),
    "it, often": ("the boy finds the key and often takes it", {8: 4}),
    "why was it bought?": ("the cat drank the water that the boy bought because it was cold", {10: 4}),
    "a reason that reads on": ("the dog slept in the house because it was tired and the queens swam", {7: 1}),
    "washed though clean": ("the boy washed the clean car", {}),
    "clean, and washed": ("the boy bought a clean car and washed it", {8: 5}),
    "somebody in an empty house": ("the dog in the house that was empty slept", {}),
}


@pytest.mark.parametrize("name", RIDDLES)
def test_the_opinion_notices_what_makes_no_sense(opinion, name):
    """The English side alone."""
    text, antecedents = RIDDLES[name]
    english = opinion.English(tuple(text.split())).sentence()
    heads = {note["at"][-1]: note for note in english if note["kind"] == "phrase"}
    with pytest.raises(AssertionError):
        opinion.sense.check(english, antecedents, heads)


def test_the_opinion_notices_a_missing_and_a_wrong_link(check):
    for pair in running_pair():
        for link in pair.links:
            assert faults(check, [replace(pair, links=pair.links - {link})])
        assert faults(check, [replace(pair, links=pair.links | {(0, 1)})])


def test_the_opinion_notices_a_wrong_antecedent(check):
    first, second = running_pair()
    assert faults(check, [replace(first, antecedents=second.antecedents)])
    assert faults(check, [replace(first, antecedents=())])


def test_the_examples_of_the_readme_are_right(check):
    """Read by the second opinion, and named after rules that exist, all of them."""
    table = data_path("toy", "README.md").read_text(encoding="utf-8").partition("## The splits")[0]
    rows = [
        [cell.strip() for cell in line.strip("|\n ").split("|")] for line in table.splitlines() if "|" in line
    ]
    examples = [row for row in rows if len(row) == 3 and row[1] not in ("English", "holds", "---")]
    examples = [row for row in examples if not row[0].endswith(".json`")]
    assert {row[0].strip("`") for row in examples if row[0]} == set(grammar().rules)
    for _, english, french in examples:
        (fault,) = faults(check, [Pair(tuple(english.split()), tuple(french.split()))])
        # A bare pair has no links, and where there is an "it" no antecedent, which is noticed first.
        assert ("KeyError" if " it" in english else "links") in fault, fault


def test_the_readme_says_what_is_made_and_what_is_not(opinion):
    text = data_path("toy", "README.md").read_text(encoding="utf-8").replace("[", "").replace("]", "")
    made = {"the girl ate the apple because it was ripe": {6: 4}}
    made["the egg on the table of the uncle who fell was good"] = {}
    for english, antecedents in made.items():
        assert english in " ".join(text.split())
        notes = opinion.English(tuple(english.split())).sentence()
        heads = {note["at"][-1]: note for note in notes if note["kind"] == "phrase"}
        opinion.sense.check(notes, antecedents, heads)
    assert "… washed the dress because it was dirty" in " ".join(text.split())
    assert "the girl washed the dress because it was dirty" in RIDDLES["elle could be the girl"]
