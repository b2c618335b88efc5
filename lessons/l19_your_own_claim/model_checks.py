"""Is a translator of one's own sound? The properties that every system of the road keeps, tried on a new one.

    faults(lambda size: build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=size)))      # []

Each fault is a sentence: what came, and what to look at. The first that stops everything comes alone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F

from course_lib.models.translator import Translator
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD

VOCAB, N_STEPS, RATE = 17, 60, 1e-2
SOURCES = [[5, 9, 4, 11, 7, 9], [8], [6, 6, 12, 9]]
TARGETS = [[7, 10], [5, 13, 4, 9, 11, 11], [6]]
CLOSE, DEAF = 1e-4, 1e-6


def faults(make: Callable[[int], Translator]) -> list[str]:
    """What is wrong with the system that `make(vocab_size)` builds; nothing, if all is well."""
    torch.manual_seed(0)
    try:
        system = make(VOCAB)
    except Exception as error:
        return [f"It cannot be built: make({VOCAB}) stops with {_told(error)}."]
    if not isinstance(system, Translator):
        return [f"make(vocab_size) gives {type(system).__name__}. Make it a subclass of Translator."]
    system.eval()
    batch = make_batch(SOURCES, TARGETS)
    try:
        with torch.no_grad():
            logits = system(batch.src, batch.src_lengths, batch.tgt_in)
    except Exception as error:
        return [f"It cannot read a batch: {_told(error)}."]
    wanted = (*batch.tgt_in.shape, VOCAB)
    if tuple(logits.shape) != wanted:
        return [f"The logits have the shape {tuple(logits.shape)}; (batch, tgt, vocab) is {wanted}."]
    if not bool(logits.isfinite().all()):
        return ["Some logits are not finite. Is there a softmax over nothing, or a division by 0?"]
    found = []
    trials = {"source": _source, "future": _future, "padding": _padding, "alone": _alone, "steps": _steps}
    for name, tried in (trials | {"loss": _loss}).items():
        try:
            found.append(tried(system))
        except Exception as error:
            found.append(f"The trial of the {name} stops with {_told(error)}.")
    return [fault for fault in found if fault]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@torch.no_grad()
def _source(system: Translator) -> str:
    one, other = (make_batch([src], [[7, 10, 5]]) for src in ([5, 9, 4], [8, 12, 6]))
    ours, theirs = (system(b.src, b.src_lengths, b.tgt_in) for b in (one, other))
    if (theirs - ours).abs().max() < DEAF:
        return "The source is not heard: other words to translate, and nothing changes. Where do they end?"
    return ""


@torch.no_grad()
def _alone(system: Translator) -> str:
    batch = make_batch(SOURCES, TARGETS)
    together = system(batch.src, batch.src_lengths, batch.tgt_in)
    for row, (src, tgt) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        one = make_batch([src], [tgt])
        alone = system(one.src, one.src_lengths, one.tgt_in)[0]
        gap = (together[row, : len(alone)] - alone).abs().max()
        if gap > CLOSE:
            return f"Sentences of a batch mix: alone, one of them gives other logits, by {gap:.2g}."
    return ""


@torch.no_grad()
def _future(system: Translator) -> str:
    batch = make_batch([[5, 9, 4]], [[7, 10, 5, 13]])
    memory = system.encode(batch.src, batch.src_lengths)
    logits = system.decode(memory, batch.tgt_in)[0]
    for place in range(1, 5):
        changed = batch.tgt_in.clone()
        changed[0, place] = 12
        gap = (system.decode(memory, changed)[0] - logits)[:, :place].abs().max()
        if gap > CLOSE:
            return (
                f"The future leaks: another word at place {place} changes what is said before it, "
                f"by {gap:.2g}. Is the causal mask there?"
            )
    return ""


@torch.no_grad()
def _padding(system: Translator) -> str:
    narrow, src, tgt = make_batch(SOURCES, TARGETS), 12, 11
    wide = make_batch(SOURCES, TARGETS, src_len=src, tgt_len=tgt)
    ours, theirs = (system(b.src, b.src_lengths, b.tgt_in) for b in (narrow, wide))
    gap = (theirs[:, : narrow.tgt_in.shape[1]][narrow.counts] - ours[narrow.counts]).abs().max()
    if gap > CLOSE:
        return f"Padding changes the logits, by {gap:.2g}. Does somebody look at places after src_lengths?"
    return ""


@torch.no_grad()
def _steps(system: Translator) -> str:
    batch = make_batch(SOURCES, TARGETS)
    memory = system.encode(batch.src, batch.src_lengths)
    whole, state, logits = system.decode(memory, batch.tgt_in)[0], system.start(memory), []
    for tokens in batch.tgt_in.unbind(dim=1):
        one, state, _ = system.step(memory, state, tokens)
        logits.append(one)
    gap = (torch.stack(logits, dim=1) - whole)[batch.counts].abs().max()
    if gap > CLOSE:
        return f"Word by word (`step`) gives other logits than all at once (`say`), by {gap:.2g}."
    return ""


def _loss(system: Translator) -> str:
    batch = make_batch(SOURCES, TARGETS)
    optimizer = torch.optim.Adam(system.parameters(), lr=RATE)
    losses = []
    for _ in range(N_STEPS):
        logits = system(batch.src, batch.src_lengths, batch.tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    if not losses[-1] < losses[0] / 5:
        return (
            f"It does not learn three sentences by heart: the loss goes from {losses[0]:.2f} to "
            f"{losses[-1]:.2f} in {N_STEPS} steps. Do gradients reach its weights?"
        )
    return ""
