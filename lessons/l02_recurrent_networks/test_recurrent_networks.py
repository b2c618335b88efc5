"""The claims of lesson 02, against data/results, its own measurements and the shipped RNN."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from course_lib.teaching.exercises import find_exercise
from course_lib.text.special import BOS
from course_lib.translation.shipped import shared
from lessons.l02_recurrent_networks import measurements
from tests.lesson_claims import LessonText, held_out_splits, indices_of_true, means, numbers_of_right, seeds
from tools.perplexity import perplexity

LESSON = LessonText("recurrent_networks")
STORED = LESSON.stored()

read_sequence = find_exercise("read_sequence").reference
product_of_jacobians = find_exercise("product_of_jacobians").reference


# ---- a trained language model


def test_the_rnn_beats_the_window_and_the_200_sentences_are_a_little_easier():
    by_name = means("toy_language_models", "scores", "test", "perplexity")
    assert by_name["rnn_lm"] < by_name["mlp_lm"]
    system, pairs = shared("rnn_lm"), held_out_splits().test
    encoded = [system.tokenizer.encode(pair.tgt_text) for pair in pairs]
    easier, whole = (perplexity(system.model, part).perplexity for part in (encoded[:200], encoded))
    assert 0.95 * whole < easier < whole


@torch.no_grad()
def il_and_elle_after(text: str) -> tuple[float, float]:
    system = shared("rnn_lm")
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(text)]])
    probabilities = system.model(tokens)[0, -1].softmax(dim=-1)
    return tuple(float(probabilities[token]) for token in system.tokenizer.encode("il elle"))


def test_the_rnn_remembers_the_noun_until_a_second_noun_comes():
    for end in ("dort parce qu'", "a souvent dormi hier parce qu'"):
        (il_cat, _), (il_mouse, _) = (il_and_elle_after(f"{noun} {end}") for noun in ("le chat", "la souris"))
        assert il_cat > 0.7 > 0.5 > il_mouse
    cat, mouse = (il_and_elle_after(f"{noun} a bu l' eau parce qu'") for noun in ("le chat", "la souris"))
    assert mouse[1] < 0.5, "though elle is the only right answer"
    assert cat == pytest.approx(mouse, abs=0.05), "the first noun has left hardly a trace"


# ---- a memory, wired and trained


def test_a_wired_memory_holds_for_ever_and_its_gradient_vanishes():
    w, u, b = find_exercise("wire_memory").reference()
    state, gradient = math.tanh(w), 1.0
    for _ in range(200_000):
        state = math.tanh(u * state + b)
        gradient *= u * (1 - state**2)
    assert state == pytest.approx(0.995, abs=0.001) and gradient == 0
    assert u * (1 - state**2) == pytest.approx(0.03, abs=0.002)
    assert LESSON.asked("saturated-memory").right == [1]


@pytest.mark.slow
def test_the_stored_counts_are_measured_again():
    """Training is chaotic: another machine may count one or two networks more or fewer."""
    measured = measurements.measure(long_seeds=(0,))
    assert measured["networks"] == STORED["networks"]
    for group in ("learned by length", "learned at length 200"):
        for name, counts in measured[group].items():
            assert counts == pytest.approx(STORED[group][name][: len(counts)], abs=4), name


def test_side_by_side_is_the_lessons_own_training():
    train_tiny = LESSON.run_cell("tiny training", torch=torch, F=F)["train_tiny"]
    rates = (0.05, 0.1)
    both = measurements.train_side_by_side(4, rates, steps=20, seed=1)
    for accuracies, rate in zip(both, rates, strict=True):
        torch.testing.assert_close(accuracies, train_tiny(4, steps=20, rate=rate, seed=1), atol=0.011, rtol=0)


def test_tiny_networks_learn_short_texts_and_not_long_ones():
    learned, networks = STORED["learned by length"], STORED["networks"]
    assert set(learned["2"]) == {networks}, "all"
    assert min(learned["5"]) > networks / 2, "more than half"
    assert max(learned["10"]) < min(learned["5"]), "fewer"
    assert sum(learned["200"]) == 0 and len(learned["200"]) == 3, "none of sixty"
    assert LESSON.asked("trained-memory").right == [2]


def test_longer_training_and_a_higher_rate_help_some_of_sixty():
    by_change = {name: sum(counts) for name, counts in STORED["learned at length 200"].items()}
    assert by_change["rate × 2"] == 2
    assert by_change["steps × 10"] == 6
    assert by_change["both"] == pytest.approx(20, abs=3), "and still a minority"


def test_each_distance_alone():
    accuracies = seeds("recall_one_distance", "rnn_lm", "right")
    assert len(accuracies) == 3
    learned_by_all = [int(d) for d in accuracies[0] if all(run[d] > 0.99 for run in accuracies)]
    asked = LESSON.asked("recall-distance")
    assert max(learned_by_all) == int(asked.options[asked.right[0]].text.split()[0])
    assert sum(run["10"] > 0.99 for run in accuracies) == 2, "two of three"
    assert max(run[distance] for run in accuracies for distance in ("20", "50", "100")) < 0.15
    with_attention = seeds("recall_one_distance", "transformer_lm", "right")
    assert all(accuracy > 0.99 for run in with_attention for accuracy in run.values())


# ---- gradients


def test_the_gradient_vanishes_where_the_learning_ended():
    at = {d: means("recall", "gradient", "fresh", d)["rnn_lm"] for d in ("1", "10", "20")}
    assert at["10"] < at["1"] / 100 and at["20"] < at["10"] / 100


def test_products_on_paper():
    assert pytest.approx(0.005, abs=0.0005) == 0.9**50 and round(1.1**50) == 117
    factors = [2 * (1 - 0.6**2), 2 * (1 - 0.8**2)]
    assert factors == pytest.approx([1.28, 0.72]) and math.prod(factors) == pytest.approx(0.92, abs=0.005)
    assert [math.tanh(0.1), math.tanh(3.0)] == pytest.approx([0.0997, 0.995], abs=5e-4)


def random_network(scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The matrix and the words of the lesson's figure."""
    generator = torch.Generator().manual_seed(2)
    matrix = torch.randn(32, 32, generator=generator) / 32**0.5
    return scale * matrix, 0.1 * torch.randn(51, 32, generator=generator)


