"""Figures and claims of lesson 10 are those of data/results."""

from __future__ import annotations

import re

import torch

from course_lib.explore.mask_painter import CAUSAL, TIMES_0, N, compute
from course_lib.recorded import recorded
from course_lib.teaching.lessons import lesson
from course_lib.teaching.questions import questions
from course_lib.translation.shipped import load_shipped

SOURCE = (lesson("masks").folder / "lesson.py").read_text(encoding="utf-8")
QUIZ = (lesson("masks").folder / "quiz.json").read_text(encoding="utf-8")


def test_read_again_names_a_heading_of_the_lesson():
    lines = SOURCE.replace("*", "").splitlines()
    headings = {line.removeprefix("## ") for line in lines if line.startswith("## ")}
    told = set(re.findall(r'"reread": "(.+)"', QUIZ))
    assert told and told <= headings


def test_times_zero_gives_hidden_words_what_is_told():
    facts = compute(mask=CAUSAL, method=TIMES_0, head=1)
    first = facts["weights"][0][~facts["may_look"][0]].sum()
    told = questions("10")["times-zero"].options[0].feedback
    assert f"gives them {first:.2f} of its weight" in told
    assert f"all ten rows together {facts['hidden_share']:.2f} of {N}" in told


def test_a_leak_of_one_word_is_seen_in_the_next_word_alone():
    leaky = torch.ones(6, 6).tril(diagonal=1) == 1
    assert leaky[3].tolist() == [True] * 5 + [False] and "Change word 5 alone" in QUIZ


def test_the_leaky_language_model_is_as_told():
    at_once = recorded("leak_language_model", lambda run: run["scores"]["test"]["perplexity"])
    word_by_word = recorded("leak_language_model", lambda run: run["word by word"])
    assert at_once["leaky"] < 1.01 and word_by_word["leaky"] > 1e7
    assert abs(at_once["sound"] - word_by_word["sound"]) < 0.01
    assert "its perplexity is above ten million" in SOURCE
    for name in ("transformer", "transformer_lm"):
        assert load_shipped(name).tokenizer.vocab_size == 680
    assert "VOCABULARY = 680" in SOURCE and "Blind guessing among 680 words would have 680" in SOURCE


def test_the_leaky_translator_is_as_told():
    right = recorded("leak", lambda run: run["scores"]["test"]["exact"])
    loss = recorded("leak", lambda run: run["history"][-1]["loss"])
    n = recorded("leak", lambda run: run["scores"]["test"]["n"])
    assert right["leaky"] == 0 and n["leaky"] == 1000
    assert [f"{loss[name]:.2f}" for name in ("leaky", "sound")] == ["0.08", "0.07"]
    assert "0.08 on validation where the sound one has 0.07" in SOURCE


def test_perplexities_quoted_for_comparison():
    found = recorded("toy_language_models", lambda run: run["scores"]["test"]["perplexity"])
    assert f"{min(found.values()):.1f}" == "7.6" and 12 <= found["ngram_lm"] < 13
    assert "an n-gram model has about 12, the best of our models 7.6" in SOURCE
