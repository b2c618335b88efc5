"""Numbers that lesson 10 quotes and no experiment records."""

from __future__ import annotations

from lessons.l10_masks.mask_painter import CAUSAL, TIMES_0, compute


def measure() -> dict[str, float]:
    """The weight that hidden words get if their scores are multiplied by 0."""
    facts = compute(mask=CAUSAL, method=TIMES_0, head=0)
    return {
        "hidden weight, first row": float(facts["weights"][0][~facts["visible"][0]].sum()),
        "hidden weight, all rows": facts["hidden_weight"],
    }
