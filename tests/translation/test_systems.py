"""For every registered translator, cached equals uncached decoding; the shipped systems translate."""

from __future__ import annotations

import json

import pytest
import torch

from course_lib.models.registry import build, make_config, translators
from course_lib.runtime import data_path
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.translation.search import beam_search
from course_lib.translation.shipped import shared
from lessons.l16_decoding.recompute import Recompute

SOURCES = [[5, 6, 7], [8, 9, 10, 11, 12], [13]]
RUNNING = {
    "The cat drank the water because it was thirsty.": "le chat a bu l' eau parce qu' il avait soif",
    "the cat drank the water because it was cold": "le chat a bu l' eau parce qu' elle était froide",
}
gpu = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))


@pytest.mark.parametrize("device", ["cpu", gpu])
@pytest.mark.parametrize("name", [system.name for system in translators()])
def test_decoding_with_a_cache_equals_decoding_without(name, device, monkeypatch):
    # By default cuDNN uses TF32 (10 mantissa bits), and rounds a word differently from a sentence.
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    tolerance = {"rtol": 1e-5, "atol": 1e-4} if device == "cuda" else {"rtol": 1.3e-6, "atol": 1e-5}
    torch.manual_seed(1)
    system = build(name, make_config(name, scale="tiny", vocab_size=16)).to(device)
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.mul_(2.0)  # otherwise probabilities are nearly equal, and rounding would decide
    batch = make_batch(SOURCES, [[]] * len(SOURCES)).to(device)
    memory = system.eval().encode(batch.src, batch.src_lengths)
    system.train()

    for beam in (1, 3):
        cached = beam_search(system, memory, beam=beam, max_len=6, with_weights=True)
        uncached = beam_search(Recompute(system), memory, beam=beam, max_len=6)
        assert torch.equal(uncached.ids, cached.ids) and system.training
        torch.testing.assert_close(uncached.scores, cached.scores, **tolerance)
        if not system.attends:
            assert cached.weights is None
            continue
        assert cached.weights.shape[-2:] == (cached.ids.shape[1], batch.src.shape[1])
        attends = cached.weights.sum(dim=-1) > 0  # local-p's Gaussian makes the sum less than 1
        assert torch.equal(attends, (cached.ids != PAD)[:, None, None].expand_as(attends))


def test_shipped_systems_translate_and_a_hard_pair_separates_them():
    systems = {name: shared(name) for name in ("seq2seq", "bahdanau", "transformer")}
    for system in systems.values():
        assert {text: system(text).target for text in RUNNING} == RUNNING
    pairs = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
    (pair,) = [pair for pair in pairs if pair["src"].startswith("a cow drinks")]
    outputs = {name: system(pair["src"]).target for name, system in systems.items()}
    assert outputs["bahdanau"] == outputs["transformer"] == pair["tgt"] != outputs["seq2seq"]
    assert "il a soif" in outputs["seq2seq"]  # "the milk is thirsty"
    translation = systems["bahdanau"]("the axolotl sleeps", with_weights=True)
    (note,) = translation.notes
    assert "axolotl" in note
    assert translation.weights.shape[-1] == len(translation.source_tokens) == 4
