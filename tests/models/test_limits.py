"""What a system cannot read it says, in the same words for all; and the longest sentence it can, it does."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, language_models, make_config, system, translators
from course_lib.text.batch import make_batch
from course_lib.text.special import BOS

VOCAB = 17
BATCH = make_batch([[5, 9, 4, 11, 7, 9], [8], [], [6, 6]], [[7, 10], [5, 13, 4, 9, 11, 11], [6], []])

every_translator = pytest.mark.parametrize("name", [one.name for one in translators()])
every_model = pytest.mark.parametrize("name", [one.name for one in language_models()])
every_system = pytest.mark.parametrize("name", [one.name for one in (*language_models(), *translators())])


def small(name: str):
    torch.manual_seed(0)
    model = build(name, make_config(name, scale="tiny", vocab_size=VOCAB)).eval()
    if system(name).counts:
        model.fit([[5, 9, 4], [7]])
    return model


@every_translator
def test_what_a_translator_cannot_read(name):
    model, src, lengths, tgt_in = small(name), BATCH.src, BATCH.src_lengths, BATCH.tgt_in
    memory, limit = model.encode(src, lengths), model.config.max_len
    state, long = model.start(memory), torch.full((1, limit + 1), 7)
    refused = {
        r"sentences to hold ids from 0 to 16, but got 28": lambda: model.encode(src + VOCAB, lengths),
        r"tgt_in to hold ids from 0 to 16, but got -2": lambda: model.decode(memory, tgt_in - BOS),
        r"tokens to hold ids from 0 to 16, but got 17": lambda: model.step(memory, state, tgt_in[:, 0] + 15),
        r"shape \(batch, len\), but got torch.float32": lambda: model.encode(src.float(), lengths),
        r"shape \(batch, tgt\), but got torch.float32": lambda: model.decode(memory, tgt_in.float()),
        r"shape \(batch,\), but got torch.float32": lambda: model.step(memory, state, tgt_in[:, 0].float()),
        r"shape \(batch,\).*\(4, 7\)": lambda: model.step(memory, state, tgt_in),
        r"at least one sentence.*got \(0, 7\)": lambda: model.encode(src[:0], lengths[:0]),
        r"at least one sentence.*got \(4, 0\)": lambda: model.decode(memory, tgt_in[:, :0]),
        r"lengths from 1 to 7.*got 0": lambda: model.encode(src, lengths - 1),
        r"lengths from 1 to 7.*got 8": lambda: model.encode(src, lengths + 1),
        rf"sentences of at most {limit} .*got {limit + 1}": lambda: model.encode(long, torch.tensor([5])),
        rf"tgt_in of at most {limit} .*got {limit + 1}": lambda: model.decode(memory, long),
    }
    for message, call in refused.items():
        with pytest.raises(ValueError, match=message):
            call()


@every_model
def test_what_a_language_model_cannot_read(name):
    model, tokens = small(name), BATCH.tgt_in
    state, limit = model.start(4), model.config.max_len
    refused = {
        r"tgt_in to hold ids from 0 to 16, but got 30": lambda: model.decode(tokens + VOCAB),
        r"tokens to hold ids from 0 to 16, but got 17": lambda: model.step(state, tokens[:, 0] + 15),
        r"shape \(batch, tgt\), but got torch.float32": lambda: model.decode(tokens.float()),
        r"shape \(batch,\), but got torch.float32": lambda: model.step(state, tokens[:, 0].float()),
        r"shape \(batch,\).*\(4, 7\)": lambda: model.step(state, tokens),
        r"at least one sentence.*got \(0, 7\)": lambda: model.decode(tokens[:0]),
        r"at least one sentence.*got \(4, 0\)": lambda: model.decode(tokens[:, :0]),
        rf"tgt_in of at most {limit} .*got {limit + 1}": lambda: model.decode(torch.full((1, limit + 1), 7)),
    }
    for message, call in refused.items():
        with pytest.raises(ValueError, match=message):
            call()


@every_system
@torch.no_grad()
def test_the_longest_sentence_and_one_step_more(name):
    """All of `max_len` can be read and said. One step more works, or says why it does not."""
    model = small(name)
    longest = torch.full((1, model.config.max_len), 7)
    if system(name).kind == "translator":
        memory = model.encode(longest, torch.tensor([model.config.max_len]))
        whole, state, before = model.decode(memory, longest)[0], model.start(memory), (memory,)
    else:
        whole, state, before = model.decode(longest)[0], model.start(1), ()
    assert whole.isfinite().all()
    for word in longest.unbind(dim=1):
        logits, state, _ = model.step(*before, state, word)
    torch.testing.assert_close(logits, whole[:, -1], rtol=1e-4, atol=1e-4)
    try:
        logits, state, _ = model.step(*before, state, word)
    except ValueError as error:
        assert "max_len" in str(error)
    assert logits.isfinite().all()


def test_the_sentence_encoder():
    model, long = small("self_attentive"), torch.full((1, 17), 7)
    with pytest.raises(ValueError, match=r"sentences of at most 16 .*got 17"):
        model(long, torch.tensor([5]))
    with pytest.raises(ValueError, match=r"lengths from 1 to 7.*got 0"):
        model(BATCH.src, BATCH.src_lengths - 1)
