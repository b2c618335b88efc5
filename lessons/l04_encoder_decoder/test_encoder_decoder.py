"""The claims of lesson 04, against the recorded runs and the shipped systems."""

from __future__ import annotations

from itertools import pairwise, product
from math import log2
from statistics import mean, stdev

import pytest
import torch

from course_lib.models.registry import n_parameters
from course_lib.results import runs
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.generate import generate
from course_lib.text.toy.read import translations_of
from course_lib.translation.shipped import shared
from lessons.l04_encoder_decoder import exercises, key_picture
from lessons.l04_encoder_decoder.measurements import SYSTEMS, measure
from lessons.l04_encoder_decoder.readout import (
    GROUPS,
    context_vectors,
    find_words,
    fit_readout,
    make_texts,
    read_scores,
    words_in,
)
from tests.lesson_claims import (
    LessonText,
    all_splits,
    assert_measured_again,
    exact,
    means,
    n_right,
    seeds,
    translations,
)

L = LessonText("encoder_decoder")
LENGTHS = ("1–5", "6–10", "11–15", "16–20")
LONGEST = ("scores", "test", "by_length", "16–20", "exact")
SIZES = ("32", "64", "128", "256", "512")
STORED = L.stored()


# ---- the key picture


@torch.no_grad()
def test_the_picture_shows_the_vector_and_the_translation_of_the_model():
    """The model reads and decodes whole sentences here; the picture goes step by step."""
    system, (encoder, context, decoder) = shared("seq2seq"), key_picture.numbers()
    source = [*system.tokenizer.encode(key_picture.SOURCE), EOS]
    memory = system.model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    for name, rows in memory.items():
        torch.testing.assert_close(torch.tensor(context[name]), rows[0], atol=1e-4, rtol=1e-3)
    assert sum(map(torch.numel, memory.values())) == 400 and encoder[-1].word == "</s>"
    target = [BOS, *system.tokenizer.encode("le chat dort")]
    best = system.model.decode(memory, torch.tensor([target]))[0].softmax(dim=-1).max(dim=-1).values[0]
    assert [step.guesses[0][1] for step in decoder] == pytest.approx(best.tolist(), abs=1e-3)
    assert system(key_picture.SOURCE).target == " ".join(step.guesses[0][0] for step in decoder[:-1])


# ---- measurements


@pytest.mark.nightly
def test_the_stored_measurements_can_be_reproduced():
    assert_measured_again(measure(), STORED, rel=0.01, abs=1e-6)


def test_the_shipped_systems_have_the_recorded_sizes():
    for name in SYSTEMS:
        assert n_parameters(shared(name).model) == means("toy_ladder", "parameters")[name]


def test_the_models_have_about_the_same_size():
    sizes = STORED["thousand parameters"]
    assert sizes["seq2seq"] == pytest.approx(sizes["rnn_encoder_decoder"], rel=0.05)


def test_reversing_the_source_is_not_settled():
    right = {
        order: seeds("source_order", order, "scores", "test", "exact") for order in ("reversed", "in order")
    }
    assert min(right["reversed"]) < max(right["in order"]), "the ranges overlap"
    assert sum(right["reversed"]) > sum(right["in order"])


# ---- length


def test_accuracy_falls_with_length_in_both_systems():
    by_length = {words: exact("toy_ladder", words=words) for words in LENGTHS}
    for name in SYSTEMS:
        curve = [by_length[words][name] for words in LENGTHS]
        assert curve == sorted(curve, reverse=True)
        assert curve[0] > 99.5
        assert 18 < curve[-1] < 22, "one in five"
        drops = [before - after for before, after in pairwise(curve)]
        assert drops == sorted(drops), "steeper and steeper"
    assert L.asked("middle-lengths").answer == pytest.approx(by_length["11–15"]["seq2seq"], abs=0.05)


def test_more_words_alone_do_not_explain_it():
    measured = STORED["16–20 words"]
    assert measured["exact match if words were equally hard"] > 0.95
    assert measured["margin of error"] == pytest.approx(0.05, abs=0.005)


@pytest.mark.slow
def test_more_than_a_quarter_of_the_training_sentences_are_long_and_none_has_more_than_20_words():
    lengths = [pair.length for pair in all_splits().train]
    assert max(lengths) == 20
    assert 0.25 < sum(n >= 16 for n in lengths) / len(lengths) < 0.3


# ---- what the context vector contains


def found(variant: str, kind: str, words: str) -> list[float]:
    """The fraction of words that the probe finds, for each seed."""
    return seeds("bottleneck_readout", variant, "readout", kind, words, "mean")


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("kind", ["trained", "untrained"])
def test_the_probe_finds_fewer_words_in_longer_sentences(name, kind):
    for shorter, longer in pairwise(GROUPS):
        assert mean(found(name, kind, longer)) < mean(found(name, kind, shorter))
    for words in GROUPS:
        assert min(found(name, kind, words)) > max(found(name, "most frequent words", words)) + 0.1


def test_training_helps_the_probe_in_cho_s_model_and_not_in_seq2seq():
    for words in GROUPS:
        assert mean(found("seq2seq", "untrained", words)) > mean(found("seq2seq", "trained", words)) - 0.02
        cho = "rnn_encoder_decoder"
        assert min(found(cho, "trained", words)) > max(found(cho, "untrained", words))
    assert L.asked("random-encoder").right == [2] and mean(found("seq2seq", "untrained", "3–5")) > 0.85
    assert 1 - mean(found("seq2seq", "trained", "3–5")) == pytest.approx(1 / 8, abs=0.03)


