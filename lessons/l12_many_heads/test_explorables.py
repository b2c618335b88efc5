"""The facts that the explorable of lesson 12 shows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore.base import Facts
from course_lib.translation.ablation import ablated, multi_heads
from course_lib.translation.shipped import shared
from lessons.l12_many_heads import HeadSwitches, head_switches
from lessons.l12_many_heads.head_switches import ALONE, LEAST, MOST, NEEDED, heads_off, names, outcomes
from tests.explore.limits import Limit
from tests.explore.settings import open_question


def ablate(facts: Facts, count: int) -> Facts:
    return facts | {"off": ["head"] * count}


LIMITS = {
    "HeadSwitches": [
        Limit("one-breaks", "single", ablate, counts=True),
        Limit("ten-off", "ten or more", ablate, counts=True),
    ],
}


def facts_with(sentence: str, how: str, head: int) -> dict:
    return head_switches.compute(sentence=sentence, how=how, head=head)


def test_every_head_can_be_switched_off():
    assert len(names()) == 36 and set(NEEDED) == set(names())
    assert names()[0] == "encoder 0.0" and names()[-1] == "cross 2.3"
    assert heads_off(ALONE, 0) == heads_off(LEAST, 0) == ()
    assert heads_off(ALONE, 32) == ("cross 1.3",) == heads_off(MOST, 1)
    assert set(heads_off(LEAST, 36)) == set(heads_off(MOST, 36)) == set(names())


@pytest.mark.parametrize(
    ("sentence", "needed"), [("thirsty", {"cross 1.3"}), ("cold", {"encoder 0.3", "decoder 2.1"})]
)
def test_which_heads_a_sentence_needs(sentence, needed):
    pair = head_switches.SENTENCES[sentence]
    whole = facts_with(sentence, ALONE, 0)
    assert whole["is_right"] and " ".join(whole["translation"]) == shared("transformer")(pair.src_text).target
    alone = {name: outcomes(sentence)[frozenset([name])]["translation"] for name in names()}
    assert {name for name, translation in alone.items() if translation != pair.tgt} == needed


@pytest.mark.parametrize("head", ["encoder 0.3", "decoder 2.1"])
def test_without_this_head_the_water_is_il(head):
    assert outcomes("cold")[frozenset([head])]["translation"][8] == "il"


def test_the_bet_is_on_one_head_which_decides_the_pronoun():
    asked, _, _, after = open_question("12", "heads-bet", HeadSwitches)
    changed = [outcome["translation"] for off, outcome in outcomes("thirsty").items() if len(off) == 1]
    assert asked.answer == sum(translation != after["right"] for translation in changed)
    assert after["off"] == ("cross 1.3",) and "il" in after["right"] and "elle" in after["translation"]


def test_heads_off_one_after_another():
    assert [facts_with("thirsty", LEAST, n)["is_right"] for n in (10, 30, 31)] == [True, True, False]
    assert not facts_with("cold", LEAST, 19)["is_right"]
    most_first = [facts_with("thirsty", MOST, n)["is_right"] for n in (1, 2)]
    assert most_first == [False, True], "without both pronoun heads il is the default"


@pytest.mark.parametrize("head", [0, 32])  # all heads on; cross 1.3 off
def test_cross_1_3_attends_to_the_deciding_word_also_when_it_is_off(head):
    facts = facts_with("thirsty", ALONE, head)
    row = facts["weights"][facts["right"].index("il")]
    assert row.argmax() == head_switches.SENTENCES["thirsty"].src.index("thirsty") and row.max() > 0.9


def test_a_head_that_is_off_changes_the_entropy_of_later_layers_only():
    on, off = (facts_with("thirsty", ALONE, head)["entropy"] for head in (0, 3))  # encoder 0.2
    assert off[0] == pytest.approx(on[0], abs=1e-6) and np.abs(off[1:] - on[1:]).max() > 0.03


def test_entropy():
    assert head_switches.entropy(torch.tensor([0.25] * 4)).item() == pytest.approx(2)
    assert head_switches.entropy(torch.tensor([1.0, 0.0])).item() == pytest.approx(0)


def test_a_low_entropy_does_not_reveal_cross_1_3():
    *others, needed = facts_with("thirsty", ALONE, 0)["entropy"][7]  # cross 1
    assert sum(bits < needed + 0.05 for bits in others) >= 2


def test_an_ablation_is_undone():
    model = shared("transformer").model
    before = [heads.w_output.detach().clone() for _, _, heads in multi_heads(model)]
    with ablated(model, names()):
        assert all((heads.w_output == 0).all() for _, _, heads in multi_heads(model))
    assert all(map(torch.equal, before, [heads.w_output for _, _, heads in multi_heads(model)]))


@pytest.mark.parametrize("how", head_switches.ORDERS)
def test_at_zero_no_head_is_off(how):
    facts = facts_with("cold", how, 0)
    assert facts["off"] == () and facts["is_right"]
