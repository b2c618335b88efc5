"""Every system can learn eight sentences by heart: greedy decoding then gives each back, word for word.

A system that cannot has a wire loose somewhere. Adam at 0.02, gradients clipped at a norm of 1, the tiny
sizes, one core of a CPU; the number of steps is stated for each, with room above what three seeds needed.
"""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from course_lib.models.registry import build, language_models, make_config, system, translators
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import BOS, EOS, PAD
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer

N_SENTENCES, LOOK_EVERY = 8, 10

STEPS = {
    "mlp_lm": 60,
    "rnn_lm": 80,
    "lstm_lm": 80,
    "gru_lm": 80,
    "lstmn_lm": 80,
    "attention_lm": 100,
    "key_value_lm": 150,
    "key_value_predict_lm": 150,
    "ngram_rnn_lm": 150,
    "transformer_lm": 80,
    "rctm": 60,
    "rnn_encoder_decoder": 60,
    "seq2seq": 120,
    "bahdanau": 60,
    "luong_dot": 220,
    "luong_general": 120,
    "luong_concat": 150,
    "luong_location": 120,
    "luong_local_m": 250,
    "luong_local_p": 120,
    "lstmn_shallow": 80,
    "lstmn_deep": 80,
    "convs2s": 80,
    "transformer": 60,
}


def test_every_system_that_is_trained_has_its_number():
    assert set(STEPS) == {one.name for one in (*language_models(), *translators()) if not one.counts}


# ---- translators


@pytest.fixture(scope="module")
def pairs() -> tuple[Batch, int]:
    """Eight sentences of the toy language with their translations, and the size of their vocabulary."""
    drawn = {pair.src_text: pair.tgt_text for pair in generate(40, seed=0, length=(3, 6))}
    chosen = list(drawn.items())[:N_SENTENCES]
    words = WordTokenizer.from_texts([text for pair in chosen for text in pair])
    sources, targets = zip(*((words.encode(src), words.encode(tgt)) for src, tgt in chosen), strict=True)
    return make_batch(sources, targets), words.vocab_size


def translated(model, batch: Batch) -> torch.Tensor:
    memory = model.encode(batch.src, batch.src_lengths)
    state, tokens, said = model.start(memory), batch.tgt_in[:, 0], []
    for _ in range(batch.tgt_out.shape[1]):
        logits, state, _ = model.step(memory, state, tokens)
        tokens = logits.argmax(dim=-1)
        said.append(tokens)
    return torch.stack(said, dim=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in translators()])
def test_a_translator_learns_eight_sentences_by_heart(name, pairs):
    batch, vocab_size = pairs
    torch.manual_seed(0)
    model = build(name, make_config(name, scale="tiny", vocab_size=vocab_size))
    assert learns(
        model, batch, STEPS[name], lambda: model(batch.src, batch.src_lengths, batch.tgt_in), translated
    )


# ---- language models


@pytest.fixture(scope="module")
def texts() -> tuple[list[list[int]], int]:
    """Eight sentences in which two words always tell the third, and the first word which sentence it is."""
    chosen: list[str] = []
    follows: dict[tuple[str, str], str] = {}
    for pair in generate(400, seed=0, length=(4, 6)):
        words = ["<s>", *pair.src, "</s>"]
        triples = {(a, b): c for a, b, c in zip(words, words[1:], words[2:], strict=False)}
        if ("<s>", pair.src[0]) not in follows and all(
            follows.get(two, c) == c for two, c in triples.items()
        ):
            follows |= triples
            chosen.append(pair.src_text)
    words = WordTokenizer.from_texts(chosen[:N_SENTENCES])
    return [words.encode(text) for text in chosen[:N_SENTENCES]], words.vocab_size


def continued(model, batch: Batch) -> torch.Tensor:
    """From its first word on."""
    _, state, _ = model.step(model.start(len(batch.tgt_in)), batch.tgt_in[:, 0])
    said = [batch.tgt_in[:, 1]]
    while len(said) < batch.tgt_out.shape[1]:
        logits, state, _ = model.step(state, said[-1])
        said.append(logits.argmax(dim=-1))
    return torch.stack(said, dim=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in language_models()])
def test_a_language_model_learns_eight_sentences_by_heart(name, texts):
    sentences, vocab_size = texts
    batch = make_batch([[]] * N_SENTENCES, sentences)
    assert batch.tgt_in[:, 0].eq(BOS).all() and batch.tgt_out.eq(EOS).sum() == N_SENTENCES
    torch.manual_seed(0)
    model = build(name, make_config(name, scale="tiny", vocab_size=vocab_size))
    if system(name).counts:
        assert not by_heart(model, batch, continued)
        model.fit(sentences)
        assert by_heart(model, batch, continued)
    else:
        assert learns(model, batch, STEPS[name], lambda: model(batch.tgt_in), continued)


# ---- both


def learns(model, batch: Batch, steps: int, forward, decode) -> bool:
    """Train until greedy decoding is right everywhere, or the steps are used up."""
    assert not by_heart(model, batch, decode)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(1, steps + 1):
        loss = F.cross_entropy(forward().flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % LOOK_EVERY == 0 and by_heart(model, batch, decode):
            return True
    return False


@torch.no_grad()
def by_heart(model, batch: Batch, decode) -> bool:
    return torch.equal(torch.where(batch.counts, decode(model, batch), PAD), batch.tgt_out)
