"""Claims of lesson 18, checked against recorded results and live computations."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from statistics import mean

import pytest
import torch

from course_lib.models.registry import SYSTEMS
from course_lib.results import runs
from course_lib.runtime import PROJECT_ROOT, data_path
from course_lib.text.toy.splits import TEST_SIZES, splits
from course_lib.translation.comparison import BETTER, UNCLEAR, WORSE
from course_lib.translation.corpus_bleu import bleu_of_rows
from course_lib.translation.shipped import shared
from lessons.l16_decoding.exercises import bootstrapped as paired_bootstrap
from lessons.l18_the_museum import key_picture, measurements, museum
from lessons.l18_the_museum.exercises import defend
from lessons.l18_the_museum.measurements import CONTEST
from lessons.l18_the_museum.museum import (
    COLUMNS,
    COSTS,
    HIGHER,
    NO_RESIDUAL,
    REAL,
    TOY,
    n_at_ceiling,
    runs_of,
    table,
)
from lessons.l18_the_museum.sentences import compared, sentences_of
from tests.lesson_claims import LessonText, assert_measured_again, seeds, translations

L, RESULTS = LessonText("the_museum"), table()
STORED = json.loads(data_path("results", "lesson_18.json").read_text(encoding="utf-8"))
WITHOUT_ATTENTION = ("rctm", "rnn_encoder_decoder", "seq2seq")


def beats(one: list[float], other: list[float], higher: bool) -> str:
    """The rule once more, pair by pair."""
    sign = 1 if higher else -1
    gaps = [sign * (a - b) for a in one for b in other]
    return BETTER if min(gaps) > 0 else WORSE if max(gaps) < 0 else UNCLEAR


def order(column: str) -> list[str]:
    """The systems of a column, the best mean first."""
    return sorted(RESULTS[column], key=lambda name: mean(RESULTS[column][name]), reverse=HIGHER[column])


def by_runs(one: str, other: str, column: str) -> str:
    return beats(RESULTS[column][one], RESULTS[column][other], HIGHER[column])


def beats_all(column: str, system: str) -> bool:
    return all(by_runs(system, rival, column) == BETTER for rival in RESULTS[column] if rival != system)


@pytest.mark.nightly
def test_new_measurements_agree_with_the_stored_ones():
    assert_measured_again(measurements.measure(), STORED, abs=1e-3)


# ---- the key picture


def test_the_key_picture_shows_recorded_runs_which_give_either_headline():
    shown, groups, n_systems = key_picture.numbers()
    recorded = {name: seeds("toy_ladder", name, "scores", "depth", "exact", times=100) for name in shown}
    assert shown == {name: pytest.approx(values) for name, values in recorded.items()}
    assert len(RESULTS["depth"]) == n_systems
    one, other = (recorded[name] for name in key_picture.RIVALS)
    assert max(one) > min(other) and max(other) > min(one)
    assert all(by_runs(*pair, "depth") != WORSE for group in groups for pair in combinations(group, 2))
    upper, lower = groups
    assert all(
        by_runs(a, b, "depth") == compared("depth", a, b).verdict == BETTER for a in upper for b in lower
    )


# ---- 1 and 2, equal conditions, RCTM and ConvS2S


def test_every_system_of_the_course_has_a_row():
    rows = {name for column in RESULTS.values() for name in column}
    assert rows == {system.name for system in SYSTEMS} | {NO_RESIDUAL}


def test_systems_that_are_compared_have_one_size_and_three_seeds():
    for record, size in (("toy_ladder", 400e3), ("multi30k_ladder", 9.4e6), ("toy_language_models", 120e3)):
        for name, its_runs in runs_of(record).items():
            assert len(its_runs) == 3
            if name != "ngram_lm":
                assert its_runs[0]["parameters"] == pytest.approx(size, rel=0.1)


@pytest.mark.parametrize("record", ["multi30k_ladder", "multi30k_tuned", "multi30k_r_drop", "ablation"])
def test_all_bleu_scores_have_the_signature_that_the_lesson_explains(record):
    [signature] = {run["scores"]["validation"]["signature"] for run in runs(record)}
    assert {"nrefs:1", "case:lc", "tok:13a"} <= set(signature.split("|"))


def test_in_most_pairs_rctm_ignores_the_last_word_and_seq2seq_never_does():
    pairs = splits(sizes=TEST_SIZES).coreference
    sources = [pair.src_text.split() for pair in pairs]
    minimal_pairs = list(zip(sources[::2], sources[1::2], strict=True))
    assert len(minimal_pairs) == 200
    assert all(one[:-1] == other[:-1] and one != other for one, other in minimal_pairs)

    def n_same(name: str) -> int:
        french = translations(shared(name), pairs)
        return sum(a == b for a, b in zip(french[::2], french[1::2], strict=True))

    assert 110 < n_same("rctm") < 140 and n_same("seq2seq") == 0
    assert mean(RESULTS["pronouns"]["seq2seq"]) < 90, "only"


def test_convs2s_needs_the_attention_of_every_layer_and_most_of_all_the_last():
    right = STORED["ConvS2S"]
    assert right["intact"] == 100
    assert right["cross 2"] < min(right["cross 0"], right["cross 1"])
    assert max(right["cross 0"], right["cross 1"]) < 95
    assert STORED["cross 2 unchanged"] > 0.95


# ---- 3, runs


def test_the_friends_runs_overlap():
    transformer, bahdanau = (RESULTS["test"][name] for name in ("transformer", "bahdanau"))
    assert by_runs("transformer", "bahdanau", "test") == UNCLEAR and mean(transformer) > mean(bahdanau)
    assert [run > transformer[1] for run in bahdanau] == [True, False, True]
    assert max(bahdanau) - min(bahdanau) > mean(transformer) - mean(bahdanau)
    assert STORED["test"]["transformer"] == pytest.approx(transformer, abs=1e-3)


def test_one_order_of_six_runs_in_twenty_puts_one_system_on_top():
    chosen = list(combinations(range(6), 3))
    assert len(chosen) == 20 and sum(set(three) == {3, 4, 5} for three in chosen) == 1
    assert STORED["true lead seen"]["0"] == pytest.approx(1 / 20, abs=0.005)
    assert STORED["true lead seen"]["1"] == pytest.approx(0.25, abs=0.03), "a quarter, says a question"
    assert 0.5 < STORED["true lead seen"]["2"] < 0.7


def test_with_more_runs_false_alarms_get_rarer_and_misses_more_common():
    for gap in (0, 1, 2):
        seen = [measurements.lead_seen(gap, n_runs) for n_runs in (2, 3, 5)]
        assert seen == sorted(seen, reverse=True) and seen[0] > seen[-1] + 0.01


# ---- 4, sentences


def has_sentences(column: str) -> list[str]:
    return [name for name in RESULTS[column] if sentences_of(column, name) is not None]


@pytest.mark.parametrize("column", COLUMNS)
def test_results_for_each_sentence_give_the_recorded_score_of_every_run(column):
    for name in has_sentences(column):
        rows = sentences_of(column, name)
        scores = rows.mean(dim=0) if rows.ndim == 2 else bleu_of_rows(rows.transpose(0, 1))
        assert scores.tolist() == pytest.approx(RESULTS[column][name], abs=2e-3)


def test_which_columns_have_results_for_each_sentence():
    with_some = {column for column in COLUMNS if has_sentences(column)}
    toy = [column for column, about in COLUMNS.items() if about.unit in ("% exact", "% correct")]
    assert with_some == {*toy, *(c for c in COLUMNS if c.startswith("BLEU"))} - {"pronoun class"}
    assert not with_some & {*COSTS, "alignment error", "perplexity"}
    for column in with_some:
        assert set(RESULTS[column]) - set(has_sentences(column)) <= {NO_RESIDUAL}, column


def test_without_results_for_each_sentence_the_runs_decide():
    assert sentences_of("test", NO_RESIDUAL) is None
    assert compared("test", "luong_dot", NO_RESIDUAL)[1:] == (None, BETTER)
    assert sentences_of("BLEU R-Drop", "seq2seq") is None, "a system that wasn't measured there"


def test_minimal_pairs_are_drawn_together():
    name = has_sentences("pronouns")[0]
    assert sentences_of("pronouns", name).shape == (200, 3)


def test_with_runs_drawn_again_too_an_interval_is_wider_than_the_lessons():
    def bleu_over_runs(rows: torch.Tensor) -> torch.Tensor:
        return bleu_of_rows(rows.transpose(0, 1)).mean()

    rows = [sentences_of("BLEU beam", name) for name in ("convs2s", "transformer")]
    low, high = paired_bootstrap(*rows, bleu_over_runs, n_samples=400)
    wider = compared("BLEU beam", "convs2s", "transformer").interval
    assert wider == pytest.approx((low, high), abs=0.3) and wider[1] - wider[0] > high - low


@pytest.mark.parametrize("rival", ["transformer", "bahdanau"])
def test_on_captions_runs_and_sentences_agree_on_convs2s(rival):
    found = compared("BLEU beam", "convs2s", rival)
    assert found.verdict == BETTER and found.interval[0] > 0.1, "not only by a hair"


# ---- 5, which is better


def test_which_systems_beat_all_others():
    alone = {column: order(column)[0] for column in CONTEST if beats_all(column, order(column)[0])}
    assert alone == {
        "21 to 30 words": "bahdanau",
        "alignment error": "bahdanau",
        "BLEU greedy": "convs2s",
        "BLEU beam": "convs2s",
        "BLEU own rate": "convs2s",
    }


def test_the_prediction_has_the_measured_answer():
    contest, asked = STORED["contest"], L.asked("museum-alone-2017")
    [right] = asked.right
    assert int(asked.options[right].text) == contest["beats all"]["transformer"] == 0
    assert contest["columns"] == len(CONTEST) and contest["first by mean"]["transformer"] > 1
    firsts = [column for column in CONTEST if order(column)[0] == "transformer"]
    assert len(firsts) == contest["first by mean"]["transformer"]
    assert not any(
        all(compared(column, "transformer", rival).verdict == BETTER for rival in order(column)[1:])
        for column in firsts
    )
    assert len(RESULTS["BLEU R-Drop"]) == 3 and "BLEU R-Drop" not in CONTEST


def test_the_contest_compares_systems_that_were_measured_in_the_same_columns():
    after = L.run_cell(
        "contest",
        **{name: getattr(museum, name) for name in ("COLUMNS", "COSTS", "HIGHER", "REAL", "TOY")},
        Counter=Counter,
        mean=mean,
        results=RESULTS,
        beats=beats,
    )
    assert after["contest"] == CONTEST
    shown = dict(after["never_worse"].most_common(6))
    assert all(len(after["better_than"][name]) == len(CONTEST) for name in shown)
    assert shown["bahdanau"] == STORED["contest"]["unbeaten"]["bahdanau"] == max(shown.values())


def test_columns_that_are_not_independent():
    assert COLUMNS["BLEU greedy"].records == COLUMNS["BLEU beam"].records, "the same runs"
    bleu = [column for column in CONTEST if column.startswith("BLEU")]
    assert len(bleu) == 3 and len({len(sentences_of(column, "convs2s")) for column in bleu}) == 1
    for column in ("negation", "questions", "16 to 20 words"):
        assert COLUMNS[column].path.startswith("scores/test/")


def test_the_columns_do_not_agree_on_a_winner():
    assert len({order(column)[0] for column in CONTEST}) >= 3


def test_a_ceiling():
    assert n_at_ceiling("1 to 5 words") == STORED["ceiling"]["1 to 5 words"] > 10
    assert n_at_ceiling("BLEU beam") == n_at_ceiling("alignment error") == 0, "not percentages"
    others = [column for column in CONTEST if n_at_ceiling(column) > 3]
    assert others == [], "the lesson leaves out every column at the ceiling"


def test_on_long_sentences_bahdanau_is_better_than_the_transformer():
    column = "21 to 30 words"
    assert by_runs("bahdanau", "transformer", column) == by_runs("bahdanau", "luong_concat", column) == BETTER
    assert min(RESULTS[column]["bahdanau"]) > 3 * max(RESULTS[column]["transformer"])
    assert mean(RESULTS[column]["transformer"]) == pytest.approx(20, abs=3), "a fifth, says the guide"


def test_two_language_models_without_attention_beat_all_with_attention():
    attending = [name for name in RESULTS["perplexity"] if name not in measurements.WITHOUT_ATTENTION]
    assert "transformer_lm" in attending and len(attending) > 3
    for name in ("gru_lm", "lstm_lm"):
        assert name in measurements.WITHOUT_ATTENTION
        gap = mean(RESULTS["perplexity"]["transformer_lm"]) - mean(RESULTS["perplexity"][name])
        assert 0.03 < gap < 0.06, "only just"
        assert all(by_runs(name, rival, "perplexity") == BETTER for rival in attending)


# ---- 6, claims


def test_newer_is_better_has_holes_of_every_kind():
    claim = {"system": "transformer", "over": ["bahdanau"], "on": list(COLUMNS)}
    reasons = {column: reason for column, _, reason in defend(claim, RESULTS, HIGHER)}
    supported = set(COLUMNS) - set(reasons)
    assert supported == {"BLEU greedy", "BLEU beam", "training", "parameters"}
    assert set(reasons.values()) == {WORSE, UNCLEAR, "not measured"}
    for column in ("BLEU greedy", "BLEU beam"):
        low, high = compared(column, "transformer", "bahdanau").interval
        assert low < 0 < high, "the sentences leave no clear difference"


def test_how_many_comparisons_a_claim_can_be_chosen_from():
    translators = {c: {*RESULTS[c]} - {NO_RESIDUAL} for c in COLUMNS if COLUMNS[c].task in (TOY, REAL)}
    pairs = [(c, *pair) for c in translators if c != "parameters" for pair in combinations(translators[c], 2)]
    assert STORED["comparisons"] == len(pairs) > 1000


# ---- 7, training configurations


def test_learning_rates_are_inside_the_grid_but_for_one():
    by_rate = measurements.validation_by_rate()
    assert all(sorted(scores) == [0.0005, 0.001, 0.002, 0.004, 0.008] for scores in by_rate.values())
    chosen = {system: max(scores, key=scores.get) for system, scores in by_rate.items()}
    assert {system for system, rate in chosen.items() if rate in (0.0005, 0.008)} == {"luong_concat"}
    assert STORED["rates"]["inside the grid"] == len(chosen) - 1
    tuned = {run["variant"] for run in runs("multi30k_tuned")}
    assert tuned == {f"{system}, {rate}" for system, rate in chosen.items() if rate != 0.002}


def test_three_runs_do_not_confirm_the_rate_of_luong_concat():
    own, shared_rate = (RESULTS[column]["luong_concat"] for column in ("BLEU own rate", "BLEU beam"))
    assert mean(own) < mean(shared_rate) and beats(own, shared_rate, True) == UNCLEAR


def test_the_transformer_does_not_choose_the_largest_length_penalty():
    for run in runs_of("multi30k_ladder")["transformer"]:
        offered = [float(penalty) for penalty in run["scores"]["validation"]["beam by length penalty"]]
        assert run["scores"]["test"]["length_penalty"] == 2.0 < max(offered) == 4.0


def test_the_configuration_changes_the_verdict():
    for rival in ("transformer", "bahdanau"):
        found = compared("BLEU own rate", "convs2s", rival)
        assert found.verdict == BETTER and found.interval[0] > 0.5
    for rival in ("transformer", "convs2s"):
        assert by_runs("bahdanau", rival, "BLEU R-Drop") == BETTER
        (low, high), verdict = compared("BLEU R-Drop", "bahdanau", rival)[1:]
        assert low < -0.05 and high > 0.5 and verdict == UNCLEAR
    r_drop, shared_rate = (
        compared(column, "convs2s", "bahdanau").interval for column in ("BLEU R-Drop", "BLEU beam")
    )
    assert r_drop[1] < shared_rate[0] - 0.3, "they don't overlap"
    assert set(runs_of("multi30k_r_drop_weight")) == {"bahdanau", "transformer"}, "without ConvS2S"
    r_drop, ladder = (
        runs_of(record)["convs2s"][0]["recipe"] for record in ("multi30k_r_drop", "multi30k_ladder")
    )
    assert r_drop["learning_rate"] == ladder["learning_rate"] and r_drop["r_drop"] > ladder["r_drop"] == 0


def test_with_its_own_rate_every_system_with_attention_beats_every_one_without():
    for name in RESULTS["BLEU own rate"]:
        if name not in WITHOUT_ATTENTION:
            assert {by_runs(name, rival, "BLEU own rate") for rival in WITHOUT_ATTENTION} == {BETTER}
    found = STORED["configurations"]
    assert found["without attention"]["most"] < found["with attention"]["least"]


def test_at_the_shared_rate_one_run_with_attention_is_below_the_best_without():
    column = RESULTS["BLEU beam"]
    best = max(number for name in WITHOUT_ATTENTION for number in column[name])
    assert best == max(column["rnn_encoder_decoder"])
    below = {name: [s for s in column[name] if s < best] for name in column if name not in WITHOUT_ATTENTION}
    assert {name: len(found) for name, found in below.items() if found} == {"luong_local_p": 1}


# ---- 8, the ablation


def test_the_ablation():
    rows, greedy = (
        {name: seeds("ablation", name, "scores", "test", way) for name in runs_of("ablation")}
        for way in ("beam", "greedy")
    )
    verdicts = {
        name: beats(its_seeds, rows["base"], True) for name, its_seeds in rows.items() if name != "base"
    }
    found = STORED["ablation"]
    assert found["losing"] == sum(answer == WORSE for answer in verdicts.values())
    assert found["rows"] == len(verdicts) and found["expected by chance"] < 1
    assert verdicts["(C) 6 layers"] == WORSE and 0 < found["margin of 6 layers"] < 0.005
    margins = {
        name: min(rows["base"]) - max(rows[name]) for name, answer in verdicts.items() if answer == WORSE
    }
    assert min(margins, key=margins.get) == "(C) 6 layers"
    assert max(margins, key=margins.get) == "(D) no dropout"
    assert beats(greedy["(C) 6 layers"], greedy["base"], True) == UNCLEAR
    assert found["loss without dropout"] > 3 * 1.2
    from_a_tenth = mean(rows["(D) dropout 0.1"]) - mean(rows["(D) no dropout"])
    assert from_a_tenth > 1.5 * 1.2, "more than in the paper, from the same dropout"
    config = runs_of("ablation")["base"][0]["config"]
    assert (config["d_model"], config["d_ff"], config["n_heads"], config["n_layers"]) == (256, 1024, 4, 4)
    assert config["dropout"] == 0.3


def test_rows_of_the_ablation_that_are_matched_by_their_ratio_to_the_base_model():
    variants = {name: its_runs[0]["config"] for name, its_runs in runs_of("ablation").items()}
    base = variants["base"]
    for row, key, ours, theirs, of_base in (
        ("(C) d_model 128", "d_model", 128, 256, 512),
        ("(C) d_ff 512", "d_ff", 512, 1024, 2048),
        ("(C) d_ff 2048", "d_ff", 2048, 4096, 2048),
    ):
        assert variants[row][key] == ours and ours / base[key] == theirs / of_base


def test_the_question_about_one_head():
    one, base = (seeds("ablation", name, "scores", "test", "beam") for name in ("(A) 1 head", "base"))
    assert beats(one, base, True) == UNCLEAR
    toy = [seeds("heads", n, "scores", "test", "exact") for n in ("1", "4")]
    assert beats(*toy, True) == WORSE, "there is an effect on the toy language"


# ---- break it, questions, the guide


def test_systems_that_can_be_made_first():
    made = measurements.made_first(RESULTS)
    assert STORED["made first"] == len(made) < STORED["translating rows"] == 15
    assert measurements.really_first(RESULTS) == {"bahdanau", "convs2s"} < made
    assert STORED["really first"] == 2


def test_the_numbers_that_questions_ask_for():
    answer = L.asked("museum-beats-number").answer
    of_a = [91, 94, 93]
    assert beats(of_a, [88, 90, answer - 0.1], True) == BETTER
    assert beats(of_a, [88, 90, answer], True) == UNCLEAR
    assert beats([40, 44, 42], [41, 39, 38], True) == UNCLEAR
    assert mean([40, 44, 42]) - mean([41, 39, 38]) == pytest.approx(2.7, abs=0.05)
    for question, expected in (("museum-chance", "twice"), ("museum-later-misses", "quarter")):
        [right] = L.asked(question).right
        assert expected in L.asked(question).options[right].text


def test_what_the_guide_to_the_paper_says_about_our_results():
    assert (PROJECT_ROOT / "docs" / "reading_the_paper.md").is_file()
    assert seeds("depth", "12 layers, post-norm", "scores", "test", "exact") == [0, 0, 0]
