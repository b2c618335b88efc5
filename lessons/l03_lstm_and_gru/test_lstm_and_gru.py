"""Figures and claims of lesson 03 are those of data/results, and of what the shipped models do."""

from __future__ import annotations

import math

import pytest
import torch

from course_lib.layers.cells import gru_cell, lstm_cell
from course_lib.layers.recurrent import _weights
from course_lib.teaching.exercises.catalogue import exercise_called
from course_lib.text.special import BOS
from course_lib.translation.shipped import shared
from lessons.l03_lstm_and_gru.tasks import recall as recall_task
from tests.lessons.told import Told, exams, means, seeds
from tools.experiments.recall_run import VOCAB, new_model

L = Told("lstm_and_gru")


def test_trained_on_all_distances_the_gates_hold_a_hundred_steps_and_the_rnn_does_not():
    for distance in (1, 10, 50, 100):
        shares = means("recall", "right", str(distance))
        assert min(shares[name] for name in ("lstm_lm", "gru_lm", "transformer_lm")) > 0.995
        assert distance == 1 or 0.18 < shares["rnn_lm"] < 0.22
    L.says("The RNN stays near 20% at any distance but the shortest")
    assert L.right("mixed-distances") == "LSTM, GRU and attention"
    losses = seeds("recall", "rnn_lm", "loss", -1)
    assert sum(abs(loss - math.log(5)) < 0.1 for loss in losses) == 2  # the third had just begun to learn


def test_trained_on_fifty_alone_only_attention_learns():
    shares = means("recall_one_distance", "right", "50")
    assert all(0.08 < shares[name] < 0.12 for name in ("rnn_lm", "lstm_lm", "gru_lm"))
    assert shares["transformer_lm"] > 0.995
    assert min(means("recall_one_distance", "right", "100").values()) < 0.12
    assert L.right("fifty-alone") == "About one time in ten, as by guessing"


def test_how_much_gradient_reaches_back_over_fifty_steps():
    far, near = (means("recall", "gradient", "fresh", distance) for distance in ("50", "1"))
    left = {name: far[name] / near[name] for name in near}
    assert left["rnn_lm"] < 1e-12 and 1e-11 < left["gru_lm"] < 1e-9 and 5e-5 < left["lstm_lm"] < 2e-4
    L.says("the RNN has less than a trillionth left", "the GRU less than a billionth")
    L.says("still loses all but a ten-thousandth")
    assert left["transformer_lm"] > 0.9


def test_most_of_it_comes_back_through_the_hidden_state():
    """An LSTM before training: the gradient over 49 steps, and what is left of it along the cell alone."""
    model = new_model("lstm_lm", seed=0)
    weights = _weights(model.recurrent.layers[0][0])
    generator = torch.Generator().manual_seed(0)
    task = recall_task(generator, batch_size=64, distance=60, vocab_size=VOCAB)
    words = model.words.target(task.tokens).detach().requires_grad_()
    direction = torch.randn(64, 64, generator=generator)

    def left(*, cell_alone: bool) -> float:
        hidden = cell = torch.zeros(64, 64)
        for word in words.unbind(1):
            seen = hidden.detach() if cell_alone else hidden
            hidden, cell = lstm_cell(word, seen, cell, **weights)
        (gradient,) = torch.autograd.grad((hidden * direction).sum(), words)
        length = gradient.norm(dim=-1).mean(dim=0)
        return float(length[-51] / length[-2])

    both, alone = left(cell_alone=False), left(cell_alone=True)
    assert 3e-5 < both < 3e-4 and 1e-7 < alone < 1e-5 and alone < both / 10 and 1e-7 < 0.731**50 < 2e-7
    L.says("most of what arrives comes that way")


def test_english_and_french_share_the_vocabulary():
    assert shared("lstm_lm").model.config.vocab_size == 680
    L.says("scores for 680 words, English and French.")
    sizes = means("toy_language_models", "parameters")
    assert all(118_000 < sizes[name] < 122_000 for name in ("rnn_lm", "lstm_lm", "gru_lm"))


