"""Every system gives the same results on a GPU and in 16 bits as in float32 on the CPU.

    python3 -m pytest tests/models/test_devices.py          with an NVIDIA GPU: every system, at two sizes

Without a GPU, one system of each kind is tested in 16 bits on the CPU. All runs use the same weights and the
same eight sentences.
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
from tests.models.harness import decode, decode_greedily, eight_sentences, forward, logits_and_labels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:mkldnn_matmul failed"),  # a CPU without bfloat16 support
    # torch stores an RNN's weights contiguously for cuDNN, but not in bfloat16, where it warns.
    pytest.mark.filterwarnings("ignore:RNN module weights are not part of single contiguous chunk of memory"),
]
GPU = torch.cuda.is_available()
NAMES = (
    [entry.name for entry in SYSTEMS if not entry.counts]
    if GPU
    else ["bahdanau", "lstm_lm", "self_attentive"]
)
SCALES = ["tiny", "toy"] if GPU else ["tiny"]

# Largest difference of the logits, in standard deviations; smallest cosine of the gradients; fraction of the
# attention that may move to other words; fraction of greedily decoded words that must be equal. bfloat16 has
# 8 bits of precision, and one different word changes all words after it: 2 of 8 sentences may differ.
TOLERANCES = {
    "float32": (1e-3, 0.99999, 1e-4, 1.0),
    "autocast": (0.15, 0.99, 0.02, 0.75),
    "bfloat16": (0.3, 0.98, 0.03, 0.75),
}


def trained(name: str, scale: str) -> tuple[nn.Module, Batch]:
    """A system that has just halved its loss on these sentences.

    The outputs of a new system are too uniform to compare, and after overfitting the gradient is only
    rounding error. It is in training mode, which cuDNN needs for gradients, without dropout, which would be
    random.
    """
    batch, vocab_size = eight_sentences(one_language=False)
    torch.manual_seed(0)
    model = build(name, replace(make_config(name, scale=scale, vocab_size=vocab_size), dropout=0.0))
    adam = torch.optim.Adam(model.parameters(), lr=0.01 if scale == "tiny" else 0.001)
    losses: list[float] = []
    while len(losses) < 100 and (not losses or losses[-1] >= losses[0] / 2):
        loss = F.cross_entropy(*logits_and_labels(model, batch))
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        losses.append(loss.item())
    return model, batch


def outcome(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Logits, gradient of all parameters, attention weights, predicted words or classes; on the CPU."""
    model.zero_grad()
    logits, labels = logits_and_labels(model, batch)
    F.cross_entropy(logits.float(), labels).backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    with torch.no_grad():
        if hasattr(model, "step"):
            weights, predictions = decode(model, batch)[1], decode_greedily(model, batch)
        else:
            weights = model.encode(batch.src, batch.src_lengths)[1]
            predictions = forward(model, batch).argmax(dim=-1)
    tensors = (logits, gradient, weights)
    tensors = [None if tensor is None else tensor.detach().cpu().double() for tensor in tensors]
    return *tensors, predictions.cpu()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_results_equal_float32_on_the_cpu(name, scale, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # otherwise float32 is rounded to 10 bits
    device = "cuda" if GPU else "cpu"
    model, batch = trained(name, scale)
    logits, gradient, weights, predictions = outcome(model, batch)
    for form, (max_difference, min_cosine, max_moved, min_equal) in TOLERANCES.items():
        other = copy.deepcopy(model).to(device, torch.bfloat16 if form == "bfloat16" else torch.float32)
        with torch.autocast(device, torch.bfloat16) if form == "autocast" else nullcontext():
            actual = outcome(other, batch.to(device))
        assert (actual[0] - logits).abs().max() <= max_difference * logits.std(), form
        assert F.cosine_similarity(actual[1], gradient, dim=0) >= min_cosine, form
        assert weights is None or (actual[2] - weights).abs().sum(dim=-1).mean() / 2 <= max_moved, form
        assert (actual[3] == predictions).double().mean() >= min_equal, form
