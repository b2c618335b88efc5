"""The toy lexicon and grammar: what is in them, and what a slip in the files says."""

from __future__ import annotations

import json

import pytest

from course_lib.runtime import data_path
from course_lib.text.toy.grammar import check_rule, grammar, read_grammar, starts_with_vowel
from course_lib.text.toy.lexicon import lexicon, read_lexicon
from course_lib.text.toy.sense import could_be, does, done_to, pool, rivals, rivals_of_somebody


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
    "a field too many": (lambda t: t["nouns"][0].update(size="big"), "nobody reads size in {'en': ['boy'"),
    "wrong gender": (lambda t: t["nouns"][0].update(gender="n"), "'boy'"),
    "no kind": (
        lambda t: t["nouns"][0].update(tags=["kid"]),
        "one of person, animal, food, drink, thing, place",
    ),
    "no French plural": (
        lambda t: t["nouns"][0].update(fr=["garçon"]),
        "a singular, or a singular and a plural",
    ),
    "three forms": (
        lambda t: t["adjectives"][0]["fr"].pop(),
        "'big' is not complete. It needs four French forms",
    ),
    "wrong place": (lambda t: t["adjectives"][0].update(place="above"), "before or after"),
    "two English forms": (lambda t: t["verbs"][0]["en"].pop(), "three English forms"),
    "one participle": (lambda t: t["verbs"][0].update(participle=["vu"]), "four where they can agree"),
    "unknown tag": (
        lambda t: t["adjectives"][0]["beside"].append("cloud"),
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
    words = lexicon()
    assert all(does(noun) or done_to(noun) or noun.kind == "place" for noun in words.nouns)
    assert all(pool(s) and (pool(o) or not o) for verb in words.verbs for s, o in verb.frames)
    assert all(pool(quality.beside | quality.said_of) for quality in words.qualities)
    names = {quality.en for quality in words.qualities}
    for reason in grammar().reasons:
        assert words.verb(reason.verb) and set(reason.subject + reason.object) <= names
    assert {name for verb in words.verbs for name in verb.where} <= {p.name for p in grammar().prepositions}


def test_what_a_pronoun_could_be_mistaken_for():
    cat, box, girl, water = (lexicon().noun(name) for name in ("cat", "box", "girl", "water"))
    assert (water, False) not in rivals(cat, False, could_be("thirsty"))  # sense rules it out
    assert (box, False) in rivals(water, False, could_be("cold"))  # it, and elle
    assert (girl, False) in rivals(box, False, could_be("dirty"))  # she, but elle
    assert (box, True) not in rivals(water, False, could_be("cold"))  # they
    assert {(box, False), (cat, False), (girl, False)} <= rivals_of_somebody("f")
    assert not {(box, False), (girl, False)} & rivals_of_somebody("m")


def test_an_unknown_rule_names_the_known_ones():
    assert check_rule("because") == "because"
    with pytest.raises(ValueError, match=r"no rule subjunctive\. It has: gender, plural, .*questions"):
        check_rule("subjunctive")


def test_what_shares_a_sort_is_not_said_of_one_thing():
    sorts = {quality.en: quality.sorts for quality in lexicon().qualities}
    for one, other in [
        ("hot", "cold"),
        ("red", "black"),
        ("old", "new"),
        ("big", "little"),
        ("tired", "tired"),
    ]:
        assert sorts[one] & sorts[other]
    assert not sorts["big"] & sorts["red"]