def test_a_cell_counts_six_letters():
    w_x, b = exercise_called("counter_weights").reference(5, 27)
    letters = "the cell counts every e that it reads"
    hidden = cell = torch.zeros(1, 1)
    for letter in letters:
        x = torch.nn.functional.one_hot(torch.tensor([ord(letter) % 32]), 27).float()
        hidden, cell = exercise_called("lstm_cell").reference(x, hidden, cell, w_x, torch.zeros(4, 1), b)
    assert letters.count("e") == 6 and abs(cell.item() - 6) < 0.01
    L.says(f'"{letters}"', "at each e, to 6")


def test_bias_five_is_hit_by_torch():
    cell = torch.nn.LSTMCell(1, 1)
    with torch.no_grad():
        for weight in cell.parameters():
            weight.zero_()
        cell.bias_ih[1] = 5.0
        held, steps = torch.ones(1, 1), -1
        while held.item() >= 0.5:
            _, held = cell(torch.zeros(1, 1), (torch.zeros(1, 1), held))
            steps += 1
    assert steps == math.floor(exercise_called("half_life").reference(5.0)) == 103
    L.says("103 from the formula, 103 in torch's cell")


@pytest.mark.parametrize("cell", [lstm_cell, gru_cell])
def test_the_references_are_the_librarys_cells(cell):
    n_gates, n_states = (4, 2) if cell is lstm_cell else (3, 1)
    generator = torch.Generator().manual_seed(0)
    x, *states = (torch.randn(3, size, generator=generator) for size in (5, *[2] * n_states))
    w_x, w_h = (torch.randn(2 * n_gates, size, generator=generator) for size in (5, 2))
    b_x, b_h = torch.randn(2, 2 * n_gates, generator=generator)
    biases = (b_x + b_h,) if cell is lstm_cell else (b_x, b_h)
    found = exercise_called(cell.__name__).reference(x, *states, w_x, w_h, *biases)
    expected = cell(x, *states, weight_ih=w_x, weight_hh=w_h, bias_ih=b_x, bias_hh=b_h)
    torch.testing.assert_close(found, expected)


@torch.no_grad()
def forget_gates(text: str) -> torch.Tensor:
    model, encode = shared("lstm_lm").model, shared("lstm_lm").tokenizer.encode
    layer = model.recurrent.layers[0][0]
    words = model.words.target(torch.tensor([[BOS, *encode(text)]]))
    outputs, _ = layer(words)
    before = torch.cat([torch.zeros_like(outputs[:, :1]), outputs[:, :-1]], dim=1)[0]
    weights = _weights(layer)
    scores = words[0] @ weights["weight_ih"].T + before @ weights["weight_hh"].T
    return torch.sigmoid((scores + weights["bias_ih"] + weights["bias_hh"]).chunk(4, dim=-1)[1])


def test_half_lives_that_training_chose():
    def lives(texts: list[str]) -> torch.Tensor:
        return math.log(2) / -torch.cat([forget_gates(text) for text in texts]).log().mean(dim=0)

    one = lives(["le chat a bu l' eau parce qu' il avait soif"])
    assert 15 < one.max() < 16 and 3 <= int((one > 9).sum()) <= 8
    assert 5.5 < lives([pair.tgt_text for pair in exams().test[:200]]).max() < 7
    L.says("a handful have half-lives of nine steps and more", "the slowest has a half-life of about six")


def test_a_gru_stays_between_minus_one_and_one():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.zeros(1, 4)
    weights = [9 * torch.randn(shape, generator=generator) for shape in ((12, 3), (12, 4), (12,), (12,))]
    for _ in range(50):
        x = torch.randn(1, 3, generator=generator)
        hidden = exercise_called("gru_cell").reference(x, hidden, *weights)
        assert hidden.abs().max() <= 1
