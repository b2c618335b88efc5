"""The claims of lesson 05, against the recorded runs, the shipped systems and the lesson's own cells."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn import functional as F

from course_lib.layers.sentence_convolution import kernel_widths
from course_lib.teaching.exercises import find_exercise
from course_lib.text.special import EOS
from course_lib.text.toy.splits import splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import Shipped, shared
from lessons.l05_distance_between_words import exercises
from lessons.l05_distance_between_words.measurements import PLAIN_STACK, count_ways, measure
from tests.lesson_claims import LessonText, assert_measured_again, exact, indices_of_true, means

L = LessonText("distance_between_words")
STORED = L.stored()


def run_cell(name: str, **variables: object) -> dict:
    return L.run_cell(name, torch=torch, F=F, **variables)


def test_the_stored_measurements_can_be_reproduced():
    assert_measured_again(measure(), STORED)


# ---- ways


def test_in_a_plain_stack_the_middle_has_most_ways_and_the_ends_have_one():
    ways = count_ways(PLAIN_STACK)
    assert len(ways) == 33 and sum(ways) == 3**16
    assert ways[0] == ways[-1] == 1 and max(ways) == ways[16]
    assert count_ways([3, 3]) == [1, 2, 3, 2, 1]
    assert L.asked("ways-of-three-layers").answer == max(count_ways([3, 3, 3]))


def test_no_stack_is_cheaper():
    """All stacks of small widths and dilations: none reaches so many words for less."""
    assert [sum(exercises.cheapest_widths(n)) for n in (2, 9, 40, 100)] == [2, 6, 11, 13]
    assert 3 * len(exercises.receptive_fields()([3] * 20, [1] * 20)) == 60, "a plain stack for 40 words"
    assert exercises.receptive_fields()([3] * 20, [1] * 20)[-2:] == [39, 41]
    for n_words in range(2, 13):
        least = sum(exercises.cheapest_widths(n_words))
        cheaper = (
            widths
            for n_layers in range(1, 4)
            for widths in itertools.product(range(2, least), repeat=n_layers)
            if sum(widths) < least
        )
        for widths in cheaper:
            for dilations in itertools.product(range(1, n_words), repeat=len(widths)):
                assert not set(range(n_words)) <= exercises.reached_distances(widths, dilations)


def test_which_stack_of_nine_matrices_reaches_27_words():
    assert L.asked("width-or-gaps").right == [1]
    assert exercises.reached_distances([3, 3, 3], [1, 3, 9]) == set(range(27))
    assert sum(exercises.cheapest_widths(27)) == 9
    assert exercises.receptive_fields()([3, 3, 3], [1, 5, 25])[-1] == 63
    assert not set(range(27)) <= exercises.reached_distances([3, 3, 3], [1, 5, 25])


# ---- influence


@pytest.fixture(scope="module")
def cell() -> dict:
    return run_cell("influence")


def relative_influence(cell: dict, network) -> torch.Tensor:
    influence = cell["influence"](network)
    return influence / influence.max()


def test_sixteen_plain_layers_hear_the_ends_two_thousand_times_more_weakly(cell):
    influence = relative_influence(cell, cell["random_stack"]([1] * 16))
    assert 1500 < 1 / influence[0] < 2500
    assert 1200 < 1 / influence[-1] < 3500
    assert 14 <= int(influence.argmax()) <= 18, "the middle"
    assert all(cell["influence"](cell["random_stack"]([1] * n))[0] == 0 for n in (4, 8)), "not seen"
    assert L.asked("seen-or-heard-later").right == [2]


def test_with_gaps_every_word_is_heard_about_alike(cell):
    influence = relative_influence(cell, cell["random_stack"]([1, 3, 9, 27]))
    assert influence.min() > 0.6
    assert L.asked("who-is-heard").right == [1]


def test_gaps_that_grow_too_fast_leave_holes(cell):
    influence = cell["influence"](cell["random_stack"]([1, 5, 15]), n=43)
    assert exercises.receptive_fields()([3, 3, 3], [1, 5, 15])[-1] == len(influence) == 43
    assert int((influence > 0).sum()) == 27


def test_a_plain_recurrent_layer_loses_the_first_word(cell):
    torch.manual_seed(5)
    rnn = torch.nn.RNN(32, 32, batch_first=True)
    influence = relative_influence(cell, lambda words: rnn(words)[0])
    assert int(influence.argmax()) == 32 and influence[0] < 1e-6


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_gates_can_hold_the_first_word(cell, seed):
    torch.manual_seed(seed)
    lstm = torch.nn.LSTM(32, 32, batch_first=True)

    def influence(forget_bias: float) -> torch.Tensor:
        with torch.no_grad():
            lstm.bias_ih_l0[32:64], lstm.bias_hh_l0[32:64] = forget_bias, 0.0
        return relative_influence(cell, lambda words: lstm(words)[0])

    designed = find_exercise("design_memory").reference(32)["forget_bias"]
    assert 0.0005 < influence(1.0)[0] < 0.002, "about a thousandth"
    assert influence(designed).min() > 0.25, "no word less than a quarter"


@pytest.mark.slow
def test_the_plain_stack_learns_the_middle_and_not_the_end():
    """At another learning rate too than the one at which the lesson's cell asserts it."""
    learn = run_cell("learn")["learn_to_name"]
    assert learn(0, [1] * 16, rate=1e-2) < 0.4 and learn(0, [1, 3, 9, 27], rate=1e-2) > 0.9
    assert learn(15, [1] * 16, steps=300) > 0.6


