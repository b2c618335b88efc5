"""Numbers that lesson 03 quotes: half-lives by forget bias, and pronouns predicted by lesson 02's RNN."""

from __future__ import annotations

import torch
from torch import nn

from course_lib.text.special import BOS
from course_lib.translation.shipped import shared
from lessons.l03_lstm_and_gru.exercises import half_life

SENTENCE = "le chat a bu l' eau parce qu'"


def measure() -> dict:
    return {
        "half-life": {str(bias): half_life(bias) for bias in (0, 1, 2, 3, 5)},
        "steps in torch's cell": {"5": steps_in_torch(5.0)},
        "RNN": pronouns_after(SENTENCE),
    }


@torch.no_grad()
def steps_in_torch(forget_bias: float) -> int:
    """For how many steps half of the cell is left in `nn.LSTMCell`, with every other weight 0."""
    lstm = nn.LSTMCell(input_size=1, hidden_size=1)
    for weight in lstm.parameters():
        weight.zero_()
    lstm.bias_ih[1] = forget_bias
    hidden, cell, steps = torch.zeros(1, 1), torch.ones(1, 1), -1
    while cell.item() >= 0.5:
        hidden, cell = lstm(torch.zeros(1, 1), (hidden, cell))
        steps += 1
    return steps


@torch.no_grad()
def pronouns_after(text: str) -> dict[str, float]:
    """The probabilities of both pronouns, by the shipped RNN."""
    system = shared("rnn_lm")
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(text)]])
    probabilities = system.model(tokens)[0, -1].softmax(dim=-1)
    return {word: float(probabilities[system.tokenizer.encode(word)[0]]) for word in ("il", "elle")}
