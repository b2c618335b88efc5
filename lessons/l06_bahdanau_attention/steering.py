"""Steering: at one step, the decoder attends only to the word that the learner clicks, or only to the others.

>>> facts = compute(sentence="thirsty", step=1, position=4)
>>> " ".join(facts["words"])
"le eau a bu l' eau parce qu' il avait soif"
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from course_lib.explore.base import Choice, Explorable, Facts, Integer
from course_lib.formatting import fixed
from course_lib.text.special import EOS, SPECIAL
from course_lib.text.toy.twins import twins
from course_lib.views.svg import bend, box, choice, dot, width_of, word
from course_lib.views.words import fits, mistakes, spread
from lessons.l06_bahdanau_attention.attention_stepper import SENTENCES
from lessons.l06_bahdanau_attention.own_attention import Attention, decode_steps, up_to_end
from lessons.l06_bahdanau_attention.solutions import additive_attention

N_WORDS = 10  # in the source; position 14 is position 4 without its attention
POSITIONS = [f"{all_but}{i}" for all_but in ("", "all but ") for i in range(N_WORDS)]
SOURCE, USUAL, STEERED = 92, 236, 312  # the heights of the three rows of words
LEFT, RIGHT, SIZE, THICK = 96, 748, 15, 14


def compute(*, sentence: str, step: int, position: int, attend: Attention = additive_attention) -> Facts:
    """The translation if one step attends to one position, or to all others; and the usual one."""
    text, removed, clicked = twins(1)[SENTENCES.index(sentence)].src_text, *divmod(position, N_WORDS)
    usual, steered = decode_steps(text, attend), decode_steps(text, attend, at=(step, clicked, removed))
    usual_words, words = up_to_end(usual["words"]), up_to_end(steered["words"])
    wrong, missing = mistakes(words, usual_words)
    return {
        "source": usual["source"],
        "usual": usual_words,
        "words": words,
        "changed": wrong,
        "missing": sum(missing.values()),
        "weights": (steered if removed else usual)["weights"][step],
        "weight": float(usual["weights"][step][clicked]),
        "clicked": clicked,
        "removed": bool(removed),
        "outputs": (usual["words"][step], steered["words"][step]),
    }


def headline(facts: Facts) -> str:
    before, after = facts["outputs"]
    only = "to all but" if facts["removed"] else "only to"
    where = f"Step {facts['step']} attends {only} *{facts['source'][facts['clicked']]}*"
    if facts["words"] == facts["usual"]:
        return f"{where}: the translation stays the same"
    return f"{where}: *{before}* {'stays' if before == after else f'becomes *{after}*'}"


class Steering(Explorable):
    title = "Steering the attention"
    question = "Click a French word, then an English one: the step attends only to it; again: to all others."
    size = (760, 352)
    step = Integer("step", 0, 11, 1)
    position = Choice("word, from 0", tuple(range(2 * N_WORDS)), 1, text=POSITIONS.__getitem__)
    sentence = Choice("… because it was", SENTENCES, "thirsty", buttons=True)
    presets = {"chat, at water": {"position": 4}, "il, at cat": {"step": 8}}
    goals = {
        "short": "A translation of at most three words",
        "same": "A word that gets less than 0.1, but leaves everything unchanged",
    }
    compute = staticmethod(compute)

    @classmethod
    def using(cls, attend: Attention) -> type[Steering]:
        """The same with a learner's attention at all other steps."""
        return type(cls.__name__, (cls,), {"compute": staticmethod(partial(compute, attend=attend))})

    @staticmethod
    def goals_met(now: Facts, start: Facts) -> dict[str, bool]:
        return {
            "short": len(now["words"]) <= 3,
            "same": now["words"] == now["usual"] and now["weight"] < 0.1 and not now["removed"],
        }

    @staticmethod
    def draw(facts: Facts) -> Iterable[str]:
        usual, step, clicked = [*facts["usual"], SPECIAL[EOS]], facts["step"], facts["clicked"]
        above, below = (spread(row, LEFT, RIGHT, SIZE, most=28) for row in (facts["source"], usual))
        yield word(14, 28, headline(facts), 15, anchor="start", bold=True)
        for y, name in ((SOURCE, "source"), (USUAL, "usual"), (STEERED, "steered")):
            yield word(14, y, name, 12, "soft", "start")
        removed, how = facts["removed"], "click the word that gets all the attention; click again: none of it"
        yield word(LEFT - 8, SOURCE - 32, how, 12, "soft", "start")
        start = below[min(step, len(below) - 1)], USUAL - 18
        for j, weight in enumerate(facts["weights"].tolist()):
            if weight >= 0.02:
                width = max(1, THICK * weight)
                yield bend((above[j], SOURCE + 12), start, "calm", width, stroke_linecap="butt", opacity=0.6)
        ends = (above[clicked], SOURCE + 12), start
        style = {"stroke_dasharray": "2 5"} if removed else {"stroke_linecap": "butt", "opacity": 0.8}
        yield bend(*ends, "accent", 2 if removed else THICK, data_key="forced", **style)
        rows = (("position", facts["source"], above, SOURCE, clicked), ("step", usual, below, USUAL, step))
        for control, words, places, y, chosen in rows:
            for i, (text, x) in enumerate(zip(words, places, strict=True)):
                half, lit = width_of(text, SIZE) / 2 + 5, i == chosen
                frame = box(x - half, y - 16, 2 * half, 24, "wash", "accent" if lit else None, line=2)
                button = frame + word(x, y, text, SIZE, bold=lit)
                again = N_WORDS * (lit and control == "position" and not removed)
                yield choice(button, f"{control} {i}: {text}", chosen=lit, **{control: i + again})
        words = facts["words"]
        words = words[: next(n for n in range(len(words), -1, -1) if fits(words[:n], RIGHT - LEFT, SIZE))]
        for i, (text, x) in enumerate(zip(words, spread(words, LEFT, RIGHT, SIZE, most=28), strict=True)):
            lit = i in facts["changed"]
            yield word(x, STEERED, text, SIZE, "accent" if lit else "ink", bold=lit)
            yield dot(x, STEERED + 10, 2.5, "accent", "none") if lit else ""
        gone = f"missing words: {facts['missing']}" if facts["missing"] else ""
        yield word(LEFT - 8, STEERED + 28, gone, 12, "accent", "start")

    @staticmethod
    def describe(facts: Facts) -> str:
        said, usual = headline(facts).replace("*", ""), fixed(facts["weight"], 2)
        return f"{said}. Its usual weight is {usual}. The translation is “{' '.join(facts['words'])}”."
