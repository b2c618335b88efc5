"""The claims of lesson 03, against data/results, its own measurements and the shipped models."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.layers.cells import gru_cell, lstm_cell
from course_lib.layers.recurrent import _weights
from course_lib.teaching.exercises import find_exercise
from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import shared
from lessons.l03_lstm_and_gru import measurements, recall
from tests.lesson_claims import (
    LessonText,
    assert_measured_again,
    held_out_splits,
    indices_of_true,
    means,
    seeds,
)
from tools.experiments.recall_run import VOCAB, new_model

LESSON = LessonText("lstm_and_gru")
STORED = LESSON.stored()
SENTENCE = "le chat a bu l' eau parce qu' il avait soif"


def reference(exercise: str):
    return find_exercise(exercise).reference


# ---- half-lives


def test_the_stored_numbers_are_measured_again():
    assert_measured_again(measurements.measure(), STORED, rel=1e-3)


def test_torchs_cell_holds_as_long_as_the_formula_says():
    assert STORED["steps in torch's cell"]["5"] == math.floor(STORED["half-life"]["5"])
    one_unit_more = STORED["half-life"]["5"] * math.e
    assert one_unit_more == pytest.approx(reference("half_life")(6.0), rel=0.01)
    assert one_unit_more == pytest.approx(LESSON.asked("bias-six").answer, abs=3)


# ---- the references


@pytest.mark.parametrize("cell", [lstm_cell, gru_cell])
def test_the_references_are_the_librarys_cells(cell):
    n_gates, n_states = (4, 2) if cell is lstm_cell else (3, 1)
    generator = torch.Generator().manual_seed(0)
    x, *states = (torch.randn(3, size, generator=generator) for size in (5, *[2] * n_states))
    w_x, w_h = (torch.randn(2 * n_gates, size, generator=generator) for size in (5, 2))
    b_x, b_h = torch.randn(2, 2 * n_gates, generator=generator)
    biases = (b_x + b_h,) if cell is lstm_cell else (b_x, b_h)
    result = reference(cell.__name__)(x, *states, w_x, w_h, *biases)
    expected = cell(x, *states, weight_ih=w_x, weight_hh=w_h, bias_ih=b_x, bias_hh=b_h)
    torch.testing.assert_close(result, expected)


# ---- the gates of a trained LSTM


@cache
@torch.no_grad()
def forget_gates(text: str) -> torch.Tensor:
    """(steps, cells), the first step that of the start token."""
    model, encode = shared("lstm_lm").model, shared("lstm_lm").tokenizer.encode
    layer = model.recurrent.layers[0][0]
    words = model.words.target(torch.tensor([[BOS, *encode(text)]]))
    outputs, _ = layer(words)
    hidden_before = torch.cat([torch.zeros_like(outputs[:, :1]), outputs[:, :-1]], dim=1)[0]
    weights = _weights(layer)
    scores = words[0] @ weights["weight_ih"].T + hidden_before @ weights["weight_hh"].T
    return torch.sigmoid((scores + weights["bias_ih"] + weights["bias_hh"]).chunk(4, dim=-1)[1])


def half_lives(*texts: str) -> torch.Tensor:
    return math.log(2) / -torch.cat([forget_gates(text) for text in texts]).log().mean(dim=0)


def test_training_made_most_half_lives_shorter_and_a_few_longer():
    lives, initial = half_lives(SENTENCE), STORED["half-life"]["1"]
    assert (lives < initial).float().mean() > 0.6, "most became shorter than where they began"
    assert lives.median() < 1, "half of them forget half within one word"
    assert 3 <= int((lives > 9).sum()) <= 8, "a handful of nine steps and more"
    assert lives.max() > len(forget_gates(SENTENCE)), "the slowest covers the sentence"
    over_many = half_lives(*(pair.tgt_text for pair in held_out_splits().test[:200]))
    assert over_many.max() == pytest.approx(6, abs=1)


def test_the_fastest_cells_keep_everything_after_an_article():
    fastest = half_lives(SENTENCE).argsort()[:4]
    gates = forget_gates(SENTENCE)[:, fastest]
    words = ["(start)", *SENTENCE.split()]
    assert int((gates[words.index("le")] > 0.9).sum()) == 3
    assert int((gates[words.index("l'")] > 0.9).sum()) == 2
    others = [i for i, word in enumerate(words) if word not in ("le", "l'")]
    assert (gates[others] < 0.1).float().mean() > 0.5, "and drop it at most other words"


def test_the_lstm_wavers_between_the_pronouns_as_the_rnn_does():
    system = shared("lstm_lm")
    tokens = torch.tensor([[BOS, *system.tokenizer.encode("le chat a bu l' eau parce qu'")]])
    with torch.no_grad():
        probabilities = system.model(tokens)[0, -1].softmax(dim=-1)
    il, elle = (float(probabilities[token]) for token in system.tokenizer.encode("il elle"))
    assert il > elle > 0.4
    assert (il, elle) == pytest.approx((STORED["RNN"]["il"], STORED["RNN"]["elle"]), abs=0.05)


def test_the_language_models_are_of_one_size_and_gates_help():
    sizes = means("toy_language_models", "parameters")
    perplexity = means("toy_language_models", "scores", "test", "perplexity")
    assert all(118_000 < sizes[name] < 122_000 for name in ("rnn_lm", "lstm_lm", "gru_lm"))
    assert perplexity["lstm_lm"] == pytest.approx(perplexity["gru_lm"], abs=0.1)
    assert perplexity["rnn_lm"] > max(perplexity["lstm_lm"], perplexity["gru_lm"]) + 0.3


# ---- recall against distance


def test_trained_on_all_distances_the_gates_hold_a_hundred_steps_and_the_rnn_does_not():
    for distance in (1, 10, 50, 100):
        accuracy = means("recall", "right", str(distance))
        assert min(accuracy[name] for name in ("lstm_lm", "gru_lm", "transformer_lm")) > 0.995
        assert distance == 1 or 0.18 < accuracy["rnn_lm"] < 0.22
    assert LESSON.asked("mixed-distances").right == [1], "LSTM, GRU and attention"


def test_two_of_three_rnns_learned_one_bit():
    """Knowing the right half of the ten symbols leaves five to guess among. One seed had just begun to."""
    losses = seeds("recall", "rnn_lm", "loss", -1)
    assert sum(abs(loss - math.log(5)) < 0.1 for loss in losses) == 2


def test_trained_on_fifty_alone_only_attention_learns_however_long():
    accuracy = means("recall_one_distance", "right", "50")
    assert all(0.08 < accuracy[name] < 0.12 for name in ("rnn_lm", "lstm_lm", "gru_lm"))
    assert accuracy["transformer_lm"] > 0.995
    assert LESSON.asked("fifty-alone").right == [2], "as by guessing"
    longer = [*seeds("recall_alone_longer", "lstm_lm"), *seeds("recall_alone_longer", "gru_lm")]
    assert all(run["n_steps"] == 4 * 1000 and 0.08 < run["right"]["50"] < 0.12 for run in longer)
    assert {run["n_steps"] for run in seeds("recall_one_distance", "lstm_lm")} == {1000}


def test_a_larger_forget_bias_is_enough_with_less_training():
    accuracy = means("recall_forget_bias", "right", "50")
    assert accuracy["bias 1"] < 0.12 and min(accuracy["bias 3"], accuracy["bias 5"]) > 0.995
    runs = [run for bias in (1, 3, 5) for run in seeds("recall_forget_bias", f"bias {bias}")]
    assert len(runs) == 9 and max(run["n_steps"] for run in runs) < 1000


def test_how_much_gradient_reaches_back_over_fifty_steps():
    far, near = (means("recall", "gradient", "fresh", distance) for distance in ("50", "1"))
    left = {name: far[name] / near[name] for name in near}
    assert left["rnn_lm"] < 1e-12, "less than a trillionth"
    assert left["rnn_lm"] < left["gru_lm"] < 1e-9, "less than a billionth"
    assert 5e-5 < left["lstm_lm"] < 2e-4, "all but a ten-thousandth is lost"
    assert left["transformer_lm"] > 0.9, "attention loses nothing"


def test_most_of_it_comes_back_through_the_hidden_state():
    """An LSTM before training: the gradient over 49 steps, and that along the cell alone."""
    model = new_model("lstm_lm", seed=0)
    weights = _weights(model.recurrent.layers[0][0])
    generator = torch.Generator().manual_seed(0)
    task = recall(generator, batch_size=64, distance=60, vocab_size=VOCAB)
    words = model.words.target(task.tokens).detach().requires_grad_()
    direction = torch.randn(64, 64, generator=generator)

    def gradient_left(*, cell_alone: bool) -> float:
        hidden = cell = torch.zeros(64, 64)
        for word in words.unbind(1):
            hidden, cell = lstm_cell(word, hidden.detach() if cell_alone else hidden, cell, **weights)
        (gradient,) = torch.autograd.grad((hidden * direction).sum(), words)
        norms = gradient.norm(dim=-1).mean(dim=0)
        return float(norms[-51] / norms[-2])

    both, alone = gradient_left(cell_alone=False), gradient_left(cell_alone=True)
    assert 3e-5 < both < 3e-4 and alone < both / 10
    assert 0.73**50 < alone < 1e-5, "some gates are further open than the bias says"
    assert 1e-7 < 0.73**50 < 2e-7, "a ten-millionth"


def test_the_designed_forget_bias_learns_lag_40_and_the_usual_one_does_not():
    names = {"torch": torch, "nn": nn, "F": F, "recall": recall, "yours": reference}
    learn = LESSON.run_cell("lag 40", **names)["learn_lag_40"]
    usual, designed = learn(1.0), learn(reference("design_memory")(40)["forget_bias"])
    chance = math.log(10)
    assert usual[-20:].mean() == pytest.approx(chance, abs=0.1), "at chance"
    assert designed[55:60].mean() < chance - 0.05, "begins to fall within 60 steps"
    assert designed[-20:].mean() < 1.5
    assert LESSON.asked("your-bias").right == [1]


# ---- counting, and wrong GRU steps


def test_an_lstm_cell_counts():
    w_x, b = reference("counter_weights")(5, 27)
    letters = "the cell counts every e that it reads"  # of the lesson's figure
    hidden = cell = torch.zeros(1, 1)
    for letter in letters:
        x = F.one_hot(torch.tensor([ord(letter) % 32]), 27).float()
        hidden, cell = reference("lstm_cell")(x, hidden, cell, w_x, torch.zeros(4, 1), b)
    assert cell.item() == pytest.approx(letters.count("e"), abs=0.01) and letters.count("e") == 6


def test_a_gru_stays_between_minus_one_and_one():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.zeros(1, 4)
    weights = [9 * torch.randn(shape, generator=generator) for shape in ((12, 3), (12, 4), (12,), (12,))]
    for _ in range(50):
        x = torch.randn(1, 3, generator=generator)
        hidden = reference("gru_cell")(x, hidden, *weights)
        assert hidden.abs().max() <= 1


@torch.no_grad()
def perplexity_with(step) -> float:
    """Of the shipped GRU language model with another step, on 100 test sentences."""
    system = shared("gru_lm")
    model = system.model
    weights = [weight.detach() for weight in model.recurrent.layers[0][0].parameters()]
    losses = []
    for pair in held_out_splits().test[:100]:
        ids = system.tokenizer.encode(pair.tgt_text)
        hidden, states = torch.zeros(1, 120), []
        for word in model.words.target(torch.tensor([BOS, *ids])):
            hidden = step(word[None], hidden, *weights)
            states.append(hidden)
        logits = model.words.logits(model.to_embed(torch.cat(states)))
        losses.append(F.cross_entropy(logits, torch.tensor([*ids, EOS]), reduction="none"))
    return math.exp(torch.cat(losses).mean())


def test_a_wrong_gru_step_runs_and_is_worse_than_the_plain_rnn():
    steps = LESSON.run_cell("wrong GRU steps", torch=torch)
    right, reset_first, swapped = map(
        perplexity_with, (reference("gru_cell"), steps["reset_first"], steps["swapped_blend"])
    )
    plain_rnn = means("toy_language_models", "scores", "test", "perplexity")["rnn_lm"]
    assert right < plain_rnn < reset_first < 2 * plain_rnn, "like a model that was trained badly"
    assert swapped > 100


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
    expected = indices_of_true(
        too_small,
        far / near < 1e-3,
        mixed["lstm_lm"] > 8 * alone["lstm_lm"],
        with_bias > 8 * alone["lstm_lm"],
    )
    assert LESSON.asked("why-alone-fails").right == expected
    assert LESSON.asked("can-but-does-not").right == indices_of_true(False, far / near < 1e-3, False)


def test_a_grus_state_stays_between_minus_one_and_one():
    generator = torch.Generator().manual_seed(5)
    weights = {name: 10 * torch.randn(15, 5, generator=generator) for name in ("weight_ih", "weight_hh")}
    biases = {name: 10 * torch.randn(15, generator=generator) for name in ("bias_ih", "bias_hh")}
    hidden, largest = torch.zeros(20, 5), 0.0
    for _ in range(30):
        hidden = gru_cell(torch.randn(20, 5, generator=generator), hidden, **weights, **biases)
        largest = max(largest, hidden.abs().max().item())
    can_count = largest > 1
    assert LESSON.asked("gru-and-counting").right == indices_of_true(
        can_count, can_count, not can_count, False
    )


def test_blocks_in_another_order_run_and_give_other_outputs():
    torch.manual_seed(6)
    layer, other, x = nn.LSTM(3, 4), nn.LSTM(3, 4), torch.randn(6, 3)
    for name, weight in layer.named_parameters():
        block_i, block_f, block_c, block_o = weight.detach().chunk(4)
        getattr(other, name).data = torch.cat([block_i, block_c, block_f, block_o])
    one, two = layer(x)[0], other(x)[0]
    difference = (one - two).abs().max()
    expected = indices_of_true(one.shape != two.shape, difference > 0.05, difference < 0.01, False)
    assert LESSON.asked("silent-order").right == expected


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
