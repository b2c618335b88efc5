"""The modules of an unfinished file, each examined on its own, as in lesson 13."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import torch
from torch import nn

from course_lib.teaching.exercises.catalogue import find_exercise
from course_lib.teaching.exercises.exercise import Slip
from course_lib.teaching.exercises.function_examination import FunctionExamination
from course_lib.teaching.exercises.module_exercise import ModuleExercise
from course_lib.teaching.exercises.verdict import join_paragraphs, join_words
from lessons.l14_the_transformer.file_examination import FileExamination
from lessons.l14_the_transformer.reference_transformer import MultiHead

ACCEPTED = ("initial-size", "initial-values")  # the whole model is examined for it at the end


def attention_inputs(d_model: int, n_heads: int) -> dict[str, Any]:
    generator = torch.Generator("cpu").manual_seed(d_model)
    x, source = (torch.randn(2, n, d_model, generator=generator) for n in (3, 5))
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None]
    return {"x": x, "source": source, "mask": mask}


class NoScale(MultiHead):
    def forward(self, x, source, mask=None):
        return super().forward(x * (x.shape[-1] // self.n_heads) ** 0.5, source, mask)


class NoMask(MultiHead):
    def forward(self, x, source, mask=None):
        return super().forward(x, source)


class Inverted(MultiHead):
    def forward(self, x, source, mask=None):
        return super().forward(x, source, ~mask)


@cache
def modules() -> dict[str, ModuleExercise]:
    """By the name of the class."""
    multi_head = ModuleExercise(
        name="MultiHead",
        lesson="the_transformer",
        inputs=("d_model", "n_heads"),
        reference=MultiHead,
        sizes=((6, 2), (8, 4)),
        calls=(attention_inputs,),
        initial_sizes=(64, 4),
        slips=(
            Slip("no-scale", NoScale, "the scores aren't divided by √d_k."),
            Slip("mask-ignored", NoMask, "the attention mask is never used."),
            Slip("mask-inverted", Inverted, "the mask is inverted: True means *may attend*."),
        ),
    )
    of_lesson_13 = {name: find_exercise(name) for name in ("FeedForward", "EncoderBlock")}
    return {"MultiHead": multi_head, **of_lesson_13}


def describe_others(examination: FileExamination, namespace: dict[str, Any]) -> str:
    """What to do next, and which classes can't be examined on their own."""
    examined = examination.done + ["`Residual`"] * ("`EncoderBlock`" in examination.done)
    own = [
        value
        for value in namespace.values()
        if isinstance(value, type)
        and issubclass(value, nn.Module)
        and value.__module__ == namespace["__name__"]
    ]
    others = [name for module in own if (name := f"`{module.__name__}`") not in examined]
    later = ""
    if others:
        verb = "is" if len(others) == 1 else "are"
        later = f"{join_words(others)} {verb} checked later, with the rest of the model."
    return join_paragraphs("Go on with the next module, and check again.", later)


def check_modules(examination: FileExamination, namespace: dict[str, Any]) -> None:
    """Examine each module that the file defines; the first that is wrong ends the examination."""
    for name, exercise in modules().items():
        module_class = namespace.get(name)
        if not (isinstance(module_class, type) and issubclass(module_class, nn.Module)):
            continue
        try:
            inspect.signature(module_class).bind(*exercise.inputs)
        except TypeError:
            continue  # another design, which can only be examined as a part of the whole model
        of_module = FunctionExamination(exercise, module_class, examination.limit, examination.printed)
        verdict = of_module.verdict()
        if "NotImplementedError" in verdict.details or "required positional argument" in verdict.details:
            continue  # a skeleton, or a `forward` with other inputs
        if verdict.status == "wrong" and verdict.slip not in ACCEPTED:
            headline = f"`{name}`: {verdict.headline[0].lower()}{verdict.headline[1:]}"
            numbers = {"given": verdict.given, "expected": verdict.expected, "got": verdict.got}
            raise examination.wrong(headline, verdict.details, verdict.slip, **numbers)
        if verdict.status != "wrong" or verdict.slip in ACCEPTED:
            examination.done.append(f"`{name}`")
