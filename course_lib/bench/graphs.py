"""Can a training step be recorded once and replayed? A CUDA graph, tried on one system.

A small model spends most of a step on telling the GPU what to do. Recorded as a graph, the whole step is one
order. It works only if the step never looks at a number on the way and its shapes never change.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor, nn

from course_lib.bench.agreement import full_float32, loss_of, sentences
from course_lib.models.registry import build, make_config
from course_lib.text.batch import Batch

WARM_UP = 3
TOLERANCE = {"float32": 1e-4, "autocast": 2e-2}


def try_graph(name: str, scale: str, form: str) -> str:
    """Whether a step recorded on one batch, replayed on another, is right there: "yes", or why not.

    Right: loss and all gradients are those of a plain step.
    """
    first, vocab_size = sentences()
    first = first.to("cuda")
    second = first.map(lambda rows: rows.roll(3, 0))
    torch.manual_seed(0)
    model = build(name, replace(make_config(name, scale=scale, vocab_size=vocab_size), dropout=0.0)).cuda()
    try:
        with full_float32():
            return _replayed(name, model, first, _other_words(second), form)
    except Exception as error:  # a graph that cannot be recorded says so in many ways
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    finally:
        torch.cuda.synchronize()


def _other_words(batch: Batch) -> Batch:
    """Other words at every place, so that a replay that still sees the old batch is found out."""
    top = batch.tgt_in.amax() + 4
    src, tgt_in = (torch.where(ids > 3, (top - ids).clamp(min=4), ids) for ids in (batch.src, batch.tgt_in))
    return replace(batch, src=src, tgt_in=tgt_in)


def _replayed(name: str, model: nn.Module, first: Batch, second: Batch, form: str) -> str:
    shown = first.map(torch.clone)

    def work() -> Tensor:
        # Weights rounded for autocast must be rounded anew in every replay, not kept from the recording.
        autocast = torch.autocast("cuda", torch.bfloat16, cache_enabled=False)
        with autocast if form == "autocast" else nullcontext():
            loss = loss_of(name, model, shown)
        loss.backward()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            model.zero_grad(set_to_none=True)
            work()
    torch.cuda.current_stream().wait_stream(side)

    model.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded_loss = work()
    recorded = [parameter.grad for parameter in model.parameters()]

    shown.overwrite(second)
    graph.replay()
    replayed = [recorded_loss.clone(), *(gradient.clone() for gradient in recorded)]
    model.zero_grad(set_to_none=True)
    expected = [work(), *(parameter.grad for parameter in model.parameters())]
    for ours, theirs in zip(replayed, expected, strict=True):
        furthest = (ours - theirs).abs().max().item()
        if not furthest <= TOLERANCE[form] * max(theirs.abs().max().item(), 1e-6):
            return f"replays to something else (by {furthest:.1g})"
    return "yes"
