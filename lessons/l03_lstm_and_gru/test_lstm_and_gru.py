"""The claims of lesson 03, against data/results, its own measurements and the shipped models."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.formatting import fixed
from course_lib.layers.cells import lstm_cell
from course_lib.teaching.exercises import find_exercise
from course_lib.translation.shipped import shared
from lessons.l03_lstm_and_gru import measurements, recall, trained_cell, unrolled_cell
from lessons.l03_lstm_and_gru.gender_cell import sentences
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    indices_of_true,
    means,
    seeds,
)

LESSON = LessonText("lstm_and_gru")
STORED = LESSON.stored()


def reference(exercise: str):
    return find_exercise(exercise).reference


# ---- half-lives


@pytest.mark.nightly
def test_the_stored_numbers_are_measured_again():
    parts = {"gender cell": {"abs": 1e-3}}
    assert_measured_again(measurements.measure(), STORED, parts=parts, rel=1e-3)


def test_torchs_cell_holds_as_long_as_the_formula_says():
    assert STORED["steps in torch's cell"]["5"] == math.floor(STORED["half-life"]["5"])
    one_unit_more = STORED["half-life"]["5"] * math.e
    assert one_unit_more == pytest.approx(reference("half_life")(6.0), rel=0.01)
    assert one_unit_more == pytest.approx(LESSON.asked("bias-six").answer, abs=3)


# ---- the references


def test_the_reference_is_the_librarys_cell_and_torchs():
    generator = torch.Generator().manual_seed(0)
    x, hidden, cell = (torch.randn(3, size, generator=generator) for size in (5, 2, 2))
    w_x, w_h = (torch.randn(8, size, generator=generator) for size in (5, 2))
    b_x, b_h = torch.randn(2, 8, generator=generator)
    result = reference("lstm_cell")(x, hidden, cell, w_x, w_h, b_x + b_h)
    of_library = lstm_cell(x, hidden, cell, weight_ih=w_x, weight_hh=w_h, bias_ih=b_x, bias_hh=b_h)
    torch.testing.assert_close(result, of_library)
    torch.testing.assert_close(result, torch.lstm_cell(x, (hidden, cell), w_x, w_h, b_x, b_h))


@pytest.mark.parametrize("steps", [1.25, 2.0, 40.0, 80.0, 1000.0])
def test_the_two_bias_exercises_are_inverse(steps):
    assert reference("half_life")(reference("bias_for")(steps)) == pytest.approx(steps)


# ---- the language models


def test_only_the_lstm_tells_the_mouse_from_the_cat():
    """Both nouns of the mouse's sentence are feminine; in the cat's sentence either pronoun may follow."""
    elle = STORED["elle"]
    assert elle["lstm_lm"]["souris"] - elle["lstm_lm"]["chat"] > 0.4
    assert all(abs(elle[name]["souris"] - elle[name]["chat"]) < 0.05 for name in ("rnn_lm", "gru_lm"))
    right = elle["lstm_lm"]["souris"]
    assert LESSON.asked("mouse-again").right == indices_of_true(right < 0.5, 0.5 < right < 0.8, right > 0.8)


def test_one_cell_of_104_decides_between_il_and_elle_and_not_only_for_the_nouns_that_chose_it():
    found = STORED["gender cell"]
    others, best = found["other nouns"], found["best cell"]
    assert len(found["by cell"]) == 104 and len(found["pairs"]) == len(others["pairs"]) == 10
    assert best == others["best cell"] == max(range(104), key=lambda cell: found["by cell"][cell])
    assert min(*found["pairs"].values(), *others["pairs"].values()) > 0.4
    assert others["effect"] > 0.95 * others["whole difference"] and others["next"] < 0.02
    assert others["all but the best"] < 0.05 * others["whole difference"] and others["same gender"] < 0.03
    milk = found["after a masculine object"]
    assert milk["effect"] > 0.9 * milk["whole difference"]


def test_after_the_verb_the_gender_is_in_the_cell_state_and_not_in_the_hidden_state():
    after = STORED["gender cell"]["swapped after"]
    words = list(after)[2:-1]  # at the last word, exchanging the hidden state exchanges the prediction
    assert all(after[word]["best cell"] > 0.43 and abs(after[word]["hidden state"]) < 0.02 for word in words)
    assert after["the subject"]["best cell"] < 0.2 < 0.4 < after["a"]["best cell"]


def test_every_lstm_uses_the_subject_more_than_every_rnn_and_the_grus_vary():
    rnn, lstm, gru = (seeds("pronoun_probe", name, "pronouns") for name in measurements.MODELS)
    assert max(run["probability"]["high"] for run in rnn) < min(run["probability"]["low"] for run in lstm)
    moved = [[run["moved by the subject"] for run in runs] for runs in (rnn, lstm, gru)]
    assert max(moved[0]) < 0.02 < 0.1 < min(moved[1]), "the RNNs' predictions hardly depend on it"
    assert min(moved[2]) < max(moved[0]) and max(moved[2]) > min(moved[1]), "the GRUs vary"
    shipped = gru[0]["probability"]["mean"]
    assert shipped == min(run["probability"]["mean"] for run in gru), "the one in the figure is the worst"


def test_the_language_models_are_of_one_size_and_gates_help_with_every_seed():
    sizes = means("toy_language_models", "parameters")
    assert all(118_000 < sizes[name] < 122_000 for name in measurements.MODELS)
    rnn, lstm, gru = (
        seeds("toy_language_models", name, "scores", "test", "perplexity") for name in measurements.MODELS
    )
    assert min(rnn) > max(*lstm, *gru) + 0.3


# ---- recall over distance


def test_trained_on_all_distances_the_gates_hold_a_hundred_steps_and_the_rnn_does_not():
    for distance in (1, 10, 50, 100):
        accuracy = means("recall", "right", str(distance))
        assert min(accuracy[name] for name in ("lstm_lm", "gru_lm")) > 0.995
        assert distance == 1 or 0.18 < accuracy["rnn_lm"] < 0.22
    assert LESSON.asked("mixed-distances").right == [2], "the LSTM and the GRU"


def test_trained_on_fifty_alone_none_learns_however_long():
    accuracy = [
        right for name in measurements.MODELS for right in seeds("recall_one_distance", name, "right", "50")
    ]
    assert len(accuracy) == 9 and all(0.07 < right < 0.13 for right in accuracy)
    assert LESSON.asked("fifty-alone").right == [2], "like guessing"
    longer = [*seeds("recall_alone_longer", "lstm_lm"), *seeds("recall_alone_longer", "gru_lm")]
    assert all(run["n_steps"] == 4 * 1000 and 0.08 < run["right"]["50"] < 0.12 for run in longer)
    assert {run["n_steps"] for run in seeds("recall_one_distance", "lstm_lm")} == {1000}


def test_a_larger_forget_bias_is_enough_with_less_training():
    accuracy = means("recall_forget_bias", "right", "50")
    assert min(seeds("recall_forget_bias", "bias 5", "right", "50")) > 0.995, "as with a bias of 3"
    assert accuracy["bias 1"] < 0.12 and min(accuracy["bias 3"], accuracy["bias 5"]) > 0.995
    runs = [run for bias in (1, 3, 5) for run in seeds("recall_forget_bias", f"bias {bias}")]
    assert len(runs) == 9 and max(run["n_steps"] for run in runs) < 1000


def test_the_size_of_the_gradient_alone_does_not_decide():
    """A GRU learned distance 20 from a smaller gradient than that of an LSTM which failed at 50."""

    def pairs(name: str, distance: str) -> list[tuple[float, float]]:
        """The gradient before training and the accuracy after it, by seed."""
        gradients = seeds("recall_one_distance", name, "gradient", "fresh", distance)
        return list(zip(gradients, seeds("recall_one_distance", name, "right", distance), strict=True))

    (small, learned), (large, failed) = min(pairs("gru_lm", "20")), max(pairs("lstm_lm", "50"))
    assert small < large and learned > 0.99 and failed < 0.12


def test_a_larger_forget_bias_helps_signal_and_gradient(capsys):
    names = {"torch": torch, "nn": nn, "recall": recall, "fixed": fixed}
    LESSON.run_cell("directions", **names, new_lstm=LESSON.run_cell("new LSTM", **names)["new_lstm"])
    lines = capsys.readouterr().out.splitlines()
    printed = [[float(number) for number in re.findall(r"\d\.\d{4}", line)] for line in lines]
    usual, larger, largest = printed
    for direction in (0, 1):
        assert usual[direction] < 0.001 < 0.1 < larger[direction] < largest[direction]


def test_lag_40_is_learned_with_the_designed_bias_or_a_curriculum():
    """One of the lesson's three seeds."""
    names = {"torch": torch, "nn": nn, "F": F, "recall": recall}
    new_lstm = LESSON.run_cell("new LSTM", **names)["new_lstm"]
    learn = LESSON.run_cell("lag 40", **names, new_lstm=new_lstm)["learn_lag_40"]
    alone = [40] * 300
    usual, usual_accuracy = learn(1.0, 1, alone)
    _, accuracy = learn(reference("bias_for")(80), 1, alone)
    _, with_curriculum = learn(1.0, 1, [min(40, 1 + step // 5) for step in range(300)])
    assert usual[-20:].mean() == pytest.approx(math.log(10), abs=0.1) and usual_accuracy < 0.2
    assert accuracy > 0.8 and with_curriculum > 0.8
    assert LESSON.asked("your-bias").right == [1]


# ---- the pictures


@torch.no_grad()
def test_the_pictures_show_what_torchs_lstm_computes_and_the_recorded_swap():
    model, (best, (he, she)) = shared("lstm_lm").model, trained_cell.numbers()
    hidden, (_, cell) = model.recurrent.layers[0][0](model.words.target(sentences([trained_cell.PAIR])))
    for row, run in enumerate((he, she)):
        shown = torch.tensor([step.hidden for step in run.steps])
        torch.testing.assert_close(shown, hidden[row, :, best], atol=1e-4, rtol=1e-4)
        assert run.steps[-1].cell == pytest.approx(cell[0, row, best].item(), abs=1e-4)
        assert run.next["elle"] == pytest.approx(STORED["elle"]["lstm_lm"][trained_cell.PAIR[row]], abs=1e-4)
    moved = (he.swapped - he.next["elle"] - she.swapped + she.next["elle"]) / 2
    assert moved == pytest.approx(STORED["gender cell"]["pairs"]["chat, souris"], abs=1e-3)
    assert he.steps[2].forget < 0.5 < 0.9 < she.steps[2].forget and best == STORED["gender cell"]["best cell"]
    assert she.steps[2].written < -0.9 and abs(he.steps[2].written) < 0.05, "the writes differ, too"
    swapped = STORED["gender cell"]["swapped after"]
    assert swapped["qu'"]["best cell"] > 0.9 * swapped["qu'"]["cell state"], "it holds the gender there"
    assert swapped["the subject"]["best cell"] < 0.5 * swapped["the subject"]["cell state"]
    assert 80 <= len(unrolled_cell.draw().alt) <= 350


# ---- answers of the quiz


def test_the_numbers_of_the_quiz():
    assert LESSON.asked("one-lstm-step").answer == pytest.approx(0.9 * 2 + 0.5 * -1)
    assert LESSON.asked("eighth-left").answer == 0.5**3
    of_rnn, of_lstm = (
        sum(weight.numel() for weight in layer(7, 5).parameters()) for layer in (nn.RNN, nn.LSTM)
    )
    assert LESSON.asked("four-blocks").answer == 10_000 * of_lstm / of_rnn


def test_an_open_forget_gate_holds_the_cell_and_not_the_hidden_state():
    weights = {
        name: torch.randn(4, 1, generator=torch.Generator().manual_seed(3))
        for name in ("weight_ih", "weight_hh")
    }
    gates = torch.tensor([-200.0, 200.0, 0.0, 0.0])  # input, forget, candidate, output
    hidden, cell = torch.zeros(1, 1), torch.ones(1, 1)
    states = []
    for x in torch.randn(30, 1, 1, generator=torch.Generator().manual_seed(4)):
        hidden, cell = lstm_cell(x, hidden, cell, **weights, bias_ih=gates, bias_hh=torch.zeros(4))
        states.append((hidden.item(), cell.item()))
    hidden_held, cell_held = (len(set(values)) == 1 for values in zip(*states, strict=True))
    expected = indices_of_true(
        cell_held and hidden_held,
        cell_held and not hidden_held,
        hidden_held and not cell_held,
        not (cell_held or hidden_held),
    )
    assert LESSON.asked("held-thirty-steps").right == expected


def test_why_the_lstm_fails_on_fifty_alone():
    """It is not too small, and all that helps has been recorded."""
    alone, mixed = means("recall_one_distance", "right", "50"), means("recall", "right", "50")
    far, near = (means("recall", "gradient", "fresh", distance)["lstm_lm"] for distance in ("50", "1"))
    with_bias = means("recall_forget_bias", "right", "50")["bias 3"]
    too_small = mixed["lstm_lm"] < 0.5 and with_bias < 0.5
    little_signal = 0.7311**50 < 1e-6
    expected = indices_of_true(too_small, little_signal, far / near < 1e-3, False)
    assert LESSON.asked("why-alone-fails").right == expected
    longer = means("recall_alone_longer", "right", "50")["lstm_lm"]
    assert LESSON.asked("enough-for-fifty").right == indices_of_true(
        longer > 0.5, with_bias > 8 * alone["lstm_lm"], too_small
    )


def test_a_gru_blends_the_old_state_with_the_candidate():
    """A large candidate bias makes the candidate −1; the update gate is 0.9."""
    gru = nn.GRUCell(1, 1)
    with torch.no_grad():
        for weight in gru.parameters():
            weight.zero_()
        gru.bias_ih[1], gru.bias_ih[2] = math.log(9), -100.0
        assert gru(torch.zeros(1, 1), torch.ones(1, 1)).item() == pytest.approx(
            LESSON.asked("gru-blend").answer
        )


def test_along_the_cell_the_gradient_shrinks_by_the_forget_gates():
    """Without a recurrent matrix the cell is the only way back."""
    generator = torch.Generator().manual_seed(7)
    weight_ih = torch.randn(4, 3, generator=generator)
    first = torch.ones(1, 1, requires_grad=True)
    cell, gates = first, 1.0
    for x in torch.randn(50, 1, 3, generator=generator):
        _, cell = lstm_cell(
            x,
            torch.zeros(1, 1),
            cell,
            weight_ih=weight_ih,
            weight_hh=torch.randn(4, 1, generator=generator),
            bias_ih=torch.full((4,), 3.0),
            bias_hh=torch.zeros(4),
        )
        gates *= torch.sigmoid(x @ weight_ih[1] + 3).item()
    [gradient] = torch.autograd.grad(cell.sum(), first)
    by_gates = gradient.item() == pytest.approx(gates, rel=1e-3)
    assert LESSON.asked("what-shrinks-it").right == indices_of_true(False, by_gates, gradient.item() == 1)
