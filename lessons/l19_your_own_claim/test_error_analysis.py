"""Wrong translations: their kinds, the marked words, and what the report shows of them."""

from __future__ import annotations

from collections import Counter

import pytest

from course_lib.teaching.exercises import find_exercise
from lessons.l19_your_own_claim.corpus import small_world
from lessons.l19_your_own_claim.error_analysis import (
    by_kind,
    count_errors,
    find_errors,
    kind_of_error,
    marked,
    show_errors,
    show_errors_of_claim,
    words_added,
)
from lessons.l19_your_own_claim.figures import loss_figure
from lessons.l19_your_own_claim.report import _examples
from lessons.l19_your_own_claim.rules import apply_rule, concerns, even, mirror, very_last
from lessons.l19_your_own_claim.trials import Trial, run_trial

PLAIN = "le chat ne dort pas"


@pytest.fixture(scope="module")
def counted() -> Trial:
    return run_trial(even, {"transformer": "transformer"}, tell=lambda line: None)


@pytest.mark.parametrize(
    ("expected", "output", "kind"),
    [
        ("le chat ne dort pas voilà", "le chat ne dort pas", "rule not applied"),
        ("le chat ne dort pas voilà", "le chien ne dort pas", "rule not applied, and other errors"),
        ("pas dort ne chat le", "le chat ne dort pas", "rule not applied"),
        ("pas dort ne chat le", "le chien ne dort pas", "rule not applied, and other errors"),
        ("pas dort ne chat le", "pas dort ne chien le", "one wrong word"),
        ("pas dort ne chat le", "pas ne dort chat le", "right words in the wrong order"),
        (PLAIN, "le chat ne dort pas voilà", "rule applied by mistake"),
        (PLAIN, "le chat ne voilà dort pas", "rule applied by mistake"),
        (PLAIN, "le chien ne dort pas voilà", "several errors"),
        (PLAIN, "le chat dort", "missing words"),
        (PLAIN, "", "missing words"),
        (PLAIN, "le petit chat ne dort pas pas", "extra words"),
        (PLAIN, "la chat ne dort pas", "one wrong word"),
        (PLAIN, "la chatte ne dort pas", "several errors"),
        (PLAIN, "ne le chat dort bien", "several errors"),  # one missing, one extra, and another order
        (PLAIN, "chat le ne dort pas", "right words in the wrong order"),
    ],
)
def test_kinds_of_errors(expected, output, kind):
    words = expected.split(), output.split()
    assert kind_of_error(*words, plain=PLAIN.split(), rule_words={"voilà"}) == kind


def test_without_a_typical_word_nothing_is_called_a_misplaced_rule():
    words = PLAIN.split()
    assert kind_of_error(words, [*words, "voilà"], plain=words, rule_words=()) == "extra words"


def test_words_that_a_rule_typically_adds():
    question = find_exercise("my_rule").reference  # repeats a word that differs from sentence to sentence
    assert words_added(even) == {"voilà"}
    assert words_added(mirror) == words_added(very_last) == words_added(question) == set()


@pytest.mark.parametrize(
    ("expected", "output", "texts"),
    [
        ("a b c", "a x c", ("a [b] c", "a [x] c")),
        ("a b", "a b c", ("a b", "a b [c]")),
        ("a b", "", ("[a] [b]", "")),
    ],
)
def test_differing_words_are_marked(expected, output, texts):
    assert marked(expected.split(), output.split()) == texts


def test_every_wrong_translation_of_a_full_run_is_found(counted):
    for split in ("rule", "rest"):
        errors = find_errors(counted, "transformer", split)
        n_wrong, n = count_errors(counted, "transformer", split)
        assert len(errors) == n_wrong and n == 3 * sum(
            concerns(even, pair) == (split == "rule") for pair in small_world().test
        )
        expected = {pair.src_text: tuple(apply_rule(even, pair)) for pair in small_world().test}
        assert all(error.expected == expected[error.source] != error.output for error in errors)
        groups = by_kind(errors)
        assert {kind: len(group) for kind, group in groups.items()} == Counter(error.kind for error in errors)
        sizes = [len(group) for group in groups.values()]
        assert sizes == sorted(sizes, reverse=True)


def test_errors_are_printed_with_their_numbers(counted, capsys):
    show_errors(counted, "transformer")
    text = capsys.readouterr().out
    for split in ("rule", "rest"):
        n_wrong, _ = count_errors(counted, "transformer", split)
        assert f"transformer on {split}: {n_wrong} of" in text
        for kind, group in by_kind(find_errors(counted, "transformer", split)).items():
            assert f"{len(group)}  {kind}: {group[0].source}" in text
    assert "[voilà]" in text and "grouped below" not in text
    show_errors(counted, "transformer", ["rest, long"])  # more than 200 are wrong: not all are kept
    assert "grouped below" in capsys.readouterr().out


def test_errors_of_a_claim(counted, capsys):
    show_errors_of_claim(None)
    assert "train first" in capsys.readouterr().out
    show_errors_of_claim({"trial": counted})
    assert "transformer on rest" in capsys.readouterr().out


def test_the_report_shows_errors_with_marked_words(counted):
    text = "\n".join(_examples({"trial": counted, "with_new": False}))
    assert "**voilà**" in text and "rule applied by mistake" in text and "rule not applied" in text
    assert "*the old frog is small*" in text


def test_words_of_the_learners_rule_are_escaped_in_the_report():
    def rule(src, tgt):
        return [*tgt, "<img>", "*"] if "not" in src else tgt

    outcome = {"right": {"test": "0" * 500}, "wrong": {"test": {str(i): "<b>" for i in range(200)}}}
    trial = Trial(rule, (0,), {"with": {"<i>": [outcome]}})
    text = "\n".join(_examples({"trial": trial, "with_new": False}))
    assert "&lt;img&gt;" in text and "&lt;b&gt;" in text and "\\*" in text
    assert not any(tag in text for tag in ("<img>", "<b>", "<i>"))


def test_the_figure_says_every_number_in_its_alt_text(counted):
    figure = loss_figure(counted.tables(), title="Points lost")
    assert figure.file.startswith("<svg") and "transformer on rest: 16.8, 16.0, 20.6" in figure.alt
