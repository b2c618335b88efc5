"""`python3 -m course_lib data show`: sentences with their alignment, for people."""

from __future__ import annotations

import argparse

import pytest

from course_lib.cli import data_show
from course_lib.cli.trouble import Trouble
from course_lib.text.toy.generate import running_pair


def show(capsys, *words: str) -> str:
    parser = argparse.ArgumentParser()
    data_show.add_arguments(parser)
    assert data_show.run(parser.parse_args(words)) == 0
    return capsys.readouterr().out


def test_a_pair_as_people_read_it():
    links = (
        "the—le  cat—chat  drank—a bu  the—l'  water—eau  because—parce qu'  it—elle  was—était  cold—froide"
    )
    assert data_show.lines(running_pair()[1]) == [
        "the cat drank the water because it was cold",
        "le chat a bu l' eau parce qu' elle était froide",
        f"    {links}",
        "    it = water",
        "    because, elision, gender, past, states",
    ]


def test_five_pairs_come_without_arguments(capsys):
    assert len(show(capsys).strip().split("\n\n")) == 5


def test_the_same_seed_shows_the_same(capsys):
    assert show(capsys, "--seed", "3") == show(capsys, "--seed", "3") != show(capsys)


def test_a_rule_and_a_length(capsys):
    blocks = show(capsys, "--n", "8", "--rule", "because", "--length", "10", "12").strip().split("\n\n")
    assert len(blocks) == 8
    for block in blocks:
        english, *_, phenomena = block.split("\n")
        assert " because " in english and 10 <= len(english.split()) <= 12 and "because" in phenomena


def test_an_unknown_rule_lists_the_known_ones(capsys):
    with pytest.raises(Trouble, match=r"no rule nope\. It has: gender, plural"):
        show(capsys, "--rule", "nope")


@pytest.mark.slow
def test_a_rule_that_needs_more_words_says_so(capsys):
    with pytest.raises(Trouble, match="No sentence of 3 to 4 words needs the rule because"):
        show(capsys, "--rule", "because", "--length", "3", "4")


def test_a_length_that_cannot_be(capsys):
    with pytest.raises(Trouble, match="has 3 to 40 words"):
        show(capsys, "--length", "1", "4")
