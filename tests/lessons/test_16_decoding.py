"""Figures and claims of lesson 16 are what was measured, recorded or live."""

from __future__ import annotations

import json
from functools import cache

import pytest
import torch
from sacrebleu.metrics import BLEU

from course_lib.models.transformer import TransformerConfig
from course_lib.recorded import recorded
from course_lib.runtime import data_path
from course_lib.teaching.exercises import EXERCISES
from course_lib.teaching.lessons import lesson
from course_lib.teaching.questions import questions
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS
from course_lib.text.toy.splits import splits
from course_lib.translation.alignment_error import error_rate, links_from
from course_lib.translation.live import live
from course_lib.translation.recompute import Recompute
from course_lib.translation.scores import bleu
from course_lib.translation.shipped import load_shipped
from course_lib.translation.translate import translate

FOLDER = lesson("decoding").folder
SOURCE = (FOLDER / "lesson.py").read_text(encoding="utf-8")
QUIZ = (FOLDER / "quiz.json").read_text(encoding="utf-8")
COW = "the cow drank the milk because it was thirsty"


@cache
def pairs(n: int):
    return splits(seed=0, sizes={"test": n}).test


@cache
def said(name: str, n: int, beam: int, alpha: float) -> list[str]:
    system = load_shipped(name)
    texts = [pair.src_text for pair in pairs(n)]
    found = translate(texts, system.model, system.tokenizer, beam=beam, length_penalty=alpha)
    return [one.target for one in found]


def right(name: str, n: int, beam: int, alpha: float) -> int:
    return sum(ours == pair.tgt_text for ours, pair in zip(said(name, n, beam, alpha), pairs(n), strict=True))


def too_short(beam: int, alpha: float) -> int:
    both = zip(said("rctm", 100, beam, alpha), pairs(100), strict=True)
    return sum(len(ours.split()) < len(pair.tgt) for ours, pair in both)


def test_what_closing_does_as_told():
    shipped = load_shipped("transformer")
    closed = live(shipped, "the old woman sees a small [dog] in the garden")
    assert closed.french == "la vieille femme voit un petit jardin dans le jardin"
    assert f"{closed.chances[6].max():.2f}" == "0.92"
    a = live(shipped, "the old woman sees [a] small dog in the garden")
    assert a.french.startswith("la vieille femme voit le petit chien")
    assert closed.looked["across"][:, :, 6].mean(dim=(0, 1)).argmax() == 9, "garden"


def test_a_row_belongs_to_the_word_it_says():
    shipped = load_shipped("transformer")
    model, encode = shipped.model.eval(), shipped.tokenizer.encode
    batch = make_batch(
        [encode(pair.src_text) for pair in pairs(100)], [encode(pair.tgt_text) for pair in pairs(100)]
    )
    with torch.no_grad():
        memory = model.encode(batch.src, batch.src_lengths)
        mean = model.decode(memory, batch.tgt_in, with_weights=True)[1].mean(dim=(1, 2))
    errors = []
    for reading in (False, True):
        found = [
            links_from(table, n_source=len(pair.src), n_target=len(pair.tgt), reading=reading)
            for table, pair in zip(mean, pairs(100), strict=True)
        ]
        errors.append(error_rate(found, [set(pair.links) for pair in pairs(100)]))
    assert errors[0] < 0.1 and 0.85 < errors[1] < 0.95


def test_a_wider_beam_is_shorter_and_the_penalty_holds_half_of_it_back():
    assert [too_short(k, 0.0) for k in (1, 2, 5, 20)] == [20, 25, 31, 37]
    assert [too_short(k, 1.0) for k in (1, 2, 5, 20)] == [20, 22, 25, 28]
    assert {right("rctm", 100, k, a) for k in (1, 2, 5, 20) for a in (0.0, 1.0)} == {23}
    asked = questions("16")["dec-short"]
    assert asked.options[asked.right[0]].text.startswith("It rises, by a third")


@pytest.mark.slow
def test_over_300_sentences_as_told():
    for name, greedy, wide in (("rctm", 24, 27), ("rnn_encoder_decoder", 67, 69)):
        assert round(right(name, 300, 1, 0.0) / 3) == greedy
        assert round(right(name, 300, 5, 0.0) / 3) == wide
    assert said("transformer", 300, 1, 0.0) == said("transformer", 300, 5, 0.0)


