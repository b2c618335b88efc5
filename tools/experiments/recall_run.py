"""One run of an experiment on recall: a symbol is shown, and asked for again many steps later.

    found = run_recall({"system": "lstm_lm"}, seed=0)
    found["right"]["50"]                     # the share of right answers over a distance of 50
    found["gradient"]["trained"]["50"]       # how much of the loss reaches a word 50 steps back

Ten symbols, so guessing is right one time in ten. In training each batch has a distance of its own, from 1
to 100, and every distance is tested by itself. Or a system is trained anew on each distance. An LSTM may be
given another forget bias to start with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.models.in_use import device_of
from course_lib.models.registry import build, make_config, n_parameters
from course_lib.runtime import device as usual_device
from lessons.l03_lstm_and_gru.tasks import FIRST_SYMBOL, RecallTask, recall

N_SYMBOLS, LONGEST, BATCH = 10, 100, 64
VOCAB = FIRST_SYMBOL + N_SYMBOLS
DISTANCES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)
SIZES = {
    "rnn_lm": {"embed": 32, "hidden": 64},
    "lstm_lm": {"embed": 32, "hidden": 64},
    "gru_lm": {"embed": 32, "hidden": 64},
    "transformer_lm": {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 2},
}


def run_recall(
    changes: dict[str, Any], *, seed: int, n_steps: int | None = None, device: str | None = None
) -> dict:
    """Train on recall over mixed distances, or ("each") anew on each distance, and measure by distance."""
    n_steps = n_steps or changes.get("n_steps", 4000)
    rate = changes.get("learning_rate", 2e-3)
    place = torch.device(device) if device else usual_device()
    generator = torch.Generator().manual_seed(seed)
    right, forget_bias = {}, changes.get("forget_bias")
    model = new_model(changes["system"], seed, forget_bias).to(place)
    fresh = gradient_by_lag(model, generator)
    for distance in changes.get("each", [None]):
        model = new_model(changes["system"], seed, forget_bias).to(place)
        losses = train(model, generator, n_steps=n_steps, rate=rate, distance=distance)
        right |= {str(one): share_right(model, one) for one in ([distance] if distance else DISTANCES)}
    every = max(n_steps // 50, 1)
    return {
        "parameters": n_parameters(model),
        "right": right,
        "gradient": {"fresh": fresh, "trained": gradient_by_lag(model, generator)},
        "loss": [round(float(part.mean()), 4) for part in losses.split(every)],  # of the last model
        "n_steps": n_steps,
        "learning_rate": rate,
    }


def new_model(name: str, seed: int, forget_bias: float | None = None) -> nn.Module:
    """Always the same for a seed; `forget_bias` is for an LSTM, which has 1 without it."""
    torch.manual_seed(seed)
    config = make_config(name, scale="tiny", vocab_size=VOCAB)
    model = build(name, replace(config, **SIZES[name], max_len=LONGEST + 3, dropout=0.0))
    if forget_bias is not None:
        hidden = SIZES[name]["hidden"]
        with torch.no_grad():
            model.recurrent.layers[0][0].bias_ih_l0[hidden : 2 * hidden] = forget_bias
    return model


def train(
    model: nn.Module, generator: torch.Generator, *, n_steps: int, rate: float, distance: int | None
) -> Tensor:
    """Adam on fresh questions, over one distance or any; the losses."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    losses = []
    for step in range(n_steps):
        asked = distance or int(torch.randint(1, LONGEST + 1, (), generator=generator))
        loss = loss_of(model, recall(generator, batch_size=BATCH, distance=asked, vocab_size=VOCAB))
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 100, (n_steps - step) / (0.3 * n_steps))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    model.eval()
    return torch.stack(losses).cpu()


def loss_of(model: nn.Module, task: RecallTask) -> Tensor:
    """Cross-entropy where something is asked."""
    place = device_of(model)
    logits = model(task.tokens.to(place))
    counts = task.counts.to(place)
    return F.cross_entropy(logits[counts], task.targets.to(place)[counts])


@torch.no_grad()
def share_right(model: nn.Module, distance: int) -> float:
    """Of a thousand fresh questions over this distance, how many are answered rightly."""
    generator = torch.Generator().manual_seed(distance)
    task = recall(generator, batch_size=1000, distance=distance, vocab_size=VOCAB)
    place = device_of(model)
    said = model(task.tokens.to(place)).argmax(dim=-1).cpu()
    return float((said == task.targets)[task.counts].float().mean())


def gradient_by_lag(model: nn.Module, generator: torch.Generator) -> dict[str, float]:
    """How long the gradient of the last answer's loss is at the word so many steps back, on average."""
    task = recall(generator, batch_size=BATCH, distance=LONGEST, vocab_size=VOCAB)
    embedded: list[Tensor] = []
    hook = model.words.dropout.register_forward_hook(lambda layer, given, out: embedded.append(out))
    was_training = model.training
    model.train()  # cuDNN's recurrent layers have a gradient in training only; dropout is 0
    try:
        loss = loss_of(model, task) * BATCH
        (gradient,) = torch.autograd.grad(loss, embedded[-1])
    finally:
        hook.remove()
        model.train(was_training)
    length = gradient.norm(dim=-1).mean(dim=0)  # (positions,)
    asked = task.tokens.shape[1] - 1
    return {str(lag): float(length[asked - lag]) for lag in DISTANCES}
