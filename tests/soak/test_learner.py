"""What a learner does in a notebook: answers to questions, attempts at exercises, moves of explorables."""

from __future__ import annotations

import builtins
import gc
import itertools
import random
from functools import cache
from typing import NamedTuple

import numpy as np
import psutil
import pytest
import torch
from hypothesis import strategies as st
from traitlets import TraitError

from course_lib.explore.base import Explorable, Point
from course_lib.teaching import check, progress
from course_lib.teaching.contents import lessons
from course_lib.teaching.exercises.catalogue import exercise_topics
from course_lib.teaching.questions.explanation import explain
from course_lib.teaching.questions.guess import estimate, predict
from course_lib.teaching.questions.question import questions
from course_lib.teaching.questions.quiz import Quiz
from tests.explore.settings import KINDS
from tests.explore.test_memory import MEGABYTE, random_value
from tests.explore.test_sweep import choices, single_changes
from tests.soak.inputs import any_text, json_values, numbers

ASKED = [(lesson.number, name) for lesson in lessons() for name in questions(lesson.number)]


# ---- questions


@pytest.mark.soak(weight=2)
def test_answers_to_questions(soak):
    """Any message from the page is answered or asked for again, and what was recorded can be read."""

    def send(asked, messages):
        number, name = asked
        question = questions(number)[name]
        if question.use:
            card = Quiz(number, question.use, [question])
        elif question.kind == "explanation":
            card = explain(*asked)
        elif question.kind == "estimate":
            card = estimate(*asked, measure=(lambda: 7.0) if question.answer is None else None)
        else:
            card = predict(*asked, None)
        for message in messages:
            card._receive({"question": name, **message} if question.use else message)
        learner = progress.read()
        assert not learner.notes and repr(learner) and learner._repr_html_()

    answers = st.integers(-2, 5) | st.lists(st.integers(-1, 5), max_size=3) | any_text | json_values
    keys = st.sampled_from(["question", "answer", "guess", "open", "text", "ticked", "x"])
    whole = st.fixed_dictionaries({"answer": answers, "guess": answers, "text": any_text})
    messages = st.lists(whole | st.dictionaries(keys, answers, max_size=4), max_size=4)
    soak.search(send, target=6_000, asked=st.sampled_from(ASKED), messages=messages)


# ---- exercises


class Hostile:
    """Raises in whatever it is asked for; each subclass in something else."""

    def refuse(self, *_):
        raise ValueError("hostile")


def hostile(*names: str) -> object:
    return type("Hostile", (Hostile,), dict.fromkeys(names, Hostile.refuse))()


class Value(NamedTuple):
    """One of the VALUES, which Hypothesis couldn't print."""

    index: int


class Text(BaseException):
    def __str__(self):
        raise RuntimeError("no text")


NESTED: list = []
NESTED.append(NESTED)
VALUES = [
    *map(hostile, ("__repr__", "__eq__", "__bool__", "__len__", "__iter__", "__getattr__", "__array__")),
    *(hostile("__getattribute__"), hostile("__repr__", "__str__", "__eq__", "__hash__"), Hostile),
    *(torch.tensor(v) for v in (1.0, float("nan"), float("inf"), 1j, True, 2**62)),
    *(torch.zeros(*shape) for shape in ((0,), (1, 0), (3,), (2, 3), (1,) * 12)),
    *(torch.empty(2, device="meta"), torch.zeros(2, 2).to_sparse(), torch.zeros(3, requires_grad=True)),
    *(np.zeros(3), np.array(["x"]), np.array([object()]), torch.nn.Linear(2, 2), torch.float32, NESTED),
    *(
        [1, [2, [3]]],
        (),
        {},
        {"x": torch.zeros(1)},
        {1, 2},
        range(3),
        iter([1]),
        "text",
        b"bytes",
        NotImplemented,
    ),
    *(None, ..., 10**400, -0.0, float("nan"), lambda: 1, type, builtins, itertools.count, "\udc80", "<b>"),
]
ERRORS = [
    value for value in vars(builtins).values() if isinstance(value, type) and issubclass(value, BaseException)
]
ERRORS = [error for error in [*ERRORS, Text] if not issubclass(error, BaseExceptionGroup | UnicodeError)]


