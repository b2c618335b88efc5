"""The check of `my_transformer.py`: how far a learner's Transformer is right, and what to do next.

    >>> from course_lib.teaching.exercises import judge
    >>> judge(MY_TRANSFORMER, REFERENCE).status
    'passed'

The file is examined in the order in which it is written. It is run; its parameters are compared with those of
the shipped Transformer; with the shipped weights, it must compute the same at every stage from the source
embeddings to the logits. Then come `forward`, other sizes, gradients, dropout, the device, and the initial
weights. A file that is right as far as it goes, but not finished, isn't called wrong.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.formatting import fixed, shape_text
from course_lib.models.own_file import CLASS, FILE, SIZES, is_empty, run_file
from course_lib.teaching.exercises.examination import Found
from course_lib.teaching.exercises.exercise import FileExercise
from course_lib.teaching.exercises.function_examination import NEW_TENSOR
from course_lib.teaching.exercises.module_exercise import IN_EVAL_ADVICE
from course_lib.teaching.exercises.module_names import compare_parameters
from course_lib.teaching.exercises.verdict import Verdict, join_paragraphs, join_words, quote_names
from lessons.l14_the_transformer import file_modules
from lessons.l14_the_transformer.by_own_parts import own_parts
from lessons.l14_the_transformer.file_examination import FileExamination
from lessons.l14_the_transformer.file_slips import FORWARD_SLIPS, REFERENCE, SLIPS, FileSlip
from lessons.l14_the_transformer.file_stages import (
    MOST_OFF,
    Stages,
    as_tensor,
    batch,
    faulty,
    faulty_stages,
    filled,
    reference_class,
    reference_stages,
    run_stages,
    same,
    shipped,
    stage_names,
)

SECONDS = 20.0
# d_k is 32: with the shipped 16, a hard-wired head size would be right by chance
OTHER_SIZES = {"vocab_size": 97, "d_model": 96, "n_heads": 3, "d_ff": 80, "n_layers": 2, "dropout": 0.0}
LONGEST = 100  # tokens
MOST_NAMES = 6  # in a list
IN_PLACE = re.compile(r"[-+*/]= |(?<!init)(?<!data)\.\w+[a-z]_\(")
MOST_OFF_SIZE = 1.4  # the factor by which an initial standard deviation may differ from the reference's
INTERFACE = f"{CLASS}({', '.join(SIZES)})"
METHODS = {"encode": "(source, mask)", "decode": "(target, memory, mask)", "forward": "(source, target)"}


# ---- the examination


class TransformerExamination(FileExamination):
    namespace: dict[str, Any] | None = None  # of a file with a Transformer

    def so_far(self) -> str:
        """With the modules that are right on their own; they are examined only if something is wrong."""
        if self.namespace:
            namespace, self.namespace = self.namespace, None
            with suppress(Found):  # a wrong module is noticed at its stage
                file_modules.check_modules(self, namespace)
        return super().so_far()

    def examine(self) -> Verdict:
        made_by = find_class(self)
        partly = check_names(self, made_by)
        check_stages(self, made_by, partly)
        for step in (check_forward, check_other_sizes, check_dropout, check_device, check_initial_weights):
            step(self, made_by)
        return Verdict(
            "",
            "passed",
            "This is a Transformer, written from an empty file. With the shipped weights, every stage from "
            "the source embeddings to the logits agrees with the course's own.",
            "Padding, other sizes, gradients, dropout, the device and the initial weights are right too. "
            "Lesson 15 trains exactly this file.",
        )


def find_class(examination: FileExamination) -> Callable[..., nn.Module]:
    """The class of the file. Without one, the modules that are there are examined on their own."""
    path = examination.attempt
    if is_empty(path):
        headline = f"{FILE} is still empty." if path.is_file() else f"There is no file {FILE} yet."
        advice = "Write your first class into it, save it, and run this cell again."
        raise Found(Verdict("", "not tried", headline, advice))
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    except SyntaxError as error:
        line = f"line {error.lineno}: `{(error.text or '').strip()}`" if error.lineno else ""
        raise examination.wrong(f"Python can't read the file: {error.msg}.", line, "syntax") from None
    except (MemoryError, RecursionError):
        headline = "Python can't read the file: it is nested too deeply."
        raise examination.wrong(headline, "", "syntax") from None
    except ValueError as error:  # not UTF-8, or a null character
        raise examination.wrong(f"The file isn't readable as text: {error}.", "", "syntax") from None
    namespace = examination.guarded("The file", lambda: run_file(path))
    found = namespace.get(CLASS)
    if found is None:
        file_modules.check_modules(examination, namespace)
        raise examination.unfinished(
            f"There is no class `{CLASS}` yet.", file_modules.describe_others(examination, namespace)
        )
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        headline = f"`{CLASS}` isn't a subclass of `nn.Module`."
        raise examination.wrong(headline, f"Start it with `class {CLASS}(nn.Module):`.", "not-a-module")
    examination.done.append("the file runs")
    examination.namespace = namespace
    try:
        inspect.signature(found).bind(**dict.fromkeys(SIZES))
    except TypeError:
        details = f"Expected `{INTERFACE}`, but yours is `{CLASS}{inspect.signature(found)}`."
        headline = f"`{CLASS}` can't be constructed with these six arguments by name."
        raise examination.wrong(headline, details, "constructor") from None
    return found


def check_names(examination: FileExamination, made_by: Callable[..., nn.Module]) -> set[str]:
    """The stacks that are still missing altogether ("encoder", "decoder"); any other difference is wrong."""
    sizes, expected = shipped()
    try:
        model = examination.guarded(f"`{INTERFACE}`", lambda: made_by(**sizes))
    except Found as found:
        if found.verdict.status == "unfinished":  # a skeleton that isn't filled in yet
            file_modules.check_modules(examination, made_by.__init__.__globals__)
            headline = f"`{CLASS}` can't be constructed yet, because some classes aren't written."
            raise examination.unfinished(headline, "Write the next one, and check again.") from None
        raise
    own = examination.guarded("`state_dict()`", model.state_dict)
    missing = [name for name in expected if name not in own]
    partly = {side for side in ("encoder", "decoder") if not any(name.startswith(side) for name in own)}
    partly = {side for side in partly if not hasattr(model, side)}  # a Python list isn't registered
    wanted = {name: w for name, w in expected.items() if name.split(".")[0] not in partly}
    problem = examination.guarded("the model", lambda: compare_parameters(model, wanted))
    if problem and problem.slip == "parameter-names":
        problem = replace(problem, details=describe_names(model, own, wanted))
    if problem:
        raise examination.wrong(problem.headline, problem.details, problem.slip)
    by_id: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        by_id.setdefault(id(parameter), []).append(name)
    if shared_names := next((names for names in by_id.values() if len(names) > 1), None):
        headline = f"{join_words([f'`{name}`' for name in shared_names[:3]])} are one and the same parameter."
        advice = "`[Block()] * 3` contains one block three times. Call `Block()` once for each, in a loop."
        raise examination.wrong(headline, advice, "shared-parameter")
    if "encoder" in partly:
        raise examination.unfinished("Next: the encoder.", f"Missing: {grouped(missing)}.")
    examination.done.append(f"{len(own)} names and shapes of parameters")
    return partly


def describe_names(model: nn.Module, own: dict[str, Tensor], expected: dict[str, Tensor]) -> str:
    missing = [name for name in expected if name not in own]
    unexpected = [name for name in own if name not in expected]
    buffers = [name for name in unexpected if name in dict(model.named_buffers())]
    texts = [f"Missing: {grouped(missing)}." if missing else ""]
    texts += [f"Unexpected: {grouped(unexpected)}." if unexpected else ""]
    texts += ["The names come from the attributes: `self.inner = nn.Linear(…)` gives `inner.weight`."]
    parameters = dict(model.named_parameters(remove_duplicate=False))
    of_expected = {id(parameter): name for name, parameter in parameters.items() if name in expected}
    for name in unexpected:
        if twin := of_expected.get(id(parameters.get(name))):
            texts.append(
                f"`{name}` and `{twin}` are one tensor with two names, and the trained model has only the "
                "second. A row of it needs no module of its own: `self.output.weight[tokens]`."
            )
    if buffers:
        texts.append(
            f"{grouped(buffers)} is a buffer, which is saved like a parameter unless you write "
            "`register_buffer(…, persistent=False)`."
        )
    return join_paragraphs(*texts)


def grouped(names: list[str]) -> str:
    """Names in order, with the numbers of blocks joined: `encoder.blocks.0–2.attention.w_key`."""
    groups: dict[str, list[int]] = {}
    for name in names:
        number = re.search(r"(?<=blocks\.)\d+", name)
        pattern = re.sub(r"(?<=blocks\.)\d+", "*", name)
        groups.setdefault(pattern, []).append(int(number[0]) if number else -1)
    texts = []
    for pattern, numbers in groups.items():
        span = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
        texts.append(f"`{pattern.replace('*', span)}`")
    more = len(texts) - MOST_NAMES
    return join_words(texts[:MOST_NAMES] + ([f"{more} more"] if more > 0 else []))


def need(examination: FileExamination, model: nn.Module, method: str) -> None:
    """End the examination, without blame, if a method isn't written yet."""
    inherited = method == "forward" and type(model).forward is nn.Module.forward
    if inherited or not callable(getattr(model, method, None)):
        raise examination.unfinished(f"Next: the method `{method}{METHODS[method]}`.")


