"""One number of a trained LSTM's cell state along two sentences, with the gates that let it through."""

from __future__ import annotations

import math
from itertools import pairwise

from course_lib.translation.shipped import shared
from course_lib.views.cells import cells, shade
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.shapes import side_bars
from course_lib.views.svg import belongs, box, group, line, note, path, width_of, word
from lessons.l03_lstm_and_gru.trained_cell import Run, numbers, signed

FIRST, GAP, HALF = 142, 54, 14  # across: the first word, from word to word; half the height of a belt
BELTS, LARGEST = (142, 346), 4.0  # heights; the number with the full colour


def draw() -> Picture:
    """The cell in both sentences: what each word writes, what its forget gate lets pass, what is read out."""
    best, (he, she) = numbers()
    size, end = shared("lstm_lm").model.config.hidden, FIRST + GAP * (len(he.steps) - 1)
    first, second = BELTS
    sides = "".join(note(14, y - 3, ["cell state *c*,", f"number {best}"], 12, "ink") for y in BELTS)
    sides += note(14, first - HALF - 38, ["read out:", "*o* · tanh(*c*)"], 11)
    sides += note(14, first + HALF + 36, ["written:", "*i* · *g*"], 11)
    sides += word(end + 52, first - 74, f"next, from all {size}", 11, "soft", "start")
    gate = FIRST + 1.5 * GAP
    for y, run in zip(BELTS, (she, he), strict=True):
        noun = run.steps[2]
        sides += line([(gate, y - HALF - 46), (gate, y - HALF - 2)], "soft", 1.2)
        told = (
            f"*{noun.word}*: the forget gate lets {noun.forget:.0%} pass; written: {signed(noun.written, 1)}"
        )
        sides += word(gate - 4, y - HALF - 52, told, 12, "ink", "start")
    middle, swap = (first + second) / 2, ""
    for y in BELTS:
        tip = y + math.copysign(6, middle - y)
        d = f"M{end + 46} {middle}C{end + 46} {(middle + y) / 2} {end + 44} {tip} {end + 27} {tip}"
        swap += path(d, "accent", 1.8, head=True)
    told = [
        "Exchange only",
        "these two cell",
        f"numbers ({size} in",
        "each sentence):",
        f"*elle* falls to {she.swapped:.2f}",
        "above and rises",
        f"to {he.swapped:.2f} below.",
    ]
    swap += note(end + 56, middle - 52, told, 12, "accent")
    headline = f"Before the pronoun, one of the LSTM's {size} numbers holds the gender"
    return Picture(
        WIDTH,
        446,
        word(14, 26, headline, 15, anchor="start", bold=True),
        sides,
        swap,
        _belt(she, first),
        _belt(he, second),
        alt=f"After la souris a bu l' eau parce qu', number {best} of the cell state is "
        f"{signed(she.steps[-1].cell, 1)} and elle has a probability of {she.next['elle']:.2f}. After le "
        f"chat …, they are {signed(he.steps[-1].cell, 1)} and {he.next['elle']:.2f}. Exchanging this number "
        f"alone gives {she.swapped:.2f} and {he.swapped:.2f}.",
    )


def _belt(run: Run, y: float) -> str:
    """The cell from word to word: what one leaves passes the next one's forget gate as far as it is open."""
    places = [FIRST + GAP * i for i in range(len(run.steps))]
    out = ""
    for x, (step, after) in zip(places, pairwise(run.steps), strict=False):
        for left, value in ((x, step.cell), (x + GAP / 2, step.cell * after.forget)):
            stroke, strength = shade(value, LARGEST)
            out += box(left, y - HALF, GAP / 2, 2 * HALF, stroke, radius=0, opacity=strength)
        shut = HALF * (1 - after.forget)
        for top in (y - HALF, y + HALF - shut):
            out += box(x + GAP / 2 - 3, top, 6, shut, "ink", radius=1) if shut > 2 else ""
    for edge in (y - HALF, y + HALF):
        out += line([(places[0], edge), (places[-1], edge)], "soft")
    for i, (x, step) in enumerate(zip(places, run.steps, strict=True)):
        drawn = _arrow(x, y + HALF + 28, y + HALF + 4, step.written)
        drawn += _value(x, y + HALF + 44, step.written)
        drawn += _arrow(x, y - HALF - 2, y - HALF - 24, step.hidden) + _value(x, y - HALF - 30, step.hidden)
        frame = "calm" if abs(step.cell) < 0.05 else shade(step.cell, 1)[0]
        drawn += box(x - 20, y - 11, 40, 22, "paper", frame, radius=11, line=1.6)
        drawn += word(x, y + 4, signed(step.cell, 1), 12, bold=True)
        drawn += word(x, y + HALF + 66, step.word, 14, bold=i in (1, 2))
        out += group(
            drawn, **belongs(tip=f"{step.word}: input gate {step.input:.2f}, forget gate {step.forget:.2f}")
        )
    x, height = places[-1] + 24, y - HALF - 34
    names = sorted(run.next, key=run.next.get, reverse=True)
    ends = [(x, height), (x + 48 - width_of(names[0], 13), height)]
    out += line(ends, "paper", 7) + line(ends, "soft", 1.2, head=True)
    bars = side_bars(x + 60, height - 12, names, [run.next[name] for name in names], width=40, fill="calm")
    return out + bars


def _arrow(x: float, tail: float, tip: float, value: float) -> str:
    """An arrow upwards, as thick as what it carries."""
    if abs(value) < 0.05:
        return line([(x, tail), (x, tip)], "calm")
    half = 4 + 4 * abs(value)
    shaft = line([(x, tail), (x, tip + 9)], "calm", 8 * abs(value), stroke_linecap="butt")
    triangle = f"M{x - half:.1f} {tip + 10}L{x} {tip}L{x + half:.1f} {tip + 10}Z"
    return shaft + path(triangle, "none", 0, fill="calm")


def _value(x: float, y: float, value: float) -> str:
    square = cells(x - 20, y - 8.5, [value], 10) if abs(value) >= 0.05 else ""
    return square + word(x - 8, y, signed(value, 1), 11, "soft", "start")
