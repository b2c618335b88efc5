"""The toy lexicon and grammar: what is in them, and what a slip in the files says."""

from __future__ import annotations

import json

import pytest

from course_lib.runtime import data_path
from course_lib.text.toy.choices import words_for
from course_lib.text.toy.grammar import RULES, grammar, read_grammar, starts_with_vowel
from course_lib.text.toy.lexicon import lexicon, read_lexicon


@pytest.fixture
def changed(tmp_path):
    """The lexicon with something changed: `changed(lambda table: ...)` is the path of the new file."""

    def write(change):
        table = json.loads(data_path("toy", "lexicon.json").read_text(encoding="utf-8"))
        change(table)
        path = tmp_path / "lexicon.json"
        path.write_text(json.dumps(table), encoding="utf-8")
        return path

    return write


def test_an_unchanged_file_reads(changed):
    assert len(read_lexicon(changed(lambda table: None)).nouns) == len(lexicon().nouns)


SLIPS = {
    "lacks a table": (
        lambda t: t.pop("verbs"),
        "should hold the tables nouns, adjectives, feelings, verbs; it holds",
    ),
    "lacks a field": (lambda t: t["nouns"][0].pop("gender"), "gender missing in {'en': ['boy'"),
    "wrong gender": (lambda t: t["nouns"][0].update(gender="n"), "a noun needs gender m or f"),
    "no French plural": (
        lambda t: t["nouns"][0].update(fr=["garçon"]),
        "a singular, or a singular and a plural",
    ),
    "three forms": (lambda t: t["adjectives"][0]["fr"].pop(), "needs its four French forms"),
    "wrong place": (lambda t: t["adjectives"][0].update(place="above"), "before or after"),
    "two English forms": (lambda t: t["verbs"][0]["en"].pop(), "a verb needs three English forms"),
    "one participle": (
        lambda t: t["verbs"][0].update(participle=["vu"]),
        "four participles where they can agree",
    ),
    "unknown tag": (
        lambda t: t["adjectives"][0]["with"].append("cloud"),
        "'big' goes with cloud, a tag that no noun",
    ),
    "unknown tag of a verb": (
        lambda t: t["verbs"][0]["frames"][0][1].append("cloud"),
        "'see' goes with cloud",
    ),
    "a noun twice": (lambda t: t["nouns"].append(t["nouns"][0]), "boy stands there twice"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_the_lexicon_is_named(changed, slip):
    change, message = SLIPS[slip]
    with pytest.raises(ValueError) as raised:
        read_lexicon(changed(change))
    assert "lexicon.json" in str(raised.value) and message in str(raised.value)


def test_a_file_that_is_not_json(tmp_path):
    path = tmp_path / "grammar.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"grammar\.json is not JSON: .* Undo the last change"):
        read_grammar(path)


def test_words_that_are_not_there():
    with pytest.raises(KeyError, match=r"no noun 'unicorn'\. It has: boy, girl"):
        lexicon().noun("unicorn")
    with pytest.raises(KeyError, match="'water' can be 'thirsty'"):
        lexicon().quality("thirsty", lexicon().noun("water"))


def test_an_h_is_silent_unless_it_is_aspirated():
    assert [starts_with_vowel(word) for word in ("homme", "hôtel", "œuf", "école", "heureux")] == [True] * 5
    assert not any(starts_with_vowel(word) for word in ("haricot", "hérisson", "hérissons", "chat", "yeux"))


def test_every_word_can_be_used():
    """No noun, verb or quality is dead weight: each finds somebody to go with."""
    words = words_for(RULES)
    assert all(words.does[noun] or words.done_to[noun] or noun.tags & {"place"} for noun in words.nouns)
    assert all(words.pool(s) and (words.pool(o) or not o) for verb in words.verbs for s, o in verb.frames)
    for quality in lexicon().qualities:
        assert words.pool(quality.beside | quality.is_said_of)
    known = {verb.name for verb in words.verbs}
    names = {quality.en for quality in lexicon().qualities}
    for reason in grammar().reasons:
        assert reason.verb in known and set(reason.subject + reason.object) <= names
    assert {name for verb in words.verbs for name in verb.where} <= {p.name for p in grammar().prepositions}


def test_opposites_are_never_said_of_one_thing():
    assert not grammar().may_meet("hot", "cold") and not grammar().may_meet("cold", "hot")
    assert not grammar().may_meet("red", "red") and grammar().may_meet("big", "red")
