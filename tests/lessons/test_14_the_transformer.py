"""Figures and claims of lesson 14 are what was measured."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
import torch

from course_lib.explore.parameter_ledger import BASE, ONE, THREE, compute, counts
from course_lib.layers.positions import sinusoids
from course_lib.teaching import yours
from course_lib.teaching.checking import exercise_called, judge
from course_lib.teaching.lessons import lesson
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD, spoken
from course_lib.text.toy.generate import running_pair
from course_lib.text.toy.splits import splits
from course_lib.translation import by_parts
from course_lib.translation.by_parts import PATIENTS, RIGHT, Wiring
from course_lib.translation.closing import listen_alone
from course_lib.translation.shipped import Shipped, shared
from course_lib.translation.translate import plainly

FOLDER = lesson("the_transformer").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = json.loads((FOLDER / "quiz.json").read_text(encoding="utf-8"))
SIZES = {"n_heads": 4, "n_layers": 3}


def shipped() -> Shipped:
    return shared("transformer")


@cache
def weights() -> dict[str, torch.Tensor]:
    return {name: w.detach() for name, w in shipped().model.state_dict().items()}


def said(texts: list[str], wiring: Wiring) -> list[str]:
    """In one batch, as in the clinic."""
    src = make_batch([shipped().tokenizer.encode(text) for text in texts], [[]] * len(texts)).src
    found = by_parts.say(
        src, weights(), **SIZES, max_len=30, may_look=(src != PAD)[:, None, None], wiring=wiring
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
    alone = {name: said([pair.src_text], wiring)[0] for name, wiring in PATIENTS.items()}
    assert {name for name, text in alone.items() if text == pair.tgt_text} == {"A", "D", "F"}
    assert alone["E"].split()[0] != pair.tgt[0]
    heard = splits(seed=0, sizes={"test": 40}).test
    right = {
        name: sum(
            a == p.tgt_text for a, p in zip(said([p.src_text for p in heard], wiring), heard, strict=True)
        )
        for name, wiring in {"well": RIGHT, **PATIENTS}.items()
    }
    assert right["D"] == right["F"] == right["well"] == 39
    assert right["C"] == 0 and right["B"] < 10 and right["A"] < right["well"] - 2
    assert PATIENTS["A"] == Wiring(masked=False) and "padding" in answer_to("full-patient-a")
    assert PATIENTS["B"] == Wiring(last_norm=False) and "last norm" in answer_to("full-patient-b")
    assert PATIENTS["C"] == Wiring(scaled=False) and "C lets the words in without the root" in SOURCE
    assert PATIENTS["D"] == Wiring(bias=False) and "bias" in answer_to("full-patient-d")
    assert PATIENTS["E"] == Wiring(starts=False) and "E begins with EOS" in SOURCE
    assert PATIENTS["F"] == Wiring(eps=1e-3) and "0.001" in answer_to("full-patient-f")


def code_of(beginning: str) -> str:
    """The one code cell of the lesson that begins so."""
    cells = [cell.partition("\n")[2] for cell in SOURCE.split("\n# %% ")]
    (found,) = [cell for cell in cells if cell.startswith(beginning)]
    return found


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


@pytest.mark.parametrize("finder", [by_mine, by_zip])
def test_any_finder_that_passes_gets_through_the_lights_and_the_clinic(finder, capsys):
    """Whether it goes through the stages of the one or of the other, or of both side by side."""
    assert judge(exercise_called("first_difference"), finder).status == "passed"
    space: dict = {}
    for beginning in ("import textwrap", "shipped =", "PARTS =", "def size", "parts_of, embed"):
        exec(code_of(beginning).replace("start_lesson(", "(lambda *a, **b: None)("), space)
    space["decoder_block"] = yours("decoder_block")
    exec(code_of("thirsty ="), space)
    space["first_difference"] = finder
    capsys.readouterr()
    for beginning in ("x = embed(batch.src", "heard ="):
        exec(code_of(beginning), space)
    told = capsys.readouterr().out
    assert "OFF" not in told and "first difference: nowhere" in told
    assert "last norm" in told and "well: nowhere; right 39 of 40" in told
    assert "F: first at 'encoder 0', by 0.005; right 39 of 40" in told
    assert [line.split("'")[1] for line in told.splitlines() if "first at" in line] == [
        *("encoder 0", "memory", "source words", "logits", "target words", "encoder 0"),
    ]


def test_the_roll_names_exercises():
    (road,) = re.findall(r'ROAD = """(.+?)"""', SOURCE, re.DOTALL)
    names = road.split()
    assert len(names) == len(set(names)) == 18
    assert all(exercise_called(name).name == name for name in names)


@pytest.mark.parametrize("name", ["encode_source", "decoder_block", "decode_logits"])
def test_what_is_lent_does_what_is_asked_for(name):
    task = exercise_called(name)
    assert judge(task, task.library).status == "passed"


def test_patient_f_is_as_told():
    src = make_batch([shipped().tokenizer.encode(pair.src_text) for pair in running_pair()], [[7, 8]] * 2)
    given = {**SIZES, "may_look": (src.src != PAD)[:, None, None]}
    well = by_parts.stages(src.src, src.tgt_in, weights(), **given)
    sick = by_parts.stages(src.src, src.tgt_in, weights(), **given, wiring=PATIENTS["F"])
    gaps = {stage: (sick[stage] - well[stage]).abs().max().item() for stage in well}
    assert gaps["source words"] == gaps["target words"] == 0 and gaps["encoder 0"] > 0.001
    table = weights()["words.output.weight"]
    rounded = torch.tensor([float(f"{number:.1e}") for number in table[src.src].flatten().tolist()])
    assert (8 * (rounded - table[src.src].flatten())).abs().max() > 0.001  # two digits: the words would tell


def test_words_grow_and_the_last_norms_bring_them_back():
    pair = running_pair()[0]
    batch = make_batch(*([shipped().tokenizer.encode(text)] for text in (pair.src_text, pair.tgt_text)))
    found = by_parts.stages(batch.src, batch.tgt_in, weights(), **SIZES)
    size = {stage: numbers.square().mean().sqrt().item() for stage, numbers in found.items()}
    for side in ("encoder", "decoder"):
        assert size[f"{side} 0"] < size[f"{side} 1"] < size[f"{side} 2"]
    assert 0.9 < size["memory"] < 1.3 and 0.9 < size["last norm"] < 1.3


def test_alone_every_cold_is_felt():
    drinkers = ["cat", "dog", "cow", "girl", "boy", "horse", "goat", "hen", "mouse", "woman", "bird"]
    drinks = ["water", "juice", "milk", "soup", "tea"]
    heard = [
        listen_alone(shipped(), f"the {one} drank the {drink} because it was cold").french
        for one in drinkers
        for drink in drinks
    ]
    assert len(drinkers) == 11 and len(drinks) == 5 and "all of 11 drinkers with 5 drinks" in SOURCE
    assert all(text.endswith("avait froid") for text in heard)


def test_its_words_are_about_290_and_it_says_the_sentence():
    pairs = splits(seed=0, sizes={"test": 3000}).test
    assert 280 <= len({word for pair in pairs for word in pair.src}) <= 300
    assert max(len(pair.src) for pair in pairs) == 20
    (typed,) = re.findall(r'MY_SENTENCE = "(.+)"', SOURCE)
    plain = plainly(typed, shipped().tokenizer)
    assert not shipped().tokenizer.unknown(plain)
    assert shipped()(plain).target == "la jeune reine voit trois vieux chevaux près du pont"


def test_a_causal_mask_across_spoils_the_article(monkeypatch):
    """What the instructor's edition tells: hidden from the first words, the source is not known to them."""
    look = by_parts.look

    def causal_look(x, source, parts, which, *, n_heads, may_look):
        causal = torch.ones(x.shape[1], source.shape[1], dtype=torch.bool).tril()
        mask = causal if which == "cross" else may_look
        return look(x, source, parts, which, n_heads=n_heads, may_look=mask)

    monkeypatch.setattr(by_parts, "look", causal_look)
    found = said([pair.src_text for pair in running_pair()], RIGHT)
    assert all(text.startswith("la chat") for text in found)


def test_the_ledger_is_as_told():
    found = counts(BASE)
    attention = found["encoder: attention"] + found["decoder: attention"] + found["cross-attention"]
    assert f"{found['feed-forward'] / 1e6:.1f}" == "25.2" and f"{attention / 1e6:.1f}" == "18.9"
    assert f"{found['word tables'] / 1e6:.1f}" == "18.9" and attention < found["word tables"]
    base, wide = (compute(model=BASE, place=0, tables=tables) for tables in (ONE, THREE))
    assert f"{base['total'] / 1e6:.1f}" == "63.1" and round(wide["total"] / 1e6) == 101
    assert f"{(wide['total'] - base['total']) / 1e6:.1f}" == "37.9" and wide["tables_share"] > 0.5
    with torch.device("meta"):
        bare = torch.nn.Transformer(batch_first=True)
    blocks = base["total"] - found["word tables"]
    assert sum(w.numel() for w in bare.parameters()) - blocks == 2_048
    for told in ("25.2 million", "18.9 each", "101 million", "2,048"):
        assert told in SOURCE


def test_thirty_unseen_sentences():
    pairs = splits(seed=0, sizes={"test": 30}).test
    assert sum(shipped()(pair.src_text).target == pair.tgt_text for pair in pairs) == 29
