"""The key picture of this lesson: one step of a trained LSTM, in which *chat* makes it forget a number."""

from __future__ import annotations

from course_lib.translation.shipped import shared
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import Point, belongs, box, dot, group, line, note, word
from lessons.l03_lstm_and_gru.trained_cell import numbers, signed

PARTS = ("", "cell state")
TOP, MIDDLE, GATES, BUS = 116, 178, 240, 314  # heights: cell state, products, gates, hidden state and input
THICKEST = 9  # of a line that carries 1
HEADLINES = {
    "": "At *{0}*, the LSTM forgets most of this number: {1:.0%} passes",
    "cell state": "The path of the cell state: one product and one sum",
}


def draw(lit: str = "") -> Picture:
    """One step, with the cell state along the top and x and h below. If it is lit, the rest fades."""
    best, (run, _) = numbers()
    step, size = run.steps[2], shared("lstm_lm").model.config
    memory, shut, plus = ("accent", "soft", "accent") if lit else ("key", "accent", "soft")
    kept, written = step.forget * step.before, step.written

    belt = [((94, 216), step.before), ((216, 412), kept), ((412, 666), step.cell)]
    of_cell = "".join(_thick(ends, TOP, value, memory) for ends, value in belt)
    for x, value in ((160, step.before), (314, kept), (500, step.cell)):
        of_cell += word(x, TOP - 12, signed(value), 13, memory, bold=True)
    of_cell += word(20, TOP - 12, "cell state *c*", 12, memory, "start") + _sign(412, TOP, "+", plus)
    of_cell += note(20, TOP + 18, [f"number {best}", f"of 0 to {size.hidden - 1}"], 11, memory)
    of_cell += word(670, TOP + 4, "*c′*", 13, memory, "start")
    enter = line([(322, GATES - 15), (322, MIDDLE), (399, MIDDLE)], "soft", 1.4, head=True)
    enter += line([(412, GATES - 15), (412, MIDDLE + 13)], "soft", 1.4, head=True)
    enter += line([(412, MIDDLE - 11), (412, TOP + 13)], "key", max(1, THICKEST * abs(written)), head=True)
    enter += word(419, MIDDLE - 23, signed(written), 13, "key", "start", bold=True) + _sign(412, MIDDLE, "×")
    leave = line([(578, TOP), (578, MIDDLE - 15)], "soft", 1.4, head=True) + dot(578, TOP, 3, "key", "key")
    leave += box(556, MIDDLE - 13, 44, 26, "paper", "soft", radius=13) + word(578, MIDDLE + 4.5, "tanh", 13)
    leave += line([(578, MIDDLE + 13), (578, GATES - 13)], "soft", 1.4, head=True)
    leave += line([(540, GATES), (565, GATES)], "soft", 1.4, head=True) + _sign(578, GATES, "×")
    leave += line([(578, GATES + 11), (578, BUS), (621, BUS)], "soft", 1.4, head=True)
    leave += word(585, GATES + 36, signed(step.hidden), 13, "soft", "start", bold=True)
    vectors = _band([(94, BUS), (526, BUS)], [(160, 380), (160, BUS)], [(624, BUS), (666, BUS)])
    vectors += note(20, BUS - 40, ["hidden", "state *h*,", f"all {size.hidden}"], 11)
    of_x = f"*x*, {size.embed} numbers: the embedding of *{step.word}*"
    vectors += word(172, 376, of_x, 11, "soft", "start")
    vectors += note(672, BUS - 40, ["*h′*, with", "the other", f"{size.hidden - 1}"], 11)
    vectors += note(216, BUS + 20, ["each box: its own *W x* + *U h* + *b*, then σ or tanh"], 11)
    frames = "".join(box(*at, 278, "wash", radius=14) for at in ((14, 62, 80), (124, 62, 512), (666, 62, 80)))
    for x, row in ((54, run.steps[1]), (160, step), (706, run.steps[3])):
        frames += word(x, 402, row.word, 15 if row is step else 14, bold=row is step)
    gates = line([(216, GATES - 15), (216, TOP + 13)], shut, 1.4, head=True)
    gates += _gate("forget gate", "f", 216, step.forget, shut) + _gate("input gate", "i", 322, step.input)
    gates += _gate("candidate", "g", 412, step.candidate) + _gate("output gate", "o", 520, step.output)
    return Picture(
        WIDTH,
        420,
        word(14, 26, HEADLINES[lit].format(step.word, step.forget), 15, "ink", "start", bold=True),
        frames,
        group(vectors + enter + leave + gates, opacity="0.5" if lit else None),
        of_cell,
        _sign(216, TOP, "×", "accent"),
        alt=f"An LSTM step at {step.word}. Number {best} of the cell state is {signed(step.before)}; the "
        f"forget gate, {step.forget:.2f}, leaves {signed(kept)}. The input gate, {step.input:.2f}, adds only "
        f"{signed(written)}. The output gate, {step.output:.2f}, hides the new value, {signed(step.cell)}."
        + " On the path of the cell state, there is one product and one sum."
        * bool(lit),
    )


def _thick(ends: Point, y: float, value: float, stroke: str) -> str:
    """A line as thick as the number that it carries."""
    return line([(x, y) for x in ends], stroke, THICKEST * abs(value), stroke_linecap="butt")


def _band(*ways: list[Point]) -> str:
    """Whole vectors: hollow, because the width of this line says nothing."""
    widths = (("calm", 9), ("paper", 6))
    return "".join(line(way, *width, stroke_linecap="butt") for width in widths for way in ways)


def _sign(x: float, y: float, text: str, stroke: str = "soft") -> str:
    return dot(x, y, 11, "paper", stroke, 1.4) + word(x, y + 5, text, 15, stroke, bold=True)


def _gate(name: str, symbol: str, x: float, value: float, stroke: str = "soft") -> str:
    """What all of x and h decide about one number; both arrive from below."""
    drawn = line([(x, BUS - 4), (x, GATES + 18)], "soft", 1.4, head=True)
    drawn += box(x - 20, GATES - 15, 40, 30, "paper", stroke, line=2 if stroke == "accent" else 1.2)
    drawn += word(x, GATES + 5, "tanh" if symbol == "g" else "σ", 13, "ink" if stroke == "soft" else stroke)
    drawn += note(x + 7, GATES + 33, [*name.split()[:-1], f"{name.split()[-1]} *{symbol}*"], 12, stroke)
    drawn += word(x + 7, GATES - 23, signed(value), 13, stroke, "start", bold=True)
    return group(drawn, **belongs(name, tip=f"{name} {symbol} = {signed(value, 3)}"))
