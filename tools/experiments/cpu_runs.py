"""Runs of experiments that take seconds on one CPU: looking up, a new rule of grammar, faulty small runs.

run_divisor({"d_k": 64, "divisor": "root"}, seed=0)["end"]["0.003"]              # the last losses
run_key_and_value({"width": 8, "shared": True}, seed=0)["right"]                 # a share
run_claim({"system": "bahdanau", "rule": "mirror"}, seed=0)["right"]["test"]     # a sign a sentence
run_faulty({"habits": {"rate": 0.3}}, seed=0)["history"][-1]["exact"]            # with one fault
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from lessons.l15_training_a_translator.short_sentences import short_data
from lessons.l15_training_a_translator.small_run import SmallRun
from lessons.l15_training_a_translator.training_settings import N_STEPS, TrainingSettings
from lessons.l19_your_own_claim import rules, systems

RATES = (0.001, 0.003, 0.008, 0.02, 0.07, 0.2)
RENAMED = {"healed_after": "usual_rate_after"}  # training settings whose names in the records are older


def run_divisor(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """Which divisor? Eight keys and values, learned once for each learning rate: the task of lesson 08.

    The query is one of the keys, turned by an unknown rotation, and the right answer is its value.
    """
    d_k, n_steps = changes["d_k"], n_steps or 100
    divisor = {"1": 1.0, "root": math.sqrt(d_k), "d_k": float(d_k)}[changes["divisor"]]
    losses = {
        str(rate): learn_to_look_up(divisor, rate, seed=seed, n_steps=n_steps, d_k=d_k) for rate in RATES
    }
    tenth, every = max(n_steps // 10, 1), max(n_steps // 50, 1)
    half, end = (
        {rate: sum(one[a : a + tenth]) / tenth for rate, one in losses.items()}
        for a in (n_steps // 2 - tenth, n_steps - tenth)
    )
    curves = {rate: [round(loss, 5) for loss in one[::every]] for rate, one in losses.items()}
    return {"n_steps": n_steps, "half_way": half, "end": end, "curves": curves}


def learn_to_look_up(divisor: float, rate: float, *, seed: int, n_steps: int, d_k: int) -> list[float]:
    """The loss of every step."""
    generator, d_model, n_keys = torch.Generator().manual_seed(seed), 32, 8
    turn = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator))[0]
    w_q, w_k = torch.randn(2, d_model, d_k, generator=generator) / d_model**0.5

    def loss() -> Tensor:
        x = torch.randn(64, n_keys, d_model, generator=generator)
        values = torch.randn(64, n_keys, 4, generator=generator)
        scores = (x[:, :1] @ turn @ w_q) @ (x @ w_k).mT / divisor
        return (scores.softmax(dim=-1) @ values - values[:, :1]).square().mean()

    return adam([w_q.requires_grad_(), w_k.requires_grad_()], loss, rate=rate, n_steps=n_steps)


def adam(learned: list[Tensor], loss: Callable[[], Tensor], *, rate: float, n_steps: int) -> list[float]:
    """The loss of every step."""
    optimizer = torch.optim.Adam(learned, lr=rate)
    losses = []
    for _ in range(n_steps):
        now = loss()
        optimizer.zero_grad()
        now.backward()
        optimizer.step()
        losses.append(now.item())
    return losses


def run_key_and_value(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """May key and value be one? Four pairs (name, content), each one vector; a name asks for its content.

    One attention, with a matrix each for keys and values, or with one that serves as both.
    """
    width, shared, n_steps = changes["width"], changes["shared"], n_steps or 1500
    n_names, n_contents, n_pairs, d_model = 16, 16, 4, 32
    generator = torch.Generator().manual_seed(seed)

    def fresh(*shape: int) -> Tensor:
        return (torch.randn(*shape, generator=generator) / shape[-1] ** 0.5).requires_grad_()

    names, contents = fresh(n_names, d_model), fresh(n_contents, d_model)
    w_q, w_k, w_v = (fresh(width, d_model) for _ in range(3))
    w_out = fresh(n_contents, width)
    learned = [names, contents, w_q, w_k, w_out] + ([] if shared else [w_v])

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

    losses = adam(learned, lambda: F.cross_entropy(*answer(128)), rate=3e-3, n_steps=n_steps)
    with torch.no_grad():
        logits, wanted = answer(4000)
    return {
        "n_steps": n_steps,
        "right": float((logits.argmax(dim=-1) == wanted).float().mean()),
        "parameters": sum(one.numel() for one in learned),
        "curve": [round(loss, 4) for loss in losses[:: max(n_steps // 50, 1)]],
    }


def run_claim(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """Train on the language with a rule ("rule": its name, or none), and keep which sentences came out."""
    rule = rules.RULES.get(changes.get("rule", ""))
    steps = n_steps or changes.get("n_steps", systems.N_STEPS)
    correct = systems.train_and_test(changes["system"], rule, seed=seed, n_steps=steps)
    return {"right": correct, "n_steps": steps}


def run_faulty(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """Train a small translator with healthy settings, or with a fault in them, and keep its curves."""
    recorded = changes.get("habits", {})
    settings = TrainingSettings(**{RENAMED.get(name, name): value for name, value in recorded.items()})
    data = short_data(n_train=settings.n_sentences)
    run = SmallRun(data, settings, n_steps=n_steps or N_STEPS, seed=seed).train()
    names = ("step", "train_loss", "loss")
    history = [
        {
            name: round(value, 4)
            for name, value in ({n: getattr(record, n) for n in names} | record.scores).items()
        }
        for record in run.history
    ]
    ends = {name: history[-1][name] for name in ("train_loss", "loss", "exact")}
    return {"ends": ends, "history": history, "habits": recorded, "n_steps": run.recipe.n_steps}
