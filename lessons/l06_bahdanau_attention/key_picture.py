"""The key picture of this lesson: figure 1 of Bahdanau's paper with our sentence and our system's weights."""

from __future__ import annotations

from course_lib.formatting import fixed
from course_lib.views.picture import Picture
from course_lib.views.svg import group, word
from lessons.l06_bahdanau_attention.attention_stepper import (
    AttentionStepper,
    draw_attention,
    draw_encoder,
    draw_past,
    draw_prediction,
)

PARTS = ("", "annotations")
STEP = 5  # of *eau*: no prediction asks about it


def draw(lit: str = "") -> Picture:
    """With the annotations lit, everything else is faint."""
    facts = AttentionStepper.facts_at({"sentence": "thirsty", "step": STEP}) | {"linked": []}
    best, output = facts["source"][facts["weights"].argmax()], facts["words"][STEP]
    headline = f"To choose *{output}*, the decoder looks at *{best}*"
    weight, probability = (fixed(float(n), 2) for n in (facts["weights"].max(), facts["likely"][1][0]))
    alt = (
        f"Before {output}, the decoder's state asks all annotations. {best} gets an attention weight of "
        f"{weight}, and the weighted average leads to {output}, with a probability of {probability}."
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
