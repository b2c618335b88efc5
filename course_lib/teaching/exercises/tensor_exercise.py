"""A function of tensors to write: what goes in, what comes out, the reference, and the slips people make.

    DOUBLE_IT = Exercise(
        name="double_it", lesson="start_here",
        inputs={"numbers": gaussian("n")}, returns={"doubled": "n"}, sizes={"n": 5},
        reference=double,
        by_hand=ByHand(inputs={"numbers": [1.0, 2.0]}, answer={"doubled": [2.0, 4.0]}, says="Twice 1 is 2."),
        slips=(Slip("squares", square, "the numbers are squared."),),
    )

`sizes` are given once: all different, none of them 1. The other cases follow from them: odd sizes in another
order, all sizes alike, all of them 1, and large numbers; then the gradients are compared (`trains`).

A slip is a known wrong function. It is recognised by what the learner's function returns, however that is
written, and named only where the two agree in every case. An exercise to find a bug gives the buggy function
as `unrepaired`. `library` is what later lessons use for who has not passed; without it, the reference.

Answers are looked at in this order, and the first thing found is told: shape, invariants, the case worked by
hand, the reference, large numbers, gradients.

Axes are letters, `"m d"`; `"*batch m d"` takes any number of batch axes, sizes `{"batch": (2, 3), ...}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor

from course_lib.formatting import rounded, rounded_apart, shape_text
from course_lib.teaching.exercises.answer import Answer, agree, read_outputs
from course_lib.teaching.exercises.any_exercise import ByHand, Case, FunctionExercise, Trial
from course_lib.teaching.exercises.gradients import wrong_gradients
from course_lib.teaching.exercises.verdict import Verdict, listed, paragraphs, wrong

Sizes = Mapping[str, int | tuple[int, ...]]
ONLY_LARGE = "Right for ordinary numbers, but not for large ones: "
OVERFLOW = "An `exp` of more than 88 is infinite, and far below 0 it is 0: what can come off a row first?"
ODD = (3, 5, 7, 9, 11, 13, 15)


@dataclass(frozen=True)
class Given:
    """One input: its axes, and how a random one is drawn."""

    axes: str
    draw: Callable[[tuple[int, ...], Generator], Tensor]


def gaussian(axes: str) -> Given:
    """Numbers of mean 0 and variance 1, as a network's states are meant to be."""
    # Type and device are spelled out here and below: a learner may have changed torch's defaults.
    return Given(axes, lambda size, g: torch.randn(size, generator=g, dtype=torch.float32, device="cpu"))


def look_mask(axes: str) -> Given:
    """A ragged mask, True = may be looked at; every row keeps at least one True."""
    return Given(axes, _ragged)