def test_half_of_u_vanishes_twice_u_explodes_and_u_keeps_lengths():
    arrives = []
    for scale in (0.5, 1.0, 2.0):
        matrix, words = random_network(scale)
        states = read_sequence(words, torch.zeros(32), torch.eye(32), matrix, torch.zeros(32))
        arrives.append(product_of_jacobians(states, matrix).norm() / 32**0.5)
    assert arrives[0] < 1e-12 and 0.1 < arrives[1] < 1 and arrives[2] > 1e3
    assert random_network(1.0)[0].norm() / 32**0.5 == pytest.approx(1, abs=0.1)


def test_torchs_initial_weights_are_about_six_tenths_of_u():
    torch.manual_seed(0)
    radii = [torch.linalg.eigvals(torch.nn.RNN(32, 32).weight_hh_l0).abs().max().item() for _ in range(20)]
    assert sum(radii) / len(radii) == pytest.approx(0.6, abs=0.05)


def test_clipping_keeps_the_direction_and_cutting_each_number_does_not():
    matrix, words = random_network(2.0)
    matrix.requires_grad_()
    last = read_sequence(words, torch.zeros(32), torch.eye(32), matrix, torch.zeros(32))[-1]
    (exploded,) = torch.autograd.grad(last.square().sum(), matrix)
    [clipped] = find_exercise("clip_gradients").reference([exploded], 1.0)
    cut = exploded.clamp(-1.0, 1.0)
    cosines = [F.cosine_similarity(part.flatten(), exploded.flatten(), dim=0) for part in (clipped, cut)]
    assert exploded.norm() > 1000 and clipped.norm() == pytest.approx(1) and cut.norm() > 10
    assert cosines[0] == pytest.approx(1) and cosines[1] < 0.9


