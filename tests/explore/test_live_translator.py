"""The live translator shows what the shipped systems do, and takes any text that is typed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.explore import LiveTranslator
from course_lib.explore.control import Control, Writing
from course_lib.explore.live_translator import ACROSS, HEADS, RCTM, SOURCE, TARGET, WOMAN, compute, drawable
from course_lib.teaching.questions import questions
from course_lib.text.batch import make_batch
from course_lib.translation.live import MOST_READ, live
from course_lib.translation.recompute import Recompute
from course_lib.translation.shipped import load_shipped

CAT = "The cat drank the water because it was thirsty."
FROZEN = {
    WOMAN: "la vieille femme voit un petit chien dans le jardin",
    WOMAN.replace("dog", "[dog]"): "la vieille femme voit un petit jardin dans le jardin",
    WOMAN.replace("a small", "[a] small"): "la vieille femme voit le petit chien dans le jardin",
    WOMAN.replace("woman", "[woman]"): "le vieux chien voit un petit chien dans le jardin",
    CAT: "le chat a bu l' eau parce qu' il avait soif",
    "The Cat sleeps.": "le chat dort",
}


def facts(text, system=ACROSS, head="mean", step=1):
    return compute(text=text, system=system, head=head, step=step)


@pytest.mark.parametrize("text", FROZEN)
def test_frozen_translations(text):
    assert facts(text)["french"] == FROZEN[text]
    if "[" not in text:
        assert load_shipped("transformer")(text).target == FROZEN[text]


def test_rctm_has_no_map_and_nothing_to_close():
    seen = facts(WOMAN, RCTM)
    assert seen["french"] == "la vieille femme porte le petit chapeau blanc"
    assert seen["weights"].sum() == 0 and seen["rows"] == ()
    closed = facts(WOMAN.replace("dog", "[dog]"), RCTM)
    assert closed["french"] == seen["french"] and "no word can be closed" in closed["notes"][0]


@pytest.mark.parametrize("system", [ACROSS, SOURCE, TARGET])
@pytest.mark.parametrize("head", HEADS)
def test_rows_sum_to_one_and_what_is_closed_or_missing_gets_nothing(system, head):
    seen = facts(WOMAN.replace("dog", "[dog]"), system, head)
    n_rows, n_columns = len(seen["rows"]), len(seen["columns"])
    weights = seen["weights"]
    assert weights[:n_rows].sum(axis=1) == pytest.approx(np.ones(n_rows), abs=1e-4)
    assert weights[n_rows:].sum() == weights[:, n_columns:].sum() == 0
    if system != TARGET:
        assert weights[:, 6].max() == 0, "dog"
    else:
        assert np.triu(weights, 1).max() == 0, "nobody looks ahead"


def test_padding_gets_nothing():
    shipped = load_shipped("transformer")
    encode, model = shipped.tokenizer.encode, shipped.model.eval()
    batch = make_batch([encode("the cat sleeps"), encode("the cat drank the water")], [encode("le chat")] * 2)
    with torch.no_grad():
        weights = model.all_weights(batch.src, batch.src_lengths, batch.tgt_in)["cross"]
    assert weights[0, ..., 4:].abs().max() == 0 and weights.sum(-1).allclose(torch.tensor(1.0), atol=1e-5)


def test_the_cache_changes_no_logit_and_the_source_is_projected_once():
    shipped = load_shipped("transformer")
    model, batch = shipped.model.eval(), make_batch([shipped.tokenizer.encode("the cat sleeps")], [[]])
    with torch.no_grad():
        memory = model.encode(batch.src, batch.src_lengths)
        before = {name: part.clone() for name, part in memory.items()}
        slow = Recompute(model)
        state, again = model.start(memory), slow.start(memory)
        for token in (2, 9, 33, 7, 50, 12):
            logits, state, _ = model.step(memory, state, torch.tensor([token]))
            whole, again, _ = slow.step(memory, again, torch.tensor([token]))
            assert (logits - whole).abs().max() < 1e-5
    assert all(torch.equal(memory[name], before[name]) for name in before)
    assert state["keys"].shape[-2] == 6


def test_a_step_says_its_likeliest_word():
    for step in range(1, 13):
        seen = facts(CAT, step=step)
        assert seen["top"][0] == seen["said"][seen["place"]]
        assert (
            list(seen["shares"]) == sorted(seen["shares"], reverse=True) and seen["shares"].sum() <= 1 + 1e-6
        )
    assert facts(CAT, step=18)["place"] == len(facts(CAT)["said"]) - 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  [ ] ", "empty"),
        ("the cat " * 9, "too long: 18 words"),
        ("The axolotl sleeps.", "read as <unk>: axolotl"),
        ("<b>$x$</b> кот 猫", "кот"),
    ],
)
def test_odd_texts_are_answered(text, says):
    seen = facts(text)
    assert any(says in note for note in seen["notes"])
    lab = LiveTranslator()
    lab.text = text
    assert lab.still() and 20 < len(lab.description) < 260


def test_brackets():
    assert live(load_shipped("transformer"), "the [old woman] sees").closed == (1, 2)
    assert facts(WOMAN.replace("a small dog", "a [small dog]"))["closed_words"] == (5, 6)
    assert len(live(load_shipped("rctm"), "the " * MOST_READ).source) == MOST_READ + 1
    assert facts(WOMAN.replace("dog", "[dog]"))["changed"] == 1 and facts(WOMAN)["changed"] == 0


def test_labels_hold_only_what_the_font_has():
    assert drawable("猫") == "□" and drawable("sœur") == "sœur" and len(drawable("x" * 60)) <= 11


def test_the_prediction_is_true():
    asked = questions("16")["dec-close-dog"]
    lab = LiveTranslator()
    lab.preset(asked.preset)
    assert asked.options[asked.right[0]].text.startswith("*jardin*")
    assert lab.facts["top"][0] == "jardin" and f"{lab.facts['shares'][0]:.2f}" == "0.92"


def test_no_preset_and_no_button_closes_a_word_for_the_learner():
    lab = LiveTranslator()
    lab.preset("[dog] closed")
    for system in (RCTM, SOURCE, ACROSS):
        lab.system = system
    assert "one" not in lab.ticked
    lab.text = WOMAN.replace("a small", "[a] small")
    assert "one" in lab.ticked


def test_a_field_to_write_in():
    field = Control("text", "English").widget(Writing(("a", "b")))
    assert not field.continuous_update and field.description == "English"
    lab = LiveTranslator()
    lab.text = "x" * 500
    assert len(lab.text) == 200
