"""Where the time of some work goes, kernel by kernel, by torch's profiler.

>>> print(table([Kernel("gemm", 12, 3.0), Kernel("softmax", 4, 1.0)], top=1))
    share        ms     calls
      75%     3.000        12  gemm
      25%     1.000         4  and 1 other kernels
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

WIDTH = 80  # of a kernel's name, which may be a whole declaration in C++


class Kernel(NamedTuple):
    """One kind of kernel: how often it runs, and how long all of its runs take, in milliseconds."""

    name: str
    calls: int
    milliseconds: float


def kernels(work: Callable[[], object], device: torch.device) -> list[Kernel]:
    """All kernels of the work, the longest first; on a CPU torch's operators take their place."""
    on_gpu = device.type == "cuda"
    kind = ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU
    with profile(activities=[kind], acc_events=True) as found:
        work()
        if on_gpu:
            torch.cuda.synchronize(device)
    time = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    seen = [Kernel(one.key, one.count, getattr(one, time) / 1000) for one in found.key_averages()]
    return sorted((one for one in seen if one.milliseconds > 0), key=lambda one: -one.milliseconds)


def table(found: Sequence[Kernel], *, top: int) -> str:
    """The longest of them, and the rest in one line."""
    total, rest = sum(one.milliseconds for one in found), found[top:]
    others = Kernel(
        f"and {len(rest)} other kernels",
        sum(one.calls for one in rest),
        sum(one.milliseconds for one in rest),
    )
    lines = [f"{'share':>9}{'ms':>10}{'calls':>10}"]
    for name, calls, milliseconds in [*found[:top], *([others] if rest else [])]:
        lines.append(f"{milliseconds / total:>9.0%}{milliseconds:>10.3f}{calls:>10}  {name[:WIDTH]}")
    return "\n".join(lines)