def check_stages(examination: FileExamination, made_by: Callable[..., nn.Module], partly: set[str]) -> None:
    """Compare every stage with the reference's, and name the mistake at the first that differs."""
    n_layers, weights = shipped()[0]["n_layers"], shipped()[1]
    with_decoder = "decoder" not in partly
    model = examination.guarded(f"`{INTERFACE}`", lambda: made_by(**shipped()[0]))
    model.load_state_dict({name: w for name, w in weights.items() if name in model.state_dict()})
    model.eval()
    need(examination, model, "encode")
    has_decode = with_decoder and callable(getattr(model, "decode", None))
    mine: Stages = {}
    again: Stages = {}
    failure, changed, so_far = None, [], ""
    try:
        run = partial(run_stages, model, n_layers=n_layers, decode=has_decode)
        changed = examination.guarded("Your model", partial(run, mine))
        examination.guarded("Your model", partial(run, again), seed=1)
    except Found as found:
        failure, so_far = found, examination.so_far()
    refuse_changed(examination, changed)
    right = reference_stages()
    names = [name for name in stage_names(n_layers) if name in mine]
    if random := next((name for name in names if name in again and not same(mine[name], again[name])), None):
        headline = f"In evaluation mode, two calls give different numbers at the stage “{random}”."
        raise examination.wrong(headline, IN_EVAL_ADVICE, "dropout-in-eval")
    first = find_first_difference({name: mine[name] for name in names}, right)
    agreeing = names[: names.index(first)] if first else names
    if agreeing:
        examination.done.append(list_stages(agreeing))
    if first:
        raise explain_stage(examination, model, first, mine)
    if failure:
        where = on_the_way(mine, n_layers) if failure.verdict.status == "wrong" else ""
        details = failure.verdict.details.removesuffix(so_far).strip()
        details = join_paragraphs(details, where, examination.so_far())
        raise Found(replace(failure.verdict, details=details))
    if not with_decoder:
        raise examination.unfinished("The encoder is complete. Next: the decoder.")
    need(examination, model, "decode")


