"""The key picture of this lesson: figure 1 of Bahdanau's paper with our sentence, its weights unknown."""

from __future__ import annotations

from course_lib.views.picture import Picture
from course_lib.views.svg import group, word
from lessons.l06_bahdanau_attention.attention_stepper import (
    IL,
    AttentionStepper,
    draw_attention,
    draw_encoder,
    draw_past,
    draw_prediction,
)

PARTS = ("", "annotations")


def draw(lit: str = "") -> Picture:
    """With the annotations lit, everything else is faint."""
    facts = AttentionStepper.facts_at({"sentence": "thirsty", "step": IL}) | {"linked": [], "hidden": True}
    headline = "To choose between *il* and *elle*, where will the decoder look?"
    alt = (
        f"A decoder has written {' '.join(facts['words'][:IL])}. Its state asks the annotations of all "
        f"{len(facts['source'])} source tokens. Equal grey lines lead from them to the next word: il or elle?"
    )
    if lit:
        headline = "Each word has an annotation, computed from both directions"
        alt = (
            f"Two GRUs, one from the left and one from the right, give each of {len(facts['source'])} tokens "
            "an annotation. The rest of the step, in which the decoder uses them, is faint."
        )
    others = "".join(part for draws in (draw_attention, draw_past, draw_prediction) for part in draws(facts))
    parts = [group(others, opacity="0.3" if lit else None), *draw_encoder(facts)]
    return Picture(
        *AttentionStepper.size, word(14, 28, headline, 15, anchor="start", bold=True), *parts, alt=alt
    )
