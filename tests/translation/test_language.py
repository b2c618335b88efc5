"""Language models: sampling by frequency, greedy by hand, perplexity by hand and for every registered one."""

from __future__ import annotations

import doctest
import math
from dataclasses import replace

import pytest
import torch

from course_lib.models.config import Config
from course_lib.models.language_model import LanguageModel
from course_lib.models.registry import build, language_models, make_config
from course_lib.text.special import BOS, EOS, PAD, UNK
from course_lib.translation import perplexity as perplexity_module
from course_lib.translation import sample
from course_lib.translation.perplexity import perplexity
from course_lib.translation.sample import choose, continue_text


class Bigrams(LanguageModel):
    """The next word depends on the last one alone; in training mode it says nonsense."""

    def __init__(self, logits: torch.Tensor, max_len: int = 32):
        super().__init__(Config(vocab_size=len(logits), max_len=max_len))
        self.table = torch.nn.Parameter(logits)
        self.nonsense = torch.nn.Dropout(0.999)

    def start(self, n_rows):
        return {"n_read": torch.zeros(n_rows, dtype=torch.int64)}

    def say(self, tokens, *, with_weights):
        return self.nonsense(self.table[tokens]), None

    def advance(self, state, tokens, *, with_weights):
        return self.nonsense(self.table[tokens]), {"n_read": state["n_read"] + 1}, None


def counting() -> torch.Tensor:
    """After BOS 4, then 5, 6, 7, then EOS."""
    logits = torch.zeros(8, 8)
    for last, following in [(BOS, 4), (4, 5), (5, 6), (6, 7), (7, EOS)]:
        logits[last, following] = 12.0
    return logits


@pytest.mark.parametrize("module", [sample, perplexity_module])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(module, extraglobs={"torch": torch})
    assert outcome.attempted > 0 and outcome.failed == 0


def test_greedy_goes_on_to_the_end():
    model = Bigrams(counting())
    found = continue_text(model, torch.tensor([[BOS, 4], [BOS, 6]]), n=5, temperature=0.0)
    assert found.tolist() == [[5, 6, 7, EOS, PAD], [7, EOS, PAD, PAD, PAD]]
    assert model.training and model.nonsense.training