@dataclass(frozen=True)
class Invariant:
    """Something true of every right answer: `measure` comes out as `equals`, to the last bit if `exactly`.

    `measure` gets one object with every input and every output by name: `lambda it: it.weights.sum(-1)`.
    """

    says: str
    measure: Callable[[SimpleNamespace], Tensor]
    equals: float
    exactly: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Exercise(FunctionExercise):
    """See the top of this file."""

    inputs: Mapping[str, Given]
    returns: Mapping[str, str]
    sizes: Sizes
    by_hand: ByHand
    other_sizes: tuple[Sizes, ...] | None = None  # where sizes hang together: d_model = n_heads · head_dim
    large: tuple[float, ...] = (4.0, 14.0)  # what inputs are multiplied by: scaled scores around 30, and 300
    trains: bool = True
    invariants: tuple[Invariant, ...] = ()

    def cases(self) -> list[Case]:
        """The one worked by hand, the first random one, the other sizes, large numbers; always the same."""
        others = variations(self.sizes) if self.other_sizes is None else self.other_sizes
        ordinary = [self._random_case(sizes, seed) for seed, sizes in enumerate([self.sizes, *others])]
        wanted = zip(self.returns, ordinary[0].expected, strict=True)
        by_hand = Case(  # its answer is the author's, not the reference's
            lambda: tuple(_tensor(self.by_hand.inputs[name]) for name in self.inputs),
            tuple(_tensor(self.by_hand.answer[name]).to(like.dtype) for name, like in wanted),
            by_hand=True,
        )
        return [by_hand, *ordinary, *(self._random_case(self.sizes, 10, times) for times in self.large)]

    def _random_case(self, sizes: Sizes, seed: int, times: float = 0.0) -> Case:
        generator = Generator("cpu").manual_seed(seed)
        inputs = [given.draw(_shape(given.axes, sizes), generator) for given in self.inputs.values()]
        if times:  # whole numbers: their sums of products are exact, in whatever order they are added
            inputs = [(t * times).round() if t.is_floating_point() else t for t in inputs]

        def make() -> tuple[Tensor, ...]:
            return tuple(tensor.clone() for tensor in inputs)

        return Case(make, outputs_of(self.reference, make()), large=bool(times))

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        wanted = zip(self.returns, case.expected, strict=True)
        return read_outputs(value, {name: tensor.dtype for name, tensor in wanted})

    def call_text(self, case: Case) -> str:
        """The shapes of a call's inputs: The call was with `query` (4,), `keys` (5, 4)."""
        named = zip(self.inputs, case.make(), strict=True)
        shapes = ", ".join(f"`{name}` {shape_text(tensor.shape)}" for name, tensor in named)
        return f"The call was with {shapes}{', all large numbers' if case.large else ''}."

    def problem(self, trials: list[Trial]) -> Verdict | None:
        return wrong_numbers(self, trials)

    def last_problem(self, attempt: Callable, until: float) -> Verdict | None:
        return wrong_gradients(self, attempt, until) if self.trains else None

    def does_as(self, function: Callable, trial: Trial) -> bool:
        """Where large numbers make the learner's infinite, two ways of writing the same thing may differ."""
        case = trial.case
        return all(
            agree(theirs, got, large=case.large) or (case.large and not got.isfinite().all())
            for theirs, got in zip(outputs_of(function, case.make()), trial.given, strict=True)
        )


# ---- what is wrong with the numbers


def wrong_numbers(exercise: Exercise, trials: list[Trial]) -> Verdict | None:
    """The first thing that is wrong with the numbers."""

    def found_by(stages: Iterable[Callable], large: bool) -> Verdict | None:
        some = [trial for trial in trials if trial.case.large == large]
        return next(filter(None, (stage(exercise, trial) for stage in stages for trial in some)), None)

    numbers = (_not_finite, _broken_invariant, _unequal)
    shapes = found_by([_wrong_shape], large=False) or found_by([_wrong_shape], large=True)
    if found := shapes or found_by(numbers, large=False):
        if _swapped(trials):
            order = f"The right things in the wrong order: `return {', '.join(exercise.returns)}`."
            return replace(found, slip="swapped-outputs", details=order)
        return found
    if found := found_by(numbers, large=True):
        details = paragraphs(OVERFLOW if found.slip == "not-finite" else "", found.details)
        slip = found.slip or "large-numbers"
        return replace(found, headline=ONLY_LARGE + found.headline, details=details, slip=slip)
    return None


def _pairs(exercise: Exercise, trial: Trial) -> list[tuple[str, Tensor, Tensor]]:
    """Each output: its name, what was expected, what came."""
    return list(zip(exercise.returns, trial.case.expected, trial.given, strict=True))


def _swapped(trials: list[Trial]) -> bool:
    return any(
        all(
            agree(expected, given[i], large=case.large)
            for case, given in trials
            for expected, i in zip(case.expected, order, strict=True)
        )
        for order in permutations(range(len(trials[0].given)))
    )


def _wrong_shape(exercise: Exercise, trial: Trial) -> Verdict | None:
    for name, expected, got in _pairs(exercise, trial):
        if expected.shape != got.shape:
            hint = _shape_hint(expected, got) + exercise.call_text(trial.case)
            wanted = f"{shape_text(expected.shape)} = ({', '.join(exercise.returns[name].split())})"
            found = wrong(f"`{name}` has the wrong shape.", hint, "wrong-shape")
            return replace(found, expected=wanted, got=shape_text(got.shape))
    return None


def _shape_hint(expected: Tensor, got: Tensor) -> str:
    if expected.ndim > 1 and got.shape == expected.shape[::-1]:
        return "Its axes are the wrong way round. "
    if got.ndim > expected.ndim and got.squeeze().shape == expected.squeeze().shape:
        return "It has an axis of size 1 too many. "
    if got.ndim < expected.ndim and got.shape == expected.squeeze().shape:
        return "An axis of size 1 was lost: `squeeze` drops every one. "
    return ""


