"""Figures and claims of lesson 10 are those of data/results."""

from __future__ import annotations

from course_lib.recorded import recorded
from course_lib.teaching.lessons import lesson

SOURCE = (lesson("masks").folder / "lesson.py").read_text(encoding="utf-8")


def test_the_leaky_language_model_is_as_told():
    at_once = recorded("leak_language_model", lambda run: run["scores"]["test"]["perplexity"])
    word_by_word = recorded("leak_language_model", lambda run: run["word by word"])
    assert at_once["leaky"] < 1.01 and word_by_word["leaky"] > 1e7
    assert abs(at_once["sound"] - word_by_word["sound"]) < 0.01
    assert "its perplexity is above ten million" in SOURCE


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
