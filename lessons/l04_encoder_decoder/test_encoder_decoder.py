"""The claims of lesson 04, against the recorded runs and the shipped systems."""

from __future__ import annotations

from itertools import pairwise
from statistics import stdev

import pytest
import torch

from course_lib.models.registry import n_parameters
from course_lib.text.special import BOS, EOS
from course_lib.text.toy.generate import generate
from course_lib.translation.shipped import shared
from lessons.l04_encoder_decoder import exercises
from lessons.l04_encoder_decoder.measurements import SYSTEMS, measure
from lessons.l04_encoder_decoder.read import translations_of
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
SIZES = ("32", "64", "128", "256", "512")
STORED = L.stored()


# ---- measurements


@pytest.mark.slow
def test_the_stored_measurements_can_be_reproduced():
    assert_measured_again(measure(), STORED, rel=0.01, abs=1e-6)


def test_the_shipped_systems_have_the_recorded_sizes():
    for name in SYSTEMS:
        assert n_parameters(shared(name).model) == means("toy_ladder", "parameters")[name]


def test_the_networks_are_about_equally_large_and_the_paper_s_a_thousand_times():
    sizes = STORED["thousand parameters"]
    assert sizes["seq2seq"] == pytest.approx(sizes["rnn_encoder_decoder"], rel=0.05)
    assert 384e3 / sizes["seq2seq"] == pytest.approx(1000, rel=0.1)


# ---- length


def test_both_systems_fall_off_the_same_cliff():
    by_length = {words: exact("toy_ladder", words=words) for words in LENGTHS}
    for name in SYSTEMS:
        curve = [by_length[words][name] for words in LENGTHS]
        assert curve == sorted(curve, reverse=True)
        assert curve[0] > 99.5
        assert 18 < curve[-1] < 22, "one in five"
    assert all(abs(by_length[words]["seq2seq"] - by_length[words][SYSTEMS[1]]) < 5 for words in LENGTHS)
    lost = [100 - by_length[words]["seq2seq"] for words in LENGTHS]
    assert lost[1] == pytest.approx(10, abs=2), "one in ten"
    assert lost[2] == pytest.approx(40, abs=3), "four in ten"
    assert 75 < lost[3] < 80, "nearly four in five"
    assert L.asked("length-cliff").answer == pytest.approx(by_length["16–20"]["seq2seq"], abs=0.05)


def test_beyond_the_lengths_of_training_at_most_two_sentences_are_right():
    group = ("scores", "long", "by_length", "21–30")
    for name in SYSTEMS:
        [n] = set(seeds("toy_ladder", name, *group, "n"))
        assert {round(fraction * n) for fraction in seeds("toy_ladder", name, *group, "exact")} <= {0, 1, 2}


@pytest.mark.slow
def test_more_than_a_quarter_of_the_training_sentences_are_long_and_none_has_more_than_20_words():
    lengths = [pair.length for pair in all_splits().train]
    assert max(lengths) == 20
    assert 0.25 < sum(n >= 16 for n in lengths) / len(lengths) < 0.3


# ---- size


def test_a_larger_state_moves_the_cliff_and_does_not_remove_it():
    rows = {words: exact("state_size", words=words) for words in LENGTHS}
    beyond = exact("state_size", "long", "21–30")
    for row in (*rows.values(), beyond):
        assert all(row[small] <= row[large] for small, large in pairwise(SIZES))
    assert rows["1–5"]["32"] > 60 and rows["6–10"]["32"] < 15, "32 numbers: five words"
    assert rows["16–20"]["512"] > 75 and beyond["512"] < 20, "512 numbers: nearly twenty words"
    assert max(rows["16–20"].values()) < 90, "no size gets near 100%"
    up_to_15 = {words: rows[words]["512"] for words in LENGTHS[:3]}
    assert min(up_to_15, key=up_to_15.get) == "11–15", "the question quotes the smallest of the three"
    assert L.asked("bigger-state").right == [2] and 100 / 8 < beyond["512"] < 100 / 6, "one in seven"
    assert L.asked("double-state").right == [1] and rows["16–20"]["256"] + 5 < rows["16–20"]["512"]
    assert rows["16–20"]["512"] == pytest.approx(80, abs=3), "one in five still breaks"


def test_without_a_bottleneck_a_seventeenth_of_the_parameters_does_better():
    parameters, large = means("toy_ladder", "parameters"), means("state_size", "parameters")["512"]
    assert large / parameters["bahdanau"] == pytest.approx(17, abs=0.5)
    assert exact("toy_ladder", words="16–20")["bahdanau"] > exact("state_size", words="16–20")["512"]
    assert exact("toy_ladder", "long", "21–30")["transformer"] < 25, "and yet lengths must be trained"


def test_in_the_suitcase_only_words_per_number_count():
    *most, least = STORED["recalled from one vector"].values()
    assert least < min(most) and max(most) == most[0], "the lesson quotes the last and the first as ends"
    assert most[0] - least < 0.05


# ---- teacher forcing


