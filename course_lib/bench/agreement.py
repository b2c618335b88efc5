"""Does a system compute the same on another device, and in numbers of 16 bits? One system, measured.

    measure("bahdanau", "toy", torch.device("cuda"))

The same weights see the same eight sentences on the CPU in float32 and elsewhere: see `devices.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.models.registry import build, make_config, system
from course_lib.text.batch import Batch, make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.generate import generate
from course_lib.text.words import WordTokenizer

N_PAIRS, LENGTHS, MOST_STEPS = 8, (3, 8), 100
FORMS = ("float32", "autocast", "bfloat16")
"""float32 weights; the same under bf16 autocast; the whole model in bfloat16."""


@dataclass(frozen=True)
class Agreement:
    """How far one form on one device is from float32 on the CPU."""

    form: str
    logits: float  # largest difference, in standard deviations of the logits
    gradient: float  # cosine between the two gradients of all parameters
    weights: float | None  # share of the attention that moved to other words; None where there is none
    greedy: float  # share of words chosen greedily, one after another, that are the same
    trouble: str = ""  # what was raised, where it did not run at all


def sentences() -> tuple[Batch, int]:
    """Eight pairs of the toy language, and how many words they know between them."""
    pairs = generate(N_PAIRS, seed=0, length=LENGTHS)
    words = WordTokenizer.from_texts([text for pair in pairs for text in (pair.src_text, pair.tgt_text)])
    batch = make_batch(
        [words.encode(pair.src_text) for pair in pairs], [words.encode(pair.tgt_text) for pair in pairs]
    )
    return batch, words.vocab_size


def trained(name: str, scale: str, batch: Batch, vocab_size: int) -> nn.Module:
    """A system after a few steps, when it has halved its loss on these sentences.

    One that has just started has no opinion to compare, and of one that knows all by heart the gradient is
    nothing but rounding. In training mode, which cuDNN wants for gradients, and without dropout, which
    would differ by itself.
    """
    torch.manual_seed(0)
    model = build(name, replace(make_config(name, scale=scale, vocab_size=vocab_size), dropout=0.0))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01 if scale == "tiny" else 0.001)
    first = None
    for _ in range(MOST_STEPS):
        loss = loss_of(name, model, batch)
        first = loss.item() if first is None else first
        if loss.item() < first / 2:
            break
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model


def scores_of(name: str, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits and what they should say: for every target word, or for every sentence a class."""
    match system(name).kind:
        case "translator":
            return model(batch.src, batch.src_lengths, batch.tgt_in), batch.tgt_out
        case "language model":
            return model(batch.tgt_in), batch.tgt_out
        case "sentence encoder":
            return model(batch.src, batch.src_lengths), batch.src_lengths % 2


def loss_of(name: str, model: nn.Module, batch: Batch) -> Tensor:
    logits, wanted = scores_of(name, model, batch)
    ignored = -100 if system(name).kind == "sentence encoder" else PAD
    return F.cross_entropy(logits.float().flatten(0, -2), wanted.flatten(), ignore_index=ignored)


def weights_of(name: str, model: nn.Module, batch: Batch) -> Tensor | None:
    match system(name).kind:
        case "translator":
            memory = model.encode(batch.src, batch.src_lengths)
            return model.decode(memory, batch.tgt_in, with_weights=True)[1]
        case "language model":
            return model.decode(batch.tgt_in, with_weights=True)[1]
        case "sentence encoder":
            return model.encode(batch.src, batch.src_lengths)[1]


def greedy_of(name: str, model: nn.Module, batch: Batch) -> Tensor:
    """The words chosen one after another, each the best after those before; or the classes.

    A translator starts from BOS, a language model from the sentence's own first word.
    """
    kind = system(name).kind
    if kind == "sentence encoder":
        return model(batch.src, batch.src_lengths).argmax(dim=-1)
    if kind == "translator":
        memory = model.encode(batch.src, batch.src_lengths)
        state, tokens = model.start(memory), batch.tgt_in[:, 0]
    else:
        _, state, _ = model.step(model.start(len(batch.src)), batch.tgt_in[:, 0])
        tokens = batch.tgt_in[:, 1]
    said = []
    for _ in range(batch.tgt_in.shape[1] - 1):
        before = (memory, state, tokens) if kind == "translator" else (state, tokens)
        logits, state, _ = model.step(*before)
        tokens = logits.argmax(dim=-1)
        said.append(tokens)
    return torch.stack(said, dim=1)


def measure(name: str, scale: str, device: torch.device) -> list[Agreement]:
    """Every form on this device against float32 on the CPU."""
    batch, vocab_size = sentences()
    model = trained(name, scale, batch, vocab_size)
    reference = _outcome(name, model, batch, nullcontext())
    return [_compare(name, model, batch, form, device, reference) for form in FORMS]


def _compare(
    name: str, model: nn.Module, batch: Batch, form: str, device: torch.device, reference: dict[str, Tensor]
) -> Agreement:
    other = copy.deepcopy(model).to(device, torch.bfloat16 if form == "bfloat16" else torch.float32)
    try:
        with full_float32():
            found = _outcome(name, other, batch.to(device), _around(form, device))
    except Exception as error:  # whatever it is belongs into the table, beside the systems that do run
        return Agreement(form, float("inf"), 0.0, None, 0.0, f"{type(error).__name__}: {error}")
    expected = reference["logits"]
    looked = reference["weights"]
    return Agreement(
        form=form,
        logits=_furthest(found["logits"], expected) / expected.std().item(),
        gradient=F.cosine_similarity(found["gradient"], reference["gradient"], dim=0).item(),
        weights=None if looked is None else _moved(found["weights"], looked),
        greedy=(found["greedy"] == reference["greedy"]).double().mean().item(),
    )


def _outcome(
    name: str, model: nn.Module, batch: Batch, around: AbstractContextManager
) -> dict[str, Tensor | None]:
    """All that is compared, on the CPU and in float64."""
    model.zero_grad()
    with around:
        logits, wanted = scores_of(name, model, batch)
        loss_of(name, model, batch).backward()
        with torch.no_grad():
            weights, greedy = weights_of(name, model, batch), greedy_of(name, model, batch)
    if logits.ndim == 3:
        logits = logits[wanted != PAD]
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    kept = {"logits": logits, "gradient": gradient, "weights": weights}
    plain = {key: None if found is None else found.detach().cpu().double() for key, found in kept.items()}
    return {**plain, "greedy": greedy.cpu()}


def _furthest(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference; NaN counts as infinitely far."""
    return (ours - theirs).abs().nan_to_num(nan=float("inf")).max().item()


def _moved(ours: Tensor, theirs: Tensor) -> float:
    """The share of a row that lies on other words, on average.

    Not the largest of all: where a window is placed by a learned number, rounding can push a word over its
    edge, and then one row differs much and rightly so.
    """
    return ((ours - theirs).abs().nan_to_num(nan=float("inf")).sum(dim=-1) / 2).mean().item()


def _around(form: str, device: torch.device) -> AbstractContextManager:
    return torch.autocast(device.type, torch.bfloat16) if form == "autocast" else nullcontext()


@contextmanager
def full_float32() -> Iterator[None]:
    """float32 as it is written: cuDNN would round to 10 bits (TF32) unless told not to."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before
