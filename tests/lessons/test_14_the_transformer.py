"""Figures and claims of lesson 14 are what was measured."""

from __future__ import annotations

import json
from functools import cache

import torch

from course_lib.explore.parameter_ledger import BASE, BIG, ONE, THREE, compute, counts
from course_lib.layers.positions import sinusoids
from course_lib.teaching.lessons import lesson
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD, spoken
from course_lib.text.toy.generate import running_pair
from course_lib.text.toy.splits import splits
from course_lib.translation import by_parts
from course_lib.translation.by_parts import PATIENTS, RIGHT, Habits
from course_lib.translation.shipped import Shipped, load_shipped

FOLDER = lesson("the_transformer").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = json.loads((FOLDER / "quiz.json").read_text(encoding="utf-8"))
SIZES = {"n_heads": 4, "n_layers": 3}


@cache
def shipped() -> Shipped:
    found = load_shipped("transformer")
    found.model.eval()
    return found


@cache
def weights() -> dict[str, torch.Tensor]:
    return {name: w.detach() for name, w in shipped().model.state_dict().items()}


def said(texts: list[str], habits: Habits) -> list[str]:
    """In one batch, as in the clinic."""
    src = make_batch([shipped().tokenizer.encode(text) for text in texts], [[]] * len(texts)).src
    found = by_parts.say(
        src, weights(), **SIZES, max_len=30, may_look=(src != PAD)[:, None, None], habits=habits
    )
    return [shipped().tokenizer.decode(list(spoken(row, 680))) for row in found.tolist()]


def answer_to(question: str) -> str:
    (found,) = [q for q in QUIZ["questions"] if q["id"] == question]
    (right,) = [option["text"] for option in found["options"] if option["correct"]]
    return right


def test_the_file_is_as_told():
    config = shipped().model.config
    assert (config.d_model, config.n_heads, config.d_ff, config.n_layers) == (64, 4, 256, 3)
    assert config.pre_norm and config.tied and config.positions == "sinusoidal"
    assert len(weights()) == 96 and sum(w.numel() for w in weights().values()) == 392_360
    assert "392,360" in SOURCE


def test_a_row_is_a_fifth_of_a_position():
    row = weights()["words.output.weight"].square().mean().sqrt().item()
    position = sinusoids(20, 64).square().mean().sqrt().item()
    assert 0.17 < row / position < 0.25 and 8 * row > 1.5 * position


def test_the_clinic():
    pair = running_pair()[0]
    alone = {name: said([pair.src_text], habits)[0] for name, habits in PATIENTS.items()}
    assert {name for name, text in alone.items() if text == pair.tgt_text} == {"A", "D", "F"}
    assert alone["E"].split()[0] != pair.tgt[0]
    heard = splits(seed=0, sizes={"test": 40}).test
    right = {
        name: sum(
            a == p.tgt_text for a, p in zip(said([p.src_text for p in heard], habits), heard, strict=True)
        )
        for name, habits in {"well": RIGHT, **PATIENTS}.items()
    }
    assert right["D"] == right["F"] == right["well"] >= 38
    assert right["C"] == 0 and right["B"] < 10 and right["A"] < right["well"] - 2
    assert PATIENTS["A"] == Habits(masked=False) and "padding" in answer_to("full-patient-a")
    assert PATIENTS["B"] == Habits(last_norm=False) and "last norm" in answer_to("full-patient-b")
    assert PATIENTS["C"] == Habits(scaled=False) and "sqrt" in answer_to("full-patient-c")
    assert PATIENTS["D"] == Habits(bias=False) and "bias" in answer_to("full-patient-d")
    assert PATIENTS["E"] == Habits(starts=False) and "EOS" in answer_to("full-patient-e")
    assert PATIENTS["F"] == Habits(eps=1e-3) and "0.001" in answer_to("full-patient-f")


def test_a_causal_mask_across_spoils_the_article():
    """What the instructor's edition tells: hidden from the first words, the source is not known to them."""
    found = said([pair.src_text for pair in running_pair()], Habits(cross_causal=True))
    assert all(text.startswith("la chat") for text in found)


def test_the_ledger_is_as_told():
    found = counts(BASE)
    attention = found["encoder: attention"] + found["decoder: attention"] + found["cross-attention"]
    assert f"{found['feed-forward'] / 1e6:.1f}" == "25.2" and f"{attention / 1e6:.1f}" == "18.9"
    assert f"{found['word tables'] / 1e6:.1f}" == "18.9" and attention < found["word tables"]
    base, wide = (compute(model=BASE, place=0, tables=tables) for tables in (ONE, THREE))
    assert f"{base['total'] / 1e6:.1f}" == "63.1" and round(wide["total"] / 1e6) == 101
    assert f"{(wide['total'] - base['total']) / 1e6:.1f}" == "37.9" and wide["tables_share"] > 0.5
    assert f"{compute(model=BIG, place=0, tables=ONE)['total'] / 1e6:.1f}" == "214.2"
    for number in (1_050_624, 2_099_712, 3_152_384, 4_204_032, 44_138_496, 44_140_544, 63_082_496):
        assert f"{number:,}" in SOURCE


def test_thirty_unseen_sentences():
    pairs = splits(seed=0, sizes={"test": 30}).test
    assert sum(shipped()(pair.src_text).target == pair.tgt_text for pair in pairs) == 29
