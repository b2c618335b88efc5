"""Numbers that lesson 08 quotes and no experiment records."""

from __future__ import annotations

import torch

from course_lib.results import runs
from course_lib.text.toy.splits import splits
from course_lib.translation.pipeline import translate
from course_lib.translation.shipped import shared


def measure() -> dict[str, float]:
    return {
        "largest weight of general": largest_weight("luong_general"),
        "smallest spread in self-attention": min(self_attention_spreads()),
        "largest spread in self-attention": max(self_attention_spreads()),
    }


def largest_weight(name: str) -> float:
    """The largest weight of a target word over the source words, on average over 60 test sentences."""
    system, pairs = shared(name), splits(seed=0, sizes={"test": 60}).test
    texts = [pair.src_text for pair in pairs]
    translations = translate(texts, system.model, system.tokenizer, with_weights=True)
    rows = torch.cat([translation.weights[0, 0].max(dim=-1).values for translation in translations])
    return rows.mean().item()


def self_attention_spreads() -> list[float]:
    """The standard deviation of the scores in self-attention, for every head of every trained Transformer."""
    return [
        spread
        for run in runs("inside_heads")
        for use in ("encoder", "decoder")
        for layer in run["spreads"][use]
        for spread in layer
    ]
