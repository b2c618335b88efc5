"""The training step as a CUDA graph, recorded once for each shape of batch and then replayed.

    step = GraphStep(model, objective, recipe)              # used like PlainStep

The step of a small model is about a thousand short kernels, and Python takes longer to launch them than the
GPU takes to run them. A CUDA graph records the launches once (forward, loss, backward, clipping, Adam), and a
replay is a single call. Two conditions follow: shapes must repeat (`Recipe.fixed_shapes`), and every tensor
must keep its address, so batches are copied into fixed buffers.

In bfloat16 the model computes with rounded copies. The weights themselves (`master`) and Adam's state stay in
float32, because updates are often too small to change a bfloat16 value. The model then needs no casts;
autocast would add one to every matrix product.

If recording fails, the same step runs without a graph, and a message is printed.
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

WARM_UP = 3  # runs before recording, in which libraries choose kernels and allocate workspaces


@dataclass(frozen=True)
class Recording:
    """A recorded step with its input buffers and its output tensor."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    result: Tensor


class GraphStep(Step):
    """Adam on float32 master weights, with one recording for each batch shape."""

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
        self.records = self.device.type == "cuda"  # on other devices the same step runs without a graph

    def __call__(self, batch: Batch, rate: float) -> Tensor:
        """Train on one batch; returns the summed loss and the number of tokens."""
        self.rate.fill_(rate)
        if self.records:
            shape = (*batch.src.shape, *batch.tgt_in.shape)
            if shape not in self.recordings:
                self._try_to_record(shape, batch)
            if recording := self.recordings.get(shape):
                recording.batch.overwrite(batch)
                recording.graph.replay()
                return recording.result
        return self._train_on(batch)

    def _train_on(self, batch: Batch) -> Tensor:
        result = self._gradients(batch)
        # A weight that this batch does not use has a gradient of 0.
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        torch._foreach_copy_([master.grad for master in self.master], gradients)
        nn.utils.clip_grad_norm_(self.master, self.recipe.clip, foreach=True)
        self.adam.step(self.rate)
        self._update_model()
        return result

    def _gradients(self, batch: Batch) -> Tensor:
        for parameter in self.parameters:
            parameter.grad = None
        loss, n_counted = self.objective(self.model, batch)
        (loss / n_counted.clamp(min=1)).backward()
        return torch.stack([loss.detach(), n_counted.to(loss.dtype)])

    @torch.no_grad()
    def _update_model(self) -> None:
        """Copy the master weights, rounded, to the model; one kernel for all of them."""
        torch._foreach_copy_(self.parameters, self.master)

    def _try_to_record(self, shape: tuple[int, ...], batch: Batch) -> None:
        try:
            self.recordings[shape] = self._record(batch)
        except RuntimeError as error:
            torch.cuda.synchronize()
            self.records = False
            reason = str(error).splitlines()[0]
            print(
                f"Training will be slower: this step can't be recorded as a CUDA graph ({reason}).",
                file=sys.stderr,
            )

    def _record(self, batch: Batch) -> Recording:
        fixed = batch.map(torch.clone)
        side_stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            for _ in range(WARM_UP if not self.recordings else 1):
                self._gradients(fixed)
        torch.cuda.current_stream().wait_stream(side_stream)
        with torch.cuda.graph(graph, pool=self.pool):
            result = self._train_on(fixed)
        self.pool = self.pool or graph.pool()
        return Recording(graph, fixed, result)

    @torch.no_grad()
    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Copy these weights to the masters and the model, in place: recordings hold their addresses."""
        for name, master in self.adam.weights.items():
            master.copy_(weights[name])
        self._update_model()

    @torch.no_grad()
    def finish(self, weights: Mapping[str, Tensor]) -> None:
        """Convert the model to float32 with these weights and drop the recordings."""
        self.recordings.clear()
        self.set_weights(weights)
        self.model.to(torch.float32)
        for parameter, master in zip(self.parameters, self.master, strict=True):
            parameter.copy_(master)
            parameter.grad = None
        for name, buffer in self.model.named_buffers():
            buffer.copy_(self.buffers[name])
