"""The whole Transformer on one page: every box of the code, a line for each word, every attention map.

    >>> from lessons.l14_the_transformer.traces import trace
    >>> page(trace("library", "the cat sleeps"), title=["The whole Transformer"], alt="…").width
    760

`narrow` puts the decoder above the encoder, for phones; `block_picture` shows one block alone. A box has the
name of the state that leaves it, such as "encoder 0, after attention": see `file_stages.stage_names`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from course_lib.views.cells import heat
from course_lib.views.picture import WIDTH, Picture
from course_lib.views.svg import (
    belongs,
    box,
    choice,
    colour,
    group,
    line,
    note,
    number,
    path,
    tag,
    width_of,
    word,
)
from lessons.l14_the_transformer.traces import Trace

SUBLAYERS = {
    "encoder": {"attention": "self-attention", "": "feed-forward"},
    "decoder": {
        "self-attention": "masked self-attention",
        "cross-attention": "cross-attention",
        "": "feed-forward",
    },
}
BOX, HEIGHT, BLOCK, N_BLOCKS = 150, 48, 206, 3  # a box's width and height; a block's height
GAP, SPREAD, CELL, MAP = 3.6, 36, 5, 27  # between lines, and all of them; a map's cell at most, a whole map
FAN, WORDS = 68, 140  # from the first block down: where a stream begins, and its words
DIMMED = "0.35"


class Tower(NamedTuple):
    """Where the encoder or the decoder is: the left side of its boxes, its stream, the bottom of its first
    block, and between which sides its words are."""

    side: str
    left: float
    stream: float
    bottom: float
    sides: tuple[float, float]
    aside: float = 40  # from the stream to remarks beside it

    @property
    def top(self) -> float:
        return self.bottom - N_BLOCKS * BLOCK

    def lines(self, count: int) -> list[float]:
        gap = min(GAP, SPREAD / max(1, count - 1))
        return [self.stream + gap * (i - (count - 1) / 2) for i in range(count)]


WIDE = Tower("encoder", 14, 216, 766, (4, 376)), Tower("decoder", 396, 598, 766, (394, 756))
NARROW = Tower("encoder", 34, 226, 1690, (4, 356), 32), Tower("decoder", 34, 226, 840, (30, 356), 32)
BUS = 352, 14  # the memory on its way to the decoder


@dataclass(frozen=True)
class Marks:
    """What is said of the boxes: which is open, which differs first, which are the learner's, and of some the
    head that is framed. Stages that `own` doesn't have aren't judged."""

    clickable: bool = False
    open: str = ""
    wrong: str = ""
    own: Mapping[str, bool] = field(default_factory=dict)
    heads: Mapping[str, int] = field(default_factory=dict)

    def frame(self, stage: str, usual: str) -> dict[str, Any]:
        """Of a box: accent if its output is the first to differ, dashed if its code isn't the learner's."""
        lit = stage in (self.wrong, self.open)
        dash = None if self.own.get(stage, True) else "4 3"
        usual = "calm" if dash and usual == "none" else usual
        stroke = "accent" if stage == self.wrong else "ink" if lit else usual
        return {"stroke": stroke, "line": 2.6 if lit else 1.4, "stroke_dasharray": dash}

    def sign(self, x: float, y: float, stage: str) -> str:
        if stage == self.wrong:
            return word(x, y, "✗", 14, "accent", "end", bold=True)
        return word(x, y, "✓", 13, "value", "end", bold=True) if self.own.get(stage) else ""

    def part(self, stage: str, content: str, tip: str) -> str:
        """A box with all that belongs to it. It can be opened; while another one is wrong, it is quiet."""
        quiet = self.wrong and stage not in (self.wrong, self.open)
        said = tip.rpartition(": ")[2] if self.clickable else tip  # its label says the rest
        named = group(content, opacity=DIMMED if quiet else None, **belongs(tip=said))
        if not self.clickable:
            return named
        return choice(named, tip, chosen=stage == self.open, box=stage)


def head_map(
    x: float, y: float, weights: np.ndarray, cell: tuple[float, float], *, causal: bool, shades: int = 5
) -> str:
    """Attention weights, small ones a little darker than they are. What a causal mask has hidden is grey."""
    shown = weights**0.7
    if causal:
        shown[np.triu(weights == 0, k=1)] = np.nan
    return heat(x, y, shown, cell, shades=shades)


def plus(x: float, y: float) -> str:
    """What a sub-layer computes is added to every line."""
    cross = f"M{number(x - 3.5)} {number(y)}h7M{number(x)} {number(y - 3.5)}v7"
    return box(x - 23, y - 6, 46, 12, stroke="ink", line=1.2) + path(cross, "ink", 1.3)


def sub_layer(tower: Tower, y: float, layer: int, kind: str, trace: Trace, marks: Marks) -> str:
    """A copy leaves the stream, is normalised and transformed, and is added back."""
    x, stream, name = tower.left, tower.stream, SUBLAYERS[tower.side][kind]
    stage = f"{tower.side} {layer}" + (f", after {kind}" if kind else "")
    top, low, high = y - HEIGHT / 2, y + HEIGHT / 2 - 9, y - HEIGHT / 2 - 9
    last = tower.lines(len(trace.source if tower.side == "encoder" else trace.target))[-1]
    drawn = line([(last, low), (x + BOX + 2, low)], "soft", 1.2, head=True)
    drawn += box(x + BOX + 10, low - 9, 7, 18, "calm", radius=3.5)
    drawn += line([(x + BOX / 2, top), (x + BOX / 2, high), (stream - 24, high)], "soft", 1.2, head=True)
    usual = "query" if kind else "calm"
    drawn += plus(stream, high) + box(x, top, BOX, HEIGHT, radius=7, **marks.frame(stage, usual))
    drawn += word(x + 8, top + 13, name, 11, "query" if kind else "ink", "start", bold=True)
    if kind == "cross-attention":
        drawn += word(x + BOX + 27, low - 5, "Q", 11, "query")
    inside = attention_maps if kind else widths
    drawn += inside(tower, y, stage, trace, marks) + marks.sign(x + BOX - 4, top - 4, stage)
    return marks.part(stage, drawn, f"{tower.side} block {layer}, {name}: {trace.shape_and_size(stage)}")


def widths(tower: Tower, y: float, stage: str, trace: Trace, marks: Marks) -> str:
    """A feed-forward layer makes each vector wide, then narrow again."""
    x, m = tower.left + BOX / 2, y + 7
    relu = word(tower.left + BOX - 8, y - HEIGHT / 2 + 13, "ReLU", 11, "soft", "end")
    drawn = "" if marks.clickable else relu
    d = f"M{x - 54} {m - 4}L{x - 12} {m - 12}H{x + 12}L{x + 54} {m - 4}V{m + 4}L{x + 12} {m + 12}H{x - 12}"
    drawn += tag("path", d=f"{d}L{x - 54} {m + 4}Z", fill=colour("calm"), fill_opacity="0.15")
    sizes = zip((-38, 0, 38), trace.widths, strict=True)
    return drawn + "".join(word(x + dx, m + 4, size, 11, "soft") for dx, size in sizes)


def attention_maps(tower: Tower, y: float, stage: str, trace: Trace, marks: Marks) -> str:
    maps = trace.maps.get(stage)
    if maps is None:  # the code has no softmax that could be watched
        return word(tower.left + 8, y + 10, "weights not seen", 11, "soft", "start")
    n_heads, n_rows, n_columns = maps.shape
    cell = min(CELL, MAP / max(n_rows, n_columns))
    step, drawn = (BOX - 16 - cell * n_columns) / max(1, n_heads - 1), ""
    for head, rows in enumerate(maps):
        x = tower.left + 8 + step * head
        drawn += head_map(x, y - 6, rows, (cell, cell), causal="self-attention" in stage)
        if head == marks.heads.get(stage):
            drawn += box(
                x - 2, y - 8, cell * n_columns + 4, cell * n_rows + 4, "none", "accent", radius=3, line=1.6
            )
    return drawn


def heights(tower: Tower, place: int) -> dict[str, float]:
    """The middles of a block's boxes, from the bottom up; it is the block at this place, counted from 0."""
    bottom, kinds = tower.bottom - BLOCK * place - 3, SUBLAYERS[tower.side]
    step = (BLOCK - 6) / len(kinds)
    return {kind: bottom - step * (i + 0.5) + 5 for i, kind in enumerate(kinds)}


