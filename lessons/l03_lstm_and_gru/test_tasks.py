"""The recall task, its answers checked in plain Python."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text.special import PAD
from lessons.l03_lstm_and_gru.tasks import ASK, FIRST_SYMBOL, MARK, recall

properties = settings(derandomize=True, deadline=None, max_examples=25, database=None)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@properties
@given(st.integers(1, 5), st.integers(1, 12), st.integers(8, 40), st.integers(0, 4), st.integers(0, 99))
def test_recall_asks_for_the_marked_symbol_at_its_distance(batch_size, distance, vocab_size, lead, seed):
    task = recall(generator(seed), batch_size=batch_size, distance=distance, vocab_size=vocab_size, lead=lead)
    assert task.tokens.shape == task.targets.shape == (batch_size, lead + distance + 2)
    assert torch.equal(task.counts, task.tokens == ASK) and task.targets[~task.counts].eq(PAD).all()
    for tokens, targets in zip(task.tokens.tolist(), task.targets.tolist(), strict=True):
        mark, ask = tokens.index(MARK), tokens.index(ASK)
        assert tokens.count(MARK) == tokens.count(ASK) == 1 and mark <= lead
        assert ask - (mark + 1) == distance and targets[ask] == tokens[mark + 1]
        assert FIRST_SYMBOL <= targets[ask] < vocab_size
        assert set(tokens[ask + 1 :]) <= {PAD} and PAD not in tokens[:ask]


def test_the_generator_decides_everything_and_with_a_lead_the_position_of_the_mark_varies():
    first, again, other = (
        recall(generator(seed), batch_size=200, distance=3, vocab_size=20, lead=4) for seed in (1, 1, 2)
    )
    assert all(map(torch.equal, first, again)) and not torch.equal(first.tokens, other.tokens)
    assert set((first.tokens == MARK).int().argmax(dim=1).tolist()) == {0, 1, 2, 3, 4}
