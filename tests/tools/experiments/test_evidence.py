"""The verdicts that lessons will quote from the experiments of the fourth edition, on the recorded runs."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean

import pytest

from course_lib.results import read_results, runs
from course_lib.translation.comparison import BETTER, UNCLEAR, WORSE
from lessons.l19_your_own_claim.forty_rules import RULES
from lessons.l19_your_own_claim.scores import by_split
from tools.experiments.compare import compare_runs, find_column
from tools.experiments.tables import by_variant

LADDER = "toy_ladder/"
VERDICTS = [
    ("what_attention_adds", "test", "attention, forward encoder", LADDER + "bahdanau", UNCLEAR),
    ("what_attention_adds", "long", "attention, forward encoder", LADDER + "bahdanau", WORSE),
    ("what_attention_adds", "test", "no attention, both directions", LADDER + "bahdanau", WORSE),
    ("what_attention_adds", "test", "no attention, both directions", LADDER + "rnn_encoder_decoder", BETTER),
    ("general_starts", "test", "identity", LADDER + "luong_general", UNCLEAR),
    ("general_starts", "test", "±1/√d", LADDER + "luong_general", UNCLEAR),
    ("general_starts", "test", "identity", LADDER + "luong_dot", WORSE),
    ("shared_query_key", "test", "one in self-attention", LADDER + "transformer", WORSE),
    ("shared_query_key", "test", "one everywhere", "one in self-attention", UNCLEAR),
    ("shifted_positions", "shifted", "rotary and sinusoids", "rotary", WORSE),
    ("shifted_positions", "shifted", "rotary and sinusoids", "sinusoidal", UNCLEAR),
    ("wrong_split", "test", "wrong split and join", LADDER + "transformer", WORSE),
    ("wrong_split", "test", "only in the encoder", LADDER + "transformer", WORSE),
    ("decoder_only", "test", "decoder only", LADDER + "transformer", UNCLEAR),
    ("decoder_only", "long", "decoder only", LADDER + "transformer", BETTER),
    ("decoder_only", "depth", "decoder only", LADDER + "transformer", WORSE),
    *(
        (
            "how_much_data",
            "test",
            f"transformer, {n}, {steps} steps",
            f"bahdanau, {n}, {steps} steps",
            verdict,
        )
        for n, steps, verdict in (
            *((n, 1000, WORSE) for n in (200, 500, 1000, 2000, 5000, 10000, 20000)),
            *((n, 4000, WORSE) for n in (200, 500)),
            *((n, 4000, BETTER) for n in (2000, 5000)),
            *((n, 4000, UNCLEAR) for n in (1000, 10000, 20000)),
        )
    ),
]


def runs_of(section: str, name: str) -> list[dict]:
    experiment, _, variant = name.rpartition("/") if name.startswith(LADDER) else (section, "", name)
    return by_variant(runs(experiment))[variant]


@pytest.mark.parametrize(("section", "column", "one", "other", "verdict"), VERDICTS)
def test_a_verdict(section, column, one, other, verdict):
    measure = find_column(read_results(section), column)
    assert compare_runs(runs_of(section, one), runs_of(section, other), measure).verdict == verdict


def test_every_doubling_of_the_context_is_better_at_the_same_size():
    by_width, column = by_variant(runs("context_width")), find_column(read_results("context_width"), "test")
    assert list(by_width) == ["8", "16", "32", "64", "128", "400", "no matrix"]
    for small, large in pairwise(list(by_width)):
        assert compare_runs(by_width[large], by_width[small], column).verdict == BETTER
    assert len({run["parameters"] for name in by_width if name != "no matrix" for run in by_width[name]}) == 1
    for run in runs("context_width"):
        assert [len(source.split()) for source, _, _ in run["by length"]] == list(range(3, 23))


def test_maps_are_diagonal_before_any_sentence_is_right_and_words_lead_links():
    for run in runs("emergence"):
        points, shots = ({p["step"]: p for p in run[part]} for part in ("curve", "snapshots"))
        assert points[200]["diagonal"] > 0.85 > 0.5 > points[200]["words"] and shots[200]["exact"] == 0
        assert all(points[step]["words"] > points[step]["links"] for step in range(100, 4001, 25))
        assert sorted(shots)[:25] == list(range(0, 601, 25))[:25]


def test_smoothing_makes_a_wide_beam_silent_and_a_length_penalty_prevents_it():
    for run in runs("silence"):
        empty = {penalty: run["silence"]["long"]["50"][penalty]["empty"] for penalty in ("0.0", "1.0")}
        assert empty["1.0"] == 0 and (empty["0.0"] > 0.3) == (run["variant"] == "seq2seq, smoothing 0.1")
        assert empty["0.0"] < 0.01 or run["variant"] == "seq2seq, smoothing 0.1"


def test_what_forty_rules_cost():
    """Points lost on the sentences that a rule changes, averaged over the rules."""
    by_name = by_variant(runs("forty_rules"))
    costs: dict[str, list[float]] = {}
    for variant, its_runs in by_name.items():
        system, rule = variant.split(", ", 1)
        if rule != "no rule":
            without = [outcome["right"] for outcome in by_name[f"{system}, no rule"]]
            before = mean(by_split(right, RULES[rule])["rule"] for right in without)
            costs.setdefault(system, []).append(before - 100 * mean(run["exact"]["rule"] for run in its_runs))
    assert {len(lost) for lost in costs.values()} == {40}
    assert sorted(costs, key=lambda system: mean(costs[system])) == [
        *("convs2s", "bahdanau", "transformer", "no positions")
    ]


def test_what_limits_a_gpu():
    found = read_results("gpu/roofline")
    of = {(row["operation"], row["phase"], row["batch"]): row for row in found["operations"]["rows"]}
    for name in ("projection (Q, K, V or O)", "feed-forward", "output logits"):
        assert of[name, "prefill", 8]["of the roof"] > 0.95 > of[name, "decode", 1]["of the roof"]
        assert of[name, "decode", 64]["intensity"] > 60 * of[name, "decode", 1]["intensity"]
    fused = [of["attention, fused", "decode", batch]["intensity"] for batch in (1, 64)]
    assert fused == [pytest.approx(1, abs=0.01)] * 2, "more sentences don't raise it"
    ms = {(row["way"], row["words"]): row["ms"] for row in found["attention"]["rows"]}
    assert ms["written_out", 8192] > 25 * ms["fused", 8192] and ms["written_out", 128] > 2 * ms["fused", 128]
    speed = {(row["kv heads"], row["batch"]): row for row in found["generation"]["rows"]}
    one, many = speed[16, 1], speed[16, 256]
    assert 0.35 < one["decode tokens/s"] / one["by weights"] < 0.5, "not 60 to 80%, as expected"
    assert speed[1, 256]["decode tokens/s"] > 4 * many["decode tokens/s"]
