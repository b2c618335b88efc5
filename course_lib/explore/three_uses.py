"""The trained translator with narrower keys, fewer heads or a tighter mask: three uses of attention react.

    >>> " ".join(compute(width=16, heads=ALL, mask=AS_TRAINED)["said"][0])
    "le chat a bu l' eau parce qu' il avait soif"

Of each head's 16 numbers in queries and keys the first `width` count, the rest is 0 (and the scores are still
divided by √16); of each layer's four heads some are heard: in encoder, decoder and across. Weights and
entropies, in bits, are those of the last layer's heads that are heard, for the right translation of the
first sentence; translations are free running.
"""

from __future__ import annotations

import textwrap
from functools import cache
from itertools import product
from typing import ClassVar

import numpy as np
import torch
from matplotlib.axes import Axes
from traitlets import Enum

from course_lib import theme
from course_lib.explore.base import Explorable, Goal, Panel
from course_lib.explore.control import Control
from course_lib.explore.head_switches import entropy, shipped
from course_lib.formatting import fixed
from course_lib.text.batch import make_batch
from course_lib.text.special import spoken
from course_lib.text.toy.generate import running_pair
from course_lib.translation.inside import cut_by_row, read, said_by_row, say
from course_lib.views.heatmap import Heatmap
from course_lib.views.moving import Facts, Show, quick_text

PAIR = running_pair()
RIGHT = tuple(pair.tgt for pair in PAIR)
SOURCE, TARGET = (*PAIR[0].src, "(end)"), ("(start)", *PAIR[0].tgt)
NEXT = (*PAIR[0].tgt, "(end)")  # across, a row is the word about to be said
WIDTHS = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16)
D_K, N_HEADS, N_LAYERS = 16, 4, 3
NARROW = 10
ALL, NONE = "all", "none"
HEARD = (ALL, "2 3 4", "1 3 4", "1 2 4", "1 2 3", "2 4", "1 3", NONE)
AS_TRAINED, ALONE, HIDDEN = (
    "as trained",
    "source words see only themselves",
    "decoder cannot see the last English word",
)
MASKS = (AS_TRAINED, ALONE, HIDDEN)
MOST_WORDS = 14
USES = ("encoder", "decoder", "cross")

State = tuple[int, str, str]
"""Width of queries and keys, heads that are heard, mask."""


def numbers(heads: str) -> list[int]:
    """Which heads are heard, from 0.

    >>> numbers("2 4")
    [1, 3]
    """
    return list(range(N_HEADS)) if heads == ALL else [int(n) - 1 for n in heads.replace(NONE, "").split()]


@cache
def both() -> torch.Tensor:
    encode = shipped().tokenizer.encode
    return make_batch([encode(pair.src_text) for pair in PAIR], [encode(pair.tgt_text) for pair in PAIR])


def cuts(states: list[State]) -> tuple[torch.Tensor, torch.Tensor]:
    """Which numbers of a query count, and which heads are heard, for each state and sentence."""
    heard = torch.tensor([[head in numbers(heads) for head in range(N_HEADS)] for _, heads, _ in states])
    wide = torch.arange(D_K) < torch.tensor([width for width, _, _ in states])[:, None]
    all_looks = heard[:, None].expand(-1, len(USES) * N_LAYERS, -1)
    return wide.repeat_interleave(2, dim=0), all_looks.repeat_interleave(2, dim=0)


