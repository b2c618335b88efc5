"""Numbers that lesson 17 quotes and that no experiment records: `measure()` returns them all."""

from __future__ import annotations

import re
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.layers import multi_head as library
from course_lib.runtime import data_path
from course_lib.text.batch import make_batch
from course_lib.text.special import PAD
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l17_what_it_costs import cost
from lessons.l17_what_it_costs.linear_attention import feature_map, linear_attend

N_PAIRS = 16


def measure() -> dict:
    """Every number, by the part of the lesson that quotes it. Times are those of bench_cost_cpu.txt."""
    keys, _ = drawn_pairs()
    return {
        "crossover": recorded_crossovers(),
        "steps of attention": {name: recorded_ratios(name) for name in ("1 head", "4 heads")},
        "steps of a reader": recorded_ratios("one by one"),
        "over explicit": {name: recorded_ratios(name) for name in ("64 words", "1024 words")},
        "look-up": pairs_found(),
        "cosine of keys": {"as they are": mean_cosine(keys), "after φ": mean_cosine(feature_map(keys))},
        "averaged heads": averaged_heads(),
    }


def recorded_crossovers() -> dict[str, int]:
    """The length at which attention overtook in the record, rounded as the lesson quotes it."""
    rows = {
        "recurrent, d = 64": (64, "a recurrent network", -2),
        "recurrent, d = 128": (128, "a recurrent network", -2),
        "recurrent, 8 sentences": (64, "a recurrent network, 8", -1),
        "recurrent, 32 sentences": (64, "a recurrent network, 32", -1),
        "explicit, d = 64": (64, "the rest, explicit", 0),
        "explicit, d = 128": (128, "the rest, explicit", -1),
    }
    return {name: round(crossover(d, against), n) for name, (d, against, n) in rows.items()}


def crossover(d: int, against: str) -> int:
    """Where one row of the record passes 1."""
    ratios = cost.recorded(d, against)
    return round(cost.crossover(cost.LENGTHS[: len(ratios)], ratios))


def recorded_ratios(opening: str) -> dict[str, float]:
    """The line `opening: this 0.5, that 2.0` of the record."""
    record = data_path("results", "bench_cost_cpu.txt").read_text(encoding="utf-8")
    [line] = re.findall(rf"^{opening}: (.*)$", record, flags=re.MULTILINE)
    return {name: float(ratio) for name, ratio in re.findall(r"([a-z ]+) ([\d.]+)", line.replace(", ", ","))}


def drawn_pairs() -> tuple[Tensor, Tensor]:
    """Keys and values as the lesson draws them: 50 times 16 pairs."""
    torch.manual_seed(16)
    keys, values = torch.randn(2, 50, N_PAIRS, 16)
    return keys, values


def pairs_found() -> dict[str, float]:
    """The fraction of pairs whose value is the nearest one to the answer, by way of storing them."""
    keys, values = drawn_pairs()
    phi = feature_map(keys)
    centred = F.normalize(phi - phi.mean(dim=1, keepdim=True), dim=-1)
    answers = {
        "linear": linear_attend(keys, keys, values),
        "least squares": phi @ (torch.linalg.pinv(phi) @ values),
        "centred": centred @ (centred.mT @ values),
        "softmax": (keys @ keys.mT / 4).softmax(dim=-1) @ values,
    }
    right = {
        name: torch.cdist(answer, values).argmin(dim=-1) == torch.arange(N_PAIRS)
        for name, answer in answers.items()
    }
    return {name: is_right.float().mean().item() for name, is_right in right.items()}


def mean_cosine(vectors: Tensor) -> float:
    """The mean cosine between two different vectors of one set."""
    unit = F.normalize(vectors, dim=-1)
    return (unit @ unit.mT)[:, ~torch.eye(N_PAIRS, dtype=torch.bool)].mean().item()


def averaged_heads() -> dict[str, float]:
    """The fraction of sentences whose every word is right, with keys or values averaged in pairs of heads."""
    return {
        "nothing": fraction_right(same, same),
        "keys": fraction_right(in_pairs, same),
        "values": fraction_right(same, in_pairs),
        "both": fraction_right(in_pairs, in_pairs),
        "keys, scaled up": fraction_right(lambda heads: 2**0.5 * in_pairs(heads), same),
    }


def same(heads: Tensor) -> Tensor:
    return heads


def in_pairs(heads: Tensor) -> Tensor:
    return heads.unflatten(1, (2, -1)).mean(dim=2).repeat_interleave(2, dim=1)


@torch.no_grad()
def fraction_right(of_keys: Callable, of_values: Callable) -> float:
    """Of 200 test sentences, read by the trained translator with other keys and values in its decoder."""
    model, encode = shared("transformer").model.eval(), shared("transformer").tokenizer.encode
    pairs = splits(seed=0, sizes={"test": 200}).test
    batch = make_batch([encode(pair.src_text) for pair in pairs], [encode(pair.tgt_text) for pair in pairs])
    memory, attend_fully = model.encode(batch.src, batch.src_lengths), library.multi_head

    def attend_changed(query, keys, values, **options):
        return attend_fully(query, of_keys(keys), of_values(values), **options)

    with patch.multiple("course_lib.layers.multi_head", multi_head=attend_changed):
        predicted = model.decode(memory, batch.tgt_in)[0].argmax(dim=-1)
    right = (predicted == batch.tgt_out) | (batch.tgt_out == PAD)
    return right.all(dim=1).float().mean().item()
