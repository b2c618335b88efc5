"""The claims of lesson 05, checked against its own cells and recomputed numbers."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn import functional as F

from lessons.l05_distance_between_words import key_picture, landscape
from lessons.l05_distance_between_words.measurements import SIXTEEN_LAYERS, count_paths, measure
from lessons.l05_distance_between_words.random_networks import random_lstm, random_rnn, random_stack
from tests.lesson_claims import LessonText, assert_measured_again, indices_of_true, numbers_of_right

L = LessonText("distance_between_words")
SEEDS = range(3)  # those of the lesson


@pytest.mark.nightly
def test_the_stored_measurements_can_be_reproduced():
    assert_measured_again(measure(), L.stored())


# ---- paths and influence


def test_the_middle_word_has_most_paths_and_the_ends_have_one():
    paths = count_paths(SIXTEEN_LAYERS)
    assert len(paths) == 33 and sum(paths) == 3**16
    assert paths[0] == paths[-1] == 1 and max(paths) == paths[16]
    assert count_paths([3, 3]) == [1, 2, 3, 2, 1]
    assert L.asked("ways-of-three-layers").answer == max(count_paths([3, 3, 3]))


@pytest.fixture(scope="module")
def influence():
    return L.run_cell("influence", torch=torch)["influence"]


def relative(row: torch.Tensor) -> torch.Tensor:
    return row / row.max()


def test_the_influence_follows_the_root_of_the_number_of_paths(influence):
    """For all 33 words and for seeds that the lesson doesn't use, so the explanation could have failed."""
    predicted = relative(torch.tensor(count_paths(SIXTEEN_LAYERS)).sqrt())
    measured = [relative(influence(random_stack([1] * 16, seed))) for seed in range(9)]
    for row in measured:
        assert ((row / predicted).log2().abs() < 1.5).all()
        assert 14 <= int(row.argmax()) <= 18, "the middle"
    assert torch.stack(measured).mean(dim=0) == pytest.approx(predicted, rel=0.25)
    assert L.asked("seen-or-heard-later").right == [2]


def test_outside_the_receptive_field_the_influence_is_zero(influence):
    assert (influence(random_stack([1] * 8, 0)) > 0).tolist() == [False] * 16 + [True] * 17


def test_the_pictures_count_hops_as_gradients_do(influence):
    """The fewest layers with which an output depends on the word: cat for it, then the first for the last."""
    distance = key_picture.END - key_picture.START
    for name, dilations in (("windows", [1] * 9), ("dilated", [1, 3, 9])):
        reaches = [
            influence(random_stack(dilations[:n], 0), distance + 1)[0] > 0
            for n in range(1, 1 + len(dilations))
        ]
        assert len(key_picture.numbers()[name]) == 1 + reaches.index(True)
    for name, dilations in (("16 layers", [1] * 16), ("4 dilated layers", [1, 3, 9, 27])):
        assert influence(random_stack(dilations, 0))[0] > 0 == influence(random_stack(dilations[:-1], 0))[0]
        assert landscape.HOPS[name] == len(dilations)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_the_dilated_stack_all_words_have_similar_influence(influence, seed):
    assert relative(influence(random_stack([1, 3, 9, 27], seed))).min() > 0.6
    assert L.asked("who-is-heard").right == [1]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_rnn_loses_the_first_word_and_an_lstm_with_open_gates_keeps_it(influence, seed):
    rnn, lstm = relative(influence(random_rnn(seed))), relative(influence(random_lstm(seed, 4.0)))
    assert int(rnn.argmax()) == 32 and rnn[0] < 1e-6
    assert lstm.min() > 0.35, "a good part"
    assert relative(influence(random_lstm(seed, 0.0)))[0] < 1e-6, "it is the gates that keep it"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gain", [0.5, 1.0])
def test_an_rnn_with_larger_initial_weights_loses_the_first_word_too(influence, seed, gain):
    """So the RNN's curve isn't due to torch's rather small initial weights."""
    generator = torch.Generator().manual_seed(seed)
    w_in, w_rec = (gain / 32) ** 0.5 * torch.randn(2, 32, 32, generator=generator)

    def rnn(words):
        state, states = torch.zeros(len(words), 32), []
        for word in words.unbind(dim=1):
            state = torch.tanh(word @ w_in.T + state @ w_rec.T)
            states.append(state)
        return torch.stack(states, dim=1)

    assert relative(influence(rnn))[0] < 1e-6


def test_seeds_0_and_1_have_the_smallest_and_the_largest_ratio(influence):
    """The summary quotes both."""
    rows = [influence(random_stack([1] * 16, seed)) for seed in SEEDS]
    ratios = [(row.max() / row[0]).item() for row in rows]
    assert min(ratios) == ratios[0] and max(ratios) == ratios[1]


# ---- answers of the quiz


def receptive_field(widths: list[int], dilations: list[int]) -> int:
    return 1 + sum((width - 1) * dilation for width, dilation in zip(widths, dilations, strict=True))


def test_the_numbers_of_the_quiz():
    assert L.asked("three-of-five").answer == receptive_field([5] * 3, [1] * 3)
    enough = next(n for n in itertools.count(1) if receptive_field([5] * n, [1] * n) >= 100)
    assert L.asked("hops-of-a-hundred").answer == enough
    layers = next(n for n in itertools.count(1) if receptive_field([3] * n, [1] * n) >= 50)
    assert numbers_of_right(L.asked("fifty-words-later")) == [49, layers]


def depends_on(outputs: torch.Tensor, position: int, words: torch.Tensor) -> list[int]:
    """The positions of the words that one output depends on."""
    [gradient] = torch.autograd.grad(outputs[0, 0, position], words)
    return gradient[0, 0].nonzero().flatten().tolist()


def test_the_window_with_dilation_4():
    words = torch.ones(1, 1, 21, requires_grad=True)
    outputs = F.conv1d(F.pad(words, (8, 0)), torch.ones(1, 1, 3), dilation=4)
    assert numbers_of_right(L.asked("dilated-window-later")) == depends_on(outputs, 20, words)


def test_padding_on_both_sides_lets_an_output_depend_on_the_next_two_words():
    words = torch.ones(1, 1, 9, requires_grad=True)
    outputs = F.conv1d(words, torch.ones(1, 1, 5), padding=2)
    seen = depends_on(outputs, 4, words)
    expected = indices_of_true(outputs.shape != words.shape, max(seen) == 4 + 2, min(seen) < 4 - 4)
    assert L.asked("peeking-by-padding").right == expected