def block(tower: Tower, place: int, layer: int, trace: Trace, marks: Marks) -> str:
    drawn = "".join(
        sub_layer(tower, y, layer, kind, trace, marks) for kind, y in heights(tower, place).items()
    )
    top = tower.bottom - BLOCK * (place + 1)
    x = tower.left if tower.side == "encoder" else tower.stream + tower.aside
    name = f"{tower.side} block {layer}" + (" ✓" if marks.own.get(f"{tower.side} {layer} block") else "")
    return drawn + word(x, top + 19, name, 11, "soft", "start")


def backs(tower: Tower, n_blocks: int) -> str:
    tops = (tower.bottom - BLOCK * (place + 1) + 3 for place in range(n_blocks))
    return "".join(box(tower.left - 8, top, 244, BLOCK - 6, "wash", radius=12) for top in tops)


def streams(tower: Tower, count: int, low: float, high: float, lit: int | None) -> str:
    """One line for each word."""
    ends = [f"M{number(x)} {number(low)}V{number(high)}" for x in tower.lines(count)]
    accent = "" if lit is None else path(ends.pop(lit), "accent", 2.4)
    return path("".join(ends), "calm", 1.3) + accent


def fan(tower: Tower, words: Sequence[str], y: float, joint: float, lit: int | None, right: float) -> str:
    """Words in a row, each joined to its line of the stream. They are slanted where they have no room."""
    left, sizes = tower.sides[0], [width_of(text, 12) + 7 for text in words]
    slanted = sum(sizes) > right - left + 14
    if slanted:
        left, sizes = left + 16, [1.0] * len(words)
    steps = [(right - left) / sum(sizes) * size for size in sizes]
    below, curves, drawn, accent = y > joint, "", "", ""
    y += slanted * (-24 if below else 16)
    for i, (text, x) in enumerate(zip(words, tower.lines(len(words)), strict=True)):
        middle = left + sum(steps[:i]) + steps[i] / 2
        end = y - 12 if below else y + 5
        half, at, to = number((end + joint) / 2), number(middle), number(x)
        curve = f"M{at} {number(end)}C{at} {half} {to} {half} {to} {number(joint)}"
        if i == lit:
            accent = path(curve, "accent", 2.2)
        else:
            curves += curve
        turned = {"transform": f"rotate(-35 {at} {number(y)})"} if slanted else {}
        anchor = ("end" if below else "start") if slanted else "middle"
        drawn += word(middle, y, text, 12, "accent" if i == lit else "ink", anchor, bold=i == lit, **turned)
    return path(curves, "calm", 1.1) + accent + drawn


