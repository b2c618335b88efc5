"""Numbers that lesson 17 quotes and that no experiment records: `measure()` returns them all."""

from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib.runtime import data_path
from lessons.l17_what_it_costs import cost
from lessons.l17_what_it_costs.linear_attention import feature_map, linear_attend
from lessons.l17_what_it_costs.shared_heads import fraction_correct

N_PAIRS = 16


def measure() -> dict:
    """Every number, by the part of the lesson that quotes it. Times are those of bench_cost_cpu.txt."""
    keys, _ = drawn_pairs()
    return {
        "crossover": {
            "recurrent": round(cost.crossover(cost.LENGTHS, cost.recorded("a recurrent network")), -2)
        },
        "parts": recorded_ratios("parts"),
        "steps": recorded_ratios("steps"),
        "alternatives": recorded_ratios("alternatives"),
        "nearby": {"times fewer FLOPs": nearby_ratio()},
        "look-up": pairs_found(nearest_values),
        "look-up, means subtracted": pairs_found(most_similar_values),
        "weight of the right key": weight_of_the_right_key(),
        "cosine of keys": {"as they are": mean_cosine(keys), "after φ": mean_cosine(feature_map(keys))},
        "averaged heads": averaged_heads(),
    }


def recorded_ratios(name: str) -> dict[str, dict[str, float]]:
    """The line `name: this 0.50 0.60, that 2.00 2.10` of the record: the least and the most of each."""
    record = data_path("results", "bench_cost_cpu.txt").read_text(encoding="utf-8")
    [line] = re.findall(rf"^{name}: (.*)$", record, flags=re.MULTILINE)
    found = re.findall(r"([a-z ]+) ([\d.]+) ([\d.]+)", line.replace(", ", ","))
    return {way: {"least": float(least), "most": float(most)} for way, least, most in found}


def nearby_ratio() -> float:
    """How many times as many FLOPs explicit attention takes as attention to neighbours."""
    explicit, nearby = (flops_of(cost.cheaper_ways(cost.LONG)[way]) for way in ("explicit", "nearby"))
    return explicit / nearby


def flops_of(work: Callable[[], object]) -> int:
    """What torch counts."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        work()
    return counter.get_total_flops()


def drawn_pairs() -> tuple[Tensor, Tensor]:
    """Keys and values as the lesson draws them: 50 times 16 pairs."""
    torch.manual_seed(16)
    keys, values = torch.randn(2, 50, N_PAIRS, 16)
    return keys, values


def pairs_found(find: Callable[[Tensor, Tensor], Tensor]) -> dict[str, float]:
    """The fraction of pairs whose value is found from the answer, by way of storing them."""
    keys, values = drawn_pairs()
    phi = feature_map(keys)
    answers = {
        "linear": linear_attend(keys, keys, values),
        "least squares": phi @ (torch.linalg.pinv(phi) @ values),
        "centred": centre(phi) @ (centre(phi).mT @ values),
        "softmax": softmax_weights(keys) @ values,
    }
    right = {name: find(answer, values) == torch.arange(N_PAIRS) for name, answer in answers.items()}
    return {name: is_right.float().mean().item() for name, is_right in right.items()}


def nearest_values(answers: Tensor, values: Tensor) -> Tensor:
    return torch.cdist(answers, values).argmin(dim=-1)


def most_similar_values(answers: Tensor, values: Tensor) -> Tensor:
    """By cosine, after the mean of each set is subtracted."""
    return (centre(answers) @ centre(values).mT).argmax(dim=-1)


def centre(vectors: Tensor) -> Tensor:
    """Without their mean, and of length 1."""
    return F.normalize(vectors - vectors.mean(dim=1, keepdim=True), dim=-1)


def softmax_weights(keys: Tensor) -> Tensor:
    """The attention weights, with every key as a query."""
    return (keys @ keys.mT / keys.shape[-1] ** 0.5).softmax(dim=-1)


def weight_of_the_right_key() -> dict[str, float]:
    """The mean attention weight of the key that is the query, and how often it is the largest one."""
    keys, _ = drawn_pairs()
    phi = feature_map(keys)
    linear = F.normalize(phi @ phi.mT, p=1, dim=-1)
    own, largest = linear.diagonal(dim1=1, dim2=2), linear.argmax(dim=-1) == torch.arange(N_PAIRS)
    return {
        "linear": own.mean().item(),
        "softmax": softmax_weights(keys).diagonal(dim1=1, dim2=2).mean().item(),
        "uniform": 1 / N_PAIRS,
        "linear, largest": largest.float().mean().item(),
    }


def mean_cosine(vectors: Tensor) -> float:
    """The mean cosine between two different vectors of one set."""
    unit = F.normalize(vectors, dim=-1)
    return (unit @ unit.mT)[:, ~torch.eye(N_PAIRS, dtype=torch.bool)].mean().item()


def averaged_heads() -> dict[str, float]:
    """The fraction of sentences predicted correctly, with keys or values averaged in pairs of heads."""
    return {
        "nothing": fraction_correct(()),
        "keys": fraction_correct(("keys",)),
        "values": fraction_correct(("values",)),
        "both": fraction_correct(("keys", "values")),
        "keys, scaled up": fraction_correct(("keys",), scale=2**0.5),
    }