def refuse_changed(examination: FileExamination, changed: list[str]) -> None:
    if changed:
        headline = f"Your model changes {quote_names(changed)} in place, but the caller needs the original."
        raise examination.wrong(headline, NEW_TENSOR, "in-place")


def on_the_way(mine: Stages, n_layers: int) -> str:
    """Where a model was when it raised an exception: the stage after the last one that it reached."""
    names = stage_names(n_layers)
    reached = max((names.index(name) for name in mine), default=-1)
    following = names[min(reached + 1, len(names) - 1)]
    return f"This happened on the way to the stage “{following}”. {hint_for(following)}"


def list_stages(names: list[str]) -> str:
    whole = [name for name in names if ", after" not in name]
    if len(whole) > 1:
        return f"the stages from “{whole[0]}” to “{names[-1]}”"
    return f"the stage “{names[-1]}”"


def find_first_difference(mine: Stages, right: Stages) -> str | None:
    """By the learner's own function from this lesson, if it passed its check."""
    for name, numbers in mine.items():  # shapes first: subtracting would broadcast or fail
        if numbers.shape != right[name].shape:
            mine = {earlier: mine[earlier] for earlier in list(mine)[: list(mine).index(name)]}
            right_part = {earlier: right[earlier] for earlier in mine}
            return _own_first_difference(mine, right_part) or name
    return _own_first_difference(mine, {name: right[name] for name in mine})


