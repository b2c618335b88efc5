"""Figures and claims of lesson 14 are what was measured."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
import torch

from course_lib.layers.positions import sinusoids
from course_lib.teaching import yours
from course_lib.teaching.exercises.any_exercise import judge
from course_lib.teaching.exercises.catalogue import exercise_called
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD, spoken
from course_lib.text.toy.generate import running_pair
from course_lib.translation.shipped import shared
from lessons.l09_self_attention.interventions import listen_alone
from lessons.l14_the_transformer import by_parts
from lessons.l14_the_transformer.by_parts import PATIENTS, RIGHT, Wiring
from lessons.l14_the_transformer.parameter_ledger import BASE, ONE, THREE, compute, counts
from tests.lessons.told import Told, drawn

L = Told("the_transformer")
SIZES = {"n_heads": 4, "n_layers": 3}


@cache
def weights() -> dict[str, torch.Tensor]:
    return {name: w.detach() for name, w in shared("transformer").model.state_dict().items()}


def encode(text: str) -> list[int]:
    return shared("transformer").tokenizer.encode(text)


def said_by(wiring: Wiring, texts: list[str]) -> list[str]:
    """In one batch, as in the clinic."""
    src = make_batch([encode(text) for text in texts], [[]] * len(texts)).src
    given = {**SIZES, "max_len": 30, "may_look": (src != PAD)[:, None, None], "wiring": wiring}
    found = by_parts.say(src, weights(), **given)
    return [shared("transformer").tokenizer.decode(list(spoken(row, 680))) for row in found.tolist()]


def answer_to(question: str) -> str:
    (found,) = [one for one in json.loads(L.quiz)["questions"] if one["id"] == question]
    (right,) = [option["text"] for option in found["options"] if option["correct"]]
    return right


def test_the_file_is_as_told():
    config = shared("transformer").model.config
    assert (config.d_model, config.n_heads, config.d_ff, config.n_layers) == (64, 4, 256, 3)
    assert config.pre_norm and config.tied and config.positions == "sinusoidal"
    assert len(weights()) == 96 and sum(w.numel() for w in weights().values()) == 392_360
    L.says("392,360")
    row = weights()["words.output.weight"].square().mean().sqrt().item()
    position = sinusoids(20, 64).square().mean().sqrt().item()  # a row of words is a fifth of it
    assert 0.17 < row / position < 0.25 and 8 * row > 1.5 * position


def test_who_the_patients_are():
    assert {
        "A": Wiring(masked=False),
        "B": Wiring(last_norm=False),
        "C": Wiring(scaled=False),
        "D": Wiring(bias=False),
        "E": Wiring(starts=False),
        "F": Wiring(eps=1e-3),
    } == PATIENTS
    for patient, told in (("a", "padding"), ("b", "last norm"), ("d", "bias"), ("f", "0.001")):
        assert told in answer_to(f"full-patient-{patient}")


def test_a_causal_mask_across_spoils_the_article(monkeypatch):
    look = by_parts.look

    def causal_look(x, source, parts, which, *, n_heads, may_look):
        causal = torch.ones(x.shape[1], source.shape[1], dtype=torch.bool).tril()
        mask = causal if which == "cross" else may_look
        return look(x, source, parts, which, n_heads=n_heads, may_look=mask)

    monkeypatch.setattr(by_parts, "look", causal_look)
    found = said_by(RIGHT, [pair.src_text for pair in running_pair()])
    assert all(text.startswith("la chat") for text in found)  # what the instructor's edition tells


def by_mine(mine, theirs, tolerance):
    for stage in mine:
        if not (mine[stage] - theirs[stage]).abs().max() <= tolerance:
            return stage
    return "nowhere"


def by_zip(mine, theirs, tolerance):
    for (stage, own), right in zip(mine.items(), theirs.values(), strict=True):
        if not (own - right).abs().max() <= tolerance:
            return stage
    return "nowhere"


def test_any_finder_that_passes_gets_through_the_lights_and_the_clinic(capsys, monkeypatch):
    """Whether it goes through the stages of the one or of both side by side. Each patient is heard once."""
    heard: dict = {}

    def say(src, *parts, wiring, **given):
        key = wiring, tuple(src.shape)
        if key not in heard:
            heard[key] = by_parts_say(src, *parts, wiring=wiring, **given)
        return heard[key]

    by_parts_say, space = by_parts.say, {}
    monkeypatch.setattr(by_parts, "say", say)
    setup = L.cells("import textwrap", "shipped =", "PARTS =", "def size", "parts_of, embed")
    exec(setup.replace("start_lesson(", "(lambda *a, **b: None)("), space)
    space["decoder_block"] = yours("decoder_block")
    exec(L.cells("thirsty ="), space)
    for finder in (by_mine, by_zip):
        assert judge(exercise_called("first_difference"), finder).status == "passed"
        space["first_difference"] = finder
        capsys.readouterr()
        exec(L.cells("x = embed(batch.src", "heard ="), space)
        told = capsys.readouterr().out
        assert "OFF" not in told and "first difference: nowhere" in told
        assert "last norm" in told and "well: nowhere; right 39 of 40" in told
        assert "F: first at 'encoder 0', by 0.005; right 39 of 40" in told
        stages = [line.split("'")[1] for line in told.splitlines() if "first at" in line]
        assert stages == ["encoder 0", "memory", "source words", "logits", "target words", "encoder 0"]


def test_the_roll_names_exercises():
    (road,) = re.findall(r'ROAD = """(.+?)"""', L.source, re.DOTALL)
    names = road.split()
    assert len(names) == len(set(names)) == 18
    assert all(exercise_called(name).name == name for name in names)


@pytest.mark.parametrize("name", ["encode_source", "decoder_block", "decode_logits"])
def test_what_is_lent_does_what_is_asked_for(name):
    task = exercise_called(name)
    assert judge(task, task.library).status == "passed"


def test_patient_f():
    src = make_batch([encode(pair.src_text) for pair in running_pair()], [[7, 8]] * 2)
    given = {**SIZES, "may_look": (src.src != PAD)[:, None, None]}
    well = by_parts.stages(src.src, src.tgt_in, weights(), **given)
    sick = by_parts.stages(src.src, src.tgt_in, weights(), **given, wiring=PATIENTS["F"])
    gaps = {stage: (sick[stage] - well[stage]).abs().max().item() for stage in well}
    assert gaps["source words"] == gaps["target words"] == 0 and gaps["encoder 0"] > 0.001
    numbers = weights()["words.output.weight"][src.src].flatten()
    rounded = torch.tensor([float(f"{number:.1e}") for number in numbers.tolist()])
    assert (8 * (rounded - numbers)).abs().max() > 0.001  # two digits: the words would tell


def test_alone_every_cold_is_felt():
    drinkers = ["cat", "dog", "cow", "girl", "boy", "horse", "goat", "hen", "mouse", "woman", "bird"]
    drinks = ["water", "juice", "milk", "soup", "tea"]
    for one in drinkers:
        for drink in drinks:
            text = f"the {one} drank the {drink} because it was cold"
            assert listen_alone(shared("transformer"), text).french.endswith("avait froid")
    L.says(f"all of {len(drinkers)} drinkers with {len(drinks)} drinks")


def test_its_words_are_about_290():
    assert 280 <= len({word for pair in drawn(3000) for word in pair.src}) <= 300
    assert max(len(pair.src) for pair in drawn(3000)) == 20


def test_the_ledger():
    found = counts(BASE)
    attention = found["encoder: attention"] + found["decoder: attention"] + found["cross-attention"]
    millions = [f"{n / 1e6:.1f}" for n in (found["feed-forward"], attention, found["word tables"])]
    assert millions == ["25.2", "18.9", "18.9"] and attention < found["word tables"]
    base, wide = (compute(model=BASE, place=0, tables=tables) for tables in (ONE, THREE))
    assert f"{base['total'] / 1e6:.1f}" == "63.1" and round(wide["total"] / 1e6) == 101
    assert f"{(wide['total'] - base['total']) / 1e6:.1f}" == "37.9" and wide["tables_share"] > 0.5
    assert 44_140_544 - (base["total"] - found["word tables"]) == 2_048  # torch's own, as printed
    L.says("25.2 million", "18.9 each", "101 million")
