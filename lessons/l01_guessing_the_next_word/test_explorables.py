"""The word-by-word explorable generates what the library's sampler generates, and what the lesson claims."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import shared
from lessons.l01_guessing_the_next_word.word_by_word import (
    END,
    LONGEST,
    MODELS,
    WordByWord,
    compute,
    generate,
    in_lines,
)
from tests.explore.limits import Limit
from tests.explore.settings import open_question
from tools.sample import continue_text, next_probabilities

LIMITS = {
    "WordByWord": [
        Limit("ends", "temperature 1", "temperature"),
        Limit("sure", "temperature 1", "temperature"),
        Limit("sure", "above 0.99", ("probabilities", 0)),
        Limit("rash", "below 0.001", "last_probability"),
    ],
}


def facts_after(model: str, written: int = LONGEST, temperature: float = 0.0) -> dict:
    return compute(model=model, written=written, temperature=temperature)


@pytest.mark.parametrize("model", MODELS)
def test_at_temperature_zero_a_model_generates_what_the_librarys_sampler_does(model):
    system, facts = shared(MODELS[model]), facts_after(model)
    [tokens] = continue_text(system.model, torch.tensor([[BOS]]), n=LONGEST, temperature=0.0)
    assert " ".join(facts["words"]) == system.tokenizer.decode(tokens.tolist())
    assert facts["ended"] == (EOS in tokens)


@pytest.mark.parametrize("model", MODELS)
def test_the_probabilities_are_those_of_the_model(model):
    system, facts = shared(MODELS[model]), facts_after(model, 2, 1.0)
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(" ".join(facts["words"]))]])
    with torch.inference_mode():
        expected = next_probabilities(system.model.decode(tokens)[0][:, -1], temperature=1.0)[0]
    shown = facts["probabilities"]
    np.testing.assert_allclose(shown, expected.topk(len(shown)).values.numpy(), rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_one_more_word_changes_no_earlier_one(model, temperature):
    texts = [facts_after(model, n, temperature)["words"] for n in range(LONGEST + 1)]
    for shorter, longer in pairwise(texts):
        assert longer[: len(shorter)] == shorter and len(longer) <= len(shorter) + 1


def test_at_temperature_zero_the_ngram_model_repeats_itself_and_the_networks_end():
    asked, _, _, facts = open_question("01", "cold-ngram", WordByWord)
    assert asked.right == [1], "the same few words again and again"
    assert (facts["model"], facts["temperature"], facts["ended"]) == ("n-gram", 0.0, False)
    assert facts["words"] == ("les", "très", "jeunes", "sœurs", "ont", "acheté") * 3, "quoted in the lesson"
    assert facts_after("MLP")["ended"] and facts_after("RNN")["ended"]


def test_at_temperature_one_the_ngram_model_writes_a_sentence_without_a_main_verb():
    facts = facts_after("n-gram", temperature=1.0)
    quoted = "les pères dans un jardin tranquille parce qu' ils étaient riches"
    assert " ".join(facts["words"]) == quoted and facts["ended"]


def test_a_higher_temperature_flattens_the_distribution():
    largest = [generate("RNN", temperature)[0].probabilities[0] for temperature in (0.5, 1.0, 2.0)]
    assert largest == sorted(largest, reverse=True) and len(set(largest)) == 3


def test_the_probability_of_a_text_is_the_product_over_its_words():
    factors = [step.model_probability for step in generate("RNN", 1.0)[:4]]
    assert facts_after("RNN", 4, 1.0)["text_probability"] == pytest.approx(np.prod(factors))
    assert facts_after("RNN", 0, 1.0)["text_probability"] == 1.0


def test_every_text_fits_into_its_panel_and_the_end_is_no_word():
    for model in MODELS:
        for temperature in np.arange(21) / 10:
            words = facts_after(model, temperature=temperature)["words"]
            assert len(in_lines((*words, END))) <= 5 and END not in words


def test_the_probability_of_a_text_is_the_models_own_at_any_temperature():
    """The temperature changes which words are drawn, not how likely the model finds them."""
    system, facts = shared(MODELS["RNN"]), facts_after("RNN", 3, 2.0)
    ids = system.tokenizer.encode(" ".join(facts["words"]))
    assert len(ids) == 3
    with torch.inference_mode():
        logits = system.model.decode(torch.tensor([[BOS, *ids[:-1]]]))[0][0]
    factors = next_probabilities(logits, temperature=1.0)[range(3), ids].numpy()
    assert facts["text_probability"] == pytest.approx(factors.prod(), rel=1e-3)
    assert facts["last_probability"] == pytest.approx(factors[-1], rel=1e-3)