def _own_first_difference(mine: Stages, right: Stages) -> str | None:
    [first_difference] = own_parts("first_difference")
    found = first_difference(mine, right, MOST_OFF) if mine else "nowhere"
    return None if found == "nowhere" else found


STAGE_HINTS = {
    "embeddings": "Rows of `words.output.weight`, times √d_model, plus the positions: see section 2.",
    "after attention": "Look at the first half of the block: norm, attention, addition, in this order.",
    "after self-attention": "Look at the causal mask, and at where queries, keys and values come from.",
    "after cross-attention": "Queries come from the target, keys and values from the memory; the mask hides "
    "the padding of the source.",
    "memory": "After the last block comes `last_norm`, and nothing else.",
    "last norm": "After the last block comes `decoder.last_norm`, and nothing else.",
    "logits": "The logits are `words.output` of the normalised states, and nothing else.",
    "block": "Look at the last part of the block: norm, feed-forward layer with ReLU, addition.",
}


def explain_stage(examination: FileExamination, model: nn.Module, stage: str, stages: Stages) -> Found:
    """What is wrong at the first stage that differs, with the mistake's name if it is a known one."""
    mine, right = stages[stage], reference_stages()[stage]
    if mine.shape != right.shape:
        shapes = f"the shape is {shape_text(mine.shape)}; {shape_text(right.shape)} is expected"
        headline = f"At the stage “{stage}”, {shapes}."
        return examination.wrong(headline, hint_for(stage), "stage-shape")
    gap = (mine - right).abs().max()
    amount = "there are NaNs" if gap.isnan() else f"the numbers differ by up to {fixed(gap, 3)}"
    headline = f"The first difference is at the stage “{stage}”: {amount}."
    known = recognise(stages, stage)
    details = f"Likely cause: {known.message}" if known else copied_table(model) or hint_for(stage)
    if stage == "logits" and "last norm" not in stages and not known:
        details = "`decoder.last_norm` is never called. It comes after the last block, before `words.output`."
    sentence, word = divmod(int((mine - right).abs().amax(dim=-1).argmax()), mine.shape[1])
    where = f"{shape_text(right.shape)}; sentence {sentence}, position {word} (both from 0) begins with"
    numbers = {
        "expected": f"{where}\n{fixed(right[sentence, word, :4], 3)}",
        "got": f"{where}\n{fixed(mine[sentence, word, :4], 3)}",
    }
    return examination.wrong(headline, details, known.name if known else "stage-differs", **numbers)


def recognise(mine: Stages, first: str) -> FileSlip | None:
    """The known mistake that gives the same numbers up to the first wrong stage. If several do, the one that
    gives the same numbers at the most later stages."""
    names = [name for name in stage_names(shipped()[0]["n_layers"]) if name in mine]
    up_to_first = names[: names.index(first) + 1]

    def n_same(slip: FileSlip) -> int:
        wrong = faulty_stages(slip)
        agrees = [name in wrong and same(mine[name], wrong[name]) for name in names]
        return sum(agrees) if all(agrees[: len(up_to_first)]) else 0

    best = max(SLIPS, key=n_same)
    return best if n_same(best) else None


