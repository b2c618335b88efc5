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

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_lib.formatting import fixed, shape_text
from course_lib.teaching.exercises.answer import (
    Answer,
    assign_text,
    copy_value,
    describe_type,
    format_value,
    read_outputs,
)
from course_lib.teaching.exercises.comparison import tensors_match, values_match
from course_lib.teaching.exercises.examination import Examination
from course_lib.teaching.exercises.exercise import Slip
from course_lib.teaching.exercises.function_examination import FunctionExamination
from course_lib.teaching.exercises.function_exercise import Case, FunctionExercise, Trial
from course_lib.teaching.exercises.guarded_call import call
from course_lib.teaching.exercises.module_names import compare_parameters
from course_lib.teaching.exercises.verdict import (
    Verdict,
    join_paragraphs,
    name_some,
    quote_names,
    wrong_verdict,
)

RATE = 0.25  # of dropout, while it is examined
MOST_OFF = 0.08  # how far the fraction of zeros may be from it
MOST_OFF_SIZE = 0.15  # how far the standard deviation of initial weights may be from Xavier's, as a fraction
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
SHARED = "Two names share one parameter. Create a separate one for each."
PRAISE = "The names, outputs and gradients match those of the reference{}, and the initial weights are right."


@dataclass(frozen=True, eq=False)
class ModuleCase(Case):
    """A call of a module that was constructed with these sizes."""

    sizes: tuple = ()
    training: bool = False

    @property
    def ordinary(self) -> bool:
        return not self.training


