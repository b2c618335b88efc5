"""Heads of the shipped Transformer switched off: what the picture claims is what the model does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore.head_switches import (
    ALONE,
    LEAST,
    MOST,
    N_HEADS,
    NEEDED,
    SENTENCES,
    compute,
    entropy,
    names,
    outcomes,
    shipped,
    switched,
)  # fmt: skip
from course_lib.translation.inside import all_silent, attentions


def test_every_head_has_its_place_and_its_turn():
    assert len(names()) == N_HEADS == 36 and set(NEEDED) == set(names())
    assert names()[0] == "encoder 0.0" and names()[-1] == "cross 2.3"
    assert switched(ALONE, 0) == switched(LEAST, 0) == ()
    assert switched(ALONE, 32) == ("cross 1.3",) == switched(MOST, 1)
    assert set(switched(LEAST, 36)) == set(switched(MOST, 36)) == set(names())


def test_with_all_heads_on_it_says_what_the_shipped_system_says():
    for sentence, pair in SENTENCES.items():
        facts = compute(sentence=sentence, how=ALONE, head=0)
        assert facts["is_right"] and " ".join(facts["said"]) == shipped()(pair.src_text).target


@pytest.mark.parametrize(
    ("sentence", "breaking"), [("thirsty", {"cross 1.3"}), ("cold", {"encoder 0.3", "decoder 2.1"})]
)
def test_which_heads_break_a_sentence_alone(sentence, breaking):
    wrong = {
        name for name in names() if outcomes(sentence)[frozenset([name])]["said"] != SENTENCES[sentence].tgt
    }
    assert wrong == breaking


def test_one_after_another():
    survives = [compute(sentence="thirsty", how=LEAST, head=head)["is_right"] for head in (10, 30, 31)]
    assert survives == [True, True, False]
    assert not compute(sentence="cold", how=LEAST, head=19)["is_right"]
    back = [compute(sentence="thirsty", how=MOST, head=head)["is_right"] for head in (1, 2)]
    assert back == [False, True]  # without both pronoun heads il comes by default


@pytest.mark.parametrize("head", [0, 32])
def test_cross_1_3_looks_at_the_word_that_decides_heard_or_not(head):
    facts = compute(sentence="thirsty", how=ALONE, head=head)
    says, decides = facts["right"].index("il"), SENTENCES["thirsty"].src.index("thirsty")
    assert facts["weights"][says].argmax() == decides and facts["weights"][says].max() > 0.9


def test_a_silent_head_leaves_no_trace():
    model = shipped().model
    before = [heads.w_output.detach().clone() for _, _, heads in attentions(model)]
    with all_silent(model, names()):
        assert all((heads.w_output == 0).all() for _, _, heads in attentions(model))
    after = [heads.w_output.detach() for _, _, heads in attentions(model)]
    assert all(map(torch.equal, before, after))


def test_its_own_entropy_stays_and_later_ones_move():
    on = compute(sentence="thirsty", how=ALONE, head=0)["entropy"]
    off = compute(sentence="thirsty", how=ALONE, head=3)["entropy"]  # encoder 0.2
    assert off[0] == pytest.approx(on[0], abs=1e-6)
    assert np.abs(off[1:] - on[1:]).max() > 0.03


def test_entropy_in_bits():
    assert entropy(torch.tensor([0.25] * 4)).item() == pytest.approx(2)
    assert entropy(torch.tensor([1.0, 0.0])).item() == pytest.approx(0)
