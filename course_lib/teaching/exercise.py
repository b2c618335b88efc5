"""An exercise as data: what goes in, what comes out, the reference, and the slips people make.

    DOUBLE_IT = Exercise(
        name="double_it", lesson="start_here",
        inputs={"numbers": gaussian("n")}, returns={"doubled": "n"},
        sizes=({"n": 5}, {"n": 1}),
        reference=double,
        by_hand=ByHand(inputs={"numbers": [1.0, 2.0]}, answer={"doubled": [2.0, 4.0]}, says="Twice 1 is 2."),
        slips=(Slip("squares", square, "You squared the numbers: `numbers ** 2`."),),
    )

A slip is a known wrong function. The checker compares what it returns with what the learner's function
returns, so a slip is recognised by what the code does, however it is written. For that to work the first
entry of `sizes` must tell all slips apart: every size different, none of them 1, inputs of unit variance.

Axes are letters, `"m d"`; `"*batch m d"` takes any number of batch axes, sizes `{"batch": (2, 3), ...}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch import Generator, Tensor

Sizes = Mapping[str, int | tuple[int, ...]]


@dataclass(frozen=True)
class Given:
    """One input: its axes, and how a random one is drawn."""

    axes: str
    draw: Callable[[tuple[int, ...], Generator], Tensor]


def gaussian(axes: str) -> Given:
    """Numbers of mean 0 and variance 1, as a network's states are meant to be."""
    return Given(axes, _normal)


def look_mask(axes: str) -> Given:
    """A ragged mask, True = may be looked at; every row keeps at least one True."""
    return Given(axes, _ragged)


@dataclass(frozen=True)
class Invariant:
    """Something true of every right answer: `measure` must come out as `equals`.

    `measure` gets one object with every input and every output by name: `lambda it: it.weights.sum(-1)`.
    """

    says: str
    measure: Callable[[SimpleNamespace], Tensor]
    equals: float


@dataclass(frozen=True)
class ByHand:
    """A case small enough to work out on paper. `says` is the working, in words."""

    inputs: Mapping[str, list]
    answer: Mapping[str, list | float]
    says: str


@dataclass(frozen=True)
class Slip:
    """A known wrong answer. `message` tells the learner what seems to have happened and what to do."""

    name: str
    wrong: Callable
    message: str
    misconception: str | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """Inputs to try a function on, and what the right one gives for them."""

    inputs: tuple[Tensor, ...]
    expected: tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Exercise:
    """See the top of this file. `seconds` is the time all calls of one check may take together."""

    name: str
    lesson: str
    inputs: Mapping[str, Given]
    returns: Mapping[str, str]
    sizes: tuple[Sizes, ...]
    reference: Callable
    by_hand: ByHand
    invariants: tuple[Invariant, ...] = ()
    slips: tuple[Slip, ...] = ()
    stretch: bool = False
    seconds: float = 5.0
    rtol: float = 1e-4
    atol: float = 3e-5

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(self.inputs)})"

    def random_cases(self) -> list[Case]:
        """One case for each entry of `sizes`; the same numbers every time."""
        return [self._random_case(sizes, seed) for seed, sizes in enumerate(self.sizes)]

    def worked_case(self) -> Case:
        """The case worked by hand; its answer is the author's, not the reference's."""
        return Case(
            tuple(_tensor(self.by_hand.inputs[name]) for name in self.inputs),
            tuple(_tensor(self.by_hand.answer[name]) for name in self.returns),
        )

    def agree(self, one: Tensor, other: Tensor) -> bool:
        """Whether two outputs are the same, within the exercise's tolerance."""
        return one.shape == other.shape and torch.allclose(
            one.float(), other.float(), rtol=self.rtol, atol=self.atol, equal_nan=True
        )

    def _random_case(self, sizes: Sizes, seed: int) -> Case:
        generator = Generator("cpu").manual_seed(seed)
        inputs = tuple(given.draw(_shape(given.axes, sizes), generator) for given in self.inputs.values())
        return Case(inputs, outputs(self.reference, inputs))


def outputs(function: Callable, inputs: tuple[Tensor, ...]) -> tuple:
    """What one of the course's own functions, right or wrong, returns: always as a tuple."""
    with torch.no_grad():
        result = function(*(tensor.clone() for tensor in inputs))
    return result if isinstance(result, tuple) else (result,)


def _shape(axes: str, sizes: Sizes) -> tuple[int, ...]:
    shape: list[int] = []
    for axis in axes.split():
        shape.extend(sizes[axis[1:]] if axis.startswith("*") else [sizes[axis]])
    return tuple(shape)


def _normal(shape: tuple[int, ...], generator: Generator) -> Tensor:
    # Type and device are spelled out: a learner may have changed torch's defaults.
    return torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")


def _ragged(shape: tuple[int, ...], generator: Generator) -> Tensor:
    mask = torch.rand(shape, generator=generator, device="cpu") < 0.6
    always = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator, device="cpu")
    return mask.scatter(-1, always, True)


def _tensor(numbers: list | float) -> Tensor:
    tensor = torch.tensor(numbers, device="cpu")
    return tensor if tensor.dtype == torch.bool else tensor.float()