def masks(states: list[State], n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Where the source's words may look, and the decoder's."""
    own = torch.ones(len(states), 1, n, n, dtype=torch.bool)
    across = torch.ones(len(states), 1, 1, n, dtype=torch.bool)
    for place, (_, _, mask) in enumerate(states):
        if mask == ALONE:
            own[place] = torch.eye(n, dtype=torch.bool)
        if mask == HIDDEN:
            across[place, ..., -2] = False  # the word before the end: thirsty, cold
    return own.repeat_interleave(2, dim=0), across.repeat_interleave(2, dim=0)


@cache
@torch.no_grad()
def outcomes() -> dict[State, Facts]:
    """What the model does in every state, all in one batch: then no move of a control has to wait."""
    model, tokenizer, batch = shipped().model, shipped().tokenizer, both()
    states = list(product(WIDTHS, HEARD, MASKS))
    src, tgt_in = (ids.repeat(len(states), 1) for ids in (batch.src, batch.tgt_in))
    wide, heard = cuts(states)
    own, across = masks(states, src.shape[1])
    with cut_by_row(model, heard, wide=wide):
        x, looked = read(model, src, own)
        memory = {**model.decoder.read_source(x), "may_look": across}
        _, weights = say(model, memory, tgt_in)
        ids = said_by_row(model, memory, max_len=MOST_WORDS).tolist()
    said = [tuple(tokenizer.decode(list(spoken(row, model.config.vocab_size))).split()) for row in ids]
    tables = {"encoder": looked, "decoder": weights["own"], "cross": weights["cross"]}
    last = {use: table[::2, -1] for use, table in tables.items()}  # of the first sentence: (states, heads, …)
    return {
        state: {"said": (said[2 * i], said[2 * i + 1])}
        | maps({use: table[i, numbers(state[1])] for use, table in last.items()})
        for i, state in enumerate(states)
    }


def maps(tables: dict[str, torch.Tensor]) -> Facts:
    """The mean over the heads that are heard, and its bits; 0 where there is none."""
    means = {use: table.sum(dim=0) / max(len(table), 1) for use, table in tables.items()}
    bits = [entropy(table).mean().item() if len(table) else 0.0 for table in tables.values()]
    return {
        "weights": {use: mean.double().numpy() for use, mean in means.items()},
        "entropy": np.array(bits),
    }


def compute(*, width: int, heads: str, mask: str) -> Facts:
    found = outcomes()[width, heads, mask]
    return {**found, "right": tuple(map(tuple.__eq__, found["said"], RIGHT))}


def in_bits(facts: Facts, use: str) -> str:
    told = f"{fixed(facts['entropy'][USES.index(use)], 1)} bits"
    return "no head" if facts["heads"] == NONE else told


def draw_use(axes: Axes, *, use: str) -> Show:
    rows = {"encoder": SOURCE, "decoder": TARGET, "cross": NEXT}[use]
    columns = TARGET if use == "decoder" else SOURCE
    cells = Heatmap(axes, rows, columns)
    axes.set_aspect("auto")
    axes.tick_params(labelcolor=theme.INK, labelsize=8)
    told = quick_text(axes, len(columns), -0.35, ha="right", size=10, colour=theme.SOFT_INK)

    def show(facts: Facts) -> None:
        cells.show(facts["weights"][use])
        told.set_text(in_bits(facts, use))

    return show


def draw_said(axes: Axes) -> Show:
    axes.set(xlim=(0, 1), ylim=(8, 0), xticks=(), yticks=())
    axes.spines[:].set_visible(False)
    asked = ("… because it was thirsty", "… because it was cold")
    for place, text in enumerate(asked):
        axes.text(0.0, 0.9 + 4 * place, text, fontsize=9.5, color=theme.SOFT_INK, va="center")
    for place, text in enumerate(
        ("Last layer. Rows ask, columns answer.", "Across: rows are about to be said.")
    ):
        axes.text(0.0, 8.6 + 0.6 * place, text, fontsize=8.5, color=theme.SOFT_INK, va="center")
    lines = [
        [
            quick_text(axes, 0.0, 1.8 + 0.75 * i + 4 * place, va="center", size=10, weight="bold")
            for i in range(3)
        ]
        for place in (0, 1)
    ]

    def show(facts: Facts) -> None:
        for words, right, texts in zip(facts["said"], facts["right"], lines, strict=True):
            told = textwrap.wrap(" ".join(words) or "(nothing)", 26, break_on_hyphens=False)
            for text, line in zip(texts, [*told, "", "", ""], strict=False):
                text.set(text=line, color=theme.GREEN if right else theme.ORANGE)

    return show


def narrow_and_right(now: Facts, start: Facts) -> bool:
    return all(now["right"]) and now["width"] <= NARROW


def half_the_heads(now: Facts, start: Facts) -> bool:
    return all(now["right"]) and len(numbers(now["heads"])) <= 2


def evenly(now: Facts, start: Facts) -> bool:
    return now["entropy"][2] > 3.3


class ThreeUses(Explorable):
    title = "Three uses of attention"
    question = "How much of its attention does the trained translator need?"
    size = (10.4, 4.2)
    width = Enum(WIDTHS, default_value=D_K)
    heads = Enum(HEARD, default_value=ALL)
    mask = Enum(MASKS, default_value=AS_TRAINED)
    controls = (
        Control("width", "d_k"),
        Control("heads", "heads heard", buttons=True),
        Control("mask", "mask", buttons=True),
    )
    presets: ClassVar = {
        "as trained": {},
        "without head 4": {"heads": "1 2 3"},
        "d_k = 8": {"width": 8},
        "each source word alone": {"mask": ALONE},
    }
    goals = (
        Goal("narrow", f"A d_k of {NARROW} or less, and both translations are right", narrow_and_right),
        Goal("heads", "Two heads of each layer are silent, and both translations are right", half_the_heads),
        Goal("even", "Cross-attention that shares out evenly: 3.3 bits", evenly),
    )
    panels = (
        Panel("Encoder", lambda axes: draw_use(axes, use="encoder"), 1.0),
        Panel("Decoder", lambda axes: draw_use(axes, use="decoder"), 1.0),
        Panel("Across", lambda axes: draw_use(axes, use="cross"), 1.0),
        Panel("What it says", draw_said, 1.05),
    )
    compute = staticmethod(compute)

    @staticmethod
    def heading(facts: Facts) -> str:
        return f"d_k {facts['width']}   ·   heads: {facts['heads']}   ·   mask: {facts['mask']}"

    @staticmethod
    def describe(facts: Facts) -> str:
        told = "; ".join(" ".join(words) or "nothing" for words in facts["said"])
        right = f"{sum(facts['right'])} of 2 right"
        bits = ", ".join(in_bits(facts, use) for use in USES)
        state = f"d_k {facts['width']}, heads heard: {facts['heads']}, {facts['mask']}"
        return f"{state}. It says: {told}. {right}. Entropy: {bits}."
