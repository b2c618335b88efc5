"""Numbers that lesson 08 quotes and no experiment records."""

from __future__ import annotations

import torch

D_K, D_MODEL, N_KEYS = 512, 32, 8  # the lookup task of section 3
N_EXAMPLES, BATCH_SIZE = 2048, 64
DIVISORS = {"1": 1.0, "root": D_K**0.5, "d_k": float(D_K)}


def measure() -> dict[str, object]:
    return {"gradients": {name: gradients_at_the_start(divisor) for name, divisor in DIVISORS.items()}}


def gradients_at_the_start(divisor: float) -> dict[str, float]:
    """Statistics of the gradients of W_Q before the first step, each a mean over three random seeds."""
    seeds = [statistics_of(gradients(divisor, seed)) for seed in range(3)]
    return {name: sum(seed[name] for seed in seeds) / len(seeds) for name in seeds[0]}


def gradients(divisor: float, seed: int) -> torch.Tensor:
    """The gradient of each example's loss with respect to W_Q: (examples, d_k, d_model)."""
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(D_MODEL, D_MODEL, generator=generator))[0]
    w_q, w_k = torch.randn(2, D_K, D_MODEL, generator=generator) / D_MODEL**0.5
    x = torch.randn(N_EXAMPLES, N_KEYS, D_MODEL, generator=generator)
    values = torch.randn(N_EXAMPLES, N_KEYS, 4, generator=generator)
    asked = x[:, :1] @ rotation.T
    queries = (asked @ w_q.T).requires_grad_()
    weights = (queries @ (x @ w_k.T).mT / divisor).softmax(dim=-1)
    (weights @ values - values[:, :1]).square().mean(dim=(1, 2)).sum().backward()
    return queries.grad.mT @ asked  # the chain rule, for queries = asked @ w_q.T


def statistics_of(gradients: torch.Tensor) -> dict[str, float]:
    norms = gradients.flatten(1).norm(dim=1)
    batches = gradients.unflatten(0, (-1, BATCH_SIZE)).mean(dim=1)
    mean = batches.mean(dim=0)
    noise = (batches - mean).flatten(1).square().sum(dim=1).mean().sqrt()
    tenth = norms.topk(len(norms) // 10).values
    return {
        "median": norms.median().item(),
        "mean": norms.mean().item(),
        "of the largest tenth": (tenth.sum() / norms.sum()).item(),
        "noise": (noise / mean.norm()).item(),
    }