@pytest.mark.soak(weight=6)
def test_attempts_at_exercises(soak):
    """Whatever an attempt returns, raises or is, there is a verdict that can be shown."""

    def judge(name, values, errors, whole, change):
        def attempt(*inputs):
            for tensor in inputs if change else ():
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                    tensor.mul_(float("nan"))
            if errors:
                raise errors[0]
            return tuple(values) if len(values) != 1 else values[0]

        values = [VALUES[value.index] if isinstance(value, Value) else value for value in values]
        verdict = check(name, values[0] if whole and values else attempt)
        assert verdict.status in ("passed", "wrong", "not tried") and repr(verdict) and verdict._repr_html_()
        assert not progress.read().notes

    indices = st.integers(0, len(VALUES) - 1).map(Value)
    values = st.lists(indices | json_values, max_size=3)
    errors = st.just([]) | st.lists(st.sampled_from(ERRORS), min_size=1, max_size=1)
    options = {"values": values, "errors": errors, "whole": st.booleans(), "change": st.booleans()}
    names = st.sampled_from(sorted(exercise_topics()))
    soak.search(judge, target=6_000, name=names, **options, limit=60)


# ---- explorables


def started(number: int) -> Explorable:
    """One of the explorables, as at the start. A learner's stays the same for a whole session."""
    explorable = explorable_of(number)
    explorable.reset()
    return explorable


@cache
def explorable_of(number: int) -> Explorable:
    return KINDS[number]()


def assert_shown(explorable: Explorable) -> None:
    """The facts are finite, and the page's picture is that of the present state."""
    values = [value for value in explorable.facts.values() if isinstance(value, float | np.ndarray)]
    assert all(np.isfinite(value).all() for value in values)
    assert explorable.view.children[-1].alt == explorable.description and explorable.description


@pytest.mark.soak(weight=4)
def test_explorables_set_to_any_value(soak):
    """Through the widgets or in code: a value outside the range is refused, and the picture stays right."""

    def move(number, moves):
        explorable = started(number)
        widgets = explorable.view.children[1].children
        for which, by_widget, value in moves:
            control = explorable.controls[which % len(explorable.controls)]
            linked = [each for each in explorable.controls if not isinstance(each, Point)]
            by_widget = by_widget and control in linked
            widget = widgets[linked.index(control)] if by_widget else None
            if isinstance(value, float) and 0 <= value < 1:  # within the range
                value = control.values[int(value * len(control.values))]
            try:
                setattr(*((widget, "value") if by_widget else (explorable, control.name)), value)
            except (TraitError, ValueError, TypeError) as error:
                assert str(error)
            assert_shown(explorable)

    moves = st.tuples(
        st.integers(0, 2), st.booleans(), st.floats(0, 0.999) | json_values | numbers | any_text
    )
    inputs = {"number": st.integers(0, len(KINDS) - 1), "moves": st.lists(moves, min_size=1, max_size=6)}
    soak.search(move, target=3_000, **inputs, limit=30)


@pytest.mark.soak(weight=6)
def test_explorables_swept(soak):
    """Every explorable: all ends of its sliders, and every value of each."""

    def sweep(case):
        explorable = started(case[0])
        for name, value in case[1].items():
            setattr(explorable, name, value)
        assert_shown(explorable)

    states = ((n, s) for n, kind in enumerate(KINDS) for s in [*choices(kind), *single_changes(kind)])
    soak.each(list(states), sweep)


@pytest.mark.soak(weight=6)
def test_explorables_moved_two_thousand_times(soak):
    """Their memory stays bounded. The limit leaves room for caches that have one."""
    process = psutil.Process()

    def grow(number):
        draw, explorable = random.Random(number), KINDS[number]()
        assert explorable.view

        def move(times):
            for _ in range(times):
                control = draw.choice(explorable.controls)
                setattr(explorable, control.name, random_value(control, draw))
            gc.collect()
            return process.memory_info().rss

        before = move(100)
        assert move(2000) - before < 16 * MEGABYTE

    soak.each(range(len(KINDS)), grow, limit=600)