def copied_table(model: nn.Module) -> str:
    """About a tensor that has the embeddings' shape but isn't a parameter; "" if there is none."""
    shape = shipped()[1]["words.output.weight"].shape
    for part, module in model.named_modules():
        for name, value in {**vars(module), **module._buffers}.items():
            if isinstance(value, Tensor) and value.shape == shape:
                path = f"{part}.{name}".lstrip(".")
                return (
                    f"`{path}` is a second table of embeddings, made in `__init__`: training and loading "
                    "change only `words.output.weight`. Take the rows from there: `self.output.weight[…]`."
                )
    return ""


def hint_for(stage: str) -> str:
    return next((hint for words, hint in STAGE_HINTS.items() if words in stage), STAGE_HINTS["block"])


# ---- after the stages


def logits_of(examination: FileExamination, model: nn.Module, *inputs: Tensor) -> Tensor:
    """What `forward` returns for a copy of the inputs, which it mustn't change."""
    given = [tensor.clone() for tensor in inputs]

    def run() -> Tensor:
        with torch.no_grad():
            return as_tensor("forward", model(*given))

    logits = examination.guarded("`forward(source, target)`", run)
    names = zip(("source", "target"), given, inputs, strict=True)
    refuse_changed(examination, [name for name, now, before in names if not torch.equal(now, before)])
    return logits


