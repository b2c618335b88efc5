"""Every system computes on a GPU and in 16 bits what it computes in float32 on the CPU.

    python3 -m pytest tests/models/test_devices.py          with an NVIDIA GPU: every system, at two sizes

Without a GPU one system of each kind is asked, in 16 bits on the CPU. The same weights see the same eight
sentences; `data/results/devices.json` holds what was measured once for all.
"""

from __future__ import annotations

import copy
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.models.registry import SYSTEMS, build, make_config
from course_lib.text.batch import Batch
from tests.models.harness import decoded, eight_sentences, forward, recited, said

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:mkldnn_matmul failed"),  # a CPU without bfloat16 of its own
    # torch lays an RNN's weights out for cuDNN, but not in bfloat16: those are copied each time, it warns.
    pytest.mark.filterwarnings("ignore:RNN module weights are not part of single contiguous chunk of memory"),
]
GPU = torch.cuda.is_available()
NAMES = [one.name for one in SYSTEMS if not one.counts] if GPU else ["bahdanau", "lstm_lm", "self_attentive"]
SCALES = ["tiny", "toy"] if GPU else ["tiny"]

# Largest difference of the logits, in their standard deviations; least cosine of the gradients; the share of
# attention that may lie on other words; the share of words chosen greedily that are the same. bfloat16 keeps
# 8 bits, and one word chosen otherwise changes all words after it: of 8 sentences 2 may go another way.
ALLOWED = {
    "float32": (1e-3, 0.99999, 1e-4, 1.0),
    "autocast": (0.15, 0.99, 0.02, 0.75),
    "bfloat16": (0.3, 0.98, 0.03, 0.75),
}


def trained(name: str, scale: str) -> tuple[nn.Module, Batch]:
    """A system that has just halved its loss on these sentences.

    A new one has no opinion to compare, and of one that knows all by heart the gradient is but rounding. In
    training mode, which cuDNN wants for gradients, and without dropout, which would differ by itself.
    """
    batch, vocab_size = eight_sentences(one_language=False)
    torch.manual_seed(0)
    model = build(name, replace(make_config(name, scale=scale, vocab_size=vocab_size), dropout=0.0))
    adam = torch.optim.Adam(model.parameters(), lr=0.01 if scale == "tiny" else 0.001)
    losses: list[float] = []
    while len(losses) < 100 and (not losses or losses[-1] >= losses[0] / 2):
        loss = F.cross_entropy(*said(model, batch))
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        losses.append(loss.item())
    return model, batch


def outcome(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Logits, gradient of all parameters, attention, words or classes chosen: on the CPU and in float64."""
    model.zero_grad()
    logits, wanted = said(model, batch)
    F.cross_entropy(logits.float(), wanted).backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    with torch.no_grad():
        if hasattr(model, "step"):
            weights, chosen = decoded(model, batch)[1], recited(model, batch)
        else:
            weights = model.encode(batch.src, batch.src_lengths)[1]
            chosen = forward(model, batch).argmax(dim=-1)
    plain = [None if one is None else one.detach().cpu().double() for one in (logits, gradient, weights)]
    return *plain, chosen.cpu()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_as_float32_on_the_cpu(name, scale, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # else float32 is rounded to 10 bits
    device = "cuda" if GPU else "cpu"
    model, batch = trained(name, scale)
    logits, gradient, weights, words = outcome(model, batch)
    for form, (most_apart, least_cosine, most_moved, least_same) in ALLOWED.items():
        other = copy.deepcopy(model).to(device, torch.bfloat16 if form == "bfloat16" else torch.float32)
        with torch.autocast(device, torch.bfloat16) if form == "autocast" else nullcontext():
            found = outcome(other, batch.to(device))
        assert (found[0] - logits).abs().max() <= most_apart * logits.std(), form
        assert F.cosine_similarity(found[1], gradient, dim=0) >= least_cosine, form
        assert weights is None or (found[2] - weights).abs().sum(dim=-1).mean() / 2 <= most_moved, form
        assert (found[3] == words).double().mean() >= least_same, form
