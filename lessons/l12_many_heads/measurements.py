"""The numbers that lesson 12 quotes: heads patched in the shipped Transformer, and recorded runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import mean

import torch

from course_lib.results import runs
from course_lib.translation.ablation import head_name, head_names
from course_lib.translation.shipped import shared
from lessons.l12_many_heads.patching import (
    PronounBatch,
    changed_heads,
    head_outputs,
    minimal_batches,
    noun_positions,
    predict_pronouns,
)

SEVERAL = ("2", "4", "8", "16")  # the variants of the experiment `heads` with more than one head
N_PAIRS, FIRST_PAIR = 100, 100  # not among the sentences with which the two heads were found


# ---- patched heads


@torch.no_grad()
def most_attended(sentences: PronounBatch, patches: dict[str, torch.Tensor]) -> torch.Tensor:
    """To which target position decoder 2.1 attends most where the pronoun is predicted: (sentences,)."""
    model, batch = shared("transformer").model, sentences.batch
    with changed_heads(model, lambda name, _: patches.get(name)):
        weights = model.attention_weights(batch.src, batch.src_lengths, batch.tgt_in)["decoder"][:, 2, 1]
    return weights[torch.arange(len(weights)), sentences.positions].argmax(dim=-1)


def patching() -> dict[str, int]:
    """In how many sentences the pronoun changes when the output of a head is replaced."""
    model = shared("transformer").model
    sentences, partners = minimal_batches(N_PAIRS, first=FIRST_PAIR)
    own, other = head_outputs(model, sentences), head_outputs(model, partners)
    before = predict_pronouns(model, sentences)

    def n_changed(patches: dict[str, torch.Tensor]) -> int:
        return (predict_pronouns(model, sentences, patches) != before).sum().item()

    changed = {name: n_changed({name: other[name]}) for name in head_names(model)}
    pair = {name: changed.pop(name) for name in ("cross 1.3", "decoder 2.1")}
    patched = {"cross 1.3": other["cross 1.3"]}
    held = {
        name: n_changed(patched | {name: own[name]})
        for name in head_names(model)
        if name.startswith(("decoder 2", "cross 2"))
    }
    return pair | {
        "sentences": len(before),
        "correct": (before == sentences.pronouns).sum().item(),
        "most of the other heads": max(changed.values()),
        "cross 1.3 with decoder 2.1 held": held.pop("decoder 2.1"),
        "cross 1.3 with another head held, least": min(held.values()),
        "decoder 2.1 attends to the noun": _n_equal(most_attended(sentences, {}), noun_positions(sentences)),
        "decoder 2.1 attends to the other noun": _n_equal(
            most_attended(sentences, patched), noun_positions(partners)
        ),
    }


def _n_equal(first: torch.Tensor, second: torch.Tensor) -> int:
    return (first == second).sum().item()


# ---- recorded runs


def round_half_up(number: float) -> int:
    """52.5 becomes 53, as in the text; Python's own rounding makes 52 of it."""
    return math.floor(number + 0.5)


def loss_of_exact(run: dict) -> dict[str, float]:
    """For each head of a run of `inside_heads`: the exact translations lost without it."""
    whole, without = run["heads off"]["all heads"], run["heads off"]["without"]
    return {
        head_name(head["use"], head["layer"], head["head"]): whole["exact"] - head["measured"]["exact"]
        for head in without
    }


def recorded() -> dict[str, dict]:
    """Numbers from `inside_heads` and `heads` that are no mean over seeds."""
    by_seed = {run["seed"]: run for run in runs("inside_heads")}
    spared = [sum(lost < 0.02 for lost in loss_of_exact(run).values()) for run in by_seed.values()]
    least_pronouns = {
        f"seed {seed}": round_half_up(
            100 * min(head["measured"]["pronouns"] for head in run["heads off"]["without"])
        )
        for seed, run in by_seed.items()
    }
    of_one = [run["scores"] for run in runs("heads") if run["variant"] == "1"]
    of_several = [run["scores"] for run in runs("heads") if run["variant"] in SEVERAL]
    exact = [scores["test"]["exact"] for scores in of_several]
    pronouns = [scores[split]["pronouns"] for scores in of_one for split in ("test", "coreference")]
    return {
        "spared": least_and_most(spared),
        "percent of pronouns without the most needed head": least_pronouns,
        "exact, several heads": {"mean": mean(exact), **least_and_most(exact)},
        "depth, several heads": least_and_most(scores["depth"]["exact"] for scores in of_several),
        "pronouns, one head": least_and_most(pronouns),
    }


def least_and_most(numbers: Iterable[float]) -> dict[str, float]:
    numbers = list(numbers)
    return {"least": min(numbers), "most": max(numbers)}


def measure() -> dict:
    return recorded() | {"patching": patching()}
