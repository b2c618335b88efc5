"""Comparisons of variants: the intervals, the rule, the command, and the numbers that data/results quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations, pairwise

import pytest

from course_lib.results import read_results, runs
from course_lib.runtime import PROJECT_ROOT, data_path
from tools.cli import main
from tools.experiments.compare import (
    compare,
    comparisons,
    find_column,
    paired_bootstrap,
    student_t,
    welch,
    written,
)
from tools.experiments.tables import Measure

SCORE, ERROR = Measure("score", ("score",)), Measure("error", ("score",))


def made_up(*scores: float, **more) -> list[dict]:
    return [{"score": score, **more} for score in scores]


@pytest.mark.parametrize(
    ("freedom", "expected"),  # from a table of Student's t
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (10, 2.2281), (120, 1.9799)],
)
def test_students_t_is_that_of_the_tables(freedom, expected):
    assert student_t(freedom) == pytest.approx(expected, abs=2e-4)


def test_welchs_interval_worked_out_by_hand():
    """Variances 1 and 16: error² = 17/3, degrees of freedom (17/3)² / ((1/3)²/2 + (16/3)²/2) = 578/257."""
    low, high = welch([1.0, 2.0, 3.0], [2.0, 6.0, 10.0])
    assert (low + high) / 2 == pytest.approx(-4)
    assert (high - low) / 2 == pytest.approx(student_t(578 / 257) * (17 / 3) ** 0.5)
    assert welch([1.0, 2.0], [1.0]) is None


def test_seeds_that_agree_exactly_still_vary_by_a_sentence():
    low, high = welch([0.002] * 3, [0.0] * 3, least=1 / 500)
    assert low < 0 < high and welch([0.002] * 3, [0.0] * 3) == (0.002, 0.002)


def test_the_bootstrap_is_paired_and_covers_seeds_and_sentences():
    """Both variants get the same sentences in a sample; sentences and seeds add to the spread."""
    easy = [[True] * 30 + [False] * 70] * 3
    assert paired_bootstrap(easy, easy) == (0.0, 0.0)
    harder = [[True] * 20 + [False] * 80] * 3
    low, high = paired_bootstrap(easy, harder)
    assert 0.02 < low < 0.1 < high < 0.2
    uneven = [[True] * 40 + [False] * 60, [True] * 20 + [False] * 80]
    assert paired_bootstrap(easy, uneven)[0] < -0.05 < 0.05 < paired_bootstrap(easy, uneven)[1]


@pytest.mark.parametrize(
    ("one", "other", "column", "verdict"),
    [
        ((0.9, 0.91, 0.92), (0.8, 0.81, 0.82), SCORE, "ahead"),
        ((0.8, 0.81, 0.82), (0.9, 0.91, 0.92), SCORE, "behind"),
        ((0.8, 0.81, 0.82), (0.9, 0.91, 0.92), ERROR, "ahead"),
        ((0.5, 0.7, 0.9), (0.47, 0.48, 0.49), SCORE, "undecided"),  # every seed is ahead; the interval has 0
        ((0.9, 0.91, 0.92, 0.79), (0.6, 0.6, 0.6, 0.8), SCORE, "undecided"),  # the seeds overlap
        ((0.9,), (0.8,), SCORE, "undecided"),  # one seed
        ((1.0, 1.0), (1.0, 1.0), SCORE, "undecided"),
        ((1.0, 1.0), (0.0, 0.0), SCORE, "ahead"),
    ],
)
def test_a_variant_is_ahead_only_with_every_seed_and_an_interval_without_0(one, other, column, verdict):
    assert compare(made_up(*one), made_up(*other), column).verdict == verdict


def test_where_sentences_are_recorded_their_interval_has_to_exclude_0_too():
    column = Measure("coreference", ("coreference", "exact"))

    def seeds(*rights: str) -> list[dict]:
        return [
            {"coreference": {"exact": right.count("1") / len(right), "right": right, "n": len(right)}}
            for right in rights
        ]

    claims = find_column(read_results("claims"), "test, %")
    assert compare(runs("claims")[:3], runs("claims")[6:9], claims).with_sentences
    few = compare(seeds("1" * 10, "1" * 10), seeds("1" * 8 + "00", "1" * 8 + "00"), column)
    many = compare(seeds("1" * 400, "1" * 400), seeds("1" * 300 + "0" * 100), column)
    assert few.with_sentences[0] == 0 and few.verdict == "undecided"
    assert many.with_sentences[0] > 0.2 and many.interval is None and many.verdict == "undecided"


def test_columns_are_found_by_heading_or_path_and_variants_by_name():
    results = read_results("heads")
    assert find_column(results, None).heading == "test"
    by_path = find_column(results, "scores/test/by_length/16–20/exact")
    first = results["runs"][0]
    assert by_path.find(first) == first["scores"]["test"]["by_length"]["16–20"]["exact"]
    assert len(comparisons(results, by_path)) == 10 and len(comparisons(results, by_path, "4")) == 4
    for column, variant in (("no such column", "4"), ("test", "no such variant")):
        with pytest.raises(ValueError, match="no such"):
            comparisons(results, find_column(results, column), variant)


def test_the_command_compares_stored_results(capsys, monkeypatch):
    monkeypatch.setattr("tools.cli.commands.ensure", lambda *_: None)
    stored = ["--out", str(PROJECT_ROOT / "data" / "results")]
    assert main(["experiment", "heads", "--compare", "4", "--column", "alignment error", *stored]) == 0
    printed = capsys.readouterr().out
    assert "| 16 | 3, 3 | +0.08 [0.05, 0.10] |  | behind |" in printed
    assert main(["experiment", "heads", "--compare", *stored]) == 0
    assert "16 − 1" in capsys.readouterr().out
    assert main(["experiment", "heads", "--compare", "5", *stored]) == 1
    assert "1, 2, 4, 8, 16" in capsys.readouterr().err
    for words in (["heads", "--column", "test"], ["--compare", "heads"]):
        assert main(["experiment", *words, *stored]) == 1
        assert "--compare" in capsys.readouterr().err


# ---- the results page: section, column, two variants (of this or another experiment), verdict

QUOTED = """
toy_ladder | long | bahdanau | luong_concat | ahead
toy_ladder | long | bahdanau | transformer | ahead
toy_ladder | test | transformer | bahdanau | undecided
toy_ladder | il/elle | transformer | rctm | ahead
toy_ladder | il/elle | transformer | rnn_encoder_decoder | ahead
toy_ladder | alignment error | luong_location | bahdanau | behind
toy_language_models | perplexity | rnn_lm | lstm_lm | behind
toy_language_models | perplexity | attention_lm | lstm_lm | behind
toy_language_models | perplexity | key_value_lm | attention_lm | behind
toy_language_models | perplexity | transformer_lm | gru_lm | behind
toy_language_models | perplexity | transformer_lm | lstm_lm | undecided
toy_language_models_smoothed | perplexity | rnn_lm | toy_language_models/rnn_lm | behind
toy_language_models_smoothed | perplexity | lstm_lm | toy_language_models/lstm_lm | behind
toy_language_models_smoothed | perplexity | transformer_lm | toy_language_models/transformer_lm | behind
toy_language_models_smoothed | perplexity | lstm_lm | transformer_lm | undecided
state_size | test | 512 | 256 | ahead
source_order | test | reversed | in order | undecided
source_order | scores/test/by_length/16–20/exact | reversed | in order | undecided
encoder_direction | alignment error | from the start | from the end | behind
encoder_direction | alignment error | toy_ladder/bahdanau | from the end | undecided
encoder_direction | depth | from the end | from the start | ahead
encoder_direction | recombination | from the end | from the start | ahead
encoder_direction | test | from the end | from the start | undecided
encoder_direction | long | from the end | from the start | undecided
scheduled_sampling | test | 0% | 10% | undecided
scheduled_sampling | depth | 0% | 25% | ahead
scheduled_sampling | depth | 0% | 50% | ahead
scheduled_sampling | test | 0% | 25% | undecided
scheduled_sampling | test | 0% | 50% | undecided
divisor | learning rate 0.07 | d_k 512, divided by root | d_k 512, divided by d_k | behind
positions | test | rotary | learned | ahead
positions | test | rotary | sinusoidal | undecided
positions | test | sinusoidal | learned | undecided
positions | long | rotary | sinusoidal | ahead
positions | long | sinusoidal | learned | ahead
positions | long | toy_ladder/bahdanau | rotary | ahead
position_sides | test | positions/sinusoidal | source only | undecided
position_sides | depth | positions/sinusoidal | source only | undecided
position_sides | test | positions/sinusoidal | target only | ahead
position_sides | test | target only | positions/none | undecided
heads | test | 2 | 1 | ahead
heads | test | 4 | 1 | ahead
heads | test | 16 | 1 | ahead
heads | test | 8 | 1 | undecided
heads | alignment error | 8 | 4 | behind
heads | alignment error | 16 | 4 | behind
block | test | as it is | BatchNorm | ahead
block | test | as it is | attention only | ahead
block | test | as it is | no norm | undecided
block | test | as it is | post-norm | undecided
block | test | as it is | RMSNorm | undecided
block | test | as it is | SwiGLU | undecided
depth | test | 1 layers, post-norm | 1 layers, pre-norm | undecided
depth | test | 2 layers, post-norm | 2 layers, pre-norm | undecided
depth | test | 3 layers, post-norm | 3 layers, pre-norm | undecided
depth | coreference | 2 layers, pre-norm | 2 layers, post-norm | ahead
depth | depth | 12 layers, pre-norm | 3 layers, pre-norm | ahead
depth | test | 12 layers, pre-norm | 3 layers, pre-norm | undecided
block_causes | test | depth/3 layers, pre-norm | attention only, 7 layers | undecided
block_causes | test | attention only, 7 layers | block/attention only | ahead
initialisation | test | 12 layers, pre-norm, scale by depth | 12 layers, post-norm, scale by depth | undecided
initialisation | depth | 12 layers, pre-norm, scale by depth | 12 layers, post-norm, scale by depth | ahead
initialisation | test | depth/3 layers, pre-norm | attention only, 3 wide layers | undecided
recipe | test | as it is | no warm-up | ahead
recipe | test | as it is | half the rate | ahead
recipe | test | double rate | as it is | undecided
recipe | test | no smoothing | as it is | undecided
recipe | test | no dropout | as it is | undecided
recipe | test | as it is | no averaging | undecided
recipe | test | as it is | cosine decay | undecided
recipe | alignment error | no smoothing | as it is | behind
warm_up | test | post-norm | post-norm, no warm-up | ahead
warm_up | test | post-norm, half the rate | post-norm, half the rate, no warm-up | undecided
warm_up | test | post-norm | post-norm, half the rate | undecided
sick | correct, % | healthy | no warm-up | undecided
sick | validation loss | rate 20 times too high, healthy after 48 | rate 20 times too high | behind
quick | test | 1024 tokens, 2000 steps | 512 tokens, 2000 steps | ahead
quick | test | 1024 tokens, 2000 steps | 512 tokens, 2000 steps, rotary | undecided
quick | test | 1024 tokens, 2000 steps | 512 tokens, 2000 steps, rotary, 2 layers of width 80 | undecided
quick | long | 512 tokens, 2000 steps, rotary, 2 layers of width 80 | 1024 tokens, 2000 steps | ahead
quick | depth | 1024 tokens, 2000 steps | 512 tokens, 2000 steps, rotary, 2 layers of width 80 | undecided
quick_search | test | quick/512 tokens, 2000 steps, rotary | 2 layers, 2000 steps | ahead
quick_search | test | 2 layers, 2000 steps, smoothing 0.05 | 2 layers, 2000 steps | undecided
quick_search | test | 2 layers, 2000 steps, width 80 | 2 layers, 2000 steps | ahead
quick_search | test | quick/512 tokens, 2000 steps, rotary | 2 layers, 2000 steps, width 80 | undecided
depth | test | 6 layers, pre-norm | 6 layers, post-norm | undecided
multi30k_tuned | test, beam | convs2s, 0.004 | multi30k_ladder/convs2s | undecided
multi30k_tuned | test, beam | bahdanau, 0.001 | multi30k_ladder/bahdanau | undecided
multi30k_tuned | test, beam | luong_local_p, 0.001 | multi30k_ladder/luong_local_p | undecided
multi30k_r_drop | test, beam | bahdanau | multi30k_ladder/bahdanau | ahead
multi30k_r_drop | test, beam | transformer | multi30k_ladder/transformer | ahead
multi30k_r_drop | test, beam | convs2s | multi30k_ladder/convs2s | undecided
multi30k_r_drop | test, beam | bahdanau | transformer | undecided
multi30k_r_drop | test, beam | transformer | convs2s | undecided
ablation | test, beam | base | (D) no dropout | ahead
ablation | test, beam | base | (D) dropout 0.1 | ahead
ablation | test, beam | base | (C) d_model 128 | ahead
ablation | test, beam | base | (B) d_k 16 | ahead
ablation | test, beam | base | (A) 16 heads | ahead
ablation | test, beam | base | (D) no smoothing | ahead
ablation | test, beam | (A) 1 head | base | undecided
ablation | test, beam | base | (C) 2 layers | undecided
ablation | test, beam | base | (C) 6 layers | undecided
ablation | test, beam | (E) learned positions | base | undecided
"""
CLAIMS = [tuple(line.split(" | ")) for line in QUOTED.strip().splitlines()]
INTERVAL = re.compile(r"−?[\d.]+ \[−?[\d.]+, −?[\d.]+\]")


def runs_of(section: str, name: str) -> list[dict]:
    """The runs of a variant, with or without the name of another experiment in front."""
    known = [run for run in runs(section) if run["variant"] == name]
    if known:
        return known
    experiment, _, variant = name.partition("/")
    return [run for run in runs(experiment) if run["variant"] == variant]


def quoted(section: str, column: str, one: str, other: str) -> tuple[str, str]:
    """A difference as the page writes it, and the verdict."""
    measure = find_column(read_results(section), column)
    found = compare(runs_of(section, one), runs_of(section, other), measure)
    return written(found, measure)[0].lstrip("+").replace("-", "−"), found.verdict


@pytest.mark.parametrize("claim", CLAIMS, ids=" | ".join)
def test_a_comparison_on_the_results_page_has_this_verdict(claim):
    *compared, verdict = claim
    assert quoted(*compared)[1] == verdict


@pytest.mark.parametrize("section", sorted({claim[0] for claim in CLAIMS}))
def test_every_interval_on_the_results_page_is_that_of_a_comparison(section):
    page = data_path("results", "README.md").read_text(encoding="utf-8")
    text = page.partition(f"\n## `{section}` ")[2].partition("\n## `")[0]
    computed = {quoted(*claim[:4])[0] for claim in CLAIMS if claim[0] == section}
    assert set(INTERVAL.findall(text)) == computed


def test_no_other_section_quotes_an_interval():
    page = data_path("results", "README.md").read_text(encoding="utf-8")
    sections = {part.partition("`")[0]: part for part in page.split("\n## `")[1:]}
    assert {claim[0] for claim in CLAIMS} < sections.keys()
    for name, text in sections.items():
        assert name in {claim[0] for claim in CLAIMS} or not INTERVAL.search(text), name


WITH_SENTENCES = """
multi30k_ladder | test, beam | convs2s | transformer | [0.1, 1.8] | ahead
multi30k_ladder | test, beam | convs2s | bahdanau | [0.8, 2.6] | ahead
multi30k_ladder | test, beam | transformer | bahdanau | [−0.2, 1.6] | undecided
multi30k_r_drop | test, beam | bahdanau | convs2s | [−0.2, 1.4] | undecided
"""


@pytest.mark.parametrize("line", WITH_SENTENCES.strip().splitlines())
def test_an_interval_over_seeds_and_sentences_on_the_results_page(line):
    section, column, one, other, interval, verdict = line.split(" | ")
    measure = find_column(read_results(section), column)
    found = compare(runs_of(section, one), runs_of(section, other), measure)
    page = data_path("results", "README.md").read_text(encoding="utf-8")
    assert interval in page.partition(f"\n## `{section}` ")[2].partition("\n## `")[0]
    assert written(found, measure)[1].replace("-", "−") == interval and found.verdict == verdict


@pytest.mark.nightly
def test_what_the_page_says_about_many_comparisons_at_once():
    """Undecided on every split, or ahead of everyone; each sentence here stands on the results page."""
    splits = ("test", "long", "depth", "recombination", "coreference")

    def verdicts(section: str, column: str, one: str, others: Iterable[str]) -> set[str]:
        return {quoted(section, column, one, other)[1] for other in others}

    def names(section: str) -> list[str]:
        return list(dict.fromkeys(run["variant"] for run in runs(section)))

    others = [name for name in names("toy_ladder") if name != "bahdanau"]
    assert verdicts("toy_ladder", "long", "bahdanau", others) == {"ahead"}
    undecided_on_test = ["bahdanau", "luong_concat", "luong_local_p", "lstmn_deep", "convs2s"]
    rest = [name for name in names("toy_ladder") if name not in (*undecided_on_test, "transformer")]
    assert verdicts("toy_ladder", "test", "transformer", undecided_on_test) == {"undecided"}
    assert verdicts("toy_ladder", "test", "transformer", rest) == {"ahead"}
    pronouns = [
        name for name in names("toy_ladder") if name not in ("transformer", "rctm", "rnn_encoder_decoder")
    ]
    assert verdicts("toy_ladder", "il/elle", "transformer", pronouns) == {"undecided"}
    without = ("rctm", "rnn_encoder_decoder", "seq2seq")
    for name in names("multi30k_ladder"):
        if name not in (*without, "luong_local_p"):
            assert verdicts("multi30k_ladder", "test, greedy", name, without) == {"ahead"}
    recurrent = ("rnn_lm", "lstm_lm", "gru_lm")
    for old in ("ngram_lm", "mlp_lm"):
        assert verdicts("toy_language_models", "perplexity", old, recurrent) == {"behind"}
    for split in splits:
        for one, other in combinations(("2", "4", "8", "16"), 2):
            assert quoted("heads", split, one, other)[1] == "undecided"
        assert verdicts("block", split, "as it is", ("post-norm", "RMSNorm", "SwiGLU")) == {"undecided"}
        assert quoted("scheduled_sampling", split, "10%", "0%")[1] == "undecided"
        if split != "depth":
            assert quoted("depth", split, "12 layers, pre-norm", "3 layers, pre-norm")[1] == "undecided"
    sizes = ("32", "64", "128", "256", "512")
    assert {quoted("state_size", "test", large, small)[1] for small, large in pairwise(sizes)} == {"ahead"}
    for split in ("depth", "recombination"):
        for one, other in combinations(("learned", "sinusoidal", "rotary"), 2):
            assert quoted("positions", split, one, other)[1] == "undecided"
    best, two = "2 layers, 2000 steps, width 80", "2 layers, 2000 steps"
    short = [name for name in names("quick_search") if re.search(r"\b1\d00 steps|1750 steps", name)]
    lost = [
        verdict for name in short if (verdict := quoted("quick_search", "test", best, name)[1]) == "ahead"
    ]
    assert (len(short), len(lost)) == (21, 6)
    changes = (
        "rate 0.007",
        "rate 0.01",
        "8 heads",
        "2 heads",
        "SwiGLU",
        "RMSNorm",
        "d_ff 384",
        "smoothing 0.05",
    )
    assert verdicts("quick_search", "test", two, [f"{two}, {change}" for change in changes]) == {"undecided"}
    base = (
        "(A) 16 heads",
        "(B) d_k 16",
        "(C) d_model 128",
        "(D) no dropout",
        "(D) dropout 0.1",
        "(D) no smoothing",
    )
    others = [name for name in names("ablation") if name not in (*base, "base")]
    assert verdicts("ablation", "test, beam", "base", base) == {"ahead"}
    assert verdicts("ablation", "test, beam", "base", others) == {"undecided"}


def test_what_the_page_says_about_the_divisor():
    def verdict(width: int, rate: str, one: str, other: str) -> str:
        variants = [f"d_k {width}, divided by {divisor}" for divisor in (one, other)]
        return quoted("divisor", f"learning rate {rate}", *variants)[1]

    for width in (64, 512):
        assert {verdict(width, "0.001", "root", other) for other in ("1", "d_k")} == {"ahead"}
        for rate in ("0.003", "0.008", "0.02"):
            assert verdict(width, rate, "root", "1") == "undecided"
            is_clear = (width, rate) != (64, "0.02")
            assert verdict(width, rate, "root", "d_k") == ("ahead" if is_clear else "undecided")
        for rate in ("0.07", "0.2"):
            is_clear = (width, rate) == (512, "0.07")
            assert verdict(width, rate, "d_k", "root") == ("ahead" if is_clear else "undecided")


def test_what_the_page_says_about_an_untrained_encoder():
    """The percentage of words found in a trained encoder, minus that in an untrained one, for each seed."""
    gaps: dict[tuple[str, str], list[float]] = {}
    for run in runs("bottleneck_readout"):
        for group, found in run["readout"]["trained"].items():
            gap = found["mean"] - run["readout"]["untrained"][group]["mean"]
            gaps.setdefault((run["variant"], group), []).append(gap)
    for (variant, group), seeds in gaps.items():
        if variant == "rnn_encoder_decoder":
            assert min(seeds) > 0.095 and max(seeds) < 0.21
        elif variant == "seq2seq" or int(variant.split()[-1]) >= 128:
            assert min(seeds) > -0.12 and max(seeds) <= -0.0095
        elif variant == "seq2seq, hidden 64":
            assert max(seeds) < 0 or group == "16–20"
        elif group in ("11–15", "16–20"):
            assert min(seeds) > 0.018
