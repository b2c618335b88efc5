"""Whether a learner's function can be trained: its gradients must be those of the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from course_lib.teaching.exercises.answer import find_tensors, name_tensors
from course_lib.teaching.exercises.failures import describe_failure, explain_failure
from course_lib.teaching.exercises.guarded_call import call
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, name_some, wrong_verdict

WHERE_GRADIENTS_END = (
    "Training needs this gradient. It is lost at `.detach()`, `.item()`, `float(...)`, `torch.tensor(...)`, "
    "in NumPy, and inside `torch.no_grad()`."
)
ROUNDING = 1e-6
NAN_GRADIENT = (
    "If you replace NaN or infinity in a result afterwards, its gradient is still NaN. Change the "
    "computation so that they never occur."
)


def compare_gradients(
    attempt: Callable,
    reference: Callable,
    make_inputs: Callable[[], Sequence[Any]],
    names: Sequence[str],
    limit: TimeLimit,
) -> Verdict | None:
    """What is wrong with the gradients that reach the tensors in the inputs, which are called `names`.

    None also if the reference's answer doesn't depend on them by a gradient.
    """
    inputs = make_inputs()
    found = name_tensors(names, inputs).items()
    tensors = {path: tensor.requires_grad_() for path, tensor in found if tensor.is_floating_point()}
    read = partial(_compute_gradients, tensors=list(tensors.values()))
    right = call(partial(reference, *inputs), limit, read)
    if right.failure or not any(map(_is_there, right.answer)):
        return None
    result = call(partial(attempt, *inputs), limit, read)
    if result.timed_out:
        return explain_failure(result, limit.seconds, "")
    if result.failure:
        headline = "The numbers are right, but computing the gradient failed."
        details = join_paragraphs(describe_failure(result.failure), WHERE_GRADIENTS_END)
        return wrong_verdict(headline, details, "no-gradient")
    gradients = list(zip(tensors, right.answer, result.answer, strict=True))
    missing = [name for name, expected, got in gradients if _is_there(expected) and not got.any()]
    largest = max(gradient.abs().max().item() for gradient in right.answer if gradient.numel())
    close = partial(torch.allclose, rtol=1e-3, atol=3e-5 * largest, equal_nan=True)
    different = [name for name, expected, got in gradients if not close(expected.float(), got.float())]
    broken = [name for name, right_one, got in gradients if right_one.isfinite().all() > got.isfinite().all()]
    if broken:
        headline = f"The numbers are right, but the gradient with respect to {name_some(broken)} is NaN."
        return wrong_verdict(headline, NAN_GRADIENT, "wrong-gradient")
    if missing:
        headline = f"The numbers are right, but no gradient reaches {name_some(missing)}."
        return wrong_verdict(headline, WHERE_GRADIENTS_END, "no-gradient")
    if different:
        headline = f"The numbers are right, but the gradient with respect to {name_some(different)} is wrong."
        details = f"Part of the computation graph is cut off. {WHERE_GRADIENTS_END}"
        return wrong_verdict(headline, details, "wrong-gradient")
    return None


def _is_there(gradient: Tensor) -> bool:
    """Whether it is more than rounding: x² / Σ x² of a single number is 1, and its gradient 0 or 1e-8."""
    return bool((gradient.abs() > ROUNDING).any())


def _compute_gradients(outputs: Any, tensors: list[Tensor]) -> list[Tensor]:
    """The gradient of a fixed random combination of all outputs with respect to each tensor; 0 if none."""
    generator = Generator("cpu").manual_seed(0)
    total = torch.zeros((), dtype=torch.float32, device="cpu")
    for _, output in find_tensors(outputs, ""):
        if output.is_floating_point():
            factors = torch.randn(output.shape, generator=generator, dtype=torch.float32, device="cpu")
            total = total + (factors * output).sum()
    if not total.requires_grad:
        return [torch.zeros(tensor.shape, device="cpu") for tensor in tensors]
    return list(torch.autograd.grad(total, tensors, materialize_grads=True))
