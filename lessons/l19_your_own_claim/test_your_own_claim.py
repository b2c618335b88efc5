"""The claims of lesson 19 hold in the recorded runs."""

from __future__ import annotations

import json
import random
import re
from statistics import mean

import pytest

from course_lib.runtime import data_path
from course_lib.teaching.exercises import find_exercise, judge
from course_lib.translation.comparison import UNCLEAR
from lessons.l19_your_own_claim import key_picture
from lessons.l19_your_own_claim.corpus import small_world
from lessons.l19_your_own_claim.error_analysis import find_errors
from lessons.l19_your_own_claim.measurements import (
    CONFIRMED,
    FIRST,
    FRESH,
    THIRD,
    measure,
    measure_round,
    recorded_trial,
)
from lessons.l19_your_own_claim.preregistration import SEEDS
from lessons.l19_your_own_claim.rules import RULES, even, mirror, very_last
from lessons.l19_your_own_claim.systems import N_STEPS
from lessons.l19_your_own_claim.trials import EXPERIMENTS, recorded_run
from tests.lesson_claims import LessonText, assert_measured_again
from tools.experiments.catalogue import experiments

L = LessonText("your_own_claim")
verdict = find_exercise("verdict").reference


@pytest.fixture(scope="module")
def stored() -> dict:
    return json.loads(data_path("results", "lesson_19.json").read_text(encoding="utf-8"))


def predicted(breaks: str, more_than: str, on: str, points: float) -> dict:
    return {"breaks": breaks, "more_than": more_than, "on": on, "points": points}


def lost(claim: dict, system: str, split: str) -> list[float]:
    return claim["lost"][system][split]["seeds"]


def judged(rule, breaks: str, more_than: str, on: str, points: float, seeds=FIRST, new=False) -> tuple:
    trial = recorded_trial(rule, (breaks, more_than), seeds, new=new)
    return trial.judge(predicted(breaks, more_than, on, points), new=new)


@pytest.mark.nightly
def test_measured_again_the_numbers_are_the_stored_ones(stored):
    assert_measured_again(measure(), stored)


# ---- the key picture


def test_the_key_picture_shows_the_recorded_runs_and_the_claims_as_they_were_written():
    story, written = key_picture.numbers(), experiments()["claims"].expected
    assert story.written in written and f"at least {key_picture.CLAIM['points']} points more" in story.written
    for rule, systems, points in key_picture.OPEN:
        claim = written.split(f"{rule} (")[1].split(". ")[0]
        assert f"at least {points} points more" in claim and claim.count(systems.split()[-1])
    changed = [i for i, pair in enumerate(small_world().test) if "très" in pair.tgt[:-1]]
    for system, values in story.lost.items():
        right = [
            [
                mean(int(recorded_run(system, rule, seed)["right"]["test"][i]) for i in changed)
                for seed in FIRST
            ]
            for rule in (None, very_last)
        ]
        assert values == pytest.approx([100 * (mean(right[0]) - now) for now in right[1]])
    assert story.verdict == "fails" == judged(very_last, "convs2s", "bahdanau", "rule", 10)[0]


# ---- the small world


def test_the_small_world(stored):
    sizes = stored["small world"]["sizes"]
    assert sizes["test"] == 500 and sizes["train"] > 2000 and sizes["long"] > 200
    assert len({word for pair in small_world().train for word in pair.src}) <= 100
    assert all(80_000 < n < 125_000 for n in stored["parameters"].values())
    assert N_STEPS == 600 and set(RULES) == {"mirror", "even", "very last"}
    assert all(
        set(experiments()[name].seeds) == set(seeds)
        for name, seeds in zip(EXPERIMENTS, ((0, 1, 2), (3, 4, 5), (6, 7, 8)), strict=True)
    )


def test_new_sentences_are_harder_and_longer(stored):
    for percents in stored["percent without a rule"].values():
        assert percents["new"] < percents["test"] - 4
    fractions = stored["small world"]["fraction of 3 and 4 words"]
    assert fractions["new"] < fractions["test"] - 0.15


def test_the_points_were_predicted_before_the_runs():
    """In the order of the rules: mirror, even, very last; then with new seeds; then on new sentences."""
    expected = {name: experiments()[name].expected for name in EXPERIMENTS}
    points = {name: re.findall(r"at least (\d+) points?", text) for name, text in expected.items()}
    assert points == {
        "claims": ["10", "20", "10"],
        "claims_again": ["5", "5"],
        "claims_confirmed": ["5", "5", "1"],
    }
    assert [str(claim[-1]) for claim in CONFIRMED.values()] == points["claims_confirmed"]
    assert re.findall(r"less than (\d+) points", expected["claims"]) == ["5"]


