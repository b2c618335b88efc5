"""Bad input to a system gets a clear error."""

from __future__ import annotations

import pytest
import torch

from course_lib.models.registry import build, make_config
from course_lib.text.batch import make_batch


@pytest.mark.parametrize("name", ["seq2seq", "transformer"])
def test_tokens_must_be_for_the_sentences_of_the_memory_and_the_state(name):
    system = build(name, make_config(name, scale="tiny", vocab_size=20))
    batch = make_batch([[5, 6], [7]], [[8], [9]])
    memory = system.encode(batch.src, batch.src_lengths)
    with pytest.raises(ValueError, match=r"2 sentences.* 3"):
        system.decode(memory, torch.full((3, 1), 2))
    with pytest.raises(ValueError, match=r"2 sentences.* 3"):
        system.step(memory, system.start(memory), torch.full((3,), 2))


def test_a_language_model_needs_a_token_for_each_row_of_its_state():
    system = build("gru_lm", make_config("gru_lm", scale="tiny", vocab_size=20))
    with pytest.raises(ValueError, match=r"2 sentences.* 1"):
        system.step(system.start(2), torch.tensor([2]))
