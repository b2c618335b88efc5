"""Checks of a translator that a learner brings: the properties that every system of the course has.

    faults(lambda size: build("bahdanau", make_config("bahdanau", scale="tiny", vocab_size=size)))      # []

Each fault is a sentence about what happened and what to look at. A fault that makes the other checks
impossible comes alone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_lib.models.translator import Translator
from course_lib.text.batch import Batch, make_batch
from course_lib.training.objective import translation
from course_lib.training.recipe import Recipe
from course_lib.training.step import PlainStep

VOCAB, N_STEPS, RATE = 17, 60, 1e-2
SOURCES = [[5, 9, 4, 11, 7, 9], [8], [6, 6, 12, 9]]
TARGETS = [[7, 10], [5, 13, 4, 9, 11, 11], [6]]
LARGEST_DIFFERENCE = 1e-4  # between logits that should be equal
SMALLEST_DIFFERENCE = 1e-6  # between logits that should differ


def faults(make: Callable[[int], Translator]) -> list[str]:
    """What is wrong with the system that `make(vocab_size)` builds; an empty list for a sound one."""
    return list(failed_checks(make).values())


def failed_checks(make: Callable[[int], Translator]) -> dict[str, str]:
    """The fault that each failed check found, by the name of the check."""
    torch.manual_seed(0)
    try:
        system = make(VOCAB)
    except Exception as error:
        return {"build": f"It can't be built: make({VOCAB}) raised {_described(error)}."}
    if not isinstance(system, Translator):
        kind = type(system).__name__
        return {"type": f"make(vocab_size) returns {kind}. Make it a subclass of Translator."}
    system.eval()
    batch = make_batch(SOURCES, TARGETS)
    try:
        with torch.no_grad():
            logits = _logits(system, batch)
    except Exception as error:
        return {"read": f"It can't process a batch: {_described(error)}."}
    expected = (*batch.tgt_in.shape, VOCAB)
    if tuple(logits.shape) != expected:
        shapes = f"The logits have the shape {tuple(logits.shape)}; (batch, tgt, vocab) is {expected}."
        return {"shape": shapes}
    if not bool(logits.isfinite().all()):
        reasons = "Is every key masked somewhere, or is something divided by 0?"
        return {"finite": f"Some logits are not finite. {reasons}"}
    failed = {}
    for name, check in CHECKS.items():
        try:
            fault = check(system)
        except Exception as error:
            fault = f'The check "{name}" raised {_described(error)}.'
        if fault:
            failed[name] = fault
    return failed


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _logits(system: Translator, batch: Batch) -> torch.Tensor:
    return system(batch.src, batch.src_lengths, batch.tgt_in)


@torch.no_grad()
def _check_source(system: Translator) -> str:
    first, second = (_logits(system, make_batch([src], [[7, 10, 5]])) for src in ([5, 9, 4], [8, 12, 6]))
    if (second - first).abs().max() < SMALLEST_DIFFERENCE:
        return "The output ignores the source: other words give the same logits. Does the decoder use them?"
    return ""


@torch.no_grad()
def _check_future(system: Translator) -> str:
    batch = make_batch([[5, 9, 4]], [[7, 10, 5, 13]])
    memory = system.encode(batch.src, batch.src_lengths)
    logits = system.decode(memory, batch.tgt_in)[0]
    for position in range(1, 5):
        changed = batch.tgt_in.clone()
        changed[0, position] = 12
        difference = (system.decode(memory, changed)[0] - logits)[:, :position].abs().max()
        if difference > LARGEST_DIFFERENCE:
            return (
                f"The future leaks: a different word at position {position} changes earlier logits "
                f"by {difference:.2g}. Is the causal mask there?"
            )
    return ""


@torch.no_grad()
def _check_padding(system: Translator) -> str:
    narrow = make_batch(SOURCES, TARGETS)
    wide = make_batch(SOURCES, TARGETS, src_len=12, tgt_len=11)
    logits, padded = _logits(system, narrow), _logits(system, wide)[:, : narrow.tgt_in.shape[1]]
    difference = (padded[narrow.loss_mask] - logits[narrow.loss_mask]).abs().max()
    if difference > LARGEST_DIFFERENCE:
        changes = f"Padding changes the logits, by {difference:.2g}."
        return f"{changes} Does any query attend to positions after src_lengths?"
    return ""


@torch.no_grad()
def _check_alone(system: Translator) -> str:
    together = _logits(system, make_batch(SOURCES, TARGETS))
    for row, (src, tgt) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = _logits(system, make_batch([src], [tgt]))[0]
        difference = (together[row, : len(alone)] - alone).abs().max()
        if difference > LARGEST_DIFFERENCE:
            return f"Sentences of a batch affect each other: alone, the logits differ by {difference:.2g}."
    return ""


@torch.no_grad()
def _check_steps(system: Translator) -> str:
    batch = make_batch(SOURCES, TARGETS)
    memory = system.encode(batch.src, batch.src_lengths)
    at_once, state, stepped = system.decode(memory, batch.tgt_in)[0], system.start(memory), []
    for tokens in batch.tgt_in.unbind(dim=1):
        logits, state, _ = system.step(memory, state, tokens)
        stepped.append(logits)
    difference = (torch.stack(stepped, dim=1) - at_once)[batch.loss_mask].abs().max()
    if difference > LARGEST_DIFFERENCE:
        return f"`step` and `decode` give different logits, and the difference is {difference:.2g}."
    return ""


def _check_loss(system: Translator) -> str:
    batch = make_batch(SOURCES, TARGETS)
    step = PlainStep(system, translation(smoothing=0.0), Recipe(n_steps=N_STEPS))
    losses = []
    for _ in range(N_STEPS):
        total, n_tokens = step(batch, RATE).tolist()
        losses.append(total / n_tokens)
    if not losses[-1] < losses[0] / 5:
        return (
            f"It can't memorise three sentences: the loss goes from {losses[0]:.2f} to "
            f"{losses[-1]:.2f} in {N_STEPS} steps. Do gradients reach its weights?"
        )
    return ""


CHECKS = {
    "source": _check_source,
    "future": _check_future,
    "padding": _check_padding,
    "alone": _check_alone,
    "steps": _check_steps,
    "loss": _check_loss,
}
