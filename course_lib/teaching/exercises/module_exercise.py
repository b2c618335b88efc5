"""Torch modules to write, as classes: how they are declared, and how they are judged.

    FEED_FORWARD = ModuleExercise(
        name="FeedForward", lesson="the_block", inputs=("d_model", "d_ff"), reference=FeedForward,
        sizes=((6, 10), (4, 4)), calls=(lambda d_model, d_ff: {"x": normal(2, 3, d_model)},),
        initial_sizes=(64, 256),
        slips=(Slip("no-relu", WithoutRelu, "the activation function is missing."),),
    )

The learner's class and the reference get the same random weights, by name. Then their outputs and gradients
must be the same in evaluation mode. In training mode, dropout must act on what each layer adds to the
residual stream; a module without dropout must compute the same as in evaluation mode. At last, the initial
weights must have the size of the reference's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_lib.formatting import fixed, shape_text
from course_lib.teaching.exercises.answer import copy_value, describe_type, format_value
from course_lib.teaching.exercises.comparison import tensors_match, values_match
from course_lib.teaching.exercises.exercise import Exercise, Slip
from course_lib.teaching.exercises.gradients import compare_gradients
from course_lib.teaching.exercises.guarded_call import call, explain_failure
from course_lib.teaching.exercises.module_names import (
    NO_SUPER,
    NO_SUPER_ADVICE,
    compare_parameters,
    lacks_super,
)
from course_lib.teaching.exercises.time_limit import TimeLimit
from course_lib.teaching.exercises.verdict import (
    Verdict,
    join_paragraphs,
    name_some,
    quote_names,
    wrong_verdict,
)

MOST_PRINTED = 3  # calls whose output is shown
RATE = 0.25  # of dropout, while it is examined
MOST_OFF = 0.08  # how far the fraction of zeros may be from it
MOST_OFF_SIZE = 0.15  # how far the standard deviation of initial weights may be from Xavier's, as a fraction
IN_EVAL = "In evaluation mode, two calls with the same input return different outputs."
IN_EVAL_ADVICE = (
    "Dropout must be off after `eval()`. `nn.Dropout` takes care of that; with `F.dropout`, pass "
    "`training=self.training`."
)
IN_TRAINING = "In training mode, the output differs from the one in evaluation mode."
IN_TRAINING_ADVICE = (
    "This module should compute the same in both modes. If it contains dropout, leave it out: nothing in the "
    "task asks for it here."
)
CHANGES_PARAMETERS = "`forward` changes {}. Set the initial weights once, in `__init__`."
IN_ONE_PIECE = (
    "Dropout sets whole words to 0, or the same components of every word. It should decide for each number "
    "by itself, as `nn.Dropout` does."
)
KEPT_INSTEAD = (
    "`dropout` is the probability of setting a number to 0, not of keeping it: don't subtract it from 1."
)
NO_DROPOUT = "In training mode, dropout has no effect: two calls with the same input give the same output."
WHERE_DROPOUT = (
    "Dropout is applied to the output of each layer, before the addition: `x + dropout(layer(norm(x)))`."
)
IN_PLACE = "Your module changes its input in place, but the caller may still need the original."
SHARED = "Two names share one parameter. Create a separate one for each."
PRAISE = "The names, outputs and gradients match those of the reference{}, and the initial weights are right."


@dataclass(frozen=True, kw_only=True, eq=False)
class ModuleExercise(Exercise):
    """A class to write; see the top of this file. `inputs` are the parameters of its constructor.

    `sizes` are arguments for the constructor, `calls` make the inputs of `forward` for them, by name. If one
    of the constructor's parameters is called "dropout", it is the last; `silenced` then names, for each
    layer, the parameters that must be 0 so that only this layer adds something to the residual stream.
    """

    sizes: tuple[tuple, ...]
    calls: tuple[Callable[..., dict[str, Any]], ...]
    initial_sizes: tuple
    slips: tuple[Slip, ...] = ()
    silenced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def has_dropout(self) -> bool:
        return "dropout" in self.inputs

    def cases(self) -> Iterator[tuple[tuple, dict[str, Any]]]:
        """The arguments of the constructor and the inputs of `forward`, for every call of a check."""
        for sizes in self.sizes:
            for make_inputs in self.calls:
                yield sizes, make_inputs(*sizes)

    def weights(self, sizes: tuple) -> dict[str, Tensor]:
        """Random weights for a module, always the same."""
        generator = torch.Generator("cpu").manual_seed(0)
        state = self.reference(*sizes).state_dict()
        return {name: torch.randn(t.shape, generator=generator) / 2 for name, t in state.items()}

    def build(self, module_class: type, sizes: tuple, **changes: Tensor) -> nn.Module:
        """An instance with these weights."""
        module = module_class(*sizes)
        module.load_state_dict(self.weights(sizes) | changes)
        return module


def judge_module(exercise: ModuleExercise, attempt: type, limit: TimeLimit, printed: list[str]) -> Verdict:
    """The first thing that is wrong, from the construction to the initial weights."""

    def guarded(function: Callable[[], Any], seed: int = 0) -> Any:
        result = call(function, limit, seed=seed)
        if result.printed and len(printed) < MOST_PRINTED:
            printed.append(result.printed)
        if result.failure and lacks_super(None, result.failure.message):
            raise Found(wrong_verdict(NO_SUPER, NO_SUPER_ADVICE, "no-super"))
        if failure := explain_failure(result, exercise.seconds):
            raise Found(failure)
        return result.answer

    steps = [_check_parameters, _check_outputs]
    steps.append(_check_dropout if exercise.has_dropout else _check_training_mode)
    try:
        for step in (*steps, partial(_check_gradients, limit=limit), _check_initial_weights):
            if problem := step(exercise, attempt, guarded):
                return problem
    except Found as found:
        return found.verdict
    and_dropout = ", dropout is on in training mode only" if exercise.has_dropout else ""
    return Verdict("", "passed", PRAISE.format(and_dropout))


class Found(Exception):
    """A call of the learner's code failed; `verdict` says why."""

    def __init__(self, verdict: Verdict):
        self.verdict = verdict