def test_a_seed_repeats_the_draw_and_special_words_are_never_drawn():
    model = Bigrams(torch.zeros(9, 9))
    with torch.no_grad():
        model.table[:, [PAD, UNK, BOS]] = 5.0
    start = torch.full((200, 1), BOS)
    one, two, other = (
        continue_text(model, start, n=6, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(one, two) and not torch.equal(one, other)
    assert not torch.isin(one[:, 0], torch.tensor([PAD, UNK, BOS])).any()
    after_end = (one == EOS).cumsum(dim=1).cumsum(dim=1) > 1
    assert one[after_end].eq(PAD).all() and one[~after_end].ne(PAD).all()


def test_frequencies_follow_temperature_and_top_k():
    logits = torch.full((1, 7), -torch.inf)
    logits[0, [4, 5, 6]] = torch.tensor([0.2, 0.3, 0.5]).log()
    many = logits.expand(20_000, -1)
    generator = torch.Generator().manual_seed(0)
    for temperature, top_k, expected in [
        (1.0, None, [0.2, 0.3, 0.5]),
        (0.5, None, [4 / 38, 9 / 38, 25 / 38]),
        (1.0, 2, [0.0, 3 / 8, 5 / 8]),
        (1.0, 1, [0.0, 0.0, 1.0]),
    ]:
        drawn = choose(many, temperature=temperature, top_k=top_k, generator=generator)
        shares = torch.bincount(drawn, minlength=7)[4:] / len(many)
        torch.testing.assert_close(shares, torch.tensor(expected), atol=0.015, rtol=0)


def test_perplexity_of_a_model_that_knows_nothing_is_its_vocabulary():
    model = Bigrams(torch.zeros(11, 11))
    found = perplexity(model, [[4, 5], [6], []])
    assert found.perplexity == pytest.approx(11) and found.n_tokens == 6
    assert found.bits_per_token == pytest.approx(math.log2(11))


@pytest.mark.parametrize("tokens_per_batch", [1, 7, 4096])
def test_perplexity_by_a_loop_whatever_the_batches(tokens_per_batch):
    table = torch.randn(9, 9, generator=torch.Generator().manual_seed(0))
    sentences = [[4, 5, 6], [7], [8, 8, 8, 8, 4], []]
    log_probs = table.log_softmax(dim=-1).tolist()
    nats = 0.0
    for words in sentences:
        for last, following in zip([BOS, *words], [*words, EOS], strict=True):
            nats -= log_probs[last][following]
    model = Bigrams(table)
    found = perplexity(model, sentences, tokens_per_batch=tokens_per_batch)
    assert found.nats == pytest.approx(nats, rel=1e-5) and found.n_tokens == 13 and model.training


def test_one_great_surprise_does_not_swallow_the_small_ones():
    """A hundred million nats, and 25 of ln 2 or so: in single precision the sum could only be told to 8."""
    table = torch.zeros(6, 6)
    table[4] = torch.tensor([-1e8, -1e8, -1e8, 0.0, 0.0, -1e8])  # 5 never follows 4
    found = perplexity(Bigrams(table), [[4] * 24, [4, 5]])
    # BOS 4 and 5 EOS have one chance in six; 4 4 and 4 EOS one in two; 4 5 costs it all.
    assert found.nats == pytest.approx(1e8 + 24 * math.log(2) + 3 * math.log(6), rel=0, abs=1e-3)


def test_word_by_word_a_sound_model_is_the_same_and_a_leaky_one_is_found_out():
    sentences = [[4, 5, 6, 7], [8, 9], [5]]
    for leaky in (False, True):
        torch.manual_seed(0)
        config = make_config("transformer_lm", scale="tiny", vocab_size=11)
        model = build("transformer_lm", replace(config, leaky=leaky)).eval()
        at_once, stepwise = (perplexity(model, sentences, word_by_word=way).nats for way in (False, True))
        assert (at_once == pytest.approx(stepwise, rel=1e-5)) == (not leaky)


def test_a_word_held_impossible_makes_the_perplexity_infinite():
    table = torch.zeros(6, 6)
    table[:, 5] = -torch.inf
    assert perplexity(Bigrams(table), [[5]]).perplexity == math.inf


@pytest.mark.parametrize("name", [one.name for one in language_models()])
def test_every_language_model_goes_on_and_has_a_perplexity(name):
    torch.manual_seed(0)
    model = build(name, make_config(name, scale="tiny", vocab_size=12))
    tokens = torch.tensor([[BOS, 4, 5], [BOS, 7, 8]])
    said = continue_text(model, tokens, n=4, generator=torch.Generator().manual_seed(1))
    assert said.shape == (2, 4)
    model.eval()
    greedy = continue_text(model, tokens, n=3, temperature=0.0)
    for row, step in [(0, 0), (1, 0)]:
        logits = model.decode(tokens)[0][row, -1].clone()
        logits[[PAD, UNK, BOS]] = -torch.inf
        assert logits[greedy[row, step]] == logits.max()
    assert 1 < perplexity(model, [[4, 5, 6], [7]]).perplexity < 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n from 1 to 32, .* but got 0"),
        ({"n": 33}, "n from 1 to 32, .* but got 33"),
        ({"n": 1, "temperature": -1.0}, "temperature of 0"),
        ({"n": 1, "top_k": 0}, "top_k of 1 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        continue_text(Bigrams(counting()), torch.tensor([[BOS]]), **options)


def test_a_text_without_any_token_is_refused():
    with pytest.raises(ValueError, match="that open with BOS, but got"):
        continue_text(Bigrams(counting()), torch.empty(1, 0, dtype=torch.int64), n=1)
    with pytest.raises(ValueError, match="at least one sentence"):
        perplexity(Bigrams(counting()), [])
