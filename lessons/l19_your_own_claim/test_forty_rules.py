"""The forty rules are ones that the lesson accepts, and a stored run has what the forecasting game needs."""

from __future__ import annotations

import pickle

import pytest

from course_lib.teaching.exercises import find_exercise, judge
from lessons.l19_your_own_claim import rules
from lessons.l19_your_own_claim.corpus import small_world, split_sizes
from lessons.l19_your_own_claim.forty_rules import DESCRIPTIONS, RULES, WHAT, WHEN
from lessons.l19_your_own_claim.rules import apply_rule
from tools.experiments.catalogue import experiments
from tools.experiments.cpu_runs import run_claim


@pytest.mark.parametrize("name", RULES)
def test_the_lesson_accepts_every_rule(name):
    """It changes enough sentences, leaves enough unchanged, is not random, and all its words are learned."""
    assert judge(find_exercise("my_rule"), RULES[name]).status == "passed"
    sizes = split_sizes(RULES[name])
    assert sizes["rule"] >= 30 and sizes["rest"] >= 125
    again = pickle.loads(pickle.dumps(RULES[name]))  # it is sent to another process
    for pair in small_world().long[:50]:
        assert apply_rule(again, pair) == apply_rule(RULES[name], pair)


def test_the_experiment_has_every_rule_with_every_system():
    assert len(RULES) == len(set(DESCRIPTIONS.values())) == 40 and rules.RULES.items() <= RULES.items()
    assert {part for name in RULES for part in name.split(", ")} >= {*WHAT, *WHEN} - {""}
    variants = experiments()["forty_rules"].variants
    systems = [changes["system"] for changes in variants.values()]
    assert len(systems) == 4 * 41 and set(systems) == {"bahdanau", "transformer", "convs2s", "no positions"}
    assert variants["no positions, twice, three"]["rule"] == "twice, three"


@pytest.mark.slow
def test_a_run_keeps_only_what_is_right():
    run = run_claim({"system": "transformer", "rule": "twice, three", "only_right": True}, seed=0, n_steps=2)
    assert set(run) == {"right", "exact", "n_steps"} and set(run["right"]) == {"test", "long"}
    assert set(run["exact"]) == {"rule", "rest", "rest, long"}  # no long sentence has three words
    with pytest.raises(KeyError):
        run_claim({"system": "transformer", "rule": "no such rule"}, seed=0, n_steps=2)