def entrance(tower: Tower, trace: Trace, marks: Marks) -> str:
    """A word becomes a vector: its row of the embedding matrix, times a root, plus its position."""
    x, y = tower.stream, tower.bottom + 28
    stage = f"{'source' if tower.side == 'encoder' else 'target'} embeddings"
    wave = "M" + "L".join(f"{number(x - 92 + 2 * i)} {number(y - 7 * math.sin(i / 3.2))}" for i in range(26))
    frame = marks.frame(stage, "none")
    drawn = box(x - 98, y - 12, 126, 24, "none", frame.pop("stroke"), **frame, pointer_events="all")
    drawn += path(wave, "soft", 1.4) + line([(x - 38, y), (x - 25, y)], "soft", 1.2, head=True) + plus(x, y)
    drawn += word(x - 102, y + 4, "position", 11, "soft", "end") + marks.sign(x - 100, y - 8, stage)
    return marks.part(stage, drawn, f"{stage}, with positions: {trace.shape_and_size(stage)}")


def last_norm(tower: Tower, trace: Trace, marks: Marks) -> str:
    stage, x, y = ("memory" if tower.side == "encoder" else "last norm"), tower.stream, tower.top - 15
    lit = stage in (marks.open, marks.wrong)
    fill = "calm" if marks.own.get(stage, True) else "paper"
    drawn = box(x - 23, y - 4, 46, 8, fill, radius=4, **marks.frame(stage, "calm" if not lit else "ink"))
    drawn += word(x + 28, y + 4, "norm", 11, "soft", "start") + marks.sign(x - 27, y + 4, stage)
    named = "last norm; what leaves it is the memory" if tower.side == "encoder" else "last norm"
    return marks.part(stage, drawn, f"{named}: {trace.shape_and_size(stage)}")


