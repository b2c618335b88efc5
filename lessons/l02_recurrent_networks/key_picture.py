"""The key picture of this lesson: a trained RNN unrolled over a sentence, with a loss after every word."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch

from course_lib.text.special import BOS, EOS
from course_lib.translation.shipped import shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import belongs, box, group, note, word
from course_lib.views.unrolled import chain, feeds, guesses, height_of

PARTS = ("", "state")
SENTENCE = "le chat a bu l' eau parce qu' il avait soif"
SHOWN = 8  # numbers of the state, at equal distances


class Step(NamedTuple):
    """What the RNN reads, its state, its best guesses with their probabilities, and what comes next."""

    word: str
    state: list[float]
    guesses: list[tuple[str, float]]
    next: str
    probability: float

    @property
    def loss(self) -> float:
        return -math.log(self.probability)


@cache
def numbers() -> list[Step]:
    shipped = shared("rnn_lm")
    model, names = shipped.model.eval(), {BOS: "<s>", EOS: "</s>"}
    tokens = [BOS, *shipped.tokenizer.encode(SENTENCE), EOS]

    def name(token: int) -> str:
        return names.get(token) or shipped.tokenizer.decode([token])

    with torch.no_grad():
        states, _ = model.recurrent(model.words.target(torch.tensor([tokens[:-1]])))
        probabilities = model.words.logits(model.to_embed(states))[0].softmax(dim=-1)
    steps = []
    for (read, after), state, row in zip(pairwise(tokens), states[0], probabilities, strict=True):
        best = [(name(token), row[token].item()) for token in row.topk(2).indices.tolist()]
        shown = state[:: len(state) // SHOWN].tolist()
        steps.append(Step(name(read), shown, best, name(after), row[after].item()))
    return steps


FIRST, GAP = 128, 53.5
LOSS, UNIT, NEXT, GUESSES, STATES, WORDS = 166, 29, 186, 231, 296, 436  # heights; pixels of a loss of 1
HEADLINES = {
    "": "After *le*, many nouns are possible; after *bu l'*, only *eau*",
    "state": "The same *W*, *U* and *b* make every state from the word and the state before",
}


def draw(lit: str = "") -> Picture:
    """Words below, states above them, then the two best guesses, what comes, and the loss."""
    steps = numbers()
    places = [FIRST + GAP * i for i in range(len(steps))]
    chat, eau = steps[1], steps[5]
    bottom = STATES + height_of(SHOWN)
    above = note(14, LOSS - 20, ["loss,", "−ln *p*"])
    above += note(14, NEXT, ["what comes,", "probability *p*"], 11)
    above += note(14, GUESSES, ["best guesses,", "bars: *p*"], 11)
    for x, step in zip(places, steps, strict=True):
        told = belongs(tip=f"p({step.next}) = {step.probability:.3f}")
        above += group(
            _loss(x, step, step in (chat, eau)) + guesses(x, GUESSES, step.guesses, bold=step.next), **told
        )
    above += feeds(places, STATES - 5, STATES - 22, "calm")
    stroke = "accent" if lit else "soft"
    tips = [f"after {step.word}" for step in steps]
    states = chain(places, STATES, [step.state for step in steps], stroke=stroke, tips=tips)
    states += feeds(places, WORDS - 18, bottom + 5, stroke)
    states += "".join(word(x, WORDS, step.word, 14) for x, step in zip(places, steps, strict=True))
    states += note(
        14, STATES + 30, ["state *h*:", f"{SHOWN} of {shared('rnn_lm').model.config.hidden}", "numbers"]
    )
    states += word(14, WORDS, "word in", 12, "soft", "start")
    for x in places[: None if lit else 1]:
        states += word(x + 7, WORDS - 30, "*W*", 12, stroke, "start")
    for x in places[: -1 if lit else 1]:
        states += word(x + GAP / 2, STATES + 38, "*U*", 12, stroke)
    if not lit:
        above += note(14, STATES - 9, ["output layer"], 11)
        states += note(14, WORDS - 50, ["*W*, *U*: the same", "at every word"], 11)
    said = (
        f"After le, it gives chat a probability of {chat.probability:.2f}: a loss of {chat.loss:.1f}, the "
        f"highest. After l', it gives eau {eau.probability:.2f}."
    )
    if lit:
        said = "At every step, W multiplies the word and U the state before it."
    return Picture(
        WIDTH,
        452,
        word(14, 26, HEADLINES[lit], 15, anchor="start", bold=True),
        group(above, opacity="0.3" if lit else None),
        states,
        alt=f"An RNN reads {SENTENCE}. {said} Each state is computed from the word and the state before, "
        "with the same weights at every word.",
    )


def _loss(x: float, step: Step, lit: bool) -> str:
    height = UNIT * step.loss
    fill = "accent" if lit else "calm"
    bar = box(x - 13, LOSS - height, 26, max(1, height), fill, radius=2)
    loss = "<0.1" if step.loss < 0.05 else f"{step.loss:.1f}"
    bar += word(x, LOSS - height - 6, loss, 12, "accent" if lit else "soft", bold=lit)
    bar += word(x, NEXT, step.next, 13, "accent" if lit else "ink", bold=True)
    return bar + word(x, NEXT + 16, f"{step.probability:.2f}", 11, "accent" if lit else "soft")
