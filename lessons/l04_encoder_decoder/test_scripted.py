"""A scripted translator answers only who drives it well."""

from __future__ import annotations

import pytest
import torch

from course_lib.text.special import BOS, EOS
from lessons.l04_encoder_decoder.scripted import LOST, Scripted


@pytest.mark.parametrize(
    ("model", "source", "read", "said"),
    [
        (Scripted([7, 8]), [5, EOS], [BOS, 7, 8], [7, 8, EOS]),
        (Scripted([7, 8], endless=True), [5, EOS], [BOS, 7, 8, 7], [7, 8, 7, 8]),
        (Scripted([7, 8, 9]), [5, EOS], [BOS, 6, 8], [7, LOST, LOST]),  # after a word that it did not say
        (Scripted([7]), [5, EOS], [BOS, BOS], [7, LOST]),
        (Scripted([7]), [5, 6], [BOS], [LOST]),  # without the end of the source
    ],
    ids=str,
)
def test_a_scripted_model_answers_only_who_drives_it_well(model, source, read, said):
    memory = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    assert model.decode(memory, torch.tensor([read]))[0][0].argmax(dim=-1).tolist() == said
    assert model == eval(repr(model)) != Scripted([6])
    if read[1:2] == [7]:  # it goes on from the state it gave, not from an older one
        assert model.step(memory, model.start(memory), torch.tensor([7]))[0].argmax() == LOST