def test_what_there_is_to_lose(stored):
    percents = stored["percent without a rule"]
    best = {name: max(percents[system][name] for system in percents) for name in ("new", "new, long")}
    assert (
        best["new"] > 90 and 15 < best["new, long"] < 30
    )  # the check of my_prediction refuses 30 points there


def test_runs_without_a_rule_are_on_record_for_the_learners_seeds():
    assert set(SEEDS) == set(THIRD)
    for system in ("bahdanau", "transformer", "no positions"):
        assert all(recorded_run(system, None, seed, with_new=True) for seed in SEEDS)


# ---- the check of a rule


@pytest.mark.parametrize(
    ("rule", "slip"),
    [
        (lambda src, tgt: tgt, "changes-nothing"),
        (lambda src, tgt: tgt[::-1] if src[0] == "two" else tgt, "too-few"),
        (lambda src, tgt: tgt[::-1], "too-many"),
        (lambda src, tgt: [*tgt, f"numéro{len(src)}"] if len(src) % 2 == 0 else tgt, "unseen-word"),
        (lambda src, tgt: [*tgt, "bien sûr"] if len(src) > 10 else mirror(src, tgt), "not-words"),
        (lambda src, tgt: [*tgt, random.choice(tgt)] if "not" in src else tgt, "random"),
        (lambda src, tgt: mirror(src, tgt)[: 20 // (11 - len(src))], "raises"),
    ],
)
def test_a_rule_is_checked_on_the_whole_small_world(rule, slip):
    assert judge(find_exercise("my_rule"), rule).slip == slip


# ---- mirror


def test_mirror_is_unclear_though_every_pair_has_the_order(stored):
    found = stored["mirror"]
    assert judged(mirror, "transformer", "bahdanau", "rule", 10)[0] == UNCLEAR
    assert 0 < found["gap"]["least"] < 10 < found["gap"]["most"]
    means = [mean(lost(found, name, "rule")) for name in ("transformer", "bahdanau")]
    assert 5 < means[0] - means[1] < 20 and L.asked("claim-mirror").right == [2]


def test_mirror_leaves_the_short_rest_alone_and_not_the_long(stored):
    found = stored["mirror"]
    worst = {
        split: {name: max(lost(found, name, split)) for name in ("transformer", "bahdanau")}
        for split in ("rest", "rest, long")
    }
    assert max(worst["rest"].values()) < 5 and max(worst["rest, long"].values()) > 5
    assert sum(points > 5 for name in worst["rest, long"] for points in lost(found, name, "rest, long")) == 1
    for split in worst:  # the largest loss is the Transformer's, which the lesson quotes
        assert max(worst[split], key=worst[split].get) == "transformer"


def test_nearly_all_wrong_sentences_of_mirror_are_reversed(stored):
    errors = stored["errors"]["mirror"]["transformer"]["rule"]
    assert errors["not reversed"] < 0.1 * errors["wrong"]
    trial = recorded_trial(mirror, ("transformer",), (0, 1, 2))
    kinds = [error.kind for error in find_errors(trial, "transformer", "rule")]
    assert (
        sum(kind in ("missing words", "one wrong word", "several errors") for kind in kinds) > len(kinds) / 2
    )


# ---- even


def test_even_fails(stored):
    found = stored["even"]
    assert judged(even, "no positions", "transformer", "rule", 20)[0] == "fails"
    assert found["gap"]["most"] < 20 / 2  # no pair comes near 20
    means = [mean(lost(found, name, "rule")) for name in ("no positions", "transformer")]
    assert abs(means[0] - means[1]) < 10 and L.asked("claim-even").right == [2]


def test_even_costs_more_than_5_points_on_the_rest(stored):
    """The lesson quotes the smallest loss, without positions, and the largest, of the Transformer."""
    rest = {name: lost(stored["even"], name, "rest") for name in ("no positions", "transformer")}
    assert 5 < min(rest["no positions"]) < min(rest["transformer"])
    assert max(rest["no positions"]) < max(rest["transformer"])
    both = [points for seeds in rest.values() for points in seeds]
    rule = [points for name in rest for points in lost(stored["even"], name, "rule")]
    assert mean(rule) < 0.7 * mean(both)  # reported alone, the damage looks much smaller


def test_errors_on_the_rest_of_even_are_an_unwanted_word(stored):
    errors = {name: counts["rest"] for name, counts in stored["errors"]["even"].items()}
    assert errors["transformer"]["by mistake"] > 0.8 * errors["transformer"]["wrong"]
    for counts in errors.values():  # the other errors are about as many as without the rule
        assert counts["others"] == pytest.approx(counts["without the rule"], rel=0.2)
        assert counts["by mistake"] > 0.9 * (counts["wrong"] - counts["without the rule"])


# ---- findings


def test_with_new_seeds_one_claim_holds_and_one_is_unclear(stored):
    assert judged(mirror, "transformer", "bahdanau", "rule", 5, FRESH)[0] == "holds"
    assert judged(even, "transformer", "no positions", "rest", 5, FRESH)[0] == UNCLEAR
    assert stored["even again"]["gap"]["least"] < 0 < 5 < stored["even again"]["gap"]["most"]
    assert L.asked("claim-two-rounds").right == [1]


def test_on_new_sentences_two_claims_hold_and_one_is_unclear(stored):
    found = stored["confirmed"]
    for verdicts in ("by the seeds", "in the end"):
        assert [claim[verdicts] for claim in found.values()] == ["holds", UNCLEAR, "holds"]
    assert [claim["sentences"] for claim in found.values()] == [617, 575, 1445]
    assert 0 < found["mirror, long"]["gap"]["least"] < 5


def test_confirmed_claims_hold_if_the_seeds_without_the_rule_vary_too(stored):
    for name, (*_, points) in CONFIRMED.items():
        claim = stored["confirmed"][name]
        gap, wider = claim["gap"], claim["gap of all seeds"]
        assert wider["least"] < gap["least"] < gap["most"] < wider["most"]
        assert (wider["least"] >= points) == (name != "mirror, long")
    assert stored["confirmed"]["mirror, long"]["gap of all seeds"]["least"] < 0


@pytest.mark.nightly
def test_the_claim_about_even_would_hold_with_5_points(stored):
    """As predicted for the second round."""
    outcome = measure_round(*CONFIRMED["even"][:-1], 5, THIRD, new=True)
    assert outcome["in the end"] == "holds"
    expected = stored["confirmed"]["even"]["interval"]
    assert outcome["interval"] == pytest.approx(expected, rel=1e-5)  # processors round differently


def test_the_transformer_starts_higher_and_loses_a_larger_fraction_with_even(stored):
    before, lost = (stored["confirmed"]["even"][key] for key in ("before", "fraction lost"))
    assert before["transformer"] > before["no positions"] + 10
    assert lost["transformer"]["min"] > lost["no positions"]["max"]


def test_few_sentences_have_a_wide_interval(stored):
    word, (low, high) = judged(*CONFIRMED["mirror"])
    confirmed, (least, most) = judged(*CONFIRMED["mirror"], THIRD, new=True)
    assert (word, confirmed) == (UNCLEAR, "holds") and low < 5 < least
    assert stored["rounds before"]["mirror"]["0"]["sentences"] == 50
    assert 2.5 < (high - low) / (most - least) < 3.5


def test_long_sentences_fail_then_hold(stored):
    rounds = stored["rounds before"]["mirror, long"]
    assert [rounds[seed]["by the seeds"] for seed in "03"] == ["fails", "holds"]
    assert rounds["0"]["sentences"] == rounds["3"]["sentences"]  # the same ones, with other runs
    first, (_, high) = judged(*CONFIRMED["mirror, long"])
    second, (low, _) = judged(*CONFIRMED["mirror, long"], FRESH)
    assert (first, second) == (UNCLEAR, "holds") and high < low
    assert L.asked("claim-interval-and-seeds").right == [1]


def test_the_finding_about_even_shrank_and_came_back(stored):
    rounds, confirmed = stored["rounds before"]["even"], stored["confirmed"]["even"]
    least = [claim["gap"]["least"] for claim in (rounds["0"], rounds["3"], confirmed)]
    assert least[1] < 0 < least[0] < least[2] and rounds["3"]["in the end"] == UNCLEAR


# ---- very last, and several splits


def test_very_last_fails():
    assert judged(very_last, "convs2s", "bahdanau", "rule", 10)[0] == "fails"


def test_with_several_splits_some_show_a_difference():
    """Nobody predicted these 3 points: two rules, four splits and two directions."""
    n_holding = 0
    for rule, systems in ((mirror, ("transformer", "bahdanau")), (even, ("no positions", "transformer"))):
        tables = recorded_trial(rule, systems, (0, 1, 2)).tables()
        for split in tables["with"]:
            for breaks, more_than in (systems, systems[::-1]):
                claim = predicted(breaks, more_than, split, 3)
                n_holding += verdict(claim, tables)["verdict"] == "holds"
    assert n_holding == 3


def test_the_numbers_of_the_quiz():
    assert L.asked("claim-lost-number").answer == mean([92, 94, 96]) - min(80, 84, 85)
    assert L.asked("claim-small-split").answer == 100 / 8