def check_forward(examination: FileExamination, made_by: Callable[..., nn.Module]) -> None:
    """forward is decode after encode, also for one sentence, one token, and many tokens."""
    model = examination.guarded(f"`{INTERFACE}`", lambda: filled(made_by))
    need(examination, model, "forward")
    source, target, _ = batch()
    mine, right = logits_of(examination, model, source, target), reference_stages()["logits"]
    if mine.shape != right.shape or not same(mine, right):
        with torch.no_grad():
            known = next((slip for slip in FORWARD_SLIPS if same(mine, faulty(slip)(source, target))), None)
        cause = (
            f"Likely cause: {known.message}"
            if known
            else (
                "`forward(source, target)` is `decode(target, encode(source, mask), mask)`, where mask is "
                "`(source != 0)[:, None, None]`."
            )
        )
        headline = "`encode` and `decode` are right, but `forward` returns other logits."
        raise examination.wrong(headline, cause, known.name if known else "forward")
    examination.done.append("`forward`")
    whole, long = batch(LONGEST, LONGEST // 2), batch(4, 1)
    cases = {
        "a batch of one sentence": (source[:1], target[:1]),
        "a single token on each side": (source[:1, :1], target[:1, :1]),
        f"a source of {LONGEST} tokens": whole[:2],
        "a target of one token": (long[0][:1], long[1][:1]),
    }
    reference = filled(reference_class())
    for what, inputs in cases.items():
        mine, right = logits_of(examination, model, *inputs), logits_of(examination, reference, *inputs)
        if mine.shape != right.shape or not same(mine, right):
            headline = f"For {what}, the logits are wrong."
            advice = "Compute masks and positions from the inputs' own shapes, for any number of tokens."
            raise examination.wrong(headline, advice, "other-inputs")
    examination.done.append("padding, single tokens and long sentences")


def check_other_sizes(examination: FileExamination, made_by: Callable[..., nn.Module]) -> None:
    """With other sizes too: names, logits, and the gradient of every parameter."""
    torch.manual_seed(0)
    what = "With other sizes, your model"
    reference = reference_class()(**OTHER_SIZES).train()
    model = examination.guarded(what, lambda: made_by(**OTHER_SIZES))
    advice = (
        f"Here, {join_words([f'{name} is {n}' for name, n in OTHER_SIZES.items()])}. Is a size hard-wired?"
    )
    if problem := compare_parameters(model, reference.state_dict()):
        raise examination.wrong(f"With other sizes: {problem.headline}", advice, "hard-wired")
    model.load_state_dict(reference.state_dict())
    source, target, _ = batch(vocab=OTHER_SIZES["vocab_size"])

    def loss(model: nn.Module) -> Tensor:
        logits = model.train()(source, target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)

    right, mine = loss(reference), examination.guarded(what, lambda: loss(model))
    if not abs(mine.item() - right.item()) < MOST_OFF:
        raise examination.wrong("With other sizes and dropout 0, the logits are wrong.", advice, "hard-wired")
    right.backward()
    if not mine.requires_grad:
        headline = "No gradient flows: torch has no record of how the logits depend on the parameters."
        advice = "Look for `torch.no_grad()`, `.detach()` or `.data`."
        raise examination.wrong(headline, advice, "no-gradient")
    try:
        examination.guarded("`backward()`", mine.backward)
    except Found as found:
        details = join_paragraphs(changing_lines(examination.attempt), found.verdict.details)
        raise Found(replace(found.verdict, details=details)) from None
    wanted = {name: parameter.grad for name, parameter in reference.named_parameters()}
    grads = {name: parameter.grad for name, parameter in model.named_parameters()}
    if wrong := [name for name in wanted if grads[name] is None or not same(grads[name], wanted[name])]:
        headline = f"The gradient of {grouped(wrong)} is wrong, although the logits are right."
        advice = "Look for `torch.no_grad()`, `.detach()`, `.data` or `.item()` on the way to it."
        raise examination.wrong(headline, advice, "gradient")
    examination.done += ["other sizes", "gradients"]


def changing_lines(path: Path) -> str:
    """The lines of a file that may change a tensor in place; an error of `backward` doesn't say which did."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    found = [f"line {number}: `{line.strip()}`" for number, line in lines if IN_PLACE.search(line)]
    return "\n".join(found[:MOST_NAMES])


def check_dropout(examination: FileExamination, made_by: Callable[..., nn.Module]) -> None:
    """With a dropout rate of 1, nothing but zeros may come through, wherever dropout belongs."""
    n_layers = shipped()[0]["n_layers"]

    def silent(made_by: Callable[..., nn.Module], inside_only: bool = False) -> Stages:
        model, stages = filled(made_by, dropout=1.0).train(), {}
        if inside_only:  # dropout in the blocks, but not on the embeddings
            for name, module in model.named_modules():
                if isinstance(module, nn.Dropout) and "blocks" not in name:
                    module.p = 0.0
        run_stages(model, stages, n_layers)
        return stages

    def half() -> tuple[Tensor, Tensor, bool]:
        model, source_target = filled(made_by, dropout=0.5).train(), batch()[:2]
        one, two = (model(*source_target).detach() for _ in range(2))
        return one, two, all(module.training for module in model.modules())

    one, two, still_training = examination.guarded("In training mode, your model", half)
    if not still_training:
        headline = "Your model leaves training mode by itself, which switches dropout off for good."
        advice = "Don't call `eval()` or `train(False)` in the file: the code that uses the model does that."
        raise examination.wrong(headline, advice, "leaves-training")
    if same(one, two):
        headline = "In training mode, dropout has no effect: two calls give the same logits."
        advice = "Apply `nn.Dropout(dropout)` to the embeddings, and to the output of each layer in a block."
        raise examination.wrong(headline, advice, "no-dropout")
    model = examination.guarded(f"`{INTERFACE}`", lambda: made_by(**shipped()[0]))
    inside = {"blocks" in name for name, part in model.named_modules() if isinstance(part, nn.Dropout)}
    for inside_only in (False, True) if inside == {True, False} else (False,):
        mine = examination.guarded("In training mode, your model", partial(silent, made_by, inside_only))
        right = silent(reference_class(), inside_only)
        if inside_only and not mine.get("source embeddings", torch.ones(1)).any():
            continue  # the embeddings have another dropout, such as `F.dropout`
        for name in stage_names(n_layers):
            if name in mine and not same(mine[name], right[name]):
                where = (
                    "on the sum of embeddings and positions"
                    if "embeddings" in name
                    else ("on the output of each layer, before the addition: x + dropout(layer(norm(x)))")
                )
                headline = f"In training mode, dropout doesn't act as it should at the stage “{name}”."
                advice = f"With a rate of 1, dropout turns everything into zeros. It belongs {where}."
                raise examination.wrong(headline, advice, "dropout-elsewhere")
    examination.done.append("dropout")


def check_device(examination: FileExamination, made_by: Callable[..., nn.Module]) -> None:
    """On torch's meta device, which computes shapes only, a tensor on the CPU is noticed."""
    tokens = torch.zeros(2, 5, dtype=torch.long, device="meta")
    result = examination.call(lambda: made_by(**OTHER_SIZES).to("meta")(tokens, tokens))
    if result.failure and "on the expected device" in result.failure.message:
        headline = "Your model has a tensor that stays on the CPU, whatever device its input is on."
        advice = (
            "On a GPU that fails. If you create a tensor in `forward`, pass the device, as in "
            "`torch.arange(n, device=source.device)`. If you create one in `__init__`, use "
            "`register_buffer(…, persistent=False)`."
        )
        raise examination.wrong(headline, join_paragraphs(result.failure.line, advice), "device")


def check_initial_weights(examination: FileExamination, made_by: Callable[..., nn.Module]) -> None:
    """An untrained model has the reference's biases and standard deviations, and a loss near ln(vocab)."""
    sizes = shipped()[0]
    model, other = (
        examination.guarded(f"`{INTERFACE}`", lambda: made_by(**sizes), seed=seed) for seed in (0, 1)
    )
    right = reference_class()(**sizes).state_dict()
    for name, parameter in model.named_parameters():
        numbers, constant = parameter.detach(), right[name].std() == 0
        if not numbers.isfinite().all() or (numbers.dim() == 2 and numbers.std() == 0):
            headline = f"`{name}` isn't initialised."
            advice = "`torch.empty` contains whatever was in memory. Fill it: `nn.init.xavier_uniform_(…)`."
            raise examination.wrong(headline, advice, "initial-values")
        if constant and not torch.equal(numbers, right[name]):
            value = int(right[name].flatten()[0])
            headline = f"The initial values of `{name}` should all be {value}."
            advice = "`nn.init.zeros_` fills a tensor with zeros; `nn.LayerNorm` needs no initialisation."
            raise examination.wrong(headline, advice, "initial-values")
        if not constant and not 1 / MOST_OFF_SIZE < numbers.std() / right[name].std() < MOST_OFF_SIZE:
            size, usual = fixed(numbers.std(), 3), fixed(right[name].std(), 3)
            headline = f"The initial standard deviation of `{name}` is {size}, but it should be {usual}."
            advice = (
                "Matrices in the blocks: `nn.init.xavier_uniform_`. The embedding matrix: `nn.init.normal_` "
                "with std 1/√d_model, because it also computes the logits. The defaults of torch's modules "
                "are different."
            )
            raise examination.wrong(headline, advice, "initial-size")
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    if any(one.dim() == 2 and torch.equal(one, two) for one, two in pairs):
        headline = "Every new model gets the same initial weights."
        raise examination.wrong(headline, "Don't call `torch.manual_seed` in the file.", "fixed-seed")
    source, target, _ = batch()
    logits = logits_of(examination, model.eval(), source, target[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0).item()
    uniform = math.log(sizes["vocab_size"])
    if not loss < uniform + 2:
        headline = (
            f"Before training, the loss is {loss:.1f}; a model that guesses uniformly has {uniform:.1f}."
        )
        advice = "The initial weights are too large. Look at the norms and biases."
        raise examination.wrong(headline, advice, "initial-size")


MY_TRANSFORMER = FileExercise(
    name="my_transformer",
    lesson="the_transformer",
    inputs=(),
    reference=REFERENCE,
    examination=TransformerExamination,
    seconds=SECONDS,
)
