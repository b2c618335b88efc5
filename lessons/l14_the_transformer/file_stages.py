"""The numbers at every stage of a Transformer, from the source embeddings to the logits: those of a learner's
model, of the reference, and of the files with a known mistake. All have the shipped weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.models.own_file import CLASS, SIZES, run_file
from course_lib.translation.shipped import shared
from lessons.l14_the_transformer.file_slips import REFERENCE, FileSlip

MOST_OFF = 1e-3  # between numbers that should be equal

Stages = dict[str, Tensor]


def stage_names(n_layers: int) -> list[str]:
    """In the order of the computation."""
    names = ["source embeddings"]
    for i in range(n_layers):
        names += [f"encoder {i}, after attention", f"encoder {i}"]
    names += ["memory", "target embeddings"]
    for i in range(n_layers):
        names += [f"decoder {i}, after self-attention", f"decoder {i}, after cross-attention", f"decoder {i}"]
    return [*names, "last norm", "logits"]


@contextmanager
def recorded(model: nn.Module, stages: Stages, lengths: dict[str, int], n_layers: int) -> Iterator[None]:
    """While the model runs, keep what its blocks and norms receive and return. `lengths` are the numbers of
    tokens on each side, by which the right input of a block is recognised."""
    modules, hooks = dict(model.named_modules()), []

    def keep_input(name: str, side: str, module: nn.Module, args: tuple, named: dict) -> None:
        for value in (*args, *named.values()):
            if isinstance(value, Tensor) and value.dim() == 3 and value.shape[1] == lengths[side]:
                stages.setdefault(name, value.detach().clone())
                return

    def keep_output(name: str, module: nn.Module, args: tuple, output: Any) -> None:
        output = output[0] if isinstance(output, tuple) and output else output
        if isinstance(output, Tensor):
            stages.setdefault(name, output.detach().clone())

    def before(module: str, name: str, side: str) -> None:
        if module in modules:
            hook = partial(keep_input, name, side)
            hooks.append(modules[module].register_forward_pre_hook(hook, with_kwargs=True))

    def after(module: str, name: str) -> None:
        if module in modules:
            hooks.append(modules[module].register_forward_hook(partial(keep_output, name)))

    for side, words in (("encoder", "source"), ("decoder", "target")):
        before(f"{side}.blocks.0", f"{words} embeddings", side)
        attention = "attention" if side == "encoder" else "cross-attention"
        for i in range(n_layers):
            block = f"{side}.blocks.{i}"
            before(f"{block}.around_cross.norm", f"{side} {i}, after self-attention", side)
            before(f"{block}.around_feed_forward.norm", f"{side} {i}, after {attention}", side)
            after(block, f"{side} {i}")
    after("decoder.last_norm", "last norm")
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def run_stages(model: nn.Module, stages: Stages, n_layers: int, *, decode: bool = True) -> list[str]:
    """Fill `stages`; what was reached stays there if the model raises an exception. Returns which inputs the
    model has changed."""
    given = batch()
    memory = run_through(model, stages, *given, n_layers=n_layers, decode=decode)
    before = dict(zip(("source", "target", "mask"), batch(), strict=True), memory=stages["memory"])
    now = zip(before, (*given, memory), strict=True)
    return [name for name, tensor in now if ((tensor != before[name]) & (tensor == tensor)).any()]  # not NaN


def run_through(
    model: nn.Module,
    stages: Stages,
    source: Tensor,
    target: Tensor,
    mask: Tensor,
    *,
    n_layers: int,
    decode: bool = True,
) -> Tensor:
    """Fill `stages` as far as the model gets; returns the memory as the model made it."""
    lengths = {"encoder": source.shape[1], "decoder": target.shape[1]}
    with torch.no_grad(), recorded(model, stages, lengths, n_layers):
        memory = as_tensor("encode", model.encode(source, mask))
        stages["memory"] = memory.clone()
        if decode:
            stages["logits"] = as_tensor("decode", model.decode(target, memory, mask))
    return memory


def as_tensor(method: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"`{method}` returned {type(value).__name__}, not a tensor.")
    return value


def batch(n_src: int = 9, n_tgt: int = 7, vocab: int = 680) -> tuple[Tensor, Tensor, Tensor]:
    """Three sentences of different lengths, with padding, and the mask (batch, 1, 1, src)."""
    generator = torch.Generator("cpu").manual_seed(14)
    source = torch.randint(4, vocab, (3, n_src), generator=generator)
    target = torch.randint(4, vocab, (3, n_tgt), generator=generator)
    source[1, -3:], source[2, -5:], target[1, -2:] = 0, 0, 0
    return source, target, (source != 0)[:, None, None]


# ---- the shipped weights, the reference, and the files with known mistakes


@cache
def shipped() -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The sizes and the weights."""
    model = shared("transformer").model
    return {name: getattr(model.config, name) for name in SIZES}, model.state_dict()


@cache
def reference_class() -> type[nn.Module]:
    return run_file(REFERENCE)[CLASS]


def filled(made_by: Callable[..., nn.Module], **sizes: Any) -> nn.Module:
    """A model with the shipped weights, in evaluation mode."""
    model = made_by(**{**shipped()[0], **sizes})
    model.load_state_dict(shipped()[1])
    return model.eval()


@cache
def reference_stages() -> Stages:
    stages: Stages = {}
    run_stages(filled(reference_class()), stages, shipped()[0]["n_layers"])
    return stages


@cache
def faulty(slip: FileSlip) -> nn.Module:
    namespace: dict[str, Any] = {"__name__": slip.name}
    exec(compile(slip.source(), slip.name, "exec"), namespace)
    return filled(namespace[CLASS])


@cache
def faulty_stages(slip: FileSlip) -> Stages:
    stages: Stages = {}
    run_stages(faulty(slip), stages, shipped()[0]["n_layers"])
    return stages


def same(mine: Tensor, theirs: Tensor) -> bool:
    return mine.shape == theirs.shape and torch.allclose(mine, theirs, rtol=0, atol=MOST_OFF, equal_nan=True)
