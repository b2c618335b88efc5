"""What is wrong with the answers: shape, invariants, the case worked by hand, the reference, large numbers,
gradients; in this order, and the first thing found is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import permutations
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor

from course_lib.formatting import rounded, rounded_apart, shape_text
from course_lib.teaching.calling import call
from course_lib.teaching.task import Case, Trial
from course_lib.teaching.verdict import Verdict, listed, mishap, paragraphs, wrong

if TYPE_CHECKING:
    from course_lib.teaching.exercise import Exercise

ONLY_LARGE = "Right for ordinary numbers, but not for large ones: "
OVERFLOW = "An `exp` of more than 88 is infinite, and far below 0 it is 0: what can come off a row first?"
CUTS = (
    "Training needs it. Gradients end at `.detach()`, `.item()`, `float(...)`, `torch.tensor(...)`, NumPy "
    "and `torch.no_grad()`."
)


def agree(case: Case, one: Tensor, other: Tensor) -> bool:
    """Whether two outputs are the same but for rounding, which in a softmax of large scores is larger."""
    one, other = one.float(), other.float()
    largest = one.nan_to_num(0, 0, 0).abs().max().item() if one.numel() else 0.0
    rtol, atol = (1e-3, 3e-5 * max(1.0, largest)) if case.large else (1e-4, 3e-5)
    return one.shape == other.shape and torch.allclose(one, other, rtol, atol, equal_nan=True)


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
            agree(case, expected, given[i])
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
        holds = case.large or agree(case, wanted, measured)  # large ones: the reference will tell
        if invariant.exactly:
            holds = torch.equal(wanted, measured)
        if not holds:
            expected, got = rounded_apart(wanted, measured)
            found = wrong(f"This must always hold: {invariant.says}.", exercise.call_text(case))
            return replace(found, expected=expected, got=got)
    return None


def _unequal(exercise: Exercise, trial: Trial) -> Verdict | None:
    case = trial.case
    unequal = [pair for pair in _pairs(exercise, trial) if not agree(case, *pair[1:])]
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


def wrong_gradients(exercise: Exercise, attempt: Callable, until: float) -> Verdict | None:
    """Whether the gradients that reach the inputs are those of the reference: what is learned needs them."""
    case = exercise.cases()[1]
    inputs = [t.requires_grad_() if t.is_floating_point() else t for t in case.make()]
    read = partial(_gradients, inputs=inputs)
    right = call(partial(exercise.reference, *inputs), until, read)
    theirs = call(partial(attempt, *inputs), until, read)
    if theirs.took_too_long:
        return mishap(theirs, exercise.seconds, "")
    if theirs.fault:
        headline = "The numbers are right, but no gradient can be computed."
        return wrong(headline, paragraphs(theirs.fault.words, CUTS), "no-gradient")
    pairs = list(zip(exercise.inputs, right.answer, theirs.answer, strict=True))
    missing = [name for name, wanted, got in pairs if wanted.any() and not got.any()]
    off = [name for name, wanted, got in pairs if not agree(case, wanted, got)]
    if missing:
        headline = f"The numbers are right, but no gradient reaches {listed(missing)}."
        return wrong(headline, CUTS, "no-gradient")
    if off:
        headline = f"The numbers are right, but the gradient that reaches {listed(off)} is not."
        return wrong(headline, f"A part of the way is cut off. {CUTS}", "wrong-gradient")
    return None


def _gradients(value: object, inputs: list[Tensor]) -> list[Tensor]:
    """How a fixed blend of all outputs moves with each input; 0 where nothing does."""
    generator = Generator("cpu").manual_seed(0)
    blend = torch.zeros((), dtype=torch.float32, device="cpu")
    for part in [value] if isinstance(value, Tensor) else value:
        factors = torch.randn(part.shape, generator=generator, dtype=torch.float32, device="cpu")
        blend = blend + (factors * part).sum()
    if not blend.requires_grad:
        return [torch.zeros(tensor.shape, device="cpu") for tensor in inputs]
    learned = [tensor for tensor in inputs if tensor.requires_grad]
    found = iter(torch.autograd.grad(blend, learned, materialize_grads=True))
    return [next(found) if t.requires_grad else torch.zeros(t.shape, device="cpu") for t in inputs]