def output_layer(tower: Tower, trace: Trace, marks: Marks) -> str:
    """The embedding matrix again: a logit for each token of the vocabulary. Then the softmax."""
    x, y = tower.stream, tower.top - 48
    drawn = box(x - 32, y, 64, 20, radius=5, **marks.frame("logits", "soft")) + word(
        x, y + 14, "× Eᵀ + b", 11
    )
    drawn += marks.sign(x - 36, y + 14, "logits")
    drawn += box(x - 32, y - 26, 64, 20, stroke="soft", radius=5, line=1.2) + word(x, y - 12, "softmax", 11)
    behind = box(x - 32, y - 26, 64, 46, radius=5)  # of faint boxes, too
    return behind + marks.part("logits", drawn, f"logits: {trace.shape_and_size('logits')}")


def memory_lines(encoder: Tower, decoder: Tower, bus: float, count: int, lit: int | None) -> str:
    """What leaves the encoder goes to the cross-attention of every decoder block: one line per word."""
    ys = [heights(decoder, place)["cross-attention"] + 8 for place in range(N_BLOCKS)]
    gap, beside, curves, accent = min(2.0, 20 / count), bus > encoder.stream, "", ""
    for i, x in enumerate(encoder.lines(count)):
        across = bus + gap * ((count - 1) / 2 - i) * (1 if beside else -1)
        turn = encoder.top - 38 - gap * ((count - i) if beside else i)
        aside, on, end = (6, 6, max(ys)) if beside else (-6, -6, min(ys))
        d = f"M{number(x)} {number(encoder.top - 14)}V{number(turn + 6)}Q{number(x)} {number(turn)} "
        d += f"{number(x + aside)} {number(turn)}H{number(across - aside)}Q{number(across)} {number(turn)} "
        d += f"{number(across)} {number(turn + on)}V{number(end)}"
        if i == lit:
            accent = path(d, "accent", 2.2)
        else:
            curves += d
    start, drawn = bus + gap * count / 2, path(curves, "key", 1.1, opacity=0.6) + accent
    for y in ys:
        drawn += line([(start, y), (decoder.left - 3, y)], "key", 1.8, head=True)
        drawn += word((start + decoder.left) / 2 - 3, y - 6, "K, V", 11, "key") if beside else ""
    return drawn


def remarks(encoder: Tower, decoder: Tower, trace: Trace, marks: Marks, narrow: bool) -> str:
    """What the parts are, and the shapes of what flows; not in a network with a mistake, which differs."""
    n, m, (d_model, *_) = len(trace.source), len(trace.target), trace.widths
    cross, masked = (heights(decoder, 0)[f"{kind}-attention"] for kind in ("cross", "self"))
    between = [heights(encoder, place)["attention"] - 58 for place in range(N_BLOCKS)]
    memory = [
        f"memory, {n} × {d_model}: one vector",
        "per source token. Each cross-",
        "attention makes its own K, V.",
    ]
    padding = ["A padding mask hides nothing", "here: there is no padding."]
    if marks.clickable:
        padding = ["Two tokens of padding follow, as", "in a batch; they aren't shown."]
    notes = {
        (encoder.left, between[2]): padding,
        (decoder.stream + decoder.aside, masked - 8): ["grey: hidden by", "the causal mask"],
        (decoder.stream + 30, decoder.bottom + 24): ["target: the", "library's words"],
    }
    if not marks.wrong:
        notes |= {
            (encoder.stream + 30, encoder.bottom + 24): [
                f"{n} × {d_model}: rows of",
                f"E, × √{d_model}, plus",
                "the positions",
            ],
            (decoder.stream + 38, decoder.top - 40): ["E again:", f"{m} × {trace.n_logits} logits"],
            (decoder.stream + decoder.aside, cross - 8): [f"{m} tokens ask,", f"{n} are read"],
            (encoder.left, between[0]): ["4 heads. A row is a token that", "asks, a column one it reads."],
            (encoder.left, between[1]): ["Each head gives a token 16", "numbers; joined, times W_O."],
        }
    if not marks.clickable:
        notes[(decoder.stream + 30, decoder.bottom + 24)] = [f"{m} × {d_model}, from", "the same matrix E"]
    drawn = word(encoder.left + BOX + 13, encoder.bottom - 12, "norm", 11, "soft")
    if narrow:
        memory = ["memory:", "each cross-", "attention makes", "its own K and V"]
        drawn += note(encoder.stream + encoder.aside, encoder.top - 76, memory, 11, "key")
    else:
        drawn += note(14, 88, memory, 11, "key")
        said = ["each position", "predicts the", "next token"]
        drawn += note(decoder.stream - 42, decoder.top - 68, said, 11, anchor="end")
    return drawn + "".join(note(*at, lines, 11) for at, lines in notes.items())


