"""Numbers that lesson 03 quotes: half-lives, how the language models continue, and the gender cell."""

from __future__ import annotations

import torch
from torch import nn

from course_lib.results import with_digits
from course_lib.text.special import BOS
from course_lib.translation.shipped import shared
from lessons.l03_lstm_and_gru.exercises import half_life
from lessons.l03_lstm_and_gru.gender_cell import measure_gender_cell

MODELS = ("rnn_lm", "lstm_lm", "gru_lm")
NOUNS = {"chat": "le chat", "souris": "la souris"}


def measure() -> dict:
    return {
        "half-life": {str(bias): half_life(bias) for bias in (0, 1, 2, 3, 5)},
        "steps in torch's cell": {"5": steps_in_torch(5.0)},
        "elle": {
            name: {noun: elle_after(f"{words} a bu l' eau parce qu'", name) for noun, words in NOUNS.items()}
            for name in MODELS
        },
        "gender cell": with_digits(measure_gender_cell()),
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
def elle_after(text: str, name: str) -> float:
    """The probability of *elle* after this text, in a shipped language model."""
    system = shared(name)
    tokens = torch.tensor([[BOS, *system.tokenizer.encode(text)]])
    [elle] = system.tokenizer.encode("elle")
    return float(system.model(tokens)[0, -1].softmax(dim=-1)[elle])