def test_the_record_on_real_captions_as_told():
    greedy = recorded("multi30k_ladder", lambda run: run["scores"]["test"]["greedy"])
    beam = recorded("multi30k_ladder", lambda run: run["scores"]["test"]["beam"])
    gains = {name: beam[name] - greedy[name] for name in greedy}
    assert len(gains) == 14
    assert f"{min(gains.values()):.1f}" == "0.6" and f"{max(gains.values()):.1f}" == "2.0"
    assert f"{greedy['transformer']:.1f}" == "41.3" and f"{beam['transformer']:.1f}" == "42.4"
    runs = json.loads(data_path("results", "multi30k_ladder.json").read_text(encoding="utf-8"))["runs"]
    assert {run["machine"] for run in runs} == {"NVIDIA H200"}
    for run in runs:
        if run["variant"] in ("bahdanau", "transformer"):
            found = run["scores"]["validation"]["beam by length penalty"]
            spread = max(found.values()) - min(found.values())
            assert 0.4 < spread < 0.7 if run["variant"] == "bahdanau" else spread > 1.0
            assert run["variant"] == "bahdanau" or found["2.0"] == max(found.values())


def test_bleu_by_hand_and_the_record():
    ours = ["le chat noir dort dans le jardin", "la femme ne voit pas le chien"]
    theirs = ["le petit chat noir dort dans le jardin", "la femme ne voit pas le chien"]
    found = BLEU(tokenize="none", force=True).corpus_score(ours, [theirs])
    assert (found.counts, found.totals) == ([14, 11, 9, 7], [14, 12, 10, 8])
    assert f"{found.bp:.3f}" == "0.931" and f"{found.score:.1f}" == "85.8"
    assert f"{found.score / found.bp / 100:.3f}" == "0.922"
    score = EXERCISES["bleu_score"].reference
    assert score([x.split() for x in ours], [x.split() for x in theirs]) == pytest.approx(found.score)
    exact = recorded("toy_ladder", lambda run: 100 * run["scores"]["test"]["exact"])
    values = recorded("toy_ladder", lambda run: run["scores"]["test"]["bleu"])
    assert (round(exact["rctm"]), round(values["rctm"])) == (24, 45)
    assert (round(exact["seq2seq"]), round(values["seq2seq"])) == (66, 80)
    assert (round(exact["transformer"]), f"{values['transformer']:.1f}") == (98, "99.7")
    assert round(bleu(said("rctm", 100, 2, 0.0), [pair.tgt_text for pair in pairs(100)]).value) == 45


def test_what_bleu_cannot_see():
    reference = "la femme ne voit pas le petit chien dans le jardin"
    trials = {
        "70.2": reference.replace("chien", "chat"),
        "63.2": reference.replace("ne voit", "n' aperçoit"),
        "54.5": reference.replace("ne voit pas", "voit"),
    }
    for value, trial in trials.items():
        found = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score([trial], [[reference]])
        assert f"{found.score:.1f}" == value and value in QUIZ


def test_the_cache_counts_and_bytes():
    shipped = load_shipped("transformer")
    config = shipped.model.config
    assert (config.n_layers, config.d_model, config.n_heads) == (3, 64, 4)
    assert 2 * 6 * 512 * 4 == 24_576 and 1024 * 24_576 == 24 * 2**20
    assert sum(range(1, 101)) == 5050 and sum(range(1, 61)) == 1830
    bench = data_path("results", "bench_decoding_cpu.txt").read_text(encoding="utf-8")
    assert "7.3 ×" in bench and "2.6 ×" in bench and "64 words each" in bench


def test_without_the_mask_29_sentences_go_wrong(monkeypatch):
    shipped = load_shipped("transformer")
    assert right("transformer", 100, 1, 0.0) == 99
    monkeypatch.setattr(TransformerConfig, "hidden_ahead", lambda self, n, device: {})
    texts = [pair.src_text for pair in pairs(100)]
    found = translate(texts, Recompute(shipped.model), shipped.tokenizer)
    same = sum(one.target == pair.tgt_text for one, pair in zip(found, pairs(100), strict=True))
    assert 67 <= same <= 73 and "costs 29 sentences" in SOURCE


def test_one_layer_deep_the_mask_makes_no_difference_and_two_deep_it_does():
    shipped = load_shipped("transformer")
    model = shipped.model.eval()
    x = torch.tensor([[BOS, *shipped.tokenizer.encode("la vieille femme voit un petit chien")]])
    batch = make_batch([shipped.tokenizer.encode("the old woman sees a small dog in the garden")], [[]])
    with torch.no_grad():
        memory = model.encode(batch.src, batch.src_lengths)
        differ = []
        states = {}
        for causal in (True, False):
            h, states[causal] = model.target_positions.add(model.words.target(x)), []
            for layer, block in enumerate(model.decoder.blocks):
                source = type("Source", (tuple,), {})((memory["keys"][:, layer], memory["values"][:, layer]))
                h, _, _ = block(h, causal=causal, source=source, source_may_look=memory["may_look"])
                states[causal].append(h[:, -1])
        differ = [(a - b).abs().max().item() for a, b in zip(states[True], states[False], strict=True)]
    assert differ[0] < 1e-5 and differ[1] > 1