Guarded = Callable[..., Any]  # calls a function of no arguments, with a seed


def _check_parameters(exercise: ModuleExercise, attempt: type, guarded: Guarded) -> Verdict | None:
    for sizes in exercise.sizes:
        module = guarded(lambda sizes=sizes: attempt(*sizes))
        if lacks_super(module):
            return wrong_verdict(NO_SUPER, NO_SUPER_ADVICE, "no-super")
        expected = exercise.weights(sizes)
        if problem := guarded(partial(compare_parameters, module, expected)):
            return problem
        if len(list(module.parameters())) < len(expected):
            return wrong_verdict(SHARED, slip="shared-parameter")
    return None


def _check_outputs(exercise: ModuleExercise, attempt: type, guarded: Guarded) -> Verdict | None:
    """What is wrong with the outputs in evaluation mode, with the slip that explains it."""
    for sizes, inputs in exercise.cases():
        expected = exercise.build(exercise.reference, sizes).eval()(**copy_value(inputs)).detach()
        module, given = guarded(partial(exercise.build, attempt, sizes)).eval(), copy_value(inputs)
        output = guarded(partial(_forward, module, given))
        if not values_match(inputs, copy_value(given), exact_tensors=True):
            return wrong_verdict(IN_PLACE, "Write `x = x + …` instead of `x += …`.", "in-place")
        if problem := _explain_form(output, expected):
            return problem
        weights, after = exercise.weights(sizes), module.state_dict()
        if changed := [name for name in weights if not torch.equal(weights[name], after[name])]:
            return wrong_verdict(CHANGES_PARAMETERS.format(name_some(changed)), slip="changes-parameters")
        if exercise.has_dropout and not values_match(
            output, guarded(partial(_forward, module, copy_value(inputs)), seed=1)
        ):
            return wrong_verdict(IN_EVAL, IN_EVAL_ADVICE, "dropout-in-eval")
        if not tensors_match(expected, output.detach()):
            problem = wrong_verdict(
                "With the same weights, the output differs from that of the reference.",
                given="\n".join(f"{name} = {_describe(value)}" for name, value in inputs.items()),
                expected=format_value(expected.flatten()[:8]) + " …",
                got=format_value(output.detach().flatten()[:8]) + " …",
            )
            return _explain(problem, exercise, attempt)
    return None


