"""The additive attention stepper: from the decoder's previous hidden state to its next word.

    >>> facts = compute(sentence="thirsty", step=1)
    >>> facts["words"][1], facts["source"][facts["weights"].argmax()]
    ('chat', 'cat')

The shipped Bahdanau system translates the running pair, with its own attention or the learner's (`using`).
The picture is figure 1 of his paper with its numbers. Steps and annotations are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial

import numpy as np

from course_lib.explore.base import Choice, Explorable, Facts, Integer
from course_lib.formatting import fixed, minus
from course_lib.text.special import BOS, EOS, SPECIAL
from course_lib.text.toy.twins import twins
from course_lib.translation.shipped import shared
from course_lib.views.cells import cells
from course_lib.views.shapes import side_bars
from course_lib.views.svg import belongs, bend, box, choice, dot, group, line, note, path, width_of, word
from lessons.l06_bahdanau_attention.own_attention import Attention, decode_steps
from lessons.l06_bahdanau_attention.solutions import additive_attention

SENTENCES = ("thirsty", "cold")  # the twins
NOUNS = {"thirsty": "cat", "cold": "water"}  # what *it* is
N_STEPS, N_SHOWN = 12, 5  # words and their end; numbers of each half of an annotation
IL = 8  # the step of the pronoun

LEFT, GAP = 128, 64  # of the source words
TOP, ROW = 84, 388  # of the annotations; the middle of the decoder's states
HUB, HEIGHT, PACE = 522, 294, 34.5  # the context vector, above this step's state; between two states
OUTPUT = HUB + 66
THICK = 20  # the line of the attention weight 1: thickness is the weight


@cache
def translate_stepwise(sentence: str, attend: Attention = additive_attention) -> Facts:
    """The weights, the word and the most probable words of every step."""
    model, pair = shared("bahdanau").model, twins(1)[SENTENCES.index(sentence)]
    steps = decode_steps(pair.src_text, attend, n=N_STEPS)
    shown = steps["annotations"].reshape(len(pair.src) + 1, 2, -1)[..., :N_SHOWN]
    sizes = model.config.hidden, model.config.vocab_size
    return steps | {"annotations": shown, "sizes": sizes, "links": pair.links}


def compute(*, sentence: str, step: int, attend: Attention = additive_attention) -> Facts:
    """The weights and likely words of one step, and the weights of all steps up to it.

    If the learner's function doesn't work, `problem` says why, and the picture hides what it would show.
    """
    steps, problem = translate_stepwise(sentence), ""
    if attend is not additive_attention:
        try:
            steps = translate_stepwise(sentence, attend)
            problem = "" if np.isfinite(steps["weights"]).all() else "a weight isn't a number"
        except Exception as error:  # whatever a learner's function does
            unwritten = isinstance(error, NotImplementedError)
            problem = "it isn't written yet" if unwritten else f"{type(error).__name__} in your function"
    now = {name: steps[name][step] for name in ("scores", "weights", "likely")}
    linked = sorted(english for english, french in steps["links"] if french == step)
    facts = steps | now | {"map": steps["weights"][: step + 1], "total": float(now["weights"].sum())}
    return facts | {"problem": problem, "hidden": bool(problem), "linked": [] if problem else linked}


def arrow(*points: tuple[float, float], stroke: str = "calm", width: float = 1.2) -> str:
    return line(points, stroke, width, head=True)


def pointing(facts: Facts, j: int) -> dict[str, str | None]:
    if facts["hidden"]:
        return belongs(f"source-{j}")
    weight, score = (minus(fixed(float(facts[name][j]), 2)) for name in ("weights", "scores"))
    return belongs(f"source-{j}", tip=f"{facts['source'][j]}: weight {weight}, score e = {score}")


def draw_encoder(facts: Facts) -> Iterable[str]:
    """An annotation for each word: its left column is from the GRU that comes from the left."""
    yield word(14, 66, "source", 12, "soft", "start")
    yield note(14, TOP + 16, ["GRU →", "annotations", "← GRU"], 12)
    for j, (name, halves) in enumerate(zip(facts["source"], facts["annotations"], strict=True)):
        x, half = LEFT + GAP * j, width_of(name) / 2 + 4
        lit = facts["weights"][j] >= 0.2 and not facts["hidden"]
        if j in facts["linked"]:
            yield box(x - half, 51, 2 * half, 21, "none", "soft", radius=10, line=1.2, data_key="link")
            yield word(x, 46, "true link", 11, "soft", data_key="link-name")
        yield group(word(x, 66, name, bold=lit), class_="word", **pointing(facts, j))
        yield box(x - 12, TOP, 24, 55, "paper", "accent" if lit else "calm", radius=4, line=1.8 if lit else 1)
        yield cells(x - 9, TOP + 3.5, halves.T, 9.6, columns=2, largest=0.9)
        if name != SPECIAL[EOS]:
            yield arrow((x + 16, TOP + 12), (x + GAP - 16, TOP + 12))
            yield arrow((x + GAP - 16, TOP + 45), (x + 16, TOP + 45))


def draw_attention(facts: Facts) -> Iterable[str]:
    """The latest state asks every annotation; the answers are weights, as thick as they are."""
    rail, numbers, asks = TOP + 76, TOP + 96, HUB - PACE
    hidden, weights = facts["hidden"], facts["weights"].tolist()
    xs = [LEFT + GAP * j for j in range(len(weights))]
    for j in sorted(range(len(xs)), key=weights.__getitem__):  # the thickest is in front
        drawn = {"class_": "link", "stroke_linecap": "butt", "data_key": f"line-{j}", **pointing(facts, j)}
        lit = weights[j] >= 0.01 and not hidden
        stroke, width = "accent" if lit else "hair", max(1, THICK * min(weights[j], 1))
        if lit or hidden:
            drawn["opacity"] = 0.75
        if hidden:
            stroke, width = "calm", 3
        yield bend((xs[j], numbers + 8), (HUB + (xs[j] - HUB) / 25, HEIGHT - 8), stroke, width, 0.6, **drawn)
    for stroke, width in (("paper", 7), ("query", 1.8)):
        yield bend((asks, ROW - 10), ((xs[5] + xs[6]) / 2, rail), stroke, width)
    yield line([(xs[0], rail), (xs[-1], rail)], "query", 1.4) + word(
        14, numbers, "weights", 12, "soft", "start"
    )
    yield note(14, numbers + 15, ["softmax of", "the scores"], 11)
    for j, (x, weight) in enumerate(zip(xs, weights, strict=True)):
        lit = {"fill": "accent", "bold": True} if weight >= 0.01 and not hidden else {"fill": "soft"}
        number = word(x, numbers, "?" if hidden else fixed(weight, 2), 12, halo="paper", **lit)
        yield arrow((x, rail), (x, TOP + 59), stroke="query") + group(number, **pointing(facts, j))
    asked = ["the state so far asks every word:", "do I need you now?"]
    yield note(asks - 12, ROW - 84, asked, 12, "query", anchor="end", halo="paper")


def draw_past(facts: Facts) -> Iterable[str]:
    """The states so far and the words they chose; each word is an input of the next state."""
    step, first = facts["step"], HUB - PACE * (facts["step"] + 1)
    yield word(14, ROW + 4, "decoder", 12, "soft", "start")
    yield word(14, ROW + 48, "translation", 12, "soft", "start")
    # The first state is computed from the backward GRU's state at the first word.
    down = f"M{LEFT - 13} {TOP + 45}H92Q86 {TOP + 45} 86 {TOP + 51}V{ROW - 6}Q86 {ROW} 92 {ROW}"
    yield path(f"{down}H{first - 10:.1f}", "calm", 1.2, head=True)
    yield note(95, 250, ["the decoder", "starts from", "the backward", "GRU's end"], 11)
    if step:
        yield word(
            HUB - PACE - 12, ROW - 36, "each word had a context of its own", 11, "soft", "end", halo="paper"
        )
    for i, text in enumerate([SPECIAL[BOS], *facts["words"][:step]]):
        x, now = first + PACE * i, i == step
        end, stroke = x + PACE - (16 if now else 8), "soft" if now else "calm"
        drawn = dot(x, ROW, 7, "paper", "query" if now else "calm", 2.2 if now else 1.4)
        drawn += word(x, ROW + 48, text, 12, "ink" if i else "soft")
        if i:
            context = dot(x - 12, ROW - 24, 2.5, "calm", "none") + arrow((x - 10, ROW - 20), (x - 5, ROW - 9))
            drawn += arrow((x, ROW + 10), (x, ROW + 33)) + context
            drawn = choice(drawn, f"go to the step of {text}", step=i - 1)
        onward = arrow((x + 9, ROW), (end - 2, ROW), stroke="soft")
        onward += arrow((x + 7, ROW + 34), (end, ROW + (11 if now else 9)), stroke=stroke)
        yield group(drawn + onward, data_key=f"state-{i}")


def draw_prediction(facts: Facts) -> Iterable[str]:
    """Three things choose the next word: the new state, the context vector and the word before."""
    before, under = facts["words"][facts["step"] - 1] if facts["step"] else SPECIAL[BOS], ROW + 14
    aside, start = (
        f"{OUTPUT - 12} {HEIGHT + 10} {OUTPUT} {HEIGHT + 40}",
        HUB - PACE + width_of(before, 12) / 2,
    )
    yield path(f"M{HUB + 18} {HEIGHT + 4}C{aside} {OUTPUT} {ROW - 14}", "accent", 1.8, head=True)
    below = f"{HUB + 14} {ROW + 58} {OUTPUT} {ROW + 54} {OUTPUT} {under}"
    yield path(f"M{start + 2:.1f} {ROW + 48}C{below}", "soft", 1.2, head=True)
    yield arrow((HUB + 17, ROW), (OUTPUT - 25, ROW), stroke="accent", width=1.8)
    yield arrow((HUB, HEIGHT + 18), (HUB, ROW - 18), stroke="accent", width=2.4)
    for name, y, radius in (("c", HEIGHT, 17), ("s", ROW, 15)):
        yield dot(HUB, y, radius, "paper", "accent", 2) + word(
            HUB, y + 5, f"*{name}*", 16, "accent", bold=True
        )
    yield box(OUTPUT - 23, ROW - 11, 46, 22, "paper", "soft", radius=5, line=1.2)
    yield word(OUTPUT, ROW + 4, "output", 11) + arrow((OUTPUT + 24, ROW), (OUTPUT + 33, ROW), stroke="accent")
    yield note(OUTPUT + 12, HEIGHT - 4, ["context: the weighted", "average of annotations"], 11)
    yield word(OUTPUT + 12, ROW - 44, f"next word, of {facts['sizes'][1]} tokens", 11, "soft", "start")
    if facts["hidden"]:
        words = "*il* or *elle*?" if facts["step"] == IL else "?"
        yield word(OUTPUT + 38, ROW + 5, words, 15, "accent", "start", bold=True)
    else:
        yield side_bars(OUTPUT + 100, ROW - 36, *facts["likely"], width=30, fill="calm", lit=(0,))


def headline(facts: Facts) -> str:
    if facts["hidden"]:
        return f"additive_attention: {facts['problem']}" if facts["problem"] else "Where will it look?"
    if abs(facts["total"] - 1) > 0.01:
        return f"The weights of this step sum to {fixed(facts['total'], 2)}, not to 1"
    best, linked = int(facts["weights"].argmax()), facts["linked"]
    looks = f"To choose *{facts['words'][facts['step']]}*, the decoder looks"
    away = linked and best not in linked
    where = f", not at *{NOUNS[facts['sentence']]}*" if away else ""
    return f"{looks} {'most ' if away else ''}at *{facts['source'][best]}*{where}"


class AttentionStepper(Explorable):
    title = "Additive attention, step by step"
    question = "Before each word, the decoder scores every annotation. Which one gets the most attention?"
    size = (760, 456)
    step = Integer("step", 0, N_STEPS - 1, 5)
    sentence = Choice("… because it was", SENTENCES, "thirsty", buttons=True)
    play = "step"
    presets = {
        "il": {"step": 8},
        "elle": {"step": 8, "sentence": "cold"},
    }
    goals = {
        "unsure": "A step at which no annotation gets half of the attention",
        "twice": "Two consecutive words that attend to the same annotation",
    }
    compute = staticmethod(compute)

    @classmethod
    def using(cls, attend: Attention) -> type[AttentionStepper]:
        """The same with the weights of a learner's function, first at the pronoun."""
        members = {
            "step": Integer("step", 0, N_STEPS - 1, IL),
            "sentence": Choice("… because it was", SENTENCES, "thirsty", buttons=True),
            "compute": staticmethod(partial(compute, attend=attend)),
        }
        return type(cls.__name__, (cls,), members)

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        rows = now["map"]
        same = len(rows) > 1 and rows[-1].argmax() == rows[-2].argmax()
        return {
            "unsure": now["weights"].max() < 0.5,
            "twice": same and rows[-1].max() > 0.9,
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        yield word(14, 28, headline(facts), 15, anchor="start", bold=True)
        for part in (draw_attention, draw_encoder, draw_past, draw_prediction):
            yield from part(facts)

    @staticmethod
    def describe(facts: Facts) -> str:
        if facts["hidden"]:
            return f"Step {facts['step']} of the translation: {facts['problem']}, so no weights are shown."
        (best, *_), (probability, *_) = facts["likely"]
        attended, shown = facts["weights"].argmax(), f"{N_SHOWN} of its {facts['sizes'][0]}"
        linked = " and ".join(f"“{facts['source'][j]}”" for j in facts["linked"]) or "no word"
        return (
            f"Step {facts['step']} of “… because it was {facts['sentence']}”: the largest attention weight, "
            f"{fixed(float(facts['weights'][attended]), 2)}, is on “{facts['source'][attended]}”, and the "
            f"decoder outputs “{best}” ({fixed(probability, 2)}), which has its true link at {linked}. "
            f"Each annotation is shown by {shown} forward and {shown} backward numbers."
        )
