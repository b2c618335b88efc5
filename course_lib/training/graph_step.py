"""The same training step, recorded once for each shape of batch and played back by the GPU alone.

    step = GraphStep(model, objective, recipe)              # then used just like PlainStep

A small model's step is a thousand short kernels, and Python needs longer to ask for them than the GPU to
run them. A CUDA graph is the list of them, recorded once: forward, loss, backward, clipping, Adam. Playing
it back costs one call. Two conditions follow. Shapes must repeat (`Recipe.fixed_shapes`), and every tensor
must stay where it was while recording, so batches are copied into fixed places.

In bfloat16 the model computes with rounded copies; the weights themselves (`master`) and Adam's state stay
in float32, for an update is often smaller than bfloat16 can add. No cast is left in the model then, where
autocast would put one around every product.

Where recording fails, the same work is done without it, and a message says so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.text.batch import Batch
from course_lib.training.objective import Objective
from course_lib.training.recipe import Recipe
from course_lib.training.step import Step, learned

WARM_UP = 3  # runs before recording, so that libraries choose their kernels and make their workspaces


@dataclass(frozen=True)
class Recording:
    """A recorded step: where its batch has to be put, and where its result will be found."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    result: Tensor


class GraphStep(Step):
    """Adam on float32 masters of a model's weights; one recording a shape."""

    def __init__(self, model: nn.Module, objective: Objective, recipe: Recipe):
        masters = {name: weight.detach().float().clone() for name, weight in learned(model).items()}
        super().__init__(model, objective, recipe, masters)
        self.master = list(masters.values())
        self.buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        model.to(getattr(torch, recipe.precision))
        self.parameters = list(learned(model).values())
        for master in self.master:
            master.grad = torch.zeros_like(master)
        self.rate = torch.tensor(recipe.learning_rate, device=self.device)
        self.recordings: dict[tuple[int, ...], Recording] = {}
        self.pool = None
        self.records = self.device.type == "cuda"  # elsewhere the same work, step by step

    def __call__(self, batch: Batch, rate: float) -> Tensor:
        """Learn from one batch; gives the summed loss and the number of tokens it is of."""
        self.rate.fill_(rate)
        if self.records:
            shape = (*batch.src.shape, *batch.tgt_in.shape)
            if shape not in self.recordings:
                self._try_to_record(shape, batch)
            if recording := self.recordings.get(shape):
                recording.batch.overwrite(batch)
                recording.graph.replay()
                return recording.result
        return self._work(batch)

    def _work(self, batch: Batch) -> Tensor:
        result = self._gradients(batch)
        # Of a weight that this batch does not use the gradient is 0.
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        torch._foreach_copy_([master.grad for master in self.master], gradients)
        nn.utils.clip_grad_norm_(self.master, self.recipe.clip, foreach=True)
        self.adam.step(self.rate)
        self._round()
        return result

    def _gradients(self, batch: Batch) -> Tensor:
        for parameter in self.parameters:
            parameter.grad = None
        loss, n_counted = self.objective(self.model, batch)
        (loss / n_counted.clamp(min=1)).backward()
        return torch.stack([loss.detach(), n_counted.to(loss.dtype)])

    @torch.no_grad()
    def _round(self) -> None:
        """The model's weights are the masters, rounded; one kernel for all of them."""
        torch._foreach_copy_(self.parameters, self.master)

    def _try_to_record(self, shape: tuple[int, ...], batch: Batch) -> None:
        try:
            self.recordings[shape] = self._record(batch)
        except RuntimeError as error:
            torch.cuda.synchronize()
            self.records = False
            reason = str(error).splitlines()[0]
            print(f"The fast path is off: this step cannot be recorded ({reason}).", file=sys.stderr)

    def _record(self, batch: Batch) -> Recording:
        fixed = batch.map(torch.clone)
        aside, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP if not self.recordings else 1):
                self._gradients(fixed)
        torch.cuda.current_stream().wait_stream(aside)
        with torch.cuda.graph(graph, pool=self.pool):
            result = self._work(fixed)
        self.pool = self.pool or graph.pool()
        return Recording(graph, fixed, result)

    @torch.no_grad()
    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Leave these weights in masters and model. In place: recordings know them by their address."""
        for name, master in self.adam.weights.items():
            master.copy_(weights[name])
        self._round()

    @torch.no_grad()
    def finish(self, weights: Mapping[str, Tensor]) -> None:
        """Leave the model in float32 with these weights; the recordings are dropped."""
        self.recordings.clear()
        self.put(weights)
        self.model.to(torch.float32)
        for parameter, master in zip(self.parameters, self.master, strict=True):
            parameter.copy_(master)
            parameter.grad = None
        for name, buffer in self.model.named_buffers():
            buffer.copy_(self.buffers[name])
