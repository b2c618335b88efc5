"""The translator without weights answers only who drives it well."""

from __future__ import annotations

import torch

from course_lib.text.special import BOS, EOS
from course_lib.translation.scripted import LOST, Scripted


def said(model: Scripted, source: list[int], read: list[int]) -> list[int]:
    memory = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    return model.decode(memory, torch.tensor([read]))[0][0].argmax(dim=-1).tolist()


def test_it_says_its_script_and_then_the_end():
    assert said(Scripted([7, 8]), [5, EOS], [BOS, 7, 8]) == [7, 8, EOS]
    assert said(Scripted([7, 8], endless=True), [5, EOS], [BOS, 7, 8, 7]) == [7, 8, 7, 8]


def test_it_is_lost_after_a_word_it_did_not_say():
    assert said(Scripted([7, 8, 9]), [5, EOS], [BOS, 6, 8]) == [7, LOST, LOST]
    assert said(Scripted([7]), [5, EOS], [BOS, BOS]) == [7, LOST]


def test_it_is_lost_without_the_end_of_the_source():
    assert said(Scripted([7]), [5, 6], [BOS]) == [LOST]


def test_it_goes_on_from_the_state_it_gave():
    model = Scripted([7, 8])
    memory = model.encode(torch.tensor([[EOS]]), torch.tensor([1]))
    first = model.start(memory)
    _, second, _ = model.step(memory, first, torch.tensor([BOS]))
    assert model.step(memory, second, torch.tensor([7]))[0].argmax() == 8
    assert model.step(memory, first, torch.tensor([7]))[0].argmax() == LOST


def test_models_of_one_script_are_equal():
    assert Scripted([7]) == Scripted([7]) != Scripted([7], endless=True)
