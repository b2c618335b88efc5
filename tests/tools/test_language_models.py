"""Language models: sampling frequencies, greedy decoding and perplexity, also for every registered model."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from course_lib.models.config import Config
from course_lib.models.language_model import LanguageModel
from course_lib.models.registry import build, language_models, make_config
from course_lib.text.special import BOS, EOS, PAD, UNK
from tools import perplexity as module
from tools.perplexity import perplexity
from tools.sample import continue_text, sample_token


class Bigrams(LanguageModel):
    """The next word depends only on the last one; dropout of 0.999 exposes a missing `eval()`."""

    def __init__(self, logits: torch.Tensor, max_len: int = 32):
        super().__init__(Config(vocab_size=len(logits), max_len=max_len))
        self.table = torch.nn.Parameter(logits)
        self.dropout = torch.nn.Dropout(0.999)

    def start(self, n_rows):
        return {"n_read": torch.zeros(n_rows, dtype=torch.int64)}

    def say(self, tokens, *, with_weights):
        return self.dropout(self.table[tokens]), None

    def advance(self, state, tokens, *, with_weights):
        return self.dropout(self.table[tokens]), {"n_read": state["n_read"] + 1}, None


def test_greedy_continues_to_eos_then_pads():
    logits = torch.zeros(8, 8)
    for last, following in [(BOS, 4), (4, 5), (5, 6), (6, 7), (7, EOS)]:
        logits[last, following] = 12.0
    model = Bigrams(logits)
    continuation = continue_text(model, torch.tensor([[BOS, 4], [BOS, 6]]), n=5, temperature=0.0)
    assert continuation.tolist() == [[5, 6, 7, EOS, PAD], [7, EOS, PAD, PAD, PAD]]
    assert model.training and model.dropout.training


def test_a_seed_reproduces_the_sample_and_special_tokens_are_never_sampled():
    model = Bigrams(torch.zeros(9, 9))
    with torch.no_grad():
        model.table[:, [PAD, UNK, BOS]] = 5.0
    start = torch.full((200, 1), BOS)
    first, again, other = (
        continue_text(model, start, n=6, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert not torch.isin(first[:, 0], torch.tensor([PAD, UNK, BOS])).any()
    after_end = (first == EOS).cumsum(dim=1).cumsum(dim=1) > 1
    assert first[after_end].eq(PAD).all() and first[~after_end].ne(PAD).all()


@pytest.mark.parametrize(
    ("temperature", "top_k", "expected"),
    [
        (1.0, None, [0.2, 0.3, 0.5]),
        (0.5, None, [4 / 38, 9 / 38, 25 / 38]),
        (1.0, 2, [0.0, 3 / 8, 5 / 8]),
        (1.0, 1, [0.0, 0.0, 1.0]),
    ],
)
def test_frequencies_follow_temperature_and_top_k(temperature, top_k, expected):
    logits = torch.full((20_000, 7), -torch.inf)
    logits[:, [4, 5, 6]] = torch.tensor([0.2, 0.3, 0.5]).log()
    generator = torch.Generator().manual_seed(0)
    sampled = sample_token(logits, temperature=temperature, top_k=top_k, generator=generator)
    frequencies = torch.bincount(sampled, minlength=7)[4:] / len(logits)
    torch.testing.assert_close(frequencies, torch.tensor(expected), atol=0.015, rtol=0)


@pytest.mark.parametrize("tokens_per_batch", [1, 7, 4096])
def test_perplexity_equals_a_plain_loop_for_any_batch_size(tokens_per_batch, monkeypatch):
    monkeypatch.setattr(module, "TOKENS_PER_BATCH", tokens_per_batch)
    table = torch.randn(9, 9, generator=torch.Generator().manual_seed(0))
    sentences = [[4, 5, 6], [7], [8, 8, 8, 8, 4], []]
    log_probs = table.log_softmax(dim=-1).tolist()
    nats = 0.0
    for words in sentences:
        for last, following in zip([BOS, *words], [*words, EOS], strict=True):
            nats -= log_probs[last][following]
    model = Bigrams(table)
    loss = perplexity(model, sentences)
    assert loss.nats == pytest.approx(nats, rel=1e-5) and loss.n_tokens == 13 and model.training
    assert loss.perplexity == pytest.approx(math.exp(nats / 13), rel=1e-5)


def test_one_huge_loss_does_not_absorb_small_ones():
    """1e8 nats plus about 25 times ln 2: in float32 the sum would be exact only to the nearest 8."""
    table = torch.zeros(6, 6)
    table[4] = torch.tensor([-1e8, -1e8, -1e8, 0.0, 0.0, -1e8])  # 5 never follows 4
    loss = perplexity(Bigrams(table), [[4] * 24, [4, 5]])
    # BOS 4 and 5 EOS have a probability of 1/6; 4 4 and 4 EOS of 1/2; 4 5 costs 1e8.
    assert loss.nats == pytest.approx(1e8 + 24 * math.log(2) + 3 * math.log(6), rel=0, abs=1e-3)
    assert loss.perplexity == math.inf


@pytest.mark.parametrize("leaky", [False, True])
def test_word_by_word_perplexity_differs_only_for_a_leaky_mask(leaky):
    torch.manual_seed(0)
    config = make_config("transformer_lm", scale="tiny", vocab_size=11)
    model = build("transformer_lm", replace(config, leaky=leaky)).eval()
    sentences = [[4, 5, 6, 7], [8, 9], [5]]
    at_once, stepwise = (perplexity(model, sentences, word_by_word=flag).nats for flag in (False, True))
    assert (at_once == pytest.approx(stepwise, rel=1e-5)) == (not leaky)


@pytest.mark.parametrize("name", [system.name for system in language_models()])
def test_every_language_model_continues_a_text_and_has_a_perplexity(name):
    torch.manual_seed(0)
    model = build(name, make_config(name, scale="tiny", vocab_size=12)).eval()
    tokens = torch.tensor([[BOS, 4, 5], [BOS, 7, 8]])
    greedy = continue_text(model, tokens, n=3, temperature=0.0)
    logits = model.decode(tokens)[0][:, -1].clone()
    logits[:, [PAD, UNK, BOS]] = -torch.inf
    assert greedy.shape == (2, 3) and torch.equal(logits.gather(1, greedy[:, :1])[:, 0], logits.amax(dim=1))
    assert 1 < perplexity(model, [[4, 5, 6], [7]]).perplexity < 200


@pytest.mark.parametrize(("tokens", "n"), [([[BOS]], 0), ([[BOS]], 33), ([[]], 1)])
def test_invalid_arguments_are_rejected(tokens, n):
    model = Bigrams(torch.zeros(8, 8))
    with pytest.raises(ValueError, match=f"BOS and n from 1 to 3., .* and {n}"):
        continue_text(model, torch.tensor(tokens, dtype=torch.int64), n=n)
    with pytest.raises(ValueError, match="at least one sentence"):
        perplexity(model, [])