def test_the_intervals_of_the_probe_are_narrow_and_a_larger_vector_makes_more_words_readable():
    for run in runs("bottleneck_readout"):
        for kind, words in product(("trained", "untrained", "most frequent words"), GROUPS):
            group = run["readout"][kind][words]
            assert max(group["high"] - group["mean"], group["mean"] - group["low"]) < 0.0245
    for kind in ("trained", "untrained"):
        sizes = [mean(found(f"seq2seq, hidden {size}", kind, "16–20")) for size in SIZES]
        assert sizes == sorted(sizes)


def test_the_probe_misses_the_word_that_seq2seq_mistranslates():
    fitted, _ = make_texts()
    system, text = shared("seq2seq"), "the old fox sees two birds near the river"
    probe = fit_readout(
        context_vectors(system.model, system.tokenizer, fitted), words_in(system.tokenizer, fitted)
    )
    words = words_in(system.tokenizer, [text])
    scores = read_scores(probe, context_vectors(system.model, system.tokenizer, [text]))
    best = find_words(scores, words)[0].nonzero()[:, 0].tolist()
    assert "birds" not in system.tokenizer.decode(best).split()
    assert "oiseaux" not in system(text).target.split()


# ---- size


def test_a_larger_state_helps_but_accuracy_still_falls_with_length():
    rows = {words: exact("state_size", words=words) for words in LENGTHS}
    for row in rows.values():
        assert all(row[small] <= row[large] for small, large in pairwise(SIZES))
    for size in SIZES:
        curve = [rows[words][size] for words in LENGTHS]
        assert all(longer <= shorter + 0.5 for shorter, longer in pairwise(curve))
    assert L.asked("bigger-state").right == [1] and rows["16–20"]["512"] == pytest.approx(80, abs=3)
    assert L.asked("double-state").right == [1] and rows["16–20"]["256"] + 5 < rows["16–20"]["512"]
    ranges = [seeds("state_size", size, *LONGEST) for size in SIZES]
    assert all(max(small) < min(large) for small, large in pairwise(ranges)), "the seeds settle it"


def test_each_improvement_costs_more_than_the_one_before():
    parameters, right = means("state_size", "parameters"), exact("state_size", words="16–20")
    costs = [
        (parameters[large] - parameters[small]) / (right[large] - right[small])
        for small, large in pairwise(SIZES[1:])
    ]
    assert costs == sorted(costs)


def test_fifty_words_need_fewer_bits_than_a_hundred_numbers_have():
    assert 50 * log2(37_000) == pytest.approx(759, abs=0.5) and 759 < 100 * 32


# ---- teacher forcing


def test_autoregressive_decoding_makes_three_times_the_mistakes_and_loses_no_other_sentence():
    numbers = STORED["16–20 words"]
    forced, free = numbers["wrong when forced"], numbers["wrong when free"]
    assert forced == pytest.approx(0.1, abs=0.01), "one position in ten"
    assert free / forced == pytest.approx(3, abs=0.3)
    assert forced + 0.1 < numbers["edits when free"] < free, "the rest is due to shifted positions"
    assert numbers["sentences in which the two differ"] == 0 and L.asked("forced-exact").right == [1]
    assert numbers["sentences"] == seeds("toy_ladder", "seq2seq", *LONGEST[:-1], "n")[0]


def test_scheduled_sampling_brings_no_gain():
    right = exact("scheduled_sampling")
    differ_by = max(
        stdev(seeds("scheduled_sampling", variant, "scores", "test", "exact", times=100)) for variant in right
    )
    lost = [right["0%"] - right[own_words] for own_words in ("10%", "25%", "50%")]
    assert 0 < lost[0] < differ_by < lost[1] < lost[2]


# ---- sentences


def test_about_one_short_sentence_in_twenty_breaks_seq2seq():
    suggested = generate(200, seed=1, length=(5, 8))
    pairs = generate(600, seed=2, length=(5, 8)) + suggested
    broken = len(pairs) - n_right(translations(shared("seq2seq"), pairs), pairs)
    assert 0.035 < broken / len(pairs) < 0.065
    assert len(suggested) - n_right(translations(shared("seq2seq"), suggested), suggested) >= 8
    for pair in pairs:
        assert exercises.is_a_sentence((), pair.src_text) == ""
        assert exercises.has_known_translation((), pair.src_text) == ""
        assert pair.tgt_text in translations_of(pair.src_text)


def test_in_the_long_sentence_seq2seq_mentions_a_cow_and_washing():
    translation = shared("seq2seq")(exercises.KING).target.split()
    assert {"vache", "lave"} <= set(translation)
    assert translations_of(exercises.KING) == {exercises.KING_IN_FRENCH}


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    translation = shared("seq2seq").tokenizer.encode("le chat dort dans le jardin")
    assert L.asked("steps-to-speak").answer == len([*translation, EOS])
    assert L.asked("nine-of-ten-words").answer == pytest.approx(100 * 0.9**10, abs=0.5)


@torch.no_grad()
def test_the_decoder_is_given_as_much_of_a_long_source_as_of_a_short_one():
    model = shared("seq2seq").model

    def n_numbers(n_words: int) -> int:
        memory = exercises.encode(model, list(range(4, 4 + n_words)))
        state = model.start(memory)
        return sum(tensor.numel() for tensor in state.values())

    assert n_numbers(18) == n_numbers(3)
    assert L.asked("what-goes-over").right == [1]
