"""An exercise as data: what goes in, what comes out, the reference, and the slips people make.

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

Axes are letters, `"m d"`; `"*batch m d"` takes any number of batch axes, sizes `{"batch": (2, 3), ...}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor

from course_lib.formatting import shape_text
from course_lib.teaching.answer import Answer, read
from course_lib.teaching.stages import agree, wrong_gradients, wrong_numbers
from course_lib.teaching.task import ByHand, Case, FunctionTask, Slip, Trial
from course_lib.teaching.verdict import Verdict

__all__ = ["ByHand", "Exercise", "Given", "Invariant", "Slip", "gaussian", "look_mask"]
Sizes = Mapping[str, int | tuple[int, ...]]
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
class Exercise(FunctionTask):
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

        return Case(make, outputs(self.reference, make()), large=bool(times))

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        return read(value, {name: t.dtype for name, t in zip(self.returns, case.expected, strict=True)})

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
            agree(case, theirs, got) or (case.large and not got.isfinite().all())
            for theirs, got in zip(outputs(function, case.make()), trial.given, strict=True)
        )


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


def outputs(function: Callable, inputs: tuple[Tensor, ...]) -> tuple:
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
