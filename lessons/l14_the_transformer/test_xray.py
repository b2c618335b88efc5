"""The key picture and the X-ray of lesson 14: their numbers are the shipped model's, and the first box that
they mark is the one with the mistake."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.models.own_file import own_file_path
from course_lib.text import BOS, EOS, splits
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer import key_picture
from lessons.l14_the_transformer.file_slips import reference_text
from lessons.l14_the_transformer.page import page
from lessons.l14_the_transformer.traces import LONGEST, trace
from lessons.l14_the_transformer.xray import XRay

THIRSTY = key_picture.SENTENCE
SENTENCES = [pair.src_text for pair in splits(seed=0, sizes={"test": 60}).test if len(pair.src) <= LONGEST][
    :20
]
FIRST_WRONG = {  # by a known mistake of a file
    "no-root": "source embeddings",
    "no-positions": "source embeddings",
    "no-scale": "encoder 0, after attention",
    "bare-view": "encoder 0, after attention",
    "encoder-mask-missing": "encoder 0, after attention",
    "no-relu": "encoder 0",
    "feed-forward-missing": "encoder 0",
    "one-block": "encoder 1, after attention",
    "no-last-norm": "memory",
    "no-causal-mask": "decoder 0, after self-attention",
    "cross-mask-missing": "decoder 0, after cross-attention",
    "cross-missing": "decoder 0, after cross-attention",
    "no-bias": "logits",
    # the networks of section 7
    "A": "encoder 0, after attention",
    "B": "memory",
    "C": "source embeddings",
    "D": "logits",
    "E": "target embeddings",
    "F": "encoder 0",
}

UNFINISHED = (  # lines of a file's `encode`, and what they lead to
    ("self.encoder(x, mask)", "returned NoneType"),
    ("return self.encoder(x, mask)[0]", "RuntimeError"),
)


def of_shipped_model(sentence: str, target: tuple[str, ...]) -> tuple[dict, torch.Tensor]:
    """Attention weights and logits, by the model's own code, without padding."""
    model, tokenizer = shared("transformer").model.eval(), shared("transformer").tokenizer
    src = torch.tensor([[*tokenizer.encode(sentence), EOS]])
    tgt = torch.tensor([[BOS, *tokenizer.encode(" ".join(target[1:]))]])
    lengths = torch.tensor([src.shape[1]])
    with torch.no_grad():
        return model.attention_weights(src, lengths, tgt), model(src, lengths, tgt)[0]


@pytest.mark.parametrize("sentence", [THIRSTY, *SENTENCES])
@pytest.mark.parametrize("model", ["library", "your functions"])
def test_the_numbers_are_those_of_the_shipped_model(model, sentence):
    found = trace(model, sentence)
    weights, logits = of_shipped_model(sentence, found.target)
    assert np.abs(found.states["logits"] - logits.numpy()).max() < 1e-3
    uses = {"encoder": "attention", "decoder": "self-attention", "cross": "cross-attention"}
    for use, kind in uses.items():
        for layer in range(3):
            side = "encoder" if use == "encoder" else "decoder"
            mine, theirs = found.maps[f"{side} {layer}, after {kind}"], weights[use][0, layer]
            assert np.abs(mine - theirs.numpy()).max() < 1e-3
    assert found.wrong == "" and found.output[-1] == "</s>"


def test_the_key_picture_is_at_the_step_of_il_and_its_two_heads_read_what_it_says():
    found = key_picture.numbers()
    _, logits = of_shipped_model(THIRSTY, found.target)
    assert found.output[-1] == "il" and abs(found.probability - logits[-1].softmax(-1).max().item()) < 1e-3
    stories = " ".join(" ".join(lines) for lines in key_picture.stories(found).values())
    assert "cross 1.3 reads *thirsty* (1.00)" in stories and "decoder 2.1 reads *le* (0.99)" in stories
    assert "In 200 of 200 such sentences" in stories  # of lesson 12's record


@pytest.mark.parametrize("model", FIRST_WRONG)
def test_the_first_wrong_box_is_marked_and_the_others_are_quiet(model):
    facts = XRay.facts_at(XRay.start | {"model": model, "box": FIRST_WRONG[model]})
    assert facts["trace"].wrong == FIRST_WRONG[model]
    assert XRay.goals_met(facts, facts)["wrong"]
    picture = XRay.picture_of(facts).svg
    assert picture.count("✗") == 1 and picture.count('opacity="0.35"') == 20 - 1 and "✓" not in picture


def test_attention_to_later_words_is_shown_where_a_causal_mask_is_missing():
    for model, hidden in (("library", True), ("no-causal-mask", False)):
        drawn = page(trace(model, THIRSTY), title=["X-ray"], alt="The whole Transformer.").svg
        assert ("M1 0h11M2 1h10" in drawn) == hidden  # what is grey in the first two of twelve rows


def test_a_learners_file_has_ticks_and_says_why_it_stops():
    path = own_file_path()
    facts = XRay.facts_at(XRay.start | {"model": "your file"})
    assert "Expected a Python file" in facts["trace"].problem and "✗" not in XRay.picture_of(facts).svg
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(reference_text(), encoding="utf-8")
    found = trace("your file", THIRSTY)
    assert found.wrong == found.problem == "" and all(found.own.values()) and len(found.own) == 20
    path.write_text(reference_text().replace(".tril()", ".triu()"), encoding="utf-8")
    found = trace("your file", THIRSTY)  # a tick is for what is right
    assert "decoder 0" not in found.own and found.own["memory"]
    path.write_text(reference_text().replace("torch.relu(", "torch.rely("), encoding="utf-8")
    found = trace("your file", THIRSTY)
    assert found.wrong == "encoder 0" and "rely" in found.problem  # the first state that wasn't reached
    for unfinished, shown in UNFINISHED:
        text = reference_text().replace("return self.encoder(x, mask)", unfinished)
        path.write_text(text, encoding="utf-8")
        found = trace("your file", THIRSTY)
        assert found.wrong == "memory" and shown in found.problem
        XRay.picture_of(XRay.facts_at(XRay.start | {"model": "your file", "box": "memory"}))
    path.write_text("import torch\nTransformer = 1\n", encoding="utf-8")
    assert "Expected a class" in trace("your file", THIRSTY).problem


@pytest.mark.parametrize("typed", ["", "   ", "zzz <b>the</b> cat!", "The CAT sleeps.", "the cat " * 60])
def test_whatever_is_typed_gets_a_picture(typed):
    facts = XRay.facts_at(XRay.start | {"sentence": typed})
    assert len(facts["trace"].source) <= LONGEST + 1 and facts["trace"].output
    assert "<b>" not in XRay.picture_of(facts).svg
    assert ("zzz?" in facts["trace"].source) == ("zzz" in typed) and facts["trace"].cut == (len(typed) > 100)
