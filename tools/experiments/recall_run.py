"""One run of the recall task: a symbol is shown, and must be predicted again many steps later.

    result = run_recall({"system": "lstm_lm"}, seed=0)
    result["right"]["50"]                     # the accuracy over a distance of 50
    result["gradient"]["trained"]["50"]       # the gradient norm at the token 50 steps back

There are ten symbols, so a uniform guess is right one time in ten. Each training batch has a random distance
from 1 to 100, and every distance is tested separately. With "each", a new system is trained per distance. An
LSTM may be given another initial forget bias.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.models.inference import device_of
from course_lib.models.registry import build, make_config, n_parameters
from course_lib.runtime import device as default_device
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
    """Train on mixed distances, or one model per distance ("each"), and measure the accuracy by distance."""
    n_steps = n_steps or changes.get("n_steps", 4000)
    rate = changes.get("learning_rate", 2e-3)
    chosen_device = torch.device(device) if device else default_device()
    generator = torch.Generator().manual_seed(seed)
    right, forget_bias = {}, changes.get("forget_bias")
    model = new_model(changes["system"], seed, forget_bias).to(chosen_device)
    fresh = gradient_by_lag(model, generator)
    for distance in changes.get("each", [None]):
        model = new_model(changes["system"], seed, forget_bias).to(chosen_device)
        losses = train(model, generator, n_steps=n_steps, rate=rate, distance=distance)
        tested = [distance] if distance else DISTANCES
        right |= {str(test_distance): accuracy(model, test_distance) for test_distance in tested}
    every = max(n_steps // 50, 1)
    return {
        "parameters": n_parameters(model),
        "right": right,
        "gradient": {"fresh": fresh, "trained": gradient_by_lag(model, generator)},
        "loss": [round(float(block.mean()), 4) for block in losses.split(every)],  # of the last model
        "n_steps": n_steps,
        "learning_rate": rate,
    }


def new_model(name: str, seed: int, forget_bias: float | None = None) -> nn.Module:
    """The same for the same seed. `forget_bias` is the initial one of an LSTM (default: 1)."""
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
    """Train with Adam on random tasks over one distance, or over random ones; returns the losses."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    losses = []
    for step in range(n_steps):
        batch_distance = distance or int(torch.randint(1, LONGEST + 1, (), generator=generator))
        task = recall(generator, batch_size=BATCH, distance=batch_distance, vocab_size=VOCAB)
        loss = recall_loss(model, task)
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 100, (n_steps - step) / (0.3 * n_steps))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    model.eval()
    return torch.stack(losses).cpu()


def recall_loss(model: nn.Module, task: RecallTask) -> Tensor:
    """Cross-entropy at the positions where the symbol must be predicted."""
    device = device_of(model)
    logits = model(task.tokens.to(device))
    counts = task.counts.to(device)
    return F.cross_entropy(logits[counts], task.targets.to(device)[counts])


@torch.no_grad()
def accuracy(model: nn.Module, distance: int) -> float:
    """The fraction of right predictions in a thousand random tasks over this distance."""
    generator = torch.Generator().manual_seed(distance)
    task = recall(generator, batch_size=1000, distance=distance, vocab_size=VOCAB)
    predictions = model(task.tokens.to(device_of(model))).argmax(dim=-1).cpu()
    return float((predictions == task.targets)[task.counts].float().mean())


def gradient_by_lag(model: nn.Module, generator: torch.Generator) -> dict[str, float]:
    """The mean norm of the gradient of the last prediction's loss, by how many steps back the token is."""
    task = recall(generator, batch_size=BATCH, distance=LONGEST, vocab_size=VOCAB)
    embedded: list[Tensor] = []
    hook = model.words.dropout.register_forward_hook(lambda layer, inputs, output: embedded.append(output))
    was_training = model.training
    model.train()  # cuDNN's recurrent layers need training mode for a backward pass; dropout is 0
    try:
        loss = recall_loss(model, task) * BATCH
        (gradient,) = torch.autograd.grad(loss, embedded[-1])
    finally:
        hook.remove()
        model.train(was_training)
    norms = gradient.norm(dim=-1).mean(dim=0)  # (positions,)
    last = task.tokens.shape[1] - 1
    return {str(lag): float(norms[last - lag]) for lag in DISTANCES}
