"""A scripted translator follows its script only if it is called correctly."""

from __future__ import annotations

import pytest
import torch

from course_lib.text.special import BOS, EOS
from lessons.l04_encoder_decoder.scripted import LOST, Scripted


@pytest.mark.parametrize(
    ("model", "source", "inputs", "outputs"),
    [
        (Scripted([7, 8]), [5, EOS], [BOS, 7, 8], [7, 8, EOS]),
        (Scripted([7, 8], endless=True), [5, EOS], [BOS, 7, 8, 7], [7, 8, 7, 8]),
        (
            Scripted([7, 8, 9]),
            [5, EOS],
            [BOS, 6, 8],
            [7, LOST, LOST],
        ),  # after a word that it did not generate
        (Scripted([7]), [5, EOS], [BOS, BOS], [7, LOST]),
        (Scripted([7]), [5, 6], [BOS], [LOST]),  # no EOS
        (Scripted([7]), [EOS, 5, EOS], [BOS], [LOST]),
        (Scripted([7]), [BOS, 5, EOS], [BOS], [LOST]),
        (Scripted([500, 7]), [700, EOS], [BOS, 500], [500, 7]),  # any token
    ],
    ids=str,
)
def test_a_scripted_model_follows_its_script_only_if_it_is_called_correctly(model, source, inputs, outputs):
    memory = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    assert model.decode(memory, torch.tensor([inputs]))[0][0].argmax(dim=-1).tolist() == outputs
    assert model == eval(repr(model)) != Scripted([6])
    if inputs[1:2] == [7]:  # an old state is a wrong call
        assert model.step(memory, model.start(memory), torch.tensor([7]))[0].argmax() == LOST
        assert model.step(memory, memory, torch.tensor([BOS]))[0].argmax() == LOST


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.encode(torch.tensor([5, EOS]), torch.tensor([2])), r"shape \(1, n\)"),
        (lambda model: model.encode([[5, EOS]], torch.tensor([2])), r"shape \(1, n\)"),
        (lambda model: model.encode(torch.tensor([[5, EOS]]), 2), "needs the length"),
        (lambda model: model.encode(torch.tensor([[5, EOS]]), torch.tensor(2)), "needs the length"),
        (lambda model: model.step({}, {}, BOS), "previous token"),
    ],
)
def test_arguments_that_are_no_tensors_of_the_right_shape_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call(Scripted([7]))
