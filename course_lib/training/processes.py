"""Several processes that train one model: each takes a part of every batch, and gradients are added up.

    torchrun --standalone --nproc-per-node 2 -m course_lib train transformer

`torchrun` starts the processes and tells each its number in environment variables; `join` reads them.
Two GPUs, two machines or two cores make no difference here: NCCL carries the gradients between GPUs,
gloo between CPUs. Alone, everything below does nothing.

    >>> two = Processes(n=2, rank=1)
    >>> two.mine(5)                                         # which of five rows are this one's
    range(1, 5, 2)

A process that is gone, or silent for COURSE_TIMEOUT seconds (60), ends the others: `LostProcess`.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, distributed, nn

from course_lib.text.batch import Batch

CPU = torch.device("cpu")
TIMEOUT = 60.0  # seconds of silence; the leader may save a checkpoint meanwhile, the others wait for it

_JOINED = itertools.count(1)  # who joins again must not find the addresses of the last time


class LostProcess(ConnectionError):
    """Another process of this run is gone, or says nothing. `tells`: whether it is on this one to say so."""

    def __init__(self, happened: str, *, tells: bool):
        super().__init__(happened)
        self.tells = tells


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
    try:
        distributed.init_process_group(
            backend_for(device), store=own, rank=rank, world_size=n, timeout=timeout
        )
        processes = Processes(n, rank, device)
        yield processes
        processes.agree(True)  # all are done, the leader with its files too
    except RuntimeError as error:
        if not _of_connection(error):
            raise
        # What comes next is a message and the end, and the SIGTERM that torchrun sends on such an occasion
        # shall not cut it off. Nothing is torn down in order: that would wait for those who are gone.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        happened = (
            f"A process of this run is gone, or has said nothing for {timeout.total_seconds():g} s. "
            f"Process {rank} of {n} (counted from 0) noticed it: {_in_short(error)}."
        )
        raise LostProcess(happened, tells=_first_to_notice(own)) from error
    distributed.destroy_process_group()


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


def command_again(arguments: str) -> str:
    """What starts this machine's processes once more; `arguments` are those of `course`."""
    n_machines, here = (os.environ.get(name, "1") for name in ("GROUP_WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    # Where several machines meet is not known here: dots stand for --rdzv-endpoint and the like.
    meet = "--standalone" if n_machines == "1" else f"--nnodes {n_machines} ..."
    return f"torchrun {meet} --nproc-per-node {here} -m course_lib {arguments}"


def _blank(batch: Batch) -> Batch:
    """One row that counts for nothing, of the batch's shape."""
    row = batch.map(lambda rows: rows[:1].clone())
    row.tgt_out.zero_()
    row.pairs.fill_(-1)
    return row


def _of_connection(error: RuntimeError) -> bool:
    # gloo throws plain RuntimeErrors, told from others by the file they name.
    return isinstance(error, distributed.DistError) or "gloo" in str(error)


def _in_short(error: RuntimeError) -> str:
    """Its first sentence, without the file of gloo it comes from."""
    return re.sub(r"^\[[^\]]*\] *", "", str(error)).splitlines()[0].partition(". ")[0]


def _first_to_notice(store: distributed.Store) -> bool:
    """Of many survivors one shall speak. Where not even the store answers, whoever asks does."""
    with suppress(RuntimeError):
        return store.add("somebody is gone", 1) == 1
    return True


def _processes(ranks: list[int]) -> str:
    return ("process " if len(ranks) == 1 else "processes ") + ", ".join(map(str, ranks))
