"""Runs of experiments that take seconds on one CPU, for lessons 08, 15 and 19.

run_divisor({"d_k": 64, "divisor": "root"}, seed=0)["end"]["0.003"]              # mean of the last losses
run_key_and_value({"width": 8, "shared": True}, seed=0)["right"]                 # accuracy
run_claim({"system": "bahdanau", "rule": "mirror"}, seed=0)["right"]["test"]     # "0" or "1" per sentence
run_faulty({"habits": {"rate": 0.3}}, seed=0)["history"][-1]["exact"]            # training with one fault
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from lessons.l15_training_a_translator.short_sentences import short_data
from lessons.l15_training_a_translator.training_settings import TrainingSettings
from lessons.l15_training_a_translator.translator_run import TranslatorRun
from lessons.l19_your_own_claim import systems
from lessons.l19_your_own_claim.forty_rules import RULES
from lessons.l19_your_own_claim.scores import by_split

RATES = (0.001, 0.003, 0.008, 0.02, 0.07, 0.2)
RENAMED = {"healed_after": "usual_rate_after"}  # training settings whose names in the records are older


def run_divisor(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """Which divisor of the scores trains best? Lesson 08's lookup task, trained at each learning rate.

    There are eight keys and values. The query is one of the keys, transformed by an unknown rotation, and
    the right answer is its value.
    """
    d_k, n_steps = changes["d_k"], n_steps or 100
    divisor = {"1": 1.0, "root": math.sqrt(d_k), "d_k": float(d_k)}[changes["divisor"]]
    losses = {str(rate): train_lookup(divisor, rate, seed=seed, n_steps=n_steps, d_k=d_k) for rate in RATES}
    tenth, every = max(n_steps // 10, 1), max(n_steps // 50, 1)
    half, end = (
        {rate: sum(curve[start : start + tenth]) / tenth for rate, curve in losses.items()}
        for start in (n_steps // 2 - tenth, n_steps - tenth)
    )
    curves = {rate: [round(loss, 5) for loss in curve[::every]] for rate, curve in losses.items()}
    return {"n_steps": n_steps, "half_way": half, "end": end, "curves": curves}


def train_lookup(divisor: float, rate: float, *, seed: int, n_steps: int, d_k: int) -> list[float]:
    """Returns the loss of every step."""
    generator, d_model, n_keys = torch.Generator().manual_seed(seed), 32, 8
    rotation = torch.linalg.qr(torch.randn(d_model, d_model, generator=generator))[0]
    w_q, w_k = torch.randn(2, d_model, d_k, generator=generator) / d_model**0.5

    def loss() -> Tensor:
        x = torch.randn(64, n_keys, d_model, generator=generator)
        values = torch.randn(64, n_keys, 4, generator=generator)
        scores = (x[:, :1] @ rotation @ w_q) @ (x @ w_k).mT / divisor
        return (scores.softmax(dim=-1) @ values - values[:, :1]).square().mean()

    return minimise(loss, [w_q.requires_grad_(), w_k.requires_grad_()], rate=rate, n_steps=n_steps)


def minimise(
    objective: Callable[[], Tensor], parameters: list[Tensor], *, rate: float, n_steps: int
) -> list[float]:
    """Train with Adam; returns the loss of every step."""
    optimizer = torch.optim.Adam(parameters, lr=rate)
    losses = []
    for _ in range(n_steps):
        loss = objective()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run_key_and_value(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """Can one vector serve as key and value? Each of four vectors encodes a pair (name, content).

    The query is a name, and the right answer its content. A single attention layer has separate matrices for
    keys and values, or one ("shared") for both.
    """
    width, shared, n_steps = changes["width"], changes["shared"], n_steps or 1500
    n_names, n_contents, n_pairs, d_model = 16, 16, 4, 32
    generator = torch.Generator().manual_seed(seed)

    def parameter(*shape: int) -> Tensor:
        return (torch.randn(*shape, generator=generator) / shape[-1] ** 0.5).requires_grad_()

    names, contents = parameter(n_names, d_model), parameter(n_contents, d_model)
    w_q, w_k, w_v = (parameter(width, d_model) for _ in range(3))
    w_out = parameter(n_contents, width)
    parameters = [names, contents, w_q, w_k, w_out] + ([] if shared else [w_v])

    def answer(n: int) -> tuple[Tensor, Tensor]:
        """Logits over contents, and the right content, for `n` random queries."""
        name_ids = torch.rand(n, n_names, generator=generator).argsort(dim=-1)[:, :n_pairs]  # all different
        content_ids = torch.randint(n_contents, (n, n_pairs), generator=generator)
        x = names[name_ids] + contents[content_ids]
        query = names[name_ids[:, :1]] @ w_q.mT
        keys = x @ w_k.mT
        values = keys if shared else x @ w_v.mT
        weights = (query @ keys.mT / math.sqrt(width)).softmax(dim=-1)
        return (weights @ values)[:, 0] @ w_out.mT, content_ids[:, 0]

    losses = minimise(lambda: F.cross_entropy(*answer(128)), parameters, rate=3e-3, n_steps=n_steps)
    with torch.no_grad():
        logits, targets = answer(4000)
    return {
        "n_steps": n_steps,
        "right": float((logits.argmax(dim=-1) == targets).float().mean()),
        "parameters": sum(parameter.numel() for parameter in parameters),
        "curve": [round(loss, 4) for loss in losses[:: max(n_steps // 50, 1)]],
    }


def run_claim(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """Train on the toy language with a new rule ("rule": its name, or none); record every test sentence.

    With "with_new", the system is also tested on sentences that `claims` and `claims_again` didn't have. With
    "only_right", no wrong translations are kept; "exact" has the fraction of correct ones for each split of
    the rule.
    """
    rule = RULES[changes["rule"]] if "rule" in changes else None
    steps = n_steps or changes.get("n_steps", systems.N_STEPS)
    with_new = changes.get("with_new", False)
    outcome = systems.train_and_test(changes["system"], rule, seed=seed, n_steps=steps, with_new=with_new)
    if changes.get("only_right"):
        percent = by_split(outcome["right"], rule) if rule else {}
        exact = {split: round(value / 100, 4) for split, value in percent.items()}
        outcome = {"right": outcome["right"], "exact": exact}
    return outcome | {"n_steps": steps}


def run_faulty(changes: dict[str, Any], *, seed: int, n_steps: int | None = None) -> dict:
    """Train a small translator with healthy settings, or with a fault in them, and keep its curves."""
    recorded = changes.get("habits", {})
    settings = TrainingSettings(**{RENAMED.get(name, name): value for name, value in recorded.items()})
    settings = replace(settings, n_steps=n_steps or settings.n_steps)
    run = TranslatorRun(short_data(n_train=settings.n_sentences), settings, seed=seed).train()
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
