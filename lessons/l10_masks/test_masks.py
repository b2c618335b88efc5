"""Figures and claims of lesson 10 are those of data/results."""

from __future__ import annotations

from course_lib.translation.shipped import shared
from lessons.l10_masks.mask_painter import CAUSAL, TIMES_0, N, compute
from tests.lessons.told import Told, means

L = Told("masks")


def test_times_zero_gives_hidden_words_what_is_told():
    facts = compute(mask=CAUSAL, method=TIMES_0, head=1)
    first = facts["weights"][0][~facts["may_look"][0]].sum()
    told = L.asked("times-zero").options[0].feedback
    assert f"gives them {first:.2f} of its weight" in told
    assert f"all ten rows together {facts['hidden_share']:.2f} of {N}" in told


def test_a_leak_of_one_word_is_seen_in_the_next_word_alone():
    L.says("Change word 5 alone")


def test_the_leaky_language_model():
    L.says("its perplexity is above ten million")
    assert {shared(name).tokenizer.vocab_size for name in ("transformer", "transformer_lm")} == {680}
    L.says("VOCABULARY = 680", "Blind guessing among 680 words would have 680")
    found = means("toy_language_models", "scores", "test", "perplexity")
    assert f"{min(found.values()):.1f}" == "7.6" and 12 <= found["ngram_lm"] < 13
    L.says("an n-gram model has about 12, the best of our models 7.6")