def test_detaching_changes_no_state_and_cuts_the_gradient():
    def detached_reader(inputs, state, w_in, w_rec, bias):
        states = []
        for word in inputs.unbind(dim=-2):
            state = torch.tanh(word @ w_in.T + state.detach() @ w_rec.T + bias)
            states.append(state)
        return torch.stack(states, dim=-2)

    matrix, words = random_network(1.0)
    results = []
    for reader in (read_sequence, detached_reader):
        inputs = words[:6].clone().requires_grad_()
        last = reader(inputs, torch.zeros(32), torch.eye(32), matrix, torch.zeros(32))[-1]
        results.append((last.detach(), torch.autograd.grad(last.sum(), inputs)[0]))
    (states, gradients), (same_states, cut_gradients) = results
    torch.testing.assert_close(states, same_states)
    assert gradients[0].norm() > 1 and cut_gradients[0].norm() == 0
    torch.testing.assert_close(gradients[-1], cut_gradients[-1])
    find_exercise("test_reader").reference(detached_reader)  # no test of outputs can find it


# ---- references


def test_the_references_agree_with_torch():
    torch.manual_seed(0)
    rnn = torch.nn.RNN(4, 6, batch_first=True)
    words, start = torch.randn(3, 7, 4), torch.randn(3, 6)
    weights = (rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0 + rnn.bias_hh_l0)
    torch.testing.assert_close(read_sequence(words, start, *weights), rnn(words, start[None])[0])
    gradients = [torch.randn(3, 4), torch.randn(5)]
    parameters = [torch.nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    ours = find_exercise("clip_gradients").reference(gradients, 1.0)
    torch.testing.assert_close([parameter.grad for parameter in parameters], list(ours), atol=1e-5, rtol=1e-4)


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    state = 0.0
    for word in (0, 4, 0, 0):
        state = 0.5 * state + word
    assert LESSON.asked("leaky-state").answer == state
    assert LESSON.asked("mean-of-three").answer == pytest.approx((100 + 100 + 100 / 10) / 3)
    factor = product_of_jacobians(torch.tensor([[0.3], [0.0], [0.5]]), torch.tensor([[2.0]]))
    assert LESSON.asked("three-factors").answer == pytest.approx(factor.item())
    assert LESSON.asked("half-per-ten").answer == pytest.approx(0.5**10)
    n_weights = sum(weight.numel() for weight in torch.nn.RNNCell(10, 20, bias=False).parameters()) + 20
    assert numbers_of_right(LESSON.asked("weights-for-length")) == [n_weights]


def test_clipping_shortens_a_long_gradient_and_leaves_a_short_one():
    clip = find_exercise("clip_gradients").reference
    [short], [long] = (
        clip([torch.tensor(numbers)], limit) for numbers, limit in (([0.006, 0.008], 1), ([30.0, 40.0], 5))
    )
    lengths = short.norm().item(), 0.01
    expected = indices_of_true(
        lengths[0] == pytest.approx(lengths[1]),
        lengths[0] == pytest.approx(1),
        lengths[0] < 0.99 * lengths[1],
    )
    assert LESSON.asked("what-clipping-does").right == expected
    by_number = torch.tensor([30.0, 40.0]).clamp(max=5)
    assert numbers_of_right(LESSON.asked("norm-or-number")) == pytest.approx(
        [*long.tolist(), *by_number.tolist()]
    )


def test_a_detached_state_gives_the_same_outputs_and_no_gradient_over_a_distance():
    torch.manual_seed(2)
    cell, words = torch.nn.RNNCell(3, 4), torch.randn(5, 1, 3, requires_grad=True)

    def read(words: torch.Tensor, *, detached: bool) -> torch.Tensor:
        state = torch.zeros(1, 4)
        for word in words:
            state = cell(word, state.detach() if detached else state)
        return state

    outputs, last = read(words, detached=False), read(words, detached=True)
    [gradient] = torch.autograd.grad(last.sum(), words)
    no_distance = not gradient[:-1].any() and bool(gradient[-1].any())
    expected = indices_of_true(not torch.equal(outputs, last), no_distance, not gradient.any())
    assert LESSON.asked("detach-in-the-loop").right == expected
