"""Whether a learner's function can be trained: its gradients must be those of the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Generator, Tensor

from course_lib.teaching.exercises.answer import tensors_match
from course_lib.teaching.exercises.guarded_call import call, describe_failure, explain_failure
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, quote_names, wrong_verdict

WHERE_GRADIENTS_END = (
    "Training needs this gradient. It is lost at `.detach()`, `.item()`, `float(...)`, `torch.tensor(...)`, "
    "in NumPy, and inside `torch.no_grad()`."
)


def compare_gradients(
    attempt: Callable,
    reference: Callable,
    inputs: Sequence[Tensor],
    names: Sequence[str],
    *,
    deadline: float,
    seconds: float,
) -> Verdict | None:
    """What is wrong with the gradients that reach the inputs, called `names`. `seconds` is the time limit of
    the whole check, for the message."""
    inputs = [tensor.requires_grad_() if tensor.is_floating_point() else tensor for tensor in inputs]
    read = partial(_compute_gradients, inputs=inputs)
    right = call(partial(reference, *inputs), deadline, read)
    result = call(partial(attempt, *inputs), deadline, read)
    if result.timed_out:
        return explain_failure(result, seconds, "")
    if result.failure:
        headline = "The numbers are right, but computing the gradient failed."
        details = join_paragraphs(describe_failure(result.failure), WHERE_GRADIENTS_END)
        return wrong_verdict(headline, details, "no-gradient")
    gradients = list(zip(names, right.answer, result.answer, strict=True))
    missing = [name for name, expected, got in gradients if expected.any() and not got.any()]
    different = [name for name, expected, got in gradients if not tensors_match(expected, got)]
    if missing:
        headline = f"The numbers are right, but no gradient reaches {quote_names(missing)}."
        return wrong_verdict(headline, WHERE_GRADIENTS_END, "no-gradient")
    if different:
        headline = (
            f"The numbers are right, but the gradient with respect to {quote_names(different)} is wrong."
        )
        details = f"Part of the computation graph is cut off. {WHERE_GRADIENTS_END}"
        return wrong_verdict(headline, details, "wrong-gradient")
    return None


def _compute_gradients(outputs: Tensor | Sequence[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """The gradient of a fixed random combination of all outputs with respect to each input; 0 if none."""
    generator = Generator("cpu").manual_seed(0)
    total = torch.zeros((), dtype=torch.float32, device="cpu")
    for output in [outputs] if isinstance(outputs, Tensor) else outputs:
        factors = torch.randn(output.shape, generator=generator, dtype=torch.float32, device="cpu")
        total = total + (factors * output).sum()
    zeros = [torch.zeros(tensor.shape, device="cpu") for tensor in inputs]
    if not total.requires_grad:
        return zeros
    differentiable = [tensor for tensor in inputs if tensor.requires_grad]
    gradients = iter(torch.autograd.grad(total, differentiable, materialize_grads=True))
    pairs = zip(inputs, zeros, strict=True)
    return [next(gradients) if tensor.requires_grad else zero for tensor, zero in pairs]
