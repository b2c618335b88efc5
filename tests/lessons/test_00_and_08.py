"""Figures and claims of lesson 08 that are more than a mean."""

from __future__ import annotations

from course_lib.results import runs
from tests.lessons.told import means

RATES = ("0.001", "0.003", "0.008", "0.02", "0.07", "0.2")


def test_one_matrix_and_two():
    right = means("key_and_value", "right")
    assert right["width 2, one matrix"] < 0.25 and right["width 2, two matrices"] > 0.99
    assert all(right[f"width {width}, one matrix"] > 0.99 for width in (8, 16, 32))
    surprise = means("toy_language_models", "scores", "test", "perplexity")
    rest = ("attention_lm", "key_value_lm", "key_value_predict_lm", "ngram_rnn_lm")
    assert all(surprise["lstm_lm"] < surprise[name] for name in rest)
    assert surprise["attention_lm"] < min(surprise["key_value_lm"], surprise["key_value_predict_lm"])


def test_divisors_and_rates():
    names = ("1", "root", "d_k")
    end = {rate: means("divisor", "end", rate) for rate in RATES}
    for d_k in (64, 512):
        loss = {rate: [end[rate][f"d_k {d_k}, divided by {name}"] for name in names] for rate in RATES}
        for rate, (one, root, whole) in loss.items():
            if rate in ("0.07", "0.2"):
                assert whole == min(one, root, whole)
            else:
                assert root <= min(one, whole) + 0.002, (d_k, rate)
        best = [min(losses) for losses in zip(*loss.values(), strict=True)]
        assert max(best) < 0.02
    assert best[0] > 5 * max(best[1:])


def test_the_spreads_of_trained_heads():
    kinds = {
        use: [head for run in runs("inside_heads") for row in run["spreads"][use] for head in row]
        for use in ("encoder", "decoder", "cross")
    }
    among = kinds["encoder"] + kinds["decoder"]
    assert 0.4 < min(among) < 0.6 and 2.5 < max(among) < 4.5
    assert 3 < sum(kinds["cross"]) / len(kinds["cross"]) < 6
    for run in runs("inside_heads"):
        first, *rest = (sum(row) for row in run["spreads"]["cross"])
        assert first < min(rest)
