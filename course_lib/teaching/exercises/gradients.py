"""Whether what a learner wrote can be trained: the gradients that reach its inputs, as in the reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, Tensor

from course_lib.teaching.exercises.answer import agree
from course_lib.teaching.exercises.any_exercise import FunctionExercise
from course_lib.teaching.exercises.guarded_call import call
from course_lib.teaching.exercises.no_answer import mishap, story
from course_lib.teaching.exercises.verdict import Verdict, listed, paragraphs, wrong

CUTS = (
    "Training needs it. Gradients end at `.detach()`, `.item()`, `float(...)`, `torch.tensor(...)`, NumPy "
    "and `torch.no_grad()`."
)


def wrong_gradients(exercise: FunctionExercise, attempt: Callable, until: float) -> Verdict | None:
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
        return wrong(headline, paragraphs(story(theirs.fault), CUTS), "no-gradient")
    pairs = list(zip(exercise.inputs, right.answer, theirs.answer, strict=True))
    missing = [name for name, wanted, got in pairs if wanted.any() and not got.any()]
    off = [name for name, wanted, got in pairs if not agree(wanted, got)]
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
