"""Distributed training: each process takes a part of every batch, and the gradients are summed.

    torchrun --standalone --nproc-per-node 2 -m course_lib train transformer

`torchrun` starts the processes and passes each its rank in environment variables. GPUs exchange gradients by
NCCL, CPUs by gloo. With a single process, the methods below do nothing.

When a process dies, `torchrun` ends the others. The same command then resumes from the last checkpoint.
"""

from __future__ import annotations

import atexit
import os
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn

from course_lib.text.batch import Batch

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Processes:
    """The number of processes (`world_size`), and the rank and device of this one."""

    world_size: int = 1
    rank: int = 0
    device: torch.device = CPU

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and prints messages."""
        return self.rank == 0

    def shard(self, batch: Batch) -> Batch:
        """This process's rows of a batch: every n-th, so that each gets long and short sentences.

        If there are fewer rows than processes, some processes get a blank row, because the others would
        otherwise wait for their gradients forever.
        """
        if self.world_size == 1:
            return batch
        if self.rank < len(batch.pairs):
            return batch.map(lambda rows: rows[self.rank :: self.world_size])
        blank = batch.map(lambda rows: rows[:1].clone())
        blank.tgt_out.zero_()  # only PAD, so the loss is 0
        blank.pairs.fill_(-1)
        return blank

    def sum_across(self, tensor: Tensor) -> Tensor:
        """Sum a tensor over all processes in place; the result is bit for bit the same in each."""
        if self.world_size > 1:
            distributed.all_reduce(tensor)
        return tensor

    def any_across(self, flag: bool) -> bool:
        """Whether the flag is set in any process, so that all stop at the same step."""
        # A tensor on the CPU, to avoid synchronising with the GPU.
        return flag if self.world_size == 1 else bool(self.sum_across(torch.tensor(float(flag))) > 0)

    def check_same(self, what: str, value: object) -> None:
        """Raise an error in every process if a value differs between processes. Waits for all of them."""
        values = [value] * self.world_size
        if self.world_size > 1:
            distributed.all_gather_object(values, value)
        if differ := [rank for rank, other in enumerate(values) if other != values[0]]:
            raise ValueError(
                f"Expected {what} to be the same in all {self.world_size} processes, but it differs "
                f"between process 0 and process {', '.join(map(str, differ))}. All machines need the same "
                "version of the course, the same data, the same kind of device, and a shared run folder."
            )

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model, with a backward pass that averages gradients over all processes."""
        return model if self.world_size == 1 else nn.parallel.DistributedDataParallel(model)


SINGLE = Processes()


def join(device: torch.device) -> Processes:
    """Join the processes that torchrun started, each on its own GPU; one process without torchrun."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes(device=device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        # GPUs need gloo as well as NCCL: the CPUs communicate while the GPUs work.
        distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
        atexit.register(distributed.destroy_process_group)
    return Processes(distributed.get_world_size(), distributed.get_rank(), device)
