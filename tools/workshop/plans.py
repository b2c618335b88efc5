"""Which lessons a workshop teaches, and why. Minutes are not written here: they come from the lessons.

>>> plan_for(90).parts[-1].lesson
'06'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from course_lib.teaching.contents import FULL, SHORT, lessons

DAY = 8 * 60  # minutes, from the start to the end, with lunch


@dataclass(frozen=True)
class Part:
    """A lesson on a track. Of its numbered sections, `only` lists all that are taught, `without` those that
    are left out, and `keep` those that matter most: on the day they are never offered for cutting, and a
    shorter workshop leaves them out last."""

    lesson: str
    track: str
    why: str
    only: tuple[int, ...] = ()
    without: tuple[int, ...] = ()
    keep: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The parts of a workshop that lasts `minutes`."""

    minutes: int
    purpose: str
    parts: tuple[Part, ...]


PROBLEM = Part("04", SHORT, "the problem: accuracy falls as sentences get longer", only=(3,))
FIRST = Part("06", SHORT, "the first attention, in a trained translator", keep=(3, 4, 6))
LEFT_OUT = {"14": (8,), "18": (9,), "19": (6, 7)}  # of five days
PLANS = (
    Plan(
        90,
        "Learners build Bahdanau's attention, and a trained translator runs with it.",
        (PROBLEM, replace(FIRST, without=(4, 5), keep=(3, 6))),
    ),
    Plan(
        180,
        "Learners build attention three times: Bahdanau's, as query, key and value, and as self-attention.",
        (
            PROBLEM,
            replace(FIRST, without=(4, 5, 6), keep=(3,)),
            Part(
                "08",
                SHORT,
                "the same idea in the form of the Transformer: scaled dot-product attention",
                without=(5,),
                keep=(3,),
            ),
            Part("09", SHORT, "one layer of it applied to a single sentence", only=(1, 2), keep=(2,)),
        ),
    ),
    Plan(
        DAY,
        "From the bottleneck of the encoder-decoder to a Transformer that translates with learners' code.",
        (
            Part("04", SHORT, "the problem that attention solves", without=(5, 6)),
            replace(FIRST, without=(5, 6), keep=(3, 4)),
            Part(
                "08", SHORT, "query, key and value, which everything after it uses", without=(4, 5), keep=(3,)
            ),
            Part("09", SHORT, "self-attention: a sentence that attends to itself", without=(5, 7), keep=(2,)),
            Part("10", SHORT, "masks, which training and padding need", without=(3, 4, 5), keep=(2,)),
            Part(
                "13",
                SHORT,
                "residual connections, norms, the block",
                only=(2, 3, 5),
                keep=(2,),
            ),
            Part("14", SHORT, "all parts together, with trained weights", without=(6,), keep=(5,)),
        ),
    ),
    Plan(
        2 * DAY,
        "The path to the Transformer on the short track, from recurrent networks to a working translator.",
        tuple(
            Part(number, SHORT, why)
            for number, why in (
                ("02", "how a recurrent network reads a sentence, and what it forgets"),
                ("03", "what gates improve"),
                ("04", "the encoder-decoder and its bottleneck"),
                ("05", "why the distance between words matters"),
                ("06", "the first attention"),
                ("08", "query, key and value"),
                ("09", "self-attention"),
                ("10", "masks"),
                ("11", "positions"),
                ("12", "several heads"),
                ("13", "the block"),
                ("14", "the whole Transformer"),
            )
        ),
    ),
    Plan(
        3 * DAY,
        "Every lesson on the short track.",
        tuple(Part(lesson.number, SHORT, lesson.question) for lesson in lessons()),
    ),
    Plan(
        5 * DAY,
        "The full course without its stretch parts. The Transformer from an empty file (14) is homework.",
        tuple(
            Part(lesson.number, FULL, lesson.question, without=LEFT_OUT.get(lesson.number, ()))
            for lesson in lessons()
        ),
    ),
)


def plan_for(minutes: float) -> Plan:
    """The shortest plan that fills this time; if there is none, the longest."""
    return next((plan for plan in PLANS if plan.minutes >= minutes), PLANS[-1])


def plan_of(numbers: Sequence[str], track: str, minutes: float) -> Plan:
    """A plan of lessons that the instructor has chosen."""
    questions = {lesson.number: lesson.question for lesson in lessons()}
    names = ", ".join(numbers)
    purpose = f"Lesson{'s' * (len(numbers) > 1)} {names}."
    return Plan(round(minutes), purpose, tuple(Part(number, track, questions[number]) for number in numbers))