def test_running_free_makes_three_times_the_mistakes_and_loses_no_other_sentence():
    numbers = STORED["16–20 words"]
    forced, free = numbers["wrong when forced"], numbers["wrong when free"]
    assert forced == pytest.approx(0.1, abs=0.01), "one position in ten"
    assert free / forced == pytest.approx(3, abs=0.3)
    assert 1 / 3 < (free - numbers["edits when free"]) / (free - forced) < 1 / 2, "over a third is counting"
    assert numbers["sentences in which the two differ"] == 0 and L.asked("forced-exact").right == [1]
    group = ("scores", "test", "by_length", "16–20")
    assert numbers["sentences"] == seeds("toy_ladder", "seq2seq", *group, "n")[0]


def test_scheduled_sampling_brings_no_gain():
    right = exact("scheduled_sampling")
    differ_by = max(
        stdev(seeds("scheduled_sampling", variant, "scores", "test", "exact", times=100)) for variant in right
    )
    lost = [right["0%"] - right[own_words] for own_words in ("10%", "25%", "50%")]
    assert 0 < lost[0] < differ_by < lost[1] < lost[2]


def test_reading_backwards_helps_no_more_than_seeds_differ():
    right, deviations = exact("source_order"), STORED["standard deviation over seeds"]
    gain = right["reversed"] - right["in order"]
    assert 1.5 < gain < 2.5, "two points"
    assert gain < 100 * max(deviations.values())
    longest = exact("source_order", words="16–20")
    assert longest["reversed"] > longest["in order"], "a hint, the paper's way"
    assert L.asked("reversed").right == [1]


# ---- sentences


def test_about_one_short_sentence_in_twenty_breaks_seq2seq():
    suggested = generate(200, seed=1, length=(5, 8))
    pairs = generate(600, seed=2, length=(5, 8)) + suggested
    broken = len(pairs) - n_right(translations(shared("seq2seq"), pairs), pairs)
    assert 0.035 < broken / len(pairs) < 0.065
    assert len(suggested) - n_right(translations(shared("seq2seq"), suggested), suggested) >= 8
    for pair in suggested:
        assert exercises.is_a_sentence((), pair.src_text) == ""
        assert exercises.has_known_translation((), pair.src_text) == ""
        assert pair.tgt_text in exercises.right_translations(pair.src_text)


def test_seq2seq_calls_the_mushrooms_hungry():
    text = "the women eat the mushrooms because they are hungry"
    wrong = "les femmes mangent les champignons parce qu' ils ont faim"
    assert shared("seq2seq")(text).target == wrong
    assert translations_of(text) == {wrong.replace("qu' ils", "qu' elles")}


def test_in_the_long_sentence_seq2seq_makes_up_a_cow_and_somebody_who_washes():
    translation = shared("seq2seq")(exercises.KING).target.split()
    assert {"vache", "lave"} <= set(translation)
    assert translations_of(exercises.KING) == {exercises.KING_IN_FRENCH}


def test_two_faults_stammer_and_the_third_gives_another_sentence(capsys):
    system = shared("seq2seq")
    tokenizer = system.tokenizer
    names = {"torch": torch, "BOS": BOS, "EOS": EOS, "seq2seq": system}
    with torch.no_grad():
        exec(L.cell("faults").text, names | {"to_ids": tokenizer.encode, "to_text": tokenizer.decode})
    right, first_state, bos, no_eos = (line.split()[-9:] for line in capsys.readouterr().out.splitlines())

    def stammers(words: list[str]) -> bool:
        return any(a == b for a, b in pairwise(words)) or words[:4] == words[2:6]

    assert stammers(first_state) and stammers(bos)
    assert not stammers(no_eos) and no_eos != right == exercises.KING_IN_FRENCH.split()[:9]


# ---- answers of the quiz


def distances(n_words: int, *, backwards: bool) -> list[int]:
    """For each source word, the steps from reading it to saying its translation; EOS is read last."""
    read = [n_words - i if backwards else i + 1 for i in range(n_words)]
    return [n_words + 2 + i - read[i] for i in range(n_words)]


def test_the_numbers_of_the_quiz():
    translation = shared("seq2seq").tokenizer.encode("le chat dort dans le jardin")
    assert L.asked("steps-to-speak").answer == len([*translation, EOS])
    assert L.asked("nine-of-ten-words").answer == pytest.approx(100 * 0.9**10, abs=0.5)
    assert distances(3, backwards=False) == [4, 4, 4], "as the question says"
    assert L.asked("first-reversed").answer == distances(3, backwards=True)[0]
    assert L.asked("mean-reversed").answer == sum(distances(3, backwards=True)) / 3


@torch.no_grad()
def test_the_decoder_is_given_as_much_of_a_long_source_as_of_a_short_one():
    model = shared("seq2seq").model

    def n_numbers(n_words: int) -> int:
        memory = exercises.encode(model, list(range(4, 4 + n_words)))
        state = model.start(memory)
        return sum(tensor.numel() for tensor in state.values())

    assert n_numbers(18) == n_numbers(3)
    assert L.asked("what-goes-over").right == [1]