# ---- RCTM


def test_rctm_is_as_large_as_seq2seq_and_hands_over_a_quarter_of_the_numbers():
    sizes, parameters = STORED["numbers in the summary"], means("toy_ladder", "parameters")
    assert 4 <= sizes["seq2seq"] / sizes["rctm"] < 4.5, "four times as many"
    assert parameters["rctm"] == pytest.approx(parameters["seq2seq"], rel=0.02)
    assert kernel_widths(7) == [2, 3, 4], "seven words become 6, then 4, then 1"


def test_squeezing_by_convolution_is_not_worse_as_such():
    ladder, narrow = exact("toy_ladder"), exact("state_size")["32"]
    parameters = means("toy_ladder", "parameters")
    assert narrow < ladder["rctm"] < ladder["seq2seq"] < ladder["convs2s"]
    assert means("state_size", "parameters")["32"] < parameters["rctm"]


def test_rctm_guesses_the_pronouns():
    assert means("toy_ladder", "scores", "coreference", "pronouns")["rctm"] == pytest.approx(0.5, abs=0.03)


@pytest.fixture(scope="module")
def twins() -> dict:
    return run_cell("twins", splits=splits, translate=translate)


def test_in_most_pairs_rctm_does_not_notice_the_last_word(twins):
    percent, last, animal = (twins[name] for name in ("percent_identical", "other_last_word", "other_animal"))
    assert len(last) == 200 and len(animal) > 100
    assert all(a.split()[:-1] == b.split()[:-1] and a != b for a, b in last)
    assert 55 < percent(shared("rctm"), last) < 70 and L.asked("twins").right == [2]
    assert percent(shared("rctm"), animal) == 0
    assert percent(shared("seq2seq"), last) == 0 and percent(shared("seq2seq"), animal) < 2


def influence_on_rctm(system: Shipped, texts: list[str]) -> torch.Tensor:
    """The gradient from RCTM's vector back to each of twelve words and EOS; the largest is 1."""
    twelve_words = [[*system.tokenizer.encode(text), EOS] for text in texts if len(text.split()) == 12]
    tokens = torch.tensor(twelve_words).repeat(16, 1)
    embedded = system.model.words.source(tokens).detach().requires_grad_()
    vector = system.model.folding(embedded, torch.full((len(tokens),), 13))
    direction = torch.randn(vector.shape, generator=torch.Generator().manual_seed(5))
    (vector * direction).sum().backward()
    influence = embedded.grad.norm(dim=-1).mean(dim=0)
    return influence / influence.max()


def test_training_has_mended_the_left_end_of_the_fold_and_not_the_right_one(twins):
    widths, length = [], 13
    for width in kernel_widths(13):  # the last kernel is cut to what is left
        widths.append(min(width, length))
        length -= widths[-1] - 1
    untrained = torch.tensor(count_ways(widths)).sqrt()
    untrained = untrained / untrained.max()
    trained = influence_on_rctm(shared("rctm"), [text for text, _ in twins["other_last_word"]])
    assert trained[0] > 3 * untrained[0]
    assert 0.22 < trained[11] < 0.42 and abs(trained[11] - untrained[11]) < 0.15, "about a third"
    assert L.asked("what-the-pairs-show").right == [0, 1]


def test_rctm_exchanges_what_stands_at_the_end():
    goat = shared("rctm")("a goat eats the bread because it is hungry").target.split()
    assert goat[-2:] == ["est", "bon"], "it is good, in place of hungry"
    horses = "three black horses eat the apples in the box because they are hungry"
    translation = set(shared("rctm")(horses).target.split())
    assert {"pain", "table"} <= translation and not {"pommes", "boîte"} & translation


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    words, kernel = torch.tensor([[2.0, 1.0, 0.0, 4.0]]), torch.tensor([[[1.0, 0.0, -1.0]]])
    assert L.asked("one-window").answer == F.conv1d(words, kernel)[0, 1].item()
    assert L.asked("three-of-five").answer == exercises.receptive_fields()([5, 5, 5], [1, 1, 1])[-1]
    enough = next(n for n in itertools.count(1) if exercises.receptive_fields()([5] * n, [1] * n)[-1] >= 100)
    assert L.asked("hops-of-a-hundred").answer == enough


def test_padding_on_both_sides_lets_an_output_see_two_words_ahead():
    words = torch.randn(1, 1, 9, generator=torch.Generator().manual_seed(5)).requires_grad_()
    outputs = F.conv1d(words, torch.ones(1, 1, 5), padding=2)
    [gradient] = torch.autograd.grad(outputs[0, 0, 4], words)
    seen = gradient[0, 0].nonzero().flatten().tolist()
    expected = indices_of_true(outputs.shape != words.shape, max(seen) == 4 + 2, min(seen) < 4 - 4)
    assert L.asked("peeking-by-padding").right == expected
