"""One run of an experiment on looking up: which divisor, and whether key and value may be one.

    run({"task": "divisor", "d_k": 64, "divisor": "root"}, seed=0)["loss"]["0.003"]
    run({"task": "key and value", "width": 8, "shared": True}, seed=0)["right"]

**divisor**: eight keys and values; the query is one of the keys, turned by an unknown rotation, and the right
answer is its value. W_Q and W_K are learned, once for each learning rate. (It is the task of lesson 08.)

**key and value**: four pairs of symbols, (name, content), each pair one vector; a name is asked for and its
content wanted. One attention, with a matrix each for keys and values, or with one that serves as both.
"""

from __future__ import annotations

import math
import time
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

RATES = (0.001, 0.003, 0.008, 0.02, 0.07, 0.2)
N_STEPS = {"divisor": 100, "key and value": 1500}


def run(changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None) -> dict:
    """Train from one seed, on the CPU: both tasks take seconds there."""
    task = changes.pop("task")
    n_steps, began = n_steps or N_STEPS[task], time.perf_counter()
    found = _divisor(changes, seed, n_steps) if task == "divisor" else _key_and_value(changes, seed, n_steps)
    return {"n_steps": n_steps, **found, "device": "cpu", "seconds": round(time.perf_counter() - began, 1)}


def _divisor(changes: dict[str, Any], seed: int, n_steps: int) -> dict:
    d_k = changes["d_k"]
    divisor = {"1": 1.0, "root": math.sqrt(d_k), "d_k": float(d_k)}[changes["divisor"]]
    losses = {
        str(rate): learn_to_look_up(divisor, rate, seed=seed, n_steps=n_steps, d_k=d_k) for rate in RATES
    }
    tenth = max(n_steps // 10, 1)
    half, end = (
        {rate: sum(one[a : a + tenth]) / tenth for rate, one in losses.items()}
        for a in (n_steps // 2 - tenth, n_steps - tenth)
    )
    best = min(end, key=end.get)
    return {
        "half_way": half,
        "end": end,
        "curves": {
            rate: [round(loss, 5) for loss in one[:: max(n_steps // 50, 1)]] for rate, one in losses.items()
        },
        "brief": f"best rate {best}: {end[best]:.4f}",
    }


def learn_to_look_up(
    divisor: float, rate: float, *, seed: int, n_steps: int, d_k: int, d_model: int = 32, n_keys: int = 8
) -> list[float]:
    """The loss of every step."""
    generator = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator))[0]
    w_q, w_k = torch.randn(2, d_model, d_k, generator=generator) / d_model**0.5
    optimizer = torch.optim.Adam([w_q.requires_grad_(), w_k.requires_grad_()], lr=rate)
    losses = []
    for _ in range(n_steps):
        x = torch.randn(64, n_keys, d_model, generator=generator)
        values = torch.randn(64, n_keys, 4, generator=generator)
        scores = (x[:, :1] @ turn @ w_q) @ (x @ w_k).mT / divisor
        loss = (scores.softmax(dim=-1) @ values - values[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _key_and_value(changes: dict[str, Any], seed: int, n_steps: int) -> dict:
    width, shared = changes["width"], changes["shared"]
    n_names, n_contents, n_pairs, d_model = 16, 16, 4, 32
    generator = torch.Generator().manual_seed(seed)

    def fresh(*shape: int) -> Tensor:
        return (torch.randn(*shape, generator=generator) / shape[-1] ** 0.5).requires_grad_()

    names, contents = fresh(n_names, d_model), fresh(n_contents, d_model)
    w_q, w_k, w_v = (fresh(width, d_model) for _ in range(3))
    w_out = fresh(n_contents, width)
    learned = [names, contents, w_q, w_k, w_out] + ([] if shared else [w_v])
    optimizer = torch.optim.Adam(learned, lr=3e-3)

    def answer(n: int) -> tuple[Tensor, Tensor]:
        """Logits over contents, and the right content."""
        of_names = torch.rand(n, n_names, generator=generator).argsort(dim=-1)[:, :n_pairs]  # all different
        of_contents = torch.randint(n_contents, (n, n_pairs), generator=generator)
        x = names[of_names] + contents[of_contents]
        query = names[of_names[:, :1]] @ w_q.mT
        keys = x @ w_k.mT
        values = keys if shared else x @ w_v.mT
        weights = (query @ keys.mT / math.sqrt(width)).softmax(dim=-1)
        return (weights @ values)[:, 0] @ w_out.mT, of_contents[:, 0]

    losses = []
    for _ in range(n_steps):
        loss = F.cross_entropy(*answer(128))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        logits, wanted = answer(4000)
    right = float((logits.argmax(dim=-1) == wanted).float().mean())
    return {
        "right": right,
        "parameters": sum(one.numel() for one in learned),
        "curve": [round(loss, 4) for loss in losses[:: max(n_steps // 50, 1)]],
        "brief": f"{right:.1%} right",
    }
