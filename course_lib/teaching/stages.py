"""What is wrong with the answers: shape, invariants, the case worked by hand, the reference, large numbers,
gradients; in this order, and the first thing found is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace

import torch
from torch import Generator, Tensor

from course_lib.formatting import rounded, rounded_apart, shape_text
from course_lib.teaching.answer import listed
from course_lib.teaching.calling import call
from course_lib.teaching.exercise import Exercise
from course_lib.teaching.trying import Trial, mishap
from course_lib.teaching.verdict import Verdict, wrong

ONLY_LARGE = "Right for ordinary numbers, but not for large ones: "
OVERFLOW = "An `exp` of more than 88 is infinite, and far below 0 it is 0: what can come off a row first?"
CUTS = (
    "Training needs it. Gradients end at `.detach()`, `.item()`, `float(...)`, `torch.tensor(...)`, NumPy "
    "and `torch.no_grad()`."
)


def wrong_numbers(trials: list[Trial]) -> Verdict | None:
    """The first thing that is wrong with the numbers."""
    ordinary = [trial for trial in trials if not trial.case.large]
    large = [trial for trial in trials if trial.case.large]
    stages = (_not_finite, _broken_invariant, _unequal)
    if found := _first(map(_wrong_shape, trials)) or _first(_first(map(s, ordinary)) for s in stages):
        return found
    found = _first(_first(map(stage, large)) for stage in stages)
    if found and found.slip == "not-finite":
        found = replace(found, details=f"{OVERFLOW}\n\n{found.details}")
    return found and replace(found, headline=ONLY_LARGE + found.headline, slip=found.slip or "large-numbers")


def _first(found: Iterable[Verdict | None]) -> Verdict | None:
    return next(filter(None, found), None)


def _wrong_shape(trial: Trial) -> Verdict | None:
    for name, expected, got in trial.pairs:
        if expected.shape != got.shape:
            axes = ", ".join(trial.exercise.returns[name].split())
            hint = _shape_hint(expected, got) + trial.call
            found = wrong(f"`{name}` has the wrong shape.", hint, "wrong-shape")
            wanted = f"{shape_text(expected.shape)} = ({axes})"
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


def _not_finite(trial: Trial) -> Verdict | None:
    for name, expected, got in trial.pairs:
        if not got.isfinite().all():
            why = "NaN comes from 0 / 0, from ∞ − ∞, and from a softmax over nothing but −∞."
            found = wrong(f"`{name}` holds NaN or infinity.", f"{why} {trial.call}", "not-finite")
            return replace(found, expected=rounded(expected), got=rounded(got))
    return None


def _broken_invariant(trial: Trial) -> Verdict | None:
    it = SimpleNamespace(**trial.inputs, **{name: got for name, _, got in trial.pairs})
    for invariant in trial.exercise.invariants if not trial.case.by_hand else ():
        measured = invariant.measure(it)
        wanted = measured.new_full(measured.shape, invariant.equals)
        holds = trial.case.large or trial.case.agree(wanted, measured)  # large ones: the reference will tell
        if invariant.exactly:
            holds = torch.equal(wanted, measured)
        if not holds:
            expected, got = rounded_apart(wanted, measured)
            found = wrong(f"This must always hold: {invariant.says}.", trial.call)
            return replace(found, expected=expected, got=got)
    return None


def _unequal(trial: Trial) -> Verdict | None:
    unequal = [pair for pair in trial.pairs if not trial.case.agree(pair[1], pair[2])]
    if not unequal:
        return None
    names = [name for name, _, _ in unequal]
    right = [name for name in trial.exercise.returns if name not in names]
    complaint = "not what comes out by hand" if trial.case.by_hand else "not as in the reference"
    praise = f"; {listed(right)} {_is(right)} right" if right else ""
    texts = [(name, *rounded_apart(expected, got)) for name, expected, got in unequal]
    given = [_assigned(name, rounded(tensor)) for name, tensor in trial.inputs.items()]
    return Verdict(
        exercise=trial.exercise.name,
        status="wrong",
        headline=f"{listed(names)} {_is(names)} {complaint}{praise}.",
        details=trial.exercise.by_hand.says if trial.case.by_hand else trial.call,
        given="\n".join(given) if trial.case.by_hand else "",
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
    right = call(exercise.reference, case.inputs, until, _gradients, with_gradients=True)
    theirs = call(attempt, case.inputs, until, _gradients, with_gradients=True)
    if theirs.took_too_long:
        return mishap(theirs, exercise.seconds, "")
    if theirs.fault:
        headline = "The numbers are right, but no gradient can be computed."
        return wrong(headline, f"{theirs.fault.words}\n\n{CUTS}", "no-gradient")
    pairs = list(zip(exercise.inputs, right.answer, theirs.answer, strict=True))
    missing = [name for name, wanted, got in pairs if wanted.any() and not got.any()]
    off = [name for name, wanted, got in pairs if not case.agree(wanted, got)]
    if missing:
        return wrong(
            f"The numbers are right, but no gradient reaches {listed(missing)}.", CUTS, "no-gradient"
        )
    if off:
        headline = f"The numbers are right, but the gradient that reaches {listed(off)} is not."
        return wrong(headline, f"A part of the way is cut off. {CUTS}", "wrong-gradient")
    return None


def _gradients(value: object, given: tuple[Tensor, ...]) -> list[Tensor]:
    """How a fixed blend of all outputs moves with each input; 0 where nothing does."""
    generator = Generator("cpu").manual_seed(0)
    blend = torch.zeros((), dtype=torch.float32, device="cpu")
    for part in [value] if isinstance(value, Tensor) else value:
        factors = torch.randn(part.shape, generator=generator, dtype=torch.float32, device="cpu")
        blend = blend + (factors * part).sum()
    inputs = [tensor for tensor in given if tensor.requires_grad]
    found = torch.autograd.grad(blend, inputs, allow_unused=True) if blend.requires_grad else ()
    moved = {
        id(tensor): gradient for tensor, gradient in zip(inputs, found, strict=False) if gradient is not None
    }
    return [moved.get(id(tensor), torch.zeros(tensor.shape, device="cpu")) for tensor in given]