def _not_finite(exercise: Exercise, trial: Trial) -> Verdict | None:
    for name, expected, got in _pairs(exercise, trial):
        if not got.isfinite().all():
            why = "NaN comes from 0 / 0, from ∞ − ∞, and from a softmax over nothing but −∞."
            details = f"{why} {exercise.call_text(trial.case)}"
            found = wrong(f"`{name}` holds NaN or infinity.", details, "not-finite")
            return replace(found, expected=rounded(expected), got=rounded(got))
    return None


def _broken_invariant(exercise: Exercise, trial: Trial) -> Verdict | None:
    case = trial.case
    named = {
        **dict(zip(exercise.inputs, case.make(), strict=True)),
        **dict(zip(exercise.returns, trial.given, strict=True)),
    }
    for invariant in exercise.invariants if not case.by_hand else ():
        measured = invariant.measure(SimpleNamespace(**named))
        wanted = measured.new_full(measured.shape, invariant.equals)
        holds = case.large or agree(wanted, measured)  # large ones: the reference will tell
        if invariant.exactly:
            holds = torch.equal(wanted, measured)
        if not holds:
            expected, got = rounded_apart(wanted, measured)
            found = wrong(f"This must always hold: {invariant.says}.", exercise.call_text(case))
            return replace(found, expected=expected, got=got)
    return None


def _unequal(exercise: Exercise, trial: Trial) -> Verdict | None:
    case = trial.case
    pairs = _pairs(exercise, trial)
    unequal = [pair for pair in pairs if not agree(*pair[1:], large=case.large)]
    if not unequal:
        return None
    names = [name for name, _, _ in unequal]
    right = [name for name in exercise.returns if name not in names]
    complaint = "not what comes out by hand" if case.by_hand else "not as in the reference"
    praise = f"; {listed(right)} {_is(right)} right" if right else ""
    texts = [(name, *rounded_apart(expected, got)) for name, expected, got in unequal]
    given = [_assigned(name, rounded(t)) for name, t in zip(exercise.inputs, case.make(), strict=True)]
    return replace(
        wrong(f"{listed(names)} {_is(names)} {complaint}{praise}."),
        details=exercise.by_hand.says if case.by_hand else exercise.call_text(case),
        given="\n".join(given) if case.by_hand else "",
        expected="\n".join(_assigned(name, expected) for name, expected, _ in texts),
        got="\n".join(_assigned(name, got) for name, _, got in texts),
    )


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _assigned(name: str, text: str) -> str:
    return f"{name} = " + text.replace("\n", "\n" + " " * (len(name) + 3))


# ---- the inputs of a case, and what the course's own functions make of them


def variations(sizes: Sizes) -> tuple[Sizes, ...]:
    """Odd sizes, the largest becoming the smallest; all alike; all 1.

    >>> variations({"m": 4, "d": 16})
    ({'m': 5, 'd': 3}, {'m': 4, 'd': 4}, {'m': 1, 'd': 1})
    """
    axes = sorted((axis for axis in sizes if isinstance(sizes[axis], int)), key=sizes.get, reverse=True)
    odd = dict(zip(axes, ODD, strict=False))
    return tuple(
        {axis: number.get(axis, 4) if isinstance(size, int) else batch for axis, size in sizes.items()}
        for number, batch in ((odd, ()), ({}, (2,)), (dict.fromkeys(axes, 1), (1,)))
    )


def outputs_of(function: Callable, inputs: tuple[Tensor, ...]) -> tuple:
    """What one of the course's own functions, right or wrong, returns: always as a tuple."""
    with torch.no_grad():
        result = function(*inputs)
    return result if isinstance(result, tuple) else (result,)


def _shape(axes: str, sizes: Sizes) -> tuple[int, ...]:
    shape: list[int] = []
    for axis in axes.split():
        shape.extend(sizes[axis[1:]] if axis.startswith("*") else [sizes[axis]])
    return tuple(shape)


def _ragged(shape: tuple[int, ...], generator: Generator) -> Tensor:
    mask = torch.rand(shape, generator=generator, device="cpu") < 0.6
    always = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator, device="cpu")
    return mask.scatter(-1, always, True)


def _tensor(numbers: list | float) -> Tensor:
    tensor = torch.tensor(numbers, device="cpu")
    return tensor if tensor.dtype == torch.bool else tensor.float()
