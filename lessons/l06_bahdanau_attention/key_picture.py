"""The key picture of this lesson: figure 1 of Bahdanau's paper with our sentence and our system's weights."""

from __future__ import annotations

from course_lib.views.picture import Picture
from course_lib.views.svg import group
from lessons.l06_bahdanau_attention.attention_stepper import (
    AttentionStepper,
    draw_attention,
    draw_encoder,
    draw_past,
    draw_prediction,
)

BOXES = {
    "attention": (draw_attention,),
    "annotations": (draw_encoder,),
    "next word": (draw_past, draw_prediction),
}
PARTS = ("", *BOXES)
STEP = 5  # of *eau*: no prediction asks about it


def draw(lit: str = "") -> Picture:
    """With one part lit, the others are faint."""
    facts = AttentionStepper.facts_at({"sentence": "thirsty", "step": STEP})
    headline, *_ = AttentionStepper.draw(facts)
    parts = [headline]
    for name, drawings in BOXES.items():
        drawn = "".join(part for drawing in drawings for part in drawing(facts))
        parts.append(group(drawn, opacity="0.3" if lit not in ("", name) else None))
    return Picture(*AttentionStepper.size, *parts, alt=AttentionStepper.describe(facts))
