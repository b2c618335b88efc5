"""Figures and claims in lessons are those of data/results."""

from __future__ import annotations

import json

from course_lib.recorded import recorded
from course_lib.runtime import data_path
from course_lib.teaching.lessons import lesson

RATES = ("0.001", "0.003", "0.008", "0.02", "0.07", "0.2")


def source(topic: str) -> str:
    return (lesson(topic).folder / "lesson.py").read_text(encoding="utf-8")


def test_00_tells_the_pronouns_as_they_were_counted():
    right = recorded("toy_ladder", lambda run: run["scores"]["coreference"]["pronouns"])
    assert [round(100 * right[name]) for name in ("seq2seq", "bahdanau", "transformer")] == [87, 96, 100]
    assert set(recorded("toy_ladder", lambda run: run["scores"]["coreference"]["n"]).values()) == {400}
    size = recorded("toy_ladder", lambda run: run["parameters"])
    sizes = [size[name] for name in ("seq2seq", "bahdanau", "transformer")]
    assert max(sizes) < 1.1 * min(sizes)
    for said in (
        "Over 400 such sentences and three trainings each, the network of 2014 gets 87% of the pronouns",
        "that of 2015 96%, that of 2017 all of them, and all three are of about the same size",
    ):
        assert said in source("start_here")


def test_08_tells_of_one_matrix_and_two_what_was_found():
    right = recorded("key_and_value", lambda run: run["right"])
    assert right["width 2, one matrix"] < 0.25 and right["width 2, two matrices"] > 0.99
    assert all(right[f"width {width}, one matrix"] > 0.99 for width in (8, 16, 32))
    surprise = recorded("toy_language_models", lambda run: run["scores"]["test"]["perplexity"])
    told = [f"{surprise[name]:.1f}" for name in ("lstm_lm", "attention_lm", "key_value_lm")]
    assert told == ["7.6", "8.0", "8.3"] and f"{right['width 2, one matrix']:.0%}" == "15%"
    text = source("query_key_value")
    assert "a perplexity of 7.6 on our toy French; with attention 8.0, with key and value split 8.3" in text
    assert "(15% is below choosing among the four" in text
    rest = ("attention_lm", "key_value_lm", "key_value_predict_lm", "ngram_rnn_lm")
    assert all(surprise["lstm_lm"] < surprise[name] for name in rest)
    assert surprise["attention_lm"] < min(surprise["key_value_lm"], surprise["key_value_predict_lm"])


def test_08_tells_of_divisors_and_rates_what_was_found():
    end = {rate: recorded("divisor", lambda run, rate=rate: run["end"][rate]) for rate in RATES}

    def loss(d_k: int, name: str, rate: str) -> float:
        return end[rate][f"d_k {d_k}, divided by {name}"]

    for d_k in (64, 512):
        for rate in RATES:
            best = min(("1", "root", "d_k"), key=lambda name, rate=rate, d_k=d_k: loss(d_k, name, rate))
            near = loss(d_k, "root", rate) <= loss(d_k, best, rate) + 0.002
            assert best == "d_k" if rate in ("0.07", "0.2") else near, (d_k, rate)
        assert all(min(loss(d_k, name, rate) for rate in RATES) < 0.02 for name in ("1", "root", "d_k"))
    best = {name: min(loss(512, name, rate) for rate in RATES) for name in ("1", "root", "d_k")}
    assert best["1"] > 5 * max(best["root"], best["d_k"])


def test_08_tells_the_spreads_of_trained_heads_as_they_were_measured():
    runs = json.loads(data_path("results", "inside_heads.json").read_text(encoding="utf-8"))["runs"]
    among = [
        head for run in runs for use in ("encoder", "decoder") for row in run["spreads"][use] for head in row
    ]
    for run in runs:
        first, second, third = (sum(row) for row in run["spreads"]["cross"])
        assert first < min(second, third)
    assert 0.4 < min(among) < 0.6 and 2.5 < max(among) < 4.5
    cross = [head for run in runs for row in run["spreads"]["cross"] for head in row]
    assert 3 < sum(cross) / len(cross) < 6