@dataclass(frozen=True, kw_only=True, eq=False)
class ModuleExercise(FunctionExercise):
    """A class to write; see the top of this file. `inputs` are the parameters of its constructor.

    `sizes` are arguments for the constructor, `calls` make the inputs of `forward` for them, by name. If one
    of the constructor's parameters is called "dropout", it is the last; `silenced` then names, for each
    layer, the parameters that must be 0 so that only this layer adds something to the residual stream.
    """

    sizes: tuple[tuple, ...]
    calls: tuple[Callable[..., dict[str, Any]], ...]
    initial_sizes: tuple
    silenced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    CHANCE: ClassVar = (
        "In evaluation mode, two calls with the same input return different outputs.",
        IN_EVAL_ADVICE,
        "dropout-in-eval",
    )

    @property
    def has_dropout(self) -> bool:
        return "dropout" in self.inputs

    @property
    def names(self) -> list[str]:
        return ["weights", *self.calls[0](*self.sizes[0])]

    # ---- the cases: in evaluation mode; and to recognise a slip, with a dropout rate of 1 in training mode

    def _make_cases(self) -> list[Case]:
        pairs = [(sizes, make_inputs) for sizes in self.sizes for make_inputs in self.calls]
        silent = [((*sizes[:-1], 1.0), make_inputs) for sizes, make_inputs in pairs if self.has_dropout]
        return [
            *(self._make_case(sizes, make_inputs, False) for sizes, make_inputs in pairs),
            *(self._make_case(sizes, make_inputs, True) for sizes, make_inputs in silent),
        ]

    def _make_case(self, sizes: tuple, make_inputs: Callable[..., dict], training: bool) -> ModuleCase:
        inputs = (self.weights(sizes), *make_inputs(*sizes).values())

        def make() -> tuple:
            return copy_value(inputs)

        case = ModuleCase(make, sizes=sizes, training=training)
        return replace(case, expected=self.as_function(self.reference, case)(*make()).detach())

    def weights(self, sizes: tuple) -> dict[str, Tensor]:
        """Random weights for a module, always the same."""
        generator = torch.Generator("cpu").manual_seed(0)
        state = self.reference(*sizes).state_dict()
        return {name: torch.randn(t.shape, generator=generator) / 2 for name, t in state.items()}

    def as_function(self, module_class: type, case: ModuleCase) -> Callable:
        """The module as a function of its weights and its inputs."""

        def function(weights: dict[str, Tensor], *inputs: Any) -> Any:
            module = module_class(*case.sizes).train(case.training)
            if case.training:
                torch.manual_seed(0)  # two ways of writing the same wrong dropout are equal
            return functional_call(module, weights, inputs)

        return function

    def build(self, module_class: type, sizes: tuple, **changes: Tensor) -> nn.Module:
        """An instance with these weights."""
        module = module_class(*sizes)
        module.load_state_dict(self.weights(sizes) | changes)
        return module

    def describe_call(self, case: Case) -> str:
        inputs = zip(self.names[1:], case.make()[1:], strict=True)
        return "\n".join(assign_text(name, describe_type(value).replace("`", "")) for name, value in inputs)

    # ---- what is wrong

    def find_early_problem(self, examination: Examination) -> Verdict | None:
        """What is wrong with the parameters, before and after a call."""
        for sizes in self.sizes:
            module = examination.answer(lambda sizes=sizes: examination.attempt(*sizes))
            expected = self.weights(sizes)
            if problem := examination.answer(partial(compare_parameters, module, expected)):
                return problem
            if len(list(module.parameters())) < len(expected):
                return wrong_verdict(SHARED, slip="shared-parameter")
        weights, *inputs = self.cases[0].make()
        module = examination.answer(lambda: self.build(examination.attempt, self.sizes[0])).eval()
        call(lambda: module(*inputs), examination.limit)  # what it prints, or why it fails, comes later
        after = module.state_dict()
        if changed := [name for name in weights if not torch.equal(weights[name], after[name])]:
            return wrong_verdict(CHANGES_PARAMETERS.format(name_some(changed)), slip="changes-parameters")
        return None

    def read(self, value: Any, case: Case) -> Answer | Verdict:
        answer = read_outputs(value, {"output": case.expected.dtype})
        if isinstance(answer, Answer):
            return answer
        return replace(answer, headline=re.sub("[Yy]our function", "`forward`", answer.headline))

    def find_problem(self, trials: list[Trial]) -> Verdict | None:
        """What is wrong with the outputs in evaluation mode."""
        for case, (got,) in trials:
            expected = case.expected
            if case.training or tensors_match(expected, got):
                continue
            if expected.shape != got.shape:
                shapes = shape_text(got.shape), shape_text(expected.shape)
                headline = "The output has shape {}, but {} is expected.".format(*shapes)
                return wrong_verdict(headline, slip="wrong-shape")
            return wrong_verdict(
                "With the same weights, the output differs from that of the reference.",
                given=self.describe_call(case),
                expected=format_value(expected.flatten()[:8]) + " …",
                got=format_value(got.flatten()[:8]) + " …",
            )
        return None

    def behaves_like(self, function: Callable, trial: Trial) -> bool:
        output = self.as_function(function, trial.case)(*trial.case.make())
        return tensors_match(output.detach(), trial.answer[0], atol=1e-6)

    def derived_slips(self, trials: list[Trial]) -> Iterable[Slip]:
        return ()

    def find_further_problem(self, examination: FunctionExamination) -> Verdict | None:
        check = self._check_dropout if self.has_dropout else self._check_training_mode
        if problem := check(examination):
            is_known = problem.slip in ("dropout-elsewhere", "dropout-rate")
            return examination.explained(problem, all_right=True) if is_known else problem
        return super().find_further_problem(examination) or self._check_initial_weights(examination)

    def praise(self, n_others: int) -> str:
        return PRAISE.format(", dropout is on in training mode only" if self.has_dropout else "")

    def _check_training_mode(self, examination: Examination) -> Verdict | None:
        """A module without dropout must compute the same in training mode."""
        for case in self.cases:
            function = self.as_function(examination.attempt, replace(case, training=True))
            if not values_match(case.expected, examination.answer(partial(function, *case.make()))):
                return wrong_verdict(IN_TRAINING, IN_TRAINING_ADVICE, "mode-dependent")
        return None

    def _check_dropout(self, examination: Examination) -> Verdict | None:
        """Each number that a layer adds must be 0, or its value in evaluation mode divided by 1 − p."""
        sizes = (*self.sizes[0][:-1], RATE)
        inputs = self.calls[0](*sizes)
        x = next(iter(inputs.values())).repeat(16, *[1] * (next(iter(inputs.values())).ndim - 1))
        module = examination.answer(partial(self.build, examination.attempt, sizes))
        first, second = (examination.answer(lambda: module.train()(x), seed=seed) for seed in (0, 1))
        if torch.equal(first, second):
            return wrong_verdict(NO_DROPOUT, WHERE_DROPOUT, "dropout-elsewhere")
        for layer, names in self.silenced.items():
            zeros = {name: torch.zeros_like(self.weights(sizes)[name]) for name in names}
            module = examination.answer(partial(self.build, examination.attempt, sizes, **zeros))
            whole = self.build(self.reference, sizes, **zeros).eval()(x) - x
            change = examination.answer(lambda module=module: module.train()(x)) - x
            is_zero = change.abs() < 1e-6
            factor = (change / whole)[~is_zero].median().item() if not is_zero.all() else 0.0
            if is_zero.all() or not torch.allclose(change[~is_zero], factor * whole[~is_zero], atol=1e-4):
                headline = f"In training mode, dropout isn't applied to the output of the {layer} alone."
                return wrong_verdict(headline, WHERE_DROPOUT, "dropout-elsewhere")
            fraction = is_zero.float().mean().item()
            if abs(fraction - RATE) > MOST_OFF:
                percent = fixed(100 * fraction, 0)
                headline = f"With dropout = {RATE}, {percent}% of the {layer}'s output is set to 0."
                if abs(fraction - (1 - RATE)) < MOST_OFF:
                    return wrong_verdict(headline, KEPT_INSTEAD, "keep-probability")
                advice = (
                    "Is `dropout` passed on to `nn.Dropout`, and is it applied exactly once to each layer?"
                )
                return wrong_verdict(headline, advice, "dropout-rate")
            if abs(factor * (1 - RATE) - 1) > 1e-3:
                headline = (
                    f"The numbers that dropout leaves in the output of the {layer} aren't divided by 1 − p."
                )
                return wrong_verdict(headline, "`nn.Dropout` does that for you.", "dropout-not-scaled")
            if any(
                torch.equal(is_zero, is_zero.narrow(axis, 0, 1).expand_as(is_zero)) for axis in range(x.ndim)
            ):
                headline = f"In training mode, the output of the {layer} isn't set to 0 number by number."
                return wrong_verdict(headline, IN_ONE_PIECE, "dropout-in-one-piece")
        return None

    def _check_initial_weights(self, examination: Examination) -> Verdict | None:
        own = examination.answer(lambda: examination.attempt(*self.initial_sizes)).state_dict()
        right = self.reference(*self.initial_sizes).state_dict()
        problems = {name: _explain_start(name, own[name], expected) for name, expected in right.items()}
        if wrong := [name for name, problem in problems.items() if problem]:
            first = problems[wrong[0]]
            others = f"{quote_names(wrong[1:])} should start with other numbers too." if wrong[1:] else ""
            return replace(first, details=join_paragraphs(first.details, others))
        again = examination.answer(lambda: examination.attempt(*self.initial_sizes), seed=1).state_dict()
        if same := [name for name, t in own.items() if t.std() > 0 and torch.equal(t, again[name])]:
            headline = f"{quote_names(same[:3])} starts with the same numbers in every new module."
            return wrong_verdict(headline, "Don't set a random seed inside the module.", "fixed-seed")
        return None