def _forward(module: nn.Module, inputs: dict[str, Any]) -> Any:
    return module(*inputs.values())


def _describe(value: Any) -> str:
    return describe_type(value).replace("`", "")


def _explain_form(output: Any, expected: Tensor) -> Verdict | None:
    if output is None:
        headline = "`forward` returned `None`. Did you forget `return`?"
        return wrong_verdict(headline, slip="returns-none")
    if not isinstance(output, Tensor):
        headline = f"`forward` should return a single tensor, but it returned {describe_type(output)}."
        return wrong_verdict(headline, slip="wrong-type")
    if output.shape != expected.shape:
        got, wanted = shape_text(output.shape), shape_text(expected.shape)
        return wrong_verdict(f"The output has shape {got}, but {wanted} is expected.", slip="wrong-shape")
    if output.dtype != expected.dtype:
        return wrong_verdict(f"The output is {output.dtype}, but {expected.dtype} is expected.", slip="dtype")
    return None


def _explain(problem: Verdict, exercise: ModuleExercise, attempt: type) -> Verdict:
    """The problem, with the slip that gives the same outputs: in evaluation mode, and with dropout = 1 in
    training mode, where nothing is left to chance."""
    own = _behaviour(exercise, attempt)
    for slip in exercise.slips:
        if own and values_match(own, _behaviour(exercise, slip.wrong)):
            details = join_paragraphs(f"Likely cause: {slip.message}", problem.details)
            return Verdict(
                **{
                    **vars(problem),
                    "details": details,
                    "slip": slip.name,
                    "misconception": slip.misconception,
                }
            )
    return problem


def _behaviour(exercise: ModuleExercise, module_class: type) -> list[Tensor]:
    """The outputs for every call, in evaluation mode and with all of dropout; none if that fails."""

    def run() -> list[Tensor]:
        outputs = []
        for sizes, inputs in exercise.cases():
            everything = (*sizes[:-1], 1.0) if exercise.has_dropout else sizes
            module = exercise.build(module_class, everything)
            for mode in (False, True)[: 1 + exercise.has_dropout]:
                outputs.append(_forward(module.train(mode), copy_value(inputs)).detach())
        return outputs

    return call(run, TimeLimit(exercise.seconds)).answer or []


def _check_training_mode(exercise: ModuleExercise, attempt: type, guarded: Guarded) -> Verdict | None:
    """A module without dropout must compute the same in training mode."""
    for sizes, inputs in exercise.cases():
        module = guarded(partial(exercise.build, attempt, sizes))
        modes = [
            guarded(lambda mode=mode: _forward(module.train(mode), copy_value(inputs)))  # noqa: B023
            for mode in (False, True)
        ]
        if not values_match(*modes):
            return wrong_verdict(IN_TRAINING, IN_TRAINING_ADVICE, "mode-dependent")
    return None


def _check_dropout(exercise: ModuleExercise, attempt: type, guarded: Guarded) -> Verdict | None:
    """Each number that a layer adds must be 0, or its value in evaluation mode divided by 1 − p."""
    sizes = (*exercise.sizes[0][:-1], RATE)
    inputs = exercise.calls[0](*sizes)
    x = next(iter(inputs.values())).repeat(16, *[1] * (next(iter(inputs.values())).ndim - 1))
    module = guarded(partial(exercise.build, attempt, sizes))
    first, second = (guarded(lambda: module.train()(x), seed=seed) for seed in (0, 1))
    if torch.equal(first, second):
        return _explain(wrong_verdict(NO_DROPOUT, WHERE_DROPOUT, "dropout-elsewhere"), exercise, attempt)
    for layer, names in exercise.silenced.items():
        zeros = {name: torch.zeros_like(exercise.weights(sizes)[name]) for name in names}
        module = guarded(partial(exercise.build, attempt, sizes, **zeros))
        whole = exercise.build(exercise.reference, sizes, **zeros).eval()(x) - x
        change = guarded(lambda module=module: module.train()(x)) - x
        is_zero = change.abs() < 1e-6
        factor = (change / whole)[~is_zero].median().item() if not is_zero.all() else 0.0
        if is_zero.all() or not torch.allclose(change[~is_zero], factor * whole[~is_zero], atol=1e-4):
            headline = f"In training mode, dropout isn't applied to the output of the {layer} alone."
            return _explain(wrong_verdict(headline, WHERE_DROPOUT, "dropout-elsewhere"), exercise, attempt)
        fraction = is_zero.float().mean().item()
        if abs(fraction - RATE) > MOST_OFF:
            percent = fixed(100 * fraction, 0)
            headline = f"With dropout = {RATE}, {percent}% of the {layer}'s output is set to 0."
            if abs(fraction - (1 - RATE)) < MOST_OFF:
                return wrong_verdict(headline, KEPT_INSTEAD, "keep-probability")
            advice = "Is `dropout` passed on to `nn.Dropout`, and is it applied exactly once to each layer?"
            return _explain(wrong_verdict(headline, advice, "dropout-rate"), exercise, attempt)
        if abs(factor * (1 - RATE) - 1) > 1e-3:
            headline = (
                f"The numbers that dropout leaves in the output of the {layer} aren't divided by 1 − p."
            )
            return wrong_verdict(headline, "`nn.Dropout` does that for you.", "dropout-not-scaled")
        if any(torch.equal(is_zero, is_zero.narrow(axis, 0, 1).expand_as(is_zero)) for axis in range(x.ndim)):
            headline = f"In training mode, the output of the {layer} isn't set to 0 number by number."
            return wrong_verdict(headline, IN_ONE_PIECE, "dropout-in-one-piece")
    return None


