"""LayerNorm for an NVIDIA GPU, as two Triton kernels, for rows of up to a few thousand numbers.

Torch's own kernels are made for long rows. A small model has many short ones (8,192 rows of 256), and
there the way back takes three times as long as it must: the slopes of gain and shift are sums over all
rows, and few threads add them up. Here each program takes a handful of rows, keeps its part of both sums,
and the parts are added at the end.
"""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.layers.gpu_language import can_run, is_recording, jit, next_power_of_2, tl

ROWS = 8  # rows a program holds at once
MOST_PARTS = 1024  # programs on the way back
WIDEST = 4096


def can_norm(inputs: Tensor) -> bool:
    """Whether `fused_layer_norm` is the way: in a recording, on a GPU, for widths that are powers of 2."""
    width = inputs.shape[-1]
    return is_recording() and can_run(inputs) and width == next_power_of_2(width) <= WIDEST


def fused_layer_norm(inputs: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    """What `layer_norm` computes, over the last axis, whose size must be a power of 2."""
    return _LayerNorm.apply(inputs, gain, shift, eps)


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
        inputs = inputs.contiguous()
        width = inputs.shape[-1]
        n_rows = inputs.numel() // width
        outputs = torch.empty_like(inputs)
        mean = torch.empty(n_rows, device=inputs.device, dtype=torch.float32)
        scale = torch.empty_like(mean)
        _forward[(-(-n_rows // ROWS),)](
            inputs, gain, shift, outputs, mean, scale, n_rows, eps, width, ROWS, num_warps=4
        )
        ctx.save_for_backward(inputs, gain, mean, scale)
        return outputs

    @staticmethod
    def backward(ctx, slopes: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        inputs, gain, mean, scale = ctx.saved_tensors
        width = inputs.shape[-1]
        n_rows = inputs.numel() // width
        towards = torch.empty_like(inputs)
        n_parts = min(MOST_PARTS, -(-n_rows // ROWS))
        parts = torch.empty(n_parts, 2, width, device=inputs.device, dtype=torch.float32)
        _backward[(n_parts,)](
            slopes.contiguous(),
            inputs,
            gain,
            mean,
            scale,
            towards,
            parts,
            n_rows,
            width,
            ROWS,
            n_parts,
            num_warps=4,
        )
        gain_slope, shift_slope = parts.sum(0).to(gain.dtype)
        return towards, gain_slope, shift_slope, None


@jit
def _forward(
    inputs, gain, shift, outputs, means, scales, n_rows, eps, width: tl.constexpr, block: tl.constexpr
):
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.arange(0, width)
    places = rows[:, None].to(tl.int64) * width + columns[None, :]
    inside = rows < n_rows
    x = tl.load(inputs + places, mask=inside[:, None], other=0.0).to(tl.float32)
    mean = tl.sum(x, 1) / width
    centred = x - mean[:, None]
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 1) / width + eps)
    g = tl.load(gain + columns).to(tl.float32)
    s = tl.load(shift + columns).to(tl.float32)
    tl.store(outputs + places, centred * scale[:, None] * g[None, :] + s[None, :], mask=inside[:, None])
    tl.store(means + rows, mean, mask=inside)
    tl.store(scales + rows, scale, mask=inside)


@jit
def _backward(
    slopes,
    inputs,
    gain,
    means,
    scales,
    towards,
    parts,
    n_rows,
    width: tl.constexpr,
    block: tl.constexpr,
    n_parts,
):
    part = tl.program_id(0)
    columns = tl.arange(0, width)
    g = tl.load(gain + columns).to(tl.float32)
    gain_slope = tl.zeros([width], dtype=tl.float32)
    shift_slope = tl.zeros([width], dtype=tl.float32)
    for first in range(part * block, n_rows, n_parts * block):
        rows = first + tl.arange(0, block)
        places = rows[:, None].to(tl.int64) * width + columns[None, :]
        inside = rows < n_rows
        x = tl.load(inputs + places, mask=inside[:, None], other=0.0).to(tl.float32)
        dy = tl.load(slopes + places, mask=inside[:, None], other=0.0).to(tl.float32)
        scale = tl.load(scales + rows, mask=inside, other=0.0)
        normed = (x - tl.load(means + rows, mask=inside, other=0.0)[:, None]) * scale[:, None]
        gain_slope += tl.sum(dy * normed, 0)
        shift_slope += tl.sum(dy, 0)
        pull = dy * g[None, :]
        along = tl.sum(pull * normed, 1) / width
        level = tl.sum(pull, 1) / width
        dx = (pull - level[:, None] - normed * along[:, None]) * scale[:, None]
        tl.store(towards + places, dx, mask=inside[:, None])
    tl.store(parts + part * 2 * width + columns, gain_slope)
    tl.store(parts + part * 2 * width + width + columns, shift_slope)
