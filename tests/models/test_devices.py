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

from course_lib.models.registry import SYSTEMS, build, make_config, system
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.generate import generate
from course_lib.text.word_tokenizer import WordTokenizer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:mkldnn_matmul failed"),  # a CPU without bfloat16 of its own
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


def sentences() -> tuple[Batch, int]:
    """Eight pairs of the toy language, and how many words they know between them."""
    pairs = generate(8, seed=0, length=(3, 8))
    words = WordTokenizer.from_texts([text for pair in pairs for text in (pair.src_text, pair.tgt_text)])
    sides = [[words.encode(getattr(pair, side)) for pair in pairs] for side in ("src_text", "tgt_text")]
    return make_batch(*sides), words.vocab_size


def logits_and_wanted(name: str, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """For every target word, or for every sentence a class."""
    kind = system(name).kind
    if kind == "sentence encoder":
        return model(batch.src, batch.src_lengths), batch.src_lengths % 2
    given = (batch.src, batch.src_lengths) if kind == "translator" else ()
    counts = batch.tgt_out != PAD
    return model(*given, batch.tgt_in)[counts], batch.tgt_out[counts]


def attention(name: str, model: nn.Module, batch: Batch) -> Tensor | None:
    match system(name).kind:
        case "translator":
            memory = model.encode(batch.src, batch.src_lengths)
            return model.decode(memory, batch.tgt_in, with_weights=True)[1]
        case "language model":
            return model.decode(batch.tgt_in, with_weights=True)[1]
        case "sentence encoder":
            return model.encode(batch.src, batch.src_lengths)[1]


def greedy(name: str, model: nn.Module, batch: Batch) -> Tensor:
    """The words chosen one after another, a language model's after the sentence's own first; or classes."""
    kind, tokens, said = system(name).kind, batch.tgt_in[:, 0], []
    if kind == "sentence encoder":
        return model(batch.src, batch.src_lengths).argmax(dim=-1)
    given = (model.encode(batch.src, batch.src_lengths),) if kind == "translator" else ()
    state = model.start(*given) if given else model.start(len(batch.src))
    for place in range(batch.tgt_in.shape[1]):
        logits, state, _ = model.step(*given, state, tokens)
        said.append(logits.argmax(dim=-1))
        tokens = batch.tgt_in[:, 1] if place == 0 and not given else said[-1]
    return torch.stack(said, dim=1)


def trained(name: str, scale: str) -> tuple[nn.Module, Batch]:
    """A system that has just halved its loss on these sentences.

    A new one has no opinion to compare, and of one that knows all by heart the gradient is but rounding. In
    training mode, which cuDNN wants for gradients, and without dropout, which would differ by itself.
    """
    batch, vocab_size = sentences()
    torch.manual_seed(0)
    model = build(name, replace(make_config(name, scale=scale, vocab_size=vocab_size), dropout=0.0))
    adam = torch.optim.Adam(model.parameters(), lr=0.01 if scale == "tiny" else 0.001)
    losses: list[float] = []
    while len(losses) < 100 and (not losses or losses[-1] >= losses[0] / 2):
        loss = F.cross_entropy(*logits_and_wanted(name, model, batch))
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        losses.append(loss.item())
    return model, batch


def outcome(name: str, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Logits, gradient of all parameters, attention, words chosen: on the CPU and in float64."""
    model.zero_grad()
    logits, wanted = logits_and_wanted(name, model, batch)
    F.cross_entropy(logits.float(), wanted).backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    with torch.no_grad():
        weights, words = attention(name, model, batch), greedy(name, model, batch)
    plain = [None if one is None else one.detach().cpu().double() for one in (logits, gradient, weights)]
    return *plain, words.cpu()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_as_float32_on_the_cpu(name, scale, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # else float32 is rounded to 10 bits
    device = "cuda" if GPU else "cpu"
    model, batch = trained(name, scale)
    logits, gradient, weights, words = outcome(name, model, batch)
    for form, (most_apart, least_cosine, most_moved, least_same) in ALLOWED.items():
        other = copy.deepcopy(model).to(device, torch.bfloat16 if form == "bfloat16" else torch.float32)
        with torch.autocast(device, torch.bfloat16) if form == "autocast" else nullcontext():
            found = outcome(name, other, batch.to(device))
        assert (found[0] - logits).abs().max() <= most_apart * logits.std(), form
        assert F.cosine_similarity(found[1], gradient, dim=0) >= least_cosine, form
        assert weights is None or (found[2] - weights).abs().sum(dim=-1).mean() / 2 <= most_moved, form
        assert (found[3] == words).double().mean() >= least_same, form
