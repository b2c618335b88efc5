"""A function of tensors to write: what goes in, what comes out, the reference, and the slips people make.

    DOUBLE_IT = TensorExercise(
        name="double_it", lesson="start_here",
        inputs={"numbers": gaussian("n")}, returns={"doubled": "n"}, sizes={"n": 5},
        reference=double,
        by_hand=ByHand(inputs={"numbers": [1.0, 2.0]}, answer={"doubled": [2.0, 4.0]}, says="Twice 1 is 2."),
        slips=(Slip("squares", square, "the numbers are squared."),),
    )

The `sizes` are all different, and none is 1. The other cases follow from them: odd sizes in another order,
all sizes equal, all of them 1, and the variations (large, tiny, equal and zero numbers). Then the gradients
are compared (`trains`).

Answers are checked in this order, and the first problem is reported: the worked example, shapes, finite
numbers, invariants, the reference, variations, gradients.

Axes are letters, `"m d"`; `"*batch m d"` has any number of batch axes, with sizes `{"batch": (2, 3), ...}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import torch
from torch import Generator, Tensor

from course_lib.formatting import rounded, rounded_apart, shape_text
from course_lib.teaching.exercises.answer import Answer, assign_text, read_outputs
from course_lib.teaching.exercises.comparison import hint_at_shape, tensors_match
from course_lib.teaching.exercises.function_exercise import ByHand, Case, FunctionExercise, Trial
from course_lib.teaching.exercises.variations import VARIATIONS, Variation, enlarge, vary
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, quote_names, wrong_verdict

Sizes = Mapping[str, int | tuple[int, ...]]
OVERFLOW = (
    "In float32, `exp` overflows to infinity above 88 and underflows to 0 far below 0. If this is a softmax: "
    "what can you subtract from each row first?"
)
ODD_SIZES = (3, 5, 7, 9, 11, 13, 15)


@dataclass(frozen=True)
class RandomInput:
    axes: str
    draw: Callable[[tuple[int, ...], Generator], Tensor]


def gaussian(axes: str) -> RandomInput:
    """Numbers of mean 0 and variance 1."""

    def draw(shape: tuple[int, ...], generator: Generator) -> Tensor:
        # dtype and device are given here and below: a learner may have changed torch's defaults
        return torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")

    return RandomInput(axes, draw)


def attention_mask(axes: str) -> RandomInput:
    """A random mask, True = may attend; every row has at least one True."""

    def draw(shape: tuple[int, ...], generator: Generator) -> Tensor:
        mask = torch.rand(shape, generator=generator, device="cpu") < 0.6
        always_true = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator, device="cpu")
        return mask.scatter(-1, always_true, True)

    return RandomInput(axes, draw)


@dataclass(frozen=True)
class Invariant:
    """Something true of every right answer: `measure` returns `equals`, to the last bit if `exactly`.

    `measure` gets an object with all inputs and outputs as attributes: `lambda it: it.weights.sum(-1)`.
    """

    says: str
    measure: Callable[[SimpleNamespace], Tensor]
    equals: float
    exactly: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorExercise(FunctionExercise):
    """See the top of this file."""

    inputs: Mapping[str, RandomInput]
    returns: Mapping[str, str]
    sizes: Sizes
    by_hand: ByHand
    other_sizes: tuple[Sizes, ...] | None = None  # needed if sizes depend on each other: d_model = h · d_k
    large: tuple[float, ...] = (4.0, 14.0)  # factors for the inputs: scaled scores around 30, and 300
    invariants: tuple[Invariant, ...] = ()
    others: tuple[Callable[[], tuple], ...] = ()  # inputs that no sizes describe: a mask to broadcast

    def _make_cases(self) -> list[Case]:
        others = vary_sizes(self.sizes) if self.other_sizes is None else self.other_sizes
        all_sizes = enumerate([self.sizes, *others])
        ordinary = [self._make_case(self._draw_inputs(sizes, seed)) for seed, sizes in all_sizes]
        ordinary += [self._make_case(make()) for make in self.others]
        variations = (*map(enlarge, self.large), *VARIATIONS[1:])
        varied = vary(self._draw_inputs(self.sizes, seed=10), self.variations, variations)
        harder = [self._make_case(inputs, variation) for variation, inputs in varied]
        harder = [case for case in harder if all(output.isfinite().all() for output in case.expected)]
        outputs = zip(self.returns, ordinary[0].expected, strict=True)
        answer = tuple(_to_tensor(self.by_hand.answer[name]).to(output.dtype) for name, output in outputs)

        def make_inputs() -> tuple[Tensor, ...]:
            return tuple(_to_tensor(self.by_hand.inputs[name]) for name in self.inputs)

        return [Case(make_inputs, answer, by_hand=True), *ordinary, *harder]

    def _draw_inputs(self, sizes: Sizes, seed: int) -> tuple[Tensor, ...]:
        generator = Generator("cpu").manual_seed(seed)
        return tuple(item.draw(_resolve_shape(item.axes, sizes), generator) for item in self.inputs.values())

    def _make_case(self, inputs: tuple[Tensor, ...], variation: Variation | None = None) -> Case:
        def make() -> tuple[Tensor, ...]:
            return tuple(tensor.clone() for tensor in inputs)

        return Case(make, compute_outputs(self.reference, make()), variation=variation)

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        expected = zip(self.returns, case.expected, strict=True)
        return read_outputs(value, {name: tensor.dtype for name, tensor in expected})

    def describe_call(self, case: Case) -> str:
        """The numbers of the worked example; for other cases, only their shapes."""
        inputs = zip(self.inputs, case.make(), strict=True)
        if case.by_hand:
            return "\n".join(assign_text(name, rounded(tensor)) for name, tensor in inputs)
        shapes = [f"{name}: shape {shape_text(tensor.shape)}" for name, tensor in inputs]
        return "\n".join([*shapes, f"with {case.variation.says}"] if case.variation else shapes)

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        """The first problem, in the order given at the top of this file."""

        def find_first(trials: list[Trial]) -> Verdict | None:
            finders = (_find_wrong_shape, _find_not_finite, _find_broken_invariant, _find_unequal)
            found = ((find(self, trial), trial.case) for find in finders for trial in trials)
            problem, case = next((pair for pair in found if pair[0]), (None, None))
            return problem and replace(problem, given=self.describe_call(case))

        ordinary = [trial for trial in trials if trial.case.variation is None]
        if problem := find_first(ordinary[:1]) or find_first(ordinary[1:]):
            if _are_swapped(trials):
                order = f"The outputs are in the wrong order. Write `return {', '.join(self.returns)}`."
                return replace(problem, slip="swapped-outputs", details=order)
            return problem
        for trial in trials:
            if (variation := trial.case.variation) and (problem := find_first([trial])):
                overflows = variation.name == "large" and problem.slip == "not-finite"
                details = join_paragraphs(OVERFLOW if overflows else "", problem.details)
                headline = f"Correct for ordinary inputs, but not for {variation.says}. {problem.headline}"
                slip = problem.slip or f"{variation.name}-numbers"
                return replace(problem, headline=headline, details=details, slip=slip)
        return None

    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        """If large numbers make an output infinite, two ways of writing the same function may differ."""
        case = trial.case
        pairs = zip(compute_outputs(function, case.make()), trial.answer, strict=True)
        return all(
            tensors_match(output, got, scaled=case.scaled) or (case.variation and not got.isfinite().all())
            for output, got in pairs
        )


# ---- the inputs of a case, and what the course's own functions return for them


def vary_sizes(sizes: Sizes) -> tuple[Sizes, ...]:
    """Odd sizes, the largest becoming the smallest; all equal; all 1.

    >>> vary_sizes({"m": 4, "d": 16})
    ({'m': 5, 'd': 3}, {'m': 4, 'd': 4}, {'m': 1, 'd': 1})
    """
    axes = sorted((axis for axis in sizes if isinstance(sizes[axis], int)), key=sizes.get, reverse=True)
    odd = dict(zip(axes, ODD_SIZES, strict=False))
    return tuple(
        {axis: size_of.get(axis, 4) if isinstance(size, int) else batch for axis, size in sizes.items()}
        for size_of, batch in ((odd, ()), ({}, (2,)), (dict.fromkeys(axes, 1), (1,)))
    )


def compute_outputs(function: Callable, inputs: tuple[Tensor, ...]) -> tuple:
    """The outputs of one of the course's own functions, right or wrong, as a tuple."""
    with torch.no_grad():
        outputs = function(*inputs)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _resolve_shape(axes: str, sizes: Sizes) -> tuple[int, ...]:
    parts = [sizes[axis[1:]] if axis.startswith("*") else (sizes[axis],) for axis in axes.split()]
    return sum(parts, ())


