"""The facts that the explorables of lesson 12 show."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.translation.ablation import ablated, multi_heads
from course_lib.translation.shipped import shared
from lessons.l12_many_heads import head_count, head_switches
from lessons.l12_many_heads.head_switches import ALONE, LEAST, MOST, NEEDED

SHARED, EACH = head_count.SHARED, head_count.EACH


@pytest.mark.parametrize("n_heads", head_count.COUNTS)
def test_shared_out_only_the_scores_grow_and_the_parameters_are_those_of_torch(n_heads):
    n, found = 20, head_count.cost(n_heads, 20, SHARED)
    layer = nn.MultiheadAttention(512, n_heads, bias=False)
    assert found["params"] == sum(p.numel() for p in layer.parameters()) == 1_048_576
    assert (found["multiplies"], found["entries"]) == (n**2 * 512, n_heads * n**2)
    assert found["d_k"] * n_heads == 512
    picture = head_count.compute(n_heads=n_heads, n=16, widths=SHARED)["tables"]
    across = next(count for count in (1, 2, 4, 8) if count**2 >= n_heads)
    assert (picture >= 0).sum() == n_heads * (6 * (8 // across)) ** 2, "a table for each head"


def test_heads_of_fixed_width_cost_more():
    cost = head_count.cost
    assert cost(8, 20, EACH) == cost(8, 20, SHARED)
    assert cost(64, 20, EACH)["params"] == 8 * cost(1, 20, SHARED)["params"]
    assert cost(16, 20, EACH)["multiplies"] == 2 * cost(8, 20, EACH)["multiplies"]
    for n_heads, told in {1: "1 head, ", 8: "8 heads, "}.items():
        chosen = {"n_heads": n_heads, "n": 16, "widths": SHARED}
        assert head_count.HeadCount.heading(head_count.HeadCount.facts_at(chosen))[0].startswith(told)


def off(sentence: str, how: str, head: int) -> dict:
    return head_switches.compute(sentence=sentence, how=how, head=head)


def test_every_head_has_its_place_and_its_turn():
    names, switched = head_switches.names(), head_switches.switched
    assert len(names) == 36 and set(NEEDED) == set(names)
    assert names[0] == "encoder 0.0" and names[-1] == "cross 2.3"
    assert switched(ALONE, 0) == switched(LEAST, 0) == ()
    assert switched(ALONE, 32) == ("cross 1.3",) == switched(MOST, 1)
    assert set(switched(LEAST, 36)) == set(switched(MOST, 36)) == set(names)


@pytest.mark.parametrize(
    ("sentence", "breaking"), [("thirsty", {"cross 1.3"}), ("cold", {"encoder 0.3", "decoder 2.1"})]
)
def test_which_heads_break_a_sentence(sentence, breaking):
    pair, found = head_switches.SENTENCES[sentence], head_switches.outcomes(sentence)
    whole = off(sentence, ALONE, 0)
    assert whole["is_right"] and " ".join(whole["said"]) == shared("transformer")(pair.src_text).target
    alone = {name for name in head_switches.names() if found[frozenset([name])]["said"] != pair.tgt}
    assert alone == breaking


def test_one_head_after_another():
    assert [off("thirsty", LEAST, n)["is_right"] for n in (10, 30, 31)] == [True, True, False]
    assert not off("cold", LEAST, 19)["is_right"]
    back = [off("thirsty", MOST, n)["is_right"] for n in (1, 2)]
    assert back == [False, True], "without both pronoun heads il comes by default"
    for head in (0, 32):  # cross 1.3 looks at the word that decides, heard or not
        facts = off("thirsty", ALONE, head)
        row = facts["weights"][facts["right"].index("il")]
        assert row.argmax() == head_switches.SENTENCES["thirsty"].src.index("thirsty") and row.max() > 0.9
    on, silent = (off("thirsty", ALONE, head)["entropy"] for head in (0, 3))  # encoder 0.2
    assert silent[0] == pytest.approx(on[0], abs=1e-6) and np.abs(silent[1:] - on[1:]).max() > 0.03
    assert head_switches.entropy(torch.tensor([0.25] * 4)).item() == pytest.approx(2)
    assert head_switches.entropy(torch.tensor([1.0, 0.0])).item() == pytest.approx(0)


def test_a_silent_head_leaves_no_trace():
    model = shared("transformer").model
    before = [heads.w_output.detach().clone() for _, _, heads in multi_heads(model)]
    with ablated(model, head_switches.names()):
        assert all((heads.w_output == 0).all() for _, _, heads in multi_heads(model))
    assert all(map(torch.equal, before, [heads.w_output for _, _, heads in multi_heads(model)]))
