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
def check():
    """`check(pair)` raises where the second opinion differs."""
    place = [str(FOLDER)]
    spec = importlib.util.spec_from_file_location(
        FOLDER.name, FOLDER / "__init__.py", submodule_search_locations=place
    )
    sys.modules[FOLDER.name] = importlib.util.module_from_spec(spec)
    yield importlib.import_module("toy_opinion.both").check
    for name in [name for name in sys.modules if name.partition(".")[0] == FOLDER.name]:
        del sys.modules[name]


def faults(check, pairs) -> list[str]:
    found = []
    for pair in pairs:
        try:
            check(pair)
        except (AssertionError, KeyError, StopIteration, AttributeError) as error:
            found.append(f"{pair.src_text}\n{pair.tgt_text}\n{type(error).__name__} {error}")
    return found


def test_generated_pairs_are_right(check):
    assert faults(check, generate(4000, seed=11))[:3] == []


def test_short_pairs_are_right(check):
    assert faults(check, generate(2000, seed=12, length=(3, 10)))[:3] == []


def test_the_splits_are_right(check):
    sizes = {"train": 500, "long": 300, "recombination": 300, "coreference": 600}
    toy = splits(seed=3, sizes=sizes)
    assert faults(check, [*toy.train, *toy.long, *toy.recombination, *toy.coreference])[:3] == []


def test_the_running_pair_is_right(check):
    assert faults(check, running_pair()) == []


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
        ("the apple that the boy ate is good", "la pomme que le garçon a mangée est bonne", ""),
        ("the apple that the boy ate is good", "", "la pomme que le garçon a mangé est bonne"),
        ("the apple that the boy ate is good", "", "la pomme qui le garçon a mangée est bonne"),
    ],
)
def test_the_opinion_tells_right_from_wrong(check, src, right, wrong):
    """Links are not at stake here: only what comes before them."""
    for tgt in filter(None, (right, wrong)):
        pair = Pair(tuple(src.split()), tuple(tgt.split()))
        (fault,) = faults(check, [pair])
        assert ("links" in fault) == (tgt == right), fault


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
