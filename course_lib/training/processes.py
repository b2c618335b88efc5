"""Several processes that train one model: each takes a part of every batch, and gradients are added up.

    torchrun --standalone --nproc-per-node 2 -m course_lib train transformer

`torchrun` starts the processes and tells each its number in environment variables. Two GPUs, two machines or
two cores make no difference here: NCCL carries the gradients between GPUs, gloo between CPUs. Alone,
everything below does nothing.

When a process is lost, `torchrun` ends the others. The run goes on from its last checkpoint when the same
command is given again.
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
    """How many processes there are, which of them this is, and the device it works on."""

    n: int = 1
    rank: int = 0
    device: torch.device = CPU

    @property
    def leads(self) -> bool:
        """Whether this one writes files and talks to people."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """This process's rows of a batch: every n-th, so that long and short sentences are spread.

        Where rows do not go round, somebody gets a blank one: no process may stay without work, for the
        others would wait for its gradients.
        """
        if self.n == 1:
            return batch
        if self.rank < len(batch.pairs):
            return batch.map(lambda rows: rows[self.rank :: self.n])
        blank = batch.map(lambda rows: rows[:1].clone())
        blank.tgt_out.zero_()  # PAD: nothing counts
        blank.pairs.fill_(-1)
        return blank

    def add_up(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, to the last bit the same in each; in place."""
        if self.n > 1:
            distributed.all_reduce(tensor)
        return tensor

    def agree(self, wish: bool) -> bool:
        """Whether any process wishes it: all of them then do it at the same step."""
        # A tensor on the CPU, so that no GPU has to be waited for.
        return wish if self.n == 1 else bool(self.add_up(torch.tensor(float(wish))) > 0)

    def check_same(self, what: str, value: object) -> None:
        """Refuse, in every process, what is not the same in all of them. It waits until all are here."""
        values = [value] * self.n
        if self.n > 1:
            distributed.all_gather_object(values, value)
        if differ := [rank for rank, other in enumerate(values) if other != values[0]]:
            raise ValueError(
                f"Expected {what} to be the same in all {self.n} processes, but it differs in "
                f"process {', '.join(map(str, differ))} from process 0. Every machine needs the same course, "
                "the same data, the same kind of device, and a folder of the run that all of them see."
            )

    def wrap(self, model: nn.Module) -> nn.Module:
        """A model whose backward pass averages gradients over all processes."""
        return model if self.n == 1 else nn.parallel.DistributedDataParallel(model)


ALONE = Processes()


def join(device: torch.device) -> Processes:
    """The processes that torchrun started, with GPUs each on one of its own; one where it started none."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes(device=device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        # Between GPUs gloo stands beside NCCL: CPUs have to talk while the GPUs work.
        distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
        atexit.register(distributed.destroy_process_group)
    return Processes(distributed.get_world_size(), distributed.get_rank(), device)
