"""Numbers that lesson 10 quotes and no experiment records."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from course_lib.text.special import BOS, EOS
from course_lib.text.toy.splits import splits
from course_lib.translation.shipped import shared
from lessons.l10_masks.mask_painter import AFTER, BEFORE, RENORMED, TIMES_0, logits_with, masked_weights

METHODS = {"-inf before": BEFORE, "x 0 before": TIMES_0, "0 after": AFTER, "renormalised": RENORMED}


def measure() -> dict[str, dict[str, float] | float]:
    """A causal mask, applied in four ways to a trained language model, on test sentences without padding."""
    pairs = splits(seed=0, sizes={"test": 300}).test
    encode = shared("transformer_lm").tokenizer.encode
    sentences = [torch.tensor([BOS, *encode(pair.tgt_text), EOS]) for pair in pairs]
    hidden: list[np.ndarray] = []

    def weights_of(scores: torch.Tensor, method: str) -> torch.Tensor:
        n = scores.shape[-1]
        mask = np.tri(n, dtype=bool)
        weights = masked_weights(scores, mask, method)
        if method == TIMES_0:  # the last query has no masked key
            hidden.append((weights.numpy() * ~mask).sum(axis=-1)[..., :-1].ravel())
        return weights

    def perplexity(method: str) -> float:
        losses = [
            cross_entropy(
                logits_with(ids[:-1], partial(weights_of, method=method)), ids[1:], reduction="none"
            )
            for ids in sentences
        ]
        return float(torch.cat(losses).mean().exp())

    return {
        "sentences": len(sentences),
        "perplexity": {name: perplexity(method) for name, method in METHODS.items()},
        "attention on masked words, x 0 before": float(np.concatenate(hidden).mean()),
    }