def page(
    trace: Trace,
    *,
    title: Sequence[str],
    alt: str,
    marks: Marks | None = None,
    stories: Mapping[str, Sequence[str]] | None = None,
    lit: tuple[int | None, int | None] = (None, None),
    narrow: bool = False,
    over: str = "",
) -> Picture:
    """`stories` has remarks for states, `lit` are the lines of a source and of a target word that have the
    accent colour, and `over` is drawn above everything."""
    marks, (encoder, decoder) = marks or Marks(), NARROW if narrow else WIDE
    in_source, in_target = lit
    parts = [backs(tower, N_BLOCKS) for tower in (encoder, decoder)]
    parts.append(note(14, 28, title, 15, "ink", bold=True))
    ends = (
        (encoder, trace.source, in_source, encoder.top - 14),
        (decoder, trace.target, in_target, decoder.top - 78),
    )
    for tower, words, at, top in ends:
        parts.append(streams(tower, len(words), tower.bottom + FAN, top, at))
        parts.append(fan(tower, words, tower.bottom + WORDS, tower.bottom + FAN, at, tower.sides[1]))
    above, right = decoder.top - 78, decoder.sides[1] - 34
    parts.append(fan(decoder, trace.output, above - 46, above, in_target, right))
    if in_target is not None:
        parts.append(word(right, above - 46, f"{trace.probability:.2f}", 12, "accent", "start"))
    parts.append(memory_lines(encoder, decoder, BUS[narrow], len(trace.source), in_source))
    for tower in (encoder, decoder):
        parts.append(entrance(tower, trace, marks))
        parts += [block(tower, place, place, trace, marks) for place in range(N_BLOCKS)]
        parts.append(last_norm(tower, trace, marks))
    parts.append(output_layer(decoder, trace, marks))
    parts.append(remarks(encoder, decoder, trace, marks, narrow))
    for stage, lines in (stories or {}).items():
        block_name, _, kind = stage.partition(", after ")
        y = heights(decoder, int(block_name[-1]))[kind] - (12 if kind else 2)
        fill = "accent" if stage in marks.heads else "soft"
        parts.append(note(decoder.stream + decoder.aside, y, lines, 11, fill))
    return Picture(360 if narrow else WIDTH, encoder.bottom + WORDS + 18, *parts, over, alt=alt)


def block_picture(side: str, layer: int, trace: Trace, *, alt: str) -> Picture:
    """One block alone, with what flows in and out."""
    tower = Tower(side, 120, 322, BLOCK + 44, (120, 480))
    words = trace.source if side == "encoder" else trace.target
    low = tower.bottom + 22
    parts = [backs(tower, 1), streams(tower, len(words), low, 18, None)]
    parts.append(
        fan(tower, words, low + 56, low, None, tower.sides[1]) + block(tower, 0, layer, trace, Marks())
    )
    if side == "decoder":
        y = heights(tower, 0)["cross-attention"] + 8
        parts.append(line([(72, y), (tower.left - 3, y)], "key", 1.8, head=True))
        parts.append(word(92, y - 6, "K, V", 11, "key") + word(66, y + 4, "memory", 12, "key", "end"))
    return Picture(500, low + 68, *parts, alt=alt)
