"""Every system keeps the shapes its annotations promise, inside and out: enforced by jaxtyping and beartype.

All layers and models are imported a second time with every function checked (the fixture `checked`), then
each system is put through the whole of its interface.
"""

from __future__ import annotations

import pytest
import torch
from jaxtyping import TypeCheckError

from course_lib.models.registry import language_models, translators
from course_lib.text.batch import make_batch

VOCAB = 17
BATCH = make_batch([[5, 9, 4, 11], [], [8]], [[7], [5, 13, 4, 9, 11], [6, 6]])


@pytest.fixture
def build(checked):
    registry = checked["models.registry"]

    def built(name: str):
        torch.manual_seed(0)
        return registry.build(name, registry.make_config(name, scale="tiny", vocab_size=VOCAB))

    return built


@pytest.mark.parametrize("name", [one.name for one in translators()])
def test_a_translator(build, name):
    model = build(name)
    memory = model.encode(BATCH.src, BATCH.src_lengths)
    for with_weights in (True, False):
        model.decode(memory, BATCH.tgt_in, with_weights=with_weights)
        state = model.start(memory)
        for tokens in BATCH.tgt_in.unbind(dim=1)[:3]:
            _, state, _ = model.step(memory, state, tokens, with_weights=with_weights)
    assert model(BATCH.src, BATCH.src_lengths, BATCH.tgt_in).shape == (3, 6, VOCAB)


@pytest.mark.parametrize("name", [one.name for one in language_models()])
def test_a_language_model(build, name):
    model = build(name)
    for with_weights in (True, False):
        model.decode(BATCH.tgt_in, with_weights=with_weights)
        state = model.start(3)
        for tokens in BATCH.tgt_in.unbind(dim=1)[:4]:
            _, state, _ = model.step(state, tokens, with_weights=with_weights)
    assert model(BATCH.tgt_in).shape == (3, 6, VOCAB)


def test_the_sentence_encoder(build):
    assert build("self_attentive")(BATCH.src, BATCH.src_lengths).shape == (3, 2)


def test_a_system_that_breaks_its_promise_is_found_out(build, monkeypatch):
    """One row of weights for each source word, where each target word was to get one."""
    model = build("bahdanau")
    honest = type(model).say

    def turned(self, memory, tgt_in, *, with_weights):
        logits, weights = honest(self, memory, tgt_in, with_weights=with_weights)
        return logits, weights.mT

    monkeypatch.setattr(type(model), "say", turned)
    with pytest.raises(TypeCheckError):
        model.decode(model.encode(BATCH.src, BATCH.src_lengths), BATCH.tgt_in, with_weights=True)
