"""The exercise of lesson 00: the measure of the whole course."""

from __future__ import annotations

from collections.abc import Callable

from course_lib.teaching.exercises import ByHand, PlainExercise, known_mistakes
from lessons.l00_start_here import solutions


def given(*pairs: str) -> Callable[[], tuple[list[str], list[str]]]:
    """Translations and references, written `le chat dort = la vache dort`: no string is made only once."""
    return lambda: tuple(map(list, zip(*(pair.split(" = ") for pair in pairs), strict=True)))


EXACT_MATCH = PlainExercise(
    name="exact_match",
    lesson="start_here",
    inputs=("translations", "references"),
    reference=solutions.exact_match,
    by_hand=ByHand(
        inputs={
            "translations": ["le chat dort", "la vache boit l' eau", "elle a faim", "le roi mange"],
            "references": ["le chat dort", "la vache boit l' eau", "il a faim", "le roi mange"],
        },
        answer=0.75,
        says="The first, second and fourth translations are equal to their references: 3 of 4, or 0.75.",
    ),
    others=(
        given("il dort = il dort", "le chat noir dort = le noir chat dort"),
        given("il dort = il dort", "elle court = elle court bien", "oui = oui"),
        given("il voit le chat qui dort = il voit le chat", "oui = non"),
        given("Le chat dort = le chat dort", "la reine a vu = la reine a vu", "oui = non"),
        given("la reine mange = le roi boit", "le roi boit = la reine mange", "il a soif = il a soif"),
        given(*["il dort = il dort"] * 3, "elle a bu = il a bu", "il dort = elle dort"),
        given("il a vu = il a vu", "elle a vu = elle a dormi", "il a bu = il a bu", "un chat = un ami"),
        given("le chien = le chat", "elle dort = elle dort"),
        given("il mange = il boit", "le loup = le renard"),
        given("le chat = le chat", "la vache dort = la vache dort"),
        given("il a très faim = il a très soif", *["elle dort = elle dort"] * 6),
    ),
    slips=known_mistakes(solutions.exact_match),
)

EXERCISES = (EXACT_MATCH,)