def _explain_start(name: str, own: Tensor, expected: Tensor) -> Verdict | None:
    """What is wrong with the initial numbers of a parameter; those of the reference are an example."""
    if expected.std() == 0:
        if torch.equal(own, expected):
            return None
        headline = f"The numbers in `{name}` should all be {fixed(expected.flatten()[0], 0)} before training."
        advice = "Leave `nn.LayerNorm` as it is; it needs no initialisation."
        if ".norm." not in f".{name}":
            advice = f"`nn.init.zeros_(self.{name})` fills it with zeros."
        return wrong_verdict(headline, advice, "initial-values")
    spread, wanted = own.std().item(), expected.std().item()
    if abs(spread / wanted - 1) <= MOST_OFF_SIZE and abs(own.mean()) <= wanted / 4:
        return None
    headline = (
        f"The initial weights of `{name}` have a standard deviation of {fixed(spread, 3)}, but "
        f"{fixed(wanted, 3)} is expected."
    )
    return wrong_verdict(headline, _advise_size(name, own, spread), "initial-size")


def _advise_size(name: str, weight: Tensor, spread: float) -> str:
    default = (3 * weight.shape[-1]) ** -0.5
    cause = ""
    if spread == 0:
        cause = "All its weights are equal, so all units would compute the same and stay the same."
    elif abs(spread / default - 1) < 0.05:
        cause = "That is the default of `nn.Linear`."
    return f"{cause} Use `nn.init.xavier_uniform_` for `{name}`.".strip()
