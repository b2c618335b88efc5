"""What a model writes, word by word: the facts of the explorable, held to the library's own sampler."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from course_lib.explore import WordByWord
from course_lib.explore.word_by_word import END, LONGEST, MODELS, compute, in_lines, shipped, story
from course_lib.teaching.questions import questions
from course_lib.text.special import BOS, EOS
from course_lib.translation.sample import chances, continue_text

LOOP = ("les", "très", "jeunes", "sœurs", "ont", "acheté")


@pytest.mark.parametrize("model", MODELS)
def test_cold_is_what_the_library_writes_with_the_likeliest_word(model):
    system = shipped(model)
    said = continue_text(system.model, torch.tensor([[BOS]]), n=LONGEST, temperature=0.0)[0].tolist()
    facts = compute(model=model, written=LONGEST, temperature=0.0)
    assert " ".join(facts["said"]) == system.tokenizer.decode(said)
    assert facts["ended"] == (EOS in said)


def test_the_prediction_is_true_cold_the_n_gram_model_goes_round_and_the_others_find_an_end():
    asked = questions("01")["cold-ngram"]
    assert asked.options[asked.right[0]].text == "The same few words again and again, without an end"
    lab = WordByWord()
    lab.preset(asked.preset)
    assert (lab.model, lab.temperature) == ("n-gram", 0.0)
    assert lab.facts["said"] == LOOP * 3 and not lab.facts["ended"]
    for model in ("MLP", "RNN"):
        assert compute(model=model, written=LONGEST, temperature=0.0)["ended"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_one_more_word_changes_no_earlier_one(model, temperature):
    texts = [compute(model=model, written=n, temperature=temperature)["said"] for n in range(LONGEST + 1)]
    for shorter, longer in itertools.pairwise(texts):
        assert longer[: len(shorter)] == shorter and len(longer) <= len(shorter) + 1


@pytest.mark.parametrize("model", MODELS)
def test_the_shares_are_the_models_own_at_temperature_1(model):
    facts = compute(model=model, written=2, temperature=1.0)
    system = shipped(model)
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(" ".join(facts["said"]))]])
    with torch.inference_mode():
        shares = chances(system.model.decode(tokens)[0][:, -1], temperature=1.0)[0]
    best = shares.topk(len(facts["shares"])).values
    np.testing.assert_allclose(facts["shares"], best.numpy(), rtol=1e-4)


def test_hot_flattens_and_cold_sharpens():
    first = [story("RNN", temperature)[0].shares[0] for temperature in (0.5, 1.0, 2.0)]
    assert first[0] > first[1] > first[2]


def test_the_chance_of_a_text_is_the_product_of_its_words():
    told = story("RNN", 1.0)
    facts = compute(model="RNN", written=4, temperature=1.0)
    assert facts["chance"] == pytest.approx(np.prod([moment.own_share for moment in told[:4]]))
    assert compute(model="RNN", written=0, temperature=1.0)["chance"] == 1.0


def test_what_the_lesson_quotes_of_temperature_1():
    said = compute(model="n-gram", written=LONGEST, temperature=1.0)
    assert " ".join(said["said"]) == "les pères dans un jardin tranquille parce qu' ils étaient riches"
    assert said["ended"] and END not in said["said"]


def test_long_texts_fit_the_panel():
    longest = max(
        (
            compute(model=model, written=LONGEST, temperature=t / 10)["said"]
            for model in MODELS
            for t in range(21)
        ),
        key=lambda words: len(" ".join(words)),
    )
    assert len(in_lines((*longest, END))) <= 5
