"""What holds in the whole room: cached equals uncached, shipped systems translate."""

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
@pytest.mark.parametrize("name", [one.name for one in translators()])
def test_with_a_cache_or_without(name, device, monkeypatch):
    # cuDNN rounds to 10 bits by default, one way for a word and another for a sentence.
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    near = {"rtol": 1e-5, "atol": 1e-4} if device == "cuda" else {"rtol": 1.3e-6, "atol": 1e-5}
    torch.manual_seed(1)
    system = build(name, make_config(name, scale="tiny", vocab_size=16)).to(device)
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.mul_(2.0)  # an untrained system is all but undecided, and rounding would decide
    batch = make_batch(SOURCES, [[]] * len(SOURCES)).to(device)
    memory = system.eval().encode(batch.src, batch.src_lengths)
    system.train()

    for beam in (1, 3):
        found = beam_search(system, memory, beam=beam, max_len=6, with_weights=True)
        again = beam_search(Recompute(system), memory, beam=beam, max_len=6)
        assert torch.equal(again.ids, found.ids) and system.training
        torch.testing.assert_close(again.scores, found.scores, **near)
        if not system.attends:
            assert found.weights is None
            continue
        assert found.weights.shape[-2:] == (found.ids.shape[1], batch.src.shape[1])
        looked = found.weights.sum(dim=-1) > 0  # local-p's Gaussian takes some away, so it need not be 1
        assert torch.equal(looked, (found.ids != PAD)[:, None, None].expand_as(looked))


def test_shipped_systems_translate_and_a_telling_pair_tells_them_apart():
    systems = {name: shared(name) for name in ("seq2seq", "bahdanau", "transformer")}
    for system in systems.values():
        assert {text: system(text).target for text in RUNNING} == RUNNING
    pairs = json.loads(data_path("toy", "telling_pairs.json").read_text(encoding="utf-8"))
    (pair,) = [one for one in pairs if one["src"].startswith("a cow drinks")]
    said = {name: system(pair["src"]).target for name, system in systems.items()}
    assert said["bahdanau"] == said["transformer"] == pair["tgt"] != said["seq2seq"]
    assert "il a soif" in said["seq2seq"]  # the milk is thirsty
    found = systems["bahdanau"]("the axolotl sleeps", with_weights=True)
    assert found.notes == ("read as <unk>: axolotl",)
    assert found.weights.shape[-1] == len(found.source_tokens) == 4
