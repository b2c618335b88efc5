"""The verdicts that lessons will quote from the experiments of the fourth edition, on the recorded runs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from course_lib.results import read_results, runs
from course_lib.translation.comparison import BETTER, UNCLEAR, WORSE
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
