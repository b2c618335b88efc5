"""What one number of the shipped LSTM's cell state does at each word of two sentences: for the pictures."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import torch

from course_lib.formatting import minus
from course_lib.results import read_results
from course_lib.text.special import BOS
from course_lib.translation.shipped import shared
from lessons.l03_lstm_and_gru.gender_cell import elle_after_swap, sentences

PAIR = ("chat", "souris")  # he and she, as in the sentences of `gender_cell`


class Step(NamedTuple):
    """What happens to the cell at a word."""

    word: str
    before: float
    input: float
    forget: float
    candidate: float
    output: float

    @property
    def written(self) -> float:
        return self.input * self.candidate

    @property
    def cell(self) -> float:
        return self.forget * self.before + self.written

    @property
    def hidden(self) -> float:
        return self.output * math.tanh(self.cell)


class Run(NamedTuple):
    steps: list[Step]
    next: dict[str, float]  # the probabilities of both pronouns
    swapped: float  # that of elle, if the last cell 101 were the other sentence's


@cache
def numbers() -> tuple[int, list[Run]]:
    """The cell that decides between *il* and *elle*, and what it does in the two sentences."""
    lstm, best = shared("lstm_lm"), read_results("lesson_03")["gender cell"]["best cell"]
    model, layer = lstm.model.eval(), lstm.model.recurrent.layers[0][0]
    tokens = sentences([PAIR])
    swap = torch.eye(layer.hidden_size, dtype=torch.bool)[[best]]
    with torch.no_grad():
        swapped = elle_after_swap(tokens, swap)[0].tolist()
        words = model.words.target(tokens)
        hiddens, _ = layer(words)
        probabilities = model(tokens)[:, -1].softmax(dim=-1)
        former = torch.cat([torch.zeros_like(hiddens[:, :1]), hiddens[:, :-1]], dim=1)
        sums = words @ layer.weight_ih_l0.T + former @ layer.weight_hh_l0.T
        sums += layer.bias_ih_l0 + layer.bias_hh_l0
        of_cell = sums.unflatten(-1, (4, -1))[..., best].tolist()  # input, forget, candidate, output
    pronouns = {name: lstm.tokenizer.encode(name)[0] for name in ("il", "elle")}
    runs = []
    for row, steps_of, after, elle in zip(tokens.tolist(), of_cell, probabilities, swapped, strict=True):
        steps, cell = [], 0.0
        for token, (i, f, g, o) in zip(row, steps_of, strict=True):
            name = "<s>" if token == BOS else lstm.tokenizer.decode([token])
            steps.append(Step(name, cell, _sigmoid(i), _sigmoid(f), math.tanh(g), _sigmoid(o)))
            cell = steps[-1].cell
        next_word = {name: after[token].item() for name, token in pronouns.items()}
        runs.append(Run(steps, next_word, elle))
    return best, runs


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def signed(value: float, digits: int = 2) -> str:
    return minus(f"{value:z.{digits}f}")
