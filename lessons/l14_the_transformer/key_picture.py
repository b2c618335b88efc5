"""The key picture of this lesson: the whole Transformer on one page, at the moment it chooses *il*."""

from __future__ import annotations

from course_lib.results import read_results
from course_lib.views.picture import Picture
from lessons.l14_the_transformer.page import Marks, block_picture, page
from lessons.l14_the_transformer.traces import Trace, trace

SENTENCE, SO_FAR = "the cat drank the water because it was thirsty", "le chat a bu l' eau parce qu'"
CROSS, DECODER = "decoder 1, after cross-attention", "decoder 2, after self-attention"
HEADS = {CROSS: 3, DECODER: 1}  # cross 1.3 and decoder 2.1, which decide the pronoun (lesson 12)


def numbers() -> Trace:
    return trace("library", SENTENCE, SO_FAR)


def stories(found: Trace) -> dict[str, list[str]]:
    """What the two heads attend to at the last step, and how lesson 12 found them."""
    weights = {stage: found.maps[stage][head][-1] for stage, head in HEADS.items()}
    thirsty, article = found.source[weights[CROSS].argmax()], found.target[weights[DECODER].argmax()]
    record = read_results("lesson_12")["patching"]
    turned = min(record["cross 1.3"], record["decoder 2.1"])
    proof = [f"In {turned} of {record['sentences']} such", "sentences, either", "head's output from"]
    proof += ["the twin (*cold*)", "turns the pronoun."]
    return {
        "decoder 2": proof,
        CROSS: ["cross 1.3 reads", f"*{thirsty}* ({weights[CROSS].max():.2f})"],
        DECODER: [
            "decoder 2.1 reads",
            f"*{article}* ({weights[DECODER].max():.2f}), where",
            "it chose *chat*",
        ],
    }


def draw() -> Picture:
    found = numbers()
    said = found.output[-1]
    alt = (
        f"The Transformer translates “{SENTENCE}”. Each token is a line of {found.widths[0]} numbers that "
        "runs through three encoder or decoder blocks. Attention and feed-forward layers read its normalised "
        "copy and add to it; all three cross-attentions read the encoder's output. "
        f"After {found.target[-1]}, the next word is {said} ({found.probability:.2f})."
    )
    shown = {"title": ["The whole Transformer,", f"at the moment it says *{said}*"], "alt": alt}
    shown |= {"marks": Marks(heads=HEADS), "stories": stories(found)}
    shown |= {"lit": (found.source.index("thirsty"), len(found.target) - 1)}
    whole = page(found, **shown)
    whole.narrow = page(found, **shown, narrow=True)
    return whole


def draw_block(side: str) -> Picture:
    """The first block alone."""
    names = {"encoder": "self-attention", "decoder": "masked self-attention, cross-attention with the memory"}
    alt = f"A {side} block: {names[side]} and a feed-forward layer. Each reads a normalised copy of the "
    return block_picture(side, 0, numbers(), alt=f"{alt}words and adds to them.")
