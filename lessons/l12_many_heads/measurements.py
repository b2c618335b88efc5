"""The numbers that lesson 12 quotes: attention weights and ablations of the shipped Transformer, and runs."""

from __future__ import annotations

import math
from functools import cache
from statistics import mean

import torch

from course_lib.models.transformer import ATTENTIONS
from course_lib.results import mean_over_seeds, runs
from course_lib.text.batch import Batch, make_batch
from course_lib.text.pair import Pair
from course_lib.text.special import PAD
from course_lib.text.toy.splits import Splits, splits
from course_lib.translation.ablation import ablated, head_name, head_names
from course_lib.translation.shipped import shared
from lessons.l12_many_heads.head_switches import ALONE, compute

N_PER_LAYER = 4
SEVERAL = ("2", "4", "8", "16")  # the variants of the experiment `heads` with more than one head
PRONOUNS = ("il", "elle", "ils", "elles")
DECODER_2_1 = 9  # its index among the decoder's twelve heads


def model() -> torch.nn.Module:
    return shared("transformer").model


@cache
def toy() -> Splits:
    """The sentences that the lesson draws."""
    return splits(seed=0, sizes={"test": 80, "coreference": 60})


def batch_of(pairs: tuple[Pair, ...]) -> Batch:
    encode = shared("transformer").tokenizer.encode
    return make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])


# ---- where the heads attend


@torch.no_grad()
def weights_by_use(pairs: tuple[Pair, ...]) -> dict[str, torch.Tensor]:
    """For each use the weights of its twelve heads: (sentences, heads, queries, keys)."""
    batch = batch_of(pairs)
    weights = model().attention_weights(batch.src, batch.src_lengths, batch.tgt_in)
    return {use: weights[use].flatten(1, 2) for use in ATTENTIONS}


def weight_at_distance(distance: int) -> torch.Tensor:
    """The mean weight of each encoder head from word i to word i + distance, on the test sentences: (12,)."""
    weights = weights_by_use(toy().test)["encoder"]
    tables = [
        table[:, : len(pair.src), : len(pair.src)] for table, pair in zip(weights, toy().test, strict=True)
    ]
    return torch.stack([table.diagonal(distance, 1, 2).mean(dim=-1) for table in tables]).mean(dim=0)


def weight_on_noun() -> torch.Tensor:
    """The mean weight of each encoder head from "it" to its noun: (12,)."""
    weights = weights_by_use(toy().coreference)["encoder"]
    cells = [
        table[:, pronoun, noun]
        for table, pair in zip(weights, toy().coreference, strict=True)
        for pronoun, noun in pair.antecedents
    ]
    return torch.stack(cells).mean(dim=0)


def weight_on_aligned() -> torch.Tensor:
    """The mean weight of each cross head from a French word to the English word it translates: (12,)."""
    weights = weights_by_use(toy().test)["cross"]
    cells = [
        table[:, target, source]
        for table, pair in zip(weights, toy().test, strict=True)
        for source, target in pair.links
    ]
    return torch.stack(cells).mean(dim=0)


def weights_on_said_noun(pairs: tuple[Pair, ...]) -> list[tuple[float, bool]]:
    """Of decoder 2.1, where it generates a pronoun: the weight on the position that generated the pronoun's
    noun, and whether it is the largest."""
    tables, results = weights_by_use(pairs)["decoder"][:, DECODER_2_1], []
    for table, pair in zip(tables, pairs, strict=True):
        for it, noun in pair.antecedents:
            pronouns = [
                target for source, target in pair.links if source == it and pair.tgt[target] in PRONOUNS
            ]
            nouns = [target for source, target in pair.links if source == noun]
            if pronouns and nouns:
                row = table[pronouns[0]]
                results.append((row[nouns[0]].item(), row.argmax().item() == nouns[0]))
    return results


# ---- what is lost without a head


@torch.no_grad()
def logits_of(batch: Batch) -> torch.Tensor:
    return model().decode(model().encode(batch.src, batch.src_lengths), batch.tgt_in)[0]


def fraction_exact(pairs: tuple[Pair, ...]) -> float:
    """The fraction of sentences with every word right, given the right words before it."""
    batch = batch_of(pairs)
    right = (logits_of(batch).argmax(dim=-1) == batch.tgt_out) | (batch.tgt_out == PAD)
    return right.all(dim=1).float().mean().item()


def loss_without(batch: Batch, heads: list[str]) -> float:
    """The mean over sentences of the summed loss of the right words, with these heads ablated."""
    with ablated(model(), heads):
        log_probabilities = logits_of(batch).log_softmax(dim=-1).gather(-1, batch.tgt_out[..., None])[..., 0]
    return -log_probabilities.masked_fill(batch.tgt_out == PAD, 0.0).sum(dim=1).mean().item()


def heads_of(*layers: str) -> list[str]:
    """The names of all heads of these layers, each called as in "encoder 1"."""
    return [name for name in head_names(model()) if name.rpartition(".")[0] in layers]


def exact_without(*layers: str) -> float:
    """The fraction of 300 test sentences that are right when all heads of these layers are ablated."""
    with ablated(model(), heads_of(*layers)):
        return fraction_exact(splits(seed=0, sizes={"test": 300}).test)


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
    exact = mean_over_seeds("heads", lambda run: run["scores"]["test"]["exact"])
    of_one = [run for run in runs("heads") if run["variant"] == "1"]
    of_several = [run for run in runs("heads") if run["variant"] in SEVERAL]
    pronouns = [run["scores"][split]["pronouns"] for run in of_one for split in ("test", "coreference")]
    nearest = min(run["scores"]["test"]["exact"] for run in of_several) - max(
        run["scores"]["test"]["exact"] for run in of_one
    )
    return {
        "spared": {"least": min(spared), "most": max(spared)},
        "percent of pronouns without the most needed head": least_pronouns,
        "exact lost without encoder 1.1, seed 1": loss_of_exact(by_seed[1])["encoder 1.1"],
        "exact, several heads": {
            "least": min(exact[n] for n in SEVERAL),
            "most": max(exact[n] for n in SEVERAL),
        },
        "exact, smallest gap to one head": nearest,
        "pronouns, one head": {"least": min(pronouns), "most": max(pronouns)},
    }


def measure() -> dict:
    with_pronouns = splits(seed=0, sizes={"coreference": 200}).coreference
    on_noun = weights_on_said_noun(with_pronouns)
    with ablated(model(), ["cross 1.3"]):
        on_noun_without = weights_on_said_noun(with_pronouns)
    thirsty = compute(sentence="thirsty", how=ALONE, head=0)
    return recorded() | {
        "largest weight": {
            "previous word": weight_at_distance(-1).max().item(),
            "next word": weight_at_distance(1).max().item(),
            "noun": weight_on_noun().max().item(),
        },
        "uniform weight": mean(1 / (len(pair.src) + 1) for pair in toy().test),
        "decoder 2.1": {
            "mean weight on the noun": mean(weight for weight, _ in on_noun),
            "largest on the noun": sum(largest for _, largest in on_noun),
            "largest on the noun without cross 1.3": sum(largest for _, largest in on_noun_without),
            "sentences": len(on_noun),
        },
        "exact": {
            "all heads": exact_without(),
            "without encoder 1 and 2": exact_without("encoder 1", "encoder 2"),
        },
        "thirsty": {
            "mean probability": float(thirsty["probabilities"].mean()),
            "probability": thirsty["probability"],
        },
    }
