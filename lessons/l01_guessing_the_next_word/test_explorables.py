"""The facts that the explorables of lesson 01 show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from course_lib.teaching.questions.question import questions
from course_lib.text.special import BOS, EOS
from course_lib.translation.sample import chances, continue_text
from course_lib.translation.shipped import shared
from lessons.l01_guessing_the_next_word import WordByWord, word_by_word


def written(model: str, n: int = word_by_word.LONGEST, temperature: float = 0.0) -> dict:
    return word_by_word.compute(model=model, written=n, temperature=temperature)


@pytest.mark.parametrize("model", word_by_word.MODELS)
def test_a_model_writes_what_the_librarys_sampler_writes(model):
    system, facts = shared(word_by_word.MODELS[model]), written(model)
    said = continue_text(system.model, torch.tensor([[BOS]]), n=len(word_by_word.LOTS) - 1, temperature=0.0)
    assert " ".join(facts["said"]) == system.tokenizer.decode(said[0].tolist())
    assert facts["ended"] == (EOS in said[0])
    warm = written(model, 2, 1.0)
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(" ".join(warm["said"]))]])
    with torch.inference_mode():
        shares = chances(system.model.decode(tokens)[0][:, -1], temperature=1.0)[0]
    np.testing.assert_allclose(warm["shares"], shares.topk(len(warm["shares"])).values.numpy(), rtol=1e-4)
    for temperature in (0.5, 1.0, 2.0):
        texts = [written(model, n, temperature)["said"] for n in range(word_by_word.LONGEST + 1)]
        for shorter, longer in itertools.pairwise(texts):
            assert longer[: len(shorter)] == shorter and len(longer) <= len(shorter) + 1


def test_what_lesson_01_tells_of_temperature():
    asked, lab = questions("01")["cold-ngram"], WordByWord()
    assert asked.options[asked.right[0]].text == "The same few words again and again, without an end"
    lab.preset(asked.preset)
    assert (lab.model, lab.temperature, lab.facts["ended"]) == ("n-gram", 0.0, False)
    assert lab.facts["said"] == ("les", "très", "jeunes", "sœurs", "ont", "acheté") * 3
    assert written("MLP")["ended"] and written("RNN")["ended"]
    first = [word_by_word.story("RNN", temperature)[0].shares[0] for temperature in (0.5, 1.0, 2.0)]
    assert first[0] > first[1] > first[2]
    told = word_by_word.story("RNN", 1.0)[:4]
    assert written("RNN", 4, 1.0)["chance"] == pytest.approx(np.prod([moment.own_share for moment in told]))
    assert written("RNN", 0, 1.0)["chance"] == 1.0
    quoted = written("n-gram", temperature=1.0)
    assert " ".join(quoted["said"]) == "les pères dans un jardin tranquille parce qu' ils étaient riches"
    assert quoted["ended"] and word_by_word.END not in quoted["said"]
    texts = [written(m, temperature=t / 10)["said"] for m in word_by_word.MODELS for t in range(21)]
    assert max(len(word_by_word.in_lines((*said, word_by_word.END))) for said in texts) <= 5, "fits the panel"
