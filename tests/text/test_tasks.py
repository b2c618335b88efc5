"""The diagnostic tasks: each answer worked out again in plain Python."""

from __future__ import annotations

import doctest

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.text import tasks
from course_lib.text.special import PAD
from course_lib.text.tasks import ASK, FIRST_SYMBOL, MARK, Task, copy, recall, reverse, sort

ANSWERS = {copy: list, reverse: lambda symbols: symbols[::-1], sort: sorted}
properties = settings(derandomize=True, deadline=None, max_examples=25, database=None)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def check_form(task: Task, vocab_size: int) -> None:
    """What all tasks promise, whichever they are."""
    assert task.tokens.shape == task.targets.shape == task.counts.shape
    assert task.tokens.dtype == task.targets.dtype == torch.int64 and task.counts.dtype == torch.bool
    assert torch.equal(task.counts, task.tokens == ASK)
    assert task.targets[~task.counts].eq(PAD).all()
    assert task.targets[task.counts].ge(FIRST_SYMBOL).all() and task.targets.lt(vocab_size).all()
    assert task.tokens.lt(vocab_size).all()


def test_examples_in_docstrings():
    outcome = doctest.testmod(tasks, extraglobs={"torch": torch})
    assert outcome.attempted > 0 and outcome.failed == 0


@pytest.mark.parametrize("make", ANSWERS)
@properties
@given(st.integers(1, 5), st.integers(1, 12), st.integers(8, 40), st.integers(0, 99))
def test_answers_are_those_of_plain_python(make, batch_size, length, vocab_size, seed):
    task = make(generator(seed), batch_size=batch_size, length=length, vocab_size=vocab_size)
    check_form(task, vocab_size)
    assert task.tokens.shape == (batch_size, 2 * length)
    for tokens, targets in zip(task.tokens.tolist(), task.targets.tolist(), strict=True):
        symbols = tokens[:length]
        assert min(symbols) >= FIRST_SYMBOL and tokens[length:] == [ASK] * length
        assert targets[length:] == ANSWERS[make](symbols)


@properties
@given(st.integers(1, 5), st.integers(1, 12), st.integers(8, 40), st.integers(0, 4), st.integers(0, 99))
def test_recall_asks_for_the_marked_symbol_at_its_distance(batch_size, distance, vocab_size, lead, seed):
    task = recall(generator(seed), batch_size=batch_size, distance=distance, vocab_size=vocab_size, lead=lead)
    check_form(task, vocab_size)
    assert task.tokens.shape == (batch_size, lead + distance + 2)
    for tokens, targets in zip(task.tokens.tolist(), task.targets.tolist(), strict=True):
        mark, ask = tokens.index(MARK), tokens.index(ASK)
        assert tokens.count(MARK) == tokens.count(ASK) == 1 and mark <= lead
        assert ask - (mark + 1) == distance and targets[ask] == tokens[mark + 1]
        assert set(tokens[ask + 1 :]) <= {PAD} and PAD not in tokens[:ask]


def test_with_a_lead_the_mark_stands_in_many_places():
    task = recall(generator(), batch_size=200, distance=3, vocab_size=20, lead=4)
    assert set((task.tokens == MARK).int().argmax(dim=1).tolist()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("make", [*ANSWERS, recall])
def test_the_generator_decides_everything(make):
    size = {"distance": 9} if make is recall else {"length": 9}
    first, again, other = (make(generator(seed), batch_size=4, vocab_size=50, **size) for seed in (1, 1, 2))
    assert all(map(torch.equal, first, again)) and not torch.equal(first.tokens, other.tokens)
    assert set(first.targets[first.counts].tolist()) != {FIRST_SYMBOL}


@pytest.mark.parametrize("make", [*ANSWERS, recall])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 0}, "batch_size to be 1 or more, but got 0"),
        ({"size": -1}, "(length|distance) to be 1 or more, but got -1"),
        ({"vocab_size": 7}, "vocab_size of at least 8.*But got 7"),
    ],
)
def test_wrong_sizes_are_refused(make, wrong, message):
    sizes = {"batch_size": 2, "size": 3, "vocab_size": 20, **wrong}
    sizes["distance" if make is recall else "length"] = sizes.pop("size")
    with pytest.raises(ValueError, match=message):
        make(generator(), **sizes)


def test_a_negative_lead_is_refused():
    with pytest.raises(ValueError, match="lead of 0 or more, but got -2"):
        recall(generator(), batch_size=1, distance=1, vocab_size=20, lead=-2)