def _to_tensor(numbers: list | float) -> Tensor:
    tensor = torch.tensor(numbers, device="cpu")
    return tensor if tensor.dtype == torch.bool else tensor.float()


# ---- what is wrong with the numbers


def _name_outputs(exercise: TensorExercise, trial: Trial) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Each output: its name, what was expected, what was returned."""
    return zip(exercise.returns, trial.case.expected, trial.answer, strict=True)


def _are_swapped(trials: list[Trial]) -> bool:
    """Whether the outputs are right in another order, the same in every case."""
    return any(
        all(
            tensors_match(expected, answer[index], scaled=case.scaled)
            for case, answer in trials
            for expected, index in zip(case.expected, order, strict=True)
        )
        for order in permutations(range(len(trials[0].answer)))
    )


def _find_wrong_shape(exercise: TensorExercise, trial: Trial) -> Verdict | None:
    for name, expected, got in _name_outputs(exercise, trial):
        if expected.shape != got.shape:
            details = hint_at_shape(expected, got)
            wanted = f"{shape_text(expected.shape)} = ({_axes_text(exercise.returns[name])})"
            headline, got_text = f"`{name}` has the wrong shape.", shape_text(got.shape)
            return wrong_verdict(headline, details, "wrong-shape", expected=wanted, got=got_text)
    return None


def _axes_text(axes: str) -> str:
    names = axes.split()
    return f"{names[0]}," if len(names) == 1 else ", ".join(names)


def _find_not_finite(exercise: TensorExercise, trial: Trial) -> Verdict | None:
    for name, expected, got in _name_outputs(exercise, trial):
        if not got.isfinite().all():
            details = (
                "NaN comes from 0 / 0, ∞ / ∞, ∞ − ∞ or 0 · ∞, from a logarithm or square root of a negative "
                "number, or from a softmax over scores that are all −∞."
            )
            headline, texts = f"`{name}` contains NaN or infinity.", (rounded(expected), rounded(got))
            return wrong_verdict(headline, details, "not-finite", expected=texts[0], got=texts[1])
    return None


def _find_broken_invariant(exercise: TensorExercise, trial: Trial) -> Verdict | None:
    case = trial.case
    names, tensors = [*exercise.inputs, *exercise.returns], [*case.make(), *trial.answer]
    by_name = SimpleNamespace(**dict(zip(names, tensors, strict=True)))
    for invariant in exercise.invariants if not case.by_hand else ():
        measured = invariant.measure(by_name)
        wanted = measured.new_full(measured.shape, invariant.equals)
        holds = case.scaled or tensors_match(wanted, measured)  # large numbers are left to the reference
        if invariant.exactly:
            holds = torch.equal(wanted, measured)
        if not holds:
            expected, got = rounded_apart(wanted, measured)
            headline = f"This should always be true: {invariant.says}."
            problem = wrong_verdict(headline, expected=expected, got=got)
            return replace(problem, measured=True)
    return None


def _find_unequal(exercise: TensorExercise, trial: Trial) -> Verdict | None:
    case = trial.case
    unequal = [
        (name, *rounded_apart(expected, got))
        for name, expected, got in _name_outputs(exercise, trial)
        if not tensors_match(expected, got, scaled=case.scaled)
    ]
    if not unequal:
        return None
    names = [name for name, _, _ in unequal]
    right = [name for name in exercise.returns if name not in names]
    source = "worked example" if case.by_hand else "reference solution"
    right_text = f"; {quote_names(right)} {'is' if len(right) == 1 else 'are'} correct" if right else ""
    return wrong_verdict(
        f"{quote_names(names)} {'differs' if len(names) == 1 else 'differ'} from the {source}{right_text}.",
        exercise.by_hand.explanation if case.by_hand else "",
        expected="\n".join(assign_text(name, expected) for name, expected, _ in unequal),
        got="\n".join(assign_text(name, got) for name, _, got in unequal),
    )
