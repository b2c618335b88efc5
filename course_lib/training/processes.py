"""Several processes that train one model: each takes a part of every batch, and gradients are added up.

    torchrun --standalone --nproc-per-node 2 -m course_lib train transformer

`torchrun` starts the processes and tells each its number in environment variables; `join` reads them.
Two GPUs, two machines or two cores make no difference here: NCCL carries the gradients between GPUs,
gloo between CPUs. Alone, everything below does nothing.

    >>> two = Processes(n=2, rank=1)
    >>> two.mine(5)                                         # which of five rows are this one's
    range(1, 5, 2)

When a process is lost, `torchrun` ends the others; who is silent for COURSE_TIMEOUT seconds (60) counts
as lost. The run goes on from its last checkpoint when the same command is given again.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, distributed, nn

from course_lib.text.batch import Batch

CPU = torch.device("cpu")
TIMEOUT = 60.0  # seconds of silence; the leader may save a checkpoint meanwhile, the others wait for it

_JOINED = itertools.count(1)  # who joins again must not find the addresses of the last time


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

    def mine(self, n_things: int) -> range:
        """This process's part of so many things: every n-th, so that long and short ones are spread."""
        return range(self.rank, n_things, self.n)

    def share(self, batch: Batch) -> Batch:
        """This process's rows of a batch.

        Where rows do not go round, somebody gets a blank one: no process may stay without work, for the
        others would wait for its gradients.
        """
        if self.n == 1:
            return batch
        mine = self.mine(len(batch.pairs))
        if not mine:
            return _blank(batch)
        return batch.map(lambda rows: rows[mine.start :: mine.step])

    def add_up(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, to the last bit the same in each; in place."""
        if self.n > 1:
            distributed.all_reduce(tensor)
        return tensor

    def agree(self, wish: bool) -> bool:
        """Whether any process wishes it: all of them then do it at the same step."""
        if self.n == 1:
            return wish
        # On the CPU, so that no GPU has to be waited for.
        return bool(self.add_up(torch.tensor(float(wish))) > 0)

    def check_same(self, what: str, value: object) -> None:
        """Refuse, in every process, what is not the same in all of them."""
        if self.n == 1:
            return
        fingerprints = torch.zeros(self.n, dtype=torch.int64)
        fingerprints[self.rank] = int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:7], "big")
        first, *others = self.add_up(fingerprints).tolist()
        if differ := [rank for rank, one in enumerate(others, start=1) if one != first]:
            raise ValueError(
                f"Expected {what} to be the same in all {self.n} processes, but it differs in "
                f"{_processes(differ)} from process 0. Every machine needs the same course, the same data, "
                "the same kind of device, and a folder of the run that all of them see."
            )

    def wrap(self, model: nn.Module) -> nn.Module:
        """A model whose backward pass averages gradients over all processes."""
        return model if self.n == 1 else nn.parallel.DistributedDataParallel(model)


ALONE = Processes()


@contextmanager
def join(device: torch.device) -> Iterator[Processes]:
    """The processes that torchrun started, each with a device of its own; one where it started none."""
    n = int(os.environ.get("WORLD_SIZE", "1"))
    if n == 1:
        yield Processes(device=device)
        return
    device = own_device(device)
    timeout = timedelta(seconds=seconds_to_wait())
    store, rank, n = next(distributed.rendezvous("env://", timeout=timeout))
    own = distributed.PrefixStore(f"course {next(_JOINED)}", store)
    distributed.init_process_group(backend_for(device), store=own, rank=rank, world_size=n, timeout=timeout)
    processes = Processes(n, rank, device)
    yield processes
    processes.agree(True)  # all are done, the leader with its files too
    distributed.destroy_process_group()  # not after an error: it would wait for those who are gone


def backend_for(device: torch.device) -> str:
    """What carries tensors. Between GPUs gloo stands beside NCCL: CPUs have to talk while the GPUs work."""
    return "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"


def own_device(device: torch.device) -> torch.device:
    """The device of this process: with GPUs, one for each process of a machine."""
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise ValueError(
            f"Expected cpu or cuda for several processes, but got {device.type}. Take --device cpu."
        )
    number, there_are = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if number >= there_are:
        raise ValueError(
            f"Expected at most as many processes on this machine as it has GPUs ({there_are}), but this is "
            f"number {number + 1}. Start torchrun with --nproc-per-node {there_are}, or take --device cpu."
        )
    torch.cuda.set_device(number)
    return torch.device("cuda", number)


def seconds_to_wait() -> float:
    """How long a process may be silent: COURSE_TIMEOUT, or a minute."""
    written = os.environ.get("COURSE_TIMEOUT", "")
    try:
        seconds = float(written or TIMEOUT)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"Expected COURSE_TIMEOUT to be a number of seconds above 0, but got {written!r}.")
    return seconds


def _blank(batch: Batch) -> Batch:
    """One row that counts for nothing, of the batch's shape."""
    row = batch.map(lambda rows: rows[:1].clone())
    row.tgt_out.zero_()
    row.pairs.fill_(-1)
    return row


def _processes(ranks: list[int]) -> str:
    return ("process " if len(ranks) == 1 else "processes ") + ", ".join(map(str, ranks))