def _check_gradients(
    exercise: ModuleExercise, attempt: type, guarded: Guarded, limit: TimeLimit
) -> Verdict | None:
    """What is wrong with the gradients, with respect to the inputs and to every parameter."""

    def as_function(module_class: type, sizes: tuple) -> Callable:
        """The module as a function of its weights and its inputs."""
        module = exercise.build(module_class, sizes).eval()
        return lambda weights, *inputs: functional_call(module, weights, inputs)

    for sizes, inputs in exercise.cases():
        right, own = as_function(exercise.reference, sizes), as_function(attempt, sizes)

        def make(sizes: tuple = sizes, inputs: dict = inputs) -> tuple:
            return exercise.weights(sizes), *copy_value(inputs).values()

        if problem := compare_gradients(own, right, make, ["weights", *inputs], limit):
            return problem
    return None


def _check_initial_weights(exercise: ModuleExercise, attempt: type, guarded: Guarded) -> Verdict | None:
    own = guarded(lambda: attempt(*exercise.initial_sizes)).state_dict()
    right = exercise.reference(*exercise.initial_sizes).state_dict()
    for name, expected in right.items():
        if expected.std() == 0 and not torch.equal(own[name], expected):
            value = fixed(expected.flatten()[0], 0)
            headline = f"The numbers in `{name}` should all be {value} before training."
            advice = "Leave `nn.LayerNorm` as it is; it needs no initialisation."
            if ".norm." not in f".{name}":
                advice = f"`nn.init.zeros_(self.{name})` fills it with zeros."
            return wrong_verdict(headline, advice, "initial-values")
        if expected.std() == 0:
            continue
        spread, wanted = own[name].std().item(), expected.std().item()
        if abs(spread / wanted - 1) > MOST_OFF_SIZE or abs(own[name].mean()) > wanted / 4:
            headline = (
                f"The initial weights of `{name}` have a standard deviation of {fixed(spread, 3)}, but "
                f"{fixed(wanted, 3)} is expected."
            )
            return wrong_verdict(headline, _advise_size(name, own[name], spread), "initial-size")
    again = guarded(lambda: attempt(*exercise.initial_sizes), seed=1).state_dict()
    if same := [name for name, t in own.items() if t.std() > 0 and torch.equal(t, again[name])]:
        headline = f"{quote_names(same[:3])} starts with the same numbers in every new module."
        return wrong_verdict(headline, "Don't set a random seed inside the module.", "fixed-seed")
    return None


def _advise_size(name: str, weight: Tensor, spread: float) -> str:
    default = (3 * weight.shape[-1]) ** -0.5
    cause = ""
    if spread == 0:
        cause = "All its weights are equal, so all units would compute the same and stay the same."
    elif abs(spread / default - 1) < 0.05:
        cause = "That is the default of `nn.Linear`."
    return f"{cause} Use `nn.init.xavier_uniform_` for `{name}`.".strip()
